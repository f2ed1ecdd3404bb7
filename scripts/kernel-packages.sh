# SPDX-License-Identifier: MIT
#
# Functions that unpack Debian's kernel packages, also for other machines, without installing them;
# sourced by bash scripts, which set:
#
#   cache   directory where they are kept, locked by the caller
#   work    directory for temporary files
#   top     top of the project

. "$top/scripts/apt.sh"

# Libraries that build tools of newer suites need.
libraries='libc6 libelf1t64 libssl3t64 libzstd1 zlib1g'

# Debian's main mirror, as a line of sources.list without the suite.
mirror()
{
	private_apt_suites | sed -n 's# [a-z]* main$##p' | sed 's/^deb-src/deb/' |
		grep -v -- '-security/* *$' | head -n 1
}

# Reads the package lists of the suites that are stdin, as in sources.list.
use_lists()
{
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
	cat >"$apt_dir/sources.list"
	[ -s "$apt_dir/sources.list" ] && private_apt update
}

# versions PATTERN [FLAVOUR]: among the header packages, oldest first.
versions()
{
	apt-cache -o Dir::State::lists="$apt_dir/lists" -o Dir::Cache="$apt_dir/cache" \
		-o Dir::Etc::sourcelist="$apt_dir/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null pkgnames linux-headers- |
		sed -n "s/^linux-headers-\([0-9].*\)-${2:-amd64}\$/\1/p" | grep -E "$1" |
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

# suite_of VERSION: the newer suite that a kernel's build tools are of.
suite_of()
{
	case $1 in
	*deb13*) echo trixie ;;
	*deb14*) echo forky ;;
	esac
}

# tools VERSION: unpacks what the kernels of all machines have in common.  Debian's build tools for
# amd64 make modules for each of them.
tools()
{
	local version=$1 suite libs

	[ ! -e "$cache/$version/unpacked" ] || return 0
	rm -rf "$work/root" "$work/lib" "${cache:?}/$version"
	fetch "$work/root" "linux-headers-$version-common" "linux-kbuild-$version" || return 1
	suite=$(suite_of "$version")
	libs=$cache/lib-$suite
	if [ -n "$suite" ] && [ ! -e "$libs" ]; then
		# shellcheck disable=SC2086
		fetch "$work/lib" $(printf "%s/$suite " $libraries) || return 1
		mv "$work/lib" "$libs"
	fi
	mv "$work/root" "$cache/$version"
	[ -z "$suite" ] || wrap_tools "$cache/$version" "$libs"
	touch "$cache/$version/unpacked"
}

# What compilers and tools know only if they are newer than those at hand.  The layout of struct
# module depends on DEBUG_INFO_BTF_MODULES.
newer='CC_HAS_MIN_FUNCTION_ALIGNMENT|CC_OPT_INLINE_MEMSET|CC_HAS_COUNTED_BY(_PTR)?'
newer+='|TOOLCHAIN_HAS_ZA(BHA|CAS)'

# headers VERSION [FLAVOUR [ARCH]]: unpacks what a module needs to be built for it.
headers()
{
	local version=$1 name=linux-headers-$1-${2:-amd64} dir

	dir=$cache/$version/usr/src/$name
	tools "$version" || return 1
	[ ! -e "$dir" ] || return 0
	fetch "$work/headers" "$name${3:+:$3}" || return 1
	sed -i "s#\(^\|[ =]\)/usr/src/#\1$cache/$version/usr/src/#" \
		"$work/headers/usr/src/$name/Makefile"
	sed -i -E "/CONFIG_($newer)\>/d" \
		"$work/headers/usr/src/$name"/include/{config/auto.conf,generated/autoconf.h}
	sed -i '/CONFIG_DEBUG_INFO_BTF_MODULES/d' \
		"$work/headers/usr/src/$name/include/config/auto.conf"
	mv "$work/headers/usr/src/$name" "$dir"
	rm -rf "$work/headers"
}

# What a guest needs of a kernel's modules.
modules='drivers/gpu/drm drivers/virtio drivers/iommu fs/9p fs/netfs net/9p drivers/char
	drivers/block drivers/nvme'

# unpack_image VERSION [FLAVOUR [ARCH]]: unpacks a kernel and those modules to $work/kernel, for
# tests/vm/run --kernel.
unpack_image()
{
	local name=$1-${2:-amd64} arch=${3:+:$3} tmp=$work/image dir packages

	packages=linux-image-$name$arch
	# Kernels of newer suites come in parts.
	[[ $1 == 6.* ]] || packages="linux-binary-$name$arch linux-modules-$name$arch"
	rm -rf "$tmp" "$work/kernel"
	# shellcheck disable=SC2086
	fetch "$tmp" $packages || return 1
	dir=$work/kernel/lib/modules/$name
	mkdir -p "$dir/kernel"
	find "$tmp" -path "*/$name/modules.*" -exec cp {} "$dir/" \;
	(cd "$(find "$tmp" -path "*/$name/kernel" -type d)" &&
		for part in $modules; do
			[ ! -d "$part" ] || find "$part" -name '*.ko*' -size -1500k
		done | cpio --quiet -pd "$dir/kernel") || return 1
	depmod -b "$work/kernel" "$name" 2>/dev/null
	# That of riscv64 is called vmlinux.
	find "$tmp" -path '*/boot/*' -name 'vmlinu[xz]-*' -exec cp {} "$work/kernel/vmlinuz" \;
	[ -s "$work/kernel/vmlinuz" ] || { echo "no kernel in $packages" >&2; return 1; }
	rm -rf "$tmp"
}

# image VERSION: keeps a kernel for amd64 in place of the last one of its series.
image()
{
	[ ! -e "$cache/image-$1/vmlinuz" ] || return 0
	unpack_image "$1" || return 1
	rm -rf "$cache/image-${1%%.*}".*
	mv "$work/kernel" "$cache/image-$1"
}
