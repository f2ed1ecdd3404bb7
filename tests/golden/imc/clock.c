// SPDX-License-Identifier: MIT
/* The control logic unit: which product, which signals, which CSUs, in each clock. */
#include "state.h"

#include <string.h>

/* ------------------------------------------------------------ the schedule */

/* Result that a product belongs to, from 1. */
static int64_t result_of(const struct imc_control *c)
{
	return c->j - c->w + 1;
}

static bool is_product(const struct golden_imc *imc)
{
	int64_t o = result_of(&imc->control);

	return o >= 1 && o <= imc->plane.wo;
}

/* The next element, row pass, pass of channels or group. */
static void next_element(struct golden_imc *imc)
{
	const struct imc_plane *p = &imc->plane;
	struct imc_control *c = &imc->control;

	c->first = true;
	c->w = p->n;
	if (++c->j <= p->w)
		return;
	c->j = 1;
	if (++c->pass_row < imc_row_passes(p))
		return;
	c->pass_row = 0;
	if (++c->pass < p->passes)
		return;
	c->pass = 0;
	c->done = ++c->group == p->groups;
}

/* Go on to the next product; pairs that belong to no result take no clock. */
static void next_product(struct golden_imc *imc)
{
	struct imc_control *c = &imc->control;

	c->first = false;
	do {
		if (--c->w < 1)
			next_element(imc);
	} while (!c->done && !is_product(imc));
}

static bool is_last_element(const struct golden_imc *imc)
{
	const struct imc_plane *p = &imc->plane;
	const struct imc_control *c = &imc->control;

	return c->j == p->w && c->pass_row == imc_row_passes(p) - 1 && c->pass == p->passes - 1 &&
	       c->group == p->groups - 1;
}

/* L of the element that follows the current one in the plane. */
static int64_t next_load(const struct golden_imc *imc)
{
	const struct imc_plane *p = &imc->plane;
	const struct imc_control *c = &imc->control;
	bool ends = c->j == p->w && c->pass_row == imc_row_passes(p) - 1;

	if (is_last_element(imc))
		return 0;
	return imc_load_clocks(imc, p, ends ? (c->pass + 1) % p->passes : c->pass);
}

static struct imc_signals signals_of(const struct golden_imc *imc)
{
	int64_t n = imc->plane.n, w = imc->control.w;

	if (n == 1)
		return (struct imc_signals){ .strobe = true };
	if (w == 1)
		return (struct imc_signals){ .wr_en = true };
	if (w < n)
		return (struct imc_signals){ .sel = true, .rd_en = true, .wr_en = true };
	return (struct imc_signals){ .rd_en = true, .strobe = true };
}

static enum cnnacc_imc_phase phase_of(const struct golden_imc *imc)
{
	const struct imc_control *c = &imc->control;

	if (c->j == imc->plane.w && c->w == imc->plane.n)
		return CNNACC_IMC_PHASE_END;
	return c->j < imc->plane.n ? CNNACC_IMC_PHASE_START : CNNACC_IMC_PHASE_LOOP;
}

/* ---------------------------------------------------------------- the CSUs */

/** struct seat - what a CSU does in a clock: output channel and kernel row, result row. */
struct seat {
	int64_t kr[2], row;
	bool active;
};

static struct seat seat_of(const struct golden_imc *imc, int64_t q)
{
	const struct imc_plane *p = &imc->plane;
	const struct imc_control *c = &imc->control;
	int64_t first = c->group * p->group_channels;
	struct seat s;

	if (p->full) {
		s.kr[0] = first + q / p->n;
		s.kr[1] = q % p->n;
		s.row = c->pass_row - s.kr[1];
		s.active = q / p->n < p->group_channels && s.row >= 0 && s.row < p->ho;
	} else {
		s.kr[0] = first + q;
		s.kr[1] = c->pass_row % p->n;
		s.row = c->pass_row / p->n;
		s.active = true;
	}
	s.active = s.active && s.kr[0] < p->cout;
	return s;
}

static void count_csu(struct golden_imc *imc, const struct seat *seat, struct imc_signals s,
		      unsigned int level)
{
	const struct imc_plane *p = &imc->plane;
	int64_t channels = imc_pass_channels(p, imc->control.pass);
	bool complete = seat->kr[1] == p->n - 1 && imc->control.pass == p->passes - 1;
	uint64_t *count = imc->regs.count;

	count[IMC_WEIGHT_READS]++;
	count[IMC_PUSHES] += s.wr_en;
	count[IMC_POPS] += s.rd_en;
	count[IMC_OUTPUTS] += s.strobe;
	count[IMC_PARTIAL_STORES] += s.strobe && !complete;
	imc->seq.stats->mac_useful += channels;
	imc->seq.stats->local_read_bytes += channels * p->esz;
	if (imc->regs.fifo_peak < level)
		imc->regs.fifo_peak = level;
}

