// SPDX-License-Identifier: MIT
/*
 * Core imc: random planes, computed at once and clock by clock.  Results, counters and statistics
 * are the same, whatever the host's vectors, threads and steps.
 */
#include "imc_fixture.h"

#define BANK		8192u
#define PLANES		60u
#define EXTENT_MAX	14u
#define CHANNELS_MAX	80u
#define OPERANDS	(2 * BANK)	/* bytes of f->data from INPUT on: input, then weights */
#define BUILD(s)	"imc:input=8192:weight=8192:unit=8192" s

static uint64_t seed;

static uint32_t below(uint32_t end)
{
	return mh_random(&seed) % end;
}

static uint32_t between(uint32_t least, uint32_t most)
{
	return least + below(most - least + 1);
}

/** struct plane - a random plane within its banks. */
struct plane {
	struct imc_setup p;
	uint32_t flags, in, weight, result;	/* of CONV */
};

/** struct outcome - all that a plane changes. */
struct outcome {
	uint8_t unit[BANK];
	uint64_t counters[9];
	uint32_t peak;
	struct cnnacc_stats stats;
};

static uint32_t esz(const struct imc_setup *p)
{
	return p->format == CNNACC_IMC_FP32 ? 4 : 1;
}

/** struct sizes - bytes from the address of each operand to its end. */
struct sizes {
	uint32_t in, weight, result;
};

static struct sizes sizes_of(const struct imc_setup *p)
{
	uint32_t wo = p->w - p->n + 1, ho = p->h - p->n + 1;

	return (struct sizes){
		.in = ((p->h - 1) * p->in_row + (p->w - 1) * p->in_column + p->cin) * esz(p),
		.weight = p->cout * p->n * p->n * p->cin * esz(p),
		.result = ((ho - 1) * p->result_row + (wo - 1) * p->result_column + p->cout) * 4,
	};
}

/* Half of the geometries are small, so that many fit. */
static uint32_t extent(uint32_t least, uint32_t most)
{
	return between(least, least + below(most));
}

static struct imc_setup random_setup(uint32_t n_max, bool fp32)
{
	struct imc_setup p = { .n = between(1, n_max), .format = below(fp32 ? 3 : 2) };

	p.w = extent(p.n, EXTENT_MAX);
	p.h = extent(p.n, EXTENT_MAX);
	p.cin = extent(1, CHANNELS_MAX);
	p.cout = extent(1, CHANNELS_MAX);
	p.full = below(2);
	p.in_column = below(3) ? p.cin : below(2 * p.cin);
	p.in_row = below(3) ? p.w * p.in_column : below(100);
	p.result_column = p.cout + (below(2) ? 0 : below(5));
	p.result_row = (p.w - p.n) * p.result_column + p.cout + (below(2) ? 0 : below(20));
	return p;
}

/* An address up to the end of the bank. */
static uint32_t address(uint32_t size, uint32_t align)
{
	uint32_t room = (BANK - size) / align;

	return (below(3) ? below(room + 1) : below(2) * room) * align;
}

static struct plane random_plane(uint32_t n_max, bool fp32, uint32_t csus)
{
	struct plane t;
	struct sizes size;

	do {
		t.p = random_setup(n_max, fp32);
		size = sizes_of(&t.p);
	} while (size.in > BANK || size.weight > BANK || size.result > BANK ||
		 (t.p.full && t.p.n > csus));
	t.in = address(size.in, esz(&t.p));
	t.weight = address(size.weight, esz(&t.p));
	t.result = address(size.result, 4);
	t.flags = below(2) * CNNACC_IMC_CONV_ACCUMULATE | below(2) * CNNACC_IMC_CONV_INPUT1 |
		  below(2) * CNNACC_IMC_CONV_WEIGHT1 | below(2) * CNNACC_IMC_CONV_UNIT1;
	return t;
}

/* ---- operands ---- */

static const uint32_t floats[] = {
	0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x3f800000, 0xbf800000, 0x3f800800, 0x4cbebc20,
	0xccbebc20, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0xffc12345, 0x7f800001,
};

