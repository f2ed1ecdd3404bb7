// SPDX-License-Identifier: MIT
#include "block.h"

#include "../fields.h"
#include "../fp32.h"

/* The blocks' words in Documentation/hardware/gcu.rst, row by row. */
enum group { LAYER, PROBE, WAIT };

enum name {
	CALFMT, UNSIGNED_IFMAP, UNSIGNED_WEIGHTS, ACC16, PSUM, LINEAR, ROUND_UP, CLAMP, TABLE,
	ACTIVATION, OUTPUT_TYPE, ZX, ZW, ZY, W, H, C, K, OFMW, OFMH, S, R, HSTRIDE, VSTRIDE,
	DIL_H, DIL_V, INNER_LR, INNER_TB, LEFT, RIGHT, TOP, BOTTOM, GROUP_N, FMBUFBANKN,
	COLUMN_CODE, FMBUFROWN, KBUFGRPSZ, KBUFGRPN, THRESHOLD, ENTRIES, ACT_FACTOR, ACT_SHIFT,
	IFMAP, IFMAP_COLUMN, IFMAP_ROW, IFMAP_GROUP,
	PSUM_VA, PSUM_COLUMN, PSUM_ROW, PSUM_GROUP,
	OFMAP, OFMAP_COLUMN, OFMAP_ROW, OFMAP_GROUP,
	WEIGHT_VA, LINEAR_VA, LUT_VA, INCREMENT_VA, VECTOR_VA, CLAMP_LOW, CLAMP_HIGH,
	KIND, PORT, ADDRESS, COUNT, PROBE_VA, PROBE_BANKS, CYCLES, NAMES,
};

static const struct field field[] = {
	{ LAYER, 0, 3, 0, false, KIND },
	{ LAYER, 0, 5, 4, false, CALFMT },
	{ LAYER, 0, 8, 8, false, UNSIGNED_IFMAP },
	{ LAYER, 0, 9, 9, false, UNSIGNED_WEIGHTS },
	{ LAYER, 0, 10, 10, false, ACC16 },
	{ LAYER, 0, 11, 11, false, PSUM },
	{ LAYER, 0, 12, 12, false, LINEAR },
	{ LAYER, 0, 13, 13, false, ROUND_UP },
	{ LAYER, 0, 14, 14, false, CLAMP },
	{ LAYER, 0, 15, 15, false, TABLE },
	{ LAYER, 0, 18, 16, false, ACTIVATION },
	{ LAYER, 0, 22, 20, false, OUTPUT_TYPE },
	{ LAYER, 1, 15, 0, true, ZX },
	{ LAYER, 1, 31, 16, true, ZW },
	{ LAYER, 2, 31, 0, true, ZY },
	{ LAYER, 3, 15, 0, false, W },
	{ LAYER, 3, 31, 16, false, H },
	{ LAYER, 4, 15, 0, false, C },
	{ LAYER, 4, 31, 16, false, K },
	{ LAYER, 5, 15, 0, false, OFMW },
	{ LAYER, 5, 31, 16, false, OFMH },
	{ LAYER, 6, 7, 0, false, S },
	{ LAYER, 6, 15, 8, false, R },
	{ LAYER, 6, 23, 16, false, HSTRIDE },
	{ LAYER, 6, 31, 24, false, VSTRIDE },
	{ LAYER, 7, 7, 0, false, DIL_H },
	{ LAYER, 7, 15, 8, false, DIL_V },
	{ LAYER, 7, 23, 16, false, INNER_LR },
	{ LAYER, 7, 31, 24, false, INNER_TB },
	{ LAYER, 8, 7, 0, false, LEFT },
	{ LAYER, 8, 15, 8, false, RIGHT },
	{ LAYER, 8, 23, 16, false, TOP },
	{ LAYER, 8, 31, 24, false, BOTTOM },
	{ LAYER, 9, 15, 0, false, GROUP_N },
	{ LAYER, 10, 7, 0, false, FMBUFBANKN },
	{ LAYER, 10, 11, 8, false, COLUMN_CODE },
	{ LAYER, 10, 31, 16, false, FMBUFROWN },
	{ LAYER, 11, 7, 0, false, KBUFGRPSZ },
	{ LAYER, 11, 31, 16, false, KBUFGRPN },
	{ LAYER, 12, 15, 0, false, THRESHOLD },
	{ LAYER, 13, 31, 0, false, ENTRIES },
	{ LAYER, 14, 31, 0, false, ACT_FACTOR },
	{ LAYER, 15, 5, 0, false, ACT_SHIFT },
	{ LAYER, 16, 31, 0, false, IFMAP },
	{ LAYER, 17, 31, 0, false, IFMAP_COLUMN },
	{ LAYER, 18, 31, 0, false, IFMAP_ROW },
	{ LAYER, 19, 31, 0, false, IFMAP_GROUP },
	{ LAYER, 20, 31, 0, false, PSUM_VA },
	{ LAYER, 21, 31, 0, false, PSUM_COLUMN },
	{ LAYER, 22, 31, 0, false, PSUM_ROW },
	{ LAYER, 23, 31, 0, false, PSUM_GROUP },
	{ LAYER, 24, 31, 0, false, OFMAP },
	{ LAYER, 25, 31, 0, false, OFMAP_COLUMN },
	{ LAYER, 26, 31, 0, false, OFMAP_ROW },
	{ LAYER, 27, 31, 0, false, OFMAP_GROUP },
	{ LAYER, 28, 31, 0, false, WEIGHT_VA },
	{ LAYER, 29, 31, 0, false, LINEAR_VA },
	{ LAYER, 30, 31, 0, false, LUT_VA },
	{ LAYER, 31, 31, 0, false, INCREMENT_VA },
	{ LAYER, 32, 31, 0, false, VECTOR_VA },
	{ LAYER, 33, 31, 0, false, CLAMP_LOW },
	{ LAYER, 34, 31, 0, false, CLAMP_HIGH },
	{ PROBE, 0, 3, 0, false, KIND },
	{ PROBE, 1, 31, 0, false, PORT },
	{ PROBE, 2, 31, 0, false, ADDRESS },
	{ PROBE, 3, 31, 0, false, COUNT },
	{ PROBE, 4, 31, 0, false, PROBE_VA },
	{ PROBE, 5, 31, 0, false, PROBE_BANKS },
	{ WAIT, 0, 3, 0, false, KIND },
	{ WAIT, 1, 31, 0, false, CYCLES },
};

