#!/bin/bash
# SPDX-License-Identifier: MIT
# The semantic patches of the kernel source over driver/, in report mode.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/known.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t files < <(find "$top/driver" -name '*.c' | sort)

# Rules in OCaml need a compiler that the package does without.
rules()
{
	(cd "$work/scripts/coccinelle" && find . -name '*.cocci' | sort |
		xargs grep -l 'virtual report' | xargs grep -L 'script:ocaml\|initialize:ocaml')
}

# apply RULE: what a rule reports.
apply()
{
	local rule=$work/scripts/coccinelle/$1 options

	options=$(sed -n 's/.*Options: *//p' "$rule" | head -n 1)
	# shellcheck disable=SC2086
	spatch -D report --very-quiet --no-show-diff --cocci-file "$rule" $options "${files[@]}" \
		2>"$work/err" || { echo "spatch fails:"; tail -n 5 "$work/err"; }
}

check()
{
	local rule

	tar -xJf /usr/src/linux-source-6.12.tar.xz -C "$work" --strip-components=1 \
		--wildcards '*/scripts/coccinelle/*.cocci'
	for rule in $(rules); do
		tap_silent "${rule#./}" apply "$rule"
	done
	[ $tap_n -gt 50 ]
	tap_ok "there are rules"
	tap_done
}

known cocci check "$(dpkg-query -W coccinelle linux-source-6.12)"