/* Numbers of similar size, and now and then special ones. */
static uint32_t random_float(void)
{
	if (!below(200))
		return floats[below(ELEMENTS(floats))];
	return below(2) << 31 | between(118, 134) << 23 | mh_random(&seed) >> 9;
}

/* Bytes near the limits saturate sums that begin near theirs. */
static uint8_t random_byte(bool large)
{
	return (uint8_t)(large ? 0x7f + below(2) : mh_random(&seed));
}

static void fill_operands(struct core_jobs *f, const struct plane *t)
{
	bool large = !below(3);

	for (uint32_t i = 0; i < OPERANDS; i += 4) {
		if (t->p.format == CNNACC_IMC_FP32)
			if_put(f, INPUT + i, random_float());
		for (uint32_t j = 0; t->p.format != CNNACC_IMC_FP32 && j < 4; j++)
			f->data[INPUT + i + j] = random_byte(large);
	}
	for (uint32_t i = 0; i < BANK; i += 4)
		if_put(f, UNIT + i, t->p.format == CNNACC_IMC_FP32 ? random_float() :
		       INT32_MAX + below(2) + below(1 << 20) - (1u << 19));
}

static void load_banks(struct core_jobs *f, const struct plane *t)
{
	bool in = t->flags & CNNACC_IMC_CONV_INPUT1, weight = t->flags & CNNACC_IMC_CONV_WEIGHT1;
	bool unit = t->flags & CNNACC_IMC_CONV_UNIT1;

	if_load(f, CNNACC_IMC_INPUT0 + in, INPUT, BANK);
	if_load(f, CNNACC_IMC_WEIGHT0 + weight, INPUT + BANK, BANK);
	if_load(f, CNNACC_IMC_UNIT0 + unit, UNIT, BANK);
}

/* ---- runs ---- */

static void take_outcome(struct core_jobs *f, const struct plane *t, struct outcome *to)
{
	bool unit = t->flags & CNNACC_IMC_CONV_UNIT1;

	to->stats = f->stats;
	to->peak = cj_reg(f, CNNACC_IMC_REG_FIFO_PEAK);
	for (uint32_t i = 0; i < ELEMENTS(to->counters); i++)
		to->counters[i] = cj_counter(f, CNNACC_IMC_REG_CLOCKS + 8 * i);
	if_save(f, CNNACC_IMC_UNIT0 + unit, UNIT + BANK, BANK);
	memcpy(to->unit, f->data + UNIT + BANK, BANK);
}

static void run_at_once(struct core_jobs *f, const struct plane *t, struct outcome *to)
{
	struct sasm a = { .n = 0 };

	load_banks(f, t);
	sa_setup(&a, &t->p);
	sa_conv(&a, t->flags, t->in, t->weight, t->result);
	sa_wait(&a, CNNACC_IMC_WAIT_IDLE);
	sa_end(&a);
	sq_ok(f, &a);
	take_outcome(f, t, to);
}

/* Pieces of a STEP each, as many clocks as the plane takes. */
static void run_in_steps(struct core_jobs *f, const struct plane *t, uint64_t clocks,
			 struct outcome *to)
{
	uint32_t first = (uint32_t)clocks < 10 ? (uint32_t)clocks : between(1, 10);
	struct sasm a = { .n = 0 };

	load_banks(f, t);
	sa_setup(&a, &t->p);
	sa_conv(&a, t->flags | CNNACC_IMC_CONV_STEP, t->in, t->weight, t->result);
	sa_step(&a, CNNACC_IMC_STEP_VALID, first);
	sa_steps(&a, clocks - first);
	sa_end(&a);
	sq_ok(f, &a);
	take_outcome(f, t, to);
}

static void print_plane(const struct plane *t)
{
	const struct imc_setup *p = &t->p;

	print_message("n %u format %u full %u W %u H %u cin %u cout %u flags %x\n", p->n, p->format,
		      p->full, p->w, p->h, p->cin, p->cout, t->flags);
}

