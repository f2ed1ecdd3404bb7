#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every ioctl-level test on both boards.
. "$(dirname "$0")/../lib.sh"

for arch in arm64 riscv64; do
	tap_run "library, tools, tests and module are built for $arch" board_build $arch
	for bus in $(board_buses $arch); do
		board_kmd "$arch, $bus" $arch $bus --device cores=ccp+hwpe -- kmd_all
	done
done
tap_done
