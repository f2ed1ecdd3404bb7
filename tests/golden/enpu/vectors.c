// SPDX-License-Identifier: MIT
#include "vectors.h"

#include <stdio.h>

#include "../crc.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))
#define OUT		2048	/* word of the result */

/** enum data - where inputs and weights come from. */
enum data { BY_RULE, NOT_POSITIVE, ALL_32 };

/**
 * struct vector - a program and the bytes it has to leave.
 * @fill: make the program; it looks at the rest
 * @codes: opcodes of later stages, without FUSED; @count of them
 */
struct vector {
	const char *name;
	void (*fill)(const struct vector *v, struct enpu_images *images);
	struct enpu_insn insn;
	enum data data;
	uint8_t codes[4];
	unsigned int count;
	unsigned int psum_bits;
	int first8[8];
	uint32_t crc;
	struct enpu_cost cost;
};

/* ------------------------------------------------------------------- data */

static int8_t input_rule(int64_t i)
{
	return i * 37 + 11 + 3 * (i >> 4);
}

static int8_t weight_rule(int64_t i)
{
	return i * 29 + 5 + 7 * (i >> 5);
}

static void put_map(struct enpu_images *images, const int64_t hwc[3], enum data data)
{
	int64_t groups = enpu_groups(hwc[2]);

	for (int64_t i = 0; i < hwc[0] * hwc[1] * hwc[2]; i++) {
		int64_t pixel = i / hwc[2], c = i % hwc[2];
		int8_t value = input_rule(i);

		if (data == NOT_POSITIVE && value > -1)
			value = -1;
		enpu_put_byte(images, CNNACC_ENPU_WORK, pixel * groups + c / 16, c % 16, value);
	}
}

/* Weights at word 0; return the word after them. */
static int64_t put_weights(struct enpu_images *images, const struct enpu_insn *insn,
			   enum data data)
{
	int64_t points = insn->hk * insn->wk * (enpu_is_conv(insn) ? insn->ci : 1);
	int64_t groups = enpu_groups(insn->co);

	if (!enpu_has_weights(insn))
		return 0;
	for (int64_t i = 0; i < points * insn->co; i++) {
		int64_t point = i / insn->co, o = i % insn->co;

		enpu_put_byte(images, CNNACC_ENPU_WEIGHT, point * groups + o / 16, o % 16,
			      data == ALL_32 ? 32 : weight_rule(i));
	}
	return points * groups;
}

static void put_rule_block(struct enpu_images *images, const struct enpu_insn *insn)
{
	for (int64_t o = 0; o < insn->co; o++)
		enpu_put_block(images, insn->block, o, o * 211 % 4001 - 2000, 9 + o % 3);
}

/* ----------------------------------------------------------- window layers */

static struct enpu_insn put_first(const struct vector *v, struct enpu_images *images)
{
	struct enpu_insn insn = v->insn;

	insn.op = insn.opcode;
	insn.in = 0;
	insn.out = OUT;
	enpu_fit(&insn);
	put_map(images, (int64_t[]){ insn.hi, insn.wi, enpu_channels_a(&insn) }, v->data);
	insn.block = put_weights(images, &insn, v->data);
	if (insn.flags & CNNACC_ENPU_F_BLOCK)
		put_rule_block(images, &insn);
	return insn;
}

static struct enpu_result out_of(const struct enpu_insn *insn)
{
	return (struct enpu_result){ CNNACC_ENPU_WORK, OUT, insn->ho * insn->wo, insn->co };
}

static void fill_window(const struct vector *v, struct enpu_images *images)
{
	struct enpu_insn insn = put_first(v, images);

	enpu_put(images, &insn);
	enpu_put_stop(images);
	enpu_expect(images, out_of(&insn));
}

/* ------------------------------------------------ layers of several stages */

#define BN_WEIGHT	64
#define BN_BLOCK	66
#define TABLE		76

