# SPDX-License-Identifier: MIT
#
# Test results as TAP; sourced by the scripts here.

tap_count=0
tap_failed=0

# ok NAME COMMAND...: passes if COMMAND does.
ok()
{
	local name=$1 not=

	shift
	"$@" || { not='not '; tap_failed=1; }
	tap_count=$((tap_count + 1))
	echo "${not}ok $tap_count - $name"
}

# is NAME GOT WANTED
is()
{
	[ "$2" = "$3" ] || printf '# %s: got "%s", wanted "%s"\n' "$1" "$2" "$3"
	ok "$1" [ "$2" = "$3" ]
}

skip()
{
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

tap_end()
{
	echo "1..$tap_count"
	exit $tap_failed
}
