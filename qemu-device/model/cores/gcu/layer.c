// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* A layer block, in the order of the section "Sequence" of the core's page. */
#include <string.h>

#include "gcu.h"
#include "gcu_mutant.h"

#define PHASE_NS	30	/* estimated time of a phase without its transfers */
/* Cycles by which the array may run ahead of device time. */
#define RUN_AHEAD_CYCLES	100000u

static enum gcu_outcome go_to(struct gcu *g, uint32_t phase)
{
	g->s->phase = phase;
	return GCU_GO_ON;
}

/* Request rows, then go on with @after. */
static enum gcu_outcome walk_to(struct gcu *g, uint32_t after)
{
	g->s->after = after;
	return go_to(g, GCU_WALK);
}

/* Begin kernel group s->i. */
static enum gcu_outcome begin_group(struct gcu *g)
{
	struct gcu_state *s = g->s;

	gcu_group(g, &g->layer, s->i, &g->group);
	s->resident = 0;
	s->resident_first = g->group.first;
	s->swap_valid = 0;
	memset(s->swap, 0, sizeof(s->swap));
	s->swap_next = 0;
	s->h = s->cg = s->r = 0;
	s->need_h = s->need_cg = s->need_r = 0;
	s->packet_done = 0;
	return go_to(g, GCU_KERNELS);
}

void gcu_begin_layer(struct gcu *g)
{
	struct gcu_state *s = g->s;
	uint64_t begin = s->time + GCU_SETUP;

	memset(s->row_valid, 0, sizeof(s->row_valid));
	memset(&s->block, 0, sizeof(s->block));
	s->kernel_group = s->out_row = s->channel_group = 0;
	s->fifo_write = s->fifo_oldest = 0;
	s->op4 = s->trigger = s->entry = 0;
	s->t = s->f = s->w = s->p = s->o = begin;
	for (unsigned int i = 0; i < GCU_BANKS_MAX; i++)
		s->bank_free[i] = begin;
	s->block.n.cycles_serial = GCU_SETUP;
	s->i = s->rows_begun = 0;
	s->weight_va = g->layer.b.weight_va;
	s->layer_ran = 1;
	s->last_columns = g->layer.columns;
	s->last_size = g->layer.esz;
	if (g->layer.ofmw < g->layer.op1_cycles)
		s->narrow = 1;
	s->pos = 0;
	gcu_index_rebuild(g);
	begin_group(g);
	if (g->layer.act >= CNNACC_GCU_ACT_SIGMOID)
		go_to(g, GCU_LUT);
}

static enum gcu_outcome load_lut(struct gcu *g, struct gcu_run *run)
{
	struct gcu_part part = {
		.va = g->layer.b.lut_va, .columns = 1, .bytes = 2 * CNNACC_GCU_LUT_ENTRIES,
	};
	uint64_t lines = gcu_lines(&part), end = gcu_end(g, g->s->w, lines);

	if (cm_port_must_wait(run->port, end))
		return GCU_WAIT;
	if (gcu_move(run, &part, g->lut, CNNACC_ACCESS_READ))
		return gcu_refused(run);
	g->s->w = end;
	gcu_count_read(g, lines, part.bytes);
	return go_to(g, GCU_KERNELS);
}

static enum gcu_outcome load_linear(struct gcu *g, struct gcu_run *run)
{
	enum gcu_outcome outcome = g->layer.linear ? gcu_load_linear(g, run) : GCU_ENDED;

	return outcome == GCU_ENDED ? go_to(g, GCU_WEIGHTS) : outcome;
}

static enum gcu_outcome fill_kernels(struct gcu *g, struct gcu_run *run)
{
	enum gcu_outcome outcome = gcu_load_weights(g, run);

	if (outcome != GCU_ENDED)
		return outcome;
	return g->layer.table ? go_to(g, GCU_FIRST_ENTRY) : walk_to(g, GCU_ROW);
}

static enum gcu_outcome first_entry(struct gcu *g, struct gcu_run *run)
{
	enum gcu_outcome outcome = gcu_load_next(g, run);

	return outcome == GCU_ENDED ? walk_to(g, GCU_ROW) : outcome;
}

static uint64_t *bank_free(struct gcu *g)
{
	return &g->s->bank_free[g->s->rows_begun % g->rbuf_banks];
}

static enum gcu_outcome begin_row(struct gcu *g)
{
	struct gcu_state *s = g->s;

