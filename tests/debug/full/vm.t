#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Scripts of tests/vm in which the driver has to bear something, with the debug kernel.
. "$(dirname "$0")/../lib.sh"

debug_kernel debug CONFIG_CNNACC_KUNIT_TEST=y GCOV_PROFILE=y
for script in driver isolation; do
	debug_script $script
done
debug_done
