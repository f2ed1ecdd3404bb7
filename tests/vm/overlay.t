#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The device in a QEMU that is built from source behaves as in the distribution's.
set -u

here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"

[ -z "${CNNACC_QEMU:-}" ] || { echo "1..0 # SKIP another QEMU was named by CNNACC_QEMU"; exit; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

qemu=$("$here/overlay-build" 2>"$work/log")
status=$?
sed 's/^/# /' "$work/log"
is "QEMU with the device builds" $status 0

"$here/run" --no-module -- rawjob 200 >"$work/packaged" 2>/dev/null
is "a job on the distribution's QEMU" $? 0
"$here/run" --no-module --qemu "$qemu" -- rawjob 200 >"$work/built" 2>/dev/null
is "a job on the QEMU that was built" $? 0
ok "both give the same result" cmp "$work/packaged" "$work/built"

tap_done
