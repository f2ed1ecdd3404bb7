#!/bin/bash
# SPDX-License-Identifier: MIT
#
# One device with every core: processes for each core, all at once, whose answers are those of the
# device in process, and to whom the driver accounts the time of their own core; then one network
# of which each core does a part.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/tests/network/lib.sh"

parts=5		# kinds of layers of make-mixed, each of which another core does best
runs=10		# of a process
cores=$(floor_cores)
device=cores=$cores
modelled=timing=modelled,clock-hz=2000000	# jobs of 10 to 150 ms

# first_network CORE: one that is marked quick, if there is one.
first_network()
{
	{ floors quick && floors; } | awk -v core="$1" '$2 == core { print $1; exit }'
}

cp "$top/demo/text.png" "$work/"
for core in ${cores//+/ }; do
	name=$(first_network "$core")
	network "$name" >/dev/null
	run_network "$name" "$work/text.png" "$work/$core.sim.npy" --device "sim:$device" \
		--core "$core" >"$work/$core.sim"
	echo "$core $(file_of "$name")"
done >"$work/processes"
"$top/tests/vm/make-mixed" "$work/mixed.onnx" "$work/x.npy"
"$cnnrun" --compile "$work/mixed.onnx" -o "$work/mixed.cnn" --device "sim:$device" >/dev/null
"$cnnrun" "$work/mixed.cnn" --input "0=$work/x.npy" --device "sim:$device" \
	--output "0=$work/mixed.sim.npy" >/dev/null
tap_run "mixed: every layer is the CPU's" \
	"$cnnrun" "$work/mixed.onnx" --input "0=$work/x.npy" --device "sim:$device" --compare

# live_pairs.awk reads a trace and prints each pair of cores that had jobs under way at the same time.
cat >"$work/live_pairs.awk" <<'END'
function field(name)
{
	match($0, name "=[0-9]+")
	return substr($0, RSTART + length(name) + 1, RLENGTH - length(name) - 1)
}
/cnnacc_job_(queue|done): / { job = field("core") " " field("ctx") " " field("seqno") }
/cnnacc_job_done: / { delete live[job] }
/cnnacc_job_queue: / {
	live[job] = core = field("core")
	for (other in live)
		if (live[other] < core && !seen[live[other] " " core]++)
			print live[other], core
		else if (live[other] > core && !seen[core " " live[other]]++)
			print core, live[other]
}
END

# A process is asked for its accounts until it has ended.  Another one follows it until there has
# been one of every core and jobs of every two cores have met: how often two of them meet is a
# matter of what the guest's CPUs do meanwhile.
cat >"$work/guest" <<END
runs=$runs
pairs=$(($(wc -l <"$work/processes") * ($(wc -l <"$work/processes") - 1) / 2))
END
cat >>"$work/guest" <<'END'
cd /mnt
one()
{
	cnnrun /tmp/$1.cnn --input 0=text.png --output 0=$1.vm.npy --repeat $runs >$1.vm 2>&1 &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		cat /proc/$pid/fdinfo/* 2>/dev/null | grep -E '^(drm-engine|cnnacc-jobs)-' >/tmp/$1
		! grep -q '[[:space:]][1-9]' /tmp/$1 || mv /tmp/$1 $1.fdinfo
	done
	wait $pid || echo $? >>$1.failed
	>/tmp/done.$1
}
several()
{
	cnnrun --compile $2 -o /tmp/$1.cnn --input 0=text.png --core $1 >/tmp/$1.compiled
	echo >/tmp/ready
	read go </tmp/go
	one $1
	while [ ! -e /tmp/met ]; do
		one $1
	done
}
have_met()
{
	[ $(ls /tmp/done.* 2>/dev/null | wc -l) -eq $(wc -l <processes) ] &&
		[ $(awk -f live_pairs.awk /sys/kernel/tracing/trace | wc -l) -eq $pairs ]
}
mkfifo /tmp/go /tmp/ready
exec 3<>/tmp/go 4<>/tmp/ready
echo 16384 >/sys/kernel/tracing/buffer_size_kb
while read -r core file; do
	several $core $file &
done <processes
while read -r core file; do
	read one <&4
done <processes
echo 1 >/sys/kernel/tracing/events/cnnacc/enable
while read -r core file; do
	echo >&3
done <processes
tries=0
until have_met || [ $((tries += 1)) -gt 100 ]; do
	sleep 0.5
done
>/tmp/met
wait
cat /sys/kernel/tracing/trace >trace
cnnrun mixed.cnn --input 0=x.npy --output 0=mixed.vm.npy >mixed.vm 2>&1
END
# own_time CORE: the driver accounts time and jobs of that core alone to its process.
own_time()
{
	awk -v core="$1" '
		{ sub(/:$/, "", $1); mine = index($1, "-" core ".") }
		mine && $2 > 0 { own++ }
		!mine && $2 > 0 { others++ }
		END { exit own != 2 || others }' "$work/$1.fdinfo" || { cat "$work/$1.fdinfo"; false; }
}

# Every two cores had jobs under way at the same time.
all_at_once()
{
	local cores=$(wc -l <"$work/processes") met

	met=$(awk -f "$work/live_pairs.awk" "$work/trace" | wc -l)
	echo "$met pairs of cores with jobs at the same time, of $((cores * (cores - 1) / 2))"
	test "$met" -eq $((cores * (cores - 1) / 2))
}

tap_run "the guest ran" "$top/tests/vm/run" --device "$device,$modelled" --share "$work" -- \
	sh /mnt/guest
while read -r core file; do
	tap_run "$core: all runs agree" test -s "$work/$core.vm.npy" -a ! -e "$work/$core.failed"
	tap_run "$core: the answer is that of the device in process" \
		cmp "$work/$core.vm.npy" "$work/$core.sim.npy"
	tap_run "$core: fdinfo has its time, and no other core's" own_time "$core"
done <"$work/processes"
tap_run "jobs of every two cores at the same time" all_at_once
tap_run "mixed: the answer is that of the device in process" \
	cmp "$work/mixed.vm.npy" "$work/mixed.sim.npy"
# A layer of tables or pools has no MACs, so that the places tell.
busy=$("$cnnrun" "$work/mixed.onnx" --input "0=$work/x.npy" --device "sim:$device" --explain |
	awk '{ print $4 }' | sort -u | grep -cxE "${cores//+/|}")
tap_run "mixed: at least $parts cores have a part" test "$busy" -ge $parts
tap_done
