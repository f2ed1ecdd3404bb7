#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The patches of scripts/make-series in kernel trees: they apply, build without a warning with and
# without the KUnit suites, and their pages build.  The trees are Debian's linux-source-6.12 and,
# where it can be had, the newest of the next suite's backports.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../lib/tap.sh"
. "$top/scripts/apt.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/cnnacc-series.XXXXXX")
trap 'rm -rf "$work"' EXIT

# What the driver needs beside tinyconfig.
config='64BIT SMP MODULES PCI PCI_MSI PM SUSPEND PRINTK DEBUG_FS PROC_FS SYSFS EVENTFD SHMEM
	FTRACE FUNCTION_TRACER KUNIT DRM DRM_ACCEL'

kmake()
{
	nice make -s -C "$work/tree" O="$work/build" -j"$(nproc)" "$@"
}

configure()
{
	local option

	mkdir "$work/build"
	kmake tinyconfig
	for option in $config; do
		echo "CONFIG_$option=y"
	done >"$work/fragment"
	printf 'CONFIG_FRAME_WARN=2048\nCONFIG_DRM_ACCEL_CNNACC=m\n' >>"$work/fragment"
	cat "$work/fragment" >>"$work/build/.config"
	kmake olddefconfig
	grep -vxFf "$work/build/.config" "$work/fragment" && return 1
	kmake modules_prepare
}

# Applies patches from the first to the last number.
apply()
{
	local number

	for number in $(seq -f %04g "$1" "$2"); do
		patch -d "$work/tree" -s -p1 --no-backup-if-mismatch <"$(echo "$work/out/$number-"*)" ||
			return
	done
}

# Prints what the compiler complains about.
build()
{
	kmake W=1 drivers/accel/cnnacc/ 2>&1 | grep -v 'pahole version differs'
	[ "${PIPESTATUS[0]}" -eq 0 ]
}

build_tests()
{
	echo CONFIG_CNNACC_KUNIT_TEST=y >>"$work/build/.config" && kmake olddefconfig && build &&
		[ -s "$work/build/drivers/accel/cnnacc/tests/cnnacc_mock.o" ]
}

pages()
{
	kmake SPHINXDIRS=accel htmldocs >"$work/log" 2>&1 || { tail "$work/log"; return 1; }
	! grep -A 3 'accel/cnnacc.*: ' "$work/log"
}

# check_tree NAME TAR: everything in a tree.
check_tree()
{
	local name=$1 last

	rm -rf "$work/tree" "$work/out" "$work/build"
	mkdir "$work/tree"
	tar -xJf "$2" -C "$work/tree" --strip-components=1
	tap_run "$name: a series is made" "$top/scripts/make-series" --tree "$work/tree" "$work/out"
	last=$(grep -l 'Add KUnit tests' "$work"/out/0*.patch | sed 's#.*/0*\([0-9]*\)-.*#\1#')
	tap_run "$name: it applies up to the tests" apply 1 $((last - 1))
	tap_run "$name: the tree is configured" configure
	tap_silent "$name: the driver builds without a warning" build
	tap_run "$name: tests and pages apply" apply "$last" $((last + 1))
	tap_silent "$name: the suites build without a warning" build_tests
	tap_silent "$name: its pages build" pages
}

# Prints the tar file of the newest kernel's source.
newest()
{
	local package deb

	private_apt_init "$work/apt" trixie-backports || return
	package=$(apt-cache -o Dir::State::lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" \
		-o Dir::Etc::sourcelist="$work/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		pkgnames linux-source- | grep -E '^linux-source-[0-9]+\.[0-9]+$' | sort -V | tail -n 1)
	[ -n "$package" ] || { echo "no package linux-source" >&2; return 1; }
	(cd "$work" && private_apt download "$package") || return
	deb=$(echo "$work/$package"_*.deb)
	dpkg-deb -x "$deb" "$work/source" && rm "$deb" && echo "$work/source/usr/src/$package.tar.xz"
}

check_tree 6.12 /usr/src/linux-source-6.12.tar.xz
if tarball=$(newest 2>"$work/why"); then
	check_tree "$(basename "$tarball" .tar.xz)" "$tarball"
else
	tap_skip "a newer kernel" "cannot be had: $(tail -n 1 "$work/why")"
fi
tap_done