	gcu_wait(g, &s->block.stall_rbuf, *bank_free(g));
	s->pos = 0;
	if (g->layer.psum)
		return go_to(g, GCU_PSUM);
	memset(g->acc, 0, (size_t)g->group.kn * g->acc_pitch * sizeof(*g->acc));
	gcu_products_reset(g, true);
	return go_to(g, GCU_OP4);
}

static enum gcu_outcome read_psum(struct gcu *g, struct gcu_run *run)
{
	struct gcu_state *s = g->s;
	uint64_t lines = gcu_psum_lines(g);
	uint64_t end = gcu_later(s->p, *bank_free(g)) + g->line_cycles * lines;
	int done;

	if (cm_port_must_wait(run->port, end))
		return GCU_WAIT;
	done = gcu_read_psum(g, run);
	if (done <= 0)
		return done ? gcu_refused(run) : GCU_GO_ON;
	s->p = end;
	gcu_count_read(g, lines, (uint64_t)g->layer.ofmw * g->group.kn * 4);
	gcu_wait(g, &s->block.stall_psum, end + GCU_LATENCY);
	gcu_products_reset(g, false);
	return go_to(g, GCU_OP4);
}

static enum gcu_outcome begin_op4(struct gcu *g)
{
	struct gcu_state *s = g->s;
	uint64_t ready;

	s->kernel_group = s->i;
	s->out_row = s->h;
	s->channel_group = g->group.first + s->cg;
	gcu_resident_next(g, s->cg);
	gcu_kernel_slot(g, s->cg, &ready);
	gcu_wait(g, &s->block.stall_weight, ready);
	s->r = 0;
	return go_to(g, GCU_OP3);
}

static enum gcu_outcome deadlock(struct gcu *g, struct gcu_run *run)
{
	const struct gcu_state *s = g->s;
	uint64_t need = ((uint64_t)s->need_h * g->group.count + s->need_cg) * g->layer.r +
			s->need_r;
	uint64_t own = ((uint64_t)s->h * g->group.count + s->cg) * g->layer.r + s->r;

	return gcu_fail(run, CNNACC_STATUS_DEADLOCK, CNNACC_GCU_E_DEADLOCK,
			need > own ? CNNACC_GCU_DEADLOCK_EVICTED : CNNACC_GCU_DEADLOCK_FULL);
}

/* The array's op3, of input row @y; its products are computed later. */
static enum gcu_outcome add_op3(struct gcu *g, uint32_t y, struct gcu_run *run)
{
	struct gcu_state *s = g->s;
	uint32_t slot = gcu_find_row(g, g->group.first + s->cg, y);
	struct gcu_op op;
	uint64_t ready;

	if (slot == GCU_NONE)
		return deadlock(g, run);
	op = (struct gcu_op){
		.row_slot = (uint16_t)slot,
		.kernel_slot = (uint16_t)gcu_kernel_slot(g, s->cg, &ready),
		.r = (uint16_t)s->r,
	};
	if (!gcu_products_add(g, &op, run))
		return GCU_GO_ON;
	gcu_wait(g, &s->block.stall_row, s->row_ready[slot]);
	gcu_count_op3(g, false);
	return GCU_ENDED;
}

/* Kernel rows up to the end of the op4, or with FIFO up to one that has used a row. */
static enum gcu_outcome run_op3(struct gcu *g, struct gcu_run *run)
{
	struct gcu_state *s = g->s;

	for (; s->r < g->layer.r; s->r++) {
		int32_t y = gcu_input_row(&g->layer, s->h, s->r);
		enum gcu_outcome outcome;

		if (y < 0) {
			gcu_count_op3(g, true);
			continue;
		}
		outcome = add_op3(g, (uint32_t)y, run);
		if (outcome != GCU_ENDED)
			return outcome;
		if (g->layer.table)
			continue;
		s->r++;
		gcu_evict_fifo(g);
		return walk_to(g, GCU_OP3);
	}
	return go_to(g, s->cg < g->group.resident ? GCU_REPLACE : GCU_SWAP);
}

static enum gcu_outcome swap(struct gcu *g, struct gcu_run *run)
{
	enum gcu_outcome outcome = gcu_release_swap(g, run);

	return outcome == GCU_ENDED ? go_to(g, GCU_REPLACE) : outcome;
}

static enum gcu_outcome replace(struct gcu *g, struct gcu_run *run)
{
	struct gcu_state *s = g->s;
	enum gcu_outcome outcome;

