# SPDX-License-Identifier: MIT
#
# TAP for shell scripts; sourced.  A script ends with tap_done.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${CNNACC_BUILD:-$top/build}
tap_n=0
tap_failed=0

# tap_ok NAME: the command before it decides, by $?.
tap_ok()
{
	tap_status=$?
	tap_n=$((tap_n + 1))
	if [ $tap_status -eq 0 ]; then
		echo "ok $tap_n - $1"
	else
		echo "not ok $tap_n - $1"
		tap_failed=1
	fi
}

# tap_run NAME CMD...: passes if CMD succeeds; its output is a comment.
tap_run()
{
	tap_name=$1
	shift
	tap_out=$("$@" 2>&1)
	tap_ok "$tap_name"
	[ $tap_status -eq 0 ] || echo "$tap_out" | tail -n 60 | sed 's/^/# /'
}

# tap_silent NAME CMD...: passes if CMD succeeds and prints nothing.
tap_silent()
{
	tap_name=$1
	shift
	tap_out=$("$@" 2>&1) && [ -z "$tap_out" ]
	tap_ok "$tap_name"
	[ $tap_status -eq 0 ] || echo "$tap_out" | tail -n 60 | sed 's/^/# /'
}

# tap_skip NAME REASON
tap_skip()
{
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1 # SKIP $2"
}

tap_done()
{
	echo "1..$tap_n"
	exit $tap_failed
}
