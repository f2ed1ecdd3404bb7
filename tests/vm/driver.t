#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The driver and the device together, on machines that differ.
set -u

here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# guest NAME OPTION... -- CMD...: passes if CMD does and the kernel is content.
guest()
{
	local name=$1

	shift
	"$here/run" --log "$work/log" "$@" >"$work/out" 2>"$work/err" </dev/null
	is "$name" $? 0
	sed 's/^/# /' "$work/out" "$work/err"
}

iommu=(--qemu-arg -device --qemu-arg "intel-iommu,intremap=on"
	--append "intel_iommu=on iommu.strict=1")

guest "behind an IOMMU" "${iommu[@]}" -- cnnctl selftest
ok "the IOMMU is on" grep -q 'DMAR: IOMMU enabled' "$work/log"
ok "no access that the IOMMU refuses" sh -c "! grep -q 'DMAR: \[DMA' $work/log"
guest "with bounce buffers" --memory 512 --append swiotlb=force -- cnnctl selftest
guest "one processor" --smp 1 -- cnnctl selftest
guest "three cores" --device cores=ccp+ccp:data-bank=65536:lob=64+ccp -- cnnctl selftest
is "cores tested" "$(grep -c 'core [0-9].*endless loop' "$work/out")" 3
guest "two devices" --device '' --device cores=ccp+ccp -- sh -c \
	'cnnctl selftest --device /dev/accel/accel0 &&
	 cnnctl selftest --device /dev/accel/accel1'
cat >"$work/second" <<'END'
chmod 600 /dev/accel/accel0
echo 0000:00:09.0 >/sys/bus/pci/drivers/cnnacc/unbind
su -s /bin/sh nobody -c "cnnctl info --device /dev/accel/accel0" 2>&1 | tee /tmp/said
grep -q "0000:00:08.0 /dev/accel/accel0: this user may not open it" /tmp/said
END
guest "whose troubles are told apart" --share "$work" --device addr=8 --device addr=9 -- \
	sh /mnt/second
guest "no device" --device none -- sh -c '! cnnctl info'
guest "a processor with everything" --cpu max -- cnnctl selftest
guest "a kernel that is locked down" -- sh -c \
	'mount -t securityfs securityfs /sys/kernel/security && kmd_admin locked &&
	 cnnctl reset 2>&1 | grep "a kernel that is locked down"'

# A kernel from a directory, and parameters for QEMU from outside.
kernel=$(ls -v /boot/vmlinuz-6.12*-amd64 | tail -n 1)
mkdir -p "$work/kernel/lib/modules"
ln -s "$kernel" "$work/kernel/vmlinuz"
ln -s "/lib/modules/${kernel#*vmlinuz-}" "$work/kernel/lib/modules/"
guest "a kernel from a directory" --kernel "$work/kernel" -- cnnctl selftest

tap_done
