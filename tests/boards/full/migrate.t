#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The platform device is saved and loaded in the middle of a job.
. "$(dirname "$0")/../lib.sh"

for arch in arm64 riscv64; do
	tap_run "library, tools, tests and module are built for $arch" board_build $arch
	CNNACC_MACHINE=virt-$arch "$top/tests/vm/migrate.t" >"$work/out" 2>&1
	tap_ok "$arch: migration and snapshots"
	sed 's/^/# /' "$work/out"
	[ "$(grep -c '^ok ' "$work/out")" -ge 6 ]
	tap_ok "$arch: all of them"
done
tap_done
