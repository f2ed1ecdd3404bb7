#!/bin/bash
# SPDX-License-Identifier: MIT
# The program in README.md compiles and answers; what README.md names exists.
. "$(dirname "$0")/../lib/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n '/^```c$/,/^```$/p' "$top/README.md" | grep -v '^```' >"$work/app.c"
tap_run "the program compiles" gcc -Wall -Wextra -Werror -I"$top/runtime/include" "$work/app.c" \
	-L"$build/runtime" -Wl,-rpath,"$build/runtime" -lcnnrt -o "$work/app"
"$top/demo/make-model" strokes "$work/model.onnx"
tap_run "it runs on the in-process device" env CNNRT_DEVICE=sim "$work/app" "$work/model.onnx"
tap_run "it prints two scores" sh -c 'CNNRT_DEVICE=sim "$1" "$2" | grep -qE "^[0-9.e-]+ [0-9.e-]+$"' \
	- "$work/app" "$work/model.onnx"

links()
{
	grep -oE '\]\([a-zA-Z][^):]*\)' "$top/README.md" | tr -d '])(' | while read -r path; do
		[ -e "$top/$path" ] || echo "no $path"
	done
}
tap_silent "its links lead somewhere" links

gaps()
{
	! grep -nE '@[A-Z]+@' "$top/README.md"
}
tap_silent "it has no gaps" gaps

groups()
{
	sed -n 's/^GROUPS := //p' "$top/Makefile" | tr ' ' '\n' | while read -r group; do
		grep -q "check-$group" "$top/README.md" || echo "check-$group is not in README.md"
	done
}
tap_silent "it names every group of tests" groups
tap_done
