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

# A process is asked for its accounts until it has ended.  Another one follows it until there has
# been one of every core, so that the slowest has company all the time.
cat >"$work/guest" <<END
runs=$runs
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
	while [ $(ls /tmp/done.* | wc -l) -lt $(wc -l <processes) ]; do
		one $1
	done
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
	python3 - "$work/trace" "$(wc -l <"$work/processes")" <<'END'
import re
import sys

live, pairs = set(), set()
for line in open(sys.argv[1]):
    m = re.search(r'cnnacc_job_(queue|done): .* core=(\d+) ctx=(\d+) seqno=(\d+)', line)
    if not m:
        continue
    job = m.groups()[1:]
    if m[1] == 'done':
        live.discard(job)
        continue
    pairs |= {tuple(sorted((job[0], other[0]))) for other in live if other[0] != job[0]}
    live.add(job)
wanted = int(sys.argv[2]) * (int(sys.argv[2]) - 1) // 2
print(f'{len(pairs)} pairs of cores with jobs at the same time, of {wanted}')
sys.exit(len(pairs) < wanted)
END
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
