#!/bin/bash
# SPDX-License-Identifier: MIT
# A float network and a quantised one: device against CPU, VM against sim byte for byte.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../network/lib.sh"

device=cores=$(floor_cores)
cp "$top/demo/text.png" "$work/"
guest="cd /mnt"
while read -r name core floor answer; do
	tap_run "$name: made" network "$name"
	device_against_cpu "$name" "$core" "$floor" "$answer"
	guest="$guest; cnnrun $(file_of "$name") --input 0=text.png --core $core"
	guest="$guest $(output_options "$name" "$name.$core.vm.npy") >$name.$core.vm"
done < <(floors quick)

tap_run "networks run in the VM" "$top/tests/vm/run" --device "$device" --share "$work" \
	-- sh -c "$guest"
while read -r name core floor answer; do
	tap_run "$name: $core in the VM against sim" \
		same_outputs "$work/$name.$core.vm.npy" "$work/$name.$core.sim.npy"
done < <(floors quick)
tap_done
