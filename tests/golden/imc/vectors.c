// SPDX-License-Identifier: MIT
#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>

#include "../crc.h"
#include "../fp32.h"
#include "../stream.h"
#include "vectors_traces.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))
#define COUNTER(name)	CNNACC_IMC_REG_##name

struct vector;

/**
 * struct vector - a job of the page and what becomes of it.
 * @index: in the table of its kind
 * @port, @cin_max: of the build, 0 for the default
 * @fill: write the job; @check: false, with a line that says why, if it is not as expected
 */
struct vector {
	const char *name;
	unsigned int index, port, cin_max;
	void (*fill)(const struct vector *v, struct imc_script *script);
	bool (*check)(const struct vector *v, struct job *job);
	uint16_t status_class, code;
	uint32_t detail;
};

static bool differs(const char *what, int64_t is, int64_t should)
{
	if (is != should)
		printf("# %s is %lld, not %lld\n", what, (long long)is, (long long)should);
	return is != should;
}

#define STAT(job, name)	imc_stat(job, offsetof(struct cnnacc_stats, name))

/* ------------------------------------------------------------------ traces */

#define TRACE_CIN	8	/* of 125, so that a weight of 1000 fits */
#define TRACE_READS	11

static void load_trace(const struct imc_trace *t, struct imc_script *script)
{
	static const int powers[] = { 1, 10, 100 };
	int8_t input[4 * 6 * TRACE_CIN], weights[16 * TRACE_CIN] = { 0 };

	for (uint32_t i = 0; i < t->n * t->w * TRACE_CIN; i++)
		input[i] = i / TRACE_CIN % t->w + 1;
	for (uint32_t w = 0; w < t->n && w < 3; w++)
		weights[w * TRACE_CIN] = powers[w];
	for (uint32_t c = 0; c < TRACE_CIN && t->n == 4; c++)
		weights[3 * TRACE_CIN + c] = 125;
	imc_script_load(script, CNNACC_IMC_INPUT0, input, t->n * t->w * TRACE_CIN);
	imc_script_load(script, CNNACC_IMC_WEIGHT0, weights, t->n * t->n * TRACE_CIN);
}

static const uint32_t trace_registers[TRACE_READS] = {
	CNNACC_IMC_REG_ELEMENT, CNNACC_IMC_REG_WEIGHT, CNNACC_IMC_REG_SIG, CNNACC_IMC_REG_P,
	CNNACC_IMC_REG_HEAD, CNNACC_IMC_REG_OUT, CNNACC_IMC_REG_FIFO(0), CNNACC_IMC_REG_FIFO(1),
	CNNACC_IMC_REG_FIFO(2), CNNACC_IMC_REG_FIFO(3), CNNACC_IMC_REG_STATUS,
};

static void fill_trace(const struct vector *v, struct imc_script *script)
{
	const struct imc_trace *t = &imc_traces[v->index];

	load_trace(t, script);
	imc_script_setup(script, &(struct imc_setup){ t->n, .w = t->w, .h = t->n,
						      .cin = TRACE_CIN, .cout = 1 });
	imc_script_conv(script, &(struct imc_conv){ .flags = CNNACC_IMC_CONV_STEP });
	for (uint32_t n = 0; n < t->clocks; n++) {
		imc_script_step(script, true, 1);
		for (unsigned int r = 0; r < TRACE_READS; r++)
			imc_script_read(script, trace_registers[r]);
	}
	imc_script_read(script, CNNACC_IMC_REG_FIFO_PEAK);
}

static uint32_t trace_peak(const struct imc_trace *t)
{
	uint32_t wo = t->w - t->n + 1;

	return t->n - 1 < wo ? t->n - 1 : wo;
}

