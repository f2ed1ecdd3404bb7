/* SPDX-License-Identifier: MIT */
/* --report --core all: the tables. */
#include "cnnrun.h"
#include "cores_report.h"

#include <inttypes.h>
#include <math.h>

#define KIB	1024.0

static void put_start(const struct cores_row *row)
{
	printf("%-6s %-6s%c", cores_row_name(row), row->variant->name, row->best ? '*' : ' ');
}

static void put_accuracy(const struct cores_report *r, const struct cores_row *row)
{
	double top1 = cores_top1(&row->accuracy, r->labels.data), snr = cores_snr(&row->accuracy);

	if (top1 < 0)
		printf(" %7s", "-");
	else
		printf(" %7.2f", 100 * top1);
	if (!row->accuracy.samples)
		printf(" %7s", "-");
	else if (snr == INFINITY)
		printf(" %7s", "exact");
	else
		printf(" %7.1f", snr);
}

static void put_row(const struct cores_report *r, const struct cores_row *row)
{
	double energy = cores_energy_sum(row);

	put_start(row);
	if (row->why) {
		printf(" %s\n", row->why);
		return;
	}
	printf("%10.3f %12" PRIu64, (double)row->est.ns / 1e6, row->cost.cycles);
	if (row->macs)
		printf(" %7.4f %6.1f", cores_clocks_per_mac(row),
		       100 * report_utilisation(row->macs, row->cost.mac_peak));
	else
		printf(" %7s %6s", "-", "-");
	printf(" %10.1f", (double)report_moved(&row->cost) / KIB);
	if (row->local_known)
		printf(" %11.1f", (double)row->local / KIB);
	else
		printf(" %11s", "-");
	printf(" %6.2f %6.2f", 100 * cores_cpu_macs(row), 100 * cores_cpu_time(row));
	put_accuracy(r, row);
	if (energy < 0)
		printf(" %9s\n", "-");
	else
		printf(" %9.3g\n", energy / 1e6);
}

static void put_rows(const struct cores_report *r)
{
	printf("%-14s%10s %12s %7s %6s %10s %11s %6s %6s %7s %7s %9s\n", "", "run,", "cycles",
	       "clocks", "MACs,", "memory,", "on chip,", "CPU,", "CPU,",
	       r->labels.data ? "right," : "top-1,", "SNR,", "energy,");
	printf("%-6s %-7s%10s %12s %7s %6s %10s %11s %6s %6s %7s %7s %9s\n", "core", "format", "ms",
	       "on cores", "per MAC", "% peak", "KiB", "KiB", "% MACs", "% time",
	       "%", "dB", "uJ");
	for (unsigned int i = 0; i < r->rows; i++)
		put_row(r, &r->row[i]);
	printf("* the best of its core: the shortest run with a signal at least %g dB above the "
	       "noise, or if there is none that with the least noise\n", CORES_LEAST_DB);
}

static void put_samples(const struct cores_report *r)
{
	if (!r->test.data)
		printf("No --samples: inputs are 0, and nothing can be quantised.\n");
	else
		printf("Scales from %" PRId64 " samples, accuracy from %" PRId64 " others; %s\n",
		       r->calibration.dims[0], r->test.dims[0],
		       r->labels.data ? "right: by --classes" :
		       "top-1: the largest element is where the floats on the CPU have it");
}

static void put_memory(const struct cores_report *r, unsigned int core,
		       const struct cnn_core_memory *m)
{
	printf("%-6s %-16s %7u %11.1f", r->core[core].name, m->name, m->banks,
	       (double)m->bytes / KIB);
	for (unsigned int i = 0; i < r->rows; i++) {
		const struct cores_row *row = &r->row[i];

		if (!row->use[core].cost.cycles)
			continue;
		if (m->holds)
			printf("  %s %s %.1f", cores_row_name(row), row->variant->name,
			       (double)cores_moved(&row->use[core], m) / KIB);
		else
			printf("  %s %s -", cores_row_name(row), row->variant->name);
	}
	putchar('\n');
}

static void put_memories(const struct cores_report *r)
{
	printf("\nOn-chip memories, and KiB that programs move in and out of them; -: only units "
	       "use it\n%-6s %-16s %7s %11s  %s\n", "core", "memory", "banks", "KiB of each",
	       "moved, KiB");
	for (unsigned int i = 0; i < r->info.core_count; i++)
		for (size_t k = 0; cores_uses(r, i) && k < r->memories[i].count; k++)
			put_memory(r, i, &r->memories[i].at[k]);
}

static void put_energies(const struct cores_report *r)
{
	printf("\nEnergy of a run in uJ, by %s\n%-14s%11s %11s %11s %11s %11s\n",
	       r->energy.path ? r->energy.path : "the default table (45 nm, Horowitz, ISSCC 2014)",
	       "", "MACs", "on chip", "memory", "CPU", "all");
	for (unsigned int i = 0; i < r->rows; i++) {
		const struct cores_row *row = &r->row[i];
		const struct cores_energy *e = &row->energy;

		if (row->why)
			continue;
		put_start(row);
		if (row->local_known)
			printf("%11.4g %11.4g %11.4g %11.4g %11.4g\n", e->macs / 1e6,
			       e->local / 1e6, e->memory / 1e6, e->cpu / 1e6,
			       cores_energy_sum(row) / 1e6);
		else
			printf("%11.4g %11s %11.4g %11.4g %11s\n", e->macs / 1e6, "-",
			       e->memory / 1e6, e->cpu / 1e6, "-");
	}
}

static void put_reasons(const struct cores_row *row)
{
	if (row->why || !row->cpu_ops)
		return;
	printf("%s %s: %u operators on the CPU\n", cores_row_name(row), row->variant->name,
	       row->cpu_ops);
	for (unsigned int i = 0; i < row->reason_count; i++) {
		const struct cores_reason *why = &row->reasons[i];

		printf("  %u %s (%s%s), %" PRIu64 " MACs: %s\n", why->count, why->op, why->name,
		       why->count > 1 ? ", .." : "", why->macs, why->why);
	}
	if (row->reasons_left_off)
		printf("  and more: only %d reasons are kept\n", CORES_REASONS);
}

void cores_print(const struct cores_report *r)
{
	char model[512];

	printf("%s, %" PRIu64 " MACs, on each core by the cycle models at %.6g MHz\n",
	       clean(r->o->model, model, sizeof(model)), r->rows ? r->row[0].est.macs_total : 0,
	       r->info.clock_hz / 1e6);
	put_samples(r);
	putchar('\n');
	put_rows(r);
	put_memories(r);
	put_energies(r);
	printf("\nWhat cores do not run, and why\n");
	for (unsigned int i = 0; i < r->rows; i++)
		put_reasons(&r->row[i]);
}
