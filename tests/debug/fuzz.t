#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Random ioctls with the debug kernel: as many as fit into half a minute, or COUNT sequences from
# SEED on, a guest for each CHUNK of them.  What KMEMLEAK does at each allocation takes a third of
# the time, so that only each fourth guest, from the first on, looks for leaks.
. "$(dirname "$0")/lib.sh"

# fuzz OPTION...: one guest
fuzz()
{
	debug_guest --memory 1024 --module-param watchdog_ms=300 --timeout 14400 -- kmd_fuzz "$@"
}

debug_kernel debug CONFIG_CNNACC_KUNIT_TEST=y GCOV_PROFILE=y
if debug_full; then
	count=${COUNT:-10000} chunk=${CHUNK:-100000}
	seed=$((${SEED:-$(date +%s) << 24})) guest=0
	while [ "$count" -gt 0 ]; do
		[ "$chunk" -le "$count" ] || chunk=$count
		kmemleak=
		[ $((guest++ % 4)) -ne 0 ] || kmemleak=" kmemleak=on"
		CNNACC_APPEND=kasan_multi_shot$kmemleak fuzz --seed $seed --count "$chunk"
		seed=$((seed + chunk)) count=$((count - chunk))
	done
else
	fuzz --count 10000 --seconds 30
fi
debug_done
