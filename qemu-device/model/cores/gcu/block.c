// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Decode a block and check it, in the order of the section "Checks" of the core's page. */
#include <string.h>

#include "gcu.h"
#include "gcu_mutant.h"

#define BLOCK_WORDS	(CNNACC_GCU_BLOCK_SIZE / 4)

static const void *block_at(const struct gcu *g, uint32_t pc)
{
	return g->program + (size_t)pc * CNNACC_GCU_BLOCK_SIZE;
}

uint32_t gcu_block_kind(const struct gcu *g, uint32_t pc)
{
	uint32_t control;

	memcpy(&control, block_at(g, pc), sizeof(control));
	return control & CNNACC_GCU_KIND_MASK;
}

static uint32_t any(const uint32_t *words, size_t count)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < count; i++)
		bits |= words[i];
	return bits;
}

/* ---- probe, fill, wait ---- */

uint32_t gcu_check_probe(const struct gcu *g, uint32_t pc, struct cnnacc_gcu_probe *b)
{
	bool fill = gcu_block_kind(g, pc) == CNNACC_GCU_FILL, search;

	memcpy(b, block_at(g, pc), sizeof(*b));
	search = b->port == CNNACC_GCU_PORT_SEARCH;
	if (b->control & ~CNNACC_GCU_KIND_MASK ||
	    any(b->reserved, sizeof(b->reserved) / sizeof(b->reserved[0])))
		return CNNACC_GCU_BAD_RESERVED;
	if (b->port > CNNACC_GCU_PORT_SEARCH || (fill && search))
		return CNNACC_GCU_BAD_PORT;
	if (!search && (!b->count || b->count > CNNACC_GCU_PROBE_WORDS))
		return CNNACC_GCU_BAD_COUNT;
	if (search && b->fmbuf_banks)
		return CNNACC_GCU_BAD_UNUSED;
	if (!search && (!b->fmbuf_banks || b->fmbuf_banks >= g->banks))
		return CNNACC_GCU_BAD_BANKS;
	if (b->va % CNNACC_LINE_SIZE || (fill && b->address % g->word))
		return CNNACC_GCU_BAD_ALIGN;
	return 0;
}

uint32_t gcu_check_wait(const struct gcu *g, uint32_t pc, struct cnnacc_gcu_wait *b)
{
	memcpy(b, block_at(g, pc), sizeof(*b));
	if (b->control & ~CNNACC_GCU_KIND_MASK ||
	    any(b->reserved, sizeof(b->reserved) / sizeof(b->reserved[0])))
		return CNNACC_GCU_BAD_RESERVED;
	return 0;
}

/* ---- layer ---- */

static bool is_lut(uint32_t act)
{
	return act == CNNACC_GCU_ACT_SIGMOID || act == CNNACC_GCU_ACT_TANH;
}

static bool is_fp16(const struct gcu_layer *l)
{
	return l->format == CNNACC_GCU_FP16;
}

static void decode_flags(struct gcu_layer *l)
{
	static const uint8_t out_size[8] = {
		[CNNACC_GCU_OUT_INT8] = 1, [CNNACC_GCU_OUT_UINT8] = 1, [CNNACC_GCU_OUT_INT16] = 2,
		[CNNACC_GCU_OUT_INT32] = 4, [CNNACC_GCU_OUT_FP16] = 2, [CNNACC_GCU_OUT_FP32] = 4,
	};
	uint32_t control = l->b.control;

	l->format = control >> CNNACC_GCU_FORMAT_SHIFT & 3;
	l->act = control >> CNNACC_GCU_ACT_SHIFT & 7;
	l->out = control >> CNNACC_GCU_OUT_SHIFT & 7;
	l->unsigned_ifmap = control & CNNACC_GCU_UNSIGNED_IFMAP;
	l->unsigned_weights = control & CNNACC_GCU_UNSIGNED_WEIGHTS;
	l->acc16 = control & CNNACC_GCU_ACC16;
	l->psum = control & CNNACC_GCU_PSUM;
	l->linear = control & CNNACC_GCU_LINEAR;
	l->round_up = control & CNNACC_GCU_ROUND_UP;
	l->clamp = control & CNNACC_GCU_CLAMP;
	l->table = control & CNNACC_GCU_TABLE;
	l->esz = l->format == CNNACC_GCU_INT8 ? 1 : 2;
	l->osz = out_size[l->out];
}

