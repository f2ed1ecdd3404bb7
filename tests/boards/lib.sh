# SPDX-License-Identifier: MIT
#
# Functions of the tests of boards with another processor; sourced.

PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
. "$(dirname "${BASH_SOURCE[0]}")/../lib/tap.sh"
. "$top/tests/network/lib.sh"

# board_build ARCH: what guests of that processor run; little if nothing has changed.
board_build()
{
	env -u MAKEFLAGS -u MFLAGS make -s -C "$top" BUILD="$build" ARCH="$1" tests module
}

# board_buses ARCH: those on which the device works in the distribution's QEMU (tests/vm/run).
board_buses()
{
	echo platform
	[ "$1" = riscv64 ] || echo pci
}

# board ARCH BUS ARG...: tests/vm/run there
board()
{
	local machine=virt-$1 bus=$2

	shift 2
	"$top/tests/vm/run" --machine "$machine" --bus "$bus" "$@"
}

# board_kmd NAME BOARD...: the tests of a guest, which prints TAP; those that fail are shown.
board_kmd()
{
	local name=$1 status

	shift
	board "$@" >"$work/out" 2>&1
	status=$?
	grep -E '^not ok|^#' "$work/out" | sed 's/^/# /'
	[ $status -eq 0 ] || tail -n 30 "$work/out" | sed 's/^/# /'
	[ $status -eq 0 ]
	tap_ok "$name: $(grep -c '^ok ' "$work/out") tests"
}

# core_for NAME: the first core that has to run that network.
core_for()
{
	floors | awk -v name="$1" '$1 == name { print $2; exit }'
}

# The networks of these tests, with the cores of the device that they run on: a float network, a
# quantised one, and one whose branches run on two cores at once.  $BOARD_NETWORKS: those alone.
board_networks()
{
	local float

	float=$(core_for text-direction)
	printf '%s\n' "text-direction $float" "resnet8 $(core_for resnet8)" \
		"inception $float+$float" | grep -E "^(${BOARD_NETWORKS:-.*}) "
}

# board_network NAME: makes its file, and the input of inception, in $work.
board_network()
{
	[ "$1" = inception ] || { network "$1"; return; }
	python3 -c 'import sys
import numpy as np
np.save(sys.argv[1], np.random.default_rng(3).standard_normal((1, 3, 64, 64), np.float32))' \
		"$work/in.npy" &&
		"$top/tests/network/make-branches" inception 64 1 float "$work/inception.onnx"
}

# run_board_network NAME OUT ARG...: the command that runs it.
run_board_network()
{
	local name=$1 out=$2 input="--input 0=text.png"

	shift 2
	[ "$name" != inception ] || input="--input 0=in.npy"
	echo cnnrun "$(file_of "$name")" $(network_options "$name") $input \
		$(output_options "$name" "$out") "$@"
}

# check_board_networks ARCH BUS OPTION...: each on the device, in process in that guest, and here: same
# bytes.  $BOARD_PROPERTIES: more properties of the device.
check_board_networks()
{
	local arch=$1 bus=$2 name cores

	shift 2

	cp "$top/demo/text.png" "$work/"
	while read -r name cores; do
		tap_run "$name is made" board_network "$name"
		(cd "$work" && PATH=$build/runtime/tools:$PATH &&
			$(run_board_network "$name" "$name.here.npy" --device "sim:cores=$cores")) \
			>"$work/$name.log" 2>&1
		{
			echo cd /mnt
			run_board_network "$name" "$name.device.npy"
			echo 'read up rest </proc/uptime; echo "power-on to answer: $up s"'
			run_board_network "$name" "$name.sim.npy" --device "sim:cores=$cores"
		} >"$work/guest"
		tap_run "$arch, $bus: $name runs" board "$arch" "$bus" "$@" --share "$work" \
			--device "cores=$cores${BOARD_PROPERTIES:+,}$BOARD_PROPERTIES" -- sh -e /mnt/guest
		echo "$tap_out" | sed -n 's/^power-on/# power-on/p'
		tap_run "$arch, $bus: $name: device against amd64" same_outputs \
			"$work/$name.device.npy" "$work/$name.here.npy"
		tap_run "$arch, $bus: $name: in process against amd64" same_outputs \
			"$work/$name.sim.npy" "$work/$name.here.npy"
	done < <(board_networks)
}
