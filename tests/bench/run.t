#!/bin/bash
# SPDX-License-Identifier: MIT
# The runner of the benchmarks, with parts made up here.
. "$(dirname "$0")/../lib/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bench" "$work/backend/core/bench"
cp "$top/tests/bench/run" "$work/bench/"

# part FOLDER/NAME TEXT: a part that prints TEXT.
part()
{
	printf '#!/bin/sh\ncat <<END\n%s\nEND\n' "$2" >"$work/$1.bench"
	chmod +x "$work/$1.bench"
}

bench()
{
	CNNACC_BUILD=$work python3 "$work/bench/run" "$@" >"$work/out" 2>"$work/err"
}

# entry ID KEY: as bench.json has it.
entry()
{
	python3 -c 'import json, sys
print([e[sys.argv[3]] for e in json.load(open(sys.argv[1])) if e["id"] == sys.argv[2]][0])' \
		"$work/bench.json" "$1" "$2"
}

cat >"$work/bench/figures.txt" <<'END'
good x.speed  higher 0.5  2    speed
good x.cost   lower  1.5  1.0  cost
END
echo "bad  y.speed  higher 0.5  2    speed" >"$work/backend/core/bench/figures.txt"
part bench/good $'x.cost 1.7\nx.speed 1\nx.speed 9\nx.speed 3\nx.more 1e-3\n# a note'
bench good
tap_ok "a part that delivers its figures"
tap_run "the median counts" test "$(entry x.speed value)" = 3.0
tap_run "what it must reach" test "$(entry x.cost must) $(entry x.cost better)" = "1.5 lower"
tap_run "an unlisted figure is information" test "$(entry x.more value) $(entry x.more must)" = \
	"0.001 None"
tap_run "a figure beyond its bound is marked" grep -q '^x.cost .*<=1.5 .*MISSED' "$work/out"
tap_run "a figure that reaches the aim is marked" grep -q '^x.speed .* aim ' "$work/out"
tap_run "notes are shown" grep -q '^good: a note' "$work/out"

part backend/core/bench/bad $'y.other 1'
! bench bad && grep -q 'bad: FAILED: no figure y.speed' "$work/out"
tap_ok "a part that leaves out a figure fails"
part backend/core/bench/bad $'skip no machine for it'
bench bad && grep -q 'bad: SKIPPED: no machine for it' "$work/out"
tap_ok "a part may say why figures are missing"
part backend/core/bench/bad $'y.speed fast'
! bench bad && grep -q 'bad: FAILED: cannot read the line: y.speed fast' "$work/out"
tap_ok "a line that is no figure fails"
printf '#!/bin/sh\necho y.speed 1\nexit 3\n' >"$work/backend/core/bench/bad.bench"
! bench && grep -q 'bad: FAILED: exit status 3' "$work/out"
tap_ok "a part that fails fails the run"
test "$(entry x.speed value)" = 3.0 && test "$(entry y.speed value)" = 1.0
tap_ok "the other parts still count"
mkdir -p "$work/backend/other/bench"
echo "other y.speed  higher 0.5  2    speed" >"$work/backend/other/bench/figures.txt"
! bench good && grep -q 'other/bench/figures.txt: y.speed is a figure of bad already' "$work/err"
tap_ok "two parts with a figure of one name"
rm -r "$work/backend/other"
! bench nonsense && grep -q 'no part nonsense; there are bad good' "$work/err"
tap_ok "an unknown part"
tap_done
