#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Eight concurrent runs of a network spread over equal cores, by threads of one process and by
# processes.  Jobs take their modelled time, at a clock that makes it longer than what the guest
# needs to submit them; what counts is the cycles of the busiest core.
. "$(dirname "$0")/../lib/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
RUNS=8
cp "$build"/tests/unit/rt/{digits,mixed}.onnx "$work/"
cat >"$work/guest" <<'END'
cd /mnt
for how in threads processes; do
	for net in digits mixed; do
		spread $net.onnx $how $1 $3 >$2-$how-$net 2>&1 || exit
	done
done
[ $2 = 1 ] || spread digits.onnx threads $1 1 >pinned 2>&1
END

# check NAME FILE: the command before it decides; a failure shows the file.
check()
{
	tap_ok "$1"
	[ $tap_status -eq 0 ] || sed 's/^/# /' "$2"
}

# boot COUNT CORES: runs with so many cores
boot()
{
	local core=${2#cores=}

	"$top/tests/vm/run" --share "$work" --device "$2,timing=modelled,clock-hz=125000" \
		-- sh /mnt/guest $RUNS "$1" "${core%%+*}" >"$work/$1.log" 2>&1
	check "$RUNS runs at once on $1 cores" "$work/$1.log"
}

# end COUNT HOW NET: the cycles of the busiest core
end()
{
	sed -n 's/^end //p' "$work/$1-$2-$3"
}

# gain COUNT TENTHS: the runs end that many tenths times earlier than on one core
gain()
{
	local how net one many

	for how in threads processes; do
		for net in digits mixed; do
			one=$(end 1 $how $net)
			many=$(end "$1" $how $net)
			[ $((${many:-0} * $2)) -le $((${one:-0} * 10)) ] && [ "${many:-0}" -gt 0 ]
			check "$net by $how: $many cycles on $1 cores, $one on one" \
				"$work/$1-$how-$net"
			[ "$(grep -c '^core ' "$work/$1-$how-$net")" = "$1" ]
			check "each of the $1 cores has its share" "$work/$1-$how-$net"
		done
	done
}

boot 1 cores=ccp
boot 2 cores=ccp+ccp
boot 4 cores=ccp+ccp+ccp+ccp
gain 2 18
gain 4 35
[ "$(grep '^core ' "$work/pinned" | cut -d' ' -f2,4)" = "1 $RUNS" ]
check "with --core and an index, all run on that core" "$work/pinned"
tap_done
