#!/bin/bash
# SPDX-License-Identifier: MIT
# Float networks in POT8: how near their answers are, all multiply-adds and activations on core enpu
# in one job, and the CPU's answers to the byte.
. "$(dirname "$0")/../../../lib/tap.sh"
. "$(dirname "$0")/../../../network/lib.sh"
own=$(dirname "$0")
# The sizes that the published design estimates.
small=sim:cores=enpu:dtcm=20480:skip=20480:weight=24576

# quantize NAME SAMPLES OPTION...: $work/NAME.onnx as NAME.pot8.onnx, its answers in NAME.npy.
quantize()
{
	local name=$1 samples=$2
	shift 2
	"$cnnquant" "$work/$name.onnx" -o "$work/$name.pot8.onnx" --format POT8 \
		--samples "$work/$samples" --answers "$work/$name.npy" "$@" >"$work/$name.txt"
	status=$?
	sed 's/^/# /' "$work/$name.txt"
	return $status
}

# same_on_cpu NAME DEVICE SAMPLES OPTION...: the same answers without the device.
same_on_cpu()
{
	local name=$1 samples=$2
	shift 2
	cp "$work/$name.npy" "$work/$name.core.npy"
	quantize "$name" "$samples" "$@" --core cpu && cmp "$work/$name.npy" "$work/$name.core.npy"
}

# as_near NAME DB SAME: the ratio of signal to noise, and how many of the answers are the same.
as_near()
{
	"$cnnrun" "$work/$1.onnx" --input "0=$work/test.npy" --output "0=$work/float.npy" --batch \
		--device sim:cores=enpu --core cpu >/dev/null &&
		"$own/signal-to-noise" "$work/float.npy" "$work/$1.npy" | tee "$work/near" &&
		awk -v db="$2" -v same="$3" '{ exit !($1 >= db && $2 >= same) }' "$work/near"
}

# only_ends NAME DEVICE: all but the conversions at the ends is on the core, in one job.
only_ends()
{
	"$cnnrun" "$work/$1.pot8.onnx" --device "$2" --core enpu --report "$work/report.json" \
		>/dev/null 2>&1 && python3 - "$work/report.json" <<-'END'
		import json, sys
		report = json.load(open(sys.argv[1]))
		places = [layer['place'] for layer in report['layers']]
		cpu = [layer['op'] for layer in report['layers'] if layer['place'] == 'cpu']
		print(report['segments'], 'segments;', report['tasks'], 'programs; on the CPU:', cpu)
		sys.exit(cpu != ['QuantizeLinear', 'DequantizeLinear'] or report['segments'] != 3)
	END
}

right()
{
	awk '$1 == "POT8" && $3 == "%" { share = $2 } END { print share; exit !(share >= 98.3) }' \
		"$work/digits.txt"
}

cp "$top/tests/network/digits.onnx" "$work"
if digits 2>/dev/null; then
	test="--test $work/test.npy --labels $work/test-labels.npy --device sim:cores=enpu"
	tap_run "digits: made and tested" quantize digits learn.npy $test --core enpu
	tap_run "digits: 98.3 % right" right
	tap_run "digits: on enpu in one job" only_ends digits sim:cores=enpu
	tap_run "digits: the CPU's answers to the byte" same_on_cpu digits learn.npy $test
else
	tap_skip "digits in POT8" "the npm registry does not answer"
fi
while read -r name db same device; do
	"$own/make-float" "$name" "$work/$name.onnx" "$work/samples.npy" "$work/test.npy"
	tap_run "$name: made" quantize "$name" samples.npy --test "$work/test.npy" --device "$device" \
		--core enpu
	tap_run "$name: $db dB, $same of 30 the same" as_near "$name" "$db" "$same"
	tap_run "$name: on enpu in one job" only_ends "$name" "$device"
	tap_run "$name: clocks and counters of each layer" \
		"$build/tests/backend/enpu/layer_clocks" "$work/$name.pot8.onnx" "$device"
	tap_run "$name: clocks without prefetch" \
		"$build/tests/backend/enpu/layer_clocks" "$work/$name.pot8.onnx" \
		"$device:prefetch=off"
	tap_run "$name: every layer as on the CPU" "$cnnrun" "$work/$name.pot8.onnx" --compare \
		--device "$device" --core enpu
	tap_run "$name: the CPU's answers to the byte" same_on_cpu "$name" samples.npy \
		--test "$work/test.npy" --device "$device"
done <<-END
	resnet8 28 28 sim:cores=enpu
	ds-cnn 28 27 sim:cores=enpu
	bcresnet 22 28 $small
	activations 34 29 sim:cores=enpu
	wide 28 28 $small
END
tap_done
