// SPDX-License-Identifier: MIT
/*
 * The device model against the golden model: the same jobs through both, all
 * memory, completions, statistics and visible registers compared bit for bit.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "fp32.h"
#include "gen.h"
#include "host.h"
#include "vectors_ccp.h"

#define LEGAL_JOBS	20000
#define FULL_COMPARE	512	/* jobs between comparisons of all RAM */

static const char *const device_cores[] = {
	"ccp:job-cycles-max=9223372036854775807",
	"ccp:data-bank=4096:weight-bank=1024:icache=2048:lob=1",
	"ccp:data-bank=4160:weight-bank=1088:icache=320:lob=2",
	"ccp:data-bank=65536:weight-bank=4096:lob=8",
	("ccp:data-bank=16384:weight-bank=16384:icache=1024:lob=3+"
	 "ccp:data-bank=8256:weight-bank=2048:icache=512:lob=4:job-cycles-max=5000000"),
};

#define DEVICES		(sizeof(device_cores) / sizeof(device_cores[0]))

/* One device and what it is compared with. */
struct bench {
	struct host host;
	struct image image;	/* the golden model's RAM */
	struct golden_ccp *ccp[CNNACC_MAX_CORES];
	struct golden_shell shell[CNNACC_MAX_CORES];
	struct cnnacc_stats total[CNNACC_MAX_CORES];
};

/* How accesses may fail: rows of the coverage table. */
enum access_kind { BY_FETCH, BY_LOAD, BY_STORE, BY_CODE_LOAD, BY_STATS, ACCESS_KINDS };

enum fault_kind {
	FAULT_BEYOND, FAULT_DIR, FAULT_PAGE, FAULT_PERM, BUS_DIR, BUS_PAGE, BUS_DATA, FAULT_KINDS,
};

struct tally {
	uint64_t kind[GEN_KINDS];
	uint64_t fault[ACCESS_KINDS][FAULT_KINDS];
	uint64_t packet[CNNACC_PACKET_BAD_RESERVED + 1];
	uint64_t status_class[CNNACC_STATUS_ABORTED + 1];
	uint64_t scrubbed, kept, moves;
};

/* BROKEN: the comparison itself did not do what it should. */
enum outcome { AGREE, MISMATCH, BROKEN };

static struct bench benches[DEVICES];
static struct tally tally;
static struct job job;
static struct gen gen;

static const char *const kind_name[GEN_KINDS] = {
	"legal", "extreme", "short", "field", "flip", "dma", "illegal", "pc", "fault", "packet",
	"noise", "limit",
};

/* --------------------------------------------------------------- reports */

static bool differ(const char *what, uint64_t model, uint64_t golden)
{
	if (model == golden)
		return false;
	printf("mismatch: %s: model %llx golden %llx\n", what, (unsigned long long)model,
	       (unsigned long long)golden);
	return true;
}

static bool compare_completion(const struct cnnacc_completion *c, const struct golden_result *g)
{
	bool bad = differ("class", c->status_class, g->status.status_class);

	bad |= differ("code", c->status_code, g->status.status_code);
	bad |= differ("pc", c->pc, g->status.pc);
	bad |= differ("detail", c->detail, g->status.detail);
	bad |= differ("access", c->access, g->status.access);
	bad |= differ("fault va", c->fault_va, g->status.fault_va);
	bad |= differ("cycles", c->cycles, g->cycles);
	bad |= differ("context", c->ctx_id, job.packet.ctx_id);
	return bad;
}

static bool compare_page(struct bench *bench, uint32_t page)
{
	uint64_t offset = (uint64_t)page * CNNACC_PAGE_SIZE;
	const uint8_t *model = bench->host.image.bytes + offset;
	const uint8_t *golden = bench->image.bytes + offset;

	if (!memcmp(model, golden, CNNACC_PAGE_SIZE))
		return false;
	for (int64_t i = 0; i < CNNACC_PAGE_SIZE / 4; i++) {
		if (word_get(model, i) == word_get(golden, i))
			continue;
		printf("mismatch: memory at bus %llx: model %08x golden %08x\n",
		       (unsigned long long)(IMAGE_BASE + offset + 4 * i), word_get(model, i),
		       word_get(golden, i));
		break;
	}
	return true;
}