static void put_norm(struct enpu_images *images, int64_t channels)
{
	for (int64_t o = 0; o < channels; o++) {
		enpu_put_byte(images, CNNACC_ENPU_WEIGHT, BN_WEIGHT + o / 16, o % 16, 13 * o - 90);
		enpu_put_block(images, BN_BLOCK, o, 100 - 17 * o, 5 + o % 2);
	}
}

static void put_table(struct enpu_images *images)
{
	for (int n = 0; n < CNNACC_ENPU_LUT_SEGMENTS; n++)
		enpu_put_segment(images, TABLE, n,
				 CNNACC_ENPU_SEGMENT(40 + 9 * n, 5 * n - 30, n % 8));
}

static void put_b(struct enpu_images *images, int64_t pixels, int64_t channels)
{
	for (int64_t i = 0; i < pixels * channels; i++)
		enpu_put_byte(images, CNNACC_ENPU_SKIP, i / channels * enpu_groups(channels) +
			      i % channels / 16, i % channels % 16, i * 53 + 7);
}

static struct enpu_insn later(const struct enpu_insn *first, unsigned int code, bool last)
{
	return (struct enpu_insn){
		.opcode = code | (last ? 0 : CNNACC_ENPU_FUSED),
		.ho = first->ho, .wo = first->wo, .co = first->co, .out = OUT,
		.flags = code == CNNACC_ENPU_BN ? CNNACC_ENPU_F_BLOCK : 0,
		.weight = BN_WEIGHT, .block = BN_BLOCK, .lut = TABLE, .shift = 6,
	};
}

static void fill_chain(const struct vector *v, struct enpu_images *images)
{
	struct enpu_insn insn = put_first(v, images), stage;

	put_norm(images, insn.co);
	put_table(images);
	put_b(images, insn.ho * insn.wo, insn.co);
	if (insn.stored) {
		insn.skip = OUT;
		insn.opcode |= CNNACC_ENPU_STORED;
		enpu_expect(images, (struct enpu_result){ CNNACC_ENPU_SKIP, OUT,
							  insn.ho * insn.wo, insn.co });
	} else {
		enpu_expect(images, out_of(&insn));
	}
	insn.opcode |= v->count ? CNNACC_ENPU_FUSED : 0;
	enpu_put(images, &insn);
	for (unsigned int n = 0; n < v->count; n++) {
		stage = later(&insn, v->codes[n], n + 1 == v->count);
		enpu_put(images, &stage);
	}
	enpu_put_stop(images);
}

/* 5 x 5 x 20 by one pointwise layer, B in the DTCM that the flags say. */
static void fill_add(const struct vector *v, struct enpu_images *images)
{
	struct enpu_insn insn = v->insn;

	insn.op = insn.opcode;
	insn.out = OUT;
	enpu_fit(&insn);
	put_map(images, (int64_t[]){ insn.ho, insn.wo, insn.co }, BY_RULE);
	enpu_put(images, &insn);
	enpu_put_stop(images);
}

/* All inputs from -128 to 127 through the table. */
static void fill_table(const struct vector *v, struct enpu_images *images)
{
	struct enpu_insn insn = v->insn;

	insn.op = insn.opcode;
	insn.out = OUT;
	enpu_fit(&insn);
	put_table(images);
	for (int i = 0; i < 256; i++)
		enpu_put_byte(images, CNNACC_ENPU_WORK, i / 16, i % 16, i - 128);
	enpu_put(images, &insn);
	enpu_put_stop(images);
	enpu_expect(images, out_of(&insn));
}

/* ---------------------------------------------------------- requantisation */

/* m, the bias, the shift, and the results with psums of 32 and of 24 bits. */
static const struct {
	int32_t m, bias;
	int8_t shift, wide, narrow;
} requantised[] = {
	{ 5, 0, 1, 3, 3 }, { -5, 0, 1, -2, -2 }, { -6, 0, 2, -1, -1 }, { 6, 0, 2, 2, 2 },
	{ -1, 0, 31, 0, 0 }, { 3, 0, -5, 96, 96 }, { -3, 0, -6, -128, -128 },
	{ 1, 0, -31, 127, 127 }, { 8388607, 1, 17, 64, -64 }, { 8388608, 0, 16, 127, -128 },
	{ -8388609, 0, 20, -8, 8 }, { INT32_MAX, 1, 24, -128, 0 },
};

