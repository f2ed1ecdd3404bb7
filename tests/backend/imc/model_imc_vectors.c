// SPDX-License-Identifier: MIT
/* Core imc: the vectors of Documentation/hardware/imc.rst. */
#include "imc_fixture.h"

#define INT8	CNNACC_IMC_INT8
#define UINT8	CNNACC_IMC_UINT8
#define FP32	CNNACC_IMC_FP32
#define ACC	CNNACC_IMC_CONV_ACCUMULATE
#define STEP	CNNACC_IMC_CONV_STEP
#define VALID	CNNACC_IMC_STEP_VALID
#define COUNTERS	9

/** struct vector - a plane of the page's table. */
struct vector {
	char name;
	const char *cores;
	struct imc_shape shape;
	uint64_t duration, counters[COUNTERS];	/* CLOCKS to PARTIAL_STORES */
	uint64_t peak, mac_slots, mac_useful, read_bytes, write_bytes;
	uint32_t first, last, crc;
};

static const struct vector vectors[] = {
	{ 'A', "imc", { 3, INT8, 8, 6, 3, 5, 0 }, 221,
	  { 216, 0, 12, 96, 1080, 720, 720, 360, 240 }, 2, 884736, 3240, 4488, 1440,
	  9, (uint32_t)-43, 0x8f4ca52e },
	{ 'B', "imc", { 3, INT8, 8, 6, 3, 5, 1 }, 113,
	  { 108, 0, 6, 48, 1080, 720, 720, 360, 240 }, 2, 442368, 3240, 4344, 1440,
	  9, (uint32_t)-43, 0x8f4ca52e },
	{ 'C', "imc", { 3, INT8, 8, 6, 100, 70, 0 }, 869,
	  { 864, 0, 48, 384, 30240, 20160, 20160, 10080, 8400 }, 2, 3538944, 1512000, 1564800,
	  40320, 10, (uint32_t)-133, 0xf49f4b90 },
	{ 'D', "imc", { 3, INT8, 8, 6, 100, 70, 1 }, 869,
	  { 864, 0, 48, 384, 30240, 20160, 20160, 10080, 8400 }, 2, 3538944, 1512000, 1564800,
	  40320, 10, (uint32_t)-133, 0xf49f4b90 },
	{ 'E', "imc:port=16", { 3, FP32, 6, 6, 20, 3, 0 }, 365,
	  { 144, 212, 12, 72, 432, 288, 288, 144, 96 }, 2, 589824, 8640, 40704, 576,
	  0x3e6aaaa0, 0xbf880006, 0xb1311e9a },
	{ 'F', "imc:port=16", { 3, FP32, 6, 6, 20, 3, 1 }, 185,
	  { 72, 104, 6, 36, 432, 288, 288, 144, 96 }, 2, 294912, 8640, 37824, 576,
	  0x3e6aaaa0, 0xbf880006, 0xb1311e9a },
	{ 'G', "imc:port=16", { 1, INT8, 9, 7, 130, 9, 0 }, 572,
	  { 189, 375, 21, 189, 1701, 0, 0, 1701, 1134 }, 0, 774144, 73710, 86436, 6804,
	  (uint32_t)-2, 47, 0x0115cf3c },
	{ 'I', "imc", { 11, INT8, 11, 12, 2, 2, 1 }, 137,
	  { 132, 0, 12, 132, 484, 440, 440, 44, 40 }, 1, 540672, 968, 1392, 176,
	  323, 204, 0x161977bd },
	{ 'J', "imc:port=8", { 3, INT8, 3, 3, 65, 66, 0 }, 167,
	  { 36, 119, 12, 36, 1188, 792, 792, 396, 330 }, 1, 147456, 38610, 41100, 1584,
	  32, 134, 0xaec83535 },
};

static uint32_t float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static void put_component(struct core_jobs *f, uint32_t format, uint32_t base, uint32_t index,
			  float value)
{
	if (format == FP32)
		if_put(f, base + 4 * index, float_bits(value));
	else
		f->data[base + index] = (uint8_t)(int8_t)value;
}

