// SPDX-License-Identifier: MIT
#include "vectors.h"

#include <stdlib.h>
#include <string.h>

#include "../crc.h"
#include "../fp32.h"
#include "layer.h"
#include "vectors_halves.h"

#define DATA_WORDS	(CNNACC_CCP_DATA_BANK_DEFAULT / 4)
#define WEIGHT_WORDS	(CNNACC_CCP_WEIGHT_BANK_DEFAULT / 4)
#define LINE_WORDS	(CNNACC_LINE_SIZE / 4)
#define IN_VA		0x00000000u	/* further images follow */
#define OUT_VA		0x7ff00040u
#define PROGRAM_VA	0xf0000000u
#define STATS_VA	0xfffff000u

/* crc is that of the output words, channel-major, compact, little-endian. */
struct conv_vector {
	const char *name;
	int kind;
	uint32_t slice, batch;	/* channels per EXEC, 0 = all */
	int moved;		/* load each slice and batch alone, to the bases below */
	uint32_t crc;
	struct conv_layer layer;
};

struct pool_vector {
	const char *name;
	int kind;
	uint32_t rows, cols;
	uint32_t crc;
	struct pool_layer layer;
};

struct pad_vector {
	const char *name;
	int kind;
	uint32_t crc;
	struct pad_layer layer;
};

struct fc_vector {
	const char *name;
	int kind;
	uint32_t crc;
	struct fc_layer layer;
};

#include "vectors.inc"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

/* ------------------------------------------------------------------ data */

static const uint32_t special[] = {
	0x00000000, 0x80000000, 0x3f800000, 0x00000001, 0x807fffff, 0x7f7fffff, 0xff7fffff,
	0xbf800000, 0x00800000, 0x34000000, 0x7e967699, 0xc0000000, 0x1f000000, 0x9f123456,
	0x00400000, 0x80000001, 0x3fffffff, 0x7f800000, 0xff800000, 0x7fc00001, 0xffc12345,
	0x7fa00000, 0xff800001,
};

#define FINITE_SPECIALS	17

static uint32_t special_word(int kind, uint32_t i)
{
	return special[i % (kind == 1 ? COUNT(special) : FINITE_SPECIALS)];
}

static uint32_t ramp_word(uint32_t i, uint32_t factor, uint32_t offset, int modulus, int middle,
			  float scale)
{
	return fp32_to_bits(fmul((float)((int)((i * factor + offset) % modulus) - middle), scale));
}

static uint32_t x_word(int kind, uint32_t i)
{
	return kind ? special_word(kind, i * 7 + 3) : ramp_word(i, 37, 11, 101, 50, 0.1f);
}

static uint32_t w_word(int kind, uint32_t i)
{
	return kind ? special_word(kind, i * 5 + 1) : ramp_word(i, 53, 7, 97, 48, 0.03f);
}

static uint32_t b_word(int kind, uint32_t i)
{
	return kind ? special_word(kind, i * 3 + 2) : ramp_word(i, 29, 3, 19, 9, 0.7f);
}

static uint32_t crc32_words(const uint32_t *words, size_t count)
{
	uint32_t crc = CRC32_NONE;

	for (size_t i = 0; i < 4 * count; i++)
		crc = crc32_add(crc, htole32(words[i / 4]) >> (8 * (i % 4)));
	return crc;
}

/* ---------------------------------------------------------------- images */

/* A bank's content before it is put into memory and loaded. */
struct bank_image {
	uint32_t words[DATA_WORDS];
	int64_t end;	/* words in use */
};

static struct bank_image bank_image;

static struct bank_image *image_clear(void)
{
	memset(bank_image.words, 0, bank_image.end * sizeof(bank_image.words[0]));
	bank_image.end = 0;
	return &bank_image;
}

static void image_put(struct bank_image *image, int64_t index, uint32_t word)
{
	if (index < 0 || index >= DATA_WORDS)
		abort();
	image->words[index] = word;
	image->end = index >= image->end ? index + 1 : image->end;
}

static uint32_t image_lines(const struct bank_image *image)
{
	return (image->end + LINE_WORDS - 1) / LINE_WORDS;
}

