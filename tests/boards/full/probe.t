#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Trees with a missing or wrong property: the driver says which one, and what to check.
. "$(dirname "$0")/../lib.sh"

# The board's tree as text, with the device for a reset line; sets node, irq and reset.
read_tree()
{
	env LD_PRELOAD="$build/cnnacc-qemu.so" qemu-system-aarch64 -display none -smp 2 -m 1024 \
		-cpu cortex-a72 -global cnnacc-sysbus.gates=reset \
		-machine "virt-cnnacc,dumpdtb=$work/board.dtb" >"$work/log" 2>&1
	dtc -q -I dtb -O dts -o "$work/board.dts" "$work/board.dtb" || return
	node=/$(fdtget -l "$work/board.dtb" / | grep '^npu@')
	irq=$(fdtget -t x "$work/board.dtb" "$node" interrupt-parent)
	reset=$(fdtget -t x "$work/board.dtb" "$node" resets | cut -d ' ' -f 1)
	at=${node#*@}
}

# fault NAME TEXT: a node like the device's, less the properties that start a line of standard
# input with "-", and with the others; the log must have TEXT.
fault()
{
	local line
	declare -A property=(
		[compatible]='"cnnacc,cnnacc-1.0"'
		[reg]="<0 0x$at 0 0x10000>"
		[interrupt-parent]="<0x$irq>"
		[interrupts]='<0 0x70 4>'
		[dma-coherent]=''
	)

	while read -r line; do
		case $line in
		-*) unset "property[${line#-}]" ;;
		*) property[${line%% = *}]=${line#* = } ;;
		esac
	done
	names+=("$1")
	texts+=("$2")
	{
		echo "/ { $1@$at {"
		for line in "${!property[@]}"; do
			echo "$line${property[$line]:+ = ${property[$line]}};"
		done
		echo '}; };'
	} >>"$work/board.dts"
}

add_faults()
{
	# Its registers are those of the others.
	echo "&{$node} { status = \"disabled\"; };" >>"$work/board.dts"
	fault no-reg 'reg: it is missing' <<<-reg
	fault small-reg 'reg: 4096 bytes, not 65536' <<<"reg = <0 0x$at 0 0x1000>"
	fault no-irq 'interrupts: there must be one, or one per core and one for errors' \
		<<<-interrupts
	fault no-names 'interrupt-names: 1 cores need core0' <<<'interrupts = <0 0x70 4>, <0 0x71 4>'
	fault other-names 'interrupt-names: 1 cores need core0' \
		<<<$'interrupts = <0 0x70 4>, <0 0x71 4>\ninterrupt-names = "core0", "fault"'
	fault no-clock 'clocks: check that each one has a provider' <<<"clocks = <0x$irq>"
	fault no-reset 'resets: check that each one has a controller' <<<"resets = <0x$irq>"
	fault no-pool 'memory-region: check that it names a pool in /reserved-memory' \
		<<<"memory-region = <0x$reset>"
	# Without a fault, to show that none of the others has kept anything.
	fault good '' </dev/null
}

names=() texts=()
tap_run "library, tools, tests and module are built for arm64" board_build arm64
tap_run "the board's tree" read_tree
read_tree
add_faults
tap_run "the trees with faults" dtc -q -I dts -O dtb -o "$work/faults.dtb" "$work/board.dts"
board arm64 platform --qemu-arg -dtb --qemu-arg "$work/faults.dtb" --log "$work/kernel.log" -- \
	sh -c 'kmd_smoke; ls /sys/bus/platform/drivers/cnnacc' >"$work/out" 2>&1
tap_ok "a device without a fault works beside those with faults"
[ "$tap_status" -eq 0 ] || sed 's/^/# /' "$work/out"
for i in "${!names[@]}"; do
	[ -n "${texts[i]}" ] || continue
	# The name of a device without registers is that of its node.
	grep -E "cnnacc ($at\.${names[i]}|${names[i]}@$at): " "$work/kernel.log" |
		grep -qF "${texts[i]}"
	tap_ok "${names[i]}: the driver says: ${texts[i]}"
done
[ "$(grep -c "^$at\\." "$work/out")" = 1 ]
tap_ok "it binds to that device only"
tap_done
