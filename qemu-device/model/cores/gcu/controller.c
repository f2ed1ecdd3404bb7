// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Boot a program and run its blocks one after the other. */
#include <string.h>

#include "gcu.h"

#define BOOT_NS		2000
#define BLOCK_NS	20000	/* to check a layer and lay out its columns */

static enum gcu_outcome boot(struct gcu *g, struct gcu_run *run)
{
	struct gcu_state *s = g->s;
	uint64_t lines = gcu_div_up(s->program_len, CNNACC_LINE_SIZE);
	uint64_t cycles = GCU_SETUP + lines;
	uint32_t rest = s->program_len % CNNACC_GCU_BLOCK_SIZE;

	if (cm_port_must_wait(run->port, cycles))
		return GCU_WAIT;
	run->budget -= BOOT_NS;
	if (cm_port_lines(run->port, s->program_va, g->program, lines, CNNACC_ACCESS_EXEC,
			  run->fault)) {
		run->fault->code = CNNACC_CODE_FETCH;
		return GCU_FAILED;
	}
	s->block.n.cycles_serial = cycles;
	s->block.n.dma_cycles = cycles;
	s->block.n.mem_read_bytes = lines * CNNACC_LINE_SIZE;
	s->block.n.local_write_bytes = lines * CNNACC_LINE_SIZE;
	if (cycles > s->cycle_limit)
		return gcu_time_limit(g, cycles, run);
	gcu_count_block(g);
	s->time = cycles;
	if (rest)
		return gcu_fail(run, CNNACC_STATUS_BAD_PROGRAM, CNNACC_GCU_E_LENGTH, rest);
	s->phase = GCU_BLOCK;
	return GCU_GO_ON;
}

static void lay_out(struct gcu *g)
{
	gcu_lay_out_columns(&g->layer, &g->columns);
	g->row_taps = gcu_row_taps(&g->layer, &g->columns);
	g->acc_pitch = (g->layer.ofmw + GCU_STEP_COLUMNS - 1) / GCU_STEP_COLUMNS * GCU_STEP_COLUMNS;
	gcu_operands_drop(g);
}

/* Check a block; return enum cnnacc_gcu_field of the first bad field, or 0. */
static uint32_t check_block(struct gcu *g)
{
	struct cnnacc_gcu_probe probe;
	struct cnnacc_gcu_wait wait;

	switch (gcu_block_kind(g, g->s->pc)) {
	case CNNACC_GCU_LAYER:
		return gcu_decode_layer(g, g->s->pc, &g->layer);
	case CNNACC_GCU_PROBE:
	case CNNACC_GCU_FILL:
		return gcu_check_probe(g, g->s->pc, &probe);
	case CNNACC_GCU_WAIT:
		return gcu_check_wait(g, g->s->pc, &wait);
	}
	return CNNACC_GCU_BAD_KIND;
}

static enum gcu_outcome begin_block(struct gcu *g, struct gcu_run *run)
{
	uint32_t kind = gcu_block_kind(g, g->s->pc), bad = check_block(g);

	if (bad)
		return gcu_fail(run, CNNACC_STATUS_CONFIG, CNNACC_GCU_E_CFG, bad);
	g->s->pos = 0;
	if (kind == CNNACC_GCU_WAIT) {
		g->s->phase = GCU_PAUSE;
		return GCU_GO_ON;
	}
	run->budget -= BLOCK_NS;
	g->filled = true;
	if (kind != CNNACC_GCU_LAYER) {
		g->s->phase = GCU_PROBE;
		return GCU_GO_ON;
	}
	lay_out(g);
	gcu_begin_layer(g);
	return GCU_GO_ON;
}

bool gcu_prepare(struct gcu *g)
{
	const struct gcu_state *s = g->s;

	if (s->pc >= g->program_size / CNNACC_GCU_BLOCK_SIZE ||
	    gcu_block_kind(g, s->pc) != CNNACC_GCU_LAYER ||
	    gcu_decode_layer(g, s->pc, &g->layer) || s->i >= g->layer.kernel_groups)
		return false;
	gcu_group(g, &g->layer, s->i, &g->group);
	lay_out(g);
	gcu_index_rebuild(g);
	return true;
}

static enum gcu_outcome advance(struct gcu *g, struct gcu_run *run)
{
	switch (g->s->phase) {
	case GCU_BOOT:
		return boot(g, run);
	case GCU_BLOCK:
		return begin_block(g, run);
	case GCU_PROBE:
		return gcu_probe(g, run);
	case GCU_PAUSE:
		return gcu_pause(g, run);
	}
	return gcu_layer_phase(g, run);
}

enum cm_core_step gcu_step(void *core, struct cm_port *port, uint32_t budget_ns,
			   struct cm_core_fault *fault)
{
	struct gcu *g = core;
	struct gcu_run run = { port, budget_ns ? budget_ns : 1, fault };
	enum gcu_outcome outcome = GCU_GO_ON;

	memset(fault, 0, sizeof(*fault));
	while (outcome == GCU_GO_ON && run.budget > 0)
		outcome = advance(g, &run);
	cm_port_unmap(port);
	if (outcome == GCU_GO_ON || outcome == GCU_WAIT) {
		gcu_products_save(g, &run);
		return CM_CORE_RUNNING;
	}
	g->s->phase = GCU_IDLE;
	/* A block that fails counts nothing. */
	memset(&g->s->block, 0, sizeof(g->s->block));
	gcu_products_drop(g);
	/* Successful translations leave their address in the fault. */
	if (outcome == GCU_ENDED)
		memset(fault, 0, sizeof(*fault));
	fault->pc = g->s->pc;
	return outcome == GCU_ENDED ? CM_CORE_DONE : CM_CORE_FAULT;
}
