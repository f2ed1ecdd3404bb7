// SPDX-License-Identifier: MIT
/*
 * Layers with deterministic data, packed as the specification stores them (its sections 4.1,
 * 4.2 and 5): the registers derived from the layer are the published ones, the AccRegs equal
 * a direct convolution, and the CRCs of images and AccRegs the published ones where there
 * are any.  Cycles, events and utilisation are what it claims (its section 6).
 */
#include "vectors.h"

#include <stdlib.h>
#include <string.h>

#include "../crc.h"
#include "insn.h"
#include "../words.h"

#define FMAP_VA(half)	(0x00000000u + (half) * 0x00100000u)
#define KERNEL_VA	0x00400000u
#define OUT_VA		0x7ff00040u
#define PROGRAM_VA	0xf0000000u
#define STATS_VA	0xfffff000u

#define PES		CNNACC_HWPE_PES
#define ACCS		CNNACC_HWPE_ACCS
#define WINDOW_BYTES	(4 * ACCS * PES)
#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

struct layer {
	const char *name;
	int64_t h, w, c, k, kernel, stride;
	enum cnnacc_hwpe_type type;
	bool special;		/* Kernel_333 */
	uint32_t shift;
	/* published */
	uint32_t cfg0, cfg1, mac0, mac1;
	uint32_t rounds;	/* of a window */
	uint32_t crc, fmap_crc[2], kernel_crc;	/* 0: none */
	uint32_t useful, slots;	/* utilisation */
};

/* The test cases of the published hardware. */
#define UPSTREAM(text, channels, ks, st, code, is_333, c0, c1, m2, r, part, whole) { \
	.name = text, .h = 7 * (st) + (ks), .w = 7 * (st) + (ks), .c = channels, .k = 32, \
	.kernel = ks, .stride = st, .type = code, .special = is_333, .shift = 8, \
	.cfg0 = c0, .cfg1 = c1, .mac0 = 0x00040002, .mac1 = m2, \
	.rounds = r, .useful = part, .slots = whole, \
}
#define INT8	CNNACC_HWPE_INT8
#define UINT8	CNNACC_HWPE_UINT8
#define EXP4	CNNACC_HWPE_EXP4
#define TER2	CNNACC_HWPE_TER2

