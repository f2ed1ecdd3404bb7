#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The driver is unbound, and the device vanishes, is unplugged and is pulled out, 200 times
# each while they are in use, with the debug kernel.
. "$(dirname "$0")/../lib.sh"

debug_kernel debug CONFIG_CNNACC_KUNIT_TEST=y GCOV_PROFILE=y
export CNNACC_ROUNDS=${CNNACC_ROUNDS:-200}
debug_guest --one-thread -- kmd_lifecycle "$CNNACC_ROUNDS"
debug_script lifecycle
debug_done
