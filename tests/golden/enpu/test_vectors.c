// SPDX-License-Identifier: MIT
/* The golden model of enpu against the vectors of the page; TAP. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vectors.h"
#include "../stream.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))
#define WEIGHT_LARGE	0x20000	/* V6 needs more than the default build has */

static unsigned int failures, number;

static void report(bool good, const char *name)
{
	failures += !good;
	printf("%sok %u - %s\n", good ? "" : "not ", ++number, name);
}

static bool differs(const char *what, uint64_t is, uint64_t should)
{
	if (is != should)
		printf("# %s is %llx, not %llx\n", what, (unsigned long long)is,
		       (unsigned long long)should);
	return is != should;
}

/** struct machine - a golden model and a job for it. */
struct machine {
	struct golden_enpu *enpu;
	struct golden_shell shell;
	struct golden_result result;
	struct golden_enpu_regs regs;
};

static struct job job;
static struct image image;

static void run(struct machine *m, const struct golden_enpu_params *params,
		const struct enpu_images *images)
{
	struct prng prng = { 1 };

	*m = (struct machine){ .shell.core.job_cycles_max = INT64_MAX };
	m->enpu = golden_enpu_create(params);
	if (!m->enpu)
		exit(2);
	golden_enpu_core(m->enpu, &m->shell.core);
	m->shell.bus = image_bus(&image);
	job_begin(&job, &image, &prng);
	enpu_images_job(images, &job);
	golden_shell_run(&m->shell, &job.packet, &m->result);
	m->regs = golden_enpu_regs(m->enpu);
	golden_enpu_destroy(m->enpu);
}

static struct golden_enpu_params build(bool prefetch)
{
	return (struct golden_enpu_params){
		CNNACC_ENPU_ITCM_DEFAULT, CNNACC_ENPU_DTCM_DEFAULT, CNNACC_ENPU_DTCM_DEFAULT,
		CNNACC_ENPU_DTCM_DEFAULT, CNNACC_ENPU_PSUM_BITS_DEFAULT, prefetch,
		CNNACC_ENPU_PROGRAM_DEFAULT,
	};
}

/* ----------------------------------------------------- published encodings */

static const struct {
	unsigned int vector;
	uint32_t words[4];
} encodings[] = {
	{ 0, { 0x00111104, 0x03186104, 0x14050503, 0x00000203 } },
	{ 1, { 0x00112200, 0x031c70c3, 0x08040403, 0x00000114 } },
	{ 3, { 0x00001100, 0x01041041, 0x0a010101, 0x00000128 } },
	{ 4, { 0x00111101, 0x03186104, 0x12060603, 0x00000112 } },
};

static uint32_t image_word(const struct enpu_images *images, unsigned int n)
{
	const uint8_t *at = images->bytes[CNNACC_ENPU_ITCM] + 4 * n;

	return at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
}

static void test_encodings(struct enpu_images *images)
{
	for (unsigned int n = 0; n < COUNT(encodings); n++) {
		bool bad = false;

		enpu_vector_fill(encodings[n].vector, images);
		for (unsigned int w = 0; w < 4; w++)
			bad |= differs("word", image_word(images, w), encodings[n].words[w]);
		bad |= differs("STOP", image_word(images, 4), 0xff);
		report(!bad, "encoding");
	}
}

/* ----------------------------------------------------------------- vectors */

static bool check_cost(const struct machine *m, const struct enpu_cost *c, bool prefetch)
{
	const uint64_t *count = m->regs.count;
	bool bad = differs("LAYERS", count[ENPU_LAYERS], 1);

	bad |= differs("TILES", count[ENPU_TILES], c->tiles);
	bad |= differs("SETUP", count[ENPU_SETUP], c->setup + 1);
	bad |= differs("COMPUTE", count[ENPU_COMPUTE], c->compute);
	bad |= differs("LOAD", count[ENPU_LOAD], c->load);
	bad |= differs("FUSED", count[ENPU_FUSED], c->fused);
	bad |= differs("STORE", count[ENPU_STORE], c->store);
	bad |= differs("mac_useful", m->result.stats.mac_useful, c->useful);
	/* The commands run one after the other, each for 1 and its rows; STOP takes WAIT's 1. */
	bad |= differs("clocks of the layer", m->result.stats.cycles - m->result.stats.dma_cycles -
		       m->result.stats.instructions, prefetch ? c->with : c->without);
	return !bad;
}