static const struct field_table fields = {
	field, sizeof(field) / sizeof(field[0]), GOLDEN_GCU_BLOCK_WORDS,
};

/* A fill has the words of a probe; those of an unknown kind do not matter. */
static enum group group_of(int64_t kind)
{
	switch (kind) {
	case CNNACC_GCU_PROBE:
	case CNNACC_GCU_FILL:
		return PROBE;
	case CNNACC_GCU_WAIT:
		return WAIT;
	default:
		return LAYER;
	}
}

uint32_t golden_gcu_reserved(int64_t kind, unsigned int word)
{
	return fields_reserved(&fields, group_of(kind), word);
}

/* Four fields from @first on. */
static struct golden_gcu_map map_of(const int64_t v[NAMES], enum name first)
{
	return (struct golden_gcu_map){ v[first], v[first + 1], v[first + 2], v[first + 3] };
}

static int64_t out_bytes(int64_t out)
{
	switch (out) {
	case CNNACC_GCU_OUT_INT8:
	case CNNACC_GCU_OUT_UINT8:
		return 1;
	case CNNACC_GCU_OUT_INT16:
	case CNNACC_GCU_OUT_FP16:
		return 2;
	default:
		return 4;
	}
}

static void derive(struct golden_gcu_layer *l)
{
	l->fp16 = l->format == CNNACC_GCU_FP16;
	l->esz = l->format == CNNACC_GCU_INT8 ? 1 : 2;
	l->out_bytes = out_bytes(l->out);
	l->fmbufcoln = 4ll << l->column_code;
	l->uses_lut = l->act == CNNACC_GCU_ACT_SIGMOID || l->act == CNNACC_GCU_ACT_TANH;
}

