// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cnnacc_ccp.h"
#include "gen.h"

#define BANK_FLOATS	(CNNACC_CCP_WEIGHT_BANK_DEFAULT / 4)
#define DATA_HALF	(CNNACC_CCP_DATA_BANK_DEFAULT / 8)
#define WEIGHT_HALF	(BANK_FLOATS / 2)
#define LINE_FLOATS	(CNNACC_LINE_SIZE / 4)

/** struct conv_part - one EXEC of a layer. */
struct conv_part {
	unsigned int row, col, ci_first, ci_last, co_first, co_count, ci_num, co_num;
};

static unsigned int between(struct micro_case *c, unsigned int low, unsigned int high)
{
	c->seed = c->seed * 6364136223846793005u + 1442695040888963407u;
	return low + (unsigned int)((c->seed >> 32) % (high - low + 1));
}

static bool one_in(struct micro_case *c, unsigned int n)
{
	return between(c, 1, n) == 1;
}

static unsigned int ceil_div(unsigned int a, unsigned int b)
{
	return (a + b - 1) / b;
}

static void emit(struct micro_case *c, uint32_t word)
{
	if (c->words == CASE_WORDS) {
		fprintf(stderr, "program too long: %s\n", c->text);
		abort();
	}
	c->word[c->words++] = word;
}

static void set(struct micro_case *c, unsigned int r, uint32_t value)
{
	emit(c, CNNACC_CCP_INSN_LDI(r, value));
	if (value >> 16)
		emit(c, CNNACC_CCP_INSN_LDIH(r, value >> 16));
}

static void configure(struct micro_case *c, unsigned int unit, unsigned int group,
		      const uint32_t value[8])
{
	for (unsigned int r = 0; r < 8; r++)
		set(c, r, value[r]);
	emit(c, CNNACC_CCP_INSN_CFG(unit, group));
}

static enum case_place pick_place(struct micro_case *c)
{
	return one_in(c, 2) ? PLACE_LOWER : between(c, PLACE_LOWER, CASE_PLACES - 1);
}

/* Where @length units begin in a bank whose halves have @half units; they fit the bank. */
static unsigned int place(enum case_place place, unsigned int length, unsigned int half)
{
	unsigned int last = 2 * half - length;
	unsigned int first = place == PLACE_LOWER ? 0 : half;

	if (place == PLACE_BOTH)
		first -= length < half ? (length + 1) / 2 : half;
	return first < last ? first : last;
}

static void dma(struct micro_case *c, bool store, unsigned int target, unsigned int first,
		unsigned int lines)
{
	set(c, 0, CASE_LINE + between(c, 0, 255));
	set(c, 1, lines);
	set(c, 2, first);
	emit(c, store ? CNNACC_CCP_INSN_STORE(0, 1, 2, target) :
			CNNACC_CCP_INSN_LOAD(0, 1, 2, target));
}

/* The lines that have floats @first..@first + @length - 1. */
static void dma_floats(struct micro_case *c, bool store, unsigned int target, unsigned int first,
		       unsigned int length)
{
	unsigned int line = first / LINE_FLOATS;

	dma(c, store, target, line, (first + length - 1) / LINE_FLOATS + 1 - line);
}

static void any_transfer(struct micro_case *c)
{
	unsigned int target = between(c, 0, 5);
	bool store = target < 2 && one_in(c, 2);
	unsigned int half = (target < 2 ? DATA_HALF : WEIGHT_HALF) / LINE_FLOATS;
	unsigned int lines = one_in(c, 8) ? 0 : between(c, 1, one_in(c, 3) ? 500 : 60);

	if (target >= 2)
		target += CNNACC_CCP_TGT_WEIGHT0 - 2;
	dma(c, store, target, place(pick_place(c), lines, half), lines);
}

void case_init(struct micro_case *c, enum case_kind kind, uint64_t seed)
{
	memset(c, 0, sizeof(*c));
	c->kind = kind;
	c->seed = seed * 0x9e3779b97f4a7c15u + 1;
	c->times = 1;
	between(c, 0, 1);
}