static bool check_trace(const struct vector *v, struct job *job)
{
	const struct imc_trace *t = &imc_traces[v->index];
	bool bad = false;

	for (uint32_t n = 0; n < t->clocks; n++) {
		const struct imc_trace_clock *c = &t->clock[n];
		const uint32_t should[TRACE_READS] = {
			c->element, c->weight, c->sig, c->p, c->head, c->out, c->fifo[0],
			c->fifo[1], c->fifo[2], 0,
			t->n == 1 && n + 1 == t->clocks ? CNNACC_IMC_IDLE : CNNACC_IMC_STEPPING,
		};

		for (unsigned int r = 0; r < TRACE_READS; r++)
			bad |= differs("a register", imc_read_result(job, n * TRACE_READS + r),
				       should[r]);
	}
	return !bad && !differs("FIFO_PEAK", imc_read_result(job, t->clocks * TRACE_READS),
				trace_peak(t));
}

/* ------------------------------------------------------------------ planes */

/** struct plane - a column of the table of planes; bits of FP32 as they are. */
struct plane {
	struct imc_setup setup;
	uint32_t counters[9], peak;
	uint64_t duration, slots, useful, read, written;
	uint32_t first, last, crc;
};

static const struct plane planes[] = {
	{ { 3, 0, false, 8, 6, 3, 5, 0, 0, 0, 0 },
	  { 216, 0, 12, 96, 1080, 720, 720, 360, 240 }, 2, 221, 884736, 3240, 4488, 1440,
	  9, -43, 0x8f4ca52e },
	{ { 3, 0, true, 8, 6, 3, 5, 0, 0, 0, 0 },
	  { 108, 0, 6, 48, 1080, 720, 720, 360, 240 }, 2, 113, 442368, 3240, 4344, 1440,
	  9, -43, 0x8f4ca52e },
	{ { 3, 0, false, 8, 6, 100, 70, 0, 0, 0, 0 },
	  { 864, 0, 48, 384, 30240, 20160, 20160, 10080, 8400 }, 2, 869, 3538944, 1512000,
	  1564800, 40320, 10, -133, 0xf49f4b90 },
	{ { 3, 0, true, 8, 6, 100, 70, 0, 0, 0, 0 },
	  { 864, 0, 48, 384, 30240, 20160, 20160, 10080, 8400 }, 2, 869, 3538944, 1512000,
	  1564800, 40320, 10, -133, 0xf49f4b90 },
	{ { 3, 2, false, 6, 6, 20, 3, 0, 0, 0, 0 },
	  { 144, 212, 12, 72, 432, 288, 288, 144, 96 }, 2, 365, 589824, 8640, 40704, 576,
	  0x3e6aaaa0, 0xbf880006, 0xb1311e9a },
	{ { 3, 2, true, 6, 6, 20, 3, 0, 0, 0, 0 },
	  { 72, 104, 6, 36, 432, 288, 288, 144, 96 }, 2, 185, 294912, 8640, 37824, 576,
	  0x3e6aaaa0, 0xbf880006, 0xb1311e9a },
	{ { 1, 0, false, 9, 7, 130, 9, 0, 0, 0, 0 },
	  { 189, 375, 21, 189, 1701, 0, 0, 1701, 1134 }, 0, 572, 774144, 73710, 86436, 6804,
	  -2, 47, 0x0115cf3c },
	{ { 11, 0, true, 11, 12, 2, 2, 0, 0, 0, 0 },
	  { 132, 0, 12, 132, 484, 440, 440, 44, 40 }, 1, 137, 540672, 968, 1392, 176,
	  323, 204, 0x161977bd },
	{ { 3, 0, false, 3, 3, 65, 66, 0, 0, 0, 0 },
	  { 36, 119, 12, 36, 1188, 792, 792, 396, 330 }, 1, 167, 147456, 38610, 41100, 1584,
	  32, 134, 0xaec83535 },
};

static void put_component(uint8_t *at, int64_t i, uint32_t format, int value, float divisor)
{
	if (format == CNNACC_IMC_FP32)
		float_put(at, i, (float)value / divisor);
	else
		at[i] = value;
}