static uint64_t next_va(const struct job *job)
{
	const struct job_region *last = &job->region[job->regions - 1];

	return job->regions ? last->va + last->length : IN_VA;
}

/* Put an image into memory and load it into the start of @target. */
static void image_load(struct job *job, const struct bank_image *image, unsigned int target)
{
	uint64_t va = next_va(job);
	uint32_t lines = image_lines(image);
	uint8_t line[CNNACC_LINE_SIZE];

	if (!lines)
		return;
	job_region(job, va, lines, CNNACC_PTE_READ);
	for (uint32_t i = 0; i < lines; i++) {
		for (uint32_t w = 0; w < LINE_WORDS; w++)
			word_put(line, w, image->words[i * LINE_WORDS + w]);
		space_write(&job->space, va + i * CNNACC_LINE_SIZE, line, sizeof(line));
	}
	asm_dma(&job->program, 1, va, lines, 0, target);
}

/* STORE the first @words words of the write bank, then NOP. */
static void store_and_end(struct job *job, int64_t words)
{
	uint32_t lines = (words + LINE_WORDS - 1) / LINE_WORDS;

	asm_dma(&job->program, 0, OUT_VA, lines, 0, CNNACC_CCP_TGT_WRITE_BANK);
	program_emit(&job->program, CNNACC_CCP_INSN_NOP);
	job_region(job, OUT_VA, lines, CNNACC_PTE_WRITE);
	job_finish(job, PROGRAM_VA, STATS_VA);
}

static uint32_t stored_word(struct job *job, int64_t index)
{
	return word_get(space_at(&job->space, OUT_VA + 4 * index), 0);
}

static bool check_planes(struct job *job, uint32_t crc, int64_t base, int64_t pitch,
			 uint32_t planes, uint32_t plane)
{
	uint32_t *words = calloc((size_t)planes * plane, sizeof(*words));
	bool good;

	if (!words)
		return false;
	for (uint32_t p = 0; p < planes; p++)
		for (uint32_t i = 0; i < plane; i++)
			words[p * plane + i] = stored_word(job, base + p * pitch + i);
	good = crc32_words(words, (size_t)planes * plane) == crc;
	free(words);
	return good;
}

static uint32_t value_or(uint32_t value, uint32_t if_zero)
{
	return value ? value : if_zero;
}

static uint32_t minimum(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Channels first..first+count-1 of an input, channel @first at @place. */
static void load_input(struct job *job, int kind, int64_t place, int64_t pitch, uint32_t plane,
		       uint32_t first, uint32_t count)
{
	struct bank_image *image = image_clear();

	for (uint32_t c = 0; c < count; c++)
		for (uint32_t i = 0; i < plane; i++)
			image_put(image, place + c * pitch + i, x_word(kind, (first + c) * plane + i));
	image_load(job, image, CNNACC_CCP_TGT_READ_BANK);
}

/* ------------------------------------------------------------------ conv */

/* Resolved sizes of a conv vector. */
struct conv_sizes {
	uint32_t rows, cols, taps, in_plane, out_plane, in_pitch, out_pitch;
};

static struct conv_sizes conv_sizes(const struct conv_layer *l)
{
	struct conv_sizes s;

	s.rows = value_or(l->out_rows, l->out_cols);
	s.cols = l->out_cols;
	s.taps = l->kernel * value_or(l->kernel_x, l->kernel);
	s.in_plane = value_or(l->in_rows, l->in_cols) * l->in_cols;
	s.out_plane = s.rows * s.cols;
	s.in_pitch = value_or(l->in_pitch, s.in_plane);
	s.out_pitch = value_or(l->out_pitch, s.out_plane);
	return s;
}

/* Weights and biases of the layer's current channels, at the bases, into their banks. */
static void load_weights(struct job *job, const struct conv_vector *v, const struct conv_layer *l,
			 int64_t weight_base, int64_t bias_base)
{
	struct conv_sizes s = conv_sizes(l);
	uint32_t pitch = value_or(l->weight_pitch, l->ci_num);

	for (uint32_t bank = 0; bank < 4; bank++) {
		struct bank_image *image = image_clear();

		for (uint32_t o = l->co_start; o < l->co_start + l->co_cnt; o++) {
			if (o % 4 != bank)
				continue;
			for (uint32_t c = l->ci_start; c <= l->ci_end; c++)
				for (uint32_t t = 0; t < s.taps; t++)
					image_put(image, weight_base +
						  (int64_t)(o / 4 * pitch + c) * s.taps + t,
						  w_word(v->kind, (o * l->ci_num + c) * s.taps + t));
			if (l->bias)
				image_put(image, bias_base + o / 4, b_word(v->kind, o));
		}
		image_load(job, image, CNNACC_CCP_TGT_WEIGHT0 + bank);
	}
}

static void emit_conv(struct job *job, const struct conv_layer *l)
{
	uint32_t g0[8], g1[8];

	conv_pack(l, g0, g1);
	asm_set_all(&job->program, g1);
	program_emit(&job->program, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1));
	asm_set_all(&job->program, g0);
	program_emit(&job->program, CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 0));
	program_emit(&job->program, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV));
}

