# SPDX-License-Identifier: MIT
#
# Guests with the debug kernel; sourced by the bash scripts here, which print TAP.
#
# CNNACC_DEBUG=full, as "make check-debug" sets it, has the kernel built if it is not
# cached and every test run in full; else what is here is a sample of a few minutes, and
# skipped if there is no kernel.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../tap.sh"
# Scripts in full/ lie one directory deeper.
top=$(cd "$here/../.." && pwd)
build=${CNNACC_BUILD:-$top/build}

debug_work=$(mktemp -d "${TMPDIR:-/tmp}/cnnacc-debug.XXXXXX")
trap 'rm -rf "$debug_work"' EXIT

debug_full()
{
	[ "${CNNACC_DEBUG:-}" = full ]
}

# debug_kernel FLAVOUR [MAKE ARGUMENT...]: sets debug_kernel and makes debug_module, the
# driver with its KUnit suites for that kernel; without a kernel the script ends, skipped.
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
	mkdir -p "$debug_dir"
	cp -ru "$top"/{Kbuild,Kconfig,driver,uapi} "$debug_dir/"
	make -s -C "$debug_kernel"/lib/modules/*/build M="$debug_dir" "$@" modules \
		>"$debug_work/make" 2>&1 || {
		sed 's/^/# /' "$debug_work/make"
		echo "Bail out! cnnacc.ko cannot be built for the $flavour kernel"
		exit 1
	}
}

# debug_coverage NAME: keeps the counts of lines that debug_coverage in the guest printed.
debug_coverage()
{
	local dir=$debug_dir/coverage/$1 mark file data

	rm -rf "$dir"
	mkdir -p "$dir"
	while read -r mark file data; do
		echo "$data" | base64 -d >"$dir/$file"
	done < <(grep '^#gcda ' "$debug_work/out")
	[ -n "$(ls "$dir")" ]
	tap_ok "there are counts of lines"
}

# Makes the results of $debug_work/out this script's.
debug_results()
{
	local line

	while read -r line; do
		case $line in
		1..*|"#gcda "*) ;;
		"ok "*|"not ok "*) tap_n=$((tap_n + 1))
			echo "$line" | sed -E "s/^(not )?ok ([0-9]+ )?/\\1ok $tap_n /" ;;
		*) echo "# $line" ;;
		esac
	done <"$debug_work/out"
	! grep -q '^not ok' "$debug_work/out" || tap_failed=1
}

# debug_guest OPTION... -- CMD...: runs CMD; its TAP is this script's, and one result more
# says whether the guest and its kernel were content.
debug_guest()
{
	local status program programs=()

	for program in "$here"/guest/*; do
		programs+=(--program "$program")
	done
	"$top/tests/vm/run" "${programs[@]}" --kernel "$debug_kernel" --module "$debug_module" \
		--memory 2048 --append kasan_multi_shot --log "$debug_work/log" "$@" \
		>"$debug_work/out" 2>"$debug_work/err"
	status=$?
	debug_results
	[ $status -eq 0 ]
	tap_ok "the guest ends well and its kernel has nothing to say"
	[ $status -eq 0 ] || debug_explain
}

# What the kernel had to say, without the rest of its log.
debug_explain()
{
	sed 's/^/# /' "$debug_work/err"
	grep -E -A 45 'BUG:|WARNING:|UBSAN:|ODEBUG:|DMA-API: .*d|Oops|INFO: (task|rcu)' \
		"$debug_work/log" | head -n 150 | sed 's/^/# /'
}