static void decode_geometry(struct gcu_layer *l)
{
	const struct cnnacc_gcu_layer *b = &l->b;

	l->zx = (int16_t)b->zero_in;
	l->zw = (int16_t)(b->zero_in >> 16);
	l->zy = (int32_t)b->zero_out;
	l->width = b->in_size & 0xffff;
	l->height = b->in_size >> 16;
	l->channels = b->channels & 0xffff;
	l->kernels = b->channels >> 16;
	l->ofmw = b->out_size & 0xffff;
	l->ofmh = b->out_size >> 16;
	l->s = b->kernel & 0xff;
	l->r = b->kernel >> 8 & 0xff;
	l->step_h = b->kernel >> 16 & 0xff;
	l->step_v = b->kernel >> 24;
	l->dil_h = (b->spacing & 0xff) + 1;
	l->dil_v = (b->spacing >> 8 & 0xff) + 1;
	l->gap_h = (b->spacing >> 16 & 0xff) + 1;
	l->gap_v = (b->spacing >> 24) + 1;
	l->left = b->padding & 0xff;
	l->right = b->padding >> 8 & 0xff;
	l->top = b->padding >> 16 & 0xff;
	l->bottom = b->padding >> 24;
	l->group_n = b->groups & 0xffff;
	l->fmap_banks = b->fmbuf & 0xff;
	l->columns = CNNACC_GCU_COLUMNS_MIN << (b->fmbuf >> 8 & 0xf);
	l->rows = b->fmbuf >> 16;
	l->group_size = b->kbuf & 0xff;
	l->group_count = b->kbuf >> 16;
}

static bool reserved_set(const struct cnnacc_gcu_layer *b)
{
	return b->control & CNNACC_GCU_CONTROL_RESERVED || b->groups >> 16 ||
	       b->fmbuf & 0xf000 || b->kbuf & 0xff00 || b->threshold >> 16 ||
	       b->act_shift >> 6 || any(b->reserved, sizeof(b->reserved) / sizeof(b->reserved[0]));
}

static bool bad_flags(const struct gcu_layer *l)
{
	return (l->format != CNNACC_GCU_INT8 &&
		(l->unsigned_ifmap || l->unsigned_weights || l->acc16)) ||
	       (l->round_up && (is_fp16(l) || !l->linear));
}

static bool bad_out(const struct gcu_layer *l)
{
	if (!is_fp16(l))
		return l->out > CNNACC_GCU_OUT_INT32;
	return l->out != CNNACC_GCU_OUT_FP16 && l->out != CNNACC_GCU_OUT_FP32;
}

/* Is a word set that the layer does not use? */
static bool unused_set(const struct gcu_layer *l)
{
	const struct cnnacc_gcu_layer *b = &l->b;
	const struct cnnacc_gcu_map *p = &b->psum;
	bool leaky = l->act == CNNACC_GCU_ACT_LEAKY;
	bool shift = !is_fp16(l) && (leaky || is_lut(l->act));

	return (l->table ? b->threshold : b->table_entries | b->increment_va | b->vector_va) ||
	       (!l->psum && (p->va | p->column_stride | p->row_stride | p->group_stride)) ||
	       (!l->linear && b->linear_va) || (!is_lut(l->act) && b->lut_va) ||
	       (!l->clamp && (b->clamp_low | b->clamp_high)) ||
	       (!leaky && !shift && b->act_factor) || (!shift && b->act_shift);
}

static bool outside(int32_t value, int32_t low, int32_t high)
{
	return value < low || value > high;
}