/*
 * A channel for each: BN multiplies 1 by the small one of the two summands, and the other one is
 * the bias; m alone could not be that large.
 */
static void fill_requantised(const struct vector *v, struct enpu_images *images)
{
	struct enpu_insn insn = v->insn;

	insn.op = insn.opcode;
	insn.out = OUT;
	insn.block = 1;
	insn.co = COUNT(requantised);
	enpu_fit(&insn);
	for (unsigned int o = 0; o < COUNT(requantised); o++) {
		enpu_put_byte(images, CNNACC_ENPU_WORK, 0, o, 1);
		enpu_put_byte(images, CNNACC_ENPU_WEIGHT, 0, o, requantised[o].bias);
		enpu_put_block(images, 1, o, requantised[o].m, requantised[o].shift);
	}
	enpu_put(images, &insn);
	enpu_put_stop(images);
	enpu_expect(images, out_of(&insn));
}

static bool check_requantised(const struct vector *v, struct job *job)
{
	bool good = true;

	for (unsigned int o = 0; o < COUNT(requantised); o++)
		good &= enpu_result_byte(job, CNNACC_ENPU_WORK, OUT, o) ==
			(v->psum_bits == 24 ? requantised[o].narrow : requantised[o].wide);
	return good;
}

/* ----------------------------------------------------------------- reshape */

static void put_reshape(struct enpu_images *images, struct enpu_insn insn)
{
	struct enpu_shape shape;

	insn.op = CNNACC_ENPU_RESHAPE;
	enpu_fit(&insn);
	shape = enpu_shape_of(&insn);
	enpu_put(images, &insn);
	enpu_expect(images, (struct enpu_result){
		insn.opcode & CNNACC_ENPU_STORED ? CNNACC_ENPU_SKIP : CNNACC_ENPU_WORK,
		insn.opcode & CNNACC_ENPU_STORED ? insn.skip : insn.out,
		shape.size[0] * shape.size[1] * shape.size[2], shape.size[3],
	});
}

static void fill_reshape(const struct vector *v, struct enpu_images *images)
{
	struct enpu_insn insn = v->insn;

	insn.out = OUT;
	put_map(images, (int64_t[]){ insn.ho, insn.wo, insn.co }, BY_RULE);
	put_reshape(images, insn);
	enpu_put_stop(images);
}

/* The published examples number their elements from 0. */
static void fill_numbered(const struct vector *v, struct enpu_images *images)
{
	struct enpu_insn insn = v->insn;

	insn.out = OUT;
	for (int64_t i = 0; i < insn.ho * insn.wo * insn.co; i++)
		enpu_put_byte(images, CNNACC_ENPU_WORK, i / insn.co, i % insn.co, i);
	put_reshape(images, insn);
	enpu_put_stop(images);
}

/* Is it a permutation, and which is the next one in lexicographic order? */
static bool is_permutation(unsigned int digits)
{
	unsigned int seen = 0;

	for (unsigned int k = 0; k < 4; k++)
		seen |= 1u << (digits >> 2 * k & 3);
	return seen == 15;
}

/* The results do not fit into one DTCM: the first half is in the working, the rest in the skip. */
static void fill_permutations(const struct vector *v, struct enpu_images *images)
{
	int64_t next[2] = { 48, 0 };

	put_map(images, (int64_t[]){ v->insn.ho, v->insn.wo, v->insn.co }, BY_RULE);
	for (unsigned int digits = 0; digits < 256; digits++) {
		bool skip = images->results >= 12;
		struct enpu_insn insn = v->insn;
		const struct enpu_result *r;

		if (!is_permutation(digits))
			continue;
		insn.reshape = CNNACC_ENPU_PERM(digits >> 6 & 3, digits >> 4 & 3, digits >> 2 & 3,
						digits & 3);
		insn.opcode |= skip ? CNNACC_ENPU_STORED : 0;
		insn.flags |= skip ? CNNACC_ENPU_F_OUT_ONLY : 0;
		insn.out = next[0];
		insn.skip = next[1];
		put_reshape(images, insn);
		r = &images->result[images->results - 1];
		next[skip] += r->pixels * enpu_groups(r->channels);
	}
	enpu_put_stop(images);
}