static void load_plane(const struct imc_setup *s, struct imc_script *script)
{
	uint32_t esz = s->format == CNNACC_IMC_FP32 ? 4 : 1, i;
	static uint8_t input[0x10000], weights[0x10000];

	for (i = 0; i < s->h * s->w * s->cin; i++) {
		int y = i / s->cin / s->w, x = i / s->cin % s->w, c = i % s->cin;

		put_component(input, i, s->format, (7 * y + 3 * x + 5 * c) % 17 - 8, 16.0f);
	}
	imc_script_load(script, CNNACC_IMC_INPUT0, input, i * esz);
	for (i = 0; i < s->cout * s->n * s->n * s->cin; i++) {
		int c = i % s->cin, t = i / s->cin % s->n, r = i / s->cin / s->n % s->n;
		int k = i / s->cin / s->n / s->n;

		put_component(weights, i, s->format, (5 * k + 3 * r + 7 * t + c) % 11 - 5, 3.0f);
	}
	imc_script_load(script, CNNACC_IMC_WEIGHT0, weights, i * esz);
}

static uint32_t plane_results(const struct imc_setup *s)
{
	return (s->h - s->n + 1) * (s->w - s->n + 1) * s->cout;
}

static void read_counters(struct imc_script *script)
{
	for (unsigned int n = 0; n < 9; n++)
		imc_script_read(script, COUNTER(CLOCKS) + 8 * n);
	imc_script_read(script, CNNACC_IMC_REG_FIFO_PEAK);
}

static void fill_plane(const struct vector *v, struct imc_script *script)
{
	const struct plane *p = &planes[v->index];

	load_plane(&p->setup, script);
	imc_script_setup(script, &p->setup);
	imc_script_conv(script, &(struct imc_conv){ 0 });
	imc_script_wait(script);
	read_counters(script);
	imc_script_store(script, CNNACC_IMC_UNIT0, 4 * plane_results(&p->setup));
}

/* Without the commands, all of one cycle and what their rows take; READ takes two. */
static uint64_t duration_of(struct job *job, unsigned int reads)
{
	return STAT(job, cycles_serial) - STAT(job, dma_cycles) - STAT(job, instructions) - reads;
}

static bool check_plane_stats(const struct plane *p, struct job *job)
{
	uint64_t stored = STAT(job, mem_write_bytes) - 4 * (COUNT(p->counters) + 1);
	bool bad = differs("duration", duration_of(job, COUNT(p->counters) + 1), p->duration);

	bad |= differs("compute_cycles", STAT(job, compute_cycles), p->counters[0]);
	bad |= differs("stall_cycles", STAT(job, stall_cycles), p->counters[1]);
	bad |= differs("mac_slots", STAT(job, mac_slots), p->slots);
	bad |= differs("mac_useful", STAT(job, mac_useful), p->useful);
	bad |= differs("local_read_bytes", STAT(job, local_read_bytes) - stored, p->read);
	bad |= differs("local_write_bytes", STAT(job, local_write_bytes) -
		       STAT(job, mem_read_bytes), p->written);
	return !bad;
}

static bool check_plane(const struct vector *v, struct job *job)
{
	const struct plane *p = &planes[v->index];
	uint32_t results = plane_results(&p->setup), crc = CRC32_NONE;
	bool bad = false;

	for (uint32_t n = 0; n < COUNT(p->counters); n++)
		bad |= differs("a counter", imc_read_result(job, n), p->counters[n]);
	bad |= differs("FIFO_PEAK", imc_read_result(job, COUNT(p->counters)), p->peak);
	bad |= differs("the first result", imc_stored_word(job, 0), p->first);
	bad |= differs("the last result", imc_stored_word(job, results - 1), p->last);
	for (uint32_t n = 0; n < 4 * results; n++)
		crc = crc32_add(crc, imc_stored_word(job, n / 4) >> n % 4 * 8);
	bad |= differs("the CRC", crc, p->crc);
	return check_plane_stats(p, job) && !bad;
}

/* One channel of 224 x 224. */
static const struct large {
	bool full;
	uint32_t clocks, row_reads, element_reads;
} larges[] = { { false, 443556, 666, 149184 }, { true, 149184, 224, 50176 } };