/* The slice alone is loaded to the vector's bases; plane 0 then starts before them. */
static void move_slice(struct job *job, const struct conv_vector *v, struct conv_layer *l)
{
	struct conv_sizes s = conv_sizes(l);
	uint32_t first = l->co_start / 4;

	load_input(job, v->kind, v->layer.in_base, s.in_pitch, s.in_plane, l->ci_start,
		   l->ci_end - l->ci_start + 1);
	l->weight_pitch = l->ci_end - l->ci_start + 1;
	l->in_base = v->layer.in_base - (int32_t)(l->ci_start * s.in_pitch);
	l->weight_base = v->layer.weight_base -
			 (int32_t)((first * l->weight_pitch + l->ci_start) * s.taps);
	l->bias_base = v->layer.bias_base - (int32_t)first;
	load_weights(job, v, l, l->weight_base, l->bias_base);
}

static void conv_tile(struct job *job, const struct conv_vector *v, struct conv_layer *l)
{
	uint32_t slice = value_or(v->slice, l->ci_num);

	for (uint32_t c = 0; c < l->ci_num; c += slice) {
		l->ci_start = c;
		l->ci_end = minimum(c + slice, l->ci_num) - 1;
		if (v->moved)
			move_slice(job, v, l);
		emit_conv(job, l);
	}
}

static void conv_batch(struct job *job, const struct conv_vector *v, struct conv_layer *l)
{
	struct conv_sizes s = conv_sizes(l);

	for (uint32_t y = 0; y < s.rows; y += l->vec_active) {
		for (uint32_t x = 0; x < s.cols; x += CNNACC_CCP_LANES) {
			l->row_start = y;
			l->col_start = x;
			conv_tile(job, v, l);
		}
	}
}

static void conv_build(const struct conv_vector *v, struct job *job)
{
	struct conv_layer l = v->layer;
	struct conv_sizes s = conv_sizes(&l);
	uint32_t batch = value_or(v->batch, l.co_num);

	l.vec_active = value_or(l.vec_active, CNNACC_CCP_ROWS);
	l.groups = value_or(l.groups, CNNACC_CCP_GROUPS);
	if (!v->moved) {
		l.ci_end = l.ci_num - 1;
		l.co_cnt = l.co_num;
		if (!l.bias_base)
			l.bias_base = WEIGHT_WORDS - (l.co_num + 3) / 4;
		load_input(job, v->kind, l.in_base, s.in_pitch, s.in_plane, 0, l.ci_num);
		load_weights(job, v, &l, l.weight_base, l.bias_base);
	}
	for (uint32_t o = 0; o < l.co_num; o += batch) {
		l.co_start = o;
		l.co_cnt = minimum(batch, l.co_num - o);
		conv_batch(job, v, &l);
	}
	store_and_end(job, l.out_base + (int64_t)l.co_num * s.out_pitch);
}

static bool conv_good(const struct conv_vector *v, struct job *job)
{
	struct conv_sizes s = conv_sizes(&v->layer);

	return check_planes(job, v->crc, v->layer.out_base, s.out_pitch, v->layer.co_num,
			    s.out_plane);
}

