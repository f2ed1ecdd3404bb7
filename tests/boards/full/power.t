#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Devices whose reset and clock are off while they sleep: an access to a register is a bus error then,
# which the kernel does not survive.
. "$(dirname "$0")/../lib.sh"

programs="kmd_smoke kmd_submit kmd_power kmd_observe kmd_recovery kmd_coredump kmd_lifecycle"

# The tree with the PCI bus's interrupt INTB (4) for the device's.  The device then gets calls of its
# handler only, by the virtio port that the guest prints to, which is in slot 1.
share_irq()
{
	env LD_PRELOAD="$build/cnnacc-qemu.so" qemu-system-aarch64 -display none -smp 2 -m 1024 \
		-cpu cortex-a72 -global cnnacc-sysbus.gates=all \
		-machine "virt-cnnacc,dumpdtb=$work/shared.dtb" >"$work/log" 2>&1
	node=/$(fdtget -l "$work/shared.dtb" / | grep '^npu@')
	fdtput -t x "$work/shared.dtb" "$node" interrupts 0 4 4
}

# Prints while the device sleeps.
guest='
device=/sys/class/drm/renderD128/device
count() { awk "/cnnacc-all/ { print \$2 + \$3 }" /proc/interrupts; }
grep cnnacc-all /proc/interrupts
until [ $(cat $device/power/runtime_status) = suspended ]; do sleep 0.1; done
before=$(count)
for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.01; done
after=$(count)
echo "$((after - before)) interrupts"
[ $(cat $device/power/runtime_status) = suspended ] && [ $after -gt $before ] && cnnctl info'

tap_run "library, tools, tests and module are built for arm64" board_build arm64
board_kmd "arm64, one wire for four cores" arm64 platform \
	--device cores=ccp+ccp+hwpe+hwpe,gates=all -- kmd_all $programs
board_kmd "arm64, a wire for each core" arm64 platform \
	--device cores=ccp+hwpe,gates=all,separate-wires=on -- kmd_all $programs
tap_run "the tree of a shared wire" share_irq
tap_run "arm64: another device interrupts while the device sleeps" board arm64 platform \
	--qemu-arg -dtb --qemu-arg "$work/shared.dtb" \
	--qemu-arg -global --qemu-arg virtio-serial-pci.vectors=0 -- sh -c "$guest"
tap_run "library, tools, tests and module are built for riscv64" board_build riscv64
board_kmd "riscv64, one wire, a reset line" riscv64 platform \
	--device cores=ccp+hwpe,gates=reset -- kmd_all $programs
tap_done