static void fill_large(const struct vector *v, struct imc_script *script)
{
	imc_script_setup(script, &(struct imc_setup){ 3, .full = larges[v->index].full, .w = 224,
						      .h = 224, .cin = 1, .cout = 1 });
	imc_script_conv(script, &(struct imc_conv){ 0 });
	imc_script_wait(script);
	read_counters(script);
}

static bool check_large(const struct vector *v, struct job *job)
{
	const struct large *l = &larges[v->index];
	bool bad = differs("CLOCKS", imc_read_result(job, 0), l->clocks);

	bad |= differs("ROW_READS", imc_read_result(job, 2), l->row_reads);
	bad |= differs("ELEMENT_READS", imc_read_result(job, 3), l->element_reads);
	return !bad;
}

/* ------------------------------------------------------------------ stalls */

/** struct stalls - planes of INT8 with one output channel; @at: the first stalled clocks. */
static const struct stalls {
	uint32_t cin, w, h, n;
	unsigned int at[16], listed;
	uint32_t stalls, clocks, duration;
} stalls[] = {
	{ 64, 6, 3, 3, { 2, 3, 4, 7, 8, 12, 16, 19, 20, 22, 23, 24, 26, 27, 28 }, 15, 33, 36, 77 },
	{ 64, 6, 3, 3, { 2, 14, 16, 28, 30 }, 5, 5, 36, 47 },
	{ 64, 3, 3, 3, { 0 }, 0, 24, 9, 41 },
	{ 40, 4, 2, 1, { 0 }, 0, 14, 8, 29 },
};

static void fill_stalls(const struct vector *v, struct imc_script *script)
{
	const struct stalls *s = &stalls[v->index];

	imc_script_setup(script, &(struct imc_setup){ s->n, .w = s->w, .h = s->h, .cin = s->cin,
						      .cout = 1 });
	imc_script_conv(script, &(struct imc_conv){ .flags = CNNACC_IMC_CONV_STEP });
	for (uint32_t n = 0; n < s->stalls + s->clocks; n++) {
		imc_script_step(script, true, 1);
		imc_script_read(script, CNNACC_IMC_REG_SIG);
	}
	imc_script_read(script, COUNTER(STALLS));
	imc_script_read(script, COUNTER(CLOCKS));
	imc_script_read(script, CNNACC_IMC_REG_STATUS);
	/* The same plane again, at once. */
	imc_script_conv(script, &(struct imc_conv){ 0 });
	imc_script_wait(script);
}

static bool check_stalled_clocks(const struct stalls *s, struct job *job)
{
	unsigned int found = 0;
	bool bad = false;

	for (uint32_t n = 0; n < s->stalls + s->clocks; n++) {
		uint32_t sig = imc_read_result(job, n);

		bad |= differs("the clock's number", sig >> CNNACC_IMC_SIG_CLOCK_SHIFT, n + 1);
		if (sig & CNNACC_IMC_SIG_VALID)
			continue;
		if (found < s->listed)
			bad |= differs("a stalled clock", n + 1, s->at[found]);
		found++;
	}
	return !bad && !differs("stalled clocks", found, s->stalls);
}

static bool check_stalls(const struct vector *v, struct job *job)
{
	const struct stalls *s = &stalls[v->index];
	uint32_t all = s->stalls + s->clocks, reads = all + 3;
	/* STEP takes a cycle more for each clock; CONV with STEP has no clocks of its own. */
	uint64_t stepped = s->duration;
	bool bad = differs("STALLS", imc_read_result(job, all), s->stalls);

	bad |= differs("CLOCKS", imc_read_result(job, all + 1), s->clocks);
	bad |= differs("STATUS", imc_read_result(job, all + 2), CNNACC_IMC_IDLE);
	bad |= differs("duration", duration_of(job, reads), s->duration + stepped);
	return check_stalled_clocks(s, job) && !bad;
}

/* With the first of these: STEP 1, then so many clocks without VALID, then 3. */
static const struct pause {
	uint32_t pause, clocks, stalls, sig;
} pauses[] = { { 2, 3, 3, 0x00060249 }, { 5, 3, 6, 0x00090240 } };