void case_end(struct micro_case *c)
{
	emit(c, CNNACC_CCP_INSN_NOP);
}

/* ---- conv */

static unsigned int out_size(unsigned int in, unsigned int kernel, unsigned int stride)
{
	return (in - kernel) / stride + 1;
}

struct conv_layer case_conv_layer(struct micro_case *c)
{
	static const unsigned int kernel[] = { 1, 1, 2, 3, 3, 3, 4, 5, 7, 11 };
	struct conv_layer l = { .kh = kernel[between(c, 0, 9)], .bias = one_in(c, 2) };

	l.kw = one_in(c, 4) ? kernel[between(c, 0, 9)] : l.kh;
	l.sy = one_in(c, 3) ? between(c, 2, one_in(c, 3) ? 8 : 3) : 1;
	l.sx = one_in(c, 6) ? between(c, 1, 4) : l.sy;
	l.iw = l.kw + between(c, 0, 20);
	l.ih = one_in(c, 3) ? l.kh + between(c, 0, 20) : l.iw < l.kh ? l.kh : l.iw;
	if (one_in(c, 3)) {
		l.top = between(c, 0, l.kh - 1);
		l.bottom = between(c, 0, l.kh - 1);
		l.left = between(c, 0, l.kw - 1);
		l.right = between(c, 0, l.kw - 1);
	}
	l.oh = out_size(l.ih + l.top + l.bottom, l.kh, l.sy);
	l.ow = out_size(l.iw + l.left + l.right, l.kw, l.sx);
	l.groups = one_in(c, 5) ? between(c, 1, 4) : 4;
	l.co = between(c, 1, 40);
	l.ci = between(c, 1, 8);
	while (l.ci > 1 && ceil_div(l.co, 4) * (l.ci * l.kh * l.kw + 1) > BANK_FLOATS)
		l.ci--;
	l.vec = one_in(c, 2) ? between(c, 1, 16) : 16;
	l.in_shift = one_in(c, 2) ? between(c, 0, 40) : 0;
	l.in_gap = one_in(c, 4) ? between(c, 1, 30) : 0;
	l.out_gap = one_in(c, 4) ? between(c, 1, 30) : 0;
	l.relu = one_in(c, 2);
	l.in = pick_place(c);
	l.out = pick_place(c);
	l.weights = pick_place(c);
	l.biases = pick_place(c);
	snprintf(c->text, sizeof(c->text),
		 "%ux%u stride %u,%u in %ux%u pad %u,%u,%u,%u ci %u co %u groups %u rows %u%s",
		 l.kh, l.kw, l.sy, l.sx, l.ih, l.iw, l.top, l.bottom, l.left, l.right, l.ci, l.co,
		 l.groups, l.vec, l.bias ? " bias" : "");
	return l;
}

/* The formula's terms, one by one; SHIFT holds k * (4k + 1), as the formula has it. */
static void conv_terms(struct micro_case *c, const struct conv_layer *l,
		       const struct conv_part *p)
{
	unsigned int n = (p->ci_last - p->ci_first + 1) * c->times;
	unsigned int rows = (l->vec - 1) * l->sy + l->kh, cols = 7 * l->sx + l->kw;
	unsigned int passes = ceil_div(p->co_count, 4 * l->groups);
	bool last = p->ci_last == p->ci_num - 1;

	c->term[MICRO_LOAD] += n * (rows * ceil_div(cols, 16) + 2);
	c->term[MICRO_SHIFT] += n * passes * l->kh * (4 * l->kw + 1);
	c->term[MICRO_ACC] += n * passes * 4;
	c->term[MICRO_BIAS] += last && l->bias ? c->times * passes * 4 : 0;
	c->term[MICRO_SAVE] += last ? c->times * l->vec * p->co_count : 0;
	c->term[MICRO_DRAIN] += c->times * 6;
}

static unsigned int conv_in_pitch(const struct conv_layer *l)
{
	return l->ih * l->iw + l->in_gap;
}

static unsigned int conv_out_pitch(const struct conv_layer *l)
{
	return l->oh * l->ow + l->out_gap;
}

