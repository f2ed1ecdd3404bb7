#!/bin/bash
# SPDX-License-Identifier: MIT
#
# All kernels' headers that can be had.
export CNNACC_HEADERS=all
exec "$(dirname "$0")/../../kmd/header-matrix.t"
