#!/bin/bash
# SPDX-License-Identifier: MIT
# The documentation builds without a warning and has every page.
. "$(dirname "$0")/../lib/tap.sh"

tap_run "Sphinx builds with warnings as errors" "$top/scripts/build-docs" "$build/docs"
for page in $(cd "$top/Documentation" && find . -name '*.rst' | sed 's/\.rst$//') \
		user/api \
		$(cd "$top/uapi" && ls cnnacc_*.h | sed 's/^cnnacc_\(.*\)\.h$/uapi\/\1/'); do
	tap_run "page $page" test -s "$build/docs/html/$page.html"
done
tap_run "uapi pages describe the structures" \
	grep -q 'program_va' "$build/docs/html/uapi/hw.html"
# Every function that the library exports.
missing=$(sed -n 's/^\t\(cnnrt_[a-z_]*\);$/\1/p' "$top/runtime/cnnrt.map" | while read -r name; do
	grep -q "id=\"c.$name\"" "$build/docs/html/user/api.html" || echo "$name"
done)
tap_silent "the page of libcnnrt has every function" printf %s "$missing"
tap_done