static void put_input(struct core_jobs *f, const struct imc_setup *p)
{
	float scale = p->format == FP32 ? 16 : 1;
	uint32_t i = 0;

	for (uint32_t y = 0; y < p->h; y++)
		for (uint32_t x = 0; x < p->w; x++)
			for (uint32_t c = 0; c < p->cin; c++) {
				int value = (int)((7 * y + 3 * x + 5 * c) % 17) - 8;

				put_component(f, p->format, INPUT, i++, (float)value / scale);
			}
}

static void put_weights(struct core_jobs *f, const struct imc_setup *p)
{
	float scale = p->format == FP32 ? 3 : 1;
	uint32_t i = 0;

	for (uint32_t k = 0; k < p->cout; k++)
		for (uint32_t tap = 0; tap < p->n * p->n; tap++)
			for (uint32_t c = 0; c < p->cin; c++) {
				uint32_t r = tap / p->n, s = tap % p->n;
				int value = (int)((5 * k + 3 * r + 7 * s + c) % 11) - 5;

				put_component(f, p->format, WEIGHT, i++, (float)value / scale);
			}
}

static uint32_t results(const struct imc_shape *p)
{
	return (p->w - p->n + 1) * (p->h - p->n + 1) * p->cout;
}

static void load_operands(struct core_jobs *f, const struct imc_setup *p)
{
	uint32_t esz = p->format == FP32 ? 4 : 1;

	if_load(f, CNNACC_IMC_INPUT0, INPUT, p->h * p->w * p->cin * esz);
	if_load(f, CNNACC_IMC_WEIGHT0, WEIGHT, p->cout * p->n * p->n * p->cin * esz);
}

static void check_counters(struct core_jobs *f, const struct vector *v)
{
	for (uint32_t i = 0; i < COUNTERS; i++)
		assert_int_equal(cj_counter(f, CNNACC_IMC_REG_CLOCKS + 8 * i), v->counters[i]);
	assert_int_equal(cj_reg(f, CNNACC_IMC_REG_FIFO_PEAK), v->peak);
	assert_int_equal(cj_reg(f, CNNACC_IMC_REG_STATUS), CNNACC_IMC_IDLE);
	assert_int_equal(f->stats.compute_cycles, v->counters[0]);
	assert_int_equal(f->stats.stall_cycles, v->counters[1]);
	assert_int_equal(f->stats.mac_slots, v->mac_slots);
	assert_int_equal(f->stats.mac_useful, v->mac_useful);
	assert_int_equal(f->stats.local_read_bytes, v->read_bytes);
}

static void check_results(struct core_jobs *f, const struct vector *v)
{
	uint32_t bytes = 4 * results(&v->shape);

	memset(f->data + UNIT, 0x55, bytes);
	if_save(f, CNNACC_IMC_UNIT0, UNIT, bytes);
	assert_int_equal(if_get(f, UNIT), v->first);
	assert_int_equal(if_get(f, UNIT + bytes - 4), v->last);
	assert_int_equal(mh_crc32(f->data + UNIT, bytes), v->crc);
}

/* The memory unit before a plane, which must not matter. */
static void spoil_unit(struct core_jobs *f, const struct vector *v)
{
	memset(f->data + UNIT, 0xff, 4 * results(&v->shape));
	if_load(f, CNNACC_IMC_UNIT0, UNIT, 4 * results(&v->shape));
}

static void check_plane(const struct vector *v)
{
	const struct cm_config config = { 0 };
	struct core_jobs *f = if_new(v->cores, &config);
	struct imc_setup p = imc_compact(v->shape);
	struct sasm a = { .n = 0 };

	put_input(f, &p);
	put_weights(f, &p);
	load_operands(f, &p);
	spoil_unit(f, v);
	sa_setup(&a, &p);
	sa_conv(&a, 0, 0, 0, 0);
	sa_wait(&a, CNNACC_IMC_WAIT_IDLE);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(f->stats.cycles, 18 + 2 + v->duration + 1);
	assert_int_equal(f->stats.cycles_serial, 18 + 2 + v->duration + 2);
	assert_int_equal(f->stats.local_write_bytes, 128 + v->write_bytes);
	check_counters(f, v);
	check_results(f, v);
	mh_free(f->h);
}