static unsigned int conv_in_base(const struct conv_layer *l)
{
	return place(l->in, l->ci * conv_in_pitch(l) + l->in_shift, DATA_HALF) + l->in_shift;
}

static unsigned int conv_out_base(const struct conv_layer *l)
{
	return place(l->out, l->co * conv_out_pitch(l), DATA_HALF);
}

/* Weights of the layer in one bank. */
static unsigned int conv_weights(const struct conv_layer *l)
{
	return ceil_div(l->co, 4) * l->ci * l->kh * l->kw;
}

static unsigned int conv_weight_base(const struct conv_layer *l)
{
	return place(l->weights, conv_weights(l), WEIGHT_HALF);
}

static unsigned int conv_bias_base(const struct conv_layer *l)
{
	return place(l->biases, ceil_div(l->co, 4), WEIGHT_HALF);
}

/* Data does not affect timing, so biases may overlap weights. */
static void conv_group1(struct micro_case *c, const struct conv_layer *l)
{
	uint32_t g[8] = {
		[0] = conv_in_base(l),
		[1] = conv_out_base(l),
		[2] = conv_weight_base(l),
		[3] = conv_bias_base(l),
		[4] = l->ih | l->oh << 16,
		[5] = l->in_gap ? conv_in_pitch(l) : 0,
		[6] = l->out_gap ? conv_out_pitch(l) : 0,
	};

	configure(c, CNNACC_CCP_CONV, 1, g);
}

static void conv_group0(struct micro_case *c, const struct conv_layer *l,
			const struct conv_part *p)
{
	uint32_t g[8] = {
		l->relu | l->bias << 1 | l->sy << 8 | l->kh << 16 | l->sx << 24 | l->kw << 28,
		l->iw | l->ow << 16,
		p->ci_num | p->co_num << 16,
		p->ci_first | p->ci_last << 16,
		p->row | p->col << 16,
		l->vec | (l->groups - 1) << 8 | p->co_first << 16,
		p->co_count | l->top << 16 | l->bottom << 20 | l->left << 24 | l->right << 28,
		0,
	};

	configure(c, CNNACC_CCP_CONV, 0, g);
}

static void conv_exec(struct micro_case *c, const struct conv_layer *l,
		      const struct conv_part *p)
{
	emit(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV));
	conv_terms(c, l, p);
}

/* A tile's input channels in one or two iterations, perhaps beside a transfer. */
static void conv_tile(struct micro_case *c, const struct conv_layer *l, struct conv_part p)
{
	p.ci_last = l->ci > 1 && one_in(c, 5) ? between(c, 0, l->ci - 2) : l->ci - 1;
	conv_group0(c, l, &p);
	if (one_in(c, 4))
		any_transfer(c);
	conv_exec(c, l, &p);
	if (p.ci_last == l->ci - 1)
		return;
	p.ci_first = p.ci_last + 1;
	p.ci_last = l->ci - 1;
	conv_group0(c, l, &p);
	conv_exec(c, l, &p);
}

static void load_conv(struct micro_case *c, const struct conv_layer *l)
{
	dma_floats(c, false, CNNACC_CCP_TGT_READ_BANK, conv_in_base(l), l->ci * conv_in_pitch(l));
	for (unsigned int b = 0; b < 4 && b < l->co; b++) {
		unsigned int target = CNNACC_CCP_TGT_WEIGHT0 + b;

		dma_floats(c, false, target, conv_weight_base(l), conv_weights(l));
		if (l->bias)
			dma_floats(c, false, target, conv_bias_base(l), ceil_div(l->co, 4));
	}
}

