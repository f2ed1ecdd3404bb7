#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Scripts of tests/vm in which the driver has to bear something, with the debug kernel.
. "$(dirname "$0")/../lib.sh"

debug_kernel debug CONFIG_CNNACC_KUNIT_TEST=y GCOV_PROFILE=y
export CNNACC_KERNEL=$debug_kernel CNNACC_MODULE=$debug_module
for script in recovery malice; do
	"$top/tests/vm/$script.t" >"$debug_work/out" 2>&1
	status=$?
	debug_results
	plan=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$debug_work/out")
	count=$(grep -cE '^(not )?ok ' "$debug_work/out")
	[ $status -eq 0 ] && [ "$count" -gt 0 ] && [ "$plan" = "$count" ]
	tap_ok "$script.t ends well"
done
tap_done
