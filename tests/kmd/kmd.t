#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The ioctl-level tests in a guest: all of them in one boot.
exec "$(dirname "$0")/../vm/run" --timeout 3000 --device cores=ccp+hwpe -- kmd_all