/* Registers of the lowest active CSU. */
static void show_csu(struct golden_imc *imc, int64_t q, const struct seat *seat,
		     struct imc_signals s)
{
	const struct imc_csu *csu = &imc->csu[q];
	struct golden_imc_last *last = &imc->regs.last;

	last->csu = q;
	last->kernel_row = seat->kr[1];
	last->p = csu->p;
	last->head = csu->head;
	if (s.strobe)
		last->out = csu->sum;
	memcpy(last->fifo, csu->fifo, sizeof(last->fifo));
	last->sig |= csu->level << CNNACC_IMC_SIG_LEVEL_SHIFT;
}

static void run_csus(struct golden_imc *imc, struct imc_signals s)
{
	bool lowest = true;

	for (int64_t q = 0; q < imc->params.csus; q++) {
		struct seat seat = seat_of(imc, q);

		if (!seat.active)
			continue;
		imc_csu_clock(imc, &imc->csu[q], s, seat.kr);
		if (s.strobe)
			imc_column_add(imc, imc->csu[q].sum, seat.row, seat.kr);
		count_csu(imc, &seat, s, imc->csu[q].level);
		if (lowest)
			show_csu(imc, q, &seat, s);
		lowest = false;
	}
}

/* --------------------------------------------------------------- the clock */

static void show_clock(struct golden_imc *imc, struct imc_signals s)
{
	struct golden_imc_last *last = &imc->regs.last;
	const struct imc_control *c = &imc->control;
	int64_t n = imc->plane.n;

	last->sig = CNNACC_IMC_SIG_VALID | (s.sel ? CNNACC_IMC_SIG_SEL : 0) |
		    (s.rd_en ? CNNACC_IMC_SIG_RD_EN : 0) | (s.wr_en ? CNNACC_IMC_SIG_WR_EN : 0) |
		    (s.strobe ? CNNACC_IMC_SIG_STROBE : 0) |
		    phase_of(imc) << CNNACC_IMC_SIG_PHASE_SHIFT |
		    (uint32_t)(c->clock & 0xffff) << CNNACC_IMC_SIG_CLOCK_SHIFT;
	last->group = c->group;
	last->pass = c->pass;
	last->row = imc->plane.full ? c->pass_row : c->pass_row / n + c->pass_row % n;
	last->element = c->j;
	last->weight = c->w;
}

static void show_stall(struct golden_imc *imc)
{
	uint32_t *sig = &imc->regs.last.sig;

	*sig &= 0xffe0;
	*sig |= (uint32_t)(imc->control.clock & 0xffff) << CNNACC_IMC_SIG_CLOCK_SHIFT;
}

static void count_clock(struct golden_imc *imc)
{
	const struct imc_plane *p = &imc->plane;
	const struct imc_control *c = &imc->control;
	struct cnnacc_stats *stats = imc->seq.stats;
	bool row_begins = c->first && c->j == 1;

	imc->regs.count[IMC_CLOCKS]++;
	stats->compute_cycles++;
	stats->mac_slots += (uint64_t)imc->params.cin_max * imc->params.csus;
	imc->regs.count[IMC_ROW_READS] += row_begins;
	imc->regs.count[IMC_ELEMENT_READS] += c->first;
	if (c->first)
		stats->local_read_bytes += imc_pass_channels(p, c->pass) * p->esz;
}

static void run_product(struct golden_imc *imc)
{
	struct imc_signals s = signals_of(imc);

	count_clock(imc);
	show_clock(imc, s);
	run_csus(imc, s);
	if (imc->control.first)
		imc->control.left = next_load(imc);
}

void imc_begin(struct golden_imc *imc)
{
	memset(imc->csu, 0, sizeof(imc->csu));
	memset(&imc->regs.last, 0, sizeof(imc->regs.last));
	imc->control = (struct imc_control){ .j = 1, .w = imc->plane.n, .first = true };
	while (!is_product(imc))
		imc->control.w--;
}

void imc_clock(struct golden_imc *imc, bool valid)
{
	struct imc_control *c = &imc->control;
	bool waits = c->first && c->left;

	c->clock++;
	if (valid && !waits) {
		run_product(imc);
		next_product(imc);
	} else {
		show_stall(imc);
		imc->regs.count[IMC_STALLS]++;
		imc->seq.stats->stall_cycles++;
		imc->coverage.stalled[!valid]++;
	}
	if (c->left)
		c->left--;
}