static const char *va_of_page(uint32_t page)
{
	static char text[32];

	for (uint64_t va = 0; va < 1ull << 32; va += CNNACC_PAGE_SIZE) {
		const uint8_t *entry = space_page_entry(&job.space, va);

		if (!entry) {
			va |= (1u << 22) - CNNACC_PAGE_SIZE;
		} else if (word_get(entry, 0) >> 4 ==
			   (IMAGE_BASE >> CNNACC_PAGE_SHIFT) + page) {
			snprintf(text, sizeof(text), "VA %08llx", (unsigned long long)va);
			return text;
		}
	}
	return "no VA: a table or not the job's";
}

static bool compare_memory(struct bench *bench, bool all)
{
	unsigned int pages = all ? IMAGE_PAGES : job.space.used, bad = 0;

	for (unsigned int i = 0; i < pages; i++) {
		uint32_t page = all ? i : job.space.order[i];

		if (compare_page(bench, page) && bad++ < 4) {
			bench->image.hole_length = 0;
			printf("mismatch: that page is %s\n", va_of_page(page));
		}
	}
	return bad;
}

static bool compare_group(struct host *host, const char *name, uint32_t offset,
			  const uint32_t golden[CNNACC_CCP_GPRS])
{
	bool bad = false;

	for (unsigned int i = 0; i < CNNACC_CCP_GPRS; i++)
		bad |= differ(name, host_read(host, offset + 4 * i), golden[i]);
	return bad;
}

static bool compare_window(struct bench *bench, unsigned int core)
{
	const struct golden_ccp_regs *regs = golden_ccp_regs(bench->ccp[core]);
	struct host *host = &bench->host;
	uint32_t window = host->queue[core].window;
	bool bad = differ("window pc", host_read(host, window + CNNACC_CCP_REG_PC), regs->pc);

	bad |= differ("window state", host_read(host, window + CNNACC_CCP_REG_STATE) & 15,
		      CNNACC_CCP_WAIT);
	bad |= differ("bank select", host_read(host, window + CNNACC_CCP_REG_BANK_SEL),
		      regs->bank_select);
	bad |= compare_group(host, "R", window + CNNACC_CCP_REG_GPR(0), regs->gpr);
	bad |= compare_group(host, "conv group 0", window + CNNACC_CCP_REG_CONV0(0), regs->conv0);
	bad |= compare_group(host, "conv group 1", window + CNNACC_CCP_REG_CONV1(0), regs->conv1);
	bad |= compare_group(host, "pool group", window + CNNACC_CCP_REG_POOL0(0), regs->pool0);
	bad |= compare_group(host, "pad group", window + CNNACC_CCP_REG_PAD0(0), regs->pad0);
	bad |= compare_group(host, "fc group", window + CNNACC_CCP_REG_FC0(0), regs->fc0);
	return bad;
}

static bool compare_queue(struct bench *bench, unsigned int core, const struct golden_result *g)
{
	struct host *host = &bench->host;
	uint32_t block = host->queue[core].block;
	bool bad = false;

	if (g->ran)
		bad |= differ("CONTEXT", host_read(host, block + CNNACC_QREG_CONTEXT),
			      job.packet.ctx_id);
	if (g->status.status_class == CNNACC_STATUS_OK)
		return bad;
	bad |= differ("STATUS", host_read(host, block + CNNACC_QREG_STATUS),
		      (uint32_t)g->status.status_class << 16 | g->status.status_code);
	bad |= differ("STATUS_PC", host_read(host, block + CNNACC_QREG_STATUS_PC), g->status.pc);
	bad |= differ("STATUS_VA", host_read64(host, block + CNNACC_QREG_STATUS_VA_LO),
		      g->status.fault_va);
	return bad;
}

