#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Jobs for any of several equal cores, on a device with three such cores and another one.
exec "$(dirname "$0")/../vm/run" --timeout 600 --module-param watchdog_ms=5000 \
	--device cores=ccp+hwpe+ccp+ccp -- kmd_balance