static void fill_pause(const struct vector *v, struct imc_script *script)
{
	const struct stalls *s = &stalls[0];

	imc_script_setup(script, &(struct imc_setup){ s->n, .w = s->w, .h = s->h, .cin = s->cin,
						      .cout = 1 });
	imc_script_conv(script, &(struct imc_conv){ .flags = CNNACC_IMC_CONV_STEP });
	imc_script_step(script, true, 1);
	imc_script_step(script, false, pauses[v->index].pause);
	imc_script_step(script, true, 3);
	imc_script_read(script, COUNTER(CLOCKS));
	imc_script_read(script, COUNTER(STALLS));
	imc_script_read(script, CNNACC_IMC_REG_SIG);
}

static bool check_pause(const struct vector *v, struct job *job)
{
	const struct pause *p = &pauses[v->index];
	bool bad = differs("CLOCKS", imc_read_result(job, 0), p->clocks);

	bad |= differs("STALLS", imc_read_result(job, 1), p->stalls);
	bad |= differs("SIG", imc_read_result(job, 2), p->sig);
	return !bad;
}

/* ---------------------------------------------------- saturation and FP32 */

/** struct point - a plane of one result; rows of components and weights. */
static const struct point {
	uint32_t format, n;
	bool full, accumulate;
	uint32_t value, a[9], w[9], result;
} points[] = {
	{ 0, 1, false, true, 2147483647, { 1 }, { 1 }, 2147483647 },
	{ 0, 1, false, true, 2147483638, { 127 }, { 127 }, 2147483647 },
	{ 0, 1, false, true, -2147483638, { -128 }, { 127 }, -2147483647 - 1 },
	{ 0, 2, false, true, 2147483548, { 100, 100, -100, -100 }, { 1, 1, 1, 1 }, 2147483447 },
	{ 0, 2, false, true, 2147483548, { -100, -100, 100, 100 }, { 1, 1, 1, 1 }, 2147483548 },
	{ 1, 1, false, true, 5, { 255 }, { -128 }, -32635 },
	{ 2, 3, false, false, 0, { 0x4cbebc20, 0x3f800000, 0xccbebc20, 0x4cbebc20, 0xccbebc20,
	    0x3f800000, 0x40400000, 0, 0 },
	  { 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000,
	    0x3f800000, 0x3f800000 }, 0x40800000 },
	{ 2, 3, true, false, 0, { 0x4cbebc20, 0x3f800000, 0xccbebc20, 0x4cbebc20, 0xccbebc20,
	    0x3f800000, 0x40400000, 0, 0 },
	  { 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000,
	    0x3f800000, 0x3f800000 }, 0x40800000 },
};

static void put_word(uint8_t *at, int64_t i, uint32_t format, uint32_t value)
{
	if (format == CNNACC_IMC_FP32)
		word_put(at, i, value);
	else
		at[i] = value;
}

/* A plane of one result, @channels channels of n x n components @a and weights @w. */
static void fill_result(const struct point *p, uint32_t channels, const uint32_t *a,
			const uint32_t *w, struct imc_script *script)
{
	uint32_t esz = p->format == CNNACC_IMC_FP32 ? 4 : 1, count = p->n * p->n * channels;
	uint8_t input[400], weights[400], unit[4];

	for (uint32_t i = 0; i < count; i++) {
		put_word(input, i, p->format, a[i]);
		put_word(weights, i, p->format, w[i]);
	}
	word_put(unit, 0, p->value);
	imc_script_load(script, CNNACC_IMC_INPUT1, input, count * esz);
	imc_script_load(script, CNNACC_IMC_WEIGHT1, weights, count * esz);
	imc_script_load(script, CNNACC_IMC_UNIT1, unit, sizeof(unit));
	imc_script_setup(script, &(struct imc_setup){ p->n, p->format, p->full, p->n, p->n,
						      channels, 1, 0, 0, 0, 0 });
	imc_script_conv(script, &(struct imc_conv){
		CNNACC_IMC_CONV_INPUT1 | CNNACC_IMC_CONV_WEIGHT1 | CNNACC_IMC_CONV_UNIT1 |
		(p->accumulate ? CNNACC_IMC_CONV_ACCUMULATE : 0), 0, 0, 0 });
	imc_script_wait(script);
	imc_script_store(script, CNNACC_IMC_UNIT1, 4);
}

