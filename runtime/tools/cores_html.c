/* SPDX-License-Identifier: MIT */
/* --report FILE.html --core all: a page that needs nothing from elsewhere. */
#include "cnnrun.h"
#include "cores_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define KIB	1024.0

/* Two columns of text, then numbers; sentences may take several lines. */
static const char style[] =
"th:nth-child(3),td:nth-child(3),th:last-child,td:last-child{text-align:right}\n"
"td[colspan],td.moved,th.moved{max-width:none;white-space:normal;text-align:left!important}\n";

static void put_text(FILE *out, const char *before, const char *text, const char *behind)
{
	fputs(before, out);
	markup_text(out, text);
	fputs(behind, out);
}

/* The first two cells of a row. */
static void put_name(FILE *out, const struct cores_row *row)
{
	fprintf(out, "<tr%s>", row->best ? " class=\"sum\"" : "");
	put_text(out, "<td>", cores_row_name(row), "</td>");
	put_text(out, "<td>", row->variant->name, row->best ? " *</td>" : "</td>");
}

/* A cell with a number, or "-" if it is below 0. */
static void put_cell(FILE *out, const char *format, double value)
{
	fputs("<td>", out);
	if (value < 0)
		fputs("-", out);
	else
		fprintf(out, format, value);
	fputs("</td>", out);
}

static void put_accuracy(FILE *out, const struct cores_report *r, const struct cores_row *row)
{
	double snr = cores_snr(&row->accuracy);

	put_cell(out, "%.2f", 100 * cores_top1(&row->accuracy, r->labels.data));
	if (!row->accuracy.samples)
		fputs("<td>-</td>", out);
	else if (snr == INFINITY)
		fputs("<td>exact</td>", out);
	else
		fprintf(out, "<td>%.1f</td>", snr);
}

static void put_row(FILE *out, const struct cores_report *r, const struct cores_row *row)
{
	double sum = cores_energy_sum(row);

	put_name(out, row);
	if (row->why) {
		put_text(out, "<td colspan=\"11\">", row->why, "</td></tr>\n");
		return;
	}
	put_cell(out, "%.3f", (double)row->est.ns / 1e6);
	put_cell(out, "%.0f", (double)row->cost.cycles);
	put_cell(out, "%.4f", row->macs ? cores_clocks_per_mac(row) : -1);
	put_cell(out, "%.1f", row->macs ? 100 * report_utilisation(row->macs, row->cost.mac_peak) :
					  -1);
	put_cell(out, "%.1f", (double)report_moved(&row->cost) / KIB);
	put_cell(out, "%.1f", row->local_known ? (double)row->local / KIB : -1);
	put_cell(out, "%.2f", 100 * cores_cpu_macs(row));
	put_cell(out, "%.2f", 100 * cores_cpu_time(row));
	put_accuracy(out, r, row);
	put_cell(out, "%.4g", sum < 0 ? -1 : sum / 1e6);
	fputs("</tr>\n", out);
}

static void put_rows(FILE *out, const struct cores_report *r)
{
	fprintf(out, "<table>\n<thead><tr><th>core</th><th>format</th><th>run, ms</th>"
		"<th>cycles on cores</th><th>clocks per MAC</th><th>MACs, %% of peak</th>"
		"<th>memory, KiB</th><th>on chip, KiB</th><th>CPU, %% of MACs</th>"
		"<th>CPU, %% of time</th><th>%s, %%</th><th>signal to noise, dB</th>"
		"<th>energy, &#181;J</th></tr></thead>\n<tbody>\n",
		r->labels.data ? "right" : "top-1");
	for (unsigned int i = 0; i < r->rows; i++)
		put_row(out, r, &r->row[i]);
	fprintf(out, "</tbody>\n</table>\n<p>* the best of its core: the shortest run with a signal "
		"at least %g dB above the noise, or if there is none that with the least "
		"noise.</p>\n", CORES_LEAST_DB);
}

static void put_memory(FILE *out, const struct cores_report *r, unsigned int core,
		       const struct cnn_core_memory *m)
{
	put_text(out, "<tr><td>", r->core[core].name, "</td>");
	put_text(out, "<td>", m->name, "</td>");
	fprintf(out, "<td>%u</td><td>%.1f</td><td class=\"moved\">", m->banks,
		(double)m->bytes / KIB);
	for (unsigned int i = 0; i < r->rows; i++) {
		const struct cores_row *row = &r->row[i];

		if (!row->use[core].cost.cycles)
			continue;
		put_text(out, " ", cores_row_name(row), " ");
		put_text(out, "", row->variant->name, "");
		if (m->holds)
			fprintf(out, " %.1f;", (double)cores_moved(&row->use[core], m) / KIB);
		else
			fputs(" -;", out);
	}
	fputs("</td></tr>\n", out);
}

