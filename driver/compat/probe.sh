#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints -D flags for what the kernel headers in directory $1 offer.  6.12.y changed
# scheduler interfaces between stable releases, so a version says nothing.  The
# compiler is not run: its flags may fit another compiler than the one at hand.

hdr=$1/include

has()
{
	grep -qE "$1" "$hdr/$2" 2>/dev/null
}

flag()
{
	has "$1" "$2" && printf ' -D%s' "$3"
}

# Canaries: a probe that always finds or never finds is no probe.
if ! has '^int drm_dev_register\(' drm/drm_drv.h ||
   has 'cnnacc_never_in_a_kernel' drm/drm_drv.h; then
	echo "cnnacc: no DRM headers in $hdr" >&2
	printf ' -DCNNACC_NO_HEADERS'
	exit 1
fi

flag '^struct drm_sched_init_args' drm/gpu_scheduler.h HAVE_SCHED_INIT_ARGS
flag 'u32 num_rqs;' drm/gpu_scheduler.h HAVE_SCHED_NUM_RQS
flag 'u64 drm_client_id\)' drm/gpu_scheduler.h HAVE_SCHED_JOB_CLIENT_ID
flag 'DRM_GPU_SCHED_STAT_NO_HANG' drm/gpu_scheduler.h HAVE_SCHED_STAT_NO_HANG
flag 'DRM_GEM_OBJECT_ACTIVE[[:space:]]*=' drm/drm_gem.h HAVE_GEM_OBJECT_ACTIVE
flag 'WQ_PERCPU[[:space:]]*=' linux/workqueue.h HAVE_WQ_PERCPU
exit 0
