#!/bin/bash
# SPDX-License-Identifier: MIT
# Whole networks: device against CPU, VM against sim byte for byte, and the share of the
# work that the device did.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/lib.sh"

# The CPU operators add up in another order than the device.
close()
{
	python3 - "$1" "$2" <<'END'
import struct
import sys


def floats(path):
    data = open(path, 'rb').read()
    start = 10 + struct.unpack('<H', data[8:10])[0]
    return struct.unpack(f'<{(len(data) - start) // 4}f', data[start:])


got, want = floats(sys.argv[1]), floats(sys.argv[2])
bad = [(g, w) for g, w in zip(got, want) if not abs(g - w) <= 1e-5 + 1e-3 * abs(w)]
print(len(got), 'values; beyond the bound:', bad[:4])
sys.exit(len(got) != len(want) or not got or bool(bad))
END
}

floor_holds()
{
	share=$(share_on_device "$1")
	echo "$share % of the MACs on the device, floor $2 %"
	[ -n "$share" ] && [ "$share" -ge "$2" ]
}

# The network in a file of its own gives the answer of the ONNX file.
same_compiled()
{
	"$cnnrun" --compile "$work/$1.onnx" -o "$work/$1.cnn" --input "0=$work/text.png" \
		$(network_options "$1") --device sim &&
	"$cnnrun" "$work/$1.cnn" --input "0=$work/text.png" $(picture_options "$1") \
		--output "0=$work/$1.cnn.npy" --device sim &&
	cmp "$work/$1.cnn.npy" "$work/$1.sim.npy"
}

guest="cd /mnt"
ready=
while read -r name floor; do
	case $name in ''|'#'*) continue ;; esac
	if ! network "$name"; then
		for what in 'device against CPU' 'share on the device' \
			'compiled ahead, the same bytes' 'VM against sim' \
			'share on the device in the VM'; do
			tap_skip "$name: $what" "the npm registry does not answer"
		done
		continue
	fi
	cp "$top"/demo/*.png "$work/"
	run_network "$name" "$work/text.png" "$work/$name.sim.npy" --device sim >"$work/$name.sim"
	run_network "$name" "$work/text.png" "$work/$name.cpu.npy" --device sim --core cpu \
		>"$work/$name.cpu"
	tap_run "$name: device against CPU" close "$work/$name.sim.npy" "$work/$name.cpu.npy"
	tap_run "$name: share on the device" floor_holds "$work/$name.sim" "$floor"
	tap_run "$name: compiled ahead, the same bytes" same_compiled "$name"
	guest="$guest; cnnrun $name.onnx $(network_options "$name") --input 0=text.png"
	guest="$guest --output 0=$name.vm.npy >$name.vm"
	ready="$ready $name:$floor"
done <"$top/tests/network/floors.txt"

"$top/tests/vm/run" --share "$work" -- sh -c "$guest"
tap_ok "networks run in the VM"
for name in $ready; do
	floor=${name#*:} name=${name%:*}
	tap_run "$name: VM against sim" cmp "$work/$name.vm.npy" "$work/$name.sim.npy"
	tap_run "$name: share on the device in the VM" floor_holds "$work/$name.vm" "$floor"
done

# A tiny device must give the same bytes: tiling is not allowed to show.
for name in lenet mobile; do
	run_network "$name" "$work/text.png" "$work/$name.tiny.npy" \
		--device sim:cores=ccp:data-bank=32768:weight-bank=4096:lob=16 >"$work/$name.tiny"
	tap_run "$name: the same bytes on a device with small memories" \
		cmp "$work/$name.tiny.npy" "$work/$name.sim.npy"
	tap_run "$name: still on the device" floor_holds "$work/$name.tiny" 50
done

answer()
{
	grep -q "^ *0 .*" "$1" && awk '/float32/ { getline; print $1 }' "$1"
}
if [ -e "$work/text-direction.onnx" ]; then
	run_network text-direction "$work/text-upside-down.png" "$work/down.npy" --device sim \
		>"$work/down"
	tap_run "text-direction: upright is 0" test "$(answer "$work/text-direction.sim")" = 0
	tap_run "text-direction: upside down is 1" test "$(answer "$work/down")" = 1
else
	tap_skip "text-direction: answers" "the npm registry does not answer"
fi
run_network strokes "$work/text-sideways.png" "$work/sideways.npy" --device sim >"$work/sideways"
tap_run "strokes: upright text is mostly vertical" test "$(answer "$work/strokes.sim")" = 0
tap_run "strokes: text on its side is mostly horizontal" test "$(answer "$work/sideways")" = 1
tap_done
