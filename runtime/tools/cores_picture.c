/* SPDX-License-Identifier: MIT */
/* The picture of a report of all cores: bars of time, energy, utilisation and accuracy. */
#include "cores_report.h"

#include <math.h>

#define WIDTH	PICTURE_WIDTH
#define TOP	44
#define ROW	26
#define BAR	16
#define LABEL	8	/* x of a row's name */
#define VALUE	58	/* room for the number behind the longest bar */

enum panel { TIME, ENERGY, USE, SNR, PANELS };

static const struct {
	const char *title;
	int x, width;
} panels[PANELS] = {
	{ "run, ms", 120, 330 }, { "energy, \xc2\xb5J", 460, 330 },
	{ "MACs, % of peak", 800, 140 }, { "signal to noise, dB", 950, 150 },
};

/* A bar of several parts, each with its colour. */
struct part {
	const char *class;
	double value;
};

#define PARTS	4
#define MOST_DB	60	/* a bar gets no longer */

static size_t time_parts(const struct cores_report *r, const struct cores_row *row,
			 struct part *to)
{
	double all = (double)row->est.ns / 1e6, cpu = fmin(all, (double)row->cpu_ns / 1e6);
	double cores = r->info.clock_hz ? (double)row->cost.cycles * 1e3 / r->info.clock_hz : 0;

	cores = fmin(all - cpu, cores);
	to[0] = (struct part){ "use", cores };
	to[1] = (struct part){ "cpu", cpu };
	to[2] = (struct part){ "control", all - cpu - cores };
	return 3;
}

static size_t energy_parts(const struct cores_row *row, struct part *to)
{
	const struct cores_energy *e = &row->energy;

	if (!row->local_known)
		return 0;
	to[0] = (struct part){ "use", e->macs / 1e6 };
	to[1] = (struct part){ "load", e->local / 1e6 };
	to[2] = (struct part){ "weights", e->memory / 1e6 };
	to[3] = (struct part){ "cpu", e->cpu / 1e6 };
	return 4;
}

/* Fills in the parts of a row's bar in a panel and returns their number. */
static size_t parts_of(const struct cores_report *r, const struct cores_row *row, enum panel panel,
		       struct part *to)
{
	double snr = cores_snr(&row->accuracy);

	switch (panel) {
	case TIME:
		return time_parts(r, row, to);
	case ENERGY:
		return energy_parts(row, to);
	case USE:
		to[0] = (struct part){
			"use", 100 * report_utilisation(row->macs, row->cost.mac_peak),
		};
		return 1;
	default:
		to[0] = (struct part){ "load", fmin(fmax(snr, 0), MOST_DB) };
		return row->accuracy.samples > 0;
	}
}

static double sum_of(const struct part *p, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += p[i].value;
	return sum;
}

static double largest(const struct cores_report *r, enum panel panel)
{
	struct part p[PARTS];
	double most = 0;

	for (unsigned int i = 0; i < r->rows; i++)
		if (!r->row[i].why)
			most = fmax(most, sum_of(p, parts_of(r, &r->row[i], panel, p)));
	return most > 0 ? most : 1;
}

static void draw_value(FILE *out, const struct cores_row *row, enum panel panel, double x, double y,
		       double value)
{
	if (panel == SNR)
		value = cores_snr(&row->accuracy);
	fprintf(out, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">", x, y);
	if (value == INFINITY)
		fputs("exact</text>\n", out);
	else
		fprintf(out, value < 1000 ? "%.3g</text>\n" : "%.0f</text>\n", value);
}

static void draw_bar(FILE *out, const struct cores_report *r, const struct cores_row *row,
		     enum panel panel, double y)
{
	struct part p[PARTS];
	size_t count = parts_of(r, row, panel, p);
	double scale = (panels[panel].width - VALUE) / largest(r, panel), x = panels[panel].x;

	for (size_t i = 0; i < count; i++) {
		if (p[i].value > 0)
			fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
				"height=\"%d\"/>\n", p[i].class, x, y, p[i].value * scale, BAR);
		x += p[i].value * scale;
	}
	if (count)
		draw_value(out, row, panel, x + 5, y + 12, sum_of(p, count));
}

static void draw_row(FILE *out, const struct cores_report *r, const struct cores_row *row, double y)
{
	fprintf(out, "<text x=\"%d\" y=\"%.1f\">%s %s%s</text>\n", LABEL, y + 12,
		cores_row_name(row), row->variant->name, row->best ? " *" : "");
	if (row->why)
		fprintf(out, "<text class=\"small\" x=\"%d\" y=\"%.1f\">no figures</text>\n",
			panels[TIME].x, y + 12);
	else
		for (enum panel p = TIME; p < PANELS; p++)
			draw_bar(out, r, row, p, y);
}

static void draw_key(FILE *out, int x, int y)
{
	static const char *const key[][2] = {
		{ "use", "cores: cycles, MACs" }, { "load", "on-chip memories" },
		{ "weights", "memory" }, { "cpu", "CPU" }, { "control", "copies, submissions" },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(key); i++, x += 170)
		fprintf(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"10\" height=\"10\"/>"
			"<text class=\"small\" x=\"%d\" y=\"%d\">%s</text>\n", key[i][0], x, y,
			x + 15, y + 9, key[i][1]);
}

static int height_of(const struct cores_report *r)
{
	return TOP + (int)r->rows * ROW + 34;
}

void cores_draw(FILE *out, const struct cores_report *r)
{
	int height = height_of(r);

	fprintf(out, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" "
		"aria-label=\"Time, energy, utilisation and accuracy on each core\">\n", WIDTH,
		height, WIDTH, height);
	for (enum panel p = TIME; p < PANELS; p++)
		fprintf(out, "<text class=\"title\" x=\"%d\" y=\"26\">%s</text>\n"
			"<path class=\"axis\" d=\"M%d %dV%d\"/>\n", panels[p].x, panels[p].title,
			panels[p].x, TOP - 8, TOP + (int)r->rows * ROW);
	for (unsigned int i = 0; i < r->rows; i++)
		draw_row(out, r, &r->row[i], TOP + (int)i * ROW);
	draw_key(out, panels[TIME].x, height - 18);
	fputs("</svg>\n", out);
}

void cores_svg(const struct cores_report *r, FILE *out)
{
	int width = WIDTH + 20, height = height_of(r) + 20;

	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\">\n<style>\n%s</style>\n<rect class=\"paper\" width=\"%d\" "
		"height=\"%d\"/>\n<g transform=\"translate(10 10)\">\n", width, height, width,
		height, markup_style, width, height);
	cores_draw(out, r);
	fputs("</g>\n</svg>\n", out);
}