static const struct layer layers[] = {
	{ .name = "INT8 inner", .h = 6, .w = 4, .c = 8, .k = 16, .kernel = 3, .stride = 1,
	  .type = INT8, .shift = 8, .cfg0 = 0x00300003, .cfg1 = 0x00002833, .mac0 = 0x00010001,
	  .mac1 = 0x00300008, .rounds = 9, .crc = 0x26e64f95,
	  .fmap_crc = { 0x603c8e64, 0x71e256d4 }, .kernel_crc = 0xb240311c,
	  .useful = 1, .slots = 1 },
	{ .name = "INT8 inner, 8 windows", .h = 10, .w = 6, .c = 16, .k = 32, .kernel = 3,
	  .stride = 1, .type = INT8, .shift = 8, .cfg0 = 0x00a00006, .cfg1 = 0x00004833,
	  .mac0 = 0x00020002, .mac1 = 0x00a00010, .rounds = 18, .crc = 0xeb9a1915,
	  .fmap_crc = { 0x67fe416b, 0x208e75bc }, .kernel_crc = 0xc3ac0559,
	  .useful = 1, .slots = 1 },
	{ .name = "UINT8 inner", .h = 6, .w = 4, .c = 8, .k = 16, .kernel = 3, .stride = 1,
	  .type = UINT8, .shift = 8, .cfg0 = 0x00300003, .cfg1 = 0x00002803, .mac0 = 0x00010001,
	  .mac1 = 0x00300008, .rounds = 9, .crc = 0xb0365c86,
	  .fmap_crc = { 0x603c8e64, 0x71e256d4 }, .kernel_crc = 0xb240311c,
	  .useful = 1, .slots = 1 },
	{ .name = "EXP4", .h = 6, .w = 4, .c = 16, .k = 16, .kernel = 3, .stride = 1,
	  .type = EXP4, .shift = 8, .cfg0 = 0x00300003, .cfg1 = 0x00002823, .mac0 = 0x00010001,
	  .mac1 = 0x00300008, .rounds = 9, .crc = 0x4898d4c4,
	  .fmap_crc = { 0x47c1799f, 0xa3253bd1 }, .kernel_crc = 0x102f5d9f,
	  .useful = 1, .slots = 1 },
	{ .name = "TER2", .h = 6, .w = 4, .c = 32, .k = 16, .kernel = 3, .stride = 1,
	  .type = TER2, .shift = 8, .cfg0 = 0x00300003, .cfg1 = 0x00002813, .mac0 = 0x00010001,
	  .mac1 = 0x00300008, .rounds = 9, .crc = 0xceb8140f,
	  .fmap_crc = { 0xc9a1b84c, 0x996c7adf }, .kernel_crc = 0xd2469fb7,
	  .useful = 1, .slots = 1 },
	{ .name = "INT8 5x5x3", .h = 8, .w = 6, .c = 3, .k = 16, .kernel = 5, .stride = 1,
	  .type = INT8, .shift = 8, .cfg0 = 0x00180002, .cfg1 = 0x00002875, .mac0 = 0x00010001,
	  .mac1 = 0x00180003, .rounds = 10, .crc = 0x0d88badd,
	  .fmap_crc = { 0x44fed835, 0x687d1154 }, .kernel_crc = 0x38dfbc27,
	  .useful = 15, .slots = 16 },
	{ .name = "UINT8 7x7x3", .h = 13, .w = 9, .c = 3, .k = 16, .kernel = 7, .stride = 2,
	  .type = UINT8, .shift = 8, .cfg0 = 0x00270003, .cfg1 = 0x00002847, .mac0 = 0x00010001,
	  .mac1 = 0x004e0006, .rounds = 21, .crc = 0x909cc6cb,
	  .fmap_crc = { 0x519e643e, 0x51cb7172 }, .kernel_crc = 0x0bd457be,
	  .useful = 21, .slots = 24 },
	{ .name = "INT8 333", .h = 10, .w = 10, .c = 3, .k = 16, .kernel = 3, .stride = 1,
	  .type = INT8, .special = true, .shift = 8, .cfg0 = 0x00240003, .cfg1 = 0x000028f3,
	  .mac0 = 0x00040002, .mac1 = 0x00240006, .rounds = 4, .crc = 0x16646ecd,
	  .fmap_crc = { 0x3ce77a40, 0x9a4c969a }, .kernel_crc = 0x85924870,
	  .useful = 27, .slots = 32 },
	{ .name = "UINT8 333", .h = 17, .w = 9, .c = 3, .k = 16, .kernel = 3, .stride = 2,
	  .type = UINT8, .special = true, .shift = 8, .cfg0 = 0x00360003, .cfg1 = 0x000028c3,
	  .mac0 = 0x00020002, .mac1 = 0x006c000c, .rounds = 4, .crc = 0x91dff3fc,
	  .fmap_crc = { 0x3f72d6af, 0xb1dffd49 }, .kernel_crc = 0x85924870,
	  .useful = 27, .slots = 32 },
	UPSTREAM("11x11x3", 3, 11, 1, INT8, false, 0x00360005, 0x0000487b, 0x00360003, 55, 33, 40),
	UPSTREAM("11x11x3 stride 2", 3, 11, 2, INT8, false, 0x004b0005, 0x0000487b, 0x00960006, 55,
		 33, 40),
	UPSTREAM("3x3x3", 3, 3, 1, INT8, true, 0x00240003, 0x000048f3, 0x00240006, 4, 27, 32),
	UPSTREAM("3x3x3 stride 2", 3, 3, 2, INT8, true, 0x00360003, 0x000048f3, 0x006c000c, 4, 27,
		 32),
	UPSTREAM("5x5x3", 3, 5, 1, INT8, false, 0x00240002, 0x00004875, 0x00240003, 10, 15, 16),
	UPSTREAM("5x5x3 stride 2", 3, 5, 2, INT8, false, 0x00390002, 0x00004875, 0x00720006, 10,
		 15, 16),
	UPSTREAM("7x7x3", 3, 7, 1, INT8, false, 0x002a0003, 0x00004877, 0x002a0003, 21, 21, 24),
	UPSTREAM("7x7x3 stride 2", 3, 7, 2, INT8, false, 0x003f0003, 0x00004877, 0x007e0006, 21,
		 21, 24),
	UPSTREAM("9x9x3", 3, 9, 1, INT8, false, 0x00300004, 0x00004879, 0x00300003, 36, 27, 32),
	UPSTREAM("9x9x3 stride 2", 3, 9, 2, INT8, false, 0x00450004, 0x00004879, 0x008a0006, 36,
		 27, 32),
	UPSTREAM("TER2 3x3x32", 32, 3, 1, TER2, false, 0x00500003, 0x00004813, 0x00500008, 9, 1, 1),
	UPSTREAM("TER2 3x3x32 stride 2", 32, 3, 2, TER2, false, 0x00880003, 0x00004813, 0x01100010,
		 9, 1, 1),
	UPSTREAM("EXP4 3x3x32", 32, 3, 1, EXP4, false, 0x00a00006, 0x00004823, 0x00a00010, 18, 1,
		 1),
	UPSTREAM("EXP4 3x3x32 stride 2", 32, 3, 2, EXP4, false, 0x01100006, 0x00004823, 0x02200020,
		 18, 1, 1),
	UPSTREAM("INT8 3x3x32", 32, 3, 1, INT8, false, 0x0140000c, 0x00004833, 0x01400020, 36, 1,
		 1),
	UPSTREAM("INT8 3x3x32 stride 2", 32, 3, 2, INT8, false, 0x0220000c, 0x00004833, 0x04400040,
		 36, 1, 1),
};