static void put_memories(FILE *out, const struct cores_report *r)
{
	fputs("<h2>On-chip memories</h2>\n<table>\n<thead><tr><th>core</th><th>memory</th>"
	      "<th>banks</th><th>KiB of each</th><th class=\"moved\">moved in and out by programs, "
	      "KiB (-: only units use it)</th></tr></thead>\n<tbody>\n", out);
	for (unsigned int i = 0; i < r->info.core_count; i++)
		for (size_t k = 0; cores_uses(r, i) && k < r->memories[i].count; k++)
			put_memory(out, r, i, &r->memories[i].at[k]);
	fputs("</tbody>\n</table>\n", out);
}

static void put_energies(FILE *out, const struct cores_report *r)
{
	fputs("<h2>Energy of a run, &#181;J</h2>\n<table>\n<thead><tr><th>core</th><th>format</th>"
	      "<th>MACs</th><th>on chip</th><th>memory</th><th>CPU</th><th>all</th></tr></thead>\n"
	      "<tbody>\n", out);
	for (unsigned int i = 0; i < r->rows; i++) {
		const struct cores_row *row = &r->row[i];
		double sum = cores_energy_sum(row);

		if (row->why)
			continue;
		put_name(out, row);
		put_cell(out, "%.4g", row->energy.macs / 1e6);
		put_cell(out, "%.4g", row->local_known ? row->energy.local / 1e6 : -1);
		put_cell(out, "%.4g", row->energy.memory / 1e6);
		put_cell(out, "%.4g", row->energy.cpu / 1e6);
		put_cell(out, "%.4g", sum < 0 ? -1 : sum / 1e6);
		fputs("</tr>\n", out);
	}
	fputs("</tbody>\n</table>\n", out);
	if (r->energy.path)
		put_text(out, "<p>By the table ", r->energy.path, ".</p>\n");
	else
		fputs("<p>By the default table: 45 nm, Horowitz, ISSCC 2014.</p>\n", out);
}

static void put_reasons(FILE *out, const struct cores_row *row)
{
	if (row->why || !row->cpu_ops)
		return;
	put_text(out, "<h3>", cores_row_name(row), " ");
	put_text(out, "", row->variant->name, "");
	fprintf(out, ": %u operators on the CPU</h3>\n<ul>\n", row->cpu_ops);
	for (unsigned int i = 0; i < row->reason_count; i++) {
		const struct cores_reason *why = &row->reasons[i];

		fprintf(out, "<li>%u ", why->count);
		put_text(out, "", why->op, " (");
		put_text(out, "", why->name, why->count > 1 ? ", ..), " : "), ");
		fprintf(out, "%" PRIu64 " MACs: ", why->macs);
		put_text(out, "", why->why, "</li>\n");
	}
	fputs("</ul>\n", out);
	if (row->reasons_left_off)
		fprintf(out, "<p>And more: only %d reasons are kept.</p>\n", CORES_REASONS);
}

static void put_samples(FILE *out, const struct cores_report *r)
{
	if (!r->test.data) {
		fputs("No samples: inputs are 0, and nothing can be quantised.</p>\n", out);
		return;
	}
	fprintf(out, "Scales from %" PRId64 " samples, accuracy from %" PRId64 " others; ",
		r->calibration.dims[0], r->test.dims[0]);
	fputs(r->labels.data ? "right: by the given classes.</p>\n" :
	      "top-1: the largest element is where the floats on the CPU have it.</p>\n", out);
}

static void put_head(FILE *out, const struct cores_report *r)
{
	char model[512];

	clean(basename(r->o->model), model, sizeof(model));
	put_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		 "<meta name=\"viewport\" content=\"width=device-width\">\n<title>", model,
		 "</title>\n");
	fprintf(out, "<style>\n%s%s%s</style>\n</head>\n<body>\n", markup_style, markup_page_style,
		style);
	put_text(out, "<h1>", model, " on each core</h1>\n<p>");
	put_text(out, "", r->info.path, "");
	fprintf(out, ", %" PRIu64 " MACs, by the cycle models at %.6g MHz. ",
		r->rows ? r->row[0].est.macs_total : 0, r->info.clock_hz / 1e6);
	put_samples(out, r);
}

void cores_html(const struct cores_report *r, FILE *out)
{
	put_head(out, r);
	cores_draw(out, r);
	put_rows(out, r);
	put_memories(out, r);
	put_energies(out, r);
	fputs("<h2>What cores do not run, and why</h2>\n", out);
	for (unsigned int i = 0; i < r->rows; i++)
		put_reasons(out, &r->row[i]);
	fputs("<p>What the figures mean: Documentation/user/profile.rst of cnnacc.</p>\n", out);
	markup_command(out, r->o->command);
	fputs("</body>\n</html>\n", out);
}
