/* SPDX-License-Identifier: MIT */
/* --report FILE.html and FILE.svg: a page that needs nothing from elsewhere, and its pictures. */
#include "report.h"

#include <inttypes.h>
#include <string.h>

static void put_tiles(FILE *out, const struct report *r)
{
	const struct cnnrt_cost *t = &r->total;
	double cycles = t->cycles ? (double)t->cycles : 1;

	fprintf(out, "<div class=\"tiles\">\n<div class=\"tile\"><b>%.4g ms</b><span>modelled, %"
		PRIu64 " cycles</span></div>\n", report_ms(r, t->cycles), t->cycles);
	fprintf(out, "<div class=\"tile\"><b>%.1f %%</b><span>of the cores&#39; peak MACs</span></div>\n",
		100 * report_utilisation(r->total_macs, t->mac_peak));
	fprintf(out, "<div class=\"tile\"><b>%.1f %%</b><span>of the cycles stalled</span></div>\n",
		100 * (double)t->stall / cycles);
	fprintf(out, "<div class=\"tile\"><b>%.4g MiB</b><span>moved, ",
		(double)report_moved(t) / 1048576);
	markup_ratio(out, t);
	fprintf(out, " of the minimum</span></div>\n<div class=\"tile\"><b>%.2f %%</b><span>of %.4g G "
		"MACs on cores</span></div>\n",
		r->est.macs_total ? 100 * (double)r->est.macs_device / (double)r->est.macs_total : 0,
		(double)r->est.macs_total / 1e9);
	fprintf(out, "<div class=\"tile\"><b>%.3g ms</b><span>of a run of %.4g ms in %u "
		"operators on the CPU</span></div>\n", (double)r->cpu_ns / 1e6,
		(double)r->run_ns / 1e6, r->cpu_ops);
	fprintf(out, "<div class=\"tile\"><b>%.3g ms</b><span>in copies; changes of layout: %u of "
		"%.4g KiB in all</span></div>\n", (double)r->copy_ns / 1e6, r->est.conversions,
		(double)r->est.conversion_bytes / 1024);
	fprintf(out, "<div class=\"tile\"><b>%" PRIu64 "</b><span>cycles to clear what another "
		"process left in the cores</span></div>\n", r->scrub_cycles);
	fprintf(out, "<div class=\"tile\"><b>%.4g ms</b><span>a run on the target, with the costs 0x%016"
		PRIx64 "</span></div>\n", (double)r->est.ns / 1e6, r->est.target_hash);
	fprintf(out, "<div class=\"tile\"><b>%.3g s</b><span>to compile; segments: %u, programs: %u"
		"</span></div>\n</div>\n", (double)r->est.compile_ns / 1e9, r->est.segments,
		r->est.tasks);
}

static uint64_t largest_cycles(const struct report *r)
{
	uint64_t most = 0;

	for (unsigned int i = 0; i < r->layer_count; i++)
		if (r->layers[i].cost.cycles > most)
			most = r->layers[i].cost.cycles;
	return most;
}

/* Modelled milliseconds, and what the next best place would take; NULL: the sum. */
static void put_costs(FILE *out, const struct report_layer *l)
{
	if (!l) {
		fputs("<td></td><td></td>", out);
		return;
	}
	fprintf(out, "<td>%.3f</td><td>", (double)l->cost_ns / 1e6);
	markup_text(out, l->next_place);
	if (*l->next_place)
		fprintf(out, " %.3f", (double)l->next_ns / 1e6);
	fputs("</td>", out);
}

static void put_figures(FILE *out, const struct report *r, uint64_t macs,
			const struct cnnrt_cost *c, const struct report_layer *l)
{
	uint64_t largest = largest_cycles(r);
	double share = r->total.cycles ? 100 * (double)c->cycles / (double)r->total.cycles : 0;
	double cycles = c->cycles ? (double)c->cycles : 1;

	fprintf(out, "<td>%" PRIu64 "</td><td style=\"background:linear-gradient(to left,"
		"var(--band) %.1f%%,transparent 0)\">%.1f</td>", c->cycles,
		100 * (double)c->cycles / (double)(largest ? largest : 1), share);
	if (macs)
		fprintf(out, "<td>%.1f</td>", 100 * report_utilisation(macs, c->mac_peak));
	else
		fputs("<td>-</td>", out);
	fprintf(out, "<td>%.1f</td><td>%.1f</td><td>%.1f</td><td>%.1f</td><td>",
		100 * (double)c->stall / cycles, (double)c->read_weights / 1024,
		(double)(c->read_data + c->written) / 1024, (double)c->read_program / 1024);
	markup_ratio(out, c);
	fputs("</td>", out);
	put_costs(out, l);
	fprintf(out, "<td><i class=\"%s\"></i>%s</td></tr>\n", markup_bound_class(c),
		report_bound(c));
}

