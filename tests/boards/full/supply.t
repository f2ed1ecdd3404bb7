#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What a device tree may give the device besides the board's own properties: a regulator and a power
# domain, which tests/boards/module has, a pool of reserved memory, and a bus that reaches less
# memory than there is.
. "$(dirname "$0")/../lib.sh"

build_module()
{
	local kernel

	cp -r "$top/tests/boards/module" "$work/" &&
		kernel=$(echo "$("$top/scripts/fetch-board" arm64)"/kernel/lib/modules/*/build) &&
		make -s -C "$kernel" M="$work/module" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- \
			CC=aarch64-linux-gnu-gcc W=1 modules
}

# read_tree [QEMU ARGUMENT...]: the board's tree as text, in board.dts; sets node and at.
read_tree()
{
	env LD_PRELOAD="$build/cnnacc-qemu.so" qemu-system-aarch64 -display none -smp 2 -m 2048 \
		-cpu cortex-a72 "$@" -machine "virt-cnnacc,dumpdtb=$work/board.dtb" \
		>"$work/log" 2>&1
	dtc -q -I dtb -O dts -o "$work/board.dts" "$work/board.dtb" || return
	node=/$(fdtget -l "$work/board.dtb" / | grep '^npu@')
	at=${node#*@}
}

# tree NAME: the board's tree with what standard input adds, in NAME.dtb.
tree()
{
	cat "$work/board.dts" - >"$work/$1.dts" &&
		dtc -q -I dts -O dtb -o "$work/$1.dtb" "$work/$1.dts"
}

# guest NAME ARG...: a guest with that tree; its output is in $work/out.
guest()
{
	local tree=$work/$1.dtb

	shift
	board arm64 platform --memory 2048 --qemu-arg -dtb --qemu-arg "$tree" --share "$work" "$@" \
		>"$work/out" 2>&1
}

# With a clock and a reset line: a register access without them ends the guest.
power_tree()
{
	read_tree -global cnnacc-sysbus.gates=all && tree power <<-END
	/ {
		power: test-power {
			compatible = "cnnacc,test-power";
			#power-domain-cells = <0>;
		};
	};
	&{$node} {
		vdd-supply = <&power>;
		power-domains = <&power>;
	};
	END
}

pool_tree()
{
	tree pool <<-END
	/ {
		reserved-memory {
			#address-cells = <2>;
			#size-cells = <2>;
			ranges;
			pool: npu-pool {
				compatible = "shared-dma-pool";
				size = <0 0x8000000>;
				alignment = <0 0x200000>;
				no-map;
			};
		};
	};
	&{$node} {
		memory-region = <&pool>;
	};
	END
}

# The device on a bus that reaches the first 512 MiB of memory alone.
narrow_tree()
{
	fdtget -t x "$work/board.dtb" "$node" interrupts >"$work/irq" &&
	tree narrow <<-END
	&{$node} {
		status = "disabled";
	};
	/ {
		bus {
			compatible = "simple-bus";
			#address-cells = <2>;
			#size-cells = <2>;
			ranges;
			dma-ranges = <0 0x40000000 0 0x40000000 0 0x20000000>;
			npu@$at {
				compatible = "cnnacc,cnnacc-1.0";
				reg = <0 0x$at 0 0x10000>;
				interrupt-parent = <0x$(fdtget -t x "$work/board.dtb" "$node" \
					interrupt-parent)>;
				interrupts = <$(sed 's/[^ ]*/0x&/g' "$work/irq")>;
				dma-coherent;
			};
		};
	};
	END
}

# Prints what a step found; the guest's script ends at the first that is wrong.  9p does not survive
# that the system sleeps, so nothing of it is in use.
cat >"$work/power.sh" <<'END'
power=/sys/module/test_power/parameters
device=/sys/class/drm/renderD128/device
is()
{
	for try in $(seq 100); do
		[ "$(cat $power/supply_on $power/domain_on | tr -d '\n')" != "$1" ] || return 0
		sleep 0.1
	done
	echo "$2: supply and domain are $(cat $power/supply_on $power/domain_on | tr -d '\n')"
	exit 1
}
sleep_system()
{
	echo devices >/sys/power/pm_test
	echo 1 >/sys/module/suspend/parameters/pm_test_delay
	echo freeze >/sys/power/state
	echo none >/sys/power/pm_test
}
# timeout's status is 143 if it had to end the command.
refuses()
{
	timeout 60 cnnctl selftest
	case $? in
	0) echo "it works without power"; exit 1 ;;
	124 | 143) echo "a user without power is left blocked"; exit 1 ;;
	esac
}
unbind_and_bind()
{
	name=$(basename $(readlink $device))
	echo $name >/sys/bus/platform/drivers/cnnacc/unbind
	echo N >$power/fail
	echo $name >/sys/bus/platform/drivers/cnnacc/bind
}
[ ! -e /sys/class/drm/renderD128 ] || { echo "it binds without its supply"; exit 1; }
insmod test_power.ko
for try in $(seq 100); do
	[ ! -e /sys/class/drm/renderD128 ] || break
	sleep 0.1
done
kmd_smoke || exit 1
is NN "a sleeping device"
sleep_system
kmd_smoke || exit 1
is NN "after the system slept"

echo "--- no power at runtime resume"
echo Y >$power/fail
refuses
sleep_system
unbind_and_bind
kmd_smoke || exit 1

echo "--- no power when the system wakes up"
echo on >$device/power/control
is YY "a device that stays on"
cnnrun model.onnx --repeat 1000000 >/tmp/busy 2>&1 &
sleep 1
echo Y >$power/fail
sleep_system
for try in $(seq 300); do
	[ -e /proc/$! ] || break
	sleep 0.1
done
[ ! -e /proc/$! ] || { echo "a user is left blocked"; exit 1; }
cat /tmp/busy
refuses
# It gets power when the system wakes up the next time.
echo N >$power/fail
sleep_system
kmd_smoke || exit 1
echo Y >$power/fail
sleep_system
unbind_and_bind
kmd_smoke
END

tap_run "library, tools, tests and module are built for arm64" board_build arm64
tap_run "the module with regulator and power domain" build_module
"$top/demo/make-model" strokes "$work/model.onnx" >/dev/null 2>&1

tap_run "the tree with regulator and power domain" power_tree
guest power --append deferred_probe_timeout=600 --log "$work/kernel.log" --device gates=all -- \
	sh -c 'cp /mnt/model.onnx /mnt/power.sh /mnt/module/test_power.ko . && umount /mnt &&
		exec sh power.sh'
tap_ok "the driver switches both, and survives that they fail"
[ "$tap_status" -eq 0 ] || tail -n 40 "$work/out" "$work/kernel.log" | sed 's/^/# /'
grep -q 'cannot enable the regulator of vdd-supply' "$work/kernel.log"
tap_ok "it says what failed"

tap_run "the board's tree" read_tree
read_tree
tap_run "the tree with reserved memory" pool_tree
guest pool -- sh -c 'kmd_all kmd_smoke kmd_submit kmd_bo && cnnrun /mnt/model.onnx --compare'
tap_ok "buffers and networks work from reserved memory"
[ "$tap_status" -eq 0 ] || tail -n 40 "$work/out" | sed 's/^/# /'

tap_run "the tree with a bus that reaches 512 of 2048 MiB" narrow_tree
guest narrow -- sh -c 'cnnctl selftest && kmd_bo sync && kmd_prime sync &&
	cnnrun /mnt/model.onnx --compare'
tap_ok "they work there, too"
[ "$tap_status" -eq 0 ] || tail -n 40 "$work/out" | sed 's/^/# /'
tap_done