/* The same clock by clock: 1 + 4 + L for CONV, then the clocks and one for each STEP. */
static void check_plane_in_steps(const struct vector *v)
{
	uint64_t clocks = v->counters[0] + v->counters[1];
	const struct cm_config config = { 0 };
	struct core_jobs *f = if_new(v->cores, &config);
	struct imc_setup p = imc_compact(v->shape);
	struct sasm a = { .n = 0 };

	put_input(f, &p);
	put_weights(f, &p);
	load_operands(f, &p);
	spoil_unit(f, v);
	sa_setup(&a, &p);
	sa_conv(&a, STEP, 0, 0, 0);
	sa_steps(&a, clocks);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(f->stats.cycles, 18 + 1 + 1 + v->duration + 1 + 1);
	assert_int_equal(f->stats.cycles_serial, f->stats.cycles);
	assert_int_equal(f->stats.local_write_bytes, 128 + v->write_bytes);
	check_counters(f, v);
	assert_int_equal(cj_reg(f, CNNACC_IMC_REG_SIG) >> 16, clocks);
	check_results(f, v);
	mh_free(f->h);
}

static void test_planes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(vectors); i++)
		check_plane(&vectors[i]);
}

static void test_planes_in_steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(vectors); i++)
		check_plane_in_steps(&vectors[i]);
}

/* ---- signals ---- */

/** struct signals - a clock with A_j = j, W_w = 10^(w - 1). */
struct signals {
	uint32_t p, head, fifo[4], out, sig;	/* out 0: no strobe */
};

struct trace {
	uint32_t n, w, count;
	struct signals clock[12];
};

static const struct trace traces[] = {
	{ 3, 5, 9, {
		{ 1, 0, { 1 }, 0, 0x00010149 }, { 20, 1, { 21 }, 0, 0x0002014f },
		{ 2, 0, { 21, 2 }, 0, 0x00030249 }, { 300, 21, { 2 }, 321, 0x00040195 },
		{ 30, 2, { 32 }, 0, 0x0005018f }, { 3, 0, { 32, 3 }, 0, 0x00060289 },
		{ 400, 32, { 3 }, 432, 0x00070195 }, { 40, 3, { 43 }, 0, 0x0008018f },
		{ 500, 43, { 0 }, 543, 0x000900d5 } } },
	{ 3, 3, 3, {
		{ 1, 0, { 1 }, 0, 0x00010149 }, { 20, 1, { 21 }, 0, 0x0002014f },
		{ 300, 21, { 0 }, 321, 0x000300d5 } } },
	{ 1, 3, 3, {
		{ 1, 0, { 0 }, 1, 0x00010091 }, { 2, 0, { 0 }, 2, 0x00020091 },
		{ 3, 0, { 0 }, 3, 0x000300d1 } } },
	{ 3, 4, 6, {
		{ 1, 0, { 1 }, 0, 0x00010149 }, { 20, 1, { 21 }, 0, 0x0002014f },
		{ 2, 0, { 21, 2 }, 0, 0x00030249 }, { 300, 21, { 2 }, 321, 0x00040195 },
		{ 30, 2, { 32 }, 0, 0x0005018f }, { 400, 32, { 0 }, 432, 0x000600d5 } } },
	{ 2, 4, 6, {
		{ 1, 0, { 1 }, 0, 0x00010149 }, { 20, 1, { 0 }, 21, 0x00020095 },
		{ 2, 0, { 2 }, 0, 0x00030189 }, { 30, 2, { 0 }, 32, 0x00040095 },
		{ 3, 0, { 3 }, 0, 0x00050189 }, { 40, 3, { 0 }, 43, 0x000600d5 } } },
	{ 4, 6, 12, {
		{ 1, 0, { 1 }, 0, 0x00010149 }, { 20, 1, { 21 }, 0, 0x0002014f },
		{ 2, 0, { 21, 2 }, 0, 0x00030249 }, { 300, 21, { 2, 321 }, 0, 0x0004024f },
		{ 30, 2, { 321, 32 }, 0, 0x0005024f }, { 3, 0, { 321, 32, 3 }, 0, 0x00060349 },
		{ 4000, 321, { 32, 3 }, 4321, 0x00070295 },
		{ 400, 32, { 3, 432 }, 0, 0x0008028f }, { 40, 3, { 432, 43 }, 0, 0x0009028f },
		{ 5000, 432, { 43 }, 5432, 0x000a0195 }, { 500, 43, { 543 }, 0, 0x000b018f },
		{ 6000, 543, { 0 }, 6543, 0x000c00d5 } } },
};