static bool compare_totals(struct bench *bench, unsigned int core)
{
	static const char *const names[] = CNNACC_STATS_NAMES;
	uint32_t block = bench->host.queue[core].block + CNNACC_QREG_STATS;
	uint64_t golden[sizeof(struct cnnacc_stats) / 8];
	bool bad = false;

	memcpy(golden, &bench->total[core], sizeof(golden));
	for (unsigned int i = 0; i < sizeof(golden) / 8; i++)
		bad |= differ(names[i], host_read64(&bench->host, block + 8 * i), golden[i]);
	return bad;
}

/* -------------------------------------------------------------- coverage */

static void add_stats(struct cnnacc_stats *total, const struct cnnacc_stats *stats)
{
	uint64_t a[sizeof(*total) / 8], b[sizeof(*total) / 8];

	memcpy(a, total, sizeof(a));
	memcpy(b, stats, sizeof(b));
	for (unsigned int i = 0; i < sizeof(a) / 8; i++)
		a[i] += b[i];
	memcpy(total, a, sizeof(a));
}

static enum fault_kind fault_kind(const struct golden_status *s)
{
	bool bus = s->status_class == CNNACC_STATUS_BUS_ERROR;

	switch (s->detail) {
	case CNNACC_FAULT_BEYOND:
		return FAULT_BEYOND;
	case CNNACC_FAULT_DIR:
		return bus ? BUS_DIR : FAULT_DIR;
	case CNNACC_FAULT_PAGE:
		return bus ? BUS_PAGE : FAULT_PAGE;
	case CNNACC_FAULT_PERM:
		return FAULT_PERM;
	default:
		return BUS_DATA;
	}
}

static enum access_kind access_kind(const struct golden_status *s)
{
	if (s->status_code == CNNACC_CODE_FETCH)
		return BY_FETCH;
	if (s->status_code == CNNACC_CODE_STATS)
		return BY_STATS;
	if (s->access == CNNACC_ACCESS_EXEC)
		return BY_CODE_LOAD;
	return s->access == CNNACC_ACCESS_READ ? BY_LOAD : BY_STORE;
}

static void count(enum gen_kind kind, const struct golden_result *g)
{
	const struct golden_status *s = &g->status;

	tally.kind[kind]++;
	tally.status_class[s->status_class]++;
	tally.scrubbed += g->stats.scrub_cycles != 0;
	tally.kept += g->ran && !g->stats.scrub_cycles;
	if (s->status_class == CNNACC_STATUS_MMU_FAULT || s->status_class == CNNACC_STATUS_BUS_ERROR)
		tally.fault[access_kind(s)][fault_kind(s)]++;
	if (s->status_code == CNNACC_CODE_PACKET)
		tally.packet[s->detail]++;
}

static unsigned int report(const char *name, const uint64_t *counts, unsigned int length,
			   uint64_t expected)
{
	unsigned int missing = 0;

	printf("%-22s", name);
	for (unsigned int i = 0; i < length; i++) {
		if (!(expected >> i & 1))
			continue;
		printf(" %u:%llu", i, (unsigned long long)counts[i]);
		missing += !counts[i];
	}
	printf("%s\n", missing ? "  <- never hit" : "");
	return missing;
}

static void add_counts(struct golden_ccp_coverage *sum, const struct golden_ccp_coverage *one)
{
	uint64_t a[sizeof(*sum) / 8], b[sizeof(*sum) / 8];

	memcpy(a, sum, sizeof(a));
	memcpy(b, one, sizeof(b));
	for (unsigned int i = 0; i < sizeof(a) / 8; i++)
		a[i] += b[i];
	memcpy(sum, a, sizeof(a));
}

static unsigned int report_fields(const struct golden_ccp_coverage *c)
{
	return report("conv fields", c->field[CNNACC_CCP_CONV], 20, 0xf0fee) +
	       report("pool fields", c->field[CNNACC_CCP_POOL], 20, 0x30cee) +
	       report("pad fields", c->field[CNNACC_CCP_PAD], 20, 0x30cb2) +
	       report("fc fields", c->field[CNNACC_CCP_FC], 20, 0xf1002) +
	       report("RANGE_DMA", &c->range_dma, 1, 1);
}

