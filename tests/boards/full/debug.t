#!/bin/bash
# SPDX-License-Identifier: MIT
#
# arm64 with a kernel that has checkers (KASAN, lockdep, DMA-API, shared interrupts), which is built
# first: 17 minutes of CPU time.  Without coherent caches and with every transfer through bounce
# buffers a missing sync shows: emulated caches do not.
. "$(dirname "$0")/../lib.sh"

build_kernel()
{
	kernel=$("$top/scripts/build-debug-kernel" arm64-debug) || return
	env -u MAKEFLAGS -u MFLAGS make -s -C "$top" BUILD="$work/debug" ARCH=arm64 \
		KDIR="$(echo "$kernel"/lib/modules/*/build)" module
}

# guest NAME OPTION... -- CMD...
guest()
{
	board_kmd "$1" arm64 platform "${options[@]}" "${@:2}"
}

tap_run "library, tools, tests and module are built for arm64" board_build arm64
tap_run "a kernel with checkers, and the module" build_kernel
kernel=$("$top/scripts/build-debug-kernel" --cached arm64-debug)
options=(--kernel "$kernel" --memory 2048 --timeout 3000 --module-param watchdog_ms=5000
	--module "$work/debug-arm64/driver/cnnacc.ko")
guest "checkers" --device cores=ccp+hwpe,gates=all -- \
	kmd_all kmd_smoke kmd_args kmd_submit kmd_recovery kmd_lifecycle
guest "checkers, not coherent" --device cores=ccp+hwpe,coherent=off,separate-wires=on -- \
	kmd_all kmd_smoke kmd_bo kmd_bind kmd_submit kmd_prime kmd_vm kmd_events
# With less memory arm64 has 1/1024 of it for bounce buffers.
options+=(--memory 4096)
# Not the others: they trust that a mapping of an uncached buffer needs no sync.
tap_run "checkers, not coherent, bounce buffers" board arm64 platform "${options[@]}" \
	--append swiotlb=force --device cores=ccp+hwpe,coherent=off -- \
	sh -c 'cnnctl selftest && kmd_prime sync && cnnctl info'
# cnnctl info says so of a device that is.
[[ $tap_out != *"not ok"* && $tap_out == *"driver cnnacc"* && $tap_out != *", coherent"* ]]
tap_ok "syncs are right, and are needed"
BOARD_PROPERTIES=coherent=off check_board_networks arm64 platform "${options[@]}" \
	--append swiotlb=force
tap_done