/* --------------------------------------------------------------------- all */

#define IN(h, w)	.hi = h, .wi = w
#define MAP(h, w, c)	.ho = h, .wo = w, .co = c
#define KERNEL(k, s, p, d) \
	.hk = k, .wk = k, .sh = s, .sw = s, .ph = p, .pw = p, .dh = d, .dw = d
#define TILE(rows, columns)	.y = rows, .x = columns
#define OP(name)	.opcode = CNNACC_ENPU_##name
#define BLOCK		.flags = CNNACC_ENPU_F_BLOCK
#define CONV_V1(...)	{ OP(CONV), IN(5, 5), .ci = 3, MAP(5, 5, 20), KERNEL(3, 1, 1, 0), \
			  TILE(4, 4), BLOCK, ##__VA_ARGS__ }
#define RESHAPED(word)	{ OP(RESHAPE), MAP(6, 4, 20), TILE(6, 4), .reshape = word }
#define BN		CNNACC_ENPU_BN
#define LUT		CNNACC_ENPU_LUT
#define ADD		CNNACC_ENPU_ADD
#define MUL		CNNACC_ENPU_MUL
#define RELU		CNNACC_ENPU_RELU

static const struct vector vectors[] = {
	{ "V1", fill_window, { OP(CONV_RELU), IN(5, 5), .ci = 3, MAP(5, 5, 20),
	    KERNEL(3, 1, 1, 0), TILE(4, 4), BLOCK },
	  .first8 = { 5, 0, 0, 0, 3, 7, 27, 26 }, .crc = 0xa661edc2,
	  .cost = { 4, 11, 3456, 144, 0, 128, 13500, 3595, 3955 } },
	{ "V2", fill_window, { OP(CONV), IN(8, 8), .ci = 20, MAP(4, 4, 8), KERNEL(3, 2, 1, 0),
	    TILE(3, 3), BLOCK },
	  .first8 = { -72, 23, -8, 8, -51, 11, -15, 6 }, .crc = 0x9523ac76,
	  .cost = { 4, 6, 6480, 392, 0, 36, 23040, 6541, 7634 } },
	{ "V3", fill_window, { OP(CONV), IN(9, 7), .ci = 4, MAP(9, 7, 16), KERNEL(3, 1, 2, 1),
	    TILE(4, 4), BLOCK },
	  .first8 = { -67, 8, 12, 1, 0, -6, 40, 15 }, .crc = 0x8ae02b1e,
	  .cost = { 6, 6, 3456, 384, 0, 96, 36288, 3565, 4158 } },
	{ "V4", fill_window, { OP(CONV), IN(1, 1), .ci = 40, MAP(1, 1, 10), KERNEL(1, 1, 0, 0),
	    TILE(1, 1), BLOCK },
	  .first8 = { 127, 105, 59, 37, -69, -50, -128, -57 }, .crc = 0xa7ca222b,
	  .cost = { 1, 6, 40, 3, 0, 1, 400, 47, 90 } },
	{ "V5", fill_window, { OP(DEPTHWISE), IN(6, 6), .ci = 18, MAP(6, 6, 18),
	    KERNEL(3, 1, 1, 0), TILE(4, 4), BLOCK },
	  .first8 = { -9, -20, 7, -32, 0, -1, 0, 0 }, .crc = 0x71973367,
	  .cost = { 4, 11, 1152, 288, 0, 128, 5832, 1291, 1651 } },
	{ "V6", fill_window, { OP(CONV), IN(1, 1), .ci = 256, MAP(1, 1, 256), KERNEL(1, 1, 0, 0),
	    TILE(1, 1), BLOCK },
	  .first8 = { -128, 47, 46, -128, -68, 8, 127, -8 }, .crc = 0xad1e7954,
	  .cost = { 1, 81, 4096, 16, 0, 16, 65536, 4193, 8305 } },
	{ "V7", fill_window, { OP(CONV), IN(5, 5), .ci = 3, MAP(3, 3, 4), KERNEL(3, 2, 0, 0),
	    TILE(3, 3), BLOCK },
	  .first8 = { 127, -16, -15, -72, -5, -54, -20, -50 }, .crc = 0x7e10b158,
	  .cost = { 1, 6, 243, 49, 0, 9, 972, 277, 334 } },
	{ "V8", fill_window, { OP(MAX_POOL), IN(6, 6), MAP(3, 3, 18), KERNEL(3, 2, 1, 0),
	    TILE(3, 3) },
	  .first8 = { 86, 123, 85, 122, 80, 117, 55, 92 }, .crc = 0xac233c6b,
	  .cost = { 1, 1, 162, 98, 0, 18, 0, 205, 279 } },
	{ "V9", fill_window, { OP(MAX_POOL), IN(6, 6), MAP(3, 3, 18), KERNEL(3, 2, 1, 0),
	    TILE(3, 3) }, .data = NOT_POSITIVE,
	  .first8 = { -1, -1, -1, -1, -1, -1, -1, -1 }, .crc = 0x11682a66 },
	{ "V10", fill_window, { OP(AVG_POOL), IN(6, 6), MAP(3, 3, 18), KERNEL(2, 2, 0, 0),
	    TILE(3, 3), .shift = 7 }, .data = ALL_32,
	  .first8 = { -15, 22, -5, 32, 6, 43, -48, -11 }, .crc = 0x99d3caf2,
	  .cost = { 1, 1, 72, 72, 0, 18, 648, 111, 171 } },
	{ "V11", fill_window, CONV_V1(.pad = -7),
	  .first8 = { 7, -28, -1, -51, 3, 7, 28, 25 }, .crc = 0x8ea2e10f },
	{ "V12", fill_window, { OP(CONV), IN(12, 12), .ci = 17, MAP(6, 6, 16), KERNEL(1, 2, 0, 0),
	    TILE(3, 3), .shift = 9 },
	  .first8 = { 37, -75, -69, -96, 2, 57, 53, 76 }, .crc = 0xd68b4c18,
	  .cost = { 4, 1, 612, 200, 0, 36, 9792, 686, 917 } },
	{ "V13", fill_window, { OP(MAX_POOL), IN(12, 12), MAP(6, 6, 32), KERNEL(1, 2, 0, 0),
	    TILE(3, 3) },
	  .first8 = { 11, 48, 85, 122, -97, -60, -23, 14 }, .crc = 0xc3d0cbf0,
	  .cost = { 4, 1, 72, 200, 0, 72, 0, 273, 345 } },
	{ "V1 as CONV", fill_chain, CONV_V1(),
	  .first8 = { 5, -28, -2, -49, 3, 7, 27, 26 }, .crc = 0xf4d731e5 },
	{ "CONV, BN", fill_chain, CONV_V1(), .codes = { BN }, .count = 1,
	  .first8 = { -11, 35, 6, 40, -3, -2, -10, 0 }, .crc = 0xba0fe76d },
	{ "CONV, BN, LUT", fill_chain, CONV_V1(), .codes = { BN, LUT }, .count = 2,
	  .first8 = { 51, 127, 127, 127, 46, 46, 51, -30 }, .crc = 0x30020f1b },
	{ "CONV, LUT, BN", fill_chain, CONV_V1(), .codes = { LUT, BN }, .count = 2,
	  .first8 = { -128, -94, -90, -100, -106, -49, -48, 2 }, .crc = 0xb07f6ce1 },
	{ "CONV, BN, LUT, ADD", fill_chain, CONV_V1(), .codes = { BN, LUT, ADD }, .count = 3,
	  .first8 = { 58, 127, 127, 37, 9, 62, 120, 92 }, .crc = 0x74926a89,
	  .cost = { 4, 28, 3456, 144, 384, 128, 14500, 3996, 4364 } },
	{ "CONV, BN, LUT, ADD, RELU", fill_chain, CONV_V1(), .codes = { BN, LUT, ADD, RELU },
	  .count = 4, .first8 = { 58, 127, 127, 37, 9, 62, 120, 92 }, .crc = 0x166e6df3 },
	{ "CONV, BN, LUT, MUL", fill_chain, CONV_V1(), .codes = { BN, LUT, MUL }, .count = 3,
	  .first8 = { 6, 119, 127, -128, -27, 12, 55, -57 }, .crc = 0xaa0e0dd4 },
	{ "CONV stored, BN, LUT, ADD", fill_chain, CONV_V1(.stored = true),
	  .codes = { BN, LUT, ADD }, .count = 3,
	  .first8 = { 5, -28, -2, -49, 3, 7, 27, 26 }, .crc = 0xf4d731e5,
	  .cost = { 4, 28, 3456, 144, 384, 256, 14500, 4124, 4492 } },
	{ "ADD of two DTCMs", fill_add, { OP(ADD), MAP(5, 5, 20), TILE(5, 5) },
	  .cost = { 1, 1, 50, 50, 0, 50, 0, 101, 151 } },
	{ "ADD of one DTCM", fill_add, { OP(ADD), MAP(5, 5, 20), TILE(5, 5),
	    .flags = CNNACC_ENPU_F_B_WORK },
	  .cost = { 1, 1, 50, 100, 0, 50, 0, 151, 201 } },
	{ "LUT of all values", fill_table, { OP(LUT), MAP(1, 1, 256), TILE(1, 1), .lut = TABLE },
	  .crc = 0x4bfc256b, .first8 = { -128, -128, -128, -128, -128, -128, -128, -128 } },
	{ "rq, psums of 32 bits", fill_requantised, { OP(BN), MAP(1, 1, 1), TILE(1, 1), BLOCK },
	  .psum_bits = 32 },
	{ "rq, psums of 24 bits", fill_requantised, { OP(BN), MAP(1, 1, 1), TILE(1, 1), BLOCK },
	  .psum_bits = 24 },
	{ "reshape D8", fill_reshape, RESHAPED(0xd8),
	  .first8 = { 11, 48, 85, 122, -97, -60, -23, 14 }, .crc = 0x7710cf02 },
	{ "reshape 9C", fill_reshape, RESHAPED(0x9c),
	  .first8 = { 11, -14, -39, -64, -86, -111, 120, 95 }, .crc = 0x0682a215 },
	{ "reshape 93", fill_reshape, RESHAPED(0x93),
	  .first8 = { 11, -14, -39, -64, -86, -111, 120, 95 }, .crc = 0x0682a215 },
	{ "reshape 20DE4", fill_reshape, RESHAPED(0x20de4),
	  .first8 = { 11, 48, 85, 122, -97, -60, -23, 14 }, .crc = 0x21347636 },
	{ "reshape 21DE4", fill_reshape, RESHAPED(0x21de4),
	  .first8 = { 11, -24, 48, 13, 85, 50, 122, 87 }, .crc = 0x05ca25e9 },
	{ "reshape 417E4", fill_reshape, RESHAPED(0x417e4),
	  .first8 = { 11, 48, 85, 122, -97, -14, 23, 60 }, .crc = 0x14ab38a9 },
	{ "reshape 4066C", fill_reshape, RESHAPED(0x4066c),
	  .first8 = { 11, -86, 73, -24, -121, 38, -14, -111 }, .crc = 0x23411750 },
	{ "reshape 319E4", fill_reshape, RESHAPED(0x319e4),
	  .first8 = { 11, 48, 85, 122, -97, -60, -23, 14 }, .crc = 0x95affda1 },
	{ "all permutations", fill_permutations, RESHAPED(0), .crc = 0x9c5d5558,
	  .first8 = { 11, 48, 85, 122, -97, -60, -23, 14 } },
	{ "published split", fill_numbered, { OP(RESHAPE), MAP(6, 4, 2), TILE(6, 4),
	    .reshape = 0x20de4 }, .first8 = { 0, 1, 24, 25, 2, 3, 26, 27 } },
	{ "published interleaved split", fill_numbered, { OP(RESHAPE), MAP(2, 4, 6), TILE(2, 4),
	    .reshape = 0x217e4 }, .first8 = { 0, 1, 2, 6, 7, 8, 12, 13 } },
};