/* -------------------------------------------------------- the layer's data */

static int64_t width_of(const struct layer *l)
{
	return l->type == TER2 ? 2 : l->type == EXP4 ? 4 : 8;
}

static unsigned int code_of(const struct layer *l, int64_t i, int64_t salt)
{
	static const unsigned int ter2[] = { 0, 1, 3 };
	unsigned int code = (i * 37 + salt * 11 + (i >> 3) * 5) & 0xff;

	return l->type == TER2 ? ter2[code % 3] : l->type == EXP4 ? code % 16 : code;
}

static unsigned int fmap_code(const struct layer *l, int64_t x, int64_t y, int64_t c)
{
	return code_of(l, (x * l->h + y) * l->c + c, 1);
}

static unsigned int kernel_code(const struct layer *l, int64_t k, int64_t s, int64_t r, int64_t c)
{
	return code_of(l, ((k * l->kernel + s) * l->kernel + r) * l->c + c, 5);
}

static int64_t value_of(const struct layer *l, unsigned int code, bool left)
{
	static const int ter2[] = { 0, 1, -1, -1 };
	static const int exp4[] = { 0, 1, 2, 4, 8, 16, 32, 64, 0, -1, -2, -4, -8, -16, -32, -64 };

	if (l->type == TER2)
		return ter2[code];
	if (l->type == EXP4)
		return exp4[code];
	return code < 128 || (left && l->type == UINT8) ? (int64_t)code : (int64_t)code - 256;
}

/* Output point (ow, oh) of kernel k by direct convolution. */
static int64_t convolve(const struct layer *l, int64_t k, int64_t ow, int64_t oh)
{
	int64_t sum = 0;

	for (int64_t s = 0; s < l->kernel; s++)
		for (int64_t r = 0; r < l->kernel; r++)
			for (int64_t c = 0; c < l->c; c++)
				sum += value_of(l, fmap_code(l, ow * l->stride + s,
							     oh * l->stride + r, c), true) *
				       value_of(l, kernel_code(l, k, s, r, c), false);
	return sum;
}

/* ------------------------------------------- section 4.2: register values */

static bool is_input(const struct layer *l)
{
	return l->c == 3;
}

static int64_t h_count(const struct layer *l)
{
	return ((l->h - l->kernel) / l->stride + 1) / 4;
}

static int64_t w_count(const struct layer *l)
{
	return ((l->w - l->kernel) / l->stride + 1) / 2;
}

/* H_333 for Kernel_333. */
static int64_t height(const struct layer *l)
{
	return l->special ? l->h + l->kernel - l->stride : l->h;
}

static int64_t column_bytes(const struct layer *l)
{
	return height(l) * l->c * width_of(l) / 8;
}

static int64_t h_stride(const struct layer *l)
{
	return (l->special ? 2 : 1) * l->stride * l->c * width_of(l) / 8;
}

static int64_t w_stride(const struct layer *l)
{
	return column_bytes(l) * l->stride;
}

static int64_t ch_count(const struct layer *l)
{
	int64_t bits = l->c * l->kernel * width_of(l);

	return l->special ? 3 : (bits + 63) / 64;
}

static int64_t rounds(const struct layer *l)
{
	return l->special ? 4 : l->kernel * ch_count(l);
}

static int64_t windows(const struct layer *l)
{
	return h_count(l) * w_count(l) * (l->k / 16);
}

