// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>

#include "cnnacc_job.h"

/**
 * DOC: dependencies
 *
 * The scheduler sees a single dependency of a job: a struct cnnacc_deps, a fence that is signalled
 * when all fences that the job waits for are.  It offers two things that the scheduler does not.
 * It can be signalled early, so that a context's queue drains at once when the context or the
 * device is destroyed.  And it keeps the fences, so that a job is canceled if one of them failed.
 */

static const char *cnnacc_deps_driver_name(struct dma_fence *fence)
{
	return "cnnacc";
}

static const char *cnnacc_deps_timeline_name(struct dma_fence *fence)
{
	return "deps";
}

static void cnnacc_deps_release(struct dma_fence *fence)
{
	struct cnnacc_deps *deps = container_of(fence, struct cnnacc_deps, base);
	unsigned int i;

	for (i = 0; i < deps->count; i++)
		dma_fence_put(deps->entries[i].fence);
	dma_fence_free(fence);
}

static const struct dma_fence_ops cnnacc_deps_ops = {
	.get_driver_name = cnnacc_deps_driver_name,
	.get_timeline_name = cnnacc_deps_timeline_name,
	.release = cnnacc_deps_release,
};

/**
 * cnnacc_deps_create() - Allocate the dependencies of a job
 * @max: maximum number of dependencies
 *
 * Return: the dependencies, to be released by dma_fence_put(), or NULL
 */
struct cnnacc_deps *cnnacc_deps_create(unsigned int max)
{
	struct cnnacc_deps *deps;

	deps = kzalloc(struct_size(deps, entries, max), GFP_KERNEL_ACCOUNT);
	if (!deps)
		return NULL;
	deps->max = max;
	spin_lock_init(&deps->lock);
	atomic_set(&deps->pending, 1);
	dma_fence_init(&deps->base, &cnnacc_deps_ops, &deps->lock,
		       dma_fence_context_alloc(1), 1);
	return deps;
}

/**
 * cnnacc_deps_add() - Add a fence to wait for
 * @deps: dependencies, not yet armed
 * @fence: fence; consumes the caller's reference
 * @fatal: an error of the fence cancels the job
 */
void cnnacc_deps_add(struct cnnacc_deps *deps, struct dma_fence *fence, bool fatal)
{
	struct cnnacc_dep *dep;

	if (WARN_ON(deps->count == deps->max)) {
		dma_fence_put(fence);
		return;
	}
	dep = &deps->entries[deps->count++];
	dep->deps = deps;
	dep->fence = fence;
	dep->fatal = fatal;
	INIT_LIST_HEAD(&dep->cb.node);
}

static void cnnacc_deps_dec_pending(struct cnnacc_deps *deps)
{
	if (atomic_dec_and_test(&deps->pending))
		dma_fence_signal(&deps->base);
}

static void cnnacc_deps_cb(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct cnnacc_dep *dep = container_of(cb, struct cnnacc_dep, cb);
	struct cnnacc_deps *deps = dep->deps;

	cnnacc_deps_dec_pending(deps);
	dma_fence_put(&deps->base);
}

/**
 * cnnacc_deps_arm() - Start to wait for the fences
 * @deps: dependencies, complete
 */
void cnnacc_deps_arm(struct cnnacc_deps *deps)
{
	unsigned int i;

	for (i = 0; i < deps->count; i++) {
		atomic_inc(&deps->pending);
		dma_fence_get(&deps->base);
		if (dma_fence_add_callback(deps->entries[i].fence, &deps->entries[i].cb,
					   cnnacc_deps_cb)) {
			dma_fence_put(&deps->base);
			cnnacc_deps_dec_pending(deps);
		}
	}
	cnnacc_deps_dec_pending(deps);
}

/**
 * cnnacc_deps_force_signal() - Signal dependencies whose fences are still pending
 * @deps: dependencies, armed
 */
void cnnacc_deps_force_signal(struct cnnacc_deps *deps)
{
	unsigned int i;

	for (i = 0; i < deps->count; i++)
		if (dma_fence_remove_callback(deps->entries[i].fence, &deps->entries[i].cb))
			dma_fence_put(&deps->base);
	dma_fence_signal(&deps->base);
}

/**
 * cnnacc_deps_failed() - Check whether a failed fence cancels the job
 * @deps: dependencies, signalled
 *
 * Return: true if a fence that was added as fatal has an error
 */
bool cnnacc_deps_failed(struct cnnacc_deps *deps)
{
	struct dma_fence *fence;
	unsigned int i;

	for (i = 0; i < deps->count; i++) {
		if (!deps->entries[i].fatal)
			continue;
		fence = dma_fence_chain_contained(deps->entries[i].fence);
		if (dma_fence_get_status(fence) < 0)
			return true;
	}
	return false;
}
