#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The ioctl-level tests in a guest: nearly all of them in one boot; see remap.t.  A busy host may keep
# a job of seconds from progress for longer than the default watchdog waits.
exec "$(dirname "$0")/../vm/run" --timeout 3000 --module-param watchdog_ms=5000 \
	--device cores=ccp+hwpe -- kmd_all rest
