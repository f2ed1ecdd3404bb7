#!/bin/bash
# SPDX-License-Identifier: MIT
# The text detector on pictures of two sides: of the larger, maps are cut in columns.  Cycles, by the
# model, grow as the pixels do, and no layer differs from the CPU.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/lib.sh"

small=512
large=1024
most=4.2	# times the cycles for 4 times the pixels

# detect SIDE OPTION...
detect()
{
	"$cnnrun" "$models/ch_PP-OCRv4_det_infer.onnx" --device sim --shape "0=1,3,$1,$1" \
		--input "0=$top/demo/text.png" --mean 0.5 --std 0.25 "${@:2}"
}

grows()
{
	for side in $small $large; do
		detect "$side" --report "$work/$side.json" || return 1
	done
	python3 - "$work/$small.json" "$work/$large.json" "$most" <<'EOF'
import json
import sys

before, after = (json.load(open(name))['total']['cycles'] for name in sys.argv[1:3])
print(f'{after} / {before} cycles = {after / before:.3f}')
sys.exit(after > float(sys.argv[3]) * before)
EOF
}

agrees()
{
	detect $large --compare >"$work/out" && grep -q 'none beyond the bound' "$work/out" ||
		{ tail -n 5 "$work/out"; return 1; }
}

if models=$("$top/scripts/fetch-models" 2>/dev/null); then
	tap_run "side $large takes at most $most times the cycles of side $small" grows
	tap_run "side $large agrees with the CPU" agrees
else
	tap_skip "cycles of sides $small and $large" "the npm registry does not answer"
	tap_skip "side $large agrees with the CPU" "the npm registry does not answer"
fi
tap_done