/* FP32, as 1000 does not fit a byte; sums are exact. */
static uint32_t as_integer(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return (uint32_t)value;
}

static void check_clock(struct core_jobs *f, const struct signals *want, uint32_t *out)
{
	assert_int_equal(cj_reg(f, CNNACC_IMC_REG_SIG), want->sig);
	assert_int_equal(as_integer(cj_reg(f, CNNACC_IMC_REG_P)), want->p);
	assert_int_equal(as_integer(cj_reg(f, CNNACC_IMC_REG_HEAD)), want->head);
	for (uint32_t m = 0; m < CNNACC_IMC_N_MAX; m++)
		assert_int_equal(as_integer(cj_reg(f, CNNACC_IMC_REG_FIFO(m))),
				 m < 4 ? want->fifo[m] : 0);
	if (want->out)
		*out = want->out;
	assert_int_equal(as_integer(cj_reg(f, CNNACC_IMC_REG_OUT)), *out);
}

/* The program ends after @clocks while the core is STEPPING; the window keeps the last clock. */
static void step_clocks(struct core_jobs *f, const struct imc_setup *p, uint32_t clocks)
{
	struct sasm a = { .n = 0 };

	sa_setup(&a, p);
	sa_conv(&a, STEP, 0, 0, 0);
	sa_step(&a, VALID, clocks);
	sa_end(&a);
	sq_ok(f, &a);
}

static void check_trace(struct core_jobs *f, const struct trace *t)
{
	struct imc_setup p = imc_compact((struct imc_shape){ t->n, FP32, t->w, t->n, 1, 1, 0 });
	uint32_t out = 0;
	float weight = 1;

	memset(f->data, 0, DATA_BYTES);
	for (uint32_t j = 0; j < t->w; j++)
		if_put(f, INPUT + 4 * j, float_bits((float)j + 1));
	for (uint32_t w = 0; w < t->n; w++, weight *= 10)
		if_put(f, WEIGHT + 4 * w, float_bits(weight));
	load_operands(f, &p);
	for (uint32_t i = 0; i < t->count; i++) {
		step_clocks(f, &p, i + 1);
		check_clock(f, &t->clock[i], &out);
	}
}

static void test_signals(void **state)
{
	for (size_t i = 0; i < ELEMENTS(traces); i++)
		check_trace(*state, &traces[i]);
}

/* ---- stalls ---- */

struct stalls {
	const char *cores;
	struct imc_shape shape;
	uint32_t stalls, clocks, duration;
	uint32_t first[17];		/* stalled clocks in ascending order, ended by 0 */
};

static const struct stalls stalls[] = {
	{ "imc:port=16", { 3, INT8, 6, 3, 64, 1, 0 }, 33, 36, 77,
	  { 2, 3, 4, 7, 8, 12, 16, 19, 20, 22, 23, 24, 26, 27, 28 } },
	{ "imc:port=32", { 3, INT8, 6, 3, 64, 1, 0 }, 5, 36, 47, { 2, 14, 16, 28, 30 } },
	{ "imc:port=16", { 3, INT8, 3, 3, 64, 1, 0 }, 24, 9, 41, { 2, 3, 4 } },
	{ "imc:port=16", { 1, INT8, 4, 2, 40, 1, 0 }, 14, 8, 29, { 2, 3 } },
};