static void fill_conv(struct micro_case *c)
{
	struct conv_layer l = case_conv_layer(c);
	struct conv_part p = { .ci_num = l.ci, .co_num = l.co };
	unsigned int batch = one_in(c, 4) ? between(c, 1, l.co) : l.co, tiles = 0;

	if (!one_in(c, 4))
		load_conv(c, &l);
	conv_group1(c, &l);
	for (p.co_first = 0; p.co_first < l.co; p.co_first += batch) {
		p.co_count = l.co - p.co_first < batch ? l.co - p.co_first : batch;
		for (p.row = 0; p.row < l.oh; p.row += l.vec)
			for (p.col = 0; p.col < l.ow && tiles < 40; p.col += 8, tiles++)
				conv_tile(c, &l, p);
	}
	if (!one_in(c, 4))
		dma_floats(c, true, CNNACC_CCP_TGT_WRITE_BANK, conv_out_base(&l),
			   l.co * conv_out_pitch(&l));
}

void case_conv_probe(struct micro_case *c, const struct conv_layer *l, unsigned int last,
		     unsigned int co)
{
	struct conv_part p = {
		.ci_last = last, .co_count = co, .ci_num = l->ci, .co_num = l->co,
	};

	conv_group1(c, l);
	conv_group0(c, l, &p);
	conv_exec(c, l, &p);
	case_end(c);
}

/* ---- pool, pad, fc: each configured, and the floats that it reads */

struct floats {
	unsigned int first, length;
};

static struct floats pick_floats(struct micro_case *c, unsigned int length, unsigned int half)
{
	return (struct floats){ place(pick_place(c), length, half), length };
}

static struct floats setup_pool(struct micro_case *c)
{
	unsigned int kh = between(c, 2, 3), sy = between(c, 1, 3), ch = between(c, 1, 12);
	unsigned int iw = kh + between(c, 0, 20), ih = one_in(c, 3) ? kh + between(c, 0, 20) : iw;
	unsigned int oh = ceil_div(ih - kh, sy) + 1, ow = ceil_div(iw - kh, sy) + 1;
	struct floats in = pick_floats(c, ch * ih * iw, DATA_HALF);
	struct floats out = pick_floats(c, ch * oh * ow, DATA_HALF);
	uint32_t g[8] = {
		one_in(c, 2) | sy << 8 | kh << 16, iw | ih << 16, ch, in.first, out.first,
	};

	if (one_in(c, 4)) {
		oh = between(c, 1, oh);
		ow = between(c, 1, ow);
		g[5] = ow | oh << 16;
	}
	configure(c, CNNACC_CCP_POOL, 0, g);
	c->term[MICRO_POOL] += c->times * (ch * oh * ow + 5);
	snprintf(c->text, sizeof(c->text), "%ux%u stride %u in %ux%u out %ux%u channels %u",
		 kh, kh, sy, ih, iw, oh, ow, ch);
	return in;
}

static struct floats setup_pad(struct micro_case *c)
{
	unsigned int p = between(c, 1, 2), ch = between(c, 1, 12), iw = between(c, 1, 24);
	unsigned int ih = one_in(c, 3) ? between(c, 1, 24) : iw;
	struct floats in = pick_floats(c, ch * ih * iw, DATA_HALF);
	struct floats out = pick_floats(c, ch * (ih + 2 * p) * (iw + 2 * p), DATA_HALF);
	uint32_t g[8] = { p, iw | ih << 16, ch, in.first, out.first };

	configure(c, CNNACC_CCP_PAD, 0, g);
	c->term[MICRO_PAD] += c->times * ceil_div(ch * (iw + 2 * p) * (ih + 2 * p), 16);
	snprintf(c->text, sizeof(c->text), "layers %u in %ux%u channels %u", p, ih, iw, ch);
	return in;
}

static struct floats setup_fc(struct micro_case *c)
{
	unsigned int in = between(c, 1, 400), out = between(c, 1, 48), bias = between(c, 0, 1);
	unsigned int blocks = ceil_div(in, 16), weights = 16 * blocks * out;
	struct floats input = pick_floats(c, in, DATA_HALF);
	uint32_t g[8] = {
		bias << 1 | one_in(c, 2), in, out, input.first,
		pick_floats(c, out, DATA_HALF).first,
		one_in(c, 2) ? 0 : between(c, 0, 4 * BANK_FLOATS - weights),
		one_in(c, 2) ? 3 * BANK_FLOATS : between(c, 0, 4 * BANK_FLOATS - out),
	};

