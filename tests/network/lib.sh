# SPDX-License-Identifier: MIT
#
# Networks for the tests in this directory; sourced after tap.sh.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cnnrun=$build/runtime/tools/cnnrun

# network NAME: makes $work/NAME.onnx, or explains on stderr why it cannot.
network()
{
	if [ "$1" = text-direction ]; then
		cp "$("$top/scripts/fetch-models")/ch_ppocr_mobile_v2.0_cls_infer.onnx" \
			"$work/$1.onnx" 2>/dev/null
	else
		"$top/demo/make-model" "$1" "$work/$1.onnx"
	fi
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

# run_network NAME PICTURE OUT ARG...: on this machine; prints what cnnrun prints.
run_network()
{
	name=$1 picture=$2 out=$3
	shift 3
	"$cnnrun" "$work/$name.onnx" $(network_options "$name") --input "0=$picture" \
		--output "0=$out" "$@"
}

# share_on_device FILE: whole per cent of the MACs, as cnnrun printed them.
share_on_device()
{
	sed -n 's/^MACs on device: \([0-9]*\) of \([0-9]*\) .*/\1 \2/p' "$1" |
		awk '{ print int(100 * $1 / $2) }'
}