/* Steps one clock at a time and counts those that are stalled. */
static void check_stalled_clocks(struct core_jobs *f, const struct stalls *t)
{
	struct imc_setup p = imc_compact(t->shape);
	uint32_t next = 0, count = 0;

	for (uint32_t clock = 1; clock <= t->clocks + t->stalls; clock++) {
		bool stalled;

		step_clocks(f, &p, clock);
		stalled = !(cj_reg(f, CNNACC_IMC_REG_SIG) & CNNACC_IMC_SIG_VALID);
		assert_int_equal(cj_reg(f, CNNACC_IMC_REG_SIG) >> 16, clock);
		if (t->first[next])
			assert_int_equal(stalled, clock == t->first[next]);
		next += stalled && t->first[next];
		count += stalled;
		assert_int_equal(cj_counter(f, CNNACC_IMC_REG_STALLS), count);
	}
	assert_int_equal(count, t->stalls);
	assert_int_equal(cj_reg(f, CNNACC_IMC_REG_STATUS), CNNACC_IMC_IDLE);
}

static void test_stalls(void **state)
{
	const struct cm_config config = { 0 };

	(void)state;
	for (size_t i = 0; i < ELEMENTS(stalls); i++) {
		const struct stalls *t = &stalls[i];
		struct core_jobs *f = if_new(t->cores, &config);
		struct imc_setup p = imc_compact(t->shape);
		struct sasm a = { .n = 0 };

		sa_setup(&a, &p);
		sa_conv(&a, 0, 0, 0, 0);
		sa_wait(&a, CNNACC_IMC_WAIT_IDLE);
		sa_end(&a);
		sq_ok(f, &a);
		assert_int_equal(f->stats.compute_cycles, t->clocks);
		assert_int_equal(f->stats.stall_cycles, t->stalls);
		assert_int_equal(f->stats.cycles, 21 + t->duration);
		check_stalled_clocks(f, t);
		mh_free(f->h);
	}
}

/* STEPs without VALID: elements are loaded all the same. */
static void check_pause(struct core_jobs *f, uint32_t pause, uint32_t count, uint32_t sig)
{
	struct imc_setup p = imc_compact(stalls[0].shape);
	struct sasm a = { .n = 0 };

	sa_setup(&a, &p);
	sa_conv(&a, STEP, 0, 0, 0);
	sa_step(&a, VALID, 1);
	sa_step(&a, 0, pause);
	sa_step(&a, VALID, 3);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(cj_counter(f, CNNACC_IMC_REG_CLOCKS), 3);
	assert_int_equal(cj_counter(f, CNNACC_IMC_REG_STALLS), count);
	assert_int_equal(cj_reg(f, CNNACC_IMC_REG_SIG), sig);
	assert_int_equal(cj_reg(f, CNNACC_IMC_REG_STATUS), CNNACC_IMC_STEPPING);
	assert_int_equal(f->stats.cycles, BOOT(&a) + 1 + 1 + 4 + 4 + 2 + 1 + pause + 4 + 1);
}

static void test_pauses(void **state)
{
	check_pause(*state, 2, 3, 0x00060249);
	check_pause(*state, 5, 6, 0x00090240);
}

static int setup_port16(void **state)
{
	return if_setup_cores(state, "imc:port=16");
}

/* ---- arithmetic ---- */

/** struct sum - a plane of one output channel, its one result or row of them. */
struct sum {
	uint32_t n, format;
	uint32_t flags, start;		/* CONV_ACCUMULATE onto that value */
	uint32_t w, h;
	int in[4];
	int weight;			/* all of them */
	int64_t want;
};

