#!/bin/bash
# SPDX-License-Identifier: MIT
# The contract headers compile alone, in C and C++, in 32 and 64 bit, with one layout.
. "$(dirname "$0")/../lib/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
drm=$(pkg-config --variable=includedir libdrm)/libdrm
asm=/usr/include/$(gcc -print-multiarch)

compile()
{
	compiler=$1 header=$2
	shift 2
	printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
		$compiler "$@" -Wall -Wextra -Werror -isystem "$drm" -I"$top/uapi" \
			-c -o "$work/out.o" -
}

for header in $(cd "$top/uapi" && ls *.h); do
	tap_run "$header: gcc C99" compile gcc $header -x c -std=c99 -pedantic
	tap_run "$header: clang C11" compile clang $header -x c -std=c11 -pedantic
	tap_run "$header: gcc C++11" compile g++ $header -x c++ -std=c++11 -pedantic
	tap_run "$header: 32 bit" compile gcc $header -x c -std=c11 -m32 -isystem "$asm"
	tap_run "$header: no holes" compile gcc $header -x c -m32 -isystem "$asm" -Wpadded
done

# Sizes and offsets, as the compiler's debug information has them.
layout()
{
	(cd "$top/uapi" && printf '#include "%s"\n' *.h) >"$work/l.c"
	grep -ho '^struct [a-z_]* {' "$top"/uapi/*.h | grep -vE 'struct cnnacc_(reg|param|code|detail|window)_info' |
		sed 's/^\(struct \([a-z_]*\)\) {/\1 x_\2;/' >>"$work/l.c"
	gcc "$@" -g -isystem "$drm" -I"$top/uapi" -c -o "$work/l.o" "$work/l.c"
	pahole --hex "$work/l.o" | grep -v cacheline | grep -E 'struct|/\*'
}

same_layout()
{
	layout -m64 >"$work/64" && layout -m32 -isystem "$asm" >"$work/32" &&
		[ -s "$work/64" ] && diff "$work/64" "$work/32"
}
# What an application includes says itself what every name in it means.
undefined()
{
	local name

	cd "$top/uapi" || return
	grep -hoE '\bCNNACC_[A-Z0-9_]+\b|\b(struct|enum) (drm_)?cnnacc_[a-z0-9_]+\b' \
		cnnacc_accel.h cnnacc_status.h | grep -v '_H$' | sort -u | while read -r name; do
		grep -qP "^(#define )?${name%_}(_[A-Z0-9_]+)*[ \\t(]|^\\t${name%_}[A-Z_]* = " \
			cnnacc_accel.h cnnacc_status.h || echo "$name"
	done
}
tap_silent "cnnacc_accel.h refers to nothing outside of it and cnnacc_status.h" undefined

tap_run "layout is the same in 32 and 64 bit" same_layout

tap_done
