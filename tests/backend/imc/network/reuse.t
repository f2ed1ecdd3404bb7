#!/bin/bash
# SPDX-License-Identifier: MIT
# The tables of Documentation/contributor/imc-reuse.rst are what core imc's golden model counts, and
# its sentences about the published formulas hold in every layer.
. "$(dirname "$0")/../../../lib/tap.sh"

reuse()
{
	"$top/tests/golden/imc/reuse-table" --check "$top/Documentation/contributor/imc-reuse.rst" "$1"
}

tap_run "ResNet-50: reads, stores and FIFO entries" reuse resnet50
tap_run "VGG-19: reads, stores and FIFO entries" reuse vgg19
tap_done
