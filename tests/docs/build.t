#!/bin/bash
# SPDX-License-Identifier: MIT
# The documentation builds without a warning and has every page.
. "$(dirname "$0")/../lib/tap.sh"

tap_run "Sphinx builds with warnings as errors" "$top/scripts/build-docs" "$build/docs"
for page in index $(cd "$top/Documentation" && find . -mindepth 2 -name '*.rst' | sed 's/\.rst$//') \
		uapi/accel uapi/hw uapi/seq uapi/dump; do
	tap_run "page $page" test -s "$build/docs/html/$page.html"
done
tap_run "uapi pages describe the structures" \
	grep -q 'program_va' "$build/docs/html/uapi/hw.html"
tap_done
