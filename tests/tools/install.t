#!/bin/bash
# SPDX-License-Identifier: MIT
#
# make install, what README.md and Documentation/user/install.rst say can be done then, and make
# uninstall: in an overlay of this machine's files, which nobody else sees and which ends with the
# test.  Where no overlay can be mounted, only into a directory.
. "$(dirname "${BASH_SOURCE[0]}")/../lib/tap.sh"

# ---- the overlay -----------------------------------------------------------------------------

# overlay DIR: what is written below $root/DIR stays in $work.
overlay()
{
	local n

	n=$(ls "$work" | wc -l)
	mkdir -p "$work/$n/upper" "$work/$n/work" "$root/$1" &&
		mount -t overlay none "$root/$1" \
			-o "lowerdir=$1,upperdir=$work/$n/upper,workdir=$work/$n/work"
}

make_root()
{
	root=$work/0
	mount -t tmpfs none "$work" && mkdir "$root" && overlay / &&
		mount --rbind /dev "$root/dev" && mount --rbind /proc "$root/proc" &&
		mount -t tmpfs none "$root/tmp" && overlay "$top" || return 1
	case $build in "$top"/*) ;; *) overlay "$build";; esac
}

# A clean environment, too: nothing but what is installed helps.
enter()
{
	make_root >/dev/null 2>&1 || exec "$top/tests/tools/install.t" directory
	exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		CNNACC_BUILD="$build" chroot "$root" "$top/tests/tools/install.t" everything
}

# ---- what is asked -----------------------------------------------------------------------------

# Every file that installing could leave behind.
files()
{
	find /boot /etc /lib/ /opt /usr -xdev ! -path '/lib/modules/*/modules.*' | LC_ALL=C sort
}

make_quietly()
{
	make BUILD="$build" "$@" 2>&1 >"$work/out" || { cat "$work/out"; return 1; }
}

no_tests()
{
	ninja -C "$build" -t inputs product | grep -E '(^|/)(tests|examples)/'
	make -n BUILD="$build" install | grep -E '(ninja|meson compile) -C [^ ]*$'
	true
}

released()
{
	sed -n 's#.*/lib/modules/\([^/]*\)/updates/cnnacc.ko$#\1#p' "$1$prefix/lib/cnnacc/installed"
}

readme_program()
{
	sed -n '/^```c$/,/^```$/p' README.md | grep -v '^```' >"$work/app.c"
	(cd "$work" && sh -exc "$(grep -o '^ *cc app.c .*' "$top/README.md")")
}

readme_run()
{
	"$top/demo/make-model" strokes "$work/model.onnx"
	(cd "$work" && env -i sh -exc "net=model.onnx; $(grep -o '^ *CNNRT_DEVICE=sim ./app .*' \
		"$top/README.md")") | grep -E '^[0-9.e-]+ [0-9.e-]+$'
}

cxx_program()
{
	printf '#include <cnnrt.h>\nint main() { return !cnnrt_version(); }\n' |
		g++ -x c++ - $(pkg-config --cflags --libs cnnrt) -o "$work/cxx" && "$work/cxx"
}

# header COMPILER LANGUAGE STANDARD NAME: with the flags of pkg-config and nothing else.
header()
{
	echo "#include <$4>" | $1 -x "$2" -std="$3" -Wall -Wextra -Werror -pedantic \
		$(pkg-config --cflags cnnrt) -c -o "$work/header.o" -
}

page()
{
	[ "$(man -w "$1")" -ef "$prefix/share/man/man1/$1.1" ] && man -P cat "$1" >"$work/page" &&
		grep -q "^ *$1 - [a-z]" "$work/page" && grep -q '^SYNOPSIS' "$work/page" &&
		grep -q '^OPTIONS' "$work/page" && grep -q -- --help "$work/page"
}

page_warnings()
{
	man --warnings -Tutf8 -E UTF-8 -P cat "$1" 2>&1 >/dev/null
}

found_by_alias()
{
	modprobe -S "$release" --dry-run --verbose "$module" |
		grep "/lib/modules/$release/updates/cnnacc.ko"
}

qemu_device()
{
	sh -exc "$(grep -o '^ *LD_PRELOAD=.*' Documentation/user/install.rst)" | grep 'cores='
}

# The same in another place: what Documentation/user/install.rst says about that.
elsewhere()
{
	export PKG_CONFIG_PATH=$prefix/lib/$triplet/pkgconfig
	[ "$(pkg-config --variable=prefix cnnrt)" = "$prefix" ] && (cd "$work" && sh -exc \
		"$(grep -o '^ *cc app.c .*' "$top/Documentation/user/install.rst")")
}

# aliases DIR RELEASE: modinfo finds the module in DIR by the device's alias, once depmod has run.
aliases()
{
	depmod -b "$1" "$2" && modinfo -b "$1" -k "$2" -F filename "$module" |
		grep "^$1/lib/modules/$2/updates/cnnacc.ko$" && rm "$1/lib/modules/$2"/modules.*
}

# ---- the places ---------------------------------------------------------------------------------

