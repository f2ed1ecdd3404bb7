#!/bin/bash
# SPDX-License-Identifier: MIT
# The rules of tree.t report a planted violation, and nothing in a tree without one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/rules.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
git init -q

# write FILE LICENCE [LINE...]
write()
{
	local file=$1 licence=$2

	shift 2
	mkdir -p "$(dirname "$file")"
	printf '%s\n' "/* SPDX-License-Identifier: $licence */" "$@" >"$file"
}

# function_of LINES: a C function whose body has so many lines.
function_of()
{
	echo "void f(void)"
	echo "{"
	seq "$(($1 - 1))" | sed 's/.*/\tg(&);/'
	echo "}"
}

good_tree()
{
	git rm -rfq --ignore-unmatch . >/dev/null
	write driver/a.c GPL-2.0-only '#include "a.h"' '#include "tests/cnnacc_a_test.c"' "$(function_of 60)"
	write driver/a.h GPL-2.0-only 'puts("a");'
	write uapi/cnnacc_hw.h '((GPL-2.0-only WITH Linux-syscall-note) OR MIT)'
	write qemu-device/model/a.c 'GPL-2.0-or-later OR MIT' '#include "cnnacc_hw.h"' 'int run;'
	write qemu-device/model/cnnacc_model.h 'GPL-2.0-or-later OR MIT'
	write qemu-device/model/device.h 'GPL-2.0-or-later OR MIT'
	write qemu-device/qemu/a.c GPL-2.0-or-later
	write runtime/device/sim.c MIT '#include "cnnacc_model.h"'
	write runtime/a.c MIT
	write uapi/cnnacc_one.h '((GPL-2.0-only WITH Linux-syscall-note) OR MIT)'
	write uapi/cnnacc_two.h '((GPL-2.0-only WITH Linux-syscall-note) OR MIT)'
	write tests/lib/lib.h MIT
	write tests/golden/a.h MIT
	write tests/golden/a.c MIT '#include "a.h"' '#include "cnnacc_model.h"' '#include "cnnacc_hw.h"'
	write tests/golden/one/one.h MIT
	write tests/golden/one/a.c MIT 'int run;' '#include "one.h"' '#include "../a.h"' \
		'#include "cnnacc_one.h"' '#include "cnnacc_hw.h"'
	write tests/golden/one/sub/a.c MIT '#include "../one.h"'
	write tests/golden/two/two.h MIT
	git add .
}

# planted RULE FILE LICENCE [LINE...]: the rule names the file when it is tracked.
planted()
{
	local rule=$1 file=$2 what=${4:-$3} out

	shift
	good_tree
	write "$@"
	git add .
	out=$("rule_$rule" 2>&1)
	[[ $(wc -l <<<"$out") -eq 1 && $out == "$file:"* ]]
	what=${what%%$'\n'*}
	tap_ok "$rule: reported in $file: ${what//#/}"
	[ $tap_status -eq 0 ] || sed 's/^/# /' <<<"$out"
}

good_tree
for rule in spdx licences function_length columns includes marks; do
	tap_silent "$rule: a good tree" "rule_$rule"
done

printf 'int a;\n\n\n// SPDX-License-Identifier: MIT\n' >b.c
tap_silent "spdx: an untracked file is nobody's business" rule_spdx
git add b.c
[ "$(rule_spdx)" = "b.c: no SPDX line" ]
tap_ok "spdx: reported when it is tracked"
rm b.c
tap_silent "spdx: a deleted file" rule_spdx

planted licences driver/b.c MIT
planted licences driver/b.h 'GPL-2.0-or-later OR MIT'
planted licences uapi/b.h MIT
planted licences qemu-device/model/b.c GPL-2.0-or-later
planted licences qemu-device/qemu/b.h MIT
planted licences runtime/b.c GPL-2.0-only
planted licences examples/b.c GPL-2.0-only
planted licences tests/b.c GPL-2.0-only
planted function_length runtime/b.c MIT "$(function_of 61)"
planted function_length runtime/b.h MIT "$(function_of 61 | sed '1{s/$/ {/;n;d}')"
planted columns qemu-device/model/b.c 'GPL-2.0-or-later OR MIT' "$(printf '\t%093d' 0)"
planted columns uapi/b.h MIT "$(printf '%0101d' 0)"
planted includes driver/b.c GPL-2.0-only '#include "../runtime/a.h"'
planted includes driver/b.c GPL-2.0-only '#include "../qemu-device/model/device.h"'
planted includes driver/b.c GPL-2.0-only '#include "../tests/a.h"'
planted includes qemu-device/model/b.c 'GPL-2.0-or-later OR MIT' '#include "../../runtime/a.h"'
planted includes runtime/b.c MIT '#include "../driver/a.h"'
planted includes runtime/b.c MIT '#include "qemu-device/model/device.h"'
planted includes runtime/b.c MIT '#include "cnnacc_model.h"'
planted includes tests/golden/b.c MIT '#include "device.h"'
planted includes tests/golden/b.c MIT '#include "../../qemu-device/model/device.h"'
planted includes tests/golden/b.c MIT '#include "lib.h"'
planted includes tests/golden/b.c MIT '#include "one/one.h"'
planted includes tests/golden/b.c MIT '#include "cnnacc_one.h"'
planted includes tests/golden/one/b.c MIT '#include "lib.h"'
planted includes tests/golden/one/b.c MIT '#include "../../lib/lib.h"'
planted includes tests/golden/one/b.c MIT '#include "../two/two.h"'
planted includes tests/golden/one/b.c MIT '#include "two.h"'
planted includes tests/golden/one/b.c MIT '#include "cnnacc_two.h"'
planted includes tests/golden/one/b.c MIT '#include "cnnacc_model.h"'
planted marks runtime/b.c MIT '/* TODO: all of it */'
planted marks driver/b.h GPL-2.0-only '/* FIXME */'
planted marks scripts/b.sh MIT '# XXX'
tap_done
