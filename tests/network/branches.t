#!/bin/bash
# SPDX-License-Identifier: MIT
# Networks with branches on one core and on several equal ones: the same bytes, an end that is never
# later by the model, and earlier where branches have enough to do, also if operators on the CPU stand
# between what cores run.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/lib.sh"

side=64
slow=clock-hz=500000	# a core takes so much longer than the host that the host does not count

# gains TYPE: networks and most times one core's time that they take on two and on four cores, by the
# model
gains()
{
	case $1 in
	float) printf '%s\n' 'inception 0.65 0.5' 'even 0.65 0.65' 'pyramid 0.65 0.65' 'shuffle 1 1' ;;
	uint8) printf '%s\n' 'inception 0.7 0.67' 'even 0.62 0.62' 'shuffle 1 1' ;;
	esac
}

# run FILE CORES OUT OPTION...: prints the modelled milliseconds
run()
{
	"$cnnrun" "$work/$1.onnx" --device "sim:$2" --core "$core" --input "0=$work/in.npy" \
		--output "0=$work/$3.npy" "${@:4}" >"$work/$3.out" || return
	sed -n 's/^Modelled time of a run: \([0-9.]*\) ms.*/\1/p' "$work/$3.out"
}

# ends FILE MOST2 MOST4
ends()
{
	one=$(run "$1" "$cores" one) && two=$(run "$1" "$cores+$core" two) &&
		four=$(run "$1" "$cores+$core+$core+$core" four) || return
	echo "$one ms, on two cores $two, on four $four"
	cmp "$work/one.npy" "$work/two.npy" && cmp "$work/one.npy" "$work/four.npy" || return
	awk -v one="$one" -v two="$two" -v four="$four" -v most2="$2" -v most4="$3" \
		'BEGIN { exit !(two <= most2 * one && four <= most4 * one && two && four) }'
}

# median FILE: of three runs, as cnnrun measured them
median()
{
	sed -n 's/^time: \([0-9.]*\) ms median.*/\1/p' "$work/$1.out"
}

# Wall clock: nothing waits for memory that another branch uses.
overlaps()
{
	run "$1" "$cores,timing=modelled,$slow" one --repeat 3 >/dev/null &&
		run "$1" "$cores+$core,timing=modelled,$slow" two --repeat 3 >/dev/null || return
	echo "$(median one) ms, on two cores $(median two)"
	awk -v one="$(median one)" -v two="$(median two)" \
		'BEGIN { exit !(two <= 0.72 * one && two) }'
}

python3 - "$work/in.npy" $side <<'END'
import sys

import numpy as np

side = int(sys.argv[2])
np.save(sys.argv[1], np.random.default_rng(3).standard_normal((1, 3, side, side), np.float32))
END

for device in cores=ccp,float cores=hwpe,uint8; do
	cores=${device%,*} type=${device#*,}
	core=${cores#cores=}
	while read -r name most2 most4; do
		"$top/tests/network/make-branches" $name $side 1 $type "$work/$name-$type.onnx"
		tap_run "$name of $type on $core: the same bytes, and never later, on more cores" \
			ends "$name-$type" "$most2" "$most4"
	done < <(gains $type)
	tap_run "branches of $type run side by side" overlaps "inception-$type"
done
tap_done
