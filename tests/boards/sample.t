#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A sample of what "make check-boards" runs, on arm64: the device as a platform device with a wire for
# each core, whose reset and clock are off while it sleeps, and a network.
. "$(dirname "$0")/lib.sh"

tap_run "library, tools, tests and module are built for arm64" board_build arm64
board_kmd "arm64, platform, one wire per core" arm64 platform \
	--device cores=ccp+hwpe,separate-wires=on,gates=all -- \
	kmd_all kmd_smoke kmd_bind kmd_submit kmd_power
BOARD_NETWORKS=resnet8 check_board_networks arm64 platform
tap_done
