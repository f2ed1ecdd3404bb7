// SPDX-License-Identifier: MIT
#include "ccp.h"

#include <stdlib.h>

#include "fields.h"
#include "../fp32.h"
#include "../min_max.h"

#define WEIGHT_BANK_0	CNNACC_CCP_DATA_BANKS	/* banks: two data, then four weight */
#define BANKS		(CNNACC_CCP_DATA_BANKS + CNNACC_CCP_WEIGHT_BANKS)
#define HALVES		(2 * BANKS)		/* lower and upper half of each bank */
#define LINE		CNNACC_LINE_SIZE

/* Words of the discovery table: the only geometry and limits that this model implements. */
#define GEOMETRY	(CNNACC_CCP_ROWS | CNNACC_CCP_LANES << 8 | CNNACC_CCP_GROUPS << 16)
#define LIMITS		(CNNACC_CCP_KERNEL_MAX | CNNACC_CCP_STRIDE_MAX << 8 | \
			 CNNACC_CCP_PAD_MAX << 16)

/* The conv iteration that a later one with ci_start > 0 may continue. */
struct continuation {
	bool open;
	int64_t ci_next;
	int64_t row_start, col_start, vec_active, co_start, co_cnt;
};

/* Times of the timing model: the controller and the DMA engine run in parallel. */
struct clock {
	uint64_t t;		/* controller */
	uint64_t d;		/* DMA engine free */
	uint64_t w[HALVES];	/* last write to that half ends, whether banks are split or not */
	uint64_t r[HALVES];	/* last read ends */
};

struct golden_ccp {
	struct golden_ccp_params params;
	uint8_t *data[CNNACC_CCP_DATA_BANKS];
	uint8_t *weight;	/* the four banks in a row */
	uint8_t *icache;
	float *lob;		/* [row][lane][channel of the iteration] */
	struct golden_ccp_regs regs;
	struct continuation cont;
	struct clock clock;
	struct golden_ccp_coverage coverage;

	const struct golden_job *job;
	const struct golden_memory *memory;
	struct golden_status *status;
	struct cnnacc_stats *stats;
};

/* Cycles, traffic and accessed halves of an EXEC. */
struct work {
	uint64_t cycles;
	uint64_t mac_slots;
	uint64_t mac_useful;
	uint64_t floats_read;
	uint64_t floats_written;
	bool reads[HALVES];
	bool writes[HALVES];
};

