#!/bin/bash
# SPDX-License-Identifier: MIT
# Where the operators of whole networks are placed: by cost never slower, by the model, than on the
# CPU or on one type of core alone, and the same from one compilation to the next.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/lib.sh"

networks='text-direction inception resnet8 ds-cnn mobile-u8 shifted'
cores=$(floor_cores)
gain=0.9	# of the best single choice, for one network at least

# compile NAME DEVICE OPTION...: prints the modelled milliseconds.
compile()
{
	"$cnnrun" --compile "$work/$(file_of "$1")" -o "$work/$1.cnn" $(network_options "$1") \
		--device "sim:cores=$2" "${@:3}" |
		sed -n 's/^Modelled time of a run: \([0-9.]*\) ms.*/\1/p'
}

# The least that one choice takes: the CPU, or every core of one type.
single()
{
	for core in cpu ${cores//+/ }; do
		compile "$1" "$cores" --core "$core"
	done | sort -g | head -n 1
}

never_slower()
{
	for device in ${cores//+/ } "$cores" "${cores%%+*}+${cores%%+*}"; do
		for core in cpu $(tr '+' '\n' <<<"$device" | sort -u); do
			echo "$device" "$(compile "$1" "$device" --prefer time)" "$core" \
				"$(compile "$1" "$device" --core "$core")"
		done
	done | tee /dev/stderr | awk '!($2 <= $4) { bad = 1 } END { exit bad || NR < 8 }'
}

# More kinds of core are no loss: by cost on all of them never slower than by cost on any one alone.
kinds_no_loss()
{
	all=$(compile "$1" "$cores" --prefer time)
	for kind in ${cores//+/ }; do
		echo "$all" "$kind" "$(compile "$1" "$kind" --prefer time)"
	done | tee /dev/stderr | awk '!($1 <= $3) { bad = 1 } END { exit bad || NR < 2 }'
}

# One network at least gains from both cores and the CPU together.
some_gain()
{
	for name in $ready; do
		echo "$name" "$(compile "$name" "$cores" --prefer time)" "$(single "$name")"
	done | tee /dev/stderr | awk -v gain=$gain '$2 <= gain * $3 { found = 1 } END { exit !found }'
}

same_bytes()
{
	for prefer in device time; do
		compile "$1" "$cores" --prefer $prefer >/dev/null &&
			mv "$work/$1.cnn" "$work/first.cnn" &&
			compile "$1" "$cores" --prefer $prefer >/dev/null &&
			cmp "$work/first.cnn" "$work/$1.cnn" || return
	done
}

# operators NAME PLACE...: what --explain lists, of the network placed so.
operators()
{
	"$cnnrun" "$work/$(file_of "$1")" $(network_options "$1") --device "sim:cores=$cores" "${@:2}" \
		--explain | grep '^ *[0-9]* [A-Z].* MACs '
}

# On the CPU each product is one operator, as where there is no core; a core's has one more, for what
# the CPU does with its sums.  One whose channels the core and the CPU share has its own part besides,
# and a MergeChannels.
whole_products()
{
	alone=$(operators "$1" --core cpu | wc -l)
	operators "$1" --prefer time >"$work/operators"
	split=$(grep -c '^ *[0-9]* \(QLinear\|Requantize\)Sums ' "$work/operators")
	sums=$(grep -c "^ *[0-9]* [A-Za-z]*Integer[A-Za-z]* .* \(${cores//+/\\|}\) .* MACs " "$work/operators")
	shared=$(grep -c '^ *[0-9]* MergeChannels ' "$work/operators")
	all=$(wc -l <"$work/operators")
	echo "$all operators, on the CPU alone $alone; $sums products on cores, $split split, $shared shared"
	[ "$alone" -gt 0 ] && [ "$split" -le "$sums" ] && [ "$shared" -le "$split" ] &&
		[ "$all" -eq $((alone + split + 2 * shared)) ]
}

# Bytes do not depend on the place.
same_answer()
{
	for options in '--core cpu' '--prefer device' '--prefer time'; do
		run_network "$1" "$top/demo/text.png" "$work/got.npy" --device "sim:cores=$cores" \
			$options >"$work/out" || return
		[ -e "$work/$1.npy" ] || cp "$work/got.npy" "$work/$1.npy"
		cmp "$work/got.npy" "$work/$1.npy" || return
	done
}


ready=
for name in $networks; do
	network "$name" 2>"$work/why" || { tap_skip "$name" "$(cat "$work/why")"; continue; }
	ready="$ready $name"
	tap_run "$name: by cost never slower than one choice" never_slower "$name"
	tap_run "$name: by cost never slower for more kinds of core" kinds_no_loss "$name"
	tap_run "$name: the same program twice" same_bytes "$name"
	[[ $name != text-direction && $name != inception ]] || continue	# floats
	tap_run "$name: the same bytes wherever it runs" same_answer "$name"
	tap_run "$name: products on the CPU stay whole" whole_products "$name"
done
tap_run "both cores and the CPU together gain a tenth" some_gain
tap_done
