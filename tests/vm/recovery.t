#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Jobs that stall, hang, fault or are illegal, beside a process that runs a network.  The process
# may only be delayed.  A replay of the driver's coredump must stop at the same instruction.
# CNNACC_RECOVERY_COUNT: jobs of each kind (5).
. "$(dirname "$0")/../lib/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=${CNNACC_RECOVERY_COUNT:-5}
kinds="still hang fault illegal far split limit"
cnnctl=$build/runtime/tools/cnnctl
# Not the default build: a replay must build the same core.
cores=cores=ccp:job-cycles-max=100000000000:data-bank=65536:weight-bank=32768:lob=64
cp "$build/tests/unit/rt/digits.onnx" "$work/"
"$build/runtime/tools/cnnrun" "$work/digits.onnx" --device "sim:$cores" \
	--output "0=$work/sim.npy" \
	>"$work/sim.log" 2>&1
tap_ok "the network's answer in process"

cat >"$work/guest" <<END
cd /mnt
innocent()
{
	runs=0
	until [ -e /tmp/stop ]; do
		cnnrun digits.onnx --repeat 20 --output 0=/tmp/vm.npy >innocent.log 2>&1 &&
			cmp /tmp/vm.npy sim.npy >>innocent.log 2>&1 || break
		runs=\$((runs + 20))
	done
	[ -e /tmp/stop ] && echo \$runs >innocent
	echo >/tmp/stopped
}
innocent &
kmd_guilty $count >guilty 2>&1
echo \$? >guilty.rc
echo >/tmp/stop
until [ -e /tmp/stopped ]; do sleep 0.1; done
# The next dump is lost while this one is pending: for a second, or until it is fetched.
fetch()
{
	for try in \$(seq 600); do
		for data in /sys/class/devcoredump/devcd*/data; do
			[ -e \$data ] && cnnctl core \$data >/dev/null && cat \$data >\$1 &&
				echo 1 >\$data && return
		done
		sleep 0.1
	done
}
fetch /tmp/first
for kind in $kinds; do
	sleep 1.5
	kmd_guilty 1 \$kind >\$kind.log 2>&1
	fetch \$kind.core
done
# The last users may take a moment to close the device.
for try in \$(seq 600); do
	rmmod cnnacc && break
	sleep 0.1
done
modprobe cnnacc && cat /sys/module/cnnacc/parameters/watchdog_ms >defaults &&
	kmd_guilty $(((count + 2) / 3)) still >>defaults 2>&1
echo \$? >>defaults
END
# On a busy host an endless program must not reach its cycle limit while the driver waits for the
# CPU, and the watchdog must not expire while the device does.
"$top/tests/vm/run" --timeout $((900 + 9 * count)) --module-param watchdog_ms=1000 --share "$work" \
	--device "$cores" -- sh /mnt/guest >"$work/log" 2>&1
tap_ok "the guest ran and the kernel did not complain"
sed 's/^/# /' "$work/log"
grep '^#' "$work/guilty"
tap_run "guilty programs, $count times each" sh -c \
	"cat $work/guilty; [ \"\$(cat $work/guilty.rc)\" = 0 ]"
tap_run "a core that stalls, with the default parameters" sh -c \
	"cat $work/defaults; [ \"\$(sed -n '1p;\$p' $work/defaults | xargs)\" = '1500 0' ]"
grep '^#' "$work/defaults"
tap_run "every result of the innocent process is right" sh -c \
	"cat $work/innocent.log; [ \"\$(cat $work/innocent)\" -gt 0 ]"
echo "# $(cat "$work/innocent") runs of the network meanwhile"

# dumped KIND TEXT: the text of the coredump contains TEXT.
dumped()
{
	"$cnnctl" core "$work/$1.core" >"$work/text" && grep -qF -- "$2" "$work/text" && return
	cat "$work/text"
	return 1
}
tap_run "coredump of a core that stalls" dumped still \
	"ended: HANG, and no answer to an abort"
tap_run "coredump of a hang" dumped hang "ended: HANG at instruction 1"
tap_run "coredump of a fault" dumped fault \
	"ended: MMU_FAULT (E_DMA) at instruction 3: read of VA 0x50000040: nothing is mapped there"
tap_run "coredump of a fault has the table walk" dumped fault "walk of VA 0x50000040"
tap_run "coredump of a fault has the mappings" dumped fault "0xf0000000..0xf0000fff --x"
tap_run "coredump of a fault has the registers" dumped fault "STATUS         00020014"
tap_run "coredump of an illegal program" dumped illegal \
	"ended: BAD_PROGRAM (E_ILLEGAL) at instruction 2"