static struct golden_gcu_layer layer_of(const int64_t v[NAMES])
{
	return (struct golden_gcu_layer){
		.format = v[CALFMT], .act = v[ACTIVATION], .out = v[OUTPUT_TYPE],
		.unsigned_ifmap = v[UNSIGNED_IFMAP], .unsigned_weights = v[UNSIGNED_WEIGHTS],
		.acc16 = v[ACC16], .psum_on = v[PSUM], .linear = v[LINEAR],
		.round_up = v[ROUND_UP], .clamp = v[CLAMP], .table = v[TABLE],
		.zx = v[ZX], .zw = v[ZW], .zy = v[ZY],
		.w = v[W], .h = v[H], .c = v[C], .k = v[K], .ofmw = v[OFMW], .ofmh = v[OFMH],
		.s = v[S], .r = v[R], .hstride = v[HSTRIDE], .vstride = v[VSTRIDE],
		.dil_h = v[DIL_H], .dil_v = v[DIL_V],
		.inner_lr = v[INNER_LR], .inner_tb = v[INNER_TB],
		.left = v[LEFT], .right = v[RIGHT], .top = v[TOP], .bottom = v[BOTTOM],
		.group_n = v[GROUP_N], .fmbufbankn = v[FMBUFBANKN],
		.column_code = v[COLUMN_CODE], .fmbufrown = v[FMBUFROWN],
		.kbufgrpsz = v[KBUFGRPSZ], .kbufgrpn = v[KBUFGRPN],
		.threshold = v[THRESHOLD], .entries = v[ENTRIES],
		.act_factor = v[ACT_FACTOR], .act_shift = v[ACT_SHIFT],
		.ifmap = map_of(v, IFMAP), .psum = map_of(v, PSUM_VA), .ofmap = map_of(v, OFMAP),
		.weight_va = v[WEIGHT_VA], .linear_va = v[LINEAR_VA], .lut_va = v[LUT_VA],
		.increment_va = v[INCREMENT_VA], .vector_va = v[VECTOR_VA],
		.clamp_low = v[CLAMP_LOW], .clamp_high = v[CLAMP_HIGH],
	};
}

void golden_gcu_decode(const uint32_t words[GOLDEN_GCU_BLOCK_WORDS],
		       struct golden_gcu_block *block)
{
	int64_t v[NAMES] = { 0 };

	block->kind = words[0] & 15;
	block->reserved = !fields_decode(&fields, group_of(block->kind), words, v);
	block->probe = (struct golden_gcu_probe){
		v[PORT], v[ADDRESS], v[COUNT], v[PROBE_VA], v[PROBE_BANKS],
	};
	block->cycles = v[CYCLES];
	block->layer = layer_of(v);
	block->layer.flags = words[0] >> 8 & 255;
	derive(&block->layer);
}

/* ---------------------------------------------------------------- checks */

static bool between(int64_t value, int64_t low, int64_t high)
{
	return value >= low && value <= high;
}

static bool bad_flags(const struct golden_gcu_layer *l)
{
	bool int8 = l->format == CNNACC_GCU_INT8;

	return (!int8 && (l->unsigned_ifmap || l->unsigned_weights || l->acc16)) ||
	       (l->round_up && (l->fp16 || !l->linear));
}

static bool bad_out(const struct golden_gcu_layer *l)
{
	if (l->fp16)
		return l->out != CNNACC_GCU_OUT_FP16 && l->out != CNNACC_GCU_OUT_FP32;
	return l->out > CNNACC_GCU_OUT_INT32;
}

static bool any(const struct golden_gcu_map *m)
{
	return m->va || m->column || m->row || m->group;
}

static bool bad_unused(const struct golden_gcu_layer *l)
{
	bool leaky = l->act == CNNACC_GCU_ACT_LEAKY, factor = leaky || (l->uses_lut && !l->fp16);

	if (l->table ? l->threshold : l->entries || l->increment_va || l->vector_va)
		return true;
	if ((!l->psum_on && any(&l->psum)) || (!l->linear && l->linear_va) ||
	    (!l->uses_lut && l->lut_va) || (!l->clamp && (l->clamp_low || l->clamp_high)))
		return true;
	return (!factor && l->act_factor) || (!(factor && !l->fp16) && l->act_shift);
}

static bool bad_int8_zero(int64_t zero, bool is_unsigned)
{
	return is_unsigned ? !between(zero, 0, 255) : !between(zero, -128, 127);
}