static unsigned int report_faults(void)
{
	return report("fetch faults", tally.fault[BY_FETCH], FAULT_KINDS, 0x7f) +
	       report("LOAD faults", tally.fault[BY_LOAD], FAULT_KINDS, 0x7f) +
	       report("STORE faults", tally.fault[BY_STORE], FAULT_KINDS, 0x7f) +
	       report("code LOAD faults", tally.fault[BY_CODE_LOAD], FAULT_KINDS, 0x7f) +
	       report("statistics faults", tally.fault[BY_STATS], FAULT_KINDS, 0x7f);
}

static uint64_t total_macs(void)
{
	uint64_t macs = 0;

	for (unsigned int i = 0; i < DEVICES; i++)
		for (unsigned int core = 0; core < benches[i].host.core_count; core++)
			macs += benches[i].total[core].mac_useful;
	return macs;
}

/* Everything that the documents name must have been seen; how much was not. */
static unsigned int report_coverage(void)
{
	struct golden_ccp_coverage c = { 0 };
	unsigned int missing;

	for (unsigned int i = 0; i < DEVICES; i++) {
		tally.moves += benches[i].host.moves;
		for (unsigned int core = 0; core < benches[i].host.core_count; core++)
			add_counts(&c, golden_ccp_coverage(benches[i].ccp[core]));
	}
	missing = report("kinds of job", tally.kind, GEN_KINDS, (1u << GEN_KINDS) - 1);
	missing += report("opcodes", c.op, 16, 0xffff);
	missing += report("units", c.unit, 4, 0xf);
	missing += report("codes", c.code, 21, 0x1f0015);
	missing += report("classes", tally.status_class, 8, 0x5f);
	missing += report("packet fields", tally.packet, 9, 0x1fe);
	missing += report("limit at opcode", c.limit, 16, 0x3ff);
	missing += report("limit at boot", &c.limit_boot, 1, 1);
	missing += report_fields(&c);
	missing += report_faults();
	missing += report("conv continued", &c.conv_continued, 1, 1);
	missing += report("conv partial", &c.conv_partial, 1, 1);
	missing += report("conv tile overruns", &c.conv_overrun, 1, 1);
	missing += report("BNZ taken", &c.bnz_taken, 1, 1);
	missing += report("EXEC waited for DMA", &c.stalled, 1, 1);
	missing += report("context changes", &tally.scrubbed, 1, 1);
	missing += report("contexts kept", &tally.kept, 1, 1);
	missing += report("moves in mid-job", &tally.moves, 1, 1);
	return missing;
}

/* ---------------------------------------------------------------- running */

static void open_bench(struct bench *bench, const char *cores)
{
	host_open(&bench->host, cores);
	bench->image.bytes = calloc(1, IMAGE_BYTES);
	if (!bench->image.bytes)
		exit(2);
	for (unsigned int core = 0; core < bench->host.core_count; core++) {
		struct host_queue *q = &bench->host.queue[core];

		bench->ccp[core] = golden_ccp_create(&q->params);
		if (!bench->ccp[core])
			exit(2);
		golden_ccp_core(bench->ccp[core], &bench->shell[core].core);
		bench->shell[core].core.job_cycles_max = q->job_cycles_max;
		bench->shell[core].bus = image_bus(&bench->image);
	}
}

static void close_bench(struct bench *bench)
{
	for (unsigned int core = 0; core < bench->host.core_count; core++)
		golden_ccp_destroy(bench->ccp[core]);
	host_close(&bench->host);
	free(bench->image.bytes);
}

/* The job's pages, as built for the golden model, into the device's RAM. */
static void copy_job(struct bench *bench)
{
	for (unsigned int i = 0; i < job.space.used; i++) {
		uint64_t offset = (uint64_t)job.space.order[i] * CNNACC_PAGE_SIZE;

		memcpy(bench->host.image.bytes + offset, bench->image.bytes + offset,
		       CNNACC_PAGE_SIZE);
	}
	bench->host.image.hole = bench->image.hole;
	bench->host.image.hole_length = bench->image.hole_length;
}

