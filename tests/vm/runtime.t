#!/bin/bash
# SPDX-License-Identifier: MIT
#
# libcnnrt on the kernel driver: its own tests, the examples, compiled networks, and the messages
# when the module is not loaded or the user may not open the device.
. "$(dirname "$0")/../lib/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$build/tests/unit/rt/digits.onnx" "$work/model.onnx"
cp "$build/tests/unit/rt/mixed.onnx" "$top/packaging/60-cnnacc.rules" "$work/"
cnnrun=$build/runtime/tools/cnnrun
# The core of a device that names none.
core=$("$build/tests/lib/core_program" | head -n 1)
"$cnnrun" --compile "$work/mixed.onnx" -o "$work/mixed.cnn" --device sim >/dev/null
"$cnnrun" "$work/mixed.cnn" --device sim --output "0=$work/sim.npy" >/dev/null 2>&1
echo "core=$core" >"$work/guest"
cat >>"$work/guest" <<'END'
export RT_DEVICE=/dev/accel/accel0 RT_DIGITS=/mnt/model.onnx RT_MIXED=/mnt/mixed.onnx
cd /mnt
run()
{
	name=$1
	shift
	"$@" >"$name.out" 2>&1
	echo $? >"$name.rc"
}
run rt_api rt_api
run rt_exec rt_exec
run rt_jobs rt_jobs
run rt_program rt_program
run compiled cnnrun mixed.cnn --output 0=vm.npy
run compare cnnrun mixed.onnx --compare
run caps cnnctl info --caps guest.caps
for e in simple async dmabuf; do
	run $e example-$e model.onnx
done
run selftest cnnctl selftest
# Networks of root and of a user keep the device busy; cnnctl top and stats show each user's share.
cnnrun mixed.onnx --repeat 100000 >/dev/null 2>&1 &
busy=$!
chmod 666 /dev/accel/accel0
cp mixed.onnx /tmp/
su -s /bin/sh nobody -c 'cnnrun /tmp/mixed.onnx --repeat 100000' >/dev/null 2>&1 &
# On a busy host both may get no CPU time for a while.
for try in $(seq 300); do
	run topjson cnnctl top --once --interval 500 --json
	[ "$(grep -o '"cycles": [1-9]' topjson.out | wc -l)" -lt 2 ] ||
		sed 's/"clients".*//' topjson.out | grep -q '"load": 0,' || break
done
run top cnnctl top --once --interval 500
# cnnctl top must end when its reader has closed the pipe.
cnnctl top --interval 50 --json 2>/dev/null | head -n 3 >toplines.out
su -s /bin/sh nobody -c 'cnnctl top --once --interval 200' >usertop.out 2>&1
echo $? >usertop.rc
run stats cnnctl stats
run statsjson cnnctl stats --json
run resetcore cnnctl reset --core $core.0
run nocore cnnctl reset --core $core.7
run resetdevice cnnctl reset
su -s /bin/sh nobody -c 'cnnctl reset' >userreset.out 2>&1
echo $? >userreset.rc
kill $busy
killall cnnrun
sleep 1
chmod 600 /dev/accel/accel0
mknod /tmp/none c 261 77
chmod 666 /tmp/none
run nodriver cnnctl info --device /tmp/none
run simtop cnnctl top --once --device sim
nobody()
{
	su -s /bin/sh nobody -c "$1"
}
# Apply the udev rule that make install installs.
echo render:x:106:nobody >>/etc/group
mkdir -p /lib/udev/rules.d /run/udev
cp 60-cnnacc.rules /lib/udev/rules.d/
ln -s udevadm /usr/local/bin/systemd-udevd
systemd-udevd --daemon
udevadm trigger --settle --action=add --subsystem-match=accel
stat -c '%G %a' /dev/accel/accel0 >udev.out 2>&1
echo $? >udev.rc
run group nobody "cnnctl selftest"
udevadm control --exit
rm -rf /run/udev
chown root:root /dev/accel/accel0
chmod 600 /dev/accel/accel0
run unreadable nobody "cnnctl selftest"
chmod 666 /dev/accel/accel0
run user nobody "cnnctl selftest"
run registers nobody "cnnctl regs"
run registersjson nobody "cnnctl regs --json"
run counters nobody "cnnctl stats"
# Statistics must survive the device's sleep (runtime PM).
run statsbefore cnnctl stats
for try in $(seq 600); do
	cat /sys/class/accel/accel0/device/power/runtime_status >asleep.out
	! grep -q suspended asleep.out || break
	sleep 0.1
done
run statsafter cnnctl stats
# The last users may take a moment to close the device.
for try in $(seq 600); do
	rmmod cnnacc && break
	sleep 0.1
done
run unloaded cnnctl selftest
run info cnnctl info
run refused nobody "CNNRT_LOAD_MODULE=1 cnnctl selftest"
export CNNRT_LOAD_MODULE=1
run loads cnnctl selftest
END
"$top/tests/vm/run" --timeout 1200 --share "$work" --program "$build/tests/unit/rt/rt_api" \
	--program "$build/tests/unit/rt/rt_exec" --program "$build/tests/unit/rt/rt_jobs" \
	--program "$build/tests/unit/rt/rt_program" --program /bin/udevadm -- \
	sh /mnt/guest >"$work/log" 2>&1