/* ------------------------------------------------------- pool, pad and fc */

static void emit_unit(struct job *job, unsigned int unit, const uint32_t g[8])
{
	asm_set_all(&job->program, g);
	program_emit(&job->program, CNNACC_CCP_INSN_CFG(unit, 0));
	program_emit(&job->program, CNNACC_CCP_INSN_EXEC(unit));
}

static void pool_build(const struct pool_vector *v, struct job *job)
{
	const struct pool_layer *l = &v->layer;
	uint32_t plane = value_or(l->in_rows, l->in_cols) * l->in_cols, g[8];

	load_input(job, v->kind, l->in_base, value_or(l->in_pitch, plane), plane, 0, l->channels);
	pool_pack(l, g);
	emit_unit(job, CNNACC_CCP_POOL, g);
	store_and_end(job, l->out_base +
		      (int64_t)l->channels * value_or(l->out_pitch, v->rows * v->cols));
}

static bool pool_good(const struct pool_vector *v, struct job *job)
{
	const struct pool_layer *l = &v->layer;
	uint32_t plane = v->rows * v->cols;

	return check_planes(job, v->crc, l->out_base, value_or(l->out_pitch, plane), l->channels,
			    plane);
}

static uint32_t pad_plane(const struct pad_layer *l)
{
	return (value_or(l->in_rows, l->in_cols) + 2 * l->layers) * (l->in_cols + 2 * l->layers);
}

static void pad_build(const struct pad_vector *v, struct job *job)
{
	const struct pad_layer *l = &v->layer;
	uint32_t plane = value_or(l->in_rows, l->in_cols) * l->in_cols, g[8];

	load_input(job, v->kind, l->in_base, value_or(l->in_pitch, plane), plane, 0, l->channels);
	pad_pack(l, g);
	emit_unit(job, CNNACC_CCP_PAD, g);
	store_and_end(job, l->out_base +
		      (int64_t)l->channels * value_or(l->out_pitch, pad_plane(l)));
}

static bool pad_good(const struct pad_vector *v, struct job *job)
{
	const struct pad_layer *l = &v->layer;

	return check_planes(job, v->crc, l->out_base, value_or(l->out_pitch, pad_plane(l)),
			    l->channels, pad_plane(l));
}

static uint32_t fc_word(const struct fc_vector *v, const struct fc_layer *l, int64_t address)
{
	uint32_t in16 = (l->in + 15) / 16 * 16;
	int64_t w = address - l->weight_base, b = address - l->bias_base;

	if (w >= 0 && w < (int64_t)l->out * in16 && w % in16 < l->in)
		return w_word(v->kind, w / in16 * l->in + w % in16);
	if (l->bias && b >= 0 && b < l->out)
		return b_word(v->kind, b);
	return 0x3f123456;
}

static struct fc_layer fc_layer(const struct fc_vector *v)
{
	struct fc_layer l = v->layer;

	if (!l.bias_base)
		l.bias_base = 3 * WEIGHT_WORDS;
	return l;
}

static void fc_build(const struct fc_vector *v, struct job *job)
{
	struct fc_layer l = fc_layer(v);
	uint32_t g[8];

	load_input(job, v->kind, l.in_base, 0, l.in, 0, 1);
	for (uint32_t bank = 0; bank < 4; bank++) {
		struct bank_image *image = image_clear();

		for (uint32_t i = 0; i < WEIGHT_WORDS; i++)
			image_put(image, i, fc_word(v, &l, bank * WEIGHT_WORDS + i));
		image_load(job, image, CNNACC_CCP_TGT_WEIGHT0 + bank);
	}
	fc_pack(&l, g);
	emit_unit(job, CNNACC_CCP_FC, g);
	store_and_end(job, l.out_base + l.out);
}

static bool fc_good(const struct fc_vector *v, struct job *job)
{
	return check_planes(job, v->crc, v->layer.out_base, 0, 1, v->layer.out);
}

/* ------------------------------------------------------ literal programs */

