#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Networks on both boards: the bytes of amd64, on the device and in process.
. "$(dirname "$0")/../lib.sh"

for arch in arm64 riscv64; do
	tap_run "library, tools, tests and module are built for $arch" board_build $arch
	for bus in $(board_buses $arch); do
		check_board_networks $arch $bus
	done
done
tap_done
