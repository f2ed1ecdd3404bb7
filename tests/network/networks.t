#!/bin/bash
# SPDX-License-Identifier: MIT
# Whole networks: device against CPU, VM against sim byte for byte, and the share of the
# work that the device did.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/lib.sh"

device=cores=$(floor_cores)

# same_compiled NAME CORE: the network in a file of its own gives the answer of the ONNX file.
same_compiled()
{
	"$cnnrun" --compile "$work/$(file_of "$1")" -o "$work/$1.cnn" \
		--input "0=$work/text.png" $(network_options "$1") --device "sim:$device" \
		--core "$2" &&
	"$cnnrun" "$work/$1.cnn" --input "0=$work/text.png" $(picture_options "$1") \
		$(output_options "$1" "$work/$1.cnn.npy") --device "sim:$device" &&
	same_outputs "$work/$1.cnn.npy" "$work/$1.$2.sim.npy"
}

guest="cd /mnt"
ready=
while read -r name core floor answer; do
	if ! network "$name"; then
		for what in "$core against CPU" "share on $core" \
			"compiled ahead for $core, the same bytes" "$core in the VM against sim" \
			"share on $core in the VM"; do
			tap_skip "$name: $what" "the npm registry does not answer"
		done
		continue
	fi
	cp "$top"/demo/*.png "$work/"
	device_against_cpu "$name" "$core" "$floor" "$answer"
	tap_run "$name: compiled ahead for $core, the same bytes" same_compiled "$name" "$core"
	guest="$guest; cnnrun $(file_of "$name") $(network_options "$name") --input 0=text.png"
	guest="$guest --core $core"
	guest="$guest $(output_options "$name" "$name.$core.vm.npy") >$name.$core.vm"
	ready="$ready $name:$core:$floor"
done < <(floors)

"$top/tests/vm/run" --device "$device" --share "$work" -- sh -c "$guest"
tap_ok "networks run in the VM"
for name in $ready; do
	IFS=: read -r name core floor <<<"$name"
	tap_run "$name: $core in the VM against sim" \
		same_outputs "$work/$name.$core.vm.npy" "$work/$name.$core.sim.npy"
	tap_run "$name: share on $core in the VM" floor_holds "$work/$name.$core.vm" "$core" "$floor"
done

# A tiny device must give the same bytes: tiling is not allowed to show.
tiny=cores=$("$top/tests/lib/cores.py" tiny)
while read -r name core floor answer; do
	run_network "$name" "$work/text.png" "$work/$name.tiny.npy" --device "sim:$tiny" \
		--core "$core" >"$work/$name.tiny"
	tap_run "$name: the same bytes on a $core with small memories" \
		same_outputs "$work/$name.tiny.npy" "$work/$name.$core.sim.npy"
	tap_run "$name: still on $core" floor_holds "$work/$name.tiny" "$core" 50
done < <(floors tiny)

answer()
{
	grep -q "^ *0 .*" "$1" && awk '/float32/ { getline; print $1 }' "$1"
}
if [ -e "$work/text-direction.onnx" ]; then
	run_network text-direction "$work/text-upside-down.png" "$work/down.npy" --device sim \
		>"$work/down"
	tap_run "text-direction: upright is 0" test "$(answer "$work"/text-direction.*.sim)" = 0
	tap_run "text-direction: upside down is 1" test "$(answer "$work/down")" = 1
else
	tap_skip "text-direction: answers" "the npm registry does not answer"
fi
run_network strokes "$work/text-sideways.png" "$work/sideways.npy" --device sim >"$work/sideways"
tap_run "strokes: upright text is mostly vertical" test "$(answer "$work"/strokes.*.sim)" = 0
tap_run "strokes: text on its side is mostly horizontal" test "$(answer "$work/sideways")" = 1
tap_done