static void same_results(const struct plane *t, const struct outcome *a, const struct outcome *b)
{
	if (memcmp(a->unit, b->unit, BANK))
		print_plane(t);
	assert_memory_equal(a->unit, b->unit, BANK);
}

/* Times differ by the cycles of commands; everything else is the same. */
static void same_counts(const struct plane *t, const struct outcome *a, const struct outcome *b)
{
	if (memcmp(a->counters, b->counters, sizeof(a->counters)))
		print_plane(t);
	assert_memory_equal(a->counters, b->counters, sizeof(a->counters));
	assert_int_equal(a->peak, b->peak);
	assert_int_equal(a->stats.compute_cycles, b->stats.compute_cycles);
	assert_int_equal(a->stats.stall_cycles, b->stats.stall_cycles);
	assert_int_equal(a->stats.mac_slots, b->stats.mac_slots);
	assert_int_equal(a->stats.mac_useful, b->stats.mac_useful);
	assert_int_equal(a->stats.local_read_bytes, b->stats.local_read_bytes);
}

/* The programs' own lines differ. */
static uint64_t written(const struct outcome *o)
{
	return o->stats.local_write_bytes - o->stats.mem_read_bytes;
}

static void compare_planes(const char *cores, uint32_t n_max, bool fp32, uint32_t csus)
{
	const struct cm_config config = { 0 };
	struct core_jobs *f = if_new(cores, &config);
	static struct outcome whole, steps;

	for (uint32_t i = 0; i < PLANES; i++) {
		struct plane t = random_plane(n_max, fp32, csus);

		fill_operands(f, &t);
		run_at_once(f, &t, &whole);
		run_in_steps(f, &t, whole.counters[0] + whole.counters[1], &steps);
		same_results(&t, &whole, &steps);
		same_counts(&t, &whole, &steps);
		assert_int_equal(written(&whole), written(&steps));
	}
	mh_free(f->h);
}

static void test_builds(void **state)
{
	(void)state;
	compare_planes(BUILD(""), 11, true, 64);
	compare_planes(BUILD(":cin-max=7:csus=5:port=4"), 11, true, 5);
	compare_planes(BUILD(":cin-max=1:csus=1:n-max=3:port=1"), 3, true, 1);
	compare_planes(BUILD(":csus=128:port=16"), 5, true, 128);
	compare_planes(BUILD(":cin-max=16:fp32=off:port=2"), 7, false, 64);
}

/* Only n of 1 has no FIFO; only csus of 1 no full reuse of more. */
static void test_small_kernels(void **state)
{
	(void)state;
	compare_planes(BUILD(":cin-max=33:port=8"), 1, true, 64);
	compare_planes(BUILD(":cin-max=33:csus=7:port=8"), 2, true, 7);
}

static void test_hosts(void **state)
{
	static struct outcome want, got;
	struct plane planes[20];

	(void)state;
	for (uint32_t simd = CM_SIMD_BASELINE; simd <= CM_SIMD_AVX512; simd++)
		for (uint32_t threads = 1; threads <= 3; threads += 2) {
			struct cm_config config = { .simd = simd, .threads = threads };
			static uint8_t units[ELEMENTS(planes)][BANK];
			struct core_jobs *f;

			seed = 11;
			if (!cj_possible(&config))
				continue;
			f = if_new(BUILD(":cin-max=19"), &config);
			f->h->budget_ns = threads == 3 ? 1 : MH_BUDGET_NS;
			for (uint32_t i = 0; i < ELEMENTS(planes); i++) {
				planes[i] = random_plane(6, true, 64);
				fill_operands(f, &planes[i]);
				run_at_once(f, &planes[i], &got);
				memcpy(want.unit, units[i], BANK);
				if (simd != CM_SIMD_BASELINE || threads != 1)
					same_results(&planes[i], &want, &got);
				memcpy(units[i], got.unit, BANK);
			}
			mh_free(f->h);
		}
}

/* Another seed each time only if one is given. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builds), cmocka_unit_test(test_small_kernels),
		cmocka_unit_test(test_hosts),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	return cmocka_run_group_tests_name("model_imc_random", tests, NULL, NULL);
}
