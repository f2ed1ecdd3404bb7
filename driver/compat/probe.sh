#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints -D flags for the interfaces that the kernel headers in directory $1 have.  The headers are
# searched, as 6.12.y changed scheduler interfaces between stable releases, so that a version test
# would be wrong.  The compiler is not run, since the kernel's flags may be for another compiler.

hdr=$1/include

has()
{
	grep -qE "$1" "$hdr/$2" 2>/dev/null
}

flag()
{
	has "$1" "$2" && printf ' -D%s' "$3"
}

# Check the probe itself: one pattern must be found and one must not.
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
flag 'MODULE_INFO\(import_ns, ns\)' linux/module.h HAVE_NAMESPACE_STRING
flag '^void dma_fence_enable_signaling\(' linux/dma-fence.h HAVE_FENCE_ENABLE_SIGNALING
flag 'WQ_PERCPU[[:space:]]*=' linux/workqueue.h HAVE_WQ_PERCPU
exit 0
