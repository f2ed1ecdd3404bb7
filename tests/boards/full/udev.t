#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Debian's arm64 kernel has no accel nodes: its udev gives the device's render node to those who may
# use such nodes, and nobody else can open it.
. "$(dirname "$0")/../lib.sh"
. "$top/scripts/kernel-packages.sh"

# Unpacks Debian's udev for arm64, with the libraries that its program needs.
fetch_udev()
{
	apt_dir=$work/apt
	mkdir -p "$apt_dir"
	export APT_CONFIG=$apt_dir/conf
	echo 'APT::Architectures { "amd64"; "arm64"; };' >"$APT_CONFIG"
	mirror | sed 's/$/ bookworm main/' | use_lists &&
		fetch "$work/udev" {udev,libacl1,libblkid1,libcap2,libkmod2,libselinux1}:arm64 \
			{libzstd1,liblzma5,libssl3,libpcre2-8-0}:arm64
}

cat >"$work/guest" <<'END'
node=/dev/dri/renderD128
libraries=/lib/aarch64-linux-gnu
export LD_LIBRARY_PATH=/mnt/udev$libraries:/mnt/udev/usr$libraries
echo render:x:106:user >>/etc/group
echo user:x:1000:1000::/:/bin/sh >>/etc/passwd
echo other:x:1001:1001::/:/bin/sh >>/etc/passwd
as()
{
	su -s /bin/sh $1 -c "$2"
}
mkdir -p /lib/udev/rules.d /run/udev
cp /mnt/60-cnnacc.rules /lib/udev/rules.d/
ln -s /mnt/udev/bin/udevadm /usr/local/bin/
ln -s /mnt/udev/bin/udevadm /usr/local/bin/systemd-udevd
chmod 600 $node
as user "cnnctl selftest" && { echo "the node is open before"; exit 1; }
systemd-udevd --daemon || exit 1
udevadm trigger --settle --action=add --subsystem-match=drm || exit 1
stat -c '%G %a' $node
[ "$(stat -c '%G %a' $node)" = "render 660" ] && as user "cnnctl selftest" || exit 1
as other "cnnctl selftest" && { echo "others can open it"; exit 1; }
echo "--- a node that appears while udev runs"
device=$(basename $(readlink /sys/class/drm/renderD128/device))
echo $device >/sys/bus/platform/drivers/cnnacc/unbind
echo $device >/sys/bus/platform/drivers/cnnacc/bind
udevadm settle
stat -c '%G %a' /dev/dri/renderD*
[ "$(stat -c '%G %a' /dev/dri/renderD*)" = "render 660" ] && as user "cnnctl selftest"
END
cp "$top/packaging/60-cnnacc.rules" "$work/"
tap_run "library, tools, tests and module are built for arm64" board_build arm64
tap_run "udev for arm64" fetch_udev
tap_run "the rule gives the render node to group render" board arm64 platform --share "$work" -- \
	sh /mnt/guest
echo "$tap_out" | grep -E '^render|^---' | sed 's/^/# /'
tap_done
