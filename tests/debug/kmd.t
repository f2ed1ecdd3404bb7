#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The ioctl-level tests, among them failing allocations, and then the leaks that are left.
. "$(dirname "$0")/lib.sh"

debug_kernel debug CONFIG_CNNACC_KUNIT_TEST=y GCOV_PROFILE=y
debug_full || set -- kmd_smoke kmd_submit kmd_prime kmd_recovery kmd_failnth kmd_lifecycle
debug_guest --append kmemleak=on --timeout 1300 -- debug_kmd "$@"
# The counts of a full run stay.
! debug_full || debug_coverage kmd
tap_done
