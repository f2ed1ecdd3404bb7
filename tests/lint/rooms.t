#!/bin/bash
# SPDX-License-Identifier: MIT
# Which file may use which: the order of the runtime's rooms, and cycles of files.
. "$(dirname "$0")/../lib/tap.sh"
cd "$top" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tap_run "rooms of runtime/ include rooms before them only" tests/lint/room-order .
tap_run "at most 3 cycles of files, each inside one room" tests/lint/call-cycles "$build"

# Both notice what they are for.
mkdir -p "$work/runtime/ir" "$work/runtime/exec"
echo '#include "exec/job.h"' >"$work/runtime/ir/graph.c"
echo '#include "ir/graph.h"' >"$work/runtime/exec/job.c"
planted_include()
{
	tests/lint/room-order "$work" >"$work/out"
	[ $? -eq 1 ] && [ "$(cat "$work/out")" = "ir/graph.c: includes exec/job.h" ]
}
tap_run "a header of a later room is noticed" planted_include

echo 'int b(void); int a(void) { return b(); }' >"$work/runtime/ir/a.c"
echo 'int a(void); int b(void) { return a(); }' >"$work/runtime/exec/b.c"
echo 'int a(void); int c(void) { return a(); }' >"$work/runtime/ir/c.c"
objects=()
for file in ir/a exec/b ir/c; do
	cc -c -o "$work/runtime/$file.o" "$work/runtime/$file.c"
	objects+=("$work/runtime/$file.o")
done
planted_cycle()
{
	tests/lint/call-cycles --objects "${objects[@]}" >"$work/out"
	[ $? -eq 1 ] && grep -q '^2 files in several rooms' "$work/out" &&
		grep -q '^1 cycles, 2 of 3 files' "$work/out"
}
tap_run "a cycle of files through two rooms is noticed" planted_cycle
tap_done
