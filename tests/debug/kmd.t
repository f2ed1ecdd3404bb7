#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The ioctl-level tests, among them failing allocations.
. "$(dirname "$0")/lib.sh"

debug_kernel debug CONFIG_CNNACC_KUNIT_TEST=y GCOV_PROFILE=y
programs="kmd_smoke kmd_submit kmd_destroy kmd_prime kmd_recovery kmd_coredump kmd_failnth"
! debug_full || programs=rest
debug_guest --module-param watchdog_ms=5000 --device cores=ccp+hwpe -- kmd_all $programs
programs=kmd_lifecycle
! debug_full || programs=remap
debug_guest --module-param watchdog_ms=5000 --device cores=ccp+hwpe --one-thread \
	-- kmd_all $programs
! debug_full || debug_guest --module-param watchdog_ms=5000 -- kmd_wait bound
# Another kernel takes a device behind an IOMMU for coherent.
debug_guest --qemu-arg -device --qemu-arg "intel-iommu,intremap=on" \
	--append "intel_iommu=on iommu.strict=1" -- debug_sync
# Without what else allocates, so that a probe's allocations can be counted.
! debug_full || CNNACC_APPEND=kasan_multi_shot debug_guest --smp 1 --device '' \
	--device probe-fault=magic -- kmd_probe
# Of a full run, recovery.t is a part.
debug_full || CNNACC_APPEND=kasan_multi_shot debug_guest --module-param watchdog_ms=1000 \
	--device cores=ccp:job-cycles-max=100000000000 -- kmd_guilty 2
debug_done