static bool bad_zero(const struct gcu_layer *l)
{
	if (is_fp16(l))
		return l->zx || l->zw || l->zy;
	if (l->format == CNNACC_GCU_INT16 && (l->zx || l->zw))
		return true;
	if (l->format == CNNACC_GCU_INT8 &&
	    (outside(l->zx, l->unsigned_ifmap ? 0 : -128, l->unsigned_ifmap ? 255 : 127) ||
	     outside(l->zw, l->unsigned_weights ? 0 : -128, l->unsigned_weights ? 255 : 127)))
		return true;
	switch (l->out) {
	case CNNACC_GCU_OUT_INT8:
		return outside(l->zy, -128, 127);
	case CNNACC_GCU_OUT_UINT8:
		return outside(l->zy, 0, 255);
	case CNNACC_GCU_OUT_INT16:
		return outside(l->zy, INT16_MIN, INT16_MAX);
	}
	return false;
}

static bool bad_step(uint32_t step)
{
	return !step || step > CNNACC_GCU_STRIDE_MAX;
}

static uint32_t bad_shape(const struct gcu_layer *l)
{
	if (!l->width || !l->height || !l->channels || !l->kernels)
		return CNNACC_GCU_BAD_SIZE;
	if (!l->r || !l->s || l->r * l->s > CNNACC_GCU_POINTS_MAX)
		return CNNACC_GCU_BAD_KERNEL;
	if (bad_step(l->step_h) || bad_step(l->step_v))
		return CNNACC_GCU_BAD_STRIDE;
	if (l->dil_h > CNNACC_GCU_DILATION_MAX + 1 || l->dil_v > CNNACC_GCU_DILATION_MAX + 1)
		return CNNACC_GCU_BAD_DILATION;
	if (l->gap_h > CNNACC_GCU_INNER_MAX + 1 || l->gap_v > CNNACC_GCU_INNER_MAX + 1)
		return CNNACC_GCU_BAD_INNER;
	if (!l->group_n || (l->group_n > 1 && (l->channels != l->kernels ||
					       l->channels % l->group_n)))
		return CNNACC_GCU_BAD_GROUPS;
	return 0;
}

/** struct axis - what one axis of an output is made of. */
struct axis {
	uint32_t size, before, behind, gap, points, dil, step;
};

static bool bad_length(struct axis a, uint32_t length)
{
	uint32_t extended = a.size + a.before + a.behind + (a.size - 1) * (a.gap - 1);
	uint32_t kernel = a.points + (a.points - 1) * (a.dil - 1);

	return extended < kernel || !length || length > (extended - kernel) / a.step + 1;
}

static uint32_t bad_output(const struct gcu *g, const struct gcu_layer *l)
{
	const struct axis h = {
		l->width, l->left, l->right, l->gap_h, l->s, l->dil_h, l->step_h,
	};
	const struct axis v = {
		l->height, l->top, l->bottom, l->gap_v, l->r, l->dil_v, l->step_v,
	};

	if (bad_length(h, l->ofmw) || bad_length(v, l->ofmh))
		return CNNACC_GCU_BAD_OUT_SIZE;
	if (l->ofmw > (l->acc16 ? 2 : 1) * g->rbuf_depth)
		return CNNACC_GCU_BAD_RBUF;
	return 0;
}

static bool bad_group_size(const struct gcu_layer *l)
{
	static const uint8_t sizes[] = { 1, 9, 25, 49, 81, 121 };

	for (size_t i = 0; i < sizeof(sizes); i++)
		if (l->group_size == sizes[i])
			return l->group_size < l->r * l->s;
	return true;
}