static void put_row(FILE *out, const struct report *r, const struct report_layer *l)
{
	fprintf(out, "<tr%s><td>%u</td><td>", l->core < 0 ? " class=\"cpu\"" : "", l->index);
	markup_text(out, l->op);
	fputs("</td><td title=\"", out);
	markup_text(out, l->name);
	fputs("\">", out);
	markup_text(out, l->name);
	fputs("</td>", out);
	if (l->core >= 0) {
		put_figures(out, r, l->macs, &l->cost, l);
		return;
	}
	fprintf(out, "<td>%.3f ms</td><td></td><td></td><td></td><td>%.1f</td><td>%.1f</td>"
		"<td></td><td>", (double)l->host_ns / 1e6, (double)l->cost.read_weights / 1024,
		(double)(l->cost.read_data + l->cost.written) / 1024);
	markup_ratio(out, &l->cost);
	fputs("</td>", out);
	put_costs(out, l);
	fputs("<td><i class=\"cpu\"></i>CPU</td></tr>\n", out);
}

static void put_table(FILE *out, const struct report *r)
{
	fputs("<table>\n<thead><tr><th>#</th><th>operator</th><th>name</th><th>cycles</th>"
	      "<th>% of all</th><th>MACs, % of peak</th><th>stall, %</th><th>weights, KiB</th>"
	      "<th>data, KiB</th><th>program, KiB</th><th>of minimum</th><th>target, ms</th><th>next best, ms</th>"
	      "<th>bound by</th></tr>"
	      "</thead>\n<tbody>\n", out);
	for (unsigned int i = 0; i < r->layer_count; i++)
		if (report_works(&r->layers[i]))
			put_row(out, r, &r->layers[i]);
	fputs("<tr class=\"sum\"><td></td><td>all on cores</td><td></td>", out);
	put_figures(out, r, r->total_macs, &r->total, NULL);
	fputs("</tbody>\n</table>\n", out);
}

/* What the figures mean: a term and its text in turn. */
static const char *const meanings[] = {
	"cycles", "what the core takes for the layer by its cycle model; of an operator on the CPU the "
	"time that was measured in the last run",
	"MACs, % of peak", "multiply-accumulates of the network over what the core's multipliers could "
	"have done in these cycles",
	"stall, %", "cycles in which the core waits for a transfer that nothing hides",
	"weights, data, program, KiB", "what is moved between memory and the core's own memories",
	"of minimum", "bytes moved over the least there could be: weights, inputs and outputs once each",
	"target, ms", "what the layer costs on the stated target, by the cycle model of its core or by "
	"the table of costs of its CPU; next best: what the cheapest of the other places would cost",
	"bound by", "what is busy the longest: the multipliers (compute), the load of weights, of data, "
	"or instructions that only control",
	"roofline", "each dot is a layer: how many MACs it does for each byte that it moves, and how "
	"many in a second. No dot can be above the slope, which is the bandwidth to memory, or the "
	"level, which is the multipliers' peak",
	"time line", "what each core does in each cycle of its programs, one behind the other",
};

static void put_meanings(FILE *out)
{
	fputs("<h2>What the figures mean</h2>\n<dl>\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i += 2) {
		fputs("<dt>", out);
		markup_text(out, meanings[i]);
		fputs("</dt><dd>", out);
		markup_text(out, meanings[i + 1]);
		fputs("</dd>\n", out);
	}
	fputs("</dl>\n<p>All of it: Documentation/user/profile.rst of cnnacc.</p>\n", out);
}

void report_html(const struct report *r, FILE *out)
{
	char model[512];

	clean(basename(r->model), model, sizeof(model));
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>", out);
	markup_text(out, model);
	fprintf(out, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n<h1>", markup_style,
		markup_page_style);
	markup_text(out, model);
	fputs("</h1>\n<p>", out);
	markup_text(out, r->dev.path);
	for (unsigned int i = 0; i < r->dev.core_count; i++)
		fprintf(out, ", core %u %s", i, r->core[i].name);
	fprintf(out, ", at %.6g MHz. Cycles and bytes are those of the cycle model; times on the "
		"host were measured in one run.</p>\n", r->dev.clock_hz / 1e6);
	put_tiles(out, r);
	draw_roofline(out, r);
	draw_timeline(out, r);
	put_table(out, r);
	put_meanings(out);
	markup_command(out, r->command);
	fputs("</body>\n</html>\n", out);
}

void report_svg(const struct report *r, FILE *out)
{
	int width = PICTURE_WIDTH + 20, height = ROOFLINE_HEIGHT + 30 + timeline_height(r);

	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\">\n<style>\n%s</style>\n<rect class=\"paper\" width=\"%d\" "
		"height=\"%d\"/>\n<g transform=\"translate(10 10)\">\n", width, height, width, height,
		markup_style, width, height);
	draw_roofline(out, r);
	fprintf(out, "</g>\n<g transform=\"translate(10 %d)\">\n", ROOFLINE_HEIGHT + 20);
	draw_timeline(out, r);
	fputs("</g>\n</svg>\n", out);
}
