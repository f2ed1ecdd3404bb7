#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Board and device in emulators that are built from source: of the distribution's version and of
# Debian 13's, whose riscv64 also has the MSI that a PCI device needs.
. "$(dirname "$0")/../lib.sh"

# build_emulator ARCH [SUITE]: prints its path; minutes, if it is not in the cache.
build_emulator()
{
	local processor=${1/arm64/aarch64}

	"$top/tests/vm/overlay-build" "${2:-}" "$processor" 2>"$work/log" && return
	cat "$work/log"
	return 1
}

# check_boards SUITE
check_boards()
{
	local arch

	for arch in arm64 riscv64; do
		tap_run "library, tools, tests and module are built for $arch" board_build $arch
		tap_run "$arch: QEMU ${1:-of this distribution} is built" build_emulator $arch $1
		qemu=$tap_out
		board_kmd "$arch, its virt-cnnacc" $arch platform --qemu "$qemu" -- \
			kmd_all kmd_smoke kmd_submit
	done
}

check_boards ''
check_boards trixie
board_kmd "riscv64, pci" riscv64 pci --qemu "$qemu" --device cores=ccp+hwpe -- kmd_all
check_board_networks riscv64 pci --qemu "$qemu"
tap_done