static uint32_t bad_buffers(const struct gcu *g, const struct gcu_layer *l)
{
	uint32_t banks = l->fmap_banks, code = l->b.fmbuf >> 8 & 0xf;

	if (!banks || banks >= g->banks)
		return CNNACC_GCU_BAD_BANKS;
	if (code > CNNACC_GCU_COLUMNS_CODE_MAX || l->columns < l->width)
		return CNNACC_GCU_BAD_COLUMNS;
	if (!l->rows || l->rows > g->max_rows || l->rows * l->columns > banks * GCU_BANK_WORDS)
		return CNNACC_GCU_BAD_ROWS;
	if (bad_group_size(l))
		return CNNACC_GCU_BAD_KBUF_SIZE;
	if (l->group_count < 3 || (uint64_t)l->group_count * l->group_size * g->atomic_k >
				  (uint64_t)(g->banks - banks) * GCU_BANK_WORDS)
		return CNNACC_GCU_BAD_KBUF_GROUPS;
	if (l->table && !l->b.table_entries)
		return CNNACC_GCU_BAD_TABLE;
	return 0;
}

static bool bad_clamp(const struct gcu_layer *l)
{
	float low, high;

	if (!l->clamp)
		return false;
	if (!is_fp16(l))
		return (int32_t)l->b.clamp_low > (int32_t)l->b.clamp_high;
	memcpy(&low, &l->b.clamp_low, sizeof(low));
	memcpy(&high, &l->b.clamp_high, sizeof(high));
	return !(low <= high);
}

static bool misaligned(const struct cnnacc_gcu_map *map, uint32_t size)
{
	return (map->va | map->column_stride | map->row_stride | map->group_stride) % size;
}

static bool bad_align(const struct gcu_layer *l)
{
	const struct cnnacc_gcu_layer *b = &l->b;

	return misaligned(&b->ifmap, l->esz) || misaligned(&b->psum, 4) ||
	       misaligned(&b->ofmap, l->osz) ||
	       (b->weight_va | b->linear_va | b->lut_va | b->increment_va | b->vector_va) %
	       CNNACC_LINE_SIZE;
}

static uint32_t first_bad(const struct gcu *g, const struct gcu_layer *l)
{
	uint32_t bad;

	if (reserved_set(&l->b))
		return CNNACC_GCU_BAD_RESERVED;
	if (l->format > CNNACC_GCU_FP16)
		return CNNACC_GCU_BAD_FORMAT;
	if (bad_flags(l))
		return CNNACC_GCU_BAD_FLAGS;
	if (l->act > CNNACC_GCU_ACT_TANH)
		return CNNACC_GCU_BAD_ACT;
	if (bad_out(l))
		return CNNACC_GCU_BAD_OUT;
	if (unused_set(l))
		return CNNACC_GCU_BAD_UNUSED;
	if (bad_zero(l))
		return CNNACC_GCU_BAD_ZERO;
	bad = bad_shape(l);
	if (!bad)
		bad = bad_output(g, l);
	if (!bad)
		bad = bad_buffers(g, l);
	if (bad)
		return bad;
	if (bad_clamp(l))
		return CNNACC_GCU_BAD_CLAMP;
	return bad_align(l) ? CNNACC_GCU_BAD_ALIGN : 0;
}

static uint32_t log2_of(uint32_t power)
{
	return (uint32_t)__builtin_ctz(power);
}

uint32_t gcu_decode_layer(const struct gcu *g, uint32_t pc, struct gcu_layer *l)
{
	uint32_t update, bad;

	memcpy(&l->b, block_at(g, pc), sizeof(l->b));
	decode_flags(l);
	decode_geometry(l);
	bad = first_bad(g, l);
	if (bad)
		return bad;
	update = is_fp16(l) ? CNNACC_GCU_UPDATE_FP16 : CNNACC_GCU_UPDATE_INT;
	l->kernel_groups = (uint32_t)gcu_div_up(l->kernels, g->atomic_k);
	l->op1_cycles = l->ofmw > update ? l->ofmw : update + 1;
	l->latency = log2_of(g->atomic_c) + (is_fp16(l) ? 4 : 2) + update + 2;
	l->tail = 3 + (l->linear ? is_fp16(l) ? 9 : 8 : 0) + (l->act ? 6 : 0);
	if (MUTANT(GAP) && l->gap_h > 1)
		l->gap_h++;
	return 0;
}