/* Spec section 13, word for word. */
static const uint32_t complete_program[] = {
	0x10000000, 0x12000029, 0x14000000, 0x40500000, 0x12000005, 0x10000040, 0x40540000,
	0x10000048, 0x40550000, 0x10000050, 0x40560000, 0x10000058, 0x40570000,
	0x10000000, 0x12000000, 0x14000000, 0x16000040, 0x61000000,
	0x10000103, 0x20000003, 0x12000012, 0x22000010, 0x14000002, 0x24000005, 0x16000000,
	0x26000001, 0x1A000310, 0x1C000005, 0x1E000002, 0x18000000,
	0x60000000, 0x70000000, 0x18000000, 0x28000008, 0x3FC0FFFF, 0x9E00001E, 0x80000000,
	0x10000080, 0x12000050, 0x14000000, 0x50500000, 0x00000000,
};

#define COMPLETE_OUT_VA		(128 * CNNACC_LINE_SIZE)
#define COMPLETE_INSTRUCTIONS	48

static void complete_weights(struct job *job, uint32_t bank)
{
	uint8_t line[5 * CNNACC_LINE_SIZE] = { 0 };

	for (uint32_t o = bank; o < 5; o += 4) {
		for (uint32_t t = 0; t < 18; t++)
			word_put(line, o / 4 * 18 + t, w_word(0, o * 18 + t));
		word_put(line, 64 + o / 4, b_word(0, o));
	}
	space_write(&job->space, (64 + 8 * bank) * CNNACC_LINE_SIZE, line, sizeof(line));
}

static void complete_build(struct job *job)
{
	uint8_t word[4];

	job_region(job, 0, 208, CNNACC_PTE_READ | CNNACC_PTE_WRITE);
	for (uint32_t i = 0; i < 2 * 18 * 18; i++) {
		word_put(word, 0, x_word(0, i));
		space_write(&job->space, 4 * i, word, sizeof(word));
	}
	for (uint32_t bank = 0; bank < 4; bank++)
		complete_weights(job, bank);
	for (size_t i = 0; i < COUNT(complete_program); i++)
		program_emit(&job->program, complete_program[i]);
	job_finish(job, PROGRAM_VA, STATS_VA);
}

static bool complete_good(struct job *job)
{
	uint32_t words[1280];

	for (uint32_t i = 0; i < COUNT(words); i++)
		words[i] = word_get(space_at(&job->space, COMPLETE_OUT_VA + 4 * i), 0);
	return crc32_words(words, COUNT(words)) == 0x900650d4 && words[3] == 0x40752f1e &&
	       word_get(space_at(&job->space, STATS_VA), 2 * 11) == COMPLETE_INSTRUCTIONS;
}

/* A program whose statistics are calculated by hand. */
struct stats_vector {
	const char *name;
	uint32_t program[16];
	uint32_t length;
	uint64_t want[sizeof(struct cnnacc_stats) / 8];
};

