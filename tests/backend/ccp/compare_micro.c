// SPDX-License-Identifier: MIT
/*
 * The device model's cycle count against the clocked model's, on random small
 * programs.  Where the record gives no count of a state, runs of the device that
 * differ in that state only are subtracted from each other.  Every program also runs
 * on a device whose banks are not split, which changes cycles and stalls alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cnnacc_hw.h"
#include "gen.h"
#include "micro.h"
#include "model_host.h"

#define CASES		200	/* 100 conv, 30 fc, 20 pool, 20 pad, 30 mixed */
#define LIMIT		0.10
#define RAM_SIZE	(16u << 20)
#define LINE_BYTES	((uint64_t)CNNACC_LINE_SIZE)

enum metric {
	CYCLES, SERIAL, COMPUTE, DMA, STALL, STATES, WHOLE_CYCLES, WHOLE_STALL, METRICS,
};

static const char *const metric_name[METRICS] = {
	"cycles", "cycles_serial", "compute_cycles", "dma_cycles", "stall_cycles, share of cycles",
	"conv state counts", "cycles, banks not split", "stall_cycles, banks not split",
};

static const char *const kind_name[CASE_KINDS] = { "conv", "pool", "pad", "fc", "mixed" };
static const char *const state_name[MICRO_STATES] = MICRO_STATE_NAMES;

/** struct device - a device with one context. */
struct device {
	struct model_host *host;
	struct mh_space space;
};

/** struct errors - relative errors of one metric. */
struct errors {
	double value[CASES * 8];
	unsigned int n;
};

static struct {
	struct device split, whole;
	uint64_t seed;
	struct errors error[METRICS];
	struct errors by_kind[CASE_KINDS];	/* of compute_cycles */
	uint64_t micro[MICRO_UNIT_STATES], term[MICRO_UNIT_STATES];
	unsigned int off_term[MICRO_UNIT_STATES];	/* cases that differ */
	unsigned int failed_jobs, inexact, hazards;
	unsigned int slower_whole;	/* cases that take longer if banks are not split */
	double worst_cycles[MICRO_READINGS], worst_compute[MICRO_READINGS];
	uint64_t device_cycles, reading_cycles[MICRO_READINGS];
	uint64_t device_clocks, reading_clocks[MICRO_READINGS];	/* of units */
} test;

static uint64_t unit_clocks(const struct micro_count *count)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < MICRO_UNIT_STATES; i++)
		sum += count->state[i];
	return sum;
}

static double relative(uint64_t device, uint64_t micro, uint64_t of)
{
	if (device == micro)
		return 0;
	return of ? ((double)device - (double)micro) / (double)of : 1;
}

static double magnitude(double x)
{
	return x < 0 ? -x : x;
}

static void note(const struct micro_case *c, enum metric m, uint64_t device, uint64_t micro,
		 uint64_t of)
{
	double error = relative(device, micro, of);
	struct errors *e = &test.error[m];

	e->value[e->n++] = error;
	if (m == COMPUTE)
		test.by_kind[c->kind].value[test.by_kind[c->kind].n++] = error;
	if (magnitude(error) > LIMIT)
		printf("# %s (%s): %s device %" PRIu64 " micro %" PRIu64 " %+.1f %%\n",
		       kind_name[c->kind], c->text, metric_name[m], device, micro, 100 * error);
}

static bool run_device(const struct device *device, const struct micro_case *c,
		       struct cnnacc_stats *stats)
{
	struct cnnacc_completion done;

	done = mh_exec(device->host, &device->space, c->word, c->words, stats);
	if (done.status_class == CNNACC_STATUS_OK)
		return true;
	printf("# %s (%s): status %u/%u detail %u at %u\n", kind_name[c->kind], c->text,
	       done.status_class, done.status_code, done.detail, done.pc);
	test.failed_jobs++;
	return false;
}

