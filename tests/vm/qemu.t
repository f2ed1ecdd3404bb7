#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Loading the device into the distribution's QEMU: what is accepted and what is refused.
set -u

here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
. "$here/tap.sh"

[ -z "${CNNACC_QEMU:-}" ] || { echo "1..0 # SKIP another QEMU was named by CNNACC_QEMU"; exit; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

vm_device_so
version=$(qemu-system-x86_64 --version | sed -n 's/.*version \([0-9.]*\).*/\1/p')
device=${vm_so%.so}-$version.so

# preloaded SO ARG...: runs QEMU with SO preloaded; sets status, writes its output to $work/out.
preloaded()
{
	local so=$1

	shift
	timeout 120 env LD_PRELOAD="$so" qemu-system-x86_64 -nodefaults \
		-no-user-config -display none -S "$@" </dev/null \
		>"$work/out" 2>&1
	status=$?
	grep cnnacc "$work/out" | sed 's/^/# /'
}

# refused NAME PATTERN: the last run ended with status 1 and a message that matches.
refused()
{
	is "$1: status" $status 1
	ok "$1: message" grep -q "$2" "$work/out"
}

preloaded "$vm_so" -device help
ok "QEMU lists the device" grep -q '"cnnacc", bus PCI' "$work/out"

preloaded "$vm_so" -M q35 -device cnnacc,cores=no-such-core
refused "unknown core" no-such-core
preloaded "$vm_so" -M q35 -device cnnacc,cores=ccp:lob=100000
refused "core parameter out of range" lob
preloaded "$vm_so" -M q35 -device cnnacc,clock-hz=fast
refused "bad clock" clock-hz
preloaded "$vm_so" -M q35 -device cnnacc,threads=65
refused "too many threads" threads
for modes in '' hang+ +hang hang++reset hang+none none+hang none+none no-such-mode; do
	preloaded "$vm_so" -M q35 -device "cnnacc,fault-injection=$modes"
	refused "fault-injection=$modes" "fault-injection: .*'${modes:-+}'"
done
preloaded "$vm_so" -M q35 -device cnnacc,no-such-property=1
refused "unknown property" no-such-property

mkdir "$work/other"
cp "$vm_so" "$work/other/cnnacc-qemu.so"
cp "$device" "$work/other/cnnacc-qemu-99.1.0.so"
preloaded "$work/other/cnnacc-qemu.so" -M q35
refused "device for another version only" "QEMU $version"

# A device built for a QEMU 7.2 before 7.2.6, which has a smaller DeviceState.
headers=$("$vm_top/scripts/fetch-qemu-headers")
cp -rs "$headers" "$work/headers"
for file in cflags version src/include/hw/qdev-core.h; do
	rm "$work/headers/$file"
	cp "$headers/$file" "$work/headers/$file"
done
sed -i '/mem_reentrancy_guard;/d' "$work/headers/src/include/hw/qdev-core.h"
mkdir "$work/small"
ok "device for other structures: built" env CNNACC_QEMU_HEADERS="$work/headers" \
	"$vm_top/scripts/build-qemu-device" "$work/small/cnnacc-qemu.so"
preloaded "$work/small/cnnacc-qemu.so" -M q35 -device cnnacc
refused "device for other structures" "built for QEMU"

is "a program other than QEMU is not affected" \
	"$(LD_PRELOAD=$vm_so sh -c 'echo fine; env | grep LD_PRELOAD')" fine
# The child ends QEMU, which would wait for the incoming state otherwise.
preloaded "$vm_so" -M q35 -device cnnacc -incoming "exec:env >$work/env; kill \$PPID"
ok "a child of QEMU is started" grep -q PATH= "$work/env"
ok "a child of QEMU does not inherit the library" \
	sh -c "! grep -q LD_PRELOAD $work/env"

tap_done