static bool bad_out_zero(const struct golden_gcu_layer *l)
{
	switch (l->out) {
	case CNNACC_GCU_OUT_INT8:
		return !between(l->zy, -128, 127);
	case CNNACC_GCU_OUT_UINT8:
		return !between(l->zy, 0, 255);
	case CNNACC_GCU_OUT_INT16:
		return !between(l->zy, -32768, 32767);
	default:
		return false;
	}
}

static bool bad_zero(const struct golden_gcu_layer *l)
{
	if (l->fp16)
		return l->zx || l->zw || l->zy;
	if (l->format == CNNACC_GCU_INT16)
		return l->zx || l->zw || bad_out_zero(l);
	return bad_int8_zero(l->zx, l->unsigned_ifmap) ||
	       bad_int8_zero(l->zw, l->unsigned_weights) || bad_out_zero(l);
}

/* Outputs of an axis are 1..(extended size - kernel) // stride + 1. */
static bool bad_axis(int64_t out, int64_t extended, int64_t kernel, int64_t stride)
{
	return extended < kernel || !between(out, 1, (extended - kernel) / stride + 1);
}

static bool bad_out_size(const struct golden_gcu_layer *l)
{
	int64_t ext_w = l->w + l->left + l->right + (l->w - 1) * l->inner_lr;
	int64_t ext_h = l->h + l->top + l->bottom + (l->h - 1) * l->inner_tb;

	return bad_axis(l->ofmw, ext_w, l->s + (l->s - 1) * l->dil_h, l->hstride) ||
	       bad_axis(l->ofmh, ext_h, l->r + (l->r - 1) * l->dil_v, l->vstride);
}

static bool bad_kbuf_size(const struct golden_gcu_layer *l)
{
	switch (l->kbufgrpsz) {
	case 1:
	case 9:
	case 25:
	case 49:
	case 81:
	case 121:
		return l->kbufgrpsz < l->r * l->s;
	default:
		return true;
	}
}

static bool is_nan(int64_t word)
{
	return (word & 0x7fffffff) > 0x7f800000;
}

static bool bad_clamp(const struct golden_gcu_layer *l)
{
	if (!l->clamp)
		return false;
	if (!l->fp16)
		return (int32_t)l->clamp_low > (int32_t)l->clamp_high;
	return is_nan(l->clamp_low) || is_nan(l->clamp_high) ||
	       fp32_from_bits(l->clamp_low) > fp32_from_bits(l->clamp_high);
}

static bool odd_map(const struct golden_gcu_map *m, int64_t bytes)
{
	return m->va % bytes || m->column % bytes || m->row % bytes || m->group % bytes;
}

static bool bad_align(const struct golden_gcu_layer *l)
{
	return odd_map(&l->ifmap, l->esz) || odd_map(&l->psum, 4) ||
	       odd_map(&l->ofmap, l->out_bytes) || l->weight_va % 64 || l->linear_va % 64 ||
	       l->lut_va % 64 || l->increment_va % 64 || l->vector_va % 64;
}

/* BAD_FORMAT to BAD_GROUPS. */
static uint32_t check_numbers(const struct golden_gcu_layer *l)
{
	if (l->format > CNNACC_GCU_FP16)
		return CNNACC_GCU_BAD_FORMAT;
	if (bad_flags(l))
		return CNNACC_GCU_BAD_FLAGS;
	if (l->act > CNNACC_GCU_ACT_TANH)
		return CNNACC_GCU_BAD_ACT;
	if (bad_out(l))
		return CNNACC_GCU_BAD_OUT;
	if (bad_unused(l))
		return CNNACC_GCU_BAD_UNUSED;
	if (bad_zero(l))
		return CNNACC_GCU_BAD_ZERO;
	if (!l->w || !l->h || !l->c || !l->k)
		return CNNACC_GCU_BAD_SIZE;
	if (!l->r || !l->s || l->r * l->s > 121)
		return CNNACC_GCU_BAD_KERNEL;
	if (!between(l->hstride, 1, 8) || !between(l->vstride, 1, 8))
		return CNNACC_GCU_BAD_STRIDE;
	if (l->dil_h > 63 || l->dil_v > 63)
		return CNNACC_GCU_BAD_DILATION;
	if (l->inner_lr > 7 || l->inner_tb > 7)
		return CNNACC_GCU_BAD_INNER;
	if (!l->group_n || (l->group_n > 1 && (l->c != l->k || l->c % l->group_n)))
		return CNNACC_GCU_BAD_GROUPS;
	return 0;
}

