// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Step mode: a plane clock by clock, with the signals and the FIFO of every CSU. */
#include "imc.h"
#include "imc_mutant.h"

#define VALID	CNNACC_IMC_SIG_VALID
#define SEL	CNNACC_IMC_SIG_SEL
#define RD_EN	CNNACC_IMC_SIG_RD_EN
#define WR_EN	CNNACC_IMC_SIG_WR_EN
#define STROBE	CNNACC_IMC_SIG_STROBE
#define SIGNALS	(VALID | SEL | RD_EN | WR_EN | STROBE)
#define CLOCK_NS	50	/* estimated host time of a clock, without its products */
#define PRODUCTS_PER_NS	3

/** struct clock - what all CSUs do in a clock with valid = 1. */
struct clock {
	struct imc *h;
	const struct imc_plane *plane;
	struct imc_position at;
	uint32_t signals;		/* CNNACC_IMC_SIG_* */
	uint32_t channels;		/* components of this pass */
	uint32_t kernels;		/* output channels of this group */
	uint32_t first, last;		/* active kernel rows */
	uint32_t newest;		/* slot of the FIFOs that wr_en fills */
};

/** struct unit - a CSU's work in a clock. */
struct unit {
	uint32_t number;		/* q */
	uint32_t kernel, kernel_row;	/* k and its row */
	uint32_t p, head, sum;
};

/* The control logic unit, while valid = 1. */
static uint32_t control(uint32_t n, uint32_t w)
{
	if (n == 1)
		return VALID | STROBE;
	if (w == 1)
		return VALID | WR_EN;
	return w < n ? VALID | SEL | RD_EN | WR_EN : VALID | RD_EN | STROBE;
}

static uint32_t phase(const struct imc_plane *p, const struct imc_position *at)
{
	if (at->element == p->w && at->weight == imc_lowest_weight(p, p->w))
		return CNNACC_IMC_PHASE_END;
	return at->element < p->n ? CNNACC_IMC_PHASE_START : CNNACC_IMC_PHASE_LOOP;
}

static bool starts_element(const struct imc_plane *p, const struct imc_position *at)
{
	return at->weight == imc_highest_weight(p, at->element);
}

/* L of the element that follows that of @at; 0 after the plane's last one. */
static uint32_t following_load(const struct imc_plane *p, struct imc_position at)
{
	at.weight = imc_lowest_weight(p, at.element);
	return imc_next(p, &at) ? imc_load(p, at.pass) : 0;
}

static struct clock begin_clock(struct imc *h, const struct imc_plane *p)
{
	const struct imc_state *s = h->s;
	struct clock c = {
		.h = h, .plane = p, .at = s->at, .signals = control(p->n, s->at.weight),
		.channels = imc_channels(p, s->at.pass), .kernels = imc_kernels(p, s->at.group),
		.first = s->at.kernel_row, .last = s->at.kernel_row,
	};

	if (p->full) {
		c.first = s->at.row >= p->ho ? s->at.row - p->ho + 1 : 0;
		c.last = imc_least(s->at.row, p->n - 1);
	}
	c.newest = (s->oldest + s->level) % CNNACC_IMC_N_MAX;
	return c;
}

static uint32_t product(const struct clock *c, const struct unit *u)
{
	const struct imc_plane *p = c->plane;
	uint64_t row = p->full ? c->at.row : c->at.row + u->kernel_row;
	uint64_t column = c->at.element - 1, tap = c->at.weight - 1;
	uint64_t channel = (uint64_t)c->at.pass * p->cin_max;
	uint64_t weight = (((uint64_t)u->kernel * p->n + u->kernel_row) * p->n + tap) * p->cin;

	return imc_alu(p->format,
		       p->in + row * p->in_row + column * p->in_column + channel * p->esz,
		       p->weight + (weight + channel) * p->esz, c->channels);
}

/* The column adder adds a row result to its cell. */
static void add_to_cell(const struct clock *c, const struct unit *u)
{
	const struct imc_plane *p = c->plane;
	bool first = !u->kernel_row && !c->at.pass && !p->accumulate;
	uint64_t row = p->full ? c->at.row - u->kernel_row : c->at.row;
	uint64_t column = c->at.element - c->at.weight;
	uint8_t *at = p->result + row * p->result_row + column * p->result_column +
		      4 * (uint64_t)u->kernel;
	uint32_t cell;

	memcpy(&cell, at, sizeof(cell));
	cell = first ? u->sum : imc_add(p->format, cell, u->sum);
	memcpy(at, &cell, sizeof(cell));
}

/* A CSU's ALU, adder 1, selector and FIFO. */
static void run_unit(const struct clock *c, struct unit *u)
{
	struct imc_state *s = c->h->s;

	u->p = product(c, u);
	u->head = c->signals & RD_EN ? s->fifo[s->oldest][u->number] : 0;
	u->sum = c->signals & RD_EN ? imc_add(c->plane->format, u->head, u->p) : u->p;
	if (c->signals & WR_EN)
		s->fifo[c->newest][u->number] = c->signals & SEL ? u->sum : u->p;
	if (c->signals & STROBE)
		add_to_cell(c, u);
}

