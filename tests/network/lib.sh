# SPDX-License-Identifier: MIT
#
# Networks for the tests in this directory; sourced after tap.sh.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cnnrun=$build/runtime/tools/cnnrun
cnnquant=$build/runtime/tools/cnnquant

# file_of NAME: the network's file in $work.
file_of()
{
	case $1 in
	resnet8 | ds-cnn | mobile-u8 | shifted | segments-*) echo "$1.tflite" ;;
	*) echo "$1.onnx" ;;
	esac
}

# network NAME: makes its file, or explains on stderr why it cannot.
network()
{
	case $(file_of "$1") in
	text-direction.onnx)
		cp "$("$top/scripts/fetch-models")/ch_ppocr_mobile_v2.0_cls_infer.onnx" \
			"$work/$1.onnx" 2>/dev/null ;;
	digits-*)
		digits && "$cnnquant" "$top/tests/network/digits.onnx" -o "$work/$1.onnx" \
			--format "${1#digits-}" --samples "$work/learn.npy" ;;
	inception.onnx)
		"$top/tests/network/make-branches" inception 64 1 float "$work/$1.onnx" ;;
	*.tflite)
		"$top/tests/conformance/tflite_networks.py" "$1" "$work/$1.tflite" ;;
	*)
		"$top/demo/make-model" "$1" "$work/$1.onnx" ;;
	esac
}

# digits: makes learn.npy, test.npy and test-labels.npy in $work once, or fails.
digits()
{
	[ -e "$work/test-labels.npy" ] ||
		{ folder=$("$top/scripts/fetch-digits") &&
			"$top/tests/network/digits.py" "$folder" "$work"; }
}

# Options of cnnrun that fit a network's pictures, and all of them.
picture_options()
{
	[ "$1" != text-direction ] || echo --fit pad --bgr --mean 0.5 --std 0.5
}

network_options()
{
	[ "$1" != text-direction ] || echo --shape 0=1,3,48,192 "$(picture_options "$1")"
}

# output_options NAME OUT.npy: the answer there, and what else the network gives beside it.
output_options()
{
	echo --output "0=$2" $([ "$(file_of "$1")" = "$1.onnx" ] ||
		echo --output "1=${2%.npy}.map.npy")
}

# same_outputs GOT.npy WANTED.npy
same_outputs()
{
	cmp "$1" "$2" || return
	[ ! -e "${2%.npy}.map.npy" ] || cmp "${1%.npy}.map.npy" "${2%.npy}.map.npy"
}

# run_network NAME PICTURE OUT ARG...: on this machine; prints what cnnrun prints.
run_network()
{
	name=$1 picture=$2 out=$3
	shift 3
	"$cnnrun" "$work/$(file_of "$name")" $(network_options "$name") --input "0=$picture" \
		$(output_options "$name" "$out") "$@"
}

# share_on_core CORE FILE: whole per cent of the MACs, as cnnrun printed them for several cores.
share_on_core()
{
	sed -n "s/^MACs on device: [0-9]* of \([0-9]*\) .*($1) \([0-9]*\).*/\2 \1/p" "$2" |
		awk '{ print int(100 * $1 / $2) }'
}

# close GOT WANTED: within bounds, as the CPU operators add in another order than the core.
close()
{
	python3 - "$1" "$2" <<'END'
import struct
import sys


def floats(path):
    data = open(path, 'rb').read()
    start = 10 + struct.unpack('<H', data[8:10])[0]
    return struct.unpack(f'<{(len(data) - start) // 4}f', data[start:])


got, want = floats(sys.argv[1]), floats(sys.argv[2])
bad = [(g, w) for g, w in zip(got, want) if not abs(g - w) <= 1e-5 + 1e-3 * abs(w)]
print(len(got), 'values; beyond the bound:', bad[:4])
sys.exit(len(got) != len(want) or not got or bool(bad))
END
}

# floors [WORD]: of each network that a core has to run, NAME, CORE, FLOOR and ANSWER; those alone
# that are marked with WORD.  They are in the cores' files tests/backend/CORE/floors.txt.  FLOOR: the
# least share of its multiply-accumulates that must run on the core, in per cent; ANSWER: close to
# the CPU's, or the same bytes; marks: tiny, it runs on small memories, too; quick, in check-quick.
floors()
{
	awk -v word="$1" '
		/^#/ || !NF { next }
		{ marks = " "; for (i = 4; i <= NF; i++) marks = marks $i " " }
		word == "" || index(marks, " " word " ") {
			n = split(FILENAME, part, "/")
			print $1, part[n - 1], $2, $3
		}' "$top"/tests/backend/*/floors.txt
}

# floor_cores: the cores that have networks to run, as cores= takes them.
floor_cores()
{
	floors | awk '!seen[$2]++ { print $2 }' | paste -sd +
}

# agrees ANSWER GOT WANTED: the core's answer is close to the CPU's, or the same bytes.
agrees()
{
	if [ "$1" = close ]; then close "$2" "$3"; else same_outputs "$2" "$3"; fi
}

# floor_holds FILE CORE FLOOR: what cnnrun printed has at least that share on the core.
floor_holds()
{
	share=$(share_on_core "$2" "$1")
	echo "$share % of the MACs on $2, floor $3 %"
	[ -n "$share" ] && [ "$share" -ge "$3" ]
}

# device_against_cpu NAME CORE FLOOR ANSWER: the network on that core of $device in process, its answer
# and what cnnrun printed left in $work/NAME.CORE.sim.npy and NAME.CORE.sim, against its operators on
# the CPU.
device_against_cpu()
{
	run_network "$1" "$work/text.png" "$work/$1.$2.sim.npy" --device "sim:$device" --core "$2" \
		>"$work/$1.$2.sim"
	run_network "$1" "$work/text.png" "$work/$1.cpu.npy" --device sim --core cpu >"$work/$1.cpu"
	tap_run "$1: $2 against CPU" agrees "$4" "$work/$1.$2.sim.npy" "$work/$1.cpu.npy"
	tap_run "$1: share on $2" floor_holds "$work/$1.$2.sim" "$2" "$3"
}