/* BAD_OUT_SIZE to BAD_ALIGN. */
static uint32_t check_sizes(const struct golden_gcu_layer *l, const struct golden_gcu_params *p)
{
	int64_t words = l->fmbufbankn * GOLDEN_GCU_BANK_WORDS;
	int64_t kernel_words = (int64_t)p->cbuf_banks * GOLDEN_GCU_BANK_WORDS - words;

	if (bad_out_size(l))
		return CNNACC_GCU_BAD_OUT_SIZE;
	if (l->ofmw > (l->acc16 ? 2ll : 1ll) * p->rbuf_depth)
		return CNNACC_GCU_BAD_RBUF;
	if (!between(l->fmbufbankn, 1, (int64_t)p->cbuf_banks - 1))
		return CNNACC_GCU_BAD_BANKS;
	if (l->column_code > 10 || l->fmbufcoln < l->w)
		return CNNACC_GCU_BAD_COLUMNS;
	if (!between(l->fmbufrown, 1, p->fmbuf_rows) || l->fmbufrown * l->fmbufcoln > words)
		return CNNACC_GCU_BAD_ROWS;
	if (bad_kbuf_size(l))
		return CNNACC_GCU_BAD_KBUF_SIZE;
	if (l->kbufgrpn < 3 || l->kbufgrpn * l->kbufgrpsz * p->atomic_k > kernel_words)
		return CNNACC_GCU_BAD_KBUF_GROUPS;
	if (l->table && !l->entries)
		return CNNACC_GCU_BAD_TABLE;
	if (bad_clamp(l))
		return CNNACC_GCU_BAD_CLAMP;
	return bad_align(l) ? CNNACC_GCU_BAD_ALIGN : 0;
}

static uint32_t check_probe(const struct golden_gcu_probe *b, const struct golden_gcu_params *p)
{
	bool search = b->port == CNNACC_GCU_PORT_SEARCH;

	if (b->port > CNNACC_GCU_PORT_SEARCH)
		return CNNACC_GCU_BAD_PORT;
	if (!search && !between(b->count, 1, 16384))
		return CNNACC_GCU_BAD_COUNT;
	if (search && b->fmbufbankn)
		return CNNACC_GCU_BAD_UNUSED;
	if (!search && !between(b->fmbufbankn, 1, (int64_t)p->cbuf_banks - 1))
		return CNNACC_GCU_BAD_BANKS;
	return b->va % 64 ? CNNACC_GCU_BAD_ALIGN : 0;
}

static uint32_t check_fill(const struct golden_gcu_probe *b, const struct golden_gcu_params *p)
{
	uint32_t bad;

	if (b->port > CNNACC_GCU_PORT_KERNEL)
		return CNNACC_GCU_BAD_PORT;
	bad = check_probe(b, p);
	return bad ? bad : b->address % (2 * p->atomic_c) ? CNNACC_GCU_BAD_ALIGN : 0;
}

static uint32_t check_layer(const struct golden_gcu_layer *l, const struct golden_gcu_params *p)
{
	uint32_t bad = check_numbers(l);

	return bad ? bad : check_sizes(l, p);
}

uint32_t golden_gcu_check(const struct golden_gcu_block *block,
			  const struct golden_gcu_params *params)
{
	if (!between(block->kind, CNNACC_GCU_LAYER, CNNACC_GCU_WAIT))
		return CNNACC_GCU_BAD_KIND;
	if (block->reserved)
		return CNNACC_GCU_BAD_RESERVED;
	switch (block->kind) {
	case CNNACC_GCU_LAYER:
		return check_layer(&block->layer, params);
	case CNNACC_GCU_PROBE:
		return check_probe(&block->probe, params);
	case CNNACC_GCU_FILL:
		return check_fill(&block->probe, params);
	default:
		return 0;
	}
}
