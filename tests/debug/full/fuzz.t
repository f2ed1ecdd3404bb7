#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Random ioctls, a hundredth of "make fuzz", with the debug kernel.
. "$(dirname "$0")/../lib.sh"

debug_kernel debug CONFIG_CNNACC_KUNIT_TEST=y GCOV_PROFILE=y
debug_guest --timeout 3000 -- kmd_fuzz --count "${COUNT:-10000}"
tap_done
