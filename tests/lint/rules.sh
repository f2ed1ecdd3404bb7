# SPDX-License-Identifier: MIT
#
# Rules of the tree: licences, function length, include directions.  Sourced by bash scripts that
# print TAP, after tests/lib/tap.sh; each rule looks at the tracked files of the git repository in
# the current directory and prints a line for each violation.

# files [PATTERN...]: the tracked files that are there.
files()
{
	local file

	git ls-files -- "$@" | while read -r file; do
		[ ! -f "$file" ] || echo "$file"
	done
}

rule_spdx()
{
	local file a b c

	files | grep -vE '^LICENSES/|\.(png|npy|pb|onnx|txt|json|bin)$' | while read -r file; do
		{ read -r a; read -r b; read -r c; } <"$file"
		[[ "$a$b$c" == *SPDX-License-Identifier* ]] || echo "$file: no SPDX line"
	done
}

rule_licences()
{
	local dir want file line

	while read -r dir want; do
		files "$dir" | grep -E '\.[ch]$' | while read -r file; do
			read -r line <"$file"
			[[ "$line" == *"$want"* ]] || echo "$file: not $want"
		done
	done <<-END
		driver GPL-2.0-only
		uapi ((GPL-2.0-only WITH Linux-syscall-note) OR MIT)
		qemu-device/model GPL-2.0-or-later OR MIT
		qemu-device/qemu GPL-2.0-or-later
		runtime MIT
		examples MIT
		tests MIT
	END
}

rule_function_length()
{
	files '*.c' '*.h' | xargs -r awk '
		FNR == 1 { open = 0 }
		/^\{/ || /^[A-Za-z_].*\)[ \t]*\{[ \t]*$/ { open = FNR }
		/^\}/ {
			if (open && FNR - open > 60)
				print FILENAME ":" open ": " FNR - open " lines"
			open = 0
		}'
}

# At most 100 columns, in the rooms that keep to it.
rule_columns()
{
	local file

	files 'qemu-device/model/*.[ch]' 'uapi/*.h' | while read -r file; do
		expand "$file" | awk -v file="$file" \
			'length > 100 { print file ":" NR ": " length " columns" }'
	done
}

# Who may include whom: rooms meet in uapi/ only; for the golden models see below.
rule_includes()
{
	files driver qemu-device | xargs -r grep -nHE '#include "(\.\./)*(runtime|qemu-device|tests)/' |
		grep -v '^driver/.*"tests/cnnacc_[a-z]*_test\.c"'
	files runtime | xargs -r grep -nHE '#include "(\.\./)*(driver|qemu-device|tests)/'
	files runtime | xargs -r grep -nH '#include ".*cnnacc_model\.h"' | grep -v '^runtime/device/'
	golden_includes
}

# A core's golden model knows its own folder, the headers that all share and uapi/, but no header of
# another core there.  What all share is the same without a core, and the comparison knows the
# model's public header, too.
golden_includes()
{
	local file line included path

	files tests/golden | xargs -r grep -HE '^#include "' | while IFS=: read -r file line; do
		included=${line#*\"}
		included=${included%\"*}
		path=$(realpath -m --relative-to=. "$(dirname "$file")/$included")
		[ -f "$path" ] || path=uapi/$included
		golden_may_include "$file" "$path" || echo "$file: $line"
	done
}

# golden_may_include FILE PATH: may this file include that one?
golden_may_include()
{
	local core=

	[[ $1 =~ ^tests/golden/([^/]*)/ ]] && core=${BASH_REMATCH[1]}
	case $2 in
	uapi/cnnacc_model.h)
		[ -z "$core" ] ;;
	uapi/*)
		[ -f "$2" ] || return
		[[ $2 == "uapi/cnnacc_$core.h" || ! -d tests/golden/$(basename "${2#*_}" .h) ]] ;;
	tests/golden/*/*)
		[[ -n $core && $2 == "tests/golden/$core/"* ]] ;;
	tests/golden/*)
		true ;;
	*)
		false ;;
	esac
}

rule_marks()
{
	files '*.c' '*.h' '*.sh' | xargs -r grep -nHE '\b(TO[D]O|FIX[M]E|XX[X])\b'
	true
}