# Tells whether a header is a core's that the runtime has no back end for: it comes with that.
no_backend()
{
	local core=${1#cnnacc/cnnacc_}

	core=${core%.h}
	[ -e "Documentation/hardware/$core.rst" ] && [ ! -e "runtime/backend/$core" ]
}

check_headers()
{
	local name

	for name in cnnrt.h $(cd uapi && ls *.h | sed 's#^#cnnacc/#'); do
		! no_backend "$name" || continue
		tap_run "$name compiles alone as C" header gcc c c11 "$name"
		tap_run "$name compiles alone as C++" header g++ c++ c++17 "$name"
	done
}

check_tools()
{
	local name

	tap_run "cnnrun runs a network" cnnrun "$work/model.onnx" --device sim
	tap_run "cnnctl tests the device" cnnctl selftest --device sim
	for name in cnnrun cnnctl cnnquant; do
		tap_run "$name has the version of the pkg-config file" \
			[ "$($name --version)" = "$name $(pkg-config --modversion cnnrt)" ]
		tap_run "man $name" page $name
		tap_silent "its source has no mistakes" page_warnings $name
	done
}

check_local()
{
	prefix=/usr/local
	make -s BUILD="$build" uninstall >/dev/null 2>&1
	files >"$work/before"
	tap_silent "make install has nothing to complain about" make_quietly install
	release=$(released "")
	tap_silent "it builds no tests and no examples" no_tests
	tap_run "README's program compiles" readme_program
	tap_run "it runs without LD_LIBRARY_PATH" readme_run
	tap_run "a C++ program compiles and runs" cxx_program
	tap_run "the library has its versioned name" \
		sh -c "readelf -d $prefix/lib/$triplet/libcnnrt.so | grep 'SONAME.*\[libcnnrt.so.0\]'"
	check_headers
	check_tools
	tap_run "man cnnctl has the options of its commands" sh -c "man cnnctl | grep -e '--interval MS '"
	tap_run "modprobe finds the driver by the device's alias" found_by_alias
	tap_run "udev has the rule" \
		cmp packaging/60-cnnacc.rules $prefix/lib/udev/rules.d/60-cnnacc.rules
	tap_run "QEMU has the device" qemu_device
	tap_silent "make install-user on top of that" make_quietly install-user
	tap_silent "make uninstall" make_quietly uninstall
	files >"$work/after"
	tap_silent "it leaves the files that were there before" diff "$work/before" "$work/after"
	tap_run "modprobe finds no driver" sh -c "! modprobe -S $release --dry-run $module"
	tap_run "the dynamic linker finds no library" sh -c "! ldconfig -p | grep cnnrt"
	tap_run "there is nothing to uninstall now" sh -c "! make -s BUILD='$build' uninstall"
}

# After the build was configured for another prefix.
check_prefix()
{
	prefix=/opt/cnnacc
	tap_silent "make install-user PREFIX=$prefix" make_quietly install-user PREFIX=$prefix
	tap_run "its tools run" $prefix/bin/cnnctl selftest --device sim
	tap_run "a program compiles and links with it" elsewhere
	tap_run "it runs" readme_run
	tap_silent "make uninstall PREFIX=$prefix" make_quietly uninstall PREFIX=$prefix
	files >"$work/after"
	tap_silent "it leaves the files that were there before" diff "$work/before" "$work/after"
}

# check_directory PREFIX RULES
check_directory()
{
	local root=$work/root

	prefix=$1
	mkdir "$root"
	tap_silent "make install DESTDIR=" make_quietly install PREFIX=$prefix DESTDIR="$root"
	tap_run "the module has the device's alias" aliases "$root" "$(released "$root")"
	tap_run "udev has the rule" test -e "$root$2/60-cnnacc.rules"
	tap_run "its pkg-config file has the prefix" \
		grep -x prefix=$prefix "$root$prefix/lib/$triplet/pkgconfig/cnnrt.pc"
	tap_run "another PREFIX has nothing to uninstall" \
		sh -c "! make -s BUILD='$build' uninstall PREFIX=/nowhere DESTDIR=$root"
	echo mine >"$root$prefix/include/mine.h"
	tap_silent "make uninstall" make_quietly uninstall PREFIX=$prefix DESTDIR="$root"
	tap_run "it leaves a file of somebody else" \
		[ "$(cd "$root" && find . ! -type d)" = .$prefix/include/mine.h ]
	tap_silent "and no empty directory" find "$root" -type d -empty
}

build=$(realpath "$build")
case ${1:-} in
"")
	unshare -m true 2>/dev/null || exec "$top/tests/tools/install.t" directory
	work=$(mktemp -d)
	CNNACC_BUILD=$build unshare -m "$top/tests/tools/install.t" overlay "$work"
	status=$?
	rmdir "$work"
	exit $status;;
overlay)
	work=$2
	enter;;
esac

unset MAKEFLAGS MAKEOVERRIDES MAKELEVEL
cd "$top" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
triplet=$(gcc -print-multiarch)
module='pci:v00001234d0000CACCsv00001234sd0000CACCbc12sc00i00'
if [ "$1" = everything ]; then
	check_local
	check_prefix
	check_directory /opt/cnnacc /etc/udev/rules.d
	files >"$work/after"
	tap_silent "nothing came into this machine's root" diff "$work/before" "$work/after"
else
	tap_skip "installation into /" "no overlay can be mounted here"
	check_directory /usr/local /usr/local/lib/udev/rules.d
fi
tap_done
