#!/bin/bash
# SPDX-License-Identifier: MIT
# scripts/make-series: the driver as patches for a kernel tree, and what a kernel reviewer runs over
# patches.  tests/debug/full/series.t builds them.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/known.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make_series()
{
	"$top/scripts/make-series" --tree "$work/tree" "$work/out" >"$work/list"
}

# git lists new files at the end of the cover letter, with paths as long as they are.
# There is no Signed-off-by line before somebody sends the series; MAINTAINERS comes in the last.
checkpatch()
{
	[[ $1 != *cover* ]] || sed -i '/^ create mode /d' "$1"
	cd "$work/tree" && perl scripts/checkpatch.pl --no-tree --strict --terse --no-summary \
		--show-types --no-signoff --ignore FILE_PATH_CHANGES "$1"
}

# A copy of what a series is made of.
copy()
{
	rm -rf "$work/copy" && mkdir "$work/copy" && cd "$top" &&
		cp -r Kbuild Kconfig driver uapi scripts Documentation "$work/copy/"
}

# refused TEXT: the copy's series is refused with a message that has TEXT.
refused()
{
	! "$work/copy/scripts/make-series" --tree "$work/tree" "$work/refused" 2>"$work/err" &&
		grep -F "$1" "$work/err"
}

unplaced_file()
{
	copy && cp driver/cnnacc_gem.c "$work/copy/driver/cnnacc_new.c" &&
		refused 'no patch of scripts/series has drivers/accel/cnnacc/cnnacc_new.c'
}

unresolved_probe()
{
	copy && printf '#ifdef HAVE_ACCEL\n#endif\n' >>"$work/copy/driver/cnnacc_gem.c" &&
		refused 'not for a kernel: #ifdef HAVE_ACCEL'
}

lost_file()
{
	copy && rm "$work/copy/driver/cnnacc_gem.c" &&
		refused 'there is no drivers/accel/cnnacc/cnnacc_gem.c'
}

full_directory()
{
	! "$top/scripts/make-series" --tree "$work/tree" "$work/out" 2>"$work/err" &&
		grep -F 'is not empty' "$work/err"
}

# Nothing of ours is left, and nobody maintains it yet.
nothing_of_ours()
{
	! grep -hE '^\+.*(cnnacc_compat|CNNACC_COMPAT|HAVE_)|^\+M:|^Signed-off-by' "$work"/out/*.patch
}

check()
{
	local patch

	mkdir "$work/tree"
	tar -xJf /usr/src/linux-source-6.12.tar.xz -C "$work/tree" --strip-components=1 \
		--wildcards --no-wildcards-match-slash '*/MAINTAINERS' '*/drivers/accel/[KM]*' \
		'*/Documentation/accel/index.rst' \
		'*/Documentation/devicetree/bindings/vendor-prefixes.yaml' '*/include/drm/*.h' '*/include/linux/*.h' \
		'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch'
	tap_run "a series is made" make_series
	for patch in "$work"/out/*.patch; do
		tap_silent "checkpatch --strict $(basename "$patch")" checkpatch "$patch"
	done
	tap_run "there are patches" test $tap_n -gt 8
	tap_run "nothing of ours, and no person, is in them" nothing_of_ours
	tap_run "a file in no patch is noticed" unplaced_file
	tap_run "a file that a patch lacks is noticed" lost_file
	tap_run "a probe outside of compat/ is noticed" unresolved_probe
	tap_run "a directory with files is refused" full_directory
	tap_done
}

known lint-series check "$(dpkg-query -W linux-source-6.12 unifdef)" \
	"$(cd "$top" && find scripts/make-series scripts/series Documentation -type f -print0 | sort -z |
		xargs -0 sha256sum)"
