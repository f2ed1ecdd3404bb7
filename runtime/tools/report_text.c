/* SPDX-License-Identifier: MIT */
/* --report: the table. */
#include "report.h"

#include <inttypes.h>

static size_t characters(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

/* In a column of so many characters; of a long name the end tells more than the start. */
static void put_name(const char *text, size_t width)
{
	size_t n = characters(text), skip = n > width ? n - width + 2 : 0;

	if (skip)
		fputs("..", stdout);
	for (size_t i = skip; i; text++)
		i -= (text[1] & 0xc0) != 0x80;
	fputs(text, stdout);
	for (; n < width; n++)
		putchar(' ');
}

static void put_bytes(const struct cnnrt_cost *c)
{
	uint64_t moved = report_moved(c), least = report_minimum(c);

	printf("%11.1f", (double)moved / 1024);
	if (least)
		printf(" %7.2f", (double)moved / (double)least);
	else
		printf(" %7s", "-");
}

static void put_cycles(const struct report *r, uint64_t macs, const struct cnnrt_cost *c)
{
	double all = r->total.cycles ? (double)r->total.cycles : 1;

	printf("%12" PRIu64 " %6.1f", c->cycles, 100 * (double)c->cycles / all);
	if (macs)
		printf(" %6.1f", 100 * report_utilisation(macs, c->mac_peak));
	else
		printf(" %6s", "-");
	printf(" %6.1f", c->cycles ? 100 * (double)c->stall / (double)c->cycles : 0);
}

static void put_layer(const struct report *r, const struct report_layer *l)
{
	char ms[32];

	printf("%4u ", l->index);
	put_name(l->op, 16);
	putchar(' ');
	put_name(l->name, 27);
	if (l->core >= 0) {
		put_cycles(r, l->macs, &l->cost);
		put_bytes(&l->cost);
		printf("  %s\n", report_bound(&l->cost));
		return;
	}
	snprintf(ms, sizeof(ms), "%.3f ms", (double)l->host_ns / 1e6);
	printf("%12s %6s %6s %6s", ms, "", "", "");
	put_bytes(&l->cost);
	printf("  CPU\n");
}

static void put_totals(const struct report *r)
{
	printf("%4s %-16s %-27s", "", "all on cores", "");
	put_cycles(r, r->total_macs, &r->total);
	put_bytes(&r->total);
	printf("  %s\n", report_bound(&r->total));
}

/* What each operator costs where it runs, and in the next best place. */
static void put_costs(const struct report *r)
{
	printf("\nModelled time on the target with the costs 0x%016" PRIx64 ": a run %.3f ms\n",
	       r->est.target_hash, (double)r->est.ns / 1e6);
	printf("%4s %-16s %-27s %-6s %12s  %s\n", "#", "operator", "name", "place", "ms",
	       "next best, ms");
	for (unsigned int i = 0; i < r->layer_count; i++) {
		const struct report_layer *l = &r->layers[i];

		if (!report_works(l))
			continue;
		printf("%4u ", l->index);
		put_name(l->op, 16);
		putchar(' ');
		put_name(l->name, 27);
		printf(" %-6s %12.3f", l->place, (double)l->cost_ns / 1e6);
		if (*l->next_place)
			printf("  %-6s %12.3f", l->next_place, (double)l->next_ns / 1e6);
		putchar('\n');
	}
	putchar('\n');
}

void report_print(const struct report *r)
{
	unsigned int renaming = 0;

	printf("\nBy the cycle model at %.6g MHz; operators on the CPU as measured in the last run\n",
	       r->dev.clock_hz / 1e6);
	printf("%4s %-16s %-27s%12s %6s %6s %6s%11s %7s\n", "", "", "", "cycles", "% of", "MACs,",
	       "stall,", "moved,", "of");
	printf("%4s %-16s %-27s%12s %6s %6s %6s%11s %7s  %s\n", "#", "operator", "name", "or time",
	       "all", "% peak", "%", "KiB", "minimum", "bound by");
	for (unsigned int i = 0; i < r->layer_count; i++) {
		if (report_works(&r->layers[i]))
			put_layer(r, &r->layers[i]);
		else
			renaming++;
	}
	put_totals(r);
	put_costs(r);
	printf("%.3f ms on cores by the model; run %.3f ms, of it %.3f ms (%.1f %%) in operators "
	       "on the CPU: %u\n", report_ms(r, r->total.cycles), (double)r->run_ns / 1e6,
	       (double)r->cpu_ns / 1e6, r->run_ns ? 100 * (double)r->cpu_ns / (double)r->run_ns : 0,
	       r->cpu_ops);
	printf("Changes of layout: %u of %.1f KiB in all; copies to and from the cores %.3f ms\n",
	       r->est.conversions, (double)r->est.conversion_bytes / 1024, (double)r->copy_ns / 1e6);
	printf("Clearing what another process left in the cores: %" PRIu64 " cycles\n",
	       r->scrub_cycles);
	printf("Operators that only rename a value: %u; segments: %u; programs: %u; ", renaming,
	       r->est.segments, r->est.tasks);
	if (r->est.compile_ns)
		printf("compiled in %.3f s\n\n", (double)r->est.compile_ns / 1e9);
	else
		printf("compiled before\n\n");
}
