#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The driver and the device on machines with different memory, CPUs, cores and kernels.
set -u

here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# guest NAME OPTION... -- CMD...: passes if CMD succeeds and the kernel does not complain;
# skipped if CMD prints "SKIP REASON".
guest()
{
	local name=$1 status

	shift
	"$here/run" --log "$work/log" "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
	if [ $status -eq 0 ] && grep -q '^SKIP ' "$work/out"; then
		tap_skip "$name" "$(sed -n 's/^SKIP //p' "$work/out")"
		return
	fi
	is "$name" $status 0
	sed 's/^/# /' "$work/out" "$work/err"
}

iommu=(--qemu-arg -device --qemu-arg "intel-iommu,intremap=on"
	--append "intel_iommu=on iommu.strict=1")

guest "behind an IOMMU" "${iommu[@]}" -- cnnctl selftest
ok "the IOMMU is on" grep -q 'DMAR: IOMMU enabled' "$work/log"
ok "the IOMMU refuses no access" sh -c "! grep -q 'DMAR: \[DMA' $work/log"
guest "with bounce buffers" --memory 512 --append swiotlb=force -- \
	sh -c 'cnnctl selftest && kmd_bo sync && kmd_prime sync'
ok "the device is reported as not coherent" grep -q 'device that is not coherent' "$work/out"
guest "one CPU" --smp 1 -- cnnctl selftest
guest "every kind of core" --device cores=ccp+hwpe:fmap=8192:kernel=65536 -- sh -c \
	'name=$(cnnctl info | sed -n "s/^ *core \([a-z]*\)\.1:.*/\1/p") && [ "$name" ] &&
	 cnnctl selftest | tee /tmp/out && grep -q "^ok   core 1 ($name): convolve" /tmp/out &&
	 ! grep FAIL /tmp/out'
guest "three cores" --device cores=ccp+ccp:data-bank=65536:lob=64+ccp -- cnnctl selftest
is "cores tested" "$(grep -c 'core [0-9].*endless loop' "$work/out")" 3
guest "two devices" --device '' --device cores=ccp+ccp -- sh -c \
	'cnnctl selftest --device /dev/accel/accel0 &&
	 cnnctl selftest --device /dev/accel/accel1'
cat >"$work/second" <<'END'
chmod 600 /dev/accel/accel0
echo 0000:00:09.0 >/sys/bus/pci/drivers/cnnacc/unbind
su -s /bin/sh nobody -c "cnnctl info --device /dev/accel/accel0" 2>&1 | tee /tmp/message
grep -q "0000:00:08.0 /dev/accel/accel0: this user may not open it" /tmp/message
END
guest "two devices that cannot be opened for different reasons" --share "$work" \
	--device addr=8 --device addr=9 -- sh /mnt/second
guest "no device" --device none -- sh -c '! cnnctl info'
guest "a CPU with all features" --cpu max -- cnnctl selftest

# These variables would override the kernel's directory.
unset CNNACC_KERNEL CNNACC_MODULE CNNACC_APPEND CNNACC_COVERAGE
kernel=$(ls -v /boot/vmlinuz-6.12*-amd64 | tail -n 1)
mkdir -p "$work/kernel/lib/modules"
ln -s "$kernel" "$work/kernel/vmlinuz"
ln -s "/lib/modules/${kernel#*vmlinuz-}" "$work/kernel/lib/modules/"
guest "a kernel from a directory" --kernel "$work/kernel" -- cnnctl selftest

tap_done