static void fill_point(const struct vector *v, struct imc_script *script)
{
	const struct point *p = &points[v->index];

	fill_result(p, 1, p->a, p->w, script);
}

static bool check_point(const struct vector *v, struct job *job)
{
	return !differs("the result", imc_stored_word(job, 0), points[v->index].result);
}

/** struct products - one point of FP32: bits of components and weights by channel. */
static const struct products {
	uint32_t channels, a[3], w[3], result;
} products[] = {
	{ 2, { 0x3f800800, 0xbf800000 }, { 0x3f800800, 0x3f800000 }, 0x3a000000 },
	{ 3, { 0x4cbebc20, 0x3f800000, 0xccbebc20 }, { 0x3f800000, 0x3f800000, 0x3f800000 }, 0 },
	{ 3, { 0x4cbebc20, 0xccbebc20, 0x3f800000 }, { 0x3f800000, 0x3f800000, 0x3f800000 },
	  0x3f800000 },
	{ 1, { 0x80000000 }, { 0x3f800000 }, 0x80000000 },
	{ 2, { 0x80000000, 0 }, { 0x3f800000, 0x40a00000 }, 0 },
	{ 2, { 0x80000000, 0 }, { 0x3f800000, 0xc0a00000 }, 0x80000000 },
	/* 1e8, 1 (63 times), -1e8: filled in by fill_products() */
	{ 65, { 0 }, { 0 }, 0 },
	{ 65, { 0 }, { 0 }, 0x42000000 },
};

static void fill_products(const struct vector *v, struct imc_script *script)
{
	const struct products *p = &products[v->index];
	const struct point point = { .format = CNNACC_IMC_FP32, .n = 1 };
	uint32_t a[65], w[65];

	if (p->channels < 65) {
		fill_result(&point, p->channels, p->a, p->w, script);
		return;
	}
	for (uint32_t c = 0; c < 65; c++) {
		a[c] = c == 0 ? 0x4cbebc20 : c == 64 ? 0xccbebc20 : 0x3f800000;
		w[c] = 0x3f800000;
	}
	fill_result(&point, 65, a, w, script);
}

static bool check_products(const struct vector *v, struct job *job)
{
	return !differs("the result", imc_stored_word(job, 0), products[v->index].result);
}

/* -------------------------------------------------------------- whole jobs */

/* Plane A of zeros; @index: without WAIT. */
static void fill_program(const struct vector *v, struct imc_script *script)
{
	imc_script_setup(script, &planes[0].setup);
	imc_script_conv(script, &(struct imc_conv){ 0 });
	if (!v->index)
		imc_script_wait(script);
}

static bool check_program(const struct vector *v, struct job *job)
{
	return !differs("cycles", STAT(job, cycles), v->index ? 241 : 242);
}


