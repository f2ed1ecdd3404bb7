#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The driver's KUnit suites, one result per case.
. "$(dirname "$0")/lib.sh"

debug_kernel debug CONFIG_CNNACC_KUNIT_TEST=y GCOV_PROFILE=y
# Looking for leaks makes each allocation several times as slow.
debug_full || CNNACC_APPEND=kasan_multi_shot
debug_guest --append kunit.enable=1 -- debug_kunit
debug_done
