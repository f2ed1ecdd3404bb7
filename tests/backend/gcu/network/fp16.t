#!/bin/bash
# SPDX-License-Identifier: MIT
# Networks of floats on core gcu in FP16: each layer within the bounds of the core's arithmetic, all
# multiply-adds of products there, and digits told apart as the CPU does.
. "$(dirname "$0")/../../../lib/tap.sh"
. "$(dirname "$0")/../../../network/lib.sh"

fp16="--device sim:cores=gcu --core gcu --precision fp16"

# on_gcu NAME FLOOR: the share of the multiply-adds.
on_gcu()
{
	run_network "$1" "$work/text.png" "$work/$1.npy" $fp16 >"$work/$1.fp16" &&
		floor_holds "$work/$1.fp16" gcu "$2"
}

# every_layer NAME: within its bounds.
every_layer()
{
	"$cnnrun" "$work/$(file_of "$1")" --input "0=$work/text.png" $fp16 --compare
}

# same_digits: of 1,996 digits, the network gives at least 1,990 the CPU's answer.
same_digits()
{
	"$cnnrun" "$top/tests/network/digits.onnx" --batch --input "0=$work/test.npy" $fp16 \
		--output "0=$work/half.npy" >/dev/null &&
	"$cnnrun" "$top/tests/network/digits.onnx" --batch --input "0=$work/test.npy" \
		--device sim --core cpu --output "0=$work/float.npy" >/dev/null &&
	python3 - "$work/half.npy" "$work/float.npy" <<'END'
import struct
import sys


def answers(path):
    data = open(path, 'rb').read()
    start = 10 + struct.unpack('<H', data[8:10])[0]
    values = struct.unpack(f'<{(len(data) - start) // 4}f', data[start:])
    rows = [values[i:i + 10] for i in range(0, len(values), 10)]
    return [row.index(max(row)) for row in rows]


half, full = answers(sys.argv[1]), answers(sys.argv[2])
same = sum(a == b for a, b in zip(half, full))
print(f'{same} of {len(full)} answers are the same')
sys.exit(len(half) != len(full) or len(full) != 1996 or same < 1990)
END
}

cp "$top"/demo/*.png "$work/"
for name in strokes lenet mobile deep; do
	network "$name"
	tap_run "$name: multiply-adds on gcu" on_gcu "$name" 99
	tap_run "$name: every layer within its bounds" every_layer "$name"
done
# The same bytes through the driver.
guest="cd /mnt"
for name in strokes lenet mobile deep; do
	guest="$guest; cnnrun $name.onnx --input 0=text.png --output 0=$name.vm.npy --core gcu"
	guest="$guest --precision fp16 >$name.vm"
done
"$top/tests/vm/run" --device cores=gcu --share "$work" -- sh -c "$guest"
tap_ok "networks run in FP16 in the VM"
for name in strokes lenet mobile deep; do
	tap_run "$name: VM against sim" cmp "$work/$name.vm.npy" "$work/$name.npy"
	tap_run "$name: multiply-adds on gcu in the VM" floor_holds "$work/$name.vm" gcu 99
done

if digits 2>/dev/null; then
	tap_run "digits: 1,990 of 1,996 as on the CPU" same_digits
else
	tap_skip "digits: 1,990 of 1,996 as on the CPU" "the npm registry does not answer"
fi
tap_done
