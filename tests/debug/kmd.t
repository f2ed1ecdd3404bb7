#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The ioctl-level tests, among them failing allocations, and then the leaks that are left.
. "$(dirname "$0")/lib.sh"

debug_kernel debug CONFIG_CNNACC_KUNIT_TEST=y GCOV_PROFILE=y
debug_guest --append kmemleak=on --timeout 3000 -- debug_kmd
debug_coverage kmd
tap_done