tap_run "coredump of an illegal program has the instruction" dumped illegal \
	">     2: f0000000  unknown operation 15"
tap_run "coredump of a program longer than the dump has the instruction" \
	dumped far ">     2: f0000000"
tap_run "coredump of a program in two mappings has the instruction" dumped split ">    20: f0000000"
tap_run "coredump of an endless program" dumped limit "ended: TIME_LIMIT at instruction 1"
# pending KIND COUNT: COUNT packets of the job's context were in the ring, the last one of the next
# task or job.  Behind a short job a bystander's packet may be there as well.
pending()
{
	local context

	"$cnnctl" core "$work/$1.core" >"$work/text" || return
	context=$(sed -n 's/^job [0-9]* of context \([0-9]*\),.*/\1/p' "$work/text")
	sed -n '/^packets not completed:/,/^completion records:/p' "$work/text" |
		grep ": fence [0-9]*, context $context," >"$work/pending"
	[ "$(wc -l <"$work/pending")" = "$2" ] &&
		tail -n 1 "$work/pending" | grep -q 'program VA 0xf0000800 of 4 bytes' && return
	sed -n '1,2p; /^packets not completed:/,/^completion records:/p' "$work/text"
	return 1
}
tap_run "the queue of a core that stalls: its packet and the next" pending still 2
tap_run "the queue of a short job at its limit: the next packet" pending limit 1
# json_too KIND: the JSON form has the same entries as the text.
json_too()
{
	"$cnnctl" core "$work/$1.core" >"$work/text" &&
		"$cnnctl" core --json "$work/$1.core" >"$work/json" || return
	/usr/bin/python3 - "$work/text" "$work/json" <<'END'
import json, sys
text, core = {'program': []}, json.load(open(sys.argv[2]))
part = 'program'
for line in open(sys.argv[1]):
    if not line.startswith('  '):
        part = line.rstrip()
    text.setdefault(part if line[2] != '>' else 'program', []).append(line)
want = {'mapped': 'mapped:', 'programs': 'programs dumped:', 'registers': 'registers:',
        'packets': 'packets not completed:', 'records': 'completion records:'}
for key, head in want.items():
    assert len(core[key]) == len(text[head]) - 1, (key, core[key], text[head])
assert f'> {core["status"]["pc"]:5}: ' + next(w['word'][2:].rjust(8, '0') for w in core['program']
    if w['pc'] == core['status']['pc']) in ''.join(text['program']), core['program']
assert core['status']['text'] in open(sys.argv[1]).read()
END
}
for kind in $kinds; do
	tap_run "$kind: the JSON form has the same entries" json_too "$kind"
	[ "$kind" = still ] ||
		tap_run "$kind: the replay stops at the same instruction" \
			"$cnnctl" replay "$work/$kind.core"
done
tap_run "the replay of a stalled job ends: the device was the cause" sh -c \
	"$cnnctl replay $work/still.core >$work/text; [ \$? -eq 4 ] && cat $work/text &&
	grep -q '^recorded: HANG' $work/text && grep -q '^replayed: OK' $work/text"

# The watchdog must not end kmd_bystander's jobs, which take seconds, but must be quick to notice
# jobs without an owner.
cat >"$work/beside" <<'END'
kmd_bystander || exit
until rmmod cnnacc; do sleep 0.1; done
modprobe cnnacc watchdog_ms=400 && kmd_guilty 2 orphans
END
tap_run "a device reset beside jobs of others, and jobs of killed processes" \
	"$top/tests/vm/run" --timeout 900 --module-param watchdog_ms=10000 --share "$work" \
	--device cores=ccp+ccp:job-cycles-max=1000000000000,fault-injection=reset -- sh /mnt/beside

# changed OFFSET: a replay of the fault's dump with another byte there reports a difference.
changed()
{
	cp "$work/fault.core" "$work/changed.core"
	printf '\001' | dd of="$work/changed.core" bs=1 seek="$1" conv=notrunc 2>/dev/null
	"$cnnctl" replay "$work/changed.core"
	[ $? -eq 4 ]
}
# Header, section head; then the record's pc and fault address in struct cnnacc_dump_job.
tap_run "a replay notices another program counter" changed $((24 + 24 + 248 + 20))
tap_run "a replay notices another fault address" changed $((24 + 24 + 248 + 32))
tap_run "a dump cut short is refused" sh -c \
	"head -c 5000 $work/fault.core >$work/cut && ! $cnnctl core $work/cut"
tap_done