/* Counters that do not depend on timing must be equal. */
static void compare_exact(const struct micro_case *c, const struct cnnacc_stats *stats,
			  const struct micro_count *micro)
{
	uint64_t bytes = LINE_BYTES * micro->state[MICRO_MOVE];
	bool conv = c->kind == CASE_CONV;

	if (stats->instructions == micro->instructions &&
	    stats->mem_read_bytes + stats->mem_write_bytes == bytes &&
	    (!conv || stats->mac_useful == micro->mac_useful) &&
	    (!conv || stats->mac_slots == 512 * stats->compute_cycles))
		return;
	printf("# %s (%s): instructions, bytes or useful MACs differ\n", kind_name[c->kind],
	       c->text);
	test.inexact++;
}

static void sum_up(const struct micro_case *c, const struct micro_count *micro)
{
	test.hazards += micro->hazards != 0;
	for (unsigned int i = 0; i < MICRO_UNIT_STATES; i++) {
		uint64_t stepped = micro->state[i];

		/* The formula counts each row's first vector together with its taps. */
		if (i == MICRO_SHIFT)
			stepped += micro->state[MICRO_SWITCH];
		test.micro[i] += stepped;
		test.term[i] += c->term[i];
		test.off_term[i] += i != MICRO_SWITCH && stepped != c->term[i];
	}
}

static void keep_worst(double *worst, uint64_t device, uint64_t micro)
{
	double error = magnitude(relative(device, micro, micro));

	if (error > *worst)
		*worst = error;
}

/* Distance of the device from the alternative readings of the state tables. */
static void try_readings(const struct micro_case *c, const struct cnnacc_stats *stats)
{
	struct micro_count micro;

	test.device_cycles += stats->cycles - stats->scrub_cycles;
	test.device_clocks += stats->compute_cycles;
	for (unsigned int i = 1; i < MICRO_READINGS; i++) {
		micro_run(c->word, c->words, 1u << i, &micro);
		keep_worst(&test.worst_cycles[i], stats->cycles - stats->scrub_cycles,
			   micro.cycles);
		test.reading_cycles[i] += micro.cycles;
		test.reading_clocks[i] += unit_clocks(&micro);
		keep_worst(&test.worst_compute[i], stats->compute_cycles, unit_clocks(&micro));
	}
}

/* Nothing but cycles and stalls may differ from those of a device with split banks, @split. */
static void compare_whole(const struct micro_case *c, const struct cnnacc_stats *split)
{
	struct cnnacc_stats stats, same;
	struct micro_count micro;

	if (!run_device(&test.whole, c, &stats))
		return;
	micro_run(c->word, c->words, MICRO_WHOLE_BANKS, &micro);
	note(c, WHOLE_CYCLES, stats.cycles - stats.scrub_cycles, micro.cycles, micro.cycles);
	note(c, WHOLE_STALL, stats.stall_cycles, micro.state[MICRO_STALL], micro.cycles);
	test.slower_whole += stats.cycles > split->cycles;
	same = stats;
	same.cycles = split->cycles;
	same.stall_cycles = split->stall_cycles;
	if (stats.cycles >= split->cycles && !memcmp(&same, split, sizeof(same)))
		return;
	printf("# %s (%s): a counter depends on split banks\n", kind_name[c->kind], c->text);
	test.inexact++;
}

static void compare_case(unsigned int i)
{
	static const enum case_kind kinds[20] = {
		[10] = CASE_POOL, CASE_POOL, CASE_PAD, CASE_PAD, CASE_FC, CASE_FC, CASE_FC,
		CASE_MIXED, CASE_MIXED, CASE_MIXED,
	};
	static struct micro_case c;
	struct micro_count micro, serial;
	struct cnnacc_stats stats;

	case_init(&c, kinds[i % 20], test.seed * CASES + i);
	case_fill(&c);
	if (!run_device(&test.split, &c, &stats))
		return;
	micro_run(c.word, c.words, 0, &micro);
	micro_run(c.word, c.words, MICRO_SERIAL, &serial);
	note(&c, CYCLES, stats.cycles - stats.scrub_cycles, micro.cycles, micro.cycles);
	note(&c, SERIAL, stats.cycles_serial - stats.scrub_cycles, serial.cycles, serial.cycles);
	note(&c, COMPUTE, stats.compute_cycles, unit_clocks(&micro), unit_clocks(&micro));
	note(&c, DMA, stats.dma_cycles, micro.state[MICRO_SETUP] + micro.state[MICRO_MOVE],
	     micro.state[MICRO_SETUP] + micro.state[MICRO_MOVE]);
	note(&c, STALL, stats.stall_cycles, micro.state[MICRO_STALL], micro.cycles);
	compare_exact(&c, &stats, &micro);
	sum_up(&c, &micro);
	try_readings(&c, &stats);
	compare_whole(&c, &stats);
}

