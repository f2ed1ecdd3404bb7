#!/bin/bash
# SPDX-License-Identifier: MIT
# What a kernel reviewer runs over driver/ and uapi/: checkpatch, W=1, clang, sparse,
# kernel-doc.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/known.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kver=$(ls -v /lib/modules | grep '^6\.12.*-amd64$' | tail -n 1)
kdir=/lib/modules/$kver/build
kernel_doc=$(ls -d /usr/lib/linux-kbuild-"${kver%-amd64}"/scripts/kernel-doc)
debug_kernel=$("$top/scripts/build-debug-kernel" --cached debug)

checkpatch()
{
	cd "$work/tree" || return
	perl "$work/scripts/checkpatch.pl" --no-tree --strict --terse --no-summary --show-types \
		--ignore FILE_PATH_CHANGES --file "$1" 2>/dev/null
}

# checkpatch wants paths as they would be in a kernel tree.
check_patches()
{
	local file

	mkdir -p "$work/tree/include/uapi/drm" "$work/tree/drivers/accel/cnnacc"
	cp -r "$top"/driver/. "$top"/uapi/*.h "$work/tree/drivers/accel/cnnacc/"
	mv "$work/tree/drivers/accel/cnnacc/"cnnacc_{accel,status}.h "$work/tree/include/uapi/drm/"
	tar -xJf /usr/src/linux-source-6.12.tar.xz -C "$work" --strip-components=1 --wildcards \
		'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
		'*/scripts/const_structs.checkpatch'
	for file in $(cd "$work/tree" && find . -name '*.[ch]' | sort); do
		tap_silent "checkpatch --strict ${file#./}" checkpatch "${file#./}"
	done
}

# What is compiled already is not compiled again, if the arguments are the same.
make_module()
{
	local status

	make -s -C "$kdir" M="$work/module" W=1 "$@" modules >"$work/log" 2>&1
	status=$?
	grep -v 'Skipping BTF generation' "$work/log"
	return $status
}

new_module()
{
	rm -rf "$work/module" && mkdir "$work/module" &&
		cp -r "$top"/{Kbuild,Kconfig,driver,uapi} "$work/module/" && make_module "$@"
}

# The kernel was configured for gcc, so clang is told of some differences; headers name
# an address space twice.
clang=(CC=clang CONFIG_CC_IS_GCC= CONFIG_CC_IS_CLANG=y CONFIG_MITIGATION_RETHUNK=
	CONFIG_MITIGATION_SLS= CONFIG_FTRACE_MCOUNT_USE_CC= CONFIG_INIT_STACK_ALL_ZERO=
	CONFIG_CC_IMPLICIT_FALLTHROUGH=-Wimplicit-fallthrough
	KCFLAGS="-Wno-unknown-warning-option -Wno-ignored-optimization-argument
		-Wno-duplicate-decl-specifier")
clang_module()
{
	new_module "${clang[@]}" | grep -v 'the compiler differs\|The kernel was built by:\|You are using:'
	return "${PIPESTATUS[0]}"
}

check()
{
	local file sparse=(C=2 CF="-D__CHECK_ENDIAN__")

	check_patches
	tap_silent "gcc W=1" new_module
	tap_silent "sparse with endian checks" make_module "${sparse[@]}"
	tap_silent "clang W=1" clang_module
	# The KUnit suites want a kernel that has KUnit.
	if [ -n "$debug_kernel" ]; then
		kdir=$(echo "$debug_kernel"/lib/modules/*/build)
		tap_silent "KUnit suites: gcc W=1 and sparse" new_module "${sparse[@]}" \
			CONFIG_CNNACC_KUNIT_TEST=y
	else
		tap_skip "KUnit suites: gcc W=1 and sparse" \
			"the debug kernel is not built: make check-debug"
	fi
	for file in "$top"/uapi/*.h "$top"/driver/*.[ch] "$top"/driver/tests/*.[ch]; do
		tap_silent "kernel-doc ${file#"$top"/}" "$kernel_doc" -none -Wall "$file"
	done
	tap_done
}

known lint-kernel check "$(dpkg-query -W linux-source-6.12 "linux-headers-$kver" \
	"linux-kbuild-${kver%-amd64}" sparse)" "$(gcc --version)" "$(clang --version)" "$debug_kernel"
