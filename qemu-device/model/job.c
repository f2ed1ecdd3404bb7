// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The life of a packet between begin and end: scrub, run, statistics.  Memory
 * is accessed when the horizon has reached the cycle of the access.  Runs
 * without the host's lock and touches nothing but the core's own job, port
 * and state.
 */
#include <string.h>

#include "device.h"

#define BUDGET_NS_MAX	5000000u	/* what the seam promises */
#define SCRUB_PER_NS	4			/* bytes cleared, about */

static bool foreign_residue(const struct job_state *job)
{
	return job->residue_ctx != CNNACC_NO_CONTEXT &&
	       (job->residue_ctx != job->packet.ctx_id ||
		job->residue_root != job->packet.root);
}

static void scrub(struct cm_core *core, uint32_t budget_ns)
{
	size_t chunk = (size_t)(budget_ns ? budget_ns : 1) * SCRUB_PER_NS;
	struct job_state *job = &core->job;
	size_t left = core->state_size - job->scrub_pos;

	if (!foreign_residue(job)) {
		job->phase = JOB_START;
		return;
	}
	if (!job->scrub_pos && core->ops->zero_little(core->core)) {
		job->scrub_cycles = core->ops->scrub_cycles(core->core);
		job->phase = JOB_START;
		return;
	}
	if (left > chunk)
		left = chunk;
	memset((char *)core->state + job->scrub_pos, 0, left);
	core->ops->forget(core->core);
	job->scrub_pos += left;
	if (job->scrub_pos < core->state_size)
		return;
	core->ops->zeroed(core->core);
	job->scrub_cycles = core->ops->scrub_cycles(core->core);
	job->phase = JOB_START;
}

static void start(struct cm_core *core)
{
	struct job_state *job = &core->job;
	struct core_job start = {
		.cycle_limit = job->packet.cycle_limit,
		.program_va = job->packet.program_va,
		.program_len = job->packet.program_len,
		.event_wait = job->packet.flags & CNNACC_PACKET_EVENT_WAIT,
	};

	job->residue_ctx = job->packet.ctx_id;
	job->residue_root = job->packet.root;
	core->ops->start(core->core, &start);
	job->phase = JOB_RUN;
}

static void finish(struct cm_core *core)
{
	struct job_state *job = &core->job;

	job->stats.cycles += job->scrub_cycles;
	job->stats.cycles_serial += job->scrub_cycles;
	job->stats.scrub_cycles = job->scrub_cycles;
	job->stats.jobs = 1;
	job->phase = JOB_STATS;
}

static void run(struct cm_core *core, uint32_t budget_ns)
{
	struct job_state *job = &core->job;
	struct cm_port *port = &core->port;
	uint64_t scrub = job->scrub_cycles;

	port->horizon = core->horizon > scrub ? core->horizon - scrub : 0;
	port->wait = 0;
	switch (core->ops->step(core->core, port, budget_ns, &job->result)) {
	case CORE_EVENT:
		core->event = true;
		job->event_cycle = port->event + scrub;
		return;
	case CORE_RUNNING:
		core->wait = port->wait ? port->wait + scrub : 0;
		return;
	default:
		break;
	}
	core->ops->stats(core->core, &job->stats);
	finish(core);
}

static void stop(struct cm_core *core)
{
	struct job_state *job = &core->job;

	job->result = (struct core_fault){
		.status_class = CNNACC_STATUS_ABORTED,
		.code = CNNACC_CODE_ABORT,
	};
	if (job->phase == JOB_RUN) {
		core->ops->stats(core->core, &job->stats);
		job->result.pc = core->ops->stop(core->core);
	}
	finish(core);
}

static int write_stats(struct cm_core *core, struct core_fault *fault)
{
	const struct job_state *job = &core->job;
	struct cnnacc_stats stats = job->stats;

	return cm_port_lines(&core->port, job->packet.stats_va, &stats,
			      sizeof(stats) / CNNACC_LINE_SIZE, CNNACC_ACCESS_WRITE, fault);
}

static void stats(struct cm_core *core)
{
	struct job_state *job = &core->job;
	struct core_fault fault = { .pc = job->result.pc };

	if (core->horizon < job->stats.cycles) {
		core->wait = job->stats.cycles;
		return;
	}
	job->phase = JOB_DONE;
	if (!(job->packet.flags & CNNACC_PACKET_STATS) || !write_stats(core, &fault) ||
	    job->result.status_class != CNNACC_STATUS_OK)
		return;
	fault.code = CNNACC_CODE_STATS;
	fault.va = job->packet.stats_va;
	job->result = fault;
}

void cm_job_run(struct cm_core *core, uint32_t budget_ns)
{
	struct job_state *job = &core->job;

	if (budget_ns > BUDGET_NS_MAX)
		budget_ns = BUDGET_NS_MAX;
	job->progress++;
	cm_port_select(&core->port, job->packet.ctx_id, job->packet.root);
	if (job->abort && job->phase < JOB_STATS)
		stop(core);
	if (job->phase == JOB_SCRUB)
		scrub(core, budget_ns);
	if (job->phase == JOB_START)
		start(core);
	if (job->phase == JOB_RUN)
		run(core, budget_ns);
	if (job->phase == JOB_STATS)
		stats(core);
}
