#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The driver and the device behind an IOMMU in strict mode, where an unmapped page is out of
# reach at once.  The IOMMU must refuse no access that the driver requested, and must refuse and
# report every access that the device makes on its own.
set -u

here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
iommu=(--qemu-arg -device --qemu-arg "intel-iommu,intremap=on"
	--append "intel_iommu=on iommu.strict=1")
refused='DMAR: \[DMA'

# guest NAME [OPTION...] -- CMD...: passes if CMD succeeds and the kernel does not complain.
guest()
{
	local name=$1

	shift
	"$here/run" --log "$work/log" --timeout 1200 "${iommu[@]}" "$@" >"$work/out" 2>"$work/err" \
		</dev/null
	is "$name" $? 0
	sed 's/^/# /' "$work/out" "$work/err"
}

guest "the driver's tests" --module-param watchdog_ms=5000 -- kmd_all kmd_smoke kmd_bo kmd_bind \
	kmd_submit kmd_faults kmd_prime kmd_isolation
is "accesses refused" "$(grep -c "$refused" "$work/log")" 0
guest "removal while in use" --one-thread -- kmd_lifecycle
is "accesses refused then" "$(grep -c "$refused" "$work/log")" 0

guest "a device that accesses memory of others" -- kmd_isolation rogue
grep -E "$refused|shell error" "$work/log" | sed 's/^/# /'
ok "its read is refused and reported" grep -qE "$refused Read.*fault addr 0x100000 " "$work/log"
ok "the driver reports the read" grep -q 'shell error 3, core 0, address 0x100000' "$work/log"
ok "its write is refused and reported" grep -qE "$refused Write.*fault addr 0x200000 " "$work/log"
ok "the driver reports the write" grep -q 'shell error 4, core 0, address 0x200000' "$work/log"
is "other accesses refused" "$(grep "$refused" "$work/log" |
	grep -cvE 'fault addr 0x[12]00000 ')" 0

guest "a device that writes to freed memory" --device fault-injection=dma-stale -- \
	kmd_isolation stale
# The log has each line twice: from the console, with CR, and from dmesg.
writes=$(grep "$refused Write" "$work/log" | tr -d '\r' | sort -u | wc -l)
ok "late writes refused and reported" [ "$writes" -ge 3 ]

export CNNACC_FAULT_INJECTION_IOMMU=y
export CNNACC_FAULT_INJECTION_JOBS=${CNNACC_FAULT_INJECTION_JOBS:-8}
"$here/fault-injection.t" >"$work/out" 2>&1
is "fault injection behind an IOMMU" $? 0
sed 's/^/# /' "$work/out"

tap_done
