#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Fault injection: 1000 jobs in each mode with CNNACC_DEBUG=full, else 10.
. "$(dirname "$0")/lib.sh"

debug_kernel debug CONFIG_CNNACC_KUNIT_TEST=y GCOV_PROFILE=y
jobs=10
! debug_full || jobs=1000
export CNNACC_FAULT_INJECTION_JOBS=${CNNACC_FAULT_INJECTION_JOBS:-$jobs}
debug_script fault-injection
debug_done