/* ---- conv state counts by subtraction */

struct probe {
	uint64_t device;
	struct micro_count micro;
};

static bool run_probe(struct micro_case *c, struct conv_layer l, unsigned int ci,
		      unsigned int last, unsigned int co, struct probe *probe)
{
	struct cnnacc_stats stats;

	l.ci = ci;
	c->words = 0;
	case_conv_probe(c, &l, last, co);
	if (!run_device(&test.split, c, &stats))
		return false;
	probe->device = stats.compute_cycles;
	micro_run(c->word, c->words, 0, &probe->micro);
	return true;
}

static void note_state(const struct micro_case *c, const char *name, uint64_t device,
		       uint64_t micro)
{
	static struct micro_case named;

	named.kind = c->kind;
	snprintf(named.text, sizeof(named.text), "%s of %.150s", name, c->text);
	note(&named, STATES, device, micro, micro);
}

static void compare_states(unsigned int i)
{
	static struct micro_case c;
	struct probe one, two, wide, save, bias;
	struct conv_layer l;
	const uint64_t *m = one.micro.state;
	unsigned int co;
	uint64_t pass;
	bool ok;

	case_init(&c, CASE_CONV, test.seed * CASES + i);
	l = case_conv_layer(&c);
	co = 4 * l.groups;
	l.co = 2 * co;
	l.bias = false;
	ok = run_probe(&c, l, 3, 0, co, &one) && run_probe(&c, l, 3, 1, co, &two) &&
	     run_probe(&c, l, 3, 1, 2 * co, &wide) && run_probe(&c, l, 1, 0, co, &save);
	l.bias = true;
	if (!ok || !run_probe(&c, l, 1, 0, co, &bias))
		return;
	pass = (wide.device - two.device) / 2;
	note_state(&c, "LOAD", two.device - one.device - pass, m[MICRO_LOAD]);
	note_state(&c, "SHIFT, SWITCH, ACC", pass,
		   m[MICRO_SHIFT] + m[MICRO_SWITCH] + m[MICRO_ACC]);
	note_state(&c, "drain", 2 * one.device - two.device, m[MICRO_DRAIN]);
	note_state(&c, "SAVE", save.device - one.device, save.micro.state[MICRO_SAVE]);
	note_state(&c, "BIAS", bias.device - save.device, bias.micro.state[MICRO_BIAS]);
}

/* ---- report */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int by_magnitude(const void *a, const void *b)
{
	double x = magnitude(*(const double *)a), y = magnitude(*(const double *)b);

	return (x > y) - (x < y);
}

/* Prints the distribution; returns how many are off by more than the limit. */
static unsigned int distribution(const char *name, struct errors *e)
{
	static const double edge[] = { 0, 0.001, 0.01, 0.02, 0.05, LIMIT };
	unsigned int bin[7] = { 0 };
	double low, median;

	if (!e->n)
		return 0;
	qsort(e->value, e->n, sizeof(e->value[0]), by_value);
	low = e->value[0];
	median = e->value[e->n / 2];
	printf("# %-32s n %4u  lowest %+6.2f %%  median %+6.2f %%  highest %+6.2f %%", name, e->n,
	       100 * low, 100 * median, 100 * e->value[e->n - 1]);
	qsort(e->value, e->n, sizeof(e->value[0]), by_magnitude);
	printf("  |95th| %5.2f %%  |max| %5.2f %%\n", 100 * magnitude(e->value[e->n * 95 / 100]),
	       100 * magnitude(e->value[e->n - 1]));
	for (unsigned int i = 0; i < e->n; i++) {
		unsigned int b = 0;

		while (b < 6 && magnitude(e->value[i]) > edge[b])
			b++;
		bin[b]++;
	}
	printf("#   =0: %u  <=0.1 %%: %u  <=1 %%: %u  <=2 %%: %u  <=5 %%: %u  <=10 %%: %u  more: %u\n",
	       bin[0], bin[1], bin[2], bin[3], bin[4], bin[5], bin[6]);
	return bin[6];
}

