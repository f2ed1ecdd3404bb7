#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver loads in a guest and runs a job.
exec "$(dirname "$0")/../vm/run" --device cores=ccp+hwpe -- kmd_all kmd_smoke
