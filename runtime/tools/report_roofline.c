/* SPDX-License-Identifier: MIT */
/* The roofline of a report: each layer beside the limits of core and memory. */
#include "report.h"

#include <math.h>

#define WIDTH	PICTURE_WIDTH
#define HEIGHT	ROOFLINE_HEIGHT
#define LEFT	64
#define RIGHT	20
#define TOP	48
#define BOTTOM	46

/* Ends of the axes, as powers of ten. */
struct plane {
	double x0, x1, y0, y1;
};

static double at_x(const struct plane *p, double intensity)
{
	double place = (fmin(log10(intensity), p->x1) - p->x0) / (p->x1 - p->x0);

	return LEFT + place * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct plane *p, double speed)
{
	return HEIGHT - BOTTOM - (log10(speed) - p->y0) / (p->y1 - p->y0) * (HEIGHT - TOP - BOTTOM);
}

/*
 * Computes MACs per byte and per cycle; false if the layer has no MACs or cycles. A layer that moves
 * no bytes has infinite intensity and is drawn at the right edge.
 */
static bool locate(uint64_t macs, const struct cnnrt_cost *c, double *intensity, double *speed)
{
	if (!macs || !c->cycles)
		return false;
	*intensity = report_moved(c) ? (double)macs / (double)report_moved(c) : INFINITY;
	*speed = (double)macs / (double)c->cycles;
	return true;
}

static void fit(struct plane *p, const struct report *r, double peak)
{
	double x, y, ridge = peak / BYTES_PER_CYCLE;

	*p = (struct plane){ log10(ridge / 2), log10(ridge * 8), log10(peak / 100), log10(peak) };
	for (unsigned int i = 0; i < r->layer_count; i++) {
		const struct report_layer *l = &r->layers[i];

		if (l->core < 0 || !locate(l->macs, &l->cost, &x, &y))
			continue;
		p->x0 = fmin(p->x0, log10(x));
		p->x1 = isinf(x) ? p->x1 : fmax(p->x1, log10(x));
		p->y0 = fmin(p->y0, log10(y));
	}
	p->x0 = floor(p->x0 * 2 - 0.2) / 2;
	p->x1 = ceil(p->x1 * 2 + 0.2) / 2;
	p->y0 = floor(p->y0 * 2 - 0.2) / 2;
	p->y1 += 0.2;
}

static void draw_grid(FILE *out, const struct plane *p)
{
	for (int d = (int)ceil(p->x0); d <= (int)floor(p->x1); d++) {
		double x = at_x(p, pow(10, d));

		fprintf(out, "<path class=\"axis\" d=\"M%.1f %dV%d\"/><text class=\"mid\" x=\"%.1f\" "
			"y=\"%d\">%g</text>\n", x, TOP, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 18,
			pow(10, d));
	}
	for (int d = (int)ceil(p->y0); d <= (int)floor(p->y1); d++) {
		double y = at_y(p, pow(10, d));

		fprintf(out, "<path class=\"axis\" d=\"M%d %.1fH%d\"/><text class=\"end\" x=\"%d\" "
			"y=\"%.1f\">%g</text>\n", LEFT, y, WIDTH - RIGHT, LEFT - 8, y + 4, pow(10, d));
	}
	fprintf(out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, HEIGHT - BOTTOM,
		WIDTH - RIGHT);
	fprintf(out, "<text class=\"mid\" x=\"%d\" y=\"%d\">MACs per byte moved</text>\n"
		"<text class=\"mid\" transform=\"translate(16 %d) rotate(-90)\">MACs per cycle</text>\n",
		(WIDTH + LEFT) / 2, HEIGHT - 6, (HEIGHT + TOP - BOTTOM) / 2);
}

