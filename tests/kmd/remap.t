#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The ioctl-level tests that switch the decoding of BARs while other processors use some: by FLR,
# removal and the like.  With a thread for each processor QEMU 7.2 may die of that
# (Documentation/contributor/testing.rst).
exec "$(dirname "$0")/../vm/run" --one-thread --timeout 3000 --module-param watchdog_ms=5000 \
	--device cores=ccp+hwpe -- kmd_all remap
