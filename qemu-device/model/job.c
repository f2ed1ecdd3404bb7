// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Process a packet between cm_device_begin() and cm_device_end(): scrub, run, write statistics.
 * Memory is accessed only once cycle_now has reached the cycle of the access.  This code runs
 * without the host's lock, so it accesses only the core's own job, port and state.
 */
#include <string.h>

#include "device.h"

#define BUDGET_NS_MAX	5000000u	/* limit in the contract of cm_device_run() */
#define SCRUB_PER_NS	4		/* bytes cleared, estimated */

static bool foreign_residue(const struct cm_job_state *job)
{
	return job->residue_ctx != CNNACC_NO_CONTEXT &&
	       (job->residue_ctx != job->packet.ctx_id ||
		job->residue_root != job->packet.root);
}

static void scrub(struct cm_core *core, uint32_t budget_ns)
{
	size_t chunk = (size_t)(budget_ns ? budget_ns : 1) * SCRUB_PER_NS;
	struct cm_job_state *job = &core->job;
	size_t left = core->state_size - job->scrub_pos;

	if (!foreign_residue(job)) {
		job->phase = CM_JOB_START;
		return;
	}
	if (!job->scrub_pos && core->ops->try_fast_zero(core->core)) {
		job->scrub_cycles = core->ops->scrub_cycles(core->core);
		job->phase = CM_JOB_START;
		return;
	}
	if (left > chunk)
		left = chunk;
	memset((char *)core->state + job->scrub_pos, 0, left);
	core->ops->drop_derived(core->core);
	job->scrub_pos += left;
	if (job->scrub_pos < core->state_size)
		return;
	core->ops->on_zeroed(core->core);
	job->scrub_cycles = core->ops->scrub_cycles(core->core);
	job->phase = CM_JOB_START;
}

static void start(struct cm_core *core)
{
	struct cm_job_state *job = &core->job;
	struct cm_core_job start = {
		.cycle_limit = job->packet.cycle_limit,
		.program_va = job->packet.program_va,
		.program_len = job->packet.program_len,
		.event_wait = job->packet.flags & CNNACC_PACKET_EVENT_WAIT,
	};

	job->residue_ctx = job->packet.ctx_id;
	job->residue_root = job->packet.root;
	core->ops->start(core->core, &start);
	job->phase = CM_JOB_RUN;
}

static void finish(struct cm_core *core)
{
	struct cm_job_state *job = &core->job;

	job->stats.cycles += job->scrub_cycles;
	job->stats.cycles_serial += job->scrub_cycles;
	job->stats.scrub_cycles = job->scrub_cycles;
	job->stats.jobs = 1;
	job->phase = CM_JOB_STATS;
}

static void run(struct cm_core *core, uint32_t budget_ns)
{
	struct cm_job_state *job = &core->job;
	struct cm_port *port = &core->port;
	uint64_t scrub = job->scrub_cycles;

	port->cycle_now = core->cycle_now > scrub ? core->cycle_now - scrub : 0;
	port->wait_cycle = 0;
	switch (core->ops->step(core->core, port, budget_ns, &job->result)) {
	case CM_CORE_EVENT:
		core->event = true;
		job->event_cycle = port->event_cycle + scrub;
		return;
	case CM_CORE_RUNNING:
		core->wait_cycle = port->wait_cycle ? port->wait_cycle + scrub : 0;
		return;
	default:
		break;
	}
	core->ops->stats(core->core, &job->stats);
	finish(core);
}

static void stop(struct cm_core *core)
{
	struct cm_job_state *job = &core->job;

	job->result = (struct cm_core_fault){
		.status_class = CNNACC_STATUS_ABORTED,
		.code = CNNACC_CODE_ABORT,
	};
	if (job->phase == CM_JOB_RUN) {
		core->ops->stats(core->core, &job->stats);
		job->result.pc = core->ops->stop(core->core);
	}
	finish(core);
}

static int write_stats(struct cm_core *core, struct cm_core_fault *fault)
{
	const struct cm_job_state *job = &core->job;
	struct cnnacc_stats stats = job->stats;

	return cm_port_lines(&core->port, job->packet.stats_va, &stats,
			     sizeof(stats) / CNNACC_LINE_SIZE, CNNACC_ACCESS_WRITE, fault);
}

static void stats(struct cm_core *core)
{
	struct cm_job_state *job = &core->job;
	struct cm_core_fault fault = { .pc = job->result.pc };

	if (core->cycle_now < job->stats.cycles) {
		core->wait_cycle = job->stats.cycles;
		return;
	}
	job->phase = CM_JOB_DONE;
	if (!(job->packet.flags & CNNACC_PACKET_STATS) || !write_stats(core, &fault) ||
	    job->result.status_class != CNNACC_STATUS_OK)
		return;
	fault.code = CNNACC_CODE_STATS;
	fault.va = job->packet.stats_va;
	job->result = fault;
}

void cm_job_run(struct cm_core *core, uint32_t budget_ns)
{
	struct cm_job_state *job = &core->job;

	if (budget_ns > BUDGET_NS_MAX)
		budget_ns = BUDGET_NS_MAX;
	job->progress++;
	cm_port_select(&core->port, job->packet.ctx_id, job->packet.root);
	if (job->abort && job->phase < CM_JOB_STATS)
		stop(core);
	if (job->phase == CM_JOB_SCRUB)
		scrub(core, budget_ns);
	if (job->phase == CM_JOB_START)
		start(core);
	if (job->phase == CM_JOB_RUN)
		run(core, budget_ns);
	if (job->phase == CM_JOB_STATS)
		stats(core);
}