static void test_vector(unsigned int index, struct enpu_images *images, bool prefetch)
{
	const struct enpu_cost *cost = enpu_vector_cost(index);
	struct golden_enpu_params params = build(prefetch);
	struct machine m;
	bool good;

	if (enpu_vector_psum_bits(index))
		params.psum_bits = enpu_vector_psum_bits(index);
	if (enpu_vector_weight_bytes(index) > params.weight)
		params.weight = WEIGHT_LARGE;
	enpu_vector_fill(index, images);
	run(&m, &params, images);
	good = !differs("class", m.result.status.status_class, CNNACC_STATUS_OK) &&
	       enpu_vector_check(index, &job) && (!cost || check_cost(&m, cost, prefetch));
	report(good, enpu_vector_name(index));
}

/* The counters of V1 that are not in the table of costs. */
static void test_counters(struct enpu_images *images)
{
	static const struct {
		enum golden_enpu_count count;
		uint64_t value;
	} counters[] = {
		{ ENPU_WORK_READS, 49 }, { ENPU_WORK_WRITES, 50 }, { ENPU_SKIP_READS, 0 },
		{ ENPU_SKIP_WRITES, 0 }, { ENPU_WEIGHT_READS, 226 }, { ENPU_IFPAD_WRITES, 144 },
		{ ENPU_IFPAD_READS, 3456 }, { ENPU_WPAD_WRITES, 216 }, { ENPU_WPAD_READS, 3456 },
		{ ENPU_PSUM_WRITES, 3456 }, { ENPU_PSUM_READS, 3584 }, { ENPU_SETUP, 12 },
	};
	struct golden_enpu_params params = build(true);
	const struct cnnacc_stats *stats;
	struct machine m;
	bool bad = false;

	enpu_vector_fill(0, images);
	run(&m, &params, images);
	stats = &m.result.stats;
	for (unsigned int n = 0; n < COUNT(counters); n++)
		bad |= differs("a counter", m.regs.count[counters[n].count], counters[n].value);
	/* Without what the commands move: the images, out of memory, and both DTCMs, into it. */
	bad |= differs("local_read_bytes", stats->local_read_bytes - stats->mem_write_bytes, 4496);
	bad |= differs("local_write_bytes", stats->local_write_bytes - stats->mem_read_bytes, 800);
	bad |= differs("mac_slots", stats->mac_slots, 55296);
	report(!bad, "counters of V1");
}

/* --------------------------------------------------------- ranges and banks */

#define CODE(name)	CNNACC_ENPU_E_##name

/** struct placed - V1, or ADD, with bases of its own, and what becomes of it. */
struct placed {
	const char *name;
	bool add, stored;
	uint32_t flags, out, b, skip;
	uint16_t code;
	uint32_t detail, value, limit, banks;
};

#define FINE		0, 0, 0, 0
#define OVERLAP(with, value, limit) \
	CODE(OVERLAP), CNNACC_ENPU_OVERLAP_##with, value, limit

