#!/bin/bash
# SPDX-License-Identifier: MIT
# Every layer of whole networks on the device against the CPU: none may differ.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/lib.sh"

agrees()
{
	"$cnnrun" "$@" --device sim --compare >"$work/out" || { tail -n 5 "$work/out"; return 1; }
	grep '^compared: ' "$work/out"
	grep -q 'none beyond the bound' "$work/out" && grep -q 'the outputs agree' "$work/out"
}

picture=$top/demo/text.png
for name in lenet mobile strokes; do
	network "$name"
	tap_run "$name" agrees "$work/$name.onnx" --input "0=$picture"
done
if models=$("$top/scripts/fetch-models" 2>/dev/null); then
	tap_run "text direction" agrees "$models/ch_ppocr_mobile_v2.0_cls_infer.onnx" \
		--shape 0=1,3,48,192 --input "0=$picture" --fit pad --bgr --mean 0.5 --std 0.5
	tap_run "text detector" agrees "$models/ch_PP-OCRv4_det_infer.onnx" \
		--shape 0=1,3,320,320 --input "0=$picture" --mean 0.5 --std 0.25
	tap_run "text detector on the CPU" agrees "$models/ch_PP-OCRv4_det_infer.onnx" --core cpu \
		--shape 0=1,3,320,320 --input "0=$picture" --mean 0.5 --std 0.25
	tap_run "text recogniser" agrees "$models/ch_PP-OCRv4_rec_infer.onnx" \
		--shape 0=1,3,48,320 --input "0=$picture" --mean 0.5 --std 0.5
else
	for what in direction detector "detector on the CPU" recogniser; do
		tap_skip "text $what" "the npm registry does not answer"
	done
fi
tap_done
