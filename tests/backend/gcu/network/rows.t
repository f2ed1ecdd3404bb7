#!/bin/bash
# SPDX-License-Identifier: MIT
# Of every layer of ResNet-50 and of the text detector, the scheme that replaces rows on gcu reads
# no more than FIFO with its best threshold, tables included.
. "$(dirname "$0")/../../../lib/tap.sh"

# rows NAME LAYERS: of at least so many.
rows()
{
	"$top/tests/backend/gcu/rows-table" "$1" >"$table" || return
	cat "$table"
	[ "$(awk '$1 == "all" { print $2 }' "$table")" -ge "$2" ]
}

table=$(mktemp)
trap 'rm -f "$table"' EXIT
if "$top/scripts/fetch-models" >/dev/null 2>&1; then
	tap_run "text detector: never more than FIFO" rows det 60
else
	tap_skip "text detector: never more than FIFO" "the npm registry does not answer"
fi
tap_run "ResNet-50: never more than FIFO" rows resnet50 54
tap_done