static const struct stats_vector stats_vectors[] = {
	/*
	 * Four lines to the read bank, one to weight bank 0, stop.  Boot 17; 3 LDI;
	 * LOAD: t 21, d 41; 2 LDI; LOAD: t 24, d 58; NOP: t 25.
	 */
	{ .name = "program of spec 2.2",
	  .program = { 0x10000000, 0x12000004, 0x14000000, 0x40500000, 0x10000010, 0x12000001,
		       0x40540000, 0 },
	  .length = 8,
	  .want = { 58, 17 + 5 + 20 + 17 + 1, 0, 33, 17 + 20 + 17, 0, 0, 384, 0, 0, 384, 8, 0, 0,
		    1, 0 } },
	/*
	 * Boot 17; 3 LDI; STORE 100 lines from bank 0: t 21, d 137; 3 LDI, CFG: t 32; pad
	 * from bank 0 to 1: t 33; SWAP; pad from bank 1 to 0, which the STORE still reads:
	 * from 137 to 138; NOP: 139.
	 */
	{ .name = "a STORE outlasts the EXEC beside it",
	  .program = { CNNACC_CCP_INSN_LDI(0, OUT_VA / 64 & 0xffff),
		       CNNACC_CCP_INSN_LDIH(0, OUT_VA / 64 >> 16), CNNACC_CCP_INSN_LDI(1, 100),
		       CNNACC_CCP_INSN_STORE(0, 1, 2, 0),
		       CNNACC_CCP_INSN_LDI(0, 1), CNNACC_CCP_INSN_LDI(1, 1),
		       CNNACC_CCP_INSN_LDI(2, 1), CNNACC_CCP_INSN_CFG(CNNACC_CCP_PAD, 0),
		       CNNACC_CCP_INSN_EXEC(CNNACC_CCP_PAD), CNNACC_CCP_INSN_SWAP,
		       CNNACC_CCP_INSN_EXEC(CNNACC_CCP_PAD), CNNACC_CCP_INSN_NOP },
	  .length = 12,
	  .want = { 139, 17 + 3 + 116 + 3 + 8 + 1 + 1 + 1 + 1, 2, 137 - 34, 17 + 116, 0, 0, 64,
		    6400, 6400 + 4 * 2, 64 + 4 * 18, 12, 0, 0, 1, 0 } },
	/*
	 * One row of two outputs in two channels, k 1x2, bias: LIB 1 x 9, T = 1 * 1 + 2 +
	 * 1 * (1 * 9 + 4) + 4 + 1 * 2 + 6 = 28.  Boot 17; 13 LDI and LDIH, 2 CFG: t 46;
	 * EXEC: 74; the NOP behind the program: 75.
	 */
	{ .name = "cycles of a conv",
	  .program = { CNNACC_CCP_INSN_LDI(0, 0x102), CNNACC_CCP_INSN_LDIH(0, 0x2001),
		       CNNACC_CCP_INSN_LDI(1, 3), CNNACC_CCP_INSN_LDIH(1, 2),
		       CNNACC_CCP_INSN_LDI(2, 1), CNNACC_CCP_INSN_LDIH(2, 2),
		       CNNACC_CCP_INSN_LDI(5, 0x301), CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 0),
		       CNNACC_CCP_INSN_LDI(0, 0), CNNACC_CCP_INSN_LDI(1, 0),
		       CNNACC_CCP_INSN_LDI(2, 0), CNNACC_CCP_INSN_LDI(5, 0),
		       CNNACC_CCP_INSN_LDI(4, 1), CNNACC_CCP_INSN_LDIH(4, 1),
		       CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1),
		       CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV) },
	  .length = 16,
	  .want = { 17 + 13 + 16 + 28 + 1, 17 + 13 + 16 + 28 + 1, 28, 0, 17, 512 * 28, 2 * 2 * 2,
		    64, 0, 4 * (9 + 4 + 2), 64 + 4 * 4, 17, 0, 0, 1, 0 } },
};

static void stats_build(const struct stats_vector *v, struct job *job)
{
	job_region(job, IN_VA, 17, CNNACC_PTE_READ);
	job_region(job, OUT_VA, 100, CNNACC_PTE_WRITE);
	for (uint32_t i = 0; i < v->length; i++)
		program_emit(&job->program, v->program[i]);
	job_finish(job, PROGRAM_VA, STATS_VA);
}

static bool stats_good(const struct stats_vector *v, struct job *job)
{
	bool good = true;

	for (uint32_t i = 0; i < COUNT(v->want); i++) {
		uint64_t is = word_get(space_at(&job->space, STATS_VA), 2 * i);

		if (is != v->want[i])
			printf("# %s: word %u is %llu, not %llu\n", v->name, i,
			       (unsigned long long)is, (unsigned long long)v->want[i]);
		good = good && is == v->want[i];
	}
	return good;
}

/*
 * Three iterations: channel 0 of a 1 x 2 map (sums 1, 2), channel 0 of a 1 x 1 map
 * one column on (sum 2, the other slot is skipped), channel 1 of the 1 x 2 map.
 */
