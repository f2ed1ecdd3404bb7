#!/bin/bash
# SPDX-License-Identifier: MIT
# The tutorial's programs compile without a warning and do what the tutorial says.
. "$(dirname "$0")/../lib/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Writes the code of block N (1, 2...) to $work/N.c.
awk -v out="$work/" '
	/^\.\. code-block:: c$/ { n++; on = 1; next }
	on && /^[^ ]/ { on = 0 }
	on { sub(/^   /, ""); print > (out n ".c") }
' "$top/Documentation/user/tutorial.rst"
"$top/demo/make-model" strokes "$work/model.onnx"

runs()
{
	CNNRT_DEVICE=sim "$work/$1" "$work/model.onnx" >"$work/$1.out" 2>&1 &&
		[ "$(grep -cE "$2" "$work/$1.out")" -eq "$3" ] || { cat "$work/$1.out"; false; }
}

for n in 1 2 3; do
	tap_run "program $n compiles" gcc -Wall -Wextra -Werror -I"$top/runtime/include" \
		"$work/$n.c" -L"$build/runtime" -Wl,-rpath,"$build/runtime" -lcnnrt -o "$work/$n"
done
tap_run "the first one prints a score for each class" runs 1 '^class [01]: [0-9.e-]+$' 2
tap_run "the second one ends all frames" runs 2 '^frame [0-7] is done$' 8
tap_run "the third one prints the first score" runs 3 '^first score: [0-9.e-]+$' 1
first()
{
	[ "$(sed -n 's/class 0: //p' "$work/1.out")" = "$(sed -n 's/first score: //p' "$work/3.out")" ]
}
tap_run "which is that of the first program" first
tap_done