static const struct placed placed[] = {
	{ "out 2048", false, false, 0, 2048, 0, 0, FINE, 0x135 },
	{ "out 4047", false, false, 0, 4047, 0, 0, CODE(RANGE), CNNACC_ENPU_RANGE_OUT, 4096, 4096,
	  0 },
	{ "out 24", false, false, 0, 24, 0, 0, OVERLAP(A, 24, 0), 0 },
	{ "out 25", false, false, 0, 25, 0, 0, FINE, 0x115 },
	{ "ADD in place of A", true, false, 0, 0, 0, 0, FINE, 0x55 },
	{ "ADD at 1", true, false, 0, 1, 0, 0, OVERLAP(A, 1, 0), 0 },
	{ "ADD in place of B", true, false, CNNACC_ENPU_F_B_WORK, 50, 50, 0, FINE, 0x15 },
	{ "ADD into A", true, false, CNNACC_ENPU_F_B_WORK, 49, 50, 0, OVERLAP(A, 49, 0), 0 },
	{ "ADD into B", true, false, CNNACC_ENPU_F_B_WORK, 51, 50, 0, OVERLAP(B, 51, 50), 0 },
	{ "ADD beside both", true, false, CNNACC_ENPU_F_A_SKIP | CNNACC_ENPU_F_B_WORK, 0, 50, 0,
	  FINE, 0x55 },
	{ "CONV over a later B", false, true, 0, 2048, 0, 0, OVERLAP(B, 0, 0), 0 },
	{ "ADD in place of B in the skip DTCM", true, true, 0, 2048, 0, 0, FINE, 0x75 },
};

static struct enpu_insn first_of(const struct placed *p)
{
	struct enpu_insn conv = {
		.opcode = CNNACC_ENPU_CONV_RELU, .flags = CNNACC_ENPU_F_BLOCK, .block = 54,
		.sh = 1, .sw = 1, .ph = 1, .pw = 1, .hk = 3, .wk = 3, .ci = 3, .hi = 5, .wi = 5,
	};
	struct enpu_insn insn = p->add ? (struct enpu_insn){ .opcode = CNNACC_ENPU_ADD } : conv;

	insn.op = insn.opcode;
	insn.flags |= p->flags;
	insn.ho = insn.wo = 5;
	insn.co = 20;
	insn.y = insn.x = 4;
	insn.out = p->out;
	insn.b = p->b;
	insn.skip = p->skip;
	insn.opcode |= p->stored ? CNNACC_ENPU_STORED : 0;
	enpu_fit(&insn);
	return insn;
}

/* STORED of CONV: an ADD with B at word 0 follows in the layer. */
static void fill_placed(const struct placed *p, struct enpu_images *images)
{
	struct enpu_insn insn = first_of(p), add = {
		.opcode = CNNACC_ENPU_ADD, .ho = 5, .wo = 5, .co = 20, .out = p->out,
	};
	bool chain = p->stored && !p->add;

	enpu_images_begin(images);
	insn.opcode |= chain ? CNNACC_ENPU_FUSED : 0;
	enpu_put(images, &insn);
	if (chain)
		enpu_put(images, &add);
	enpu_put_stop(images);
	for (int64_t o = 0; o < 20; o++)
		enpu_put_block(images, 54, o, 0, 1);
}

/* Without a WAIT, so that the banks stay claimed. */
static void test_placed(const struct placed *p, struct enpu_images *images)
{
	struct golden_enpu_params params = build(true);
	struct machine m;
	bool bad;

	fill_placed(p, images);
	images->no_wait = true;
	run(&m, &params, images);
	bad = differs("code", m.result.status.status_code, p->code);
	bad |= differs("detail", m.result.status.detail, p->detail);
	bad |= differs("ERR_VALUE", m.regs.err_value, p->value);
	bad |= differs("ERR_LIMIT", m.regs.err_limit, p->limit);
	bad |= differs("BANKS", m.regs.banks, p->banks);
	report(!bad, p->name);
}

int main(void)
{
	static struct enpu_images images;

	image.bytes = calloc(1, IMAGE_BYTES);
	if (!image.bytes)
		return 2;
	test_encodings(&images);
	for (unsigned int n = 0; n < 2 * enpu_vector_count(); n++)
		test_vector(n / 2, &images, n % 2);
	test_counters(&images);
	for (unsigned int n = 0; n < COUNT(placed); n++)
		test_placed(&placed[n], &images);
	printf("1..%u\n", number);
	free(image.bytes);
	return failures ? 1 : 0;
}
