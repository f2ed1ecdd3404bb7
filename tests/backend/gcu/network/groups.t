#!/bin/bash
# SPDX-License-Identifier: MIT
# Depthwise convolutions of which gcu requantises some channels: it does so where cores are
# preferred.  Where that costs more than it saves, --prefer time leaves all sums to the CPU, says
# so, and is faster.
. "$(dirname "$0")/../../../lib/tap.sh"
cnnrun="$build/runtime/tools/cnnrun"

# compile PREFERENCE: what --explain prints, in a file of that name
compile()
{
	"$cnnrun" --compile "$work/net.tflite" -o "$work/net.cnn" --device sim:cores=gcu \
		--prefer "$1" --explain >"$work/$1" 2>&1 || { cat "$work/$1"; return 1; }
}

modelled()
{
	sed -n 's/^Modelled time of a run: \([0-9.]*\) ms.*/\1/p' "$work/$1"
}

preferences()
{
	compile device && compile time || return
	device=$(grep -c '; the others by cost' "$work/device")
	time=$(grep -c '; the others by cost' "$work/time")
	echo "by cost: $device and $time products; $(modelled device) and $(modelled time) ms"
	[ "$device" -eq 0 ] && [ "$time" -gt 0 ] &&
		[ "$(grep -c '^ *[0-9]* IntegerConv ' "$work/device")" -ge "$time" ] &&
		awk -v a="$(modelled time)" -v b="$(modelled device)" \
			'BEGIN { exit !(a > 0 && a < b) }'
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if "$top/tests/conformance/tflite_networks.py" ds-cnn "$work/net.tflite" 2>"$work/why"; then
	tap_run "ds-cnn: groups by cost" preferences
else
	tap_skip "ds-cnn: groups by cost" "$(cat "$work/why")"
fi
tap_done
