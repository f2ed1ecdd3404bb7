#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What the jobs of an open device share, through the driver: one address space, so that the device
# clears nothing between them, the weights, and the jobs that cnnrt_run() keeps; and what a report
# says of the cycles in which the device clears.
. "$(dirname "$0")/../lib/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nets=$build/tests/unit/rt
cp "$top/tests/network/digits.onnx" "$nets"/{ds-cnn,resnet8}.tflite "$nets/mixed.onnx" "$work/"
cp "$nets/digits.onnx" "$work/lenet.onnx"
cat >"$work/guest" <<'END'
export RT_DEVICE=/dev/accel/accel0 RT_DIGITS=/mnt/lenet.onnx RT_MIXED=/mnt/mixed.onnx
export RT_NETS=/mnt/lenet.onnx:/mnt/digits.onnx:/mnt/ds-cnn.tflite:/mnt/resnet8.tflite
# The registers that it reads count from 0 after each sleep.
echo on >/sys/class/accel/accel0/device/power/control
rt_shared || exit 1
# A process finds what another left in the core, itself it finds nothing.
export CNNRT_DEVICE=$RT_DEVICE
cnnrun $RT_DIGITS --report /mnt/other.json && cnnrun $RT_DIGITS --report >/mnt/other.txt &&
	cnnrun $RT_DIGITS --repeat 2 --report /mnt/same.json
END
tap_run "two float networks and two of int8 on two cores" "$top/tests/vm/run" --share "$work" \
	--device cores=ccp+hwpe --program "$nets/rt_shared" -- sh /mnt/guest
tap_run "--report FILE.json: clearing after another process" \
	grep -qE '"scrub_cycles": *[1-9]' "$work/other.json"
tap_run "--report: the same in text" \
	grep -qE '^Clearing what another process left in the cores: [1-9][0-9]* cycles$' "$work/other.txt"
tap_run "--report FILE.json: none between runs of a process" \
	grep -qE '"scrub_cycles": *0\b' "$work/same.json"
tap_done
