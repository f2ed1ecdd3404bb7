#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Ioctl-level tests whose jobs compute, fail or hang, on a device whose first core is enpu: they take
# the programs of the first core.
exec "$(dirname "$0")/../../../vm/run" --timeout 3000 --module-param watchdog_ms=5000 \
	--device cores=enpu+ccp -- kmd_all kmd_smoke kmd_submit kmd_batch kmd_faults kmd_isolation \
	kmd_wait kmd_recovery kmd_coredump