static bool reset_core(struct bench *bench, unsigned int core)
{
	golden_shell_reset(&bench->shell[core]);
	return host_reset_core(&bench->host, core);
}

/* Run @job on both; false after a mismatch, which has been printed. */
static bool run_both(struct bench *bench, unsigned int core, bool all_memory,
		     struct golden_result *golden)
{
	struct cnnacc_completion completion;
	const char *wrong;
	bool bad;

	copy_job(bench);
	if (!host_invalidate(&bench->host, job.packet.ctx_id)) {
		printf("mismatch: INVALIDATE does not complete\n");
		return false;
	}
	golden_shell_run(&bench->shell[core], &job.packet, golden);
	wrong = host_run(&bench->host, core, &job.packet, &completion);
	if (wrong) {
		printf("mismatch: %s\n", wrong);
		return false;
	}
	bad = compare_completion(&completion, golden);
	bad |= compare_memory(bench, all_memory);
	bad |= compare_queue(bench, core, golden);
	if (golden->ran) {
		bad |= compare_window(bench, core);
		add_stats(&bench->total[core], &golden->stats);
	}
	if (golden->status.status_class != CNNACC_STATUS_OK && !reset_core(bench, core)) {
		printf("mismatch: core reset does not end\n");
		bad = true;
	}
	return !bad;
}

/* Three jobs in four are legal. */
static enum gen_kind kind_of(uint64_t index)
{
	static const enum gen_kind other[] = {
		GEN_FIELD, GEN_FIELD, GEN_FIELD, GEN_FLIP, GEN_FLIP, GEN_DMA, GEN_FAULT, GEN_FAULT,
		GEN_FAULT, GEN_FAULT, GEN_LIMIT, GEN_LIMIT, GEN_PACKET, GEN_ILLEGAL, GEN_NOISE, GEN_PC,
	};

	if (index % 4 == 3)
		return other[index / 4 % (sizeof(other) / sizeof(other[0]))];
	if (index % 61 == 0)
		return GEN_SHORT;
	return index % 97 == 0 ? GEN_EXTREME : GEN_LEGAL;
}

static struct bench *bench_of(uint64_t random, enum gen_kind kind)
{
	static const unsigned int share[] = { 0, 0, 1, 1, 2, 3, 3, 3, 4, 4 };

	/* An 8 KiB instruction cache has no branch target past its end. */
	if (kind == GEN_PC && random % 2)
		return &benches[2];
	if (kind == GEN_EXTREME && random % 2)
		return &benches[0];
	return &benches[share[random % (sizeof(share) / sizeof(share[0]))]];
}

/* Build job @index of @seed; lower its limit to somewhere inside its run if it is of that kind. */
static void build_job(struct bench *bench, unsigned int core, uint64_t seed, enum gen_kind kind)
{
	struct host_queue *q = &bench->host.queue[core];
	struct prng prng = { ~seed };
	struct golden_result result;

	gen_job(&gen, kind, seed, &q->params, q->job_cycles_max, &job, &bench->image);
	if (kind != GEN_LIMIT)
		return;
	golden_shell_run(&bench->shell[core], &job.packet, &result);
	reset_core(bench, core);
	gen_job(&gen, kind, seed, &q->params, q->job_cycles_max, &job, &bench->image);
	job.packet.cycle_limit = prng_range(&prng, prng_chance(&prng, 5) ? 1 : 17,
					    result.stats.cycles - result.stats.scrub_cycles);
}

static bool legal(enum gen_kind kind)
{
	return kind == GEN_LEGAL || kind == GEN_EXTREME || kind == GEN_SHORT;
}

static void report_job(uint64_t seed, uint64_t index, enum gen_kind kind, const char *cores,
		       const struct golden_result *golden)
{
	printf("job %llu of seed %llu (--seed %llu --only %llu), %s, on %s\n",
	       (unsigned long long)index, (unsigned long long)seed, (unsigned long long)seed,
	       (unsigned long long)index, kind_name[kind], cores);
	printf("golden: class %u code %u pc %u detail %u\n", golden->status.status_class,
	       golden->status.status_code, golden->status.pc, golden->status.detail);
	job_print(stdout, &job);
}

