#!/bin/bash
# SPDX-License-Identifier: MIT
# A network of floats in EXP4, TER2 and INT8: its accuracy on digits that it has not seen, all of
# its multiply-adds on core hwpe, and the CPU's answers to the byte.
. "$(dirname "$0")/../../../lib/tap.sh"
. "$(dirname "$0")/../../../network/lib.sh"

# quantize NAME OPTION...: digits.onnx as NAME.onnx, tested.
quantize()
{
	local name=$1
	shift
	"$cnnquant" "$top/tests/network/digits.onnx" -o "$work/$name.onnx" "$@" \
		--samples "$work/learn.npy" --test "$work/test.npy" \
		--labels "$work/test-labels.npy" --answers "$work/$name.npy" >"$work/$name.txt"
	status=$?
	sed 's/^/# /' "$work/$name.txt"
	return $status
}

# at_least FORMAT FILE FLOOR: the share of right answers.
at_least()
{
	awk -v format="$1" -v floor="$3" '
		$1 == format && $3 == "%" { share = $2; found = 1 }
		END { print share " % right, floor " floor " %"; exit !(found && share >= floor) }
	' "$2"
}

# runs_in FORMAT FILE COUNT: so many layers are products in that format.
runs_in()
{
	"$cnnrun" "$2" --device sim:cores=hwpe --explain | tee "$work/explain"
	[ "$(grep -c " hwpe .* $1 [im]" "$work/explain")" = "$3" ]
}

# same_on_cpu NAME OPTION...: without the device the same network and the same answers.
same_on_cpu()
{
	local name=$1
	shift
	quantize "$name.cpu" "$@" --core cpu && cmp "$work/$name.cpu.onnx" "$work/$name.onnx" &&
		cmp "$work/$name.cpu.npy" "$work/$name.npy"
}

if ! digits 2>/dev/null; then
	tap_skip "digits in EXP4, TER2 and INT8" "the npm registry does not answer"
	tap_done
fi
while read -r name floor layers options; do
	format=${name%%-*}
	tap_run "$name: made and tested" quantize "$name" $options
	tap_run "$name: floats, 98.5 % right" at_least FLOAT32 "$work/$name.txt" 98.5
	tap_run "$name: $floor % right" at_least "$format" "$work/$name.txt" "$floor"
	tap_run "$name: all multiply-adds on hwpe" grep -q '^MACs on device: .* (100.00 %)' \
		"$work/$name.txt"
	[ "$layers" = 0 ] ||
		tap_run "$name: $layers layers in it" runs_in "$format" "$work/$name.onnx" "$layers"
	tap_run "$name: every layer as on the CPU" "$cnnrun" "$work/$name.onnx" --compare \
		--device sim:cores=hwpe
	tap_run "$name: the CPU's answers to the byte" same_on_cpu "$name" $options
done <<-END
	INT8 98.5 0 --format INT8
	EXP4 97.5 3 --format EXP4
	TER2 60 3 --format TER2
	TER2-inside 93 2 --format TER2 --first INT8 --last INT8
END
tap_done
