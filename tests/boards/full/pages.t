#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Larger pages of memory than the device's: the module for arm64 with 4, 16 and 64 KiB, and a kernel
# with 16 KiB.
. "$(dirname "$0")/../lib.sh"
. "$top/scripts/kernel-packages.sh"

cache=$(realpath -m "${XDG_CACHE_HOME:-$HOME/.cache}")/cnnacc/headers
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9

# Debian 13 has the kernel; sets version and image.
fetch_kernel()
{
	apt_dir=$work/apt
	mkdir -p "$apt_dir"
	export APT_CONFIG=$apt_dir/conf
	echo 'APT::Architectures { "amd64"; "arm64"; };' >"$APT_CONFIG"
	mirror | sed 's/$/ trixie main/' | use_lists || return
	version=$(versions '^6\.12\.' arm64-16k | tail -n 1)
	image=$cache/image-16k-$version
	[ -n "$version" ] && headers "$version" arm64-16k arm64 || return
	kdir=$cache/$version/usr/src/linux-headers-$version-arm64-16k
	[ -e "$image/vmlinuz" ] && return
	unpack_image "$version" arm64-16k arm64 || return
	ln -s "$kdir" "$work/kernel/lib/modules/$version-arm64-16k/build"
	rm -rf "$cache"/image-16k-*
	mv "$work/kernel" "$image"
}

# module PAGES [MAKE ARGUMENT...]: builds $work/PAGES-arm64/driver/cnnacc.ko
module()
{
	local pages=$1

	shift
	env -u MAKEFLAGS -u MFLAGS make -s -C "$top" BUILD="$work/$pages" ARCH=arm64 "$@" module \
		>"$work/log" 2>&1 || { grep -E 'error|Error' "$work/log"; return 1; }
	! grep 'warning:' "$work/log" | grep -v 'warning: \(pahole version\|the compiler\) differs'
}

# A copy of the headers that says 64 KiB: no Debian has that kernel.
headers_64k()
{
	local config=$work/headers/include/config/auto.conf \
		header=$work/headers/include/generated/autoconf.h

	cp -r "$kdir" "$work/headers" && ln -sfn "$(realpath "$kdir/scripts")" \
		"$(realpath "$kdir/tools")" "$work/headers/" &&
		sed -i 's/_ARM64_16K_PAGES\>/_ARM64_64K_PAGES/; s/_PAGE_SIZE_16KB\>/_PAGE_SIZE_64KB/
			s/\(PAGE_SHIFT[= ]\)14/\116/; s/_ARM64_VA_BITS_52/_ARM64_VA_BITS_48/
			s/\(ARM64_VA_BITS[= ]\)52/\148/; s/\(PGTABLE_LEVELS[= ]\)4/\13/
			/_ARM64_LPA2\>/d' \
			"$config" "$header" && grep -q ARM64_64K_PAGES "$header"
}

tap_run "library, tools, tests and module are built for arm64, 4 KiB" board_build arm64
tap_run "a kernel with 16 KiB" fetch_kernel
fetch_kernel >/dev/null 2>&1
tap_run "the module is built for 16 KiB" module 16k KDIR="$kdir"
tap_run "headers for 64 KiB" headers_64k
tap_run "the module is built for 64 KiB" module 64k KDIR="$work/headers"
for option in '' coherent=off; do
	board_kmd "16 KiB${option:+, $option}" arm64 platform --cpu max --kernel "$image" \
		--module "$work/16k-arm64/driver/cnnacc.ko" --device "cores=ccp+hwpe${option:+,}$option" \
		-- kmd_all kmd_smoke
done
tap_done