static const struct sum sums[] = {
	{ 1, INT8, ACC, 2147483647, 1, 1, { 1 }, 1, 2147483647 },
	{ 1, INT8, ACC, 2147483638, 1, 1, { 127 }, 127, 2147483647 },
	{ 1, INT8, ACC, (uint32_t)-2147483638, 1, 1, { -128 }, 127, -2147483648ll },
	{ 2, INT8, ACC, 2147483548, 2, 2, { 100, 100, -100, -100 }, 1, 2147483447 },
	{ 2, INT8, ACC, 2147483548, 2, 2, { -100, -100, 100, 100 }, 1, 2147483548 },
	{ 1, UINT8, ACC, 5, 1, 1, { 255 }, -128, -32635 },
	{ 1, UINT8, 0, 5, 1, 1, { 255 }, -128, -32640 },
};

/* A plane at addresses 0 both ways, on results that begin with @start; returns the first result. */
static uint32_t run_both(struct core_jobs *f, const struct imc_setup *p, uint32_t flags,
			 uint32_t start)
{
	uint32_t result[2];

	for (uint32_t step = 0; step < 2; step++) {
		struct sasm a = { .n = 0 };

		load_operands(f, p);
		if_put(f, UNIT, start);
		if_load(f, CNNACC_IMC_UNIT0, UNIT, 4);
		sa_setup(&a, p);
		sa_conv(&a, flags | step * STEP, 0, 0, 0);
		if (step)
			sa_step(&a, VALID, CNNACC_IMC_CLOCKS_MAX);
		sa_wait(&a, CNNACC_IMC_WAIT_IDLE);
		sa_end(&a);
		sq_ok(f, &a);
		if_save(f, CNNACC_IMC_UNIT0, UNIT, 4);
		result[step] = if_get(f, UNIT);
	}
	assert_int_equal(result[0], result[1]);
	return result[0];
}

static void test_saturation(void **state)
{
	struct core_jobs *f = *state;

	for (size_t i = 0; i < ELEMENTS(sums); i++) {
		const struct sum *t = &sums[i];
		struct imc_setup p = imc_compact((struct imc_shape){
			t->n, t->format, t->w, t->h, 1, 1, 0 });

		for (uint32_t j = 0; j < 4; j++) {
			f->data[INPUT + j] = (uint8_t)t->in[j];
			f->data[WEIGHT + j] = (uint8_t)t->weight;
		}
		assert_int_equal(run_both(f, &p, t->flags, t->start), (uint32_t)t->want);
	}
}

struct products {
	uint32_t count;
	uint32_t x[3], w[3], want;
};

#define ONE	0x3f800000u
#define BIG	0x4cbebc20u	/* 1e8 */
#define SIGN	0x80000000u

static const struct products products[] = {
	{ 2, { 0x3f800800, 0xbf800000 }, { 0x3f800800, ONE }, 0x3a000000 },
	{ 3, { BIG, ONE, BIG | SIGN }, { ONE, ONE, ONE }, 0 },
	{ 3, { BIG, BIG | SIGN, ONE }, { ONE, ONE, ONE }, ONE },
	{ 1, { SIGN }, { ONE }, SIGN },
	{ 2, { SIGN, 0 }, { ONE, 0x40a00000 }, 0 },
	{ 2, { SIGN, 0 }, { ONE, 0xc0a00000 }, SIGN },
	/* A NaN has one value; subnormals count. */
	{ 1, { 0xffc12345 }, { ONE }, 0x7fc00000 },
	{ 2, { 0x7f800000, 0xff800000 }, { ONE, ONE }, 0x7fc00000 },
	{ 1, { 1 }, { ONE }, 1 },
};

static void test_products(void **state)
{
	struct core_jobs *f = *state;

	for (size_t i = 0; i < ELEMENTS(products); i++) {
		struct imc_setup p = imc_compact((struct imc_shape){
			1, FP32, 1, 1, products[i].count, 1, 0 });

		memcpy(f->data + INPUT, products[i].x, sizeof(products[i].x));
		memcpy(f->data + WEIGHT, products[i].w, sizeof(products[i].w));
		assert_int_equal(run_both(f, &p, 0, 0), products[i].want);
	}
}

