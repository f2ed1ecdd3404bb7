#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Each kind of guilty job 100 times beside a process that runs a network.
. "$(dirname "$0")/../lib.sh"

debug_kernel debug CONFIG_CNNACC_KUNIT_TEST=y GCOV_PROFILE=y
export CNNACC_RECOVERY_COUNT=${CNNACC_RECOVERY_COUNT:-100}
debug_script recovery
debug_done
