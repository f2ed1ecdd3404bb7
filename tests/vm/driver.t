#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The driver and the device together, on machines that differ.
set -u

here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# guest NAME OPTION... -- CMD...: passes if CMD does and the kernel is content; skipped if
# CMD says "SKIP" and why.
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
ok "no access that the IOMMU refuses" sh -c "! grep -q 'DMAR: \[DMA' $work/log"
guest "with bounce buffers" --memory 512 --append swiotlb=force -- \
	sh -c 'cnnctl selftest && kmd_bo sync'
ok "a device that is not coherent" grep -q 'device that is not coherent' "$work/out"
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
cat >"$work/locked" <<'END'
mount -t securityfs securityfs /sys/kernel/security 2>/dev/null || true
[ -e /sys/kernel/security/lockdown ] || { echo "SKIP the kernel has no lockdown"; exit 0; }
kmd_admin locked
cnnctl reset 2>&1 | grep "a kernel that is locked down"
END
guest "a kernel that is locked down" --share "$work" -- sh -e /mnt/locked

# A kernel from a directory, whichever the others had.
unset CNNACC_KERNEL CNNACC_MODULE CNNACC_APPEND CNNACC_COVERAGE
kernel=$(ls -v /boot/vmlinuz-6.12*-amd64 | tail -n 1)
mkdir -p "$work/kernel/lib/modules"
ln -s "$kernel" "$work/kernel/vmlinuz"
ln -s "/lib/modules/${kernel#*vmlinuz-}" "$work/kernel/lib/modules/"
guest "a kernel from a directory" --kernel "$work/kernel" -- cnnctl selftest

tap_done
