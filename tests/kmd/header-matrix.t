#!/bin/bash
# SPDX-License-Identifier: MIT
#
# header-matrix.t: the driver compiles, without a warning, against kernels from
# both sides of every interface change that driver/compat/ knows: 6.12.y with and
# without a client id of jobs and with and without scheduler arguments, and 7.x.
#
# CNNACC_HEADERS=all: every 6.12 and later kernel that can be had.
#
# Debian's header packages are unpacked, not installed, into
# ${XDG_CACHE_HOME:-~/.cache}/cnnacc/headers.  What cannot be had is skipped.  The oldest and
# the newest of these kernels are also booted.
set -uo pipefail
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/tap.sh"
. "$top/scripts/apt.sh"
. "$top/tests/lint/known.sh"

cache=$(realpath -m "${XDG_CACHE_HOME:-$HOME/.cache}")/cnnacc/headers
work=$(mktemp -d "${TMPDIR:-/tmp}/cnnacc-headers.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$cache/modules"
exec 9>"$cache/lock"
flock 9
find "$cache/modules" -name '*.ko' -mtime +14 -delete

# Libraries that build tools of newer suites need.
libraries='libc6 libelf1t64 libssl3t64 libzstd1 zlib1g'

# The package lists of the suites that have the kernels; once per run.
lists()
{
	local base suite

	[ -z "${listed:-}" ] || return "$listed"
	listed=1
	apt_dir=$cache/apt
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
	base=$(private_apt_suites | sed -n 's# [a-z]* main$##p' | sed 's/^deb-src/deb/' |
		grep -v -- '-security/* *$' | head -n 1)
	[ -n "$base" ] || return 1
	for suite in bookworm-backports trixie trixie-backports; do
		echo "$base $suite main"
	done >"$apt_dir/sources.list"
	private_apt_suites | sed -n 's/^deb-src\(.* bookworm-security main\)$/deb\1/p' \
		>>"$apt_dir/sources.list"
	private_apt update || return 1
	listed=0
}

# The versions among the header packages that match a pattern, oldest first.
versions()
{
	apt-cache -o Dir::State::lists="$apt_dir/lists" -o Dir::Cache="$apt_dir/cache" \
		-o Dir::Etc::sourcelist="$apt_dir/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null pkgnames linux-headers- |
		sed -n 's/^linux-headers-\(.*\)-amd64$/\1/p' | grep -E "$1" |
		grep -vE 'rt$|cloud$' | sort -V
}

# fetch DIR PACKAGE...: unpacks packages there.
fetch()
{
	local to=$1

	shift
	rm -rf "$work/debs"
	mkdir -p "$work/debs"
	(cd "$work/debs" && private_apt download "$@") || return 1
	for deb in "$work"/debs/*.deb; do
		dpkg-deb -x "$deb" "$to" || return 1
	done
}

# Host tools of newer suites run with the C library they were built for.
wrap_tools()
{
	local root=$1 libs=$2/usr/lib/x86_64-linux-gnu tool

	find "$root/usr/lib" -type f -perm -100 | while read -r tool; do
		readelf -V "$tool" 2>/dev/null | grep -qE 'GLIBC_2\.(3[7-9]|[4-9][0-9])' ||
			continue
		mv "$tool" "$tool.elf"
		printf '#!/bin/sh\nexec %s/ld-linux-x86-64.so.2 --library-path %s "%s.elf" "$@"\n' \
			"$libs" "$libs" "$tool" >"$tool"
		chmod +x "$tool"
	done
}

# headers VERSION: unpacks what a module needs to be built for it.
headers()
{
	local version=$1 tmp=$work/root

	[ ! -e "$cache/$version/done" ] || return 0
	rm -rf "$tmp" "${cache:?}/$version"
	fetch "$tmp" "linux-headers-$version-amd64" "linux-headers-$version-common" \
		"linux-kbuild-$version" || return 1
	if [ ! -e "$cache/lib/done" ] && [[ $version == *deb13* ]]; then
		# shellcheck disable=SC2086
		fetch "$work/lib" $(printf '%s/trixie ' $libraries) || return 1
		touch "$work/lib/done"
		rm -rf "${cache:?}/lib"
		mv "$work/lib" "$cache/lib"
	fi
	mv "$tmp" "$cache/$version"
	sed -i "s#\(^\|[ =]\)/usr/src/#\1$cache/$version/usr/src/#" \
		"$cache/$version/usr/src/linux-headers-$version-amd64/Makefile"
	[[ $version != *deb13* ]] || wrap_tools "$cache/$version" "$cache/lib"
	touch "$cache/$version/done"
}

# What a guest needs of a kernel's modules.
modules='drivers/gpu/drm drivers/virtio drivers/iommu fs/9p fs/netfs net/9p drivers/char
	drivers/block drivers/nvme'

# image VERSION: unpacks a kernel and those modules, for tests/vm/run --kernel.
image()
{
	local version=$1 tmp=$work/image dir packages="linux-image-$1-amd64"

	[ ! -e "$cache/image-$version/vmlinuz" ] || return 0
	# Kernels of newer suites come in parts.
	[[ $version == 6.* ]] ||
		packages="linux-binary-$version-amd64 linux-modules-$version-amd64"
	rm -rf "$tmp" "$work/kernel"
	# shellcheck disable=SC2086
	fetch "$tmp" $packages || return 1
	dir=$work/kernel/lib/modules/$version-amd64
	mkdir -p "$dir/kernel"
	find "$tmp" -path "*/$version-amd64/modules.*" -exec cp {} "$dir/" \;
	(cd "$(find "$tmp" -path "*/$version-amd64/kernel" -type d)" &&
		for part in $modules; do
			[ ! -d "$part" ] || find "$part" -name '*.ko*' -size -1500k
		done | cpio --quiet -pd "$dir/kernel") || return 1
	depmod -b "$work/kernel" "$version-amd64" 2>/dev/null
	find "$tmp" -type f -name 'vmlinuz*' -exec cp {} "$work/kernel/vmlinuz" \;
	[ -s "$work/kernel/vmlinuz" ] || { echo "no vmlinuz in $packages" >&2; return 1; }
	rm -rf "$cache/image-${version%%.*}".* "$tmp"
	mv "$work/kernel" "$cache/image-$version"
}

# boot VERSION PROGRAM...: runs tests with the driver that was just built for it.
boot()
{
	local version=$1 link

	shift
	if ! image "$version" 2>"$work/why"; then
		tap_skip "$version boots" "$version cannot be had: $(tail -n 1 "$work/why")"
	else
		link=$cache/image-$version/lib/modules/$version-amd64/build
		[ -e "$link" ] ||
			ln -s "$cache/$version/usr/src/linux-headers-$version-amd64" "$link"
		tap_run "$version boots and runs jobs" "$top/tests/vm/run" \
			--kernel "$cache/image-$version" --module "$work/driver/cnnacc.ko" -- \
			kmd_all "$@"
	fi
}

# compile KDIR [MAKE ARGUMENT...]: into $work/driver
compile()
{
	local kdir=$1

	shift
	cp -r "$top"/{Kbuild,Kconfig,driver,uapi} "$work/driver/"
	nice make -C "$kdir" M="$work/driver" W=1 "$@" modules >"$work/log" 2>&1 &&
		[ -e "$work/driver/cnnacc.ko" ] && ! grep 'warning:' "$work/log" |
			grep -qv 'warning: \(pahole version\|the compiler\) differs'
}

# build_driver NAME KDIR [MAKE ARGUMENT...]: what was built without a warning is kept.
build_driver()
{
	local name=$1 kdir=$2 known

	shift
	rm -rf "$work/driver"
	mkdir "$work/driver"
	known=$cache/modules/$(known_key "$@" "$(stat -c %Y "$kdir/Module.symvers")" \
		"$(gcc --version)").ko
	cp "$known" "$work/driver/cnnacc.ko" 2>/dev/null || {
		compile "$@" && strip -g -o "$known" "$work/driver/cnnacc.ko"
	}
	tap_ok "the driver builds against $name"
	[ "$tap_status" -eq 0 ] || grep -E 'warning|error|Error' "$work/log" | head -n 20 |
		sed 's/^/# /'
}

# The compiler at hand is older than the one that a kernel was configured for.
old_compiler="CC=gcc CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT= CONFIG_CC_OPT_INLINE_MEMSET=
	CONFIG_DEBUG_INFO_BTF_MODULES="

# try WHAT WHICH PATTERN [PROGRAM...]: builds against the newest or oldest headers that match,
# and runs programs in a guest with that kernel.
try()
{
	local what=$1 pattern=$3 version args='' end=tail

	[ "$2" = newest ] || end=head
	shift 3

	if ! lists 2>"$work/why"; then
		tap_skip "$what" "no package lists: $(tail -n 1 "$work/why")"
		return
	fi
	version=$(versions "$pattern" | $end -n 1)
	if [ -z "$version" ]; then
		tap_skip "$what" "no such package"
	elif ! headers "$version" 2>"$work/why"; then
		tap_skip "$what" "$version cannot be had: $(tail -n 1 "$work/why")"
	else
		[[ $version != *deb13* ]] || args=$old_compiler
		# shellcheck disable=SC2086
		build_driver "$what: $version" \
			"$cache/$version/usr/src/linux-headers-$version-amd64" $args
		tried+=" $version"
		[ $# -eq 0 ] || boot "$version" "$@"
	fi
}

installed=$(ls -vd /lib/modules/6.12*-amd64/build 2>/dev/null | tail -n 1)
if [ -n "$installed" ]; then
	build_driver "the installed headers: $(basename "$(dirname "$installed")")" "$installed"
else
	tap_skip "the installed headers" "linux-headers-6.12-amd64 is not installed"
fi
tried=
try "jobs without client id" newest '^6\.12\.([0-9]|[1-9][0-9]|10[0-2])\+deb1[23]$' \
	kmd_smoke kmd_bind kmd_submit
try "scheduler without arguments" newest '^6\.12\.(10[3-9]|11[0-3])\+deb12$'
try "a kernel of the next Debian" newest '^6\.12\.(10[3-9]|1[1-9][0-9])\+deb13$'
try "the first of 7.x" oldest '^7\.[0-9.]+\+deb13$'
try "the newest kernel" newest '^[7-9]\.[0-9.]+\+deb13$' \
	kmd_smoke kmd_bind kmd_submit kmd_observe
if [ "${CNNACC_HEADERS:-}" = all ]; then
	for version in $(versions '^(6\.12|[7-9])\.'); do
		[[ " $tried " == *" $version "* ]] || try "another" newest "^${version//+/\\+}$"
	done
fi
tap_done