	if (g->layer.table) {
		if (s->op4 + (MUTANT(TRIGGER) ? 1 : 0) == s->trigger) {
			gcu_evict_vector(g);
			outcome = gcu_load_next(g, run);
			if (outcome != GCU_ENDED)
				return outcome;
		}
		s->op4++;
	}
	s->packet_done++;
	s->pos = 0;
	return walk_to(g, s->cg + 1 < g->group.count ? GCU_CHECK : GCU_OUTPUT);
}

static enum gcu_outcome write_row(struct gcu *g, struct gcu_run *run)
{
	const struct gcu_layer *l = &g->layer;
	struct gcu_state *s = g->s;
	uint64_t lines = gcu_ofmap_lines(g), drain = g->line_cycles * lines, end;
	int done;

	if (!gcu_products_finish(g, run))
		return GCU_GO_ON;
	end = gcu_later(s->o, s->t + l->latency) + gcu_later(l->ofmw, drain);
	if (cm_port_must_wait(run->port, end))
		return GCU_WAIT;
	done = gcu_write_ofmap(g, run);
	if (done <= 0)
		return done ? gcu_refused(run) : GCU_GO_ON;
	s->o = end;
	*bank_free(g) = end;
	s->rows_begun++;
	gcu_count_write(g, lines, (uint64_t)l->ofmw * g->group.kn * l->osz);
	s->block.n.local_read_bytes += (uint64_t)l->ofmw * g->group.kn * (l->acc16 ? 2 : 4);
	return go_to(g, GCU_CHECK);
}

/* An op6 is over. */
static enum gcu_outcome end_group(struct gcu *g)
{
	const struct gcu_layer *l = &g->layer;
	struct gcu_state *s = g->s;

	if (!l->table)
		gcu_evict_all(g);
	else if (l->group_n == 1)
		s->op4 = 0;
	s->h = 0;
	if (s->i + 1 == l->kernel_groups)
		return go_to(g, GCU_END);
	s->weight_va += (uint64_t)g->group.count * l->r * l->s * g->group.kn * g->atomic_c * l->esz;
	s->i++;
	return begin_group(g);
}

static enum gcu_outcome check_limit(struct gcu *g, struct gcu_run *run)
{
	struct gcu_state *s = g->s;
	uint64_t now = gcu_later(s->t, s->o);

	if (now > s->cycle_limit)
		return gcu_time_limit(g, now, run);
	if (++s->cg < g->group.count)
		return go_to(g, GCU_OP4);
	s->cg = 0;
	if (++s->h < g->layer.ofmh)
		return go_to(g, GCU_ROW);
	return end_group(g);
}

static enum gcu_outcome end_layer(struct gcu *g, struct gcu_run *run)
{
	g->s->block.n.cycles_serial += g->layer.latency + g->layer.tail;
	return gcu_complete(g, g->s->o + g->layer.tail, run);
}

static bool too_early(const struct gcu *g, struct gcu_run *run)
{
	uint64_t t = g->s->t;

	return t > RUN_AHEAD_CYCLES && cm_port_must_wait(run->port, t - RUN_AHEAD_CYCLES);
}

static enum gcu_outcome run_phase(struct gcu *g, struct gcu_run *run)
{
	switch (g->s->phase) {
	case GCU_LUT:
		return load_lut(g, run);
	case GCU_KERNELS:
		return load_linear(g, run);
	case GCU_WEIGHTS:
		return fill_kernels(g, run);
	case GCU_FIRST_ENTRY:
		return first_entry(g, run);
	case GCU_WALK:
		return gcu_walk(g, run);
	case GCU_ROW:
		return begin_row(g);
	case GCU_PSUM:
		return read_psum(g, run);
	case GCU_OP4:
		return too_early(g, run) ? GCU_WAIT : begin_op4(g);
	case GCU_OP3:
		return run_op3(g, run);
	case GCU_SWAP:
		return swap(g, run);
	case GCU_REPLACE:
		return replace(g, run);
	case GCU_OUTPUT:
		return write_row(g, run);
	case GCU_CHECK:
		return check_limit(g, run);
	}
	return end_layer(g, run);
}

/* A phase makes some progress whatever the budget is. */
enum gcu_outcome gcu_layer_phase(struct gcu *g, struct gcu_run *run)
{
	enum gcu_outcome outcome = run_phase(g, run);

	run->budget -= PHASE_NS;
	return outcome;
}
