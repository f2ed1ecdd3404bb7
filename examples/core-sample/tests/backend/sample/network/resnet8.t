#!/bin/bash
# SPDX-License-Identifier: MIT
# A quantised network whose sums core sample computes: the CPU's answer to the byte, in the process
# and through the driver; and the core's name wherever driver and tools show one.
. "$(dirname "$0")/../../../lib/tap.sh"
. "$(dirname "$0")/../../../network/lib.sh"

# all_sums FILE: cnnrun --explain has put the three sums of the network on the core.
all_sums()
{
	awk '$2 == "QLinearAdd" { print; n += $4 == "sample"; other += $4 != "sample" }
		END { exit n != 3 || other }' "$1"
}

# says FILE TEXT...: a line of the file for each.
says()
{
	local file=$1 text

	shift
	for text; do
		grep -qF -- "$text" "$file" || { echo "no \"$text\" in:" && cat "$file" && return 1; }
	done
}

run="--explain --core sample"
cp "$top/demo/text.png" "$work/"
tap_run "the network is made" network resnet8
run_network resnet8 "$work/text.png" "$work/cpu.npy" --device sim --core cpu >"$work/cpu"
tap_ok "it runs on the CPU"
for device in sample sample:bank=4096:program=640 sample:bank=4096:job-cycles-max=2000; do
	run_network resnet8 "$work/text.png" "$work/sim.npy" $run --device "sim:cores=$device" \
		>"$work/sim"
	tap_run "$device: the CPU's answer" same_outputs "$work/sim.npy" "$work/cpu.npy"
	tap_run "$device: all sums are its" all_sums "$work/sim"
	tap_run "$device: every layer as on the CPU" "$cnnrun" "$work/resnet8.tflite" --compare \
		--core sample --device "sim:cores=$device"
done

# Beside others the compiler chooses by cost, and values change their layout on the way.
run_network resnet8 "$work/text.png" "$work/sim.npy" --explain \
	--device "sim:cores=$(floor_cores)+sample" >"$work/sim"
tap_run "beside other cores: the CPU's answer" same_outputs "$work/sim.npy" "$work/cpu.npy"
tap_run "beside other cores: it has a sum" grep -q "QLinearAdd .* sample .*: sum of" "$work/sim"

# The kernel keeps the first coredump: that of the first program of the self-test that fails.
"$build/tests/lib/core_program" sample copy 0x1000 0x2000 1 >"$work/copy"
printf '\377%031d' 0 | tr 0 '\0' >"$work/illegal"
head -c 64 "$cnnrun" >"$work/line"
cat >"$work/guest" <<END
cd /mnt
cnnrun resnet8.tflite --input 0=text.png $(output_options resnet8 vm.npy) $run >vm
cnnctl info >info
cnnctl selftest >selftest
cnnctl exec --core sample --program copy --load 0x1000=line --zero 0x2000:64 \
	--dump 0x2000:64=copied >exec
cnnctl exec --core sample --program illegal >failed
cnnctl stats >stats
cnnctl regs >regs
cat /sys/class/devcoredump/devcd*/data >core
cnnctl core core >dump
cnnctl replay core >replay
exec 3<>/dev/accel/accel0
cat /proc/self/fdinfo/3 >fdinfo
mount -t debugfs none /sys/kernel/debug 2>/dev/null
cat /sys/kernel/debug/accel/*/queues >debugfs
true
END
tap_run "the VM runs it" "$top/tests/vm/run" --device cores=sample --share "$work" -- \
	sh /mnt/guest
tap_run "VM: the CPU's answer" same_outputs "$work/vm.npy" "$work/cpu.npy"
tap_run "VM: all sums are its" all_sums "$work/vm"
tap_run "cnnctl info" says "$work/info" "core sample.0: version 1.0" "bank 64 KiB, program 16 KiB"
tap_run "cnnctl selftest" says "$work/selftest" "ok   core 0 (sample): scale four elements"
tap_run "cnnctl exec" cmp "$work/copied" "$work/line"
tap_run "the status of a bad program" says "$work/failed" E_COMMAND
tap_run "cnnctl stats" says "$work/stats" sample
tap_run "cnnctl regs" says "$work/regs" ELEMENTS
tap_run "cnnctl core" says "$work/dump" sample.0 "Add bank 0: 0 elements" "4000 ID "
tap_run "cnnctl replay" says "$work/replay" E_CFG "the same"
tap_run "fdinfo" says "$work/fdinfo" drm-engine-sample.0 drm-cycles-sample.0
tap_run "debugfs" says "$work/debugfs" sample.0
tap_done