/** struct refused - a SETUP and a CONV, one of which is refused. */
static const struct refused {
	struct imc_setup setup;
	struct imc_conv conv;
} refusals[] = {
	{ { 0, 0, false, 8, 6, 3, 5, 0, 0, 0, 30 }, { 0 } },
	{ { 12, 0, false, 8, 6, 3, 5, 0, 0, 0, 30 }, { 0 } },
	{ { 3, 3, false, 8, 6, 3, 5, 0, 0, 0, 30 }, { 0 } },
	{ { 3, 0, false, 2, 6, 3, 5, 0, 0, 24, 30 }, { 0 } },
	{ { 3, 0, false, 8, 6, 0, 5, 3, 0, 24, 30 }, { 0 } },
	{ { 3, 0, false, 8, 6, 3, 4097, 0, 5, 24, 30 }, { 0 } },
	{ { 3, 0, false, 8, 6, 3, 5, 3, 4, 24, 30 }, { 0 } },
	{ { 3, 0, false, 8, 6, 3, 5, 3, 5, 24, 29 }, { 0 } },
	{ { 12, 0, false, 2, 6, 3, 5, 3, 5, 24, 30 }, { 0 } },
	{ { 3, 0, false, 512, 512, 1, 1, 1, 1, 512, 510 }, { 0 } },
	{ { 3, 0, false, 512, 512, 1, 1, 1, 1, 512, 510 }, { 0, 1, 0, 0 } },
	{ { 11, 0, false, 11, 11, 64, 34, 0, 0, 0, 0 }, { 0 } },
	{ { 11, 0, false, 11, 11, 64, 33, 0, 0, 0, 0 }, { 0 } },
	{ { 3, 0, false, 8, 6, 3, 5, 0, 0, 0, 0 }, { 0, 0, 0, 2 } },
};

static void fill_refused(const struct vector *v, struct imc_script *script)
{
	const struct refused *r = &refusals[v->index];

	imc_script_setup(script, &r->setup);
	imc_script_conv(script, &r->conv);
}

/* Plane A, then a copy of no rows to input bank @index. */
static void fill_no_rows(const struct vector *v, struct imc_script *script)
{
	imc_script_setup(script, &planes[0].setup);
	imc_script_conv(script, &(struct imc_conv){ 0 });
	stream_copy(&script->job->program, v->index, 0, 0, &(struct stream_rows){ 0, 0, 64, 0, 0 });
}

static bool check_nothing(const struct vector *v, struct job *job)
{
	(void)v;
	(void)job;
	return true;
}

/* ----------------------------------------------------------------- the list */