static void registers(const struct layer *l, uint32_t cfg[2], uint32_t mac[2])
{
	cfg[0] = ch_count(l) | column_bytes(l) << 16;
	cfg[1] = l->kernel | l->type << CNNACC_HWPE_CFG_TYPE_SHIFT |
		 (is_input(l) ? CNNACC_HWPE_CFG_INPUT : 0) |
		 (l->special ? CNNACC_HWPE_CFG_333 : 0) | l->shift << CNNACC_HWPE_CFG_SHIFT_SHIFT |
		 l->k / 16 << CNNACC_HWPE_CFG_K_SHIFT;
	mac[0] = h_count(l) | w_count(l) << 16;
	mac[1] = h_stride(l) | w_stride(l) << 16;
}

/* Section 4.1. */
static uint32_t base_of(const struct layer *l, unsigned int n)
{
	int64_t row = l->special ? (n < 4 ? n / 2 : 0) : n / 2;

	return (n % 2 ? CNNACC_HWPE_SRAM2 : 0) + row * h_count(l) * h_stride(l);
}

/* Output point of AccReg @i at slide (cw, ch). */
static void point_of(const struct layer *l, unsigned int i, int64_t cw, int64_t ch, int64_t *ow,
		     int64_t *oh)
{
	if (l->special) {
		*ow = cw + i / 2 % 2 * w_count(l);
		*oh = ch + (i / 4 + 2 * (i % 2)) * h_count(l);
	} else {
		*ow = cw + i % 2 * w_count(l);
		*oh = ch + i / 2 * h_count(l);
	}
}

/* --------------------------------------------------- section 5: the images */

struct image_of {
	uint8_t *bytes;
	size_t length;
};

static void put_code(uint8_t *bytes, int64_t index, int64_t width, unsigned int code)
{
	bytes[index * width / 8] |= code << index * width % 8;
}

static int64_t half_columns(const struct layer *l)
{
	return (w_count(l) - 1) * l->stride + l->kernel;
}

static struct image_of new_image(size_t length)
{
	struct image_of image = { calloc(1, length), length };

	if (!image.bytes)
		exit(2);
	return image;
}

static struct image_of pack_fmap(const struct layer *l, int64_t half)
{
	int64_t first = half * w_count(l) * l->stride, parts = l->special ? 2 : 1;
	int64_t rows = height(l) / parts;
	struct image_of image = new_image(half_columns(l) * column_bytes(l));

	for (int64_t x = 0; x < half_columns(l); x++)
		for (int64_t y = 0; y < rows; y++)
			for (int64_t c = 0; c < l->c; c++)
				for (int64_t p = 0; p < parts; p++) {
					int64_t row = y + p * 2 * h_count(l) * l->stride;
					int64_t at = ((x * rows + y) * l->c + c) * parts + p;

					put_code(image.bytes, at, width_of(l),
						 fmap_code(l, first + x, row, c));
				}
	return image;
}

/* Where element (s, r, c) of a column is, in elements. */
static int64_t column_at(const struct layer *l, int64_t s, int64_t r, int64_t c)
{
	int64_t e = r * l->c + c, slice = ch_count(l) * 64 / width_of(l);

	if (!l->special)
		return s * slice + e;
	e += s * 9;
	return e < 22 ? e : e + 2;
}

static struct image_of pack_kernel(const struct layer *l)
{
	struct image_of image = new_image(l->k / 16 * rounds(l) * CNNACC_HWPE_ROUND_BYTES);
	int64_t per_word = 64 / width_of(l);

	for (int64_t k = 0; k < l->k; k++)
		for (int64_t s = 0; s < l->kernel; s++)
			for (int64_t r = 0; r < l->kernel; r++)
				for (int64_t c = 0; c < l->c; c++) {
					int64_t e = column_at(l, s, r, c);
					int64_t round = k / 16 * rounds(l) + e / per_word;

					put_code(image.bytes + round * 128 + k % 16 * 8,
						 e % per_word, width_of(l),
						 kernel_code(l, k, s, r, c));
				}
	return image;
}

static bool crc_is(const struct image_of *image, uint32_t crc)
{
	uint32_t sum = CRC32_NONE;

	for (size_t i = 0; i < image->length; i++)
		sum = crc32_add(sum, image->bytes[i]);
	return !crc || sum == crc;
}

/* ------------------------------------------------------------- the program */

static uint64_t lines_of(uint64_t bytes)
{
	return (bytes + CNNACC_LINE_SIZE - 1) / CNNACC_LINE_SIZE;
}