static void kept_slots_build(struct job *job)
{
	struct conv_layer l = {
		.kernel = 1, .stride = 1, .in_cols = 2, .in_rows = 1, .out_cols = 2, .out_rows = 1,
		.ci_num = 2, .co_num = 1, .groups = 1, .vec_active = 1, .in_pitch = 2,
	};
	struct bank_image *image = image_clear();

	for (int i = 0; i < 4; i++)
		image_put(image, i, fp32_to_bits((float)(1 << i)));
	image_load(job, image, CNNACC_CCP_TGT_READ_BANK);
	image_load(job, image, CNNACC_CCP_TGT_WEIGHT0);
	emit_conv(job, &l);
	l.in_cols = 1;
	l.out_cols = 1;
	l.in_base = 1;
	emit_conv(job, &l);
	l.in_cols = 2;
	l.out_cols = 2;
	l.in_base = 0;
	l.ci_start = 1;
	l.ci_end = 1;
	emit_conv(job, &l);
	store_and_end(job, 2);
}

static bool kept_slots_good(struct job *job)
{
	return stored_word(job, 0) == fp32_to_bits(2.0f + 4.0f * 2.0f) &&
	       stored_word(job, 1) == fp32_to_bits(2.0f + 8.0f * 2.0f);
}

/* ------------------------------------------------------------- the table */

#define FIRST_POOL	COUNT(conv_vectors)
#define FIRST_PAD	(FIRST_POOL + COUNT(pool_vectors))
#define FIRST_FC	(FIRST_PAD + COUNT(pad_vectors))
#define FIRST_STATS	(FIRST_FC + COUNT(fc_vectors))
#define COMPLETE	(FIRST_STATS + COUNT(stats_vectors))
#define KEPT_SLOTS	(COMPLETE + 1)
#define FIRST_HALVES	(KEPT_SLOTS + 1)

unsigned int vector_count(void)
{
	return FIRST_HALVES + halves_count();
}

const char *vector_name(unsigned int index)
{
	if (index < FIRST_POOL)
		return conv_vectors[index].name;
	if (index < FIRST_PAD)
		return pool_vectors[index - FIRST_POOL].name;
	if (index < FIRST_FC)
		return pad_vectors[index - FIRST_PAD].name;
	if (index < FIRST_STATS)
		return fc_vectors[index - FIRST_FC].name;
	if (index < COMPLETE)
		return stats_vectors[index - FIRST_STATS].name;
	if (index >= FIRST_HALVES)
		return halves_name(index - FIRST_HALVES);
	return index == COMPLETE ? "program of spec 13, word for word" : "skipped LOB slots are kept";
}

const struct golden_ccp_params *vector_params(unsigned int index)
{
	return index >= FIRST_HALVES ? halves_params(index - FIRST_HALVES) : NULL;
}

void vector_build(unsigned int index, struct job *job)
{
	if (index < FIRST_POOL)
		conv_build(&conv_vectors[index], job);
	else if (index < FIRST_PAD)
		pool_build(&pool_vectors[index - FIRST_POOL], job);
	else if (index < FIRST_FC)
		pad_build(&pad_vectors[index - FIRST_PAD], job);
	else if (index < FIRST_STATS)
		fc_build(&fc_vectors[index - FIRST_FC], job);
	else if (index < COMPLETE)
		stats_build(&stats_vectors[index - FIRST_STATS], job);
	else if (index == COMPLETE)
		complete_build(job);
	else if (index == KEPT_SLOTS)
		kept_slots_build(job);
	else
		halves_build(index - FIRST_HALVES, job);
}

bool vector_check(unsigned int index, struct job *job)
{
	if (index < FIRST_POOL)
		return conv_good(&conv_vectors[index], job);
	if (index < FIRST_PAD)
		return pool_good(&pool_vectors[index - FIRST_POOL], job);
	if (index < FIRST_FC)
		return pad_good(&pad_vectors[index - FIRST_PAD], job);
	if (index < FIRST_STATS)
		return fc_good(&fc_vectors[index - FIRST_FC], job);
	if (index < COMPLETE)
		return stats_good(&stats_vectors[index - FIRST_STATS], job);
	if (index >= FIRST_HALVES)
		return halves_check(index - FIRST_HALVES, job);
	return index == COMPLETE ? complete_good(job) : kept_slots_good(job);
}