#define TRACE(name, n)		{ name, n, 0, 0, fill_trace, check_trace, 0, 0, 0 }
#define PLANE(name, n, port)	{ name, n, port, 0, fill_plane, check_plane, 0, 0, 0 }
#define POINT(name, n)		{ name, n, 0, 0, fill_point, check_point, 0, 0, 0 }
#define PRODUCTS(name, n)	{ name, n, 0, 0, fill_products, check_products, 0, 0, 0 }
#define REFUSED(name, n, status, code, detail) \
	{ name, n, 0, 0, fill_refused, check_nothing, CNNACC_STATUS_##status, \
	  CNNACC_IMC_E_##code, detail }
#define BAD_SETUP(name, n, detail) \
	REFUSED(name, n, CONFIG, CFG, CNNACC_IMC_BAD_##detail)

static const struct vector vectors[] = {
	TRACE("trace of a row, n 3, W 5", 0), TRACE("trace, n 3, W 3", 1),
	TRACE("trace, n 3, W 4", 2), TRACE("trace, n 1, W 3", 3), TRACE("trace, n 2, W 4", 4),
	TRACE("trace, n 4, W 6", 5),
	PLANE("plane A", 0, 0), PLANE("plane B", 1, 0), PLANE("plane C", 2, 0),
	PLANE("plane D", 3, 0), PLANE("plane E", 4, 16), PLANE("plane F", 5, 16),
	PLANE("plane G", 6, 16), PLANE("plane I", 7, 0), PLANE("plane J", 8, 8),
	{ "224 x 224, partial reuse", 0, 0, 0, fill_large, check_large, 0, 0, 0 },
	{ "224 x 224, full reuse", 1, 0, 0, fill_large, check_large, 0, 0, 0 },
	{ "stalls, L 4", 0, 16, 0, fill_stalls, check_stalls, 0, 0, 0 },
	{ "stalls, L 2", 1, 32, 0, fill_stalls, check_stalls, 0, 0, 0 },
	{ "stalls, W 3", 2, 16, 0, fill_stalls, check_stalls, 0, 0, 0 },
	{ "stalls, n 1", 3, 16, 0, fill_stalls, check_stalls, 0, 0, 0 },
	{ "steps without valid, 2", 0, 16, 0, fill_pause, check_pause, 0, 0, 0 },
	{ "steps without valid, 5", 1, 16, 0, fill_pause, check_pause, 0, 0, 0 },
	POINT("saturated by 1", 0), POINT("saturated, high", 1), POINT("saturated, low", 2),
	POINT("saturated row, then not", 3), POINT("not saturated, rows first", 4),
	POINT("UINT8", 5), POINT("FP32 rows, partial reuse", 6), POINT("FP32 rows, full reuse", 7),
	PRODUCTS("not fused", 0), PRODUCTS("ascending channels, lost", 1),
	PRODUCTS("ascending channels, kept", 2), PRODUCTS("-0", 3), PRODUCTS("-0 + 0", 4),
	PRODUCTS("-0 - 0", 5), PRODUCTS("65 channels", 6),
	{ "65 channels, cin-max 32", 7, 0, 32, fill_products, check_products, 0, 0, 0 },
	{ "cycles of a program", 0, 0, 0, fill_program, check_program, 0, 0, 0 },
	{ "cycles without WAIT", 1, 0, 0, fill_program, check_program, 0, 0, 0 },
	BAD_SETUP("n 0", 0, KERNEL), BAD_SETUP("n 12", 1, KERNEL), BAD_SETUP("format 3", 2, FORMAT),
	BAD_SETUP("W 2", 3, WIDTH), BAD_SETUP("cin 0", 4, CIN), BAD_SETUP("cout 4097", 5, COUT),
	BAD_SETUP("result column stride 4", 6, RESULT_COLUMN),
	BAD_SETUP("result row stride 29", 7, RESULT_ROW), BAD_SETUP("n 12, W 2", 8, KERNEL),
	REFUSED("results too long", 9, BAD_PROGRAM, ADDR, CNNACC_IMC_UNIT0),
	REFUSED("input too long", 10, BAD_PROGRAM, ADDR, CNNACC_IMC_INPUT0),
	REFUSED("weights too long", 11, BAD_PROGRAM, ADDR, CNNACC_IMC_WEIGHT0),
	{ "weights that fit", 12, 0, 0, fill_refused, check_nothing, 0, 0, 0 },
	BAD_SETUP("result address 2", 13, ALIGN),
	{ "no rows to a claimed bank", 0, 0, 0, fill_no_rows, check_nothing,
	  CNNACC_STATUS_BAD_PROGRAM, CNNACC_SEQ_E_CONFLICT, CNNACC_IMC_INPUT0 },
	{ "no rows to a free bank", 1, 0, 0, fill_no_rows, check_nothing, 0, 0, 0 },
};

unsigned int imc_vector_count(void)
{
	return COUNT(vectors);
}

const char *imc_vector_name(unsigned int index)
{
	return vectors[index].name;
}

struct golden_imc_params imc_vector_params(unsigned int index)
{
	const struct vector *v = &vectors[index];

	return (struct golden_imc_params){
		v->cin_max ? v->cin_max : CNNACC_IMC_CIN_MAX_DEFAULT, CNNACC_IMC_CSUS_DEFAULT,
		CNNACC_IMC_N_DEFAULT, true, true, CNNACC_IMC_INPUT_DEFAULT,
		CNNACC_IMC_WEIGHT_DEFAULT, CNNACC_IMC_UNIT_DEFAULT,
		v->port ? v->port : CNNACC_IMC_PORT_DEFAULT, CNNACC_IMC_PROGRAM_DEFAULT,
	};
}

void imc_vector_build(unsigned int index, struct job *job)
{
	struct imc_script script;

	imc_script_begin(&script, job);
	vectors[index].fill(&vectors[index], &script);
	imc_script_end(&script);
}

bool imc_vector_check(unsigned int index, struct job *job)
{
	return vectors[index].check(&vectors[index], job);
}

struct golden_status imc_vector_status(unsigned int index)
{
	const struct vector *v = &vectors[index];

	return (struct golden_status){
		.status_class = v->status_class, .status_code = v->code, .detail = v->detail,
	};
}
