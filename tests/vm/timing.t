#!/bin/bash
# SPDX-License-Identifier: MIT
#
# timing=modelled: a job takes its modelled cycles at clock-hz in virtual time.
set -u

here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

HZ=1000000
modelled=(--no-module --device "timing=modelled,clock-hz=$HZ")
lockstep=("${modelled[@]}" --smp 1 --qemu-arg -icount --qemu-arg shift=1,sleep=off)

# rawjob OUT ARG...: runs a job; sets ns and cycles
rawjob()
{
	local out=$1 start end

	shift
	"$here/run" "$@" -- rawjob 20 >"$out" 2>"$out.err" || sed 's/^/# /' "$out.err"
	read -r start end < <(sed -n 's/^device time \(.*\) to \(.*\) ns$/\1 \2/p' "$out.err")
	ns=$((${end:-0} - ${start:-0}))
	cycles=$(sed -n 's/.* cycles //p' "$out")
	want=$((${cycles:-0} * (1000000000 / HZ)))
}

"$here/run" --no-module -- rawjob 20 >"$work/instant" 2>/dev/null
is "a job with timing=instant" $? 0

rawjob "$work/lockstep" "${lockstep[@]}"
ok "timing=modelled gives the same result" cmp "$work/instant" "$work/lockstep"
is "with -icount a job takes exactly $cycles cycles at $HZ Hz" $ns $want

while :; do :; done &
load=$!
rawjob "$work/loaded" "${lockstep[@]}"
kill $load
is "the same on a busy host" "$ns $(cat "$work/loaded")" \
	"$want $(cat "$work/instant")"

rawjob "$work/free" "${modelled[@]}"
ok "timing=modelled without -icount gives the same result" cmp "$work/instant" "$work/free"
ok "without -icount a job takes $ns ns, at least $want" [ "$ns" -ge "$want" ]

"$here/run" --device timing=modelled -- cnnctl selftest >"$work/selftest" 2>&1
is "the driver's self-test with timing=modelled" $? 0

"$here/run" --no-module --device timing=later -- true 2>&1 | grep -q "neither instant nor modelled"
is "an unknown timing is refused with a message" $? 0

tap_done