static enum outcome run_index(uint64_t seed, uint64_t index)
{
	struct prng prng = { seed * 0x10001 + index };
	enum gen_kind kind = kind_of(index);
	struct bench *bench = bench_of(prng_next(&prng) >> 8, kind);
	unsigned int core = prng_range(&prng, 0, bench->host.core_count - 1);
	struct golden_result result;
	enum outcome outcome = AGREE;

	build_job(bench, core, prng_next(&prng), kind);
	if (!run_both(bench, core, index % FULL_COMPARE == 0, &result))
		outcome = MISMATCH;
	count(kind, &result);
	if (legal(kind) && result.status.status_class != CNNACC_STATUS_OK) {
		printf("the generator made a bad job where it wanted a legal one\n");
		outcome = BROKEN;
	}
	if (outcome != AGREE)
		report_job(seed, index, kind, device_cores[bench - benches], &result);
	return outcome;
}

static bool run_vectors(void)
{
	struct bench *bench = &benches[0];

	for (unsigned int i = 0; i < vector_count(); i++) {
		struct prng prng = { i };
		struct golden_result result;

		reset_core(bench, 0);
		job_begin(&job, &bench->image, &prng);
		vector_build(i, &job);
		if (!run_both(bench, 0, true, &result) || !vector_check(i, &job)) {
			printf("vector %s\n", vector_name(i));
			return false;
		}
	}
	return true;
}

static bool check_totals(void)
{
	bool good = true;

	for (unsigned int i = 0; i < DEVICES; i++)
		for (unsigned int core = 0; core < benches[i].host.core_count; core++)
			good &= !compare_totals(&benches[i], core);
	return good;
}

struct options {
	uint64_t seed, legal, only;
	bool one, no_vectors, expect_mismatch;
};


static void parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "count", required_argument, NULL, 'c' },
		{ "only", required_argument, NULL, 'o' },
		{ "no-vectors", no_argument, NULL, 'v' },
		{ "expect-mismatch", no_argument, NULL, 'x' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			o->seed = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			o->legal = strtoull(optarg, NULL, 0);
			break;
		case 'o':
			o->only = strtoull(optarg, NULL, 0);
			o->one = true;
			break;
		case 'v':
			o->no_vectors = true;
			break;
		case 'x':
			o->expect_mismatch = true;
			break;
		default:
			fprintf(stderr, "usage: %s [--seed N] [--count LEGAL-JOBS] [--only INDEX] "
				"[--no-vectors] [--expect-mismatch]\n", argv[0]);
			exit(2);
		}
	}
}

static enum outcome run_all(const struct options *o)
{
	uint64_t jobs = (o->legal * 4 + 2) / 3;

	if (o->one)
		return run_index(o->seed, o->only);
	if (!o->no_vectors && !run_vectors())
		return MISMATCH;
	for (uint64_t i = 0; i < jobs; i++) {
		enum outcome outcome = run_index(o->seed, i);

		if (outcome != AGREE)
			return outcome;
	}
	if (!check_totals())
		return MISMATCH;
	printf("seed %llu: %llu jobs with %llu multiply-accumulates agree\n",
	       (unsigned long long)o->seed, (unsigned long long)jobs,
	       (unsigned long long)total_macs());
	/* A shorter run cannot see everything. */
	return report_coverage() && o->legal >= LEGAL_JOBS ? BROKEN : AGREE;
}

int main(int argc, char **argv)
{
	struct options options = { .seed = 1, .legal = LEGAL_JOBS };
	enum outcome outcome;

	parse(argc, argv, &options);
	for (unsigned int i = 0; i < DEVICES; i++)
		open_bench(&benches[i], device_cores[i]);
	outcome = run_all(&options);
	for (unsigned int i = 0; i < DEVICES; i++)
		close_bench(&benches[i]);
	return outcome == (options.expect_mismatch ? MISMATCH : AGREE) ? 0 : 1;
}