unsigned int enpu_vector_count(void)
{
	return COUNT(vectors);
}

const char *enpu_vector_name(unsigned int index)
{
	return vectors[index].name;
}

unsigned int enpu_vector_psum_bits(unsigned int index)
{
	return vectors[index].psum_bits;
}

uint32_t enpu_vector_weight_bytes(unsigned int index)
{
	static struct enpu_images images;

	enpu_vector_fill(index, &images);
	return images.used[CNNACC_ENPU_WEIGHT];
}

void enpu_vector_fill(unsigned int index, struct enpu_images *images)
{
	enpu_images_begin(images);
	vectors[index].fill(&vectors[index], images);
}

void enpu_vector_build(unsigned int index, struct job *job)
{
	static struct enpu_images images;

	enpu_vector_fill(index, &images);
	enpu_images_job(&images, job);
}

const struct enpu_cost *enpu_vector_cost(unsigned int index)
{
	return vectors[index].cost.with ? &vectors[index].cost : NULL;
}

/* ------------------------------------------------------------------ checks */

static bool differs(const struct vector *v, const char *what, int64_t is, int64_t should)
{
	if (is != should)
		printf("# %s: %s is %lld, not %lld\n", v->name, what, (long long)is,
		       (long long)should);
	return is != should;
}

/* Element @i of a map; lanes beyond its channels are not elements. */
static int8_t element(struct job *job, const struct enpu_result *r, int64_t i)
{
	int64_t c = i % r->channels;

	return enpu_result_byte(job, r->memory,
				r->first + i / r->channels * enpu_groups(r->channels) + c / 16,
				c % 16);
}

