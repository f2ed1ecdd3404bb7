#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The tree as somebody clones it is a DKMS package: DKMS adds it, builds the driver for the
# installed kernel, and leaves kernels alone that the driver is not for.  Nothing of the system's
# own DKMS is touched.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/tap.sh"
. "$top/tests/lint/known.sh"

kver=$(ls -v /lib/modules | grep '^6\.12.*-amd64$' | tail -n 1)
kdir=/lib/modules/$kver/build
work=$(mktemp -d "${TMPDIR:-/tmp}/cnnacc-dkms.XXXXXX")
trap 'rm -rf "$work"' EXIT

# DKMS would make a key for the system, if it could sign with it.
export sign_file=/nonexistent

# run KERNEL KERNEL_SOURCE
run()
{
	nice /usr/sbin/dkms build -m cnnacc -v "$version" --dkmstree "$work/dkms" \
		--sourcetree "$work/src" -k "$1" --kernelsourcedir "$2"
}

add()
{
	(cd "$top" && git ls-files -z -co --exclude-standard | cpio --quiet -0pd "$work/clone") &&
		nice /usr/sbin/dkms add "$work/clone" --dkmstree "$work/dkms" \
			--sourcetree "$work/src" -k "$kver"
}

build()
{
	run "$kver" "$kdir" || { cat "$work"/dkms/cnnacc/*/build/make.log; false; }
}

# The module is where DKMS keeps it, and made for that kernel.
built()
{
	local module

	module=$(echo "$work/dkms/cnnacc/$version/$kver/x86_64/module"/cnnacc.ko*)
	modinfo -F vermagic "$module" | grep -q "^$kver " && modinfo -F alias "$module" | grep pci:
}

# left_alone KERNEL KERNEL_SOURCE: 77 is how DKMS says so, which no hook takes for a failure.
left_alone()
{
	run "$1" "$2"
	[ $? -eq 77 ]
}

is_for()
{
	(. "$top/dkms.conf" && [[ $1 =~ $BUILD_EXCLUSIVE_KERNEL ]])
}

check()
{
	local kernel

	mkdir -p "$work"/{dkms,src,clone,cloud}
	grep -v '^CONFIG_DRM=' "$kdir/.config" >"$work/cloud/.config"
	tap_run "dkms add" add
	tap_run "dkms build for $kver" build
	tap_run "the module is there" built
	tap_run "a kernel before 6.12 is left alone" left_alone 6.1.0-40-amd64 "$kdir"
	tap_run "a kernel without DRM is left alone" left_alone 6.12.0-cloud-amd64 "$work/cloud"
	for kernel in 6.12.94+deb13-amd64 6.18.1-amd64 7.3.4+deb13-amd64; do
		tap_run "$kernel is not" is_for $kernel
	done
	tap_done
}

version=$(. "$top/dkms.conf" && echo "$PACKAGE_VERSION")
if [ ! -x /usr/sbin/dkms ] || [ "$(id -u)" -ne 0 ]; then
	echo "1..0 # SKIP dkms is not installed, or this is not root"
	exit 0
fi
known kmd-dkms check "$(dpkg-query -W dkms "linux-headers-$kver")" "$(sha256sum <"$top/dkms.conf")"
