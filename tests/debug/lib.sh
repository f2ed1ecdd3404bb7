# SPDX-License-Identifier: MIT
#
# Guests with the debug kernel; sourced by the bash scripts here, which print TAP.
#
# CNNACC_DEBUG=full, as "make check-debug" sets it, has the kernel built if it is not
# cached and every test run in full; else what is here is a sample of a few minutes, and
# skipped if there is no kernel.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../lib/tap.sh"
# Scripts in full/ lie one directory deeper.
top=$(cd "$here/../.." && pwd)
build=${CNNACC_BUILD:-$top/build}

debug_work=$(mktemp -d "${TMPDIR:-/tmp}/cnnacc-debug.XXXXXX")
trap 'rm -rf "$debug_work"' EXIT

debug_full()
{
	[ "${CNNACC_DEBUG:-}" = full ]
}

# Has the guests' counts of lines kept, for tests/debug/coverage.
debug_coverage()
{
	export CNNACC_COVERAGE=$debug_dir/coverage/$(basename "$0" .t)

	rm -rf "$CNNACC_COVERAGE".*
	mkdir -p "$debug_dir/coverage"
}

# debug_done: the end of a script.
debug_done()
{
	if debug_full; then
		[ -n "$(ls "$CNNACC_COVERAGE".*/*.gcda 2>/dev/null)" ]
		tap_ok "there are counts of lines"
	fi
	tap_done
}

# debug_kernel FLAVOUR [MAKE ARGUMENT...]: sets debug_kernel and makes debug_module, the
# driver with its KUnit suites for that kernel, which tests/vm/run uses from here on and has
# leaks looked for; without a kernel the script ends, skipped.
debug_kernel()
{
	local flavour=$1 cached=--cached

	shift
	! debug_full || cached=
	# shellcheck disable=SC2086
	if ! debug_kernel=$("$top/scripts/build-debug-kernel" $cached "$flavour"); then
		[ -n "$cached" ] || exit 1
		echo "1..0 # SKIP the $flavour kernel is not built: make check-$flavour"
		exit 0
	fi
	debug_dir=$build/$flavour
	debug_module=$debug_dir/cnnacc.ko
	export CNNACC_KERNEL=$debug_kernel CNNACC_MODULE=$debug_module
	[ "$flavour" != debug ] || export CNNACC_APPEND="kasan_multi_shot kmemleak=on"
	# The counts of a full run stay.
	! debug_full || debug_coverage
	mkdir -p "$debug_dir"
	cp -ru "$top"/{Kbuild,Kconfig,driver,uapi} "$debug_dir/"
	# Two scripts may begin at the same time.
	flock "$debug_dir/Kbuild" make -s -j"$(nproc)" -C "$debug_kernel"/lib/modules/*/build M="$debug_dir" \
		"$@" modules >"$debug_work/make" 2>&1 || {
		sed 's/^/# /' "$debug_work/make"
		echo "Bail out! cnnacc.ko cannot be built for the $flavour kernel"
		exit 1
	}
}

# Makes the results of $debug_work/out this script's.
debug_results()
{
	local line

	while read -r line; do
		case $line in
		1..*) ;;
		"ok "*|"not ok "*) tap_n=$((tap_n + 1))
			echo "$line" | sed -E "s/^(not )?ok ([0-9]+ )?/\\1ok $tap_n /" ;;
		*) echo "# $line" ;;
		esac
	done <"$debug_work/out"
	! grep -q '^not ok' "$debug_work/out" || tap_failed=1
}

# debug_complete: $debug_work/out has as many results as it planned.
debug_complete()
{
	local plan count

	plan=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$debug_work/out")
	count=$(grep -cE '^(not )?ok ' "$debug_work/out")
	[ "$count" -gt 0 ] && [ "$plan" = "$count" ]
}

# debug_script NAME: a script of tests/vm with this kernel; its results are this script's.
debug_script()
{
	local status

	"$top/tests/vm/$1.t" >"$debug_work/out" 2>&1
	status=$?
	debug_results
	[ $status -eq 0 ] && debug_complete
	tap_ok "$1.t ends well"
}

# debug_guest OPTION... -- CMD...: runs CMD; its TAP is this script's, and one result more
# says whether the guest and its kernel were content.
debug_guest()
{
	local status program programs=()

	for program in "$here"/guest/*; do
		programs+=(--program "$program")
	done
	"$top/tests/vm/run" "${programs[@]}" --memory 2048 --timeout 3000 --log "$debug_work/log" "$@" \
		>"$debug_work/out" 2>"$debug_work/err"
	status=$?
	debug_results
	[ $status -eq 0 ]
	tap_ok "the guest ends well and its kernel has nothing to say"
	[ $status -eq 0 ] || debug_explain
	debug_complete
	tap_ok "all of its results are here"
}

# What the kernel had to say, without the rest of its log.
debug_explain()
{
	sed 's/^/# /' "$debug_work/err"
	grep -E -A 45 'BUG:|WARNING:|UBSAN:|ODEBUG:|DMA-API: .*d|Oops|INFO: (task|rcu)|memory leaked' \
		"$debug_work/log" | head -n 150 | sed 's/^/# /'
}
