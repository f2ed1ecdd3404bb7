#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The ioctl-level tests, among them failing allocations, and then the leaks that are left.
. "$(dirname "$0")/lib.sh"

debug_kernel debug CONFIG_CNNACC_KUNIT_TEST=y GCOV_PROFILE=y
debug_full || set -- kmd_smoke kmd_submit kmd_prime kmd_recovery kmd_coredump kmd_failnth kmd_probe \
	kmd_lifecycle
# kmd_probe wants a second device, which the driver refuses.
debug_guest --append kmemleak=on --timeout 1300 --device '' --device defect=magic -- \
	debug_leaks kmd_all "$@"
# The counts of a full run stay.
! debug_full || debug_coverage kmd
tap_done