	configure(c, CNNACC_CCP_FC, 0, g);
	c->term[MICRO_FC] += c->times * (4 * ceil_div(out, 4) * (blocks + bias) + 10);
	snprintf(c->text, sizeof(c->text), "in %u out %u%s", in, out, bias ? " bias" : "");
	return input;
}

static void load_any_weights(struct micro_case *c)
{
	unsigned int lines = between(c, 1, 600);

	dma(c, false, CNNACC_CCP_TGT_WEIGHT0 + between(c, 0, 3),
	    place(pick_place(c), lines, WEIGHT_HALF / LINE_FLOATS), lines);
}

static void fill_unit(struct micro_case *c)
{
	static struct floats (*const setup[])(struct micro_case *c) = {
		[CASE_POOL] = setup_pool, [CASE_PAD] = setup_pad, [CASE_FC] = setup_fc,
	};
	struct floats in = setup[c->kind](c);
	unsigned int unit = CNNACC_CCP_POOL + (c->kind - CASE_POOL);

	if (!one_in(c, 4))
		dma_floats(c, false, CNNACC_CCP_TGT_READ_BANK, in.first, in.length);
	if (c->kind == CASE_FC && !one_in(c, 4))
		load_any_weights(c);
	emit(c, CNNACC_CCP_INSN_EXEC(unit));
	if (one_in(c, 2))
		emit(c, CNNACC_CCP_INSN_SWAP);
	if (!one_in(c, 4))
		dma_floats(c, true, between(c, 0, 1), in.first, in.length);
}

/* ---- mixed programs: what overlaps depends on the halves of banks */

static void mixed_item(struct micro_case *c, const struct conv_layer *l,
		       const struct conv_part *p)
{
	switch (between(c, 0, 5)) {
	case 0:
	case 1:
	case 2:
		any_transfer(c);
		break;
	case 3:
		emit(c, CNNACC_CCP_INSN_SWAP);
		break;
	default:
		conv_exec(c, l, p);
	}
}

/* A loop of R6 iterations over units that are configured already. */
static void mixed_loop(struct micro_case *c, const struct conv_layer *l,
		       const struct conv_part *p)
{
	unsigned int rounds = between(c, 1, 4), items = between(c, 2, 6);
	size_t start;

	set(c, 6, rounds);
	start = c->words;
	c->times = rounds;
	for (unsigned int i = 0; i < items; i++)
		mixed_item(c, l, p);
	c->times = 1;
	emit(c, CNNACC_CCP_INSN_ADDI(6, 6, 0xffff));
	emit(c, CNNACC_CCP_INSN_BNZ(6, start));
}

static void mixed_other_unit(struct micro_case *c)
{
	static struct floats (*const setup[])(struct micro_case *c) = {
		[CNNACC_CCP_POOL] = setup_pool, [CNNACC_CCP_PAD] = setup_pad,
		[CNNACC_CCP_FC] = setup_fc,
	};
	unsigned int unit = between(c, CNNACC_CCP_POOL, CNNACC_CCP_FC);

	setup[unit](c);
	any_transfer(c);
	emit(c, CNNACC_CCP_INSN_EXEC(unit));
}

static void fill_mixed(struct micro_case *c)
{
	unsigned int parts = between(c, 2, 5);

	for (unsigned int i = 0; i < parts; i++) {
		struct conv_layer l = case_conv_layer(c);
		struct conv_part p = {
			.ci_last = l.ci - 1, .co_count = l.co, .ci_num = l.ci, .co_num = l.co,
		};

		conv_group1(c, &l);
		conv_group0(c, &l, &p);
		mixed_loop(c, &l, &p);
		if (one_in(c, 2))
			mixed_other_unit(c);
	}
	snprintf(c->text, sizeof(c->text), "%u loops, %zu words", parts, c->words);
}

void case_fill(struct micro_case *c)
{
	if (c->kind == CASE_CONV)
		fill_conv(c);
	else if (c->kind == CASE_MIXED)
		fill_mixed(c);
	else
		fill_unit(c);
	case_end(c);
}
