#!/bin/bash
# SPDX-License-Identifier: MIT
# Rules of the tree: licences, function length, include directions.
. "$(dirname "$0")/../lib/tap.sh"
cd "$top" || exit 1

files()
{
	git ls-files -co --exclude-standard "$@"
}

spdx()
{
	files | grep -vE '^LICENSES/|\.(png|npy|pb|onnx|txt|json|bin)$' | while read -r f; do
		head -n 3 "$f" | grep -q SPDX-License-Identifier || echo "$f: no SPDX line"
	done
}
tap_silent "every file has an SPDX line" spdx

licences()
{
	while read -r dir want; do
		files "$dir" | grep -E '\.[ch]$' | while read -r f; do
			head -n 1 "$f" | grep -qF "$want" || echo "$f: not $want"
		done
	done <<-END
		driver GPL-2.0-only
		uapi ((GPL-2.0-only WITH Linux-syscall-note) OR MIT)
		qemu-device/model GPL-2.0-or-later OR MIT
		qemu-device/qemu GPL-2.0-or-later
		runtime MIT
	END
}
tap_silent "every part has its licence" licences

long_functions()
{
	files '*.c' '*.h' | xargs awk '
		FNR == 1 { open = 0 }
		/^\{/ || /^[A-Za-z_].*\)[ \t]*\{[ \t]*$/ { open = FNR }
		/^\}/ { if (open && FNR - open > 80) print FILENAME ":" open ": " FNR - open " lines"; open = 0 }'
}
tap_silent "no function is over 80 lines" long_functions

# Who may include whom (design rule): rooms meet in uapi/ only.
includes()
{
	grep -rnE '#include "(\.\./)*(runtime|qemu-device|tests)/' driver qemu-device |
		grep -v '^driver/.*"tests/cnnacc_[a-z]*_test\.c"'
	grep -rnE '#include "(\.\./)*(driver|qemu-device|tests)/' runtime
	grep -rn '#include ".*cnnacc_model\.h"' runtime | grep -v '^runtime/device/'
	grep -rnE '#include "' tests/golden |
		grep -vE '"(cnnacc_(hw|accel|seq|ccp|hwpe|model)\.h|((\.\.|ccp|hwpe)/)?[a-z0-9_]+\.(h|inc))"'
	true
}
tap_silent "no includes across rooms" includes

# Nor any of a core's registers, codes or parameters: CNNACC_CCP_ID, hwpe_rounds.  Text may, and
# the table of types that is all text.
cores()
{
	files driver 'qemu-device/qemu/*.[ch]' | grep -v ^driver/tests/ | xargs awk '
		/^\t\[CNNACC_CORE_[A-Z]+\] = "[a-z]+",$/ { next }
		{ line = $0; gsub(/"[^"]*"/, "") }
		tolower($0) ~ /(^|[^a-z])(ccp|gcu|hwpe|enpu|imc)([^a-z]|$)/ {
			print FILENAME ":" FNR ": " line
		}'
}
tap_silent "no core is named in driver/ or qemu-device/qemu/" cores

marks()
{
	files '*.c' '*.h' '*.sh' | xargs grep -nE '\b(TODO|FIXME|XXX)\b'
	true
}
tap_silent "no unfinished marks" marks
tap_done
