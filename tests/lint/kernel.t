#!/bin/bash
# SPDX-License-Identifier: MIT
# What a kernel reviewer runs over driver/ and uapi/: checkpatch, W=1, sparse, kernel-doc.
. "$(dirname "$0")/../tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kver=$(ls -v /lib/modules | grep '^6\.12.*-amd64$' | tail -n 1)
kdir=/lib/modules/$kver/build
kernel_doc=$(ls -d /usr/lib/linux-kbuild-"${kver%-amd64}"/scripts/kernel-doc)
source=/usr/src/linux-source-6.12.tar.xz

# checkpatch wants paths as they would be in a kernel tree.
mkdir -p "$work/tree/include/uapi/drm" "$work/tree/drivers/accel/cnnacc"
cp -r "$top"/driver/. "$work/tree/drivers/accel/cnnacc/"
cp "$top"/uapi/*.h "$work/tree/include/uapi/drm/"
tar -xJf $source -C "$work" --strip-components=1 --wildcards '*/scripts/checkpatch.pl' \
	'*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch'
checkpatch()
{
	cd "$work/tree" || return
	perl "$work/scripts/checkpatch.pl" --no-tree --strict --terse --no-summary --show-types \
		--ignore FILE_PATH_CHANGES --file "$1" 2>/dev/null
}
for file in $(cd "$work/tree" && find . -name '*.[ch]' | sort); do
	tap_silent "checkpatch --strict ${file#./}" checkpatch "${file#./}"
done

make_module()
{
	local status

	rm -rf "$work/module" && mkdir "$work/module" &&
		cp -r "$top"/{Kbuild,Kconfig,driver,uapi} "$work/module/" || return
	make -s -C "$kdir" M="$work/module" "$@" modules >"$work/log" 2>&1
	status=$?
	grep -v 'Skipping BTF generation' "$work/log"
	return $status
}
tap_silent "gcc W=1" make_module W=1
tap_silent "sparse with endian checks" make_module C=2 CF="-D__CHECK_ENDIAN__"

for file in "$top"/uapi/*.h "$top"/driver/*.[ch]; do
	tap_silent "kernel-doc ${file#"$top"/}" "$kernel_doc" -none -Wall "$file"
done
tap_done
