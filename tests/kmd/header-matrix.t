#!/bin/bash
# SPDX-License-Identifier: MIT
#
# header-matrix.t: the driver compiles, without a warning, against kernels from
# both sides of every interface change that driver/compat/ knows: 6.12.y with and
# without a client id of jobs and with and without scheduler arguments, and 7.x; and for
# machines of other kinds: 64 and 32 bit, without DRM_ACCEL, and, with sparse, big endian.
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
. "$top/scripts/kernel-packages.sh"
. "$top/tests/lint/known.sh"

cache=$(realpath -m "${XDG_CACHE_HOME:-$HOME/.cache}")/cnnacc/headers
work=$(mktemp -d "${TMPDIR:-/tmp}/cnnacc-headers.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$cache/modules"
exec 9>"$cache/lock"
flock 9
find "$cache/modules" -name '*.ko' -mtime +14 -delete

# The package lists of the suites that have the kernels; once per run.
lists()
{
	local base suite

	apt_dir=$cache/apt
	[ -z "${listed:-}" ] || return "$listed"
	listed=1
	base=$(mirror)
	[ -n "$base" ] || return 1
	{
		for suite in bookworm-backports trixie trixie-backports; do
			echo "$base $suite main"
		done
		private_apt_suites | sed -n 's/^deb-src\(.* bookworm-security main\)$/deb\1/p'
	} | use_lists || return 1
	listed=0
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
		tap_run "$version boots and runs jobs" "$top/tests/vm/run" --one-thread \
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
	# modpost for amd64 takes the entries of this table, with a pointer each, for amd64's.
	[[ $kdir != *-armmp ]] ||
		sed -i '/^MODULE_DEVICE_TABLE(of,/d' "$work/driver/driver/cnnacc_platform.c"
	nice make -C "$kdir" M="$work/driver" W=1 "$@" modules >"$work/log" 2>&1 &&
		[ -e "$work/driver/cnnacc.ko" ] && ! grep 'warning:' "$work/log" |
			grep -qv 'warning: \(pahole version\|the compiler\) differs'
}

# build_driver NAME KDIR [MAKE ARGUMENT...]: what was built without a warning is kept, as an empty
# file if it is for another machine.
build_driver()
{
	local name=$1 kdir=$2 known

	shift
	rm -rf "$work/driver"
	mkdir "$work/driver"
	known=$cache/modules/$(known_key "$@" "$(stat -c %Y "$kdir/Module.symvers")" \
		"$(gcc --version)").ko
	cp "$known" "$work/driver/cnnacc.ko" 2>/dev/null || {
		compile "$@" && { strip -g -o "$known" "$work/driver/cnnacc.ko" 2>/dev/null ||
			: >"$known"; }
	}
	tap_ok "the driver builds against $name"
	[ "$tap_status" -eq 0 ] || grep -E 'warning|error|Error' "$work/log" | head -n 20 |
		sed 's/^/# /'
}

# try WHAT WHICH PATTERN [PROGRAM...]: builds against the newest or oldest headers that match,
# and runs programs in a guest with that kernel.
try()
{
	local what=$1 pattern=$3 version end=tail

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
		build_driver "$what: $version" \
			"$cache/$version/usr/src/linux-headers-$version-amd64" CC=gcc
		tried+=" $version"
		[ $# -eq 0 ] || boot "$version" "$@"
	fi
}

# foreign_headers ARCH FLAVOUR: prints the directory of headers for other machines.  Those that are
# there are taken, whatever their version; else those of the first suite that has them.
foreign_headers()
{
	local suite version

	if ! ls -d "$cache"/*/usr/src/linux-headers-*-"$2" >/dev/null 2>&1; then
		apt_dir=$cache/apt-$1
		mkdir -p "$apt_dir"
		export APT_CONFIG=$apt_dir/conf
		echo "APT::Architectures { \"amd64\"; \"$1\"; };" >"$APT_CONFIG"
		for suite in bookworm-backports trixie-backports forky; do
			mirror | sed "s/\$/ $suite main/" | use_lists || continue
			version=$(versions '^(6\.12|[7-9])\.' "$2" | tail -n 1)
			if [ -n "$version" ] && headers "$version" "$2" "$1"; then
				break
			fi
		done
	fi
	ls -vd "$cache"/*/usr/src/linux-headers-*-"$2" 2>/dev/null | tail -n 1
}

# foreign ARCH FLAVOUR TARGET [MAKE ARGUMENT...]: builds for another machine.
foreign()
{
	local arch=$1 flavour=$2 target=$3 dir

	shift 3
	if ! command -v "$target-gcc" >/dev/null; then
		tap_skip "$flavour" "no $target-gcc: scripts/install-packages arch"
		return
	fi
	dir=$(foreign_headers "$arch" "$flavour" 2>"$work/why")
	if [ -z "$dir" ]; then
		tap_skip "$flavour" "its headers cannot be had: $(tail -n 1 "$work/why")"
	else
		build_driver "$(basename "$dir")" "$dir" CC="$target-gcc" "$@"
	fi
}

# The node that kernels without DRM_ACCEL have, on one that has it.
render_node()
{
	build_driver "a kernel without DRM_ACCEL" "$installed" CONFIG_DRM_ACCEL=
	tap_run "its render node runs jobs" "$top/tests/vm/run" --module "$work/driver/cnnacc.ko" \
		-- sh -c 'export CNNACC_DEVICE=/dev/dri/renderD128; [ ! -e /dev/accel/accel0 ] &&
			kmd_all kmd_smoke kmd_bind kmd_submit'
}

installed=$(ls -vd /lib/modules/6.12*-amd64/build 2>/dev/null | tail -n 1)
if [ -n "$installed" ]; then
	build_driver "the installed headers: $(basename "$(dirname "$installed")")" "$installed"
	render_node
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
foreign arm64 arm64 aarch64-linux-gnu
foreign armhf armmp arm-linux-gnueabihf
foreign riscv64 riscv64 riscv64-linux-gnu
# Debian's kernel for the big-endian s390x is without DRM: nothing to link with.
foreign s390x s390x s390x-linux-gnu KBUILD_MODPOST_WARN=1 C=2
tap_done