tap_ok "the guest ran and the kernel did not complain"
[ $tap_failed -eq 0 ] || sed 's/^/# /' "$work/log"

# ended NAME STATUS [TEXT]: the command ended with STATUS and printed TEXT.
ended()
{
	[ "$(cat "$work/$1.rc")" = "$2" ] && grep -qF -- "${3:-}" "$work/$1.out" && return
	echo "exit status $(cat "$work/$1.rc"), expected $2; output:"
	cat "$work/$1.out"
	return 1
}

same_answer()
{
	ended "$1" 0 "$("$build/examples/example-simple" "$work/model.onnx" sim)"
}

tap_run "devices, models, buffers" ended rt_api 0
tap_run "raw programs" ended rt_exec 0
tap_run "jobs, fences, bound buffers, resets" ended rt_jobs 0
for example in simple async dmabuf; do
	tap_run "example $example gives the result of the in-process device" same_answer $example
done
tap_run "programs in files and comparison of layers" ended rt_program 0
tap_run "a network compiled on the host runs in the guest" ended compiled 0
tap_run "it gives the same bytes" cmp "$work/vm.npy" "$work/sim.npy"
tap_run "every layer agrees" ended compare 0 "none beyond the bound"
tap_run "cnnctl writes the device's capabilities" test -s "$work/guest.caps"
tap_run "a network is compiled with these capabilities" "$cnnrun" --compile "$work/mixed.onnx" \
	-o "$work/caps.cnn" --device-caps "$work/guest.caps"
tap_run "the program is the same" cmp "$work/caps.cnn" "$work/mixed.cnn"
tap_run "selftest as root tests the registers too" ended selftest 0 "registers keep their values"
tap_run "udev gives the node to group render" ended udev 0 "render 660"
tap_run "a member of the group may use the device" ended group 0
tap_run "a user without access is told what to do" ended unreadable 3 "may not open it"
tap_run "a user with access needs no privilege" ended user 0
tap_run "selftest says what it leaves out for a user" ended user 0 "skip registers keep their values: only for"
# refused NAME: the command printed the refusal only.
refused()
{
	ended "$1" 1 "only the administrator" && [ "$(wc -l <"$work/$1.out")" = 1 ]
}
tap_run "registers are for the administrator" refused registers
tap_run "registers as JSON are for the administrator" refused registersjson
tap_run "statistics are for the administrator" refused counters
counters_stay()
{
	ended statsbefore 0 "[$core.0]" && grep -q '^cycles  *[1-9]' "$work/statsbefore.out" &&
		grep suspended "$work/asleep.out" &&
		cmp "$work/statsbefore.out" "$work/statsafter.out"
}
tap_run "statistics survive the device's sleep" counters_stay
tap_run "top shows who uses the device" ended top 0 "cnnrun"
two_clients()
{
	/usr/bin/python3 - "$work/topjson.out" <<'END'
import json, sys
top = json.load(open(sys.argv[1]))
clients = [c for c in top['clients'] if c['command'] == 'cnnrun']
assert len(clients) == 2, clients
assert 0 < top['cores'][0]['load'] <= 1, top['cores']
assert top['cores'][0]['busy_ns'] >= sum(c['cores'][0]['busy_ns'] for c in clients) > 0
assert all(c['cores'][0]['cycles'] > 0 for c in clients)
assert all(c['memory_kib'] >= c['resident_kib'] > 0 for c in clients)
END
}
tap_run "top's numbers are consistent" two_clients
three_objects()
{
	/usr/bin/python3 -c 'import json, sys
looks = [json.loads(line) for line in sys.stdin]
assert len(looks) == 3 and all(look["cores"] for look in looks)' <"$work/toplines.out"
}
tap_run "top --json prints an object per line" three_objects
tap_run "top shows a user his own processes" ended usertop 0 "cnnrun"
tap_run "top shows a user no other process" [ "$(grep -c cnnrun "$work/usertop.out")" = 1 ]
tap_run "stats shows contexts" ended stats 0 "of cnnrun"
contexts()
{
	/usr/bin/python3 - "$work/statsjson.out" "$core" <<'END'
import json, sys
stats = json.load(open(sys.argv[1]))
used = [c for c in stats['contexts'] if c['cores'][0]['jobs']]
assert len(used) >= 2, stats['contexts']
total = stats['core0.' + sys.argv[2]]
assert 0 < sum(c['cores'][0]['cycles'] for c in used)
assert used[0]['cores'][0]['cycles'] <= total['cycles']
END
}
tap_run "the contexts' shares are within the device's statistics" contexts
tap_run "reset of a core" grep -qx 0 "$work/resetcore.rc"
tap_run "reset of a core that does not exist is refused" ended nocore 2 "it has $core.0"
tap_run "reset of the device" grep -qx 0 "$work/resetdevice.rc"
tap_run "a user may not reset the device" ended userreset 1 "only the administrator"
tap_run "a node without a driver" ended nodriver 3 "the node has no driver"
tap_run "top of an in-process device is refused" ended simtop 2 "does not know"
tap_run "without the module the message names modprobe" ended unloaded 3 "modprobe cnnacc"
tap_run "cnnctl info reports that the module is not loaded" ended info 3 "the module is not loaded"
tap_run "a user cannot load the module" ended refused 3
tap_run "root can, with CNNRT_LOAD_MODULE=1" ended loads 0
tap_done
