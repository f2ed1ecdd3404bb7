#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The driver's KUnit suites, one result per case.
. "$(dirname "$0")/lib.sh"

debug_kernel debug CONFIG_CNNACC_KUNIT_TEST=y GCOV_PROFILE=y
# Looking for leaks makes each allocation several times as slow.
debug_full || CNNACC_APPEND=kasan_multi_shot
# The mock's registers are memory, which a self-test at probe would notice.
debug_guest --append kunit.enable=1 --module-param selftest=0 -- debug_kunit
debug_done
