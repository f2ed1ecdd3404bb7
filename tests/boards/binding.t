#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The device-tree binding by dt-schema's own tools, its examples, and the trees of the boards.
. "$(dirname "$0")/../lib/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bindings=$top/Documentation/devicetree/bindings
binding=$bindings/npu/cnnacc,cnnacc-1.0.yaml
# Constants that the examples use; any kernel's headers have them.
include=$(ls -d /usr/src/linux-headers-6.12*-common/include 2>/dev/null | tail -n 1)

examples()
{
	dt-extract-example "$binding" |
		cpp -nostdinc -undef -x assembler-with-cpp -D__DTS__ -I"$include" - |
		sed 's/^#.*//' | dtc -q -@ -I dts -O dtb -o "$work/examples.dtb" - &&
		[ "$(fdtget -l "$work/examples.dtb" / | grep -c '^example-')" = 2 ]
}

# tree SYSTEM NAME OPTION...: the tree of that emulator's board
tree()
{
	local options=() option

	for option in "${@:3}"; do
		options+=(-global "cnnacc-sysbus.$option")
	done
	env LD_PRELOAD="$build/cnnacc-qemu.so" "qemu-system-$1" -display none \
		-machine "virt-cnnacc,dumpdtb=$work/$2.dtb" ${options[@]+"${options[@]}"} \
		>"$work/log" 2>&1
	[ -s "$work/$2.dtb" ] || { cat "$work/log"; return 1; }
}

# Only what our binding says: QEMU's own nodes are not ours to check.
valid()
{
	dt-validate -s "$work/schema.json" -l cnnacc "$1"
}

# refused NAME TEXT COMMAND...: the tree that COMMAND spoiled is found wrong, with that text.
refused()
{
	cp "$work/many.dtb" "$work/bad.dtb"
	"${@:3}" >"$work/log" 2>&1
	valid "$work/bad.dtb" >>"$work/log" 2>&1
	tap_run "a tree $1 is refused" grep -F "$2" "$work/log"
}

tap_silent "dt-doc-validate" dt-doc-validate -u "$bindings" "$binding"
tap_run "dt-mk-schema" dt-mk-schema -j -o "$work/schema.json" "$bindings"
tap_run "the examples are trees" examples
tap_silent "they are valid" valid "$work/examples.dtb"
for system in riscv64 aarch64; do
	tap_run "$system: a tree with one wire" tree $system one
	tap_silent "$system: it is valid" valid "$work/one.dtb"
	tap_run "$system: a tree with many wires, reset and clock" tree $system many \
		cores=ccp+hwpe separate-wires=on gates=all coherent=off
	tap_silent "$system: it is valid" valid "$work/many.dtb"
done
node=/$(fdtget -l "$work/many.dtb" / | grep '^npu@')
refused "without interrupt-names" "'interrupt-names' is a required property" \
	fdtput -d "$work/bad.dtb" "$node" interrupt-names
refused "without interrupts" "'interrupts' is a required property" \
	fdtput -d "$work/bad.dtb" "$node" interrupts
refused "with another interrupt" "'core9' does not match" \
	fdtput -t s "$work/bad.dtb" "$node" interrupt-names core0 core9 error
refused "with an unknown property" "'cores' does not match" \
	fdtput "$work/bad.dtb" "$node" cores 2
tap_done
