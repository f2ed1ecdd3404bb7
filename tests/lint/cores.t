#!/bin/bash
# SPDX-License-Identifier: MIT
# A core's name occurs in its own places and in one registration line each of model, runtime and
# tests, so that a new core is new files and three lines.
. "$(dirname "$0")/../lib/tap.sh"

# The cores there are or will be: the types of the contract.
names()
{
	sed -n 's/^\tCNNACC_CORE_\([A-Z0-9]*\) = [1-9].*/\1/p' "$top/uapi/cnnacc_hw.h" |
		tr '[:upper:]' '[:lower:]'
}
cores=$(names | paste -sd '|')

# mentions: the lines and file names of a git tree, the current directory, that name a core.
mentions()
{
	local own="^(uapi/cnnacc_($cores)\.h|qemu-device/model/cores/($cores)/|"
	own+="runtime/backend/($cores)/|tests/(golden|backend)/($cores)/|Documentation/|README\.md$)"

	git ls-files | grep -vE "$own" | while read -r file; do
		[ -f "$file" ] && grep -qI . "$file" || continue
		echo "$file:0: $file"
		grep -nHiE "$cores" "$file"
	done | awk -v cores="$cores" '
		{
			at = index($0, ":")
			file = substr($0, 1, at - 1)
			line = substr($0, at + 1)
			sub(/^[0-9]+:/, "", line)
			# registration lines and type numbers
			if (file ~ /\/cores\.def$/ && line ~ "^CORE\\((" cores ")\\)$" ||
			    file == "tests/meson.build" && line ~ /^test_cores = \[[^]]*\]$/ ||
			    file == "uapi/cnnacc_hw.h" && line ~ /^( \* @|\t)CNNACC_CORE_[A-Z]+(:| = )/)
				next
			if (file ~ /^tests\//)
				gsub(/cores=\047?[-a-z0-9:+=]+/, "", line)
			if (tolower(line) ~ "(^|[^a-z0-9])(" cores ")([^a-z0-9]|$)")
				print
		}'
}

# planted PATH TEXT: a tree with such a file is complained about.
planted()
{
	rm -rf "$work/tree" && mkdir -p "$work/tree/$(dirname "$1")" || return
	(cd "$work/tree" && git init -q && printf '%s\n' "$2" >"$1" && git add . && mentions) | grep -q .
}

# allowed PATH TEXT: and with such a one not.
allowed()
{
	! planted "$@"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$top" || exit
tap_run "there are types of cores" test "$(names | wc -l)" -ge 5
tap_silent "a core's name is in its own places only" mentions

# Two cores of those, for what is planted.
one=$(names | head -n 1) other=$(names | tail -n 1)
one_upper=$(echo "$one" | tr '[:lower:]' '[:upper:]')
tap_run "a macro of a core is seen" planted driver/x.c "x = CNNACC_${one_upper}_ID;"
tap_run "a part of an identifier" planted runtime/device/x.c "int ${other}_run(void);"
tap_run "a word in a comment" planted qemu-device/model/x.h "/* as $other does */"
tap_run "a word of C" planted qemu-device/qemu/b.h "struct $other;"
tap_run "a shared file of the golden tests" planted tests/golden/b.h "int ${other}_rounds;"
tap_run "the name of a file" planted "runtime/tools/$one.c" "int x;"
tap_run "a second name in a registration" planted qemu-device/model/cores/cores.def \
	"CORE($one) /* and $other */"
tap_run "a type number outside the contract" planted driver/x.c "CNNACC_CORE_$one_upper,"
tap_run "cores= in the product" planted runtime/tools/x.c "\"sim:cores=$one\""
tap_run "cores= in a test is allowed" allowed tests/x.t "sim:cores=$one:lob=64+$other"
tap_run "a registration line, too" allowed runtime/backend/cores.def "CORE($other)"
tap_run "its own folder" allowed "qemu-device/model/cores/$one/$one.c" "$one"
tap_run "another word" allowed driver/x.c "s$one = t$one;"
tap_done