static int64_t ceil_div(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

static int64_t bits(uint32_t word, unsigned int high, unsigned int low)
{
	return (word >> low) & (uint32_t)((1ull << (high - low + 1)) - 1);
}

static int64_t or_default(int64_t value, int64_t if_zero)
{
	return value ? value : if_zero;
}

static int64_t data_floats(const struct golden_ccp *ccp)
{
	return ccp->params.data_bank / 4;
}

static int64_t weight_floats(const struct golden_ccp *ccp)
{
	return ccp->params.weight_bank / 4;
}

static int read_bank_number(const struct golden_ccp *ccp)
{
	return ccp->regs.bank_select;
}

static int write_bank_number(const struct golden_ccp *ccp)
{
	return !ccp->regs.bank_select;
}

static const uint8_t *read_bank(const struct golden_ccp *ccp)
{
	return ccp->data[read_bank_number(ccp)];
}

static uint8_t *write_bank(const struct golden_ccp *ccp)
{
	return ccp->data[write_bank_number(ccp)];
}

static bool fail(struct golden_ccp *ccp, uint16_t class, uint16_t code, uint32_t detail)
{
	ccp->status->status_class = class;
	ccp->status->status_code = code;
	ccp->status->detail = detail;
	ccp->status->pc = ccp->regs.pc;
	return false;
}

static bool fail_access(struct golden_ccp *ccp, uint16_t code, const struct golden_fault *fault,
			enum cnnacc_access access, uint64_t va)
{
	ccp->status->access = access;
	ccp->status->fault_va = va;
	return fail(ccp, fault->status_class, code, fault->level);
}

static bool fail_field(struct golden_ccp *ccp, int field)
{
	if (field >= CNNACC_CCP_RANGE_INPUT)
		return fail(ccp, CNNACC_STATUS_BAD_PROGRAM, CNNACC_CCP_E_RANGE, field);
	return fail(ccp, CNNACC_STATUS_CONFIG, CNNACC_CCP_E_CFG, field);
}

/* ---------------------------------------------------------------- planes */

/* Planes first..last of a map, plane 0 starting at float base, in a bank of size floats. */
static bool planes_inside(int64_t base, int64_t pitch, int64_t plane, int64_t first, int64_t last,
			  int64_t size)
{
	return base + first * pitch >= 0 && base + last * pitch + plane <= size;
}

/* ---------------------------------------------------------------- halves */

/* Add the halves of @bank that hold any of its floats first..last. */
static void touch(const struct golden_ccp *ccp, bool halves[HALVES], int bank, int64_t first,
		  int64_t last)
{
	int64_t bytes = bank < WEIGHT_BANK_0 ? ccp->params.data_bank : ccp->params.weight_bank;
	int64_t upper = bytes / LINE / 2 * (LINE / 4);

	if (first < upper)
		halves[2 * bank] = true;
	if (last >= upper)
		halves[2 * bank + 1] = true;
}

static void touch_planes(const struct golden_ccp *ccp, bool halves[HALVES], int bank, int64_t base,
			 int64_t pitch, int64_t plane, int64_t first, int64_t last)
{
	touch(ccp, halves, bank, base + first * pitch, base + last * pitch + plane - 1);
}

/* ------------------------------------------------------------------ conv */

struct conv {
	bool reserved_clear;
	bool relu, bias;
	int64_t kh, kw, sy, sx;
	int64_t ih, iw, oh, ow;
	int64_t pt, pb, pl, pr;
	int64_t ci_num, ci_start, ci_end;
	int64_t co_num, co_start, co_cnt;
	int64_t row_start, col_start, vec_active, groups;
	int64_t in_base, in_pitch, out_base, out_pitch;
	int64_t weight_base, weight_pitch, bias_base;
	int64_t row_end, col_end;	/* of the tile, clipped to the map */
};

static void conv_resolve(const struct golden_ccp_regs *regs, struct conv *c)
{
	int64_t v[CCP_FIELD_NAMES];
	bool good0 = fields_decode(&ccp_fields, CONV_GROUP_0, regs->conv0, v);
	bool good1 = fields_decode(&ccp_fields, CONV_GROUP_1, regs->conv1, v);

	*c = (struct conv){
		.reserved_clear = good0 && good1,
		.relu = v[RELU], .bias = v[BIAS_ENABLE],
		.kh = v[KERNEL_ROWS], .kw = or_default(v[KERNEL_COLUMNS], v[KERNEL_ROWS]),
		.sy = v[ROW_STRIDE], .sx = or_default(v[COLUMN_STRIDE], v[ROW_STRIDE]),
		.ih = or_default(v[INPUT_ROWS], v[INPUT_COLUMNS]), .iw = v[INPUT_COLUMNS],
		.oh = or_default(v[OUTPUT_ROWS], v[OUTPUT_COLUMNS]), .ow = v[OUTPUT_COLUMNS],
		.pt = v[PAD_TOP], .pb = v[PAD_BOTTOM], .pl = v[PAD_LEFT], .pr = v[PAD_RIGHT],
		.ci_num = v[CI_NUM], .ci_start = v[CI_START], .ci_end = v[CI_END],
		.co_num = v[CO_NUM], .co_start = v[CO_START],
		.co_cnt = or_default(v[CO_CNT], v[CO_NUM] - v[CO_START]),
		.row_start = v[ROW_START], .col_start = v[COL_START],
		.vec_active = v[VEC_ACTIVE], .groups = v[GROUPS_LESS_1] + 1,
		.in_base = v[INPUT_BASE], .out_base = v[OUTPUT_BASE],
		.weight_base = v[WEIGHT_BASE], .bias_base = v[BIAS_BASE],
		.weight_pitch = or_default(v[WEIGHT_PITCH], v[CI_NUM]),
	};
	c->in_pitch = or_default(v[INPUT_PITCH], c->ih * c->iw);
	c->out_pitch = or_default(v[OUTPUT_PITCH], c->oh * c->ow);
	c->row_end = min64(c->row_start + c->vec_active, c->oh);
	c->col_end = min64(c->col_start + CNNACC_CCP_LANES, c->ow);
}

static bool kernel_fits(int64_t in, int64_t pad, int64_t kernel)
{
	return in && in + pad >= kernel;
}

static bool conv_channels_good(const struct golden_ccp *ccp, const struct conv *c)
{
	return c->ci_num && c->co_num && c->ci_start <= c->ci_end && c->ci_end < c->ci_num &&
	       c->co_start < c->co_num && c->co_start + c->co_cnt <= c->co_num &&
	       c->co_cnt <= ccp->params.lob * c->groups;
}

static bool conv_continues(const struct continuation *cont, const struct conv *c)
{
	return cont->open && cont->ci_next == c->ci_start && cont->row_start == c->row_start &&
	       cont->col_start == c->col_start && cont->vec_active == c->vec_active &&
	       cont->co_start == c->co_start && cont->co_cnt == c->co_cnt;
}

static int conv_check_shape(const struct conv *c)
{
	if (!c->reserved_clear)
		return CNNACC_CCP_BAD_RESERVED;
	if (c->kh < 1 || c->kh > CNNACC_CCP_KERNEL_MAX || c->kw > CNNACC_CCP_KERNEL_MAX)
		return CNNACC_CCP_BAD_KERNEL;
	if (c->sy < 1 || c->sy > CNNACC_CCP_STRIDE_MAX || c->sx > CNNACC_CCP_STRIDE_MAX)
		return CNNACC_CCP_BAD_STRIDE;
	if (!c->iw || !kernel_fits(c->ih, c->pt + c->pb, c->kh) ||
	    !kernel_fits(c->iw, c->pl + c->pr, c->kw))
		return CNNACC_CCP_BAD_IN_SIZE;
	if (c->oh != (c->ih + c->pt + c->pb - c->kh) / c->sy + 1 ||
	    c->ow != (c->iw + c->pl + c->pr - c->kw) / c->sx + 1)
		return CNNACC_CCP_BAD_OUT_SIZE;
	return 0;
}

static int conv_check_ranges(const struct golden_ccp *ccp, const struct conv *c)
{
	int64_t first = c->co_start / 4, last = (c->co_start + c->co_cnt - 1) / 4;
	int64_t taps = c->kh * c->kw;

	if (!planes_inside(c->in_base, c->in_pitch, c->ih * c->iw, c->ci_start, c->ci_end,
			   data_floats(ccp)))
		return CNNACC_CCP_RANGE_INPUT;
	if (!planes_inside(c->out_base, c->out_pitch, c->oh * c->ow, c->co_start,
			   c->co_start + c->co_cnt - 1, data_floats(ccp)))
		return CNNACC_CCP_RANGE_OUTPUT;
	if (c->weight_base + (first * c->weight_pitch + c->ci_start) * taps < 0 ||
	    c->weight_base + (last * c->weight_pitch + c->ci_end + 1) * taps > weight_floats(ccp))
		return CNNACC_CCP_RANGE_WEIGHT;
	if (c->bias && (c->bias_base + first < 0 || c->bias_base + last >= weight_floats(ccp)))
		return CNNACC_CCP_RANGE_BIAS;
	return 0;
}

static int conv_check(const struct golden_ccp *ccp, const struct conv *c)
{
	int field = conv_check_shape(c);

	if (field)
		return field;
	if (!conv_channels_good(ccp, c))
		return CNNACC_CCP_BAD_CHANNELS;
	if (c->vec_active < 1 || c->vec_active > CNNACC_CCP_ROWS)
		return CNNACC_CCP_BAD_VEC_ACTIVE;
	if (c->ci_start > 0 && !conv_continues(&ccp->cont, c))
		return CNNACC_CCP_BAD_CONTINUE;
	if (c->in_pitch < c->ih * c->iw)
		return CNNACC_CCP_BAD_IN_PITCH;
	if (c->out_pitch < c->oh * c->ow)
		return CNNACC_CCP_BAD_OUT_PITCH;
	return conv_check_ranges(ccp, c);
}

static float conv_input(const struct golden_ccp *ccp, const struct conv *c, int64_t channel,
			int64_t row, int64_t col)
{
	if (row < 0 || row >= c->ih || col < 0 || col >= c->iw)
		return 0.0f;
	return float_get(read_bank(ccp), c->in_base + channel * c->in_pitch + row * c->iw + col);
}

static float conv_taps(const struct golden_ccp *ccp, const struct conv *c, int64_t o, int64_t y,
		       int64_t x, int64_t channel)
{
	int64_t weight = (o % 4) * weight_floats(ccp) + c->weight_base +
			 ((o / 4) * c->weight_pitch + channel) * c->kh * c->kw;
	float sum = 0.0f;

	for (int64_t r = 0; r < c->kh; r++) {
		for (int64_t s = 0; s < c->kw; s++) {
			float v = conv_input(ccp, c, channel, y * c->sy + r - c->pt,
					     x * c->sx + s - c->pl);
			float w = float_get(ccp->weight, weight + r * c->kw + s);

			sum = fadd(sum, fmul(v, w));
		}
	}
	return sum;
}

static float *lob_slot(struct golden_ccp *ccp, const struct conv *c, int64_t o, int64_t y,
		       int64_t x)
{
	int64_t vectors = (int64_t)ccp->params.lob * CNNACC_CCP_GROUPS;
	int64_t lane = (y - c->row_start) * CNNACC_CCP_LANES + (x - c->col_start);

	return &ccp->lob[lane * vectors + (o - c->co_start)];
}

static void conv_output(struct golden_ccp *ccp, const struct conv *c, int64_t o, int64_t y,
			int64_t x)
{
	float *lob = lob_slot(ccp, c, o, y, x);

	for (int64_t channel = c->ci_start; channel <= c->ci_end; channel++) {
		float sum = conv_taps(ccp, c, o, y, x, channel);

		if (channel == c->ci_num - 1 && c->bias)
			sum = fadd(sum, fmul(1.0f, float_get(ccp->weight,
							     (o % 4) * weight_floats(ccp) +
							     c->bias_base + o / 4)));
		*lob = channel == 0 ? sum : fadd(*lob, sum);
	}
	if (c->ci_end == c->ci_num - 1)
		float_put(write_bank(ccp), c->out_base + o * c->out_pitch + y * c->ow + x,
			  c->relu ? relu(*lob) : *lob);
}

static void conv_work(const struct conv *c, struct work *work)
{
	bool last = c->ci_end == c->ci_num - 1;
	int64_t n = c->ci_end - c->ci_start + 1;
	int64_t passes = ceil_div(c->co_cnt, 4 * c->groups);
	int64_t lib_rows = (c->vec_active - 1) * c->sy + c->kh;
	int64_t lib_cols = (CNNACC_CCP_LANES - 1) * c->sx + c->kw;
	int64_t rows = c->row_end > c->row_start ? c->row_end - c->row_start : 0;
	int64_t cols = c->col_end > c->col_start ? c->col_end - c->col_start : 0;

	work->cycles = n * (lib_rows * ceil_div(lib_cols, 16) + 2 +
			    passes * (c->kh * (4 * c->kw + 1) + 4)) +
		       (last && c->bias ? 4 * passes : 0) +
		       (last ? c->vec_active * c->co_cnt : 0) + 6;
	work->mac_slots = 512 * work->cycles;
	work->mac_useful = n * c->kh * c->kw * c->co_cnt * rows * cols;
	work->floats_read = n * lib_rows * lib_cols + n * c->co_cnt * c->kh * c->kw +
			    (last && c->bias ? c->co_cnt : 0);
	work->floats_written = last ? c->co_cnt * rows * cols : 0;
}

static void conv_halves(const struct golden_ccp *ccp, const struct conv *c, struct work *work)
{
	int64_t co_end = c->co_start + c->co_cnt - 1, taps = c->kh * c->kw;
	int64_t first = c->co_start / 4, last = co_end / 4;

	touch_planes(ccp, work->reads, read_bank_number(ccp), c->in_base, c->in_pitch,
		     c->ih * c->iw, c->ci_start, c->ci_end);
	touch_planes(ccp, work->writes, write_bank_number(ccp), c->out_base, c->out_pitch,
		     c->oh * c->ow, c->co_start, co_end);
	for (int64_t o = c->co_start; o <= co_end; o++) {
		int bank = WEIGHT_BANK_0 + o % 4;

		touch(ccp, work->reads, bank,
		      c->weight_base + (first * c->weight_pitch + c->ci_start) * taps,
		      c->weight_base + (last * c->weight_pitch + c->ci_end + 1) * taps - 1);
		if (c->bias)
			touch(ccp, work->reads, bank, c->bias_base + first, c->bias_base + last);
	}
}

static void conv_cover(struct golden_ccp_coverage *coverage, const struct conv *c)
{
	coverage->conv_partial += c->ci_end < c->ci_num - 1;
	coverage->conv_continued += c->ci_start > 0;
	coverage->conv_overrun += c->row_start + c->vec_active > c->oh ||
				  c->col_start + CNNACC_CCP_LANES > c->ow;
}

static int conv_exec(struct golden_ccp *ccp, struct work *work)
{
	struct conv c;
	int field;

	conv_resolve(&ccp->regs, &c);
	field = conv_check(ccp, &c);
	if (field)
		return field;
	for (int64_t o = c.co_start; o < c.co_start + c.co_cnt; o++)
		for (int64_t y = c.row_start; y < c.row_end; y++)
			for (int64_t x = c.col_start; x < c.col_end; x++)
				conv_output(ccp, &c, o, y, x);
	ccp->cont = (struct continuation){
		.open = c.ci_end < c.ci_num - 1,
		.ci_next = c.ci_end + 1,
		.row_start = c.row_start, .col_start = c.col_start, .vec_active = c.vec_active,
		.co_start = c.co_start, .co_cnt = c.co_cnt,
	};
	conv_work(&c, work);
	conv_halves(ccp, &c, work);
	conv_cover(&ccp->coverage, &c);
	return 0;
}

/* ------------------------------------------------------------------ pool */

struct pool {
	bool reserved_clear, average;
	bool columns_given;	/* the kernel's */
	int64_t kh, kw, sy, sx;
	int64_t ih, iw, oh, ow;
	int64_t oh_full, ow_full;
	int64_t pt, pb, pl, pr;
	int64_t channels;
	int64_t in_base, in_pitch, out_base, out_pitch;
};

static void pool_resolve(const uint32_t *words, struct pool *p)
{
	int64_t v[CCP_FIELD_NAMES];
	bool good = fields_decode(&ccp_fields, POOL_GROUP, words, v);

	*p = (struct pool){
		.reserved_clear = good, .average = v[AVERAGE],
		.columns_given = v[KERNEL_COLUMNS],
		.kh = v[KERNEL_ROWS], .kw = or_default(v[KERNEL_COLUMNS], v[KERNEL_ROWS]),
		.sy = v[ROW_STRIDE], .sx = or_default(v[COLUMN_STRIDE], v[ROW_STRIDE]),
		.ih = or_default(v[INPUT_ROWS], v[INPUT_COLUMNS]), .iw = v[INPUT_COLUMNS],
		.oh = v[OUTPUT_ROWS], .ow = v[OUTPUT_COLUMNS],
		.pt = v[PAD_TOP], .pb = v[PAD_BOTTOM], .pl = v[PAD_LEFT], .pr = v[PAD_RIGHT],
		.channels = v[CHANNELS],
		.in_base = v[INPUT_BASE], .out_base = v[OUTPUT_BASE],
		.out_pitch = v[OUTPUT_PITCH],
	};
	p->in_pitch = or_default(v[INPUT_PITCH], p->ih * p->iw);
}

static bool pool_kernel_good(const struct pool *p)
{
	if (!p->columns_given)
		return p->kh == 2 || p->kh == 3;
	return p->kh >= 1 && p->kh <= 3 && p->kw <= 3 && !(p->kh == 1 && p->kw == 1);
}

/* Resolve the output size after kernel, stride and input have been checked: it divides by them. */
static void pool_resolve_output(struct pool *p)
{
	p->oh_full = ceil_div(p->ih + p->pt + p->pb - p->kh, p->sy) + 1;
	p->ow_full = ceil_div(p->iw + p->pl + p->pr - p->kw, p->sx) + 1;
	p->oh = or_default(p->oh, p->oh_full);
	p->ow = or_default(p->ow, p->ow_full);
	p->out_pitch = or_default(p->out_pitch, p->oh * p->ow);
}

static int pool_check(const struct golden_ccp *ccp, struct pool *p)
{
	if (!p->reserved_clear)
		return CNNACC_CCP_BAD_RESERVED;
	if (!pool_kernel_good(p))
		return CNNACC_CCP_BAD_KERNEL;
	if (p->sy < 1 || p->sy > CNNACC_CCP_STRIDE_MAX || p->sx > CNNACC_CCP_STRIDE_MAX)
		return CNNACC_CCP_BAD_STRIDE;
	if (!p->iw || !kernel_fits(p->ih, p->pt + p->pb, p->kh) ||
	    !kernel_fits(p->iw, p->pl + p->pr, p->kw))
		return CNNACC_CCP_BAD_IN_SIZE;
	pool_resolve_output(p);
	if (p->oh > p->oh_full || p->ow > p->ow_full)
		return CNNACC_CCP_BAD_OUT_SIZE;
	if (!p->channels)
		return CNNACC_CCP_BAD_CHANNELS;
	if (p->in_pitch < p->ih * p->iw)
		return CNNACC_CCP_BAD_IN_PITCH;
	if (p->out_pitch < p->oh * p->ow)
		return CNNACC_CCP_BAD_OUT_PITCH;
	if (!planes_inside(p->in_base, p->in_pitch, p->ih * p->iw, 0, p->channels - 1,
			   data_floats(ccp)))
		return CNNACC_CCP_RANGE_INPUT;
	if (!planes_inside(p->out_base, p->out_pitch, p->oh * p->ow, 0, p->channels - 1,
			   data_floats(ccp)))
		return CNNACC_CCP_RANGE_OUTPUT;
	return 0;
}

static float pool_node(bool average, float a, float b)
{
	if (average)
		return fadd(a, b);
	return a > b ? a : b;
}

static float pool_tree(bool average, const float a[9])
{
	float b[5], c[3], d[2];

	for (int i = 0; i < 4; i++)
		b[i] = pool_node(average, a[2 * i], a[2 * i + 1]);
	b[4] = a[8];
	c[0] = pool_node(average, b[0], b[1]);
	c[1] = pool_node(average, b[2], b[3]);
	c[2] = b[4];
	d[0] = pool_node(average, c[0], c[1]);
	d[1] = c[2];
	return pool_node(average, d[0], d[1]);
}

static float pool_reciprocal(int64_t area)
{
	switch (area) {
	case 2:
		return fp32_from_bits(0x3f000000);
	case 3:
		return fp32_from_bits(0x3eaaaaab);
	case 4:
		return fp32_from_bits(0x3e800000);
	case 6:
		return fp32_from_bits(0x3e2aaaab);
	default:
		return fp32_from_bits(0x3de38e39);
	}
}

static float pool_output(const struct golden_ccp *ccp, const struct pool *p, int64_t channel,
			 int64_t y, int64_t x)
{
	float fill = p->average ? 0.0f : fp32_from_bits(CNNACC_CCP_POOL_MAX_FILL);
	float a[9], result;

	for (int i = 0; i < 9; i++)
		a[i] = fill;
	for (int64_t r = 0; r < p->kh; r++) {
		for (int64_t s = 0; s < p->kw; s++) {
			int64_t row = y * p->sy - p->pt + r, col = x * p->sx - p->pl + s;

			if (row >= 0 && row < p->ih && col >= 0 && col < p->iw)
				a[r * p->kw + s] = float_get(read_bank(ccp),
							     p->in_base + channel * p->in_pitch +
							     row * p->iw + col);
		}
	}
	result = pool_tree(p->average, a);
	return p->average ? fmul(result, pool_reciprocal(p->kh * p->kw)) : result;
}

static int pool_exec(struct golden_ccp *ccp, struct work *work)
{
	uint64_t outputs;
	struct pool p;
	int field;

	pool_resolve(ccp->regs.pool0, &p);
	field = pool_check(ccp, &p);
	if (field)
		return field;
	for (int64_t channel = 0; channel < p.channels; channel++)
		for (int64_t y = 0; y < p.oh; y++)
			for (int64_t x = 0; x < p.ow; x++)
				float_put(write_bank(ccp),
					  p.out_base + channel * p.out_pitch + y * p.ow + x,
					  pool_output(ccp, &p, channel, y, x));
	outputs = p.channels * p.oh * p.ow;
	work->cycles = outputs + 5;
	work->floats_read = outputs * p.kh * p.kw;
	work->floats_written = outputs;
	touch_planes(ccp, work->reads, read_bank_number(ccp), p.in_base, p.in_pitch, p.ih * p.iw,
		     0, p.channels - 1);
	touch_planes(ccp, work->writes, write_bank_number(ccp), p.out_base, p.out_pitch,
		     p.oh * p.ow, 0, p.channels - 1);
	return 0;
}

/* ------------------------------------------------------------------- pad */

struct pad {
	bool reserved_clear;
	int64_t layers;
	int64_t ih, iw, oh, ow;
	int64_t channels;
	int64_t in_base, in_pitch, out_base, out_pitch;
};

static void pad_resolve(const uint32_t *words, struct pad *p)
{
	int64_t v[CCP_FIELD_NAMES];
	bool good = fields_decode(&ccp_fields, PAD_GROUP, words, v);

	*p = (struct pad){
		.reserved_clear = good, .layers = v[PAD_LAYERS],
		.ih = or_default(v[INPUT_ROWS], v[INPUT_COLUMNS]), .iw = v[INPUT_COLUMNS],
		.channels = v[CHANNELS],
		.in_base = v[INPUT_BASE], .out_base = v[OUTPUT_BASE],
		.out_pitch = v[OUTPUT_PITCH],
	};
	p->oh = p->ih + 2 * p->layers;
	p->ow = p->iw + 2 * p->layers;
	p->in_pitch = or_default(v[INPUT_PITCH], p->ih * p->iw);
}

static int pad_check(const struct golden_ccp *ccp, struct pad *p)
{
	if (!p->reserved_clear)
		return CNNACC_CCP_BAD_RESERVED;
	if (p->layers != 1 && p->layers != 2)
		return CNNACC_CCP_BAD_PAD;
	if (!p->iw)
		return CNNACC_CCP_BAD_IN_SIZE;
	if (!p->channels)
		return CNNACC_CCP_BAD_CHANNELS;
	p->out_pitch = or_default(p->out_pitch, p->oh * p->ow);
	if (p->in_pitch < p->ih * p->iw)
		return CNNACC_CCP_BAD_IN_PITCH;
	if (p->out_pitch < p->oh * p->ow)
		return CNNACC_CCP_BAD_OUT_PITCH;
	if (!planes_inside(p->in_base, p->in_pitch, p->ih * p->iw, 0, p->channels - 1,
			   data_floats(ccp)))
		return CNNACC_CCP_RANGE_INPUT;
	if (!planes_inside(p->out_base, p->out_pitch, p->oh * p->ow, 0, p->channels - 1,
			   data_floats(ccp)))
		return CNNACC_CCP_RANGE_OUTPUT;
	return 0;
}

static uint32_t pad_output(const struct golden_ccp *ccp, const struct pad *p, int64_t channel,
			   int64_t y, int64_t x)
{
	int64_t row = y - p->layers, col = x - p->layers;

	if (row < 0 || row >= p->ih || col < 0 || col >= p->iw)
		return 0;
	return word_get(read_bank(ccp), p->in_base + channel * p->in_pitch + row * p->iw + col);
}

static int pad_exec(struct golden_ccp *ccp, struct work *work)
{
	struct pad p;
	int field;

	pad_resolve(ccp->regs.pad0, &p);
	field = pad_check(ccp, &p);
	if (field)
		return field;
	for (int64_t channel = 0; channel < p.channels; channel++)
		for (int64_t y = 0; y < p.oh; y++)
			for (int64_t x = 0; x < p.ow; x++)
				word_put(write_bank(ccp),
					 p.out_base + channel * p.out_pitch + y * p.ow + x,
					 pad_output(ccp, &p, channel, y, x));
	work->floats_written = p.channels * p.oh * p.ow;
	work->floats_read = p.channels * p.ih * p.iw;
	work->cycles = ceil_div(work->floats_written, 16);
	touch_planes(ccp, work->reads, read_bank_number(ccp), p.in_base, p.in_pitch, p.ih * p.iw,
		     0, p.channels - 1);
	touch_planes(ccp, work->writes, write_bank_number(ccp), p.out_base, p.out_pitch,
		     p.oh * p.ow, 0, p.channels - 1);
	return 0;
}

/* -------------------------------------------------------------------- fc */

struct fc {
	bool reserved_clear, relu, bias;
	int64_t in, in16, out;
	int64_t in_base, out_base, weight_base, bias_base;
};

static void fc_resolve(const uint32_t *words, struct fc *f)
{
	int64_t v[CCP_FIELD_NAMES];
	bool good = fields_decode(&ccp_fields, FC_GROUP, words, v);

	*f = (struct fc){
		.reserved_clear = good, .relu = v[RELU], .bias = v[BIAS_ENABLE],
		.in = v[INPUT_LENGTH], .in16 = ceil_div(v[INPUT_LENGTH], 16) * 16,
		.out = v[OUTPUT_LENGTH],
		.in_base = v[INPUT_BASE], .out_base = v[OUTPUT_BASE],
		.weight_base = v[WEIGHT_BASE], .bias_base = v[BIAS_BASE],
	};
}

static bool span_inside(int64_t base, int64_t length, int64_t size)
{
	return base >= 0 && base + length <= size;
}

static int fc_check(const struct golden_ccp *ccp, const struct fc *f)
{
	int64_t all_weights = CNNACC_CCP_WEIGHT_BANKS * weight_floats(ccp);

	if (!f->reserved_clear)
		return CNNACC_CCP_BAD_RESERVED;
	if (!f->in || !f->out)
		return CNNACC_CCP_BAD_LENGTH;
	if (!span_inside(f->in_base, f->in, data_floats(ccp)))
		return CNNACC_CCP_RANGE_INPUT;
	if (!span_inside(f->out_base, f->out, data_floats(ccp)))
		return CNNACC_CCP_RANGE_OUTPUT;
	if (!span_inside(f->weight_base, f->out * f->in16, all_weights))
		return CNNACC_CCP_RANGE_WEIGHT;
	if (f->bias && !span_inside(f->bias_base, f->out, all_weights))
		return CNNACC_CCP_RANGE_BIAS;
	return 0;
}

static float fc_block(const struct golden_ccp *ccp, const struct fc *f, int64_t output,
		      int64_t block)
{
	float p[CNNACC_CCP_FC_LANES];

	for (int64_t lane = 0; lane < CNNACC_CCP_FC_LANES; lane++) {
		int64_t i = block * CNNACC_CCP_FC_LANES + lane;

		p[lane] = i >= f->in ? 0.0f :
			  fmul(float_get(read_bank(ccp), f->in_base + i),
			       float_get(ccp->weight, f->weight_base + output * f->in16 + i));
	}
	for (int width = CNNACC_CCP_FC_LANES / 2; width; width /= 2)
		for (int i = 0; i < width; i++)
			p[i] = fadd(p[2 * i], p[2 * i + 1]);
	return p[0];
}

static float fc_output(const struct golden_ccp *ccp, const struct fc *f, int64_t output)
{
	float acc = 0.0f;

	for (int64_t block = 0; block < f->in16 / CNNACC_CCP_FC_LANES; block++)
		acc = fadd(acc, fc_block(ccp, f, output, block));
	if (f->bias)
		acc = fadd(acc, fmul(1.0f, float_get(ccp->weight, f->bias_base + output)));
	return f->relu ? relu(acc) : acc;
}

/* Floats base..base + length - 1 of the four weight banks in a row. */
static void fc_touch(const struct golden_ccp *ccp, struct work *work, int64_t base, int64_t length)
{
	int64_t size = weight_floats(ccp), last = base + length - 1;

	for (int64_t bank = base / size; bank <= last / size; bank++)
		touch(ccp, work->reads, WEIGHT_BANK_0 + bank, max64(base - bank * size, 0),
		      min64(last - bank * size, size - 1));
}

static void fc_halves(const struct golden_ccp *ccp, const struct fc *f, struct work *work)
{
	touch(ccp, work->reads, read_bank_number(ccp), f->in_base, f->in_base + f->in - 1);
	touch(ccp, work->writes, write_bank_number(ccp), f->out_base, f->out_base + f->out - 1);
	fc_touch(ccp, work, f->weight_base, f->out * f->in16);
	if (f->bias)
		fc_touch(ccp, work, f->bias_base, f->out);
}

static int fc_exec(struct golden_ccp *ccp, struct work *work)
{
	struct fc f;
	int field;

	fc_resolve(ccp->regs.fc0, &f);
	field = fc_check(ccp, &f);
	if (field)
		return field;
	for (int64_t o = 0; o < f.out; o++)
		float_put(write_bank(ccp), f.out_base + o, fc_output(ccp, &f, o));
	work->cycles = 4 * ceil_div(f.out, 4) * (f.in16 / 16 + (f.bias ? 1 : 0)) + 10;
	work->mac_slots = 16 * work->cycles;
	work->mac_useful = f.in * f.out;
	work->floats_read = f.in + f.out * f.in16 + (f.bias ? f.out : 0);
	work->floats_written = f.out;
	fc_halves(ccp, &f, work);
	return 0;
}

/* ---------------------------------------------------------- instructions */

static void spend(struct golden_ccp *ccp, uint64_t cycles)
{
	ccp->clock.t += cycles;
	ccp->stats->cycles_serial += cycles;
}

static enum golden_ccp_role bank_role(const struct golden_ccp *ccp, int bank)
{
	if (bank >= WEIGHT_BANK_0)
		return GOLDEN_CCP_WEIGHTS;
	return bank == read_bank_number(ccp) ? GOLDEN_CCP_READ : GOLDEN_CCP_WRITTEN;
}

/* Count the transfers of @half in flight when an EXEC came that started at @start. */
static void cover_half(struct golden_ccp *ccp, enum golden_ccp_role role, int half, bool used,
		       uint64_t start)
{
	struct golden_ccp_coverage *coverage = &ccp->coverage;
	const struct clock *k = &ccp->clock;
	bool beside = !used && ccp->params.split_banks, bank = !used && !ccp->params.split_banks;

	coverage->load_waited_for[role] += used && k->w[half] > k->t;
	coverage->load_waited_for_bank[role] += bank && k->w[half] > k->t;
	coverage->load_beside[role] += beside && k->w[half] > start;
	coverage->store_beside_read += role == GOLDEN_CCP_READ && used && k->r[half] > start;
	if (role != GOLDEN_CCP_WRITTEN)
		return;
	coverage->store_waited_for += used && k->r[half] > k->t;
	coverage->store_waited_for_bank += bank && k->r[half] > k->t;
	coverage->store_beside += beside && k->r[half] > start;
}

static void cover_exec(struct golden_ccp *ccp, const struct work *work, uint64_t start)
{
	ccp->coverage.stalled += start > ccp->clock.t;
	for (int bank = 0; bank < BANKS; bank++) {
		int lower = 2 * bank, upper = 2 * bank + 1;
		bool uses_lower = work->reads[lower] || work->writes[lower];
		bool uses_upper = work->reads[upper] || work->writes[upper];
		enum golden_ccp_role role = bank_role(ccp, bank);

		if (!uses_lower && !uses_upper)
			continue;
		ccp->coverage.exec_both[role] += uses_lower && uses_upper;
		cover_half(ccp, role, lower, uses_lower, start);
		cover_half(ccp, role, upper, uses_upper, start);
	}
}

static void cover_dma(struct golden_ccp *ccp, bool load, const bool halves[HALVES])
{
	uint64_t *both = load ? &ccp->coverage.load_both : &ccp->coverage.store_both;

	for (int bank = 0; bank < BANKS; bank++)
		*both += halves[2 * bank] && halves[2 * bank + 1];
}

/*
 * The maximum of @t and the ends of the memories that contain those halves.  A bank that is not
 * split is one memory: what ends last in either half ends last in it.
 */
static uint64_t after(const struct golden_ccp *ccp, uint64_t t, const uint64_t ends[HALVES],
		      const bool halves[HALVES])
{
	for (int half = 0; half < HALVES; half++)
		if (halves[half] || (halves[half ^ 1] && !ccp->params.split_banks))
			t = max_u64(t, ends[half]);
	return t;
}

static void busy_until(uint64_t t, uint64_t ends[HALVES], const bool halves[HALVES])
{
	for (int half = 0; half < HALVES; half++)
		if (halves[half])
			ends[half] = max_u64(ends[half], t);
}

static void account_exec(struct golden_ccp *ccp, const struct work *work)
{
	struct clock *k = &ccp->clock;
	struct cnnacc_stats *stats = ccp->stats;
	uint64_t start = after(ccp, k->t, k->w, work->reads);

	start = after(ccp, start, k->w, work->writes);
	start = after(ccp, start, k->r, work->writes);
	cover_exec(ccp, work, start);
	stats->stall_cycles += start - k->t;
	k->t = start + work->cycles;
	busy_until(k->t, k->r, work->reads);
	busy_until(k->t, k->w, work->writes);
	stats->cycles_serial += work->cycles;
	stats->compute_cycles += work->cycles;
	stats->mac_slots += work->mac_slots;
	stats->mac_useful += work->mac_useful;
	stats->local_read_bytes += 4 * work->floats_read;
	stats->local_write_bytes += 4 * work->floats_written;
}

static bool do_exec(struct golden_ccp *ccp, uint32_t insn)
{
	static int (*const units[])(struct golden_ccp *ccp, struct work *work) = {
		[CNNACC_CCP_CONV] = conv_exec,
		[CNNACC_CCP_POOL] = pool_exec,
		[CNNACC_CCP_PAD] = pad_exec,
		[CNNACC_CCP_FC] = fc_exec,
	};
	unsigned int unit = bits(insn, 27, 26);
	struct work work = { 0 };
	int field = units[unit](ccp, &work);

	if (field) {
		ccp->coverage.field[unit][field]++;
		return fail_field(ccp, field);
	}
	ccp->coverage.unit[unit]++;
	account_exec(ccp, &work);
	return true;
}

static bool do_cfg(struct golden_ccp *ccp, uint32_t insn)
{
	struct golden_ccp_regs *regs = &ccp->regs;
	unsigned int unit = bits(insn, 27, 26), group = bits(insn, 25, 24);
	uint32_t *groups[4] = { regs->conv0, regs->pool0, regs->pad0, regs->fc0 };
	uint32_t *to = groups[unit];

	if (group > (unit == CNNACC_CCP_CONV ? 1 : 0))
		return fail(ccp, CNNACC_STATUS_BAD_PROGRAM, CNNACC_CCP_E_ILLEGAL, 0);
	if (group == 1)
		to = regs->conv1;
	memcpy(to, regs->gpr, sizeof(regs->gpr));
	spend(ccp, 8);
	return true;
}

/* The memory behind a DMA target, its bank number and its size; NULL if illegal. */
static uint8_t *dma_target(struct golden_ccp *ccp, bool load, unsigned int target, int *bank,
			   uint64_t *lines)
{
	*bank = -1;
	*lines = ccp->params.data_bank / LINE;
	if (target <= CNNACC_CCP_TGT_WRITE_BANK) {
		*bank = target == CNNACC_CCP_TGT_READ_BANK ? ccp->regs.bank_select :
							     !ccp->regs.bank_select;
		return ccp->data[*bank];
	}
	if (!load || target == CNNACC_CCP_TGT_RESERVED)
		return NULL;
	if (target == CNNACC_CCP_TGT_ICACHE) {
		*lines = ccp->params.icache / LINE;
		return ccp->icache;
	}
	*lines = ccp->params.weight_bank / LINE;
	*bank = WEIGHT_BANK_0 + target - CNNACC_CCP_TGT_WEIGHT0;
	return ccp->weight + (uint64_t)(target - CNNACC_CCP_TGT_WEIGHT0) * ccp->params.weight_bank;
}

static bool move_lines(struct golden_ccp *ccp, bool load, uint64_t va, uint8_t *local,
		       uint64_t length, enum cnnacc_access access)
{
	const struct golden_memory *memory = ccp->memory;
	struct golden_fault fault;

	for (uint64_t i = 0; i < length; i++, va += LINE, local += LINE) {
		bool ok = load ? memory->read(memory->opaque, va, access, local, &fault) :
				 memory->write(memory->opaque, va, local, LINE, &fault);

		if (!ok)
			return fail_access(ccp, CNNACC_CCP_E_DMA, &fault, access, va);
	}
	return true;
}

static void account_dma(struct golden_ccp *ccp, bool load, uint64_t cost, const bool halves[HALVES])
{
	struct clock *k = &ccp->clock;
	uint64_t start;

	k->t += 1;
	start = after(ccp, max_u64(k->t, k->d), k->w, halves);
	if (load)
		start = after(ccp, start, k->r, halves);
	k->d = start + cost;
	busy_until(k->d, load ? k->w : k->r, halves);
	ccp->stats->cycles_serial += cost;
	ccp->stats->dma_cycles += cost;
}

static void count_dma(struct cnnacc_stats *stats, bool load, uint64_t bytes)
{
	if (load) {
		stats->mem_read_bytes += bytes;
		stats->local_write_bytes += bytes;
	} else {
		stats->mem_write_bytes += bytes;
		stats->local_read_bytes += bytes;
	}
}

static bool do_dma(struct golden_ccp *ccp, uint32_t insn, bool load)
{
	const uint32_t *r = ccp->regs.gpr;
	uint64_t va = (uint64_t)r[bits(insn, 27, 25)] * LINE;
	uint64_t length = r[bits(insn, 24, 22)];
	uint64_t first = r[bits(insn, 21, 19)];
	unsigned int target = bits(insn, 18, 16);
	enum cnnacc_access access = CNNACC_ACCESS_WRITE;
	bool halves[HALVES] = { false };
	uint64_t lines;
	uint8_t *local;
	int bank;

	local = dma_target(ccp, load, target, &bank, &lines);
	if (!local)
		return fail(ccp, CNNACC_STATUS_BAD_PROGRAM, CNNACC_CCP_E_ILLEGAL, 0);
	if (!length) {
		spend(ccp, 1);
		return true;
	}
	if (first + length > lines) {
		ccp->coverage.range_dma++;
		return fail_field(ccp, CNNACC_CCP_RANGE_DMA);
	}
	if (load)
		access = target == CNNACC_CCP_TGT_ICACHE ? CNNACC_ACCESS_EXEC : CNNACC_ACCESS_READ;
	if (!move_lines(ccp, load, va, local + first * LINE, length, access))
		return false;
	if (bank >= 0)
		touch(ccp, halves, bank, first * (LINE / 4), (first + length) * (LINE / 4) - 1);
	cover_dma(ccp, load, halves);
	account_dma(ccp, load, 16 + length, halves);
	if (bank < 0)
		ccp->clock.t = ccp->clock.d;
	count_dma(ccp->stats, load, LINE * length);
	return true;
}

static void do_register(struct golden_ccp *ccp, uint32_t insn)
{
	uint32_t *r = ccp->regs.gpr;
	uint32_t imm = bits(insn, 15, 0);
	uint32_t *rd = &r[bits(insn, 27, 25)];

	switch (bits(insn, 31, 28)) {
	case CNNACC_CCP_LDI:
		*rd = imm;
		break;
	case CNNACC_CCP_LDIH:
		*rd = imm << 16 | (*rd & 0xffff);
		break;
	default:
		*rd = r[bits(insn, 24, 22)] + (uint32_t)(int32_t)(int16_t)imm;
		break;
	}
	spend(ccp, 1);
}

static void do_bnz(struct golden_ccp *ccp, uint32_t insn, uint32_t *next)
{
	bool taken = ccp->regs.gpr[bits(insn, 27, 25)] != 0;

	if (taken)
		*next = bits(insn, 10, 0);
	ccp->coverage.bnz_taken += taken;
	spend(ccp, taken ? 2 : 1);
}

/* Run one instruction; set @next if it branches; false if it failed. */
static bool execute(struct golden_ccp *ccp, uint32_t insn, uint32_t *next)
{
	unsigned int op = bits(insn, 31, 28);

	ccp->coverage.op[op]++;
	switch (op) {
	case CNNACC_CCP_LDI:
	case CNNACC_CCP_LDIH:
	case CNNACC_CCP_ADDI:
		do_register(ccp, insn);
		return true;
	case CNNACC_CCP_LOAD:
	case CNNACC_CCP_STORE:
		return do_dma(ccp, insn, op == CNNACC_CCP_LOAD);
	case CNNACC_CCP_CFG:
		return do_cfg(ccp, insn);
	case CNNACC_CCP_EXEC_UNIT:
		return do_exec(ccp, insn);
	case CNNACC_CCP_SWAP:
		ccp->regs.bank_select = !ccp->regs.bank_select;
		spend(ccp, 1);
		return true;
	case CNNACC_CCP_BNZ:
		do_bnz(ccp, insn, next);
		return true;
	case CNNACC_CCP_NOP:
		spend(ccp, 1);
		return true;
	default:
		return fail(ccp, CNNACC_STATUS_BAD_PROGRAM, CNNACC_CCP_E_ILLEGAL, 0);
	}
}

/* ------------------------------------------------------------------- job */

static bool within_limit(struct golden_ccp *ccp)
{
	if (max_u64(ccp->clock.t, ccp->clock.d) <= ccp->job->cycle_limit)
		return true;
	return fail(ccp, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 0);
}

static bool boot(struct golden_ccp *ccp)
{
	const struct golden_job *job = ccp->job;
	uint64_t lines = ceil_div(job->program_len, LINE), cost = 16 + lines;
	struct golden_fault fault;

	memset(ccp->icache, 0, ccp->params.icache);
	for (uint64_t i = 0; i < lines; i++) {
		uint64_t va = job->program_va + i * LINE;

		if (!ccp->memory->read(ccp->memory->opaque, va, CNNACC_ACCESS_EXEC,
				       ccp->icache + i * LINE, &fault))
			return fail_access(ccp, CNNACC_CODE_FETCH, &fault, CNNACC_ACCESS_EXEC, va);
	}
	memset(ccp->icache + job->program_len, 0, ccp->params.icache - job->program_len);
	ccp->clock.t = cost;
	ccp->clock.d = cost;
	ccp->stats->cycles_serial = cost;
	ccp->stats->dma_cycles = cost;
	ccp->stats->mem_read_bytes = lines * LINE;
	ccp->stats->local_write_bytes = lines * LINE;
	if (within_limit(ccp))
		return true;
	ccp->coverage.limit_boot++;
	return false;
}

/* Run one instruction and check PC and cycle limit; false at the end of the job. */
static bool step(struct golden_ccp *ccp)
{
	uint32_t insn, next = ccp->regs.pc + 1;

	if (ccp->regs.pc >= ccp->params.icache / 4)
		return fail(ccp, CNNACC_STATUS_BAD_PROGRAM, CNNACC_CCP_E_PC, 0);
	insn = word_get(ccp->icache, ccp->regs.pc);
	if (!execute(ccp, insn, &next))
		return false;
	ccp->stats->instructions++;
	if (!within_limit(ccp)) {
		ccp->coverage.limit[bits(insn, 31, 28)]++;
		return false;
	}
	if (bits(insn, 31, 28) == CNNACC_CCP_NOP)
		return false;
	ccp->regs.pc = next;
	return true;
}

static void finish(struct golden_ccp *ccp)
{
	struct cnnacc_stats *stats = ccp->stats;

	stats->cycles = max_u64(ccp->clock.t, ccp->clock.d);
	stats->stall_cycles += stats->cycles - ccp->clock.t;
	stats->jobs = 1;
	ccp->status->pc = ccp->regs.pc;
	ccp->coverage.code[ccp->status->status_code]++;
}

static void ccp_run(void *priv, const struct golden_job *job, const struct golden_memory *memory,
		    struct golden_status *status, struct cnnacc_stats *stats)
{
	struct golden_ccp *ccp = priv;

	memset(&ccp->regs, 0, sizeof(ccp->regs));
	memset(&ccp->cont, 0, sizeof(ccp->cont));
	memset(&ccp->clock, 0, sizeof(ccp->clock));
	memset(status, 0, sizeof(*status));
	memset(stats, 0, sizeof(*stats));
	ccp->job = job;
	ccp->memory = memory;
	ccp->status = status;
	ccp->stats = stats;
	if (boot(ccp))
		while (step(ccp))
			;
	finish(ccp);
}

static size_t lob_floats(const struct golden_ccp_params *params)
{
	return (size_t)CNNACC_CCP_ROWS * CNNACC_CCP_LANES * CNNACC_CCP_GROUPS * params->lob;
}

static void ccp_clear(void *priv)
{
	struct golden_ccp *ccp = priv;
	const struct golden_ccp_params *params = &ccp->params;

	memset(ccp->data[0], 0, params->data_bank);
	memset(ccp->data[1], 0, params->data_bank);
	memset(ccp->weight, 0, (size_t)CNNACC_CCP_WEIGHT_BANKS * params->weight_bank);
	memset(ccp->icache, 0, params->icache);
	memset(ccp->lob, 0, lob_floats(params) * sizeof(float));
	memset(&ccp->regs, 0, sizeof(ccp->regs));
}

bool golden_ccp_params_of(const struct cnnacc_core_entry *entry,
			  struct golden_ccp_params *params)
{
	*params = (struct golden_ccp_params){
		.icache = entry->program_max,
		.data_bank = entry->param[CNNACC_CCP_PARAM_DATA_BANK],
		.weight_bank = entry->param[CNNACC_CCP_PARAM_WEIGHT_BANK],
		.lob = entry->param[CNNACC_CCP_PARAM_LOB],
		.split_banks = entry->param[CNNACC_CCP_PARAM_BANKS] & CNNACC_CCP_BANKS_SPLIT,
	};
	return entry->type == CNNACC_CORE_CCP &&
	       entry->param[CNNACC_CCP_PARAM_GEOMETRY] == GEOMETRY &&
	       entry->param[CNNACC_CCP_PARAM_LIMITS] == LIMITS &&
	       !(entry->param[CNNACC_CCP_PARAM_BANKS] & ~CNNACC_CCP_BANKS_SPLIT);
}

struct golden_ccp *golden_ccp_create(const struct golden_ccp_params *params)
{
	struct golden_ccp *ccp = calloc(1, sizeof(*ccp));

	if (!ccp)
		return NULL;
	ccp->params = *params;
	ccp->data[0] = calloc(1, params->data_bank);
	ccp->data[1] = calloc(1, params->data_bank);
	ccp->weight = calloc(CNNACC_CCP_WEIGHT_BANKS, params->weight_bank);
	ccp->icache = calloc(1, params->icache);
	ccp->lob = calloc(lob_floats(params), sizeof(float));
	if (ccp->data[0] && ccp->data[1] && ccp->weight && ccp->icache && ccp->lob)
		return ccp;
	golden_ccp_destroy(ccp);
	return NULL;
}

void golden_ccp_destroy(struct golden_ccp *ccp)
{
	if (!ccp)
		return;
	free(ccp->data[0]);
	free(ccp->data[1]);
	free(ccp->weight);
	free(ccp->icache);
	free(ccp->lob);
	free(ccp);
}

void golden_ccp_core(struct golden_ccp *ccp, struct golden_core *core)
{
	const struct golden_ccp_params *params = &ccp->params;
	uint64_t largest = max_u64(params->data_bank, params->weight_bank);

	core->priv = ccp;
	core->program_max = params->icache;
	core->scrub_cycles = ceil_div(max_u64(largest, params->icache), LINE);
	core->clear = ccp_clear;
	core->run = ccp_run;
}

const struct golden_ccp_regs *golden_ccp_regs(const struct golden_ccp *ccp)
{
	return &ccp->regs;
}

const struct golden_ccp_coverage *golden_ccp_coverage(const struct golden_ccp *ccp)
{
	return &ccp->coverage;
}
