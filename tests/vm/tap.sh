# SPDX-License-Identifier: MIT
#
# Functions that the scripts here add to tests/lib/tap.sh; sourced.

. "$(dirname "${BASH_SOURCE[0]}")/../lib/tap.sh"

# ok NAME COMMAND...: passes if COMMAND succeeds.
ok()
{
	local name=$1

	shift
	"$@"
	tap_ok "$name"
}

# is NAME GOT WANTED: passes if both are the same text.
is()
{
	[ "$2" = "$3" ] || printf '# %s: got "%s", wanted "%s"\n' "$1" "$2" "$3"
	ok "$1" [ "$2" = "$3" ]
}
