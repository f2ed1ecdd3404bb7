// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>

#include "cnnacc_job.h"

/**
 * DOC: gate
 *
 * A job has a single dependency for the scheduler: its gate, a fence that is signalled
 * when everything the job waits for is.  Two things the scheduler does not do
 * make it worthwhile: a gate can be opened early, so a context's queue drains
 * at once when the context or the device goes away; and it remembers the fences, so
 * that a job can see whether what it waited for had failed.
 */

static const char *cnnacc_gate_driver_name(struct dma_fence *fence)
{
	return "cnnacc";
}

static const char *cnnacc_gate_timeline_name(struct dma_fence *fence)
{
	return "gate";
}

static void cnnacc_gate_release(struct dma_fence *fence)
{
	struct cnnacc_gate *gate = container_of(fence, struct cnnacc_gate, base);
	unsigned int i;

	for (i = 0; i < gate->count; i++)
		dma_fence_put(gate->deps[i].fence);
	dma_fence_free(fence);
}

static const struct dma_fence_ops cnnacc_gate_ops = {
	.get_driver_name = cnnacc_gate_driver_name,
	.get_timeline_name = cnnacc_gate_timeline_name,
	.release = cnnacc_gate_release,
};

/**
 * cnnacc_gate_create() - Make a gate
 * @max: most dependencies
 *
 * Return: the gate or NULL
 */
struct cnnacc_gate *cnnacc_gate_create(unsigned int max)
{
	struct cnnacc_gate *gate;

	gate = kzalloc(struct_size(gate, deps, max), GFP_KERNEL_ACCOUNT);
	if (!gate)
		return NULL;
	gate->max = max;
	spin_lock_init(&gate->lock);
	atomic_set(&gate->pending, 1);
	dma_fence_init(&gate->base, &cnnacc_gate_ops, &gate->lock,
		       dma_fence_context_alloc(1), 1);
	return gate;
}

/**
 * cnnacc_gate_add() - Add a dependency to a gate that is not armed
 * @gate: gate
 * @fence: fence; the reference passes to the gate
 * @fatal: whether an error of the fence cancels the job
 */
void cnnacc_gate_add(struct cnnacc_gate *gate, struct dma_fence *fence, bool fatal)
{
	struct cnnacc_dep *dep;

	if (WARN_ON(gate->count == gate->max)) {
		dma_fence_put(fence);
		return;
	}
	dep = &gate->deps[gate->count++];
	dep->gate = gate;
	dep->fence = fence;
	dep->fatal = fatal;
	INIT_LIST_HEAD(&dep->cb.node);
}

static void cnnacc_gate_drop(struct cnnacc_gate *gate)
{
	if (atomic_dec_and_test(&gate->pending))
		dma_fence_signal(&gate->base);
}

static void cnnacc_gate_cb(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct cnnacc_dep *dep = container_of(cb, struct cnnacc_dep, cb);
	struct cnnacc_gate *gate = dep->gate;

	cnnacc_gate_drop(gate);
	dma_fence_put(&gate->base);
}

/**
 * cnnacc_gate_arm() - Start to wait for the dependencies
 * @gate: gate
 */
void cnnacc_gate_arm(struct cnnacc_gate *gate)
{
	unsigned int i;

	for (i = 0; i < gate->count; i++) {
		atomic_inc(&gate->pending);
		dma_fence_get(&gate->base);
		if (dma_fence_add_callback(gate->deps[i].fence, &gate->deps[i].cb,
					   cnnacc_gate_cb)) {
			dma_fence_put(&gate->base);
			cnnacc_gate_drop(gate);
		}
	}
	cnnacc_gate_drop(gate);
}

/**
 * cnnacc_gate_open() - Signal an armed gate whatever its dependencies do
 * @gate: gate
 */
void cnnacc_gate_open(struct cnnacc_gate *gate)
{
	unsigned int i;

	for (i = 0; i < gate->count; i++)
		if (dma_fence_remove_callback(gate->deps[i].fence, &gate->deps[i].cb))
			dma_fence_put(&gate->base);
	dma_fence_signal(&gate->base);
}

/**
 * cnnacc_gate_failed() - Did a dependency fail whose failure cancels the job?
 * @gate: open gate
 *
 * Return: true if so
 */
bool cnnacc_gate_failed(struct cnnacc_gate *gate)
{
	struct dma_fence *fence;
	unsigned int i;

	for (i = 0; i < gate->count; i++) {
		if (!gate->deps[i].fatal)
			continue;
		fence = dma_fence_chain_contained(gate->deps[i].fence);
		if (dma_fence_get_status(fence) < 0)
			return true;
	}
	return false;
}
