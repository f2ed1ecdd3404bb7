#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Turns of contexts if DRM's scheduler takes jobs round robin; kmd.t has its default, the oldest.
exec "$(dirname "$0")/../vm/run" --append gpu_sched.sched_policy=0 -- sh -c \
	'grep -qx 0 /sys/module/gpu_sched/parameters/sched_policy && exec kmd_fair'