/* Registers of the lowest active CSU. */
static void record(const struct clock *c, const struct unit *u)
{
	struct imc_last *last = &c->h->s->last;

	last->group = c->at.group;
	last->pass = c->at.pass;
	last->row = c->plane->full ? c->at.row : c->at.row + c->at.kernel_row;
	last->csu = u->number;
	last->kernel_row = u->kernel_row;
	last->element = c->at.element;
	last->weight = c->at.weight;
	last->p = u->p;
	last->head = u->head;
	if (c->signals & STROBE)
		last->out = u->sum;
}

static void run_units(const struct clock *c)
{
	const struct imc_plane *p = c->plane;
	uint32_t first = c->at.group * p->group;

	for (uint32_t k = 0; k < c->kernels; k++)
		for (uint32_t row = c->first; row <= c->last; row++) {
			struct unit u = {
				.number = p->full ? k * p->n + row : k,
				.kernel = first + k, .kernel_row = row,
			};

			run_unit(c, &u);
			if (!k && row == c->first)
				record(c, &u);
		}
}

/* All FIFOs at once: the pop is before the push. */
static void move_fifos(const struct clock *c)
{
	struct imc_state *s = c->h->s;

	if (c->signals & RD_EN) {
		s->oldest = (s->oldest + 1) % CNNACC_IMC_N_MAX;
		s->level--;
	}
	if (c->signals & WR_EN)
		s->level++;
	s->peak = imc_most(s->peak, s->level);
	for (uint32_t m = 0; m < CNNACC_IMC_N_MAX; m++)
		s->last.fifo[m] = m >= s->level ? 0 :
			s->fifo[(s->oldest + m) % CNNACC_IMC_N_MAX][s->last.csu];
}

static void count_element(const struct clock *c)
{
	struct imc_state *s = c->h->s;

	s->n.row_reads += c->at.element == 1;
	s->n.element_reads++;
	s->seq.n.local_read_bytes += (uint64_t)c->channels * c->plane->esz;
}

static void count_outputs(const struct clock *c, uint32_t active)
{
	const struct imc_plane *p = c->plane;
	bool complete = c->at.pass == p->passes - 1 && c->last == p->n - 1;
	bool first = !c->at.pass && !c->first && !p->accumulate;
	struct imc_state *s = c->h->s;

	s->n.outputs += active;
	s->n.partial_stores += active - (complete ? c->kernels : 0);
	s->seq.n.local_read_bytes += 4 * (uint64_t)(active - (first ? c->kernels : 0));
	s->seq.n.local_write_bytes += 4 * (uint64_t)active;
}

static void count(const struct clock *c)
{
	uint32_t active = c->kernels * (c->last - c->first + 1);
	struct imc_state *s = c->h->s;

	s->n.weight_reads += active;
	s->n.pushes += c->signals & WR_EN ? active : 0;
	s->n.pops += c->signals & RD_EN ? active : 0;
	if (c->signals & STROBE)
		count_outputs(c, active);
	s->seq.n.compute_cycles++;
	s->seq.n.mac_slots += (uint64_t)c->plane->cin_max * c->h->build.csus;
	s->seq.n.mac_useful += (uint64_t)active * c->channels;
	s->seq.n.local_read_bytes += (uint64_t)active * c->channels * c->plane->esz;
}

/* A clock with valid = 1; false if it was the plane's last. */
static bool run_clock(struct imc *h, const struct imc_plane *p, int64_t *budget)
{
	struct clock c = begin_clock(h, p);
	struct imc_state *s = h->s;

	if (starts_element(p, &s->at)) {
		s->left = following_load(p, s->at);
		count_element(&c);
	}
	run_units(&c);
	move_fifos(&c);
	count(&c);
	*budget -= (int64_t)c.kernels * (c.last - c.first + 1) * c.channels / PRODUCTS_PER_NS;
	s->last.sig = c.signals | phase(p, &c.at) << CNNACC_IMC_SIG_PHASE_SHIFT |
		      s->level << CNNACC_IMC_SIG_LEVEL_SHIFT |
		      (s->last.sig >> CNNACC_IMC_SIG_CLOCK_SHIFT << CNNACC_IMC_SIG_CLOCK_SHIFT);
	return imc_next(p, &s->at);
}

static void stall(struct imc_state *s)
{
	s->last.sig &= ~SIGNALS;
	s->seq.n.stall_cycles++;
}

/* Any clock in step mode; false if it was the plane's last. */
static bool tick(struct imc *h, const struct imc_plane *p, int64_t *budget)
{
	struct imc_state *s = h->s;
	bool loading = starts_element(p, &s->at) && s->left, more = true;

	s->last.sig += 1u << CNNACC_IMC_SIG_CLOCK_SHIFT;
	if (s->external && !loading)
		more = run_clock(h, p, budget);
	else
		stall(s);
	if (s->left && (s->external || !MUTANT(LOAD)))
		s->left--;
	cm_seq_spend(&h->seq, 1);
	*budget -= CLOCK_NS;
	return more;
}

bool imc_step(struct imc *h, int64_t *budget)
{
	struct imc_state *s = h->s;
	struct imc_plane p;

	imc_plane(h, &p);
	while (s->clocks) {
		if (*budget <= 0)
			return false;
		s->clocks--;
		if (tick(h, &p, budget))
			continue;
		s->state = CNNACC_IMC_IDLE;
		s->clocks = 0;
	}
	return true;
}
