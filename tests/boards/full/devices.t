#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Two devices on one board: each has interrupt, reset, clock and node of its own.
. "$(dirname "$0")/../lib.sh"

# Device 1 is unbound while both work: its user gets an error, and the other device goes on.
cat >"$work/guest" <<'END'
fail() { echo "$*"; exit 1; }
name_of() { basename "$(readlink /sys/class/drm/renderD$1/device)"; }
busy_ns()
{
	awk '{ sum += $1 } END { printf "%d", sum }' \
		/sys/class/drm/renderD$1/device/core*_busy_time_ns
}
# waits COMMAND...: until it succeeds, 60 s at most
waits()
{
	for try in $(seq 600); do
		! "$@" || return 0
		sleep 0.1
	done
	fail "$* does not come true"
}
ended() { [ ! -e /proc/$1 ]; }
busy_for() { [ "$(busy_ns $1)" -gt "$2" ]; }
# A job takes some milliseconds.
goes_on() { waits busy_for $1 $(($(busy_ns $1) + 200000000)); }
run()
{
	node=/dev/dri/renderD$1
	shift
	cnnrun /mnt/model.onnx --device $node "$@"
}

driver=/sys/bus/platform/drivers/cnnacc
[ "$(ls $driver | grep -c '\.npu$')" = 2 ] || fail "it does not bind to both"
for n in 128 129; do
	CNNACC_DEVICE=/dev/dri/renderD$n kmd_all kmd_smoke kmd_submit || fail "device $n"
	run $n --output 0=$n.npy || fail "network on device $n"
done
cmp 128.npy 129.npy || fail "they differ"

run 128 --repeat 1000000 >first 2>&1 & first=$!
run 129 --repeat 1000000 >second 2>&1 & second=$!
goes_on 128
goes_on 129
name=$(name_of 129)
echo "$name" >$driver/unbind
waits ended $second
wait $second && fail "a network ends well on a device that is gone"
cat second
goes_on 128
echo "$name" >$driver/bind
waits test -e /dev/dri/renderD129
run 129 --output 0=again.npy && cmp 128.npy again.npy || fail "not after it is bound again"
goes_on 128
ended $first && { cat first; fail "the first device stopped"; }
kill $first
wait $first
cnnctl selftest --device /dev/dri/renderD128
END

"$top/demo/make-model" strokes "$work/model.onnx" >/dev/null 2>&1
# check_devices ARCH GATES
check_devices()
{
	tap_run "library, tools, tests and module are built for $1" board_build $1
	board_kmd "$1: one device is unbound while both work" $1 platform \
		--qemu-arg -machine --qemu-arg devices=2 --share "$work" \
		--device cores=ccp+hwpe,gates=$2 -- sh /mnt/guest
}

check_devices arm64 all
# Debian's kernel for riscv64 has no driver for the clock's gate.
check_devices riscv64 reset
tap_done