static bool check_results(const struct vector *v, const struct enpu_images *images,
			  struct job *job)
{
	uint32_t crc = CRC32_NONE;
	bool bad = false;

	for (unsigned int n = 0; n < images->results; n++) {
		const struct enpu_result *r = &images->result[n];

		for (int64_t i = 0; i < r->pixels * r->channels; i++) {
			crc = crc32_add(crc, element(job, r, i));
			if (!n && i < 8)
				bad |= differs(v, "an element", element(job, r, i), v->first8[i]);
		}
	}
	return !bad && (!v->crc || !differs(v, "the CRC", crc, v->crc));
}

/* All lanes of the last word beyond the channels are 0. */
static bool check_lanes(const struct enpu_images *images, struct job *job)
{
	for (unsigned int n = 0; n < images->results; n++) {
		const struct enpu_result *r = &images->result[n];
		int64_t groups = enpu_groups(r->channels);

		for (int64_t p = 0; p < r->pixels; p++)
			for (int64_t c = r->channels; c % 16; c++)
				if (enpu_result_byte(job, r->memory, r->first + p * groups + c / 16,
						     c % 16))
					return false;
	}
	return true;
}

bool enpu_vector_check(unsigned int index, struct job *job)
{
	static struct enpu_images images;
	const struct vector *v = &vectors[index];

	enpu_vector_fill(index, &images);
	if (v->fill == fill_requantised)
		return check_requantised(v, job);
	if (v->cost.with &&
	    (differs(v, "compute_cycles",
		     enpu_result_stat(job, offsetof(struct cnnacc_stats, compute_cycles)),
		     v->cost.compute + v->cost.fused) ||
	     differs(v, "mac_useful",
		     enpu_result_stat(job, offsetof(struct cnnacc_stats, mac_useful)),
		     v->cost.useful)))
		return false;
	return check_results(v, &images, job) && !differs(v, "lanes", check_lanes(&images, job), 1);
}