static void load_image(struct job *job, struct image_of image, unsigned int memory, uint32_t va)
{
	job_region(job, va, lines_of(image.length), CNNACC_PTE_READ);
	space_write(&job->space, va, image.bytes, image.length);
	stream_copy(&job->program, memory, 0, va,
		    &(struct stream_rows){ .rows = 1, .bytes = image.length });
	free(image.bytes);
}

static void configure(struct program *p, const struct layer *l)
{
	uint32_t cfg[2], mac[2];

	registers(l, cfg, mac);
	stream_exec(p, 0, insn_encode(CNNACC_HWPE_RESET, 0, 0, 0), 0, 0, 0);
	for (unsigned int n = 0; n < (l->special ? ACCS / 2 : ACCS); n += 2)
		stream_exec(p, 0, insn_encode(CNNACC_HWPE_WRITE_FMAP_ADDR, n, 0, 0),
			    base_of(l, n), base_of(l, n + 1), 0);
	stream_exec(p, 0, insn_encode(CNNACC_HWPE_WRITE_CFG, 0, 0, 0), cfg[0], cfg[1], 0);
	stream_drain(p, 0, OUT_VA, 0, ACCS, 4 * CNNACC_HWPE_PES);
	stream_exec(p, 0, insn_encode(CNNACC_HWPE_MATRIX_MAC, 0, 0, 0), mac[0], mac[1], 0);
}

static void build_layer(const struct layer *l, struct job *job)
{
	struct program *p = &job->program;
	unsigned int loop;

	job_region(job, OUT_VA, lines_of(windows(l) * WINDOW_BYTES), CNNACC_PTE_WRITE);
	load_image(job, pack_fmap(l, 0), CNNACC_HWPE_FMAP0, FMAP_VA(0));
	load_image(job, pack_fmap(l, 1), CNNACC_HWPE_FMAP1, FMAP_VA(1));
	load_image(job, pack_kernel(l), CNNACC_HWPE_KERNEL, KERNEL_VA);
	configure(p, l);
	loop = stream_length(p);
	stream_loop(p, 2, windows(l));
	stream_step(p, loop, 0, CNNACC_SEQ_STEP(1, 0, 0), WINDOW_BYTES);
	stream_wait(p, CNNACC_HWPE_WAIT_ROUND);
	stream_drain(p, CNNACC_SEQ_RESUME, OUT_VA, 0, ACCS, 4 * CNNACC_HWPE_PES);
	stream_end(p);
	job_finish(job, PROGRAM_VA, STATS_VA);
}

/* --------------------------------------------------------------- the result */

static int32_t acc_of(struct job *job, int64_t window, unsigned int i, unsigned int q)
{
	uint32_t va = OUT_VA + window * WINDOW_BYTES + 4 * (i * PES + q);

	return word_get(space_at(&job->space, va), 0);
}

static uint64_t stat(struct job *job, size_t offset)
{
	const uint8_t *at = space_at(&job->space, STATS_VA + offset);

	return word_get(at, 0) | (uint64_t)word_get(at, 1) << 32;
}

#define STAT(job, name)	stat(job, offsetof(struct cnnacc_stats, name))

static bool differs(const char *name, const char *what, int64_t is, int64_t should)
{
	if (is != should)
		printf("# %s: %s is %lld, not %lld\n", name, what, (long long)is,
		       (long long)should);
	return is != should;
}

static bool check_registers(const struct layer *l)
{
	uint32_t cfg[2], mac[2];

	registers(l, cfg, mac);
	return !differs(l->name, "CfgReg0", cfg[0], l->cfg0) &&
	       !differs(l->name, "CfgReg1", cfg[1], l->cfg1) &&
	       !differs(l->name, "counts", mac[0], l->mac0) &&
	       !differs(l->name, "strides", mac[1], l->mac1) &&
	       !differs(l->name, "rounds", rounds(l), l->rounds);
}

static bool check_images(const struct layer *l)
{
	struct image_of image[3] = { pack_fmap(l, 0), pack_fmap(l, 1), pack_kernel(l) };
	bool good = crc_is(&image[0], l->fmap_crc[0]) && crc_is(&image[1], l->fmap_crc[1]) &&
		    crc_is(&image[2], l->kernel_crc);

	for (int i = 0; i < 3; i++)
		free(image[i].bytes);
	return !differs(l->name, "an image's CRC", good, true);
}