/* 65 channels: with CIN_MAX 64 the last one is a pass of its own. */
static uint32_t sum_of_65(struct core_jobs *f)
{
	struct imc_setup p = imc_compact((struct imc_shape){ 1, FP32, 1, 1, 65, 1, 0 });

	for (uint32_t c = 0; c < 65; c++) {
		if_put(f, INPUT + 4 * c, !c ? BIG : c < 64 ? ONE : BIG | SIGN);
		if_put(f, WEIGHT + 4 * c, ONE);
	}
	return run_both(f, &p, 0, 0);
}

static void test_passes(void **state)
{
	assert_int_equal(sum_of_65(*state), 0);
}

static void test_passes_of_32(void **state)
{
	assert_int_equal(sum_of_65(*state), 0x42000000);
}

static int setup_cin32(void **state)
{
	return if_setup_cores(state, "imc:cin-max=32");
}

static void test_rows(void **state)
{
	const uint32_t rows[9] = {
		BIG, ONE, BIG | SIGN, BIG, BIG | SIGN, ONE, 0x40400000, 0, 0,
	};
	struct core_jobs *f = *state;

	memcpy(f->data + INPUT, rows, sizeof(rows));
	for (uint32_t i = 0; i < 9; i++)
		if_put(f, WEIGHT + 4 * i, ONE);
	for (uint32_t full = 0; full < 2; full++) {
		struct imc_setup p = imc_compact((struct imc_shape){ 3, FP32, 3, 3, 1, 1, full });

		assert_int_equal(run_both(f, &p, 0, 0), 0x40800000);
	}
}

/* ---- whole programs ---- */

static void check_clocks_of_224(struct core_jobs *f, uint32_t full, uint32_t clocks,
				uint32_t rows, uint32_t elements)
{
	struct imc_setup p = imc_compact((struct imc_shape){ 3, INT8, 224, 224, 1, 1, full });
	struct sasm a = { .n = 0 };

	sa_setup(&a, &p);
	sa_conv(&a, 0, 0, 0, 0);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(cj_counter(f, CNNACC_IMC_REG_CLOCKS), clocks);
	assert_int_equal(cj_counter(f, CNNACC_IMC_REG_ROW_READS), rows);
	assert_int_equal(cj_counter(f, CNNACC_IMC_REG_ELEMENT_READS), elements);
	assert_int_equal(cj_reg(f, CNNACC_IMC_REG_STATUS), CNNACC_IMC_RUNNING);
}

static void test_image(void **state)
{
	check_clocks_of_224(*state, 0, 443556, 666, 149184);
	check_clocks_of_224(*state, 1, 149184, 224, 50176);
}

static void test_program(void **state)
{
	const uint32_t words[6] = {
		0x00000031, 0x00060008, 0x00050003, 0x00050003, 0x00000018, 0x0000001e,
	};
	struct core_jobs *f = *state;
	struct imc_setup p = imc_compact(vectors[0].shape);
	struct sasm a = { .n = 0 };

	sa_setup(&a, &p);
	assert_memory_equal(a.c[0].arg, words, sizeof(words));
	sa_conv(&a, 0, 0, 0, 0);
	sa_wait(&a, CNNACC_IMC_WAIT_IDLE);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(f->stats.cycles, 242);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(cj_reg(f, CNNACC_IMC_REG_SETUP(i)), words[i]);
	a.c[2] = a.c[3];
	a.n = 3;
	sq_ok(f, &a);
	assert_int_equal(f->stats.cycles, 241);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_planes),
		cmocka_unit_test(test_planes_in_steps),
		IT(test_signals),
		cmocka_unit_test(test_stalls),
		cmocka_unit_test_setup_teardown(test_pauses, setup_port16, cj_teardown),
		IT(test_saturation),
		IT(test_products),
		IT(test_passes),
		cmocka_unit_test_setup_teardown(test_passes_of_32, setup_cin32, cj_teardown),
		IT(test_rows),
		IT(test_image),
		IT(test_program),
	};

	return cmocka_run_group_tests_name("model_imc_vectors", tests, NULL, NULL);
}
