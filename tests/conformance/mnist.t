#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The digit classifier with the inputs and outputs it came with, wholly on the device.
. "$(dirname "$0")/../tap.sh"

out=$("$build/runtime/tools/cnnrun" --node-test "$(dirname "$0")/mnist_8" --device sim)
echo "$out" | sed 's/^/# /'
echo "$out" | grep -q '^1 passed, 0 failed, 0 unsupported$'
tap_ok "three data sets pass"
echo "$out" | grep -q 'MACs on device 795136 of 795136,'
tap_ok "all multiply-accumulates are on ccp"
tap_done