static bool check_window(const struct layer *l, struct job *job, int64_t window)
{
	int64_t k = window / (w_count(l) * h_count(l)), ow, oh;
	bool good = true;

	for (unsigned int i = 0; i < ACCS; i++) {
		point_of(l, i, window / h_count(l) % w_count(l), window % h_count(l), &ow, &oh);
		for (unsigned int q = 0; q < PES; q++)
			good &= acc_of(job, window, i, q) == convolve(l, 16 * k + q, ow, oh);
	}
	return !differs(l->name, "a window", good, true);
}

static uint32_t acc_crc(const struct layer *l, struct job *job)
{
	uint32_t crc = CRC32_NONE;

	for (int64_t i = 0; i < windows(l) * WINDOW_BYTES; i++)
		crc = crc32_add(crc, *space_at(&job->space, OUT_VA + i));
	return crc;
}

/* Interrupts, cycles and utilisation by the specification. */
static bool check_stats(const struct layer *l, struct job *job)
{
	int64_t later = l->special ? 11 : is_input(l) ? 9 : 8;

	return !differs(l->name, "events", STAT(job, events), windows(l)) &&
	       !differs(l->name, "compute_cycles", STAT(job, compute_cycles),
			windows(l) * (8 * l->rounds + later) + 12 - later) &&
	       !differs(l->name, "mac_useful", STAT(job, mac_useful) * l->slots,
			STAT(job, mac_slots) * l->useful);
}

static bool check_layer(const struct layer *l, struct job *job)
{
	bool good = check_registers(l) && check_images(l) && check_stats(l, job);

	for (int64_t window = 0; window < windows(l); window++)
		good &= check_window(l, job, window);
	if (l->crc)
		good &= !differs(l->name, "the CRC of the AccRegs", acc_crc(l, job), l->crc);
	return good;
}

/* ------------------------------------------------------ section 10.3: relu8 */

static const struct {
	uint32_t shift;
	int32_t value;
	uint8_t result;
} relus[] = {
	{ 0, -1, 0 }, { 0, 0, 0 }, { 0, 255, 255 }, { 0, 256, 255 }, { 8, 255, 0 }, { 8, 256, 1 },
	{ 8, 65535, 255 }, { 8, 65536, 255 }, { 8, 511, 1 }, { 24, INT32_MAX, 127 },
	{ 24, INT32_MIN, 0 },
};

static void build_relu(struct job *job)
{
	struct program *p = &job->program;

	job_region(job, OUT_VA, lines_of(COUNT(relus) * PES), CNNACC_PTE_WRITE);
	for (unsigned int i = 0; i < COUNT(relus); i++) {
		unsigned int acc = i % ACCS, pe = i % PES;

		stream_exec(p, 0, insn_encode(CNNACC_HWPE_WRITE_CFG, 0, 0, 0), 1,
			    1 | INT8 << CNNACC_HWPE_CFG_TYPE_SHIFT |
			    relus[i].shift << CNNACC_HWPE_CFG_SHIFT_SHIFT, 0);
		stream_exec(p, 0, insn_encode(CNNACC_HWPE_WRITE_ACC, acc, 0, pe),
			    relus[i].value, 0, 0);
		stream_exec(p, 0, insn_encode(CNNACC_HWPE_RELU_WRITE, 0, 0, acc),
			    OUT_VA + i * PES, 0, 0);
	}
	stream_end(p);
	job_finish(job, PROGRAM_VA, STATS_VA);
}

static bool check_relu(struct job *job)
{
	bool good = true;

	for (unsigned int i = 0; i < COUNT(relus) * PES; i++) {
		unsigned int pe = i / PES % PES;
		uint8_t want = i % PES == pe ? relus[i / PES].result : 0;

		good &= !differs("relu8", "a byte", *space_at(&job->space, OUT_VA + i), want);
	}
	return good;
}

/* ------------------------------------------------------------------ all */

#define RELU	COUNT(layers)
#define VECTORS	(RELU + 1)

unsigned int hwpe_vector_count(void)
{
	return VECTORS;
}

const char *hwpe_vector_name(unsigned int index)
{
	return index < COUNT(layers) ? layers[index].name : "relu8";
}

void hwpe_vector_build(unsigned int index, struct job *job)
{
	if (index < COUNT(layers))
		build_layer(&layers[index], job);
	else
		build_relu(job);
}

bool hwpe_vector_check(unsigned int index, struct job *job)
{
	return index < COUNT(layers) ? check_layer(&layers[index], job) : check_relu(job);
}