static void report_terms(void)
{
	printf("# clocks of all cases: state, stepped, by the formula, cases that differ\n");
	for (unsigned int i = 0; i < MICRO_UNIT_STATES; i++)
		printf("#   %-7s%10" PRIu64 "%10" PRIu64 "%5u%s\n", state_name[i], test.micro[i],
		       test.term[i], test.off_term[i],
		       i == MICRO_SHIFT ? "  both with SWITCH and each row's first vector" :
		       i == MICRO_SWITCH ? "  under SHIFT" : "");
}

static void report_readings(void)
{
	static const char *const name[MICRO_READINGS] = {
		NULL, "the data cache gave aligned lines only", "nothing outside the map were walked",
		"BIAS were entered without a bias", "units and DMA shared one bus",
		"EXEC took a clock to decode", "SAVE ran while the pipeline drains",
		"pad began each plane with a new word", "the fc tree took no clock",
		"DMA began a clock later", "banks were not split",
	};

	printf("# if ...: cycles of the furthest case, of all cases; compute_cycles likewise\n");
	for (unsigned int i = 1; i < MICRO_READINGS; i++)
		printf("#   %-40s %6.1f %% %+6.1f %%   %6.1f %% %+6.1f %%\n", name[i],
		       100 * test.worst_cycles[i],
		       100 * relative(test.reading_cycles[i], test.device_cycles,
				      test.device_cycles),
		       100 * test.worst_compute[i],
		       100 * relative(test.reading_clocks[i], test.device_clocks,
				      test.device_clocks));
}

static int result(unsigned int number, bool ok, const char *what)
{
	printf("%sok %u - %s\n", ok ? "" : "not ", number, what);
	return !ok;
}

static int report(void)
{
	char text[80];
	int failed = 0;

	report_terms();
	for (unsigned int k = 0; k < CASE_KINDS; k++)
		distribution(kind_name[k], &test.by_kind[k]);
	report_readings();
	printf("# %u of %u cases take longer if banks are not split\n", test.slower_whole, CASES);
	printf("1..%d\n", METRICS + 4);
	for (unsigned int m = 0; m < METRICS; m++) {
		unsigned int off = distribution(metric_name[m], &test.error[m]);

		snprintf(text, sizeof(text), "%s within %.0f %%", metric_name[m], 100 * LIMIT);
		failed += result(m + 1, test.error[m].n && !off, text);
	}
	failed += result(METRICS + 1, !test.failed_jobs, "every job ends well");
	failed += result(METRICS + 2, !test.inexact, "instructions, bytes, useful MACs equal");
	failed += result(METRICS + 3, !test.hazards, "four beats hide the adder");
	failed += result(METRICS + 4, test.slower_whole, "banks that are not split cost cycles");
	return failed;
}

static struct device open_device(const char *cores)
{
	struct device device = { .host = mh_new(cores, RAM_SIZE) };

	device.space = mh_space_new(device.host, 1);
	mh_map_job(device.host, &device.space);
	mh_map_new(device.host, &device.space, CASE_LINE * CNNACC_LINE_SIZE,
		   CASE_LINES * CNNACC_LINE_SIZE, CNNACC_PTE_READ | CNNACC_PTE_WRITE);
	mh_queue_init(device.host, 0, MH_RING_SIZE, MH_RING_SIZE);
	return device;
}

int main(int argc, char **argv)
{
	test.seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	test.split = open_device("ccp:split-banks=on");
	test.whole = open_device("ccp:split-banks=off");
	for (unsigned int i = 0; i < CASES; i++) {
		compare_case(i);
		if (i % 20 < 10)
			compare_states(i);
	}
	mh_free(test.split.host);
	mh_free(test.whole.host);
	return report() != 0;
}