static void draw_roof(FILE *out, const struct plane *p, double peak)
{
	double floor_speed = pow(10, p->y0), left = pow(10, p->x0), low = left * BYTES_PER_CYCLE;
	double start = low > floor_speed ? left : floor_speed / BYTES_PER_CYCLE;
	double ridge = peak / BYTES_PER_CYCLE, middle = sqrt(start * ridge);
	double slope = (at_y(p, peak) - at_y(p, start * BYTES_PER_CYCLE)) /
		       (at_x(p, ridge) - at_x(p, start));

	fprintf(out, "<path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1fH%d\"/>\n", at_x(p, start),
		at_y(p, start * BYTES_PER_CYCLE), at_x(p, ridge), at_y(p, peak), WIDTH - RIGHT);
	fprintf(out, "<text class=\"end\" x=\"%d\" y=\"%.1f\">%g MACs a cycle</text>\n",
		WIDTH - RIGHT - 6, at_y(p, peak) - 7, peak);
	fprintf(out, "<text class=\"mid\" transform=\"translate(%.1f %.1f) rotate(%.1f)\" dy=\"-8\">"
		"%d bytes a cycle</text>\n", at_x(p, middle), at_y(p, middle * BYTES_PER_CYCLE),
		atan(slope) * 180 / M_PI, BYTES_PER_CYCLE);
}

static void draw_dots(FILE *out, const struct report *r, const struct plane *p)
{
	double x, y;

	for (unsigned int i = 0; i < r->layer_count; i++) {
		const struct report_layer *l = &r->layers[i];

		if (l->core < 0 || !locate(l->macs, &l->cost, &x, &y))
			continue;
		fprintf(out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">",
			markup_bound_class(&l->cost), at_x(p, x), at_y(p, y),
			3 + 34 * sqrt((double)l->cost.cycles / (double)r->total.cycles / M_PI));
		markup_tooltip(out, l);
		fputs("</circle>\n", out);
	}
	if (!locate(r->total_macs, &r->total, &x, &y))
		return;
	fprintf(out, "<path class=\"all\" d=\"M%.1f %.1fl8 8l-8 8l-8 -8z\"><title>all layers: %.1f "
		"MACs per byte, %.1f per cycle</title></path>\n", at_x(p, x), at_y(p, y) - 8, x, y);
}

static void draw_legend(FILE *out)
{
	static const char *const key[][2] = {
		{ "compute", "compute" }, { "weights", "weight load" }, { "load", "data load" },
		{ "control", "control" },
	};
	int x = 520;

	fprintf(out, "<text class=\"title\" x=\"%d\" y=\"18\">Roofline</text>\n<text x=\"%d\" "
		"y=\"18\">a dot is a layer, its area the cycles; bound by</text>\n", LEFT, LEFT + 90);
	for (unsigned int i = 0; i < ARRAY_SIZE(key); i++) {
		fprintf(out, "<circle class=\"dot %s\" cx=\"%d\" cy=\"14\" r=\"6\"/>"
			"<text x=\"%d\" y=\"18\">%s</text>\n", key[i][0], x, x + 11, key[i][1]);
		x += 110;
	}
	fprintf(out, "<path class=\"all\" d=\"M%d 7l7 7l-7 7l-7 -7z\"/><text x=\"%d\" y=\"18\">"
		"all layers</text>\n", x, x + 13);
}

void draw_roofline(FILE *out, const struct report *r)
{
	double peak = 1;
	struct plane p;

	for (unsigned int i = 0; i < r->layer_count; i++)
		if (r->layers[i].cost.cycles)
			peak = fmax(peak, (double)(r->layers[i].cost.mac_peak /
						   r->layers[i].cost.cycles));
	fit(&p, r, peak);
	fprintf(out, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" "
		"aria-label=\"Roofline\">\n", WIDTH, HEIGHT, WIDTH, HEIGHT);
	draw_legend(out);
	draw_grid(out, &p);
	draw_roof(out, &p, peak);
	draw_dots(out, r, &p);
	fputs("</svg>\n", out);
}
