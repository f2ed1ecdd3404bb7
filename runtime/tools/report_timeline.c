/* SPDX-License-Identifier: MIT */
/* The time line of a report: cores and DMA engines as modelled, the host as measured. */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH		PICTURE_WIDTH
#define LEFT		64
#define ROOM		(WIDTH - LEFT - 10)
#define COLUMN		2	/* pixels that share one mix of activities */
#define COLUMNS		(ROOM / COLUMN)
#define ACTIVITIES	(CNNRT_DMA_STORE + 1)

#define STRIP		16	/* heights of rows */
#define CORE		76
#define DMA		44
#define HOST		24
#define GAP		6
#define AXIS		34

static const char *const class_of[ACTIVITIES] = {
	"control", "stall", "compute", "control", "weights", "load", "store",
};
static const char *const name_of[ACTIVITIES] = {
	"control", "stall", "compute", "program", "weights", "loads", "stores",
};

/* Cycles of a core by column and activity. */
struct columns {
	uint64_t of[COLUMNS][ACTIVITIES];
	uint64_t total;
};

/* The cycle at which a column begins. */
static uint64_t edge(const struct columns *c, int column)
{
	return (uint64_t)column * c->total / COLUMNS;
}

static void fill(struct columns *c, enum cnnrt_activity what, uint64_t from, uint64_t to)
{
	/* A program from a file may have spans beyond the total. */
	uint64_t first = c->total ? from * COLUMNS / c->total : COLUMNS;

	for (int i = first < COLUMNS ? (int)first : COLUMNS; i < COLUMNS && from < to; i++) {
		uint64_t stop = edge(c, i + 1) < to ? edge(c, i + 1) : to;

		if (stop <= from)
			continue;
		c->of[i][what] += stop - from;
		from = stop;
	}
}

static void collect(struct columns *c, const struct report *r, int core)
{
	memset(c, 0, sizeof(*c));
	for (unsigned int i = 0; i < r->est.tasks; i++)
		if (r->tasks[i].core == core)
			c->total += r->tasks[i].cycles;
	for (size_t i = 0; i < r->span_count; i++) {
		const struct cnnrt_span *s = &r->spans[i];
		uint64_t start = r->tasks[s->task].start;

		if (s->core == core)
			fill(c, s->what, start + s->start, start + s->end);
	}
}

/* Draws the sum of count activities in each column as an area from y + height upwards. */
static void draw_area(FILE *out, const struct columns *c, const int *what, int count, int y,
		      int height)
{
	double was = 0;

	fprintf(out, "<path class=\"%s\" d=\"M%d %d", class_of[what[count - 1]], LEFT, y + height);
	for (int i = 0; i < COLUMNS; i++) {
		uint64_t sum = 0, width = edge(c, i + 1) - edge(c, i);
		double top;

		for (int k = 0; k < count; k++)
			sum += c->of[i][what[k]];
		top = width ? round(10.0 * height * (double)sum / (double)width) / 10 : was;
		if (top == was)
			continue;
		fprintf(out, "H%dV%.6g", LEFT + i * COLUMN, y + height - top);
		was = top;
	}
	fprintf(out, "H%dV%dz\"/>\n", LEFT + COLUMNS * COLUMN, y + height);
}

/* Stacks activities, the first at the bottom. */
static void draw_row(FILE *out, const struct columns *c, const int *order, int count, int y,
		     int height)
{
	for (int n = count; n; n--)
		draw_area(out, c, order, n, y, height);
}

static void draw_axis(FILE *out, double ms, int y, const char *what)
{
	double step = pow(10, floor(log10(ms / 4)));

	if (!(ms > 0))
		return;
	step *= ms / step > 20 ? 5 : ms / step > 10 ? 2 : 1;
	fprintf(out, "<path class=\"axis\" d=\"M%d %dH%d\"/>\n", LEFT, y, LEFT + ROOM);
	for (double t = 0; t <= ms; t += step) {
		double x = LEFT + t / ms * ROOM;

		fprintf(out, "<path class=\"axis\" d=\"M%.1f %dv5\"/><text class=\"mid small\" "
			"x=\"%.1f\" y=\"%d\">%g</text>\n", x, y, x, y + 17, t);
	}
	fprintf(out, "<text class=\"end small\" x=\"%d\" y=\"%d\">%s</text>\n", LEFT - 6, y + 17, what);
}

static void draw_legend(FILE *out, const struct columns *c, const int *order, int count, int x,
			int y)
{
	for (int n = 0; n < count; n++) {
		uint64_t sum = 0;

		for (int i = 0; i < COLUMNS; i++)
			sum += c->of[i][order[n]];
		fprintf(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"11\" height=\"11\"/>"
			"<text x=\"%d\" y=\"%d\">%s %.1f %%</text>\n", class_of[order[n]], x, y - 10,
			x + 16, y, name_of[order[n]], 100 * (double)sum / (double)c->total);
		x += 119;
	}
}

struct run {
	const struct report_layer *layer;
	uint64_t start, end;		/* in cycles of the core */
};

static void draw_run(FILE *out, const struct columns *c, const struct run *run, int y, bool odd)
{
	double x = LEFT + (double)run->start / (double)c->total * ROOM;
	double width = (double)(run->end - run->start) / (double)c->total * ROOM;
	int fits = (int)(fmin(width, ROOM) / 6.4), len = (int)strlen(run->layer->name);

	fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
		odd ? "band" : "band2", x, y, width, STRIP);
	if (fits > 2 && fits >= len) {
		fprintf(out, "<text class=\"mid small\" x=\"%.1f\" y=\"%d\">", x + width / 2, y + 12);
		markup_text(out, run->layer->name);
		fputs("</text>", out);
	}
	fprintf(out, "<rect class=\"hit\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\">", x, y,
		fmax(width, 0.5), STRIP + CORE + DMA + 2 * GAP);
	markup_tooltip(out, run->layer);
	fputs("</rect>\n", out);
}

/* Calls draw for each uninterrupted stretch of one layer on a core. */
static void each_run(const struct report *r, int core, void (*draw)(const struct run *, void *),
		     void *opaque)
{
	struct run run = { NULL, 0, 0 };

	for (size_t i = 0; i < r->span_count; i++) {
		const struct cnnrt_span *s = &r->spans[i];
		const struct report_layer *l = &r->layers[r->by_op[s->op]];
		uint64_t start = r->tasks[s->task].start;

		if (s->core != core || s->what >= CNNRT_DMA_PROGRAM)
			continue;
		if (run.layer != l) {
			if (run.layer)
				draw(&run, opaque);
			run = (struct run){ l, start + s->start, 0 };
		}
		run.end = start + s->end;
	}
	if (run.layer)
		draw(&run, opaque);
}

struct drawing {
	FILE *out;
	const struct columns *c;
	int y;
	unsigned int count;
};

static void draw_layer(const struct run *run, void *opaque)
{
	struct drawing *d = opaque;

	draw_run(d->out, d->c, run, d->y, d->count++ % 2);
}

static void draw_use(const struct run *run, void *opaque)
{
	struct drawing *d = opaque;
	const struct report_layer *l = run->layer;
	double use = fmin(report_utilisation(l->macs, l->cost.mac_peak), 1);

	fprintf(d->out, "V%.1fH%.1f", d->y + CORE * (1 - use),
		LEFT + (double)run->end / (double)d->c->total * ROOM);
}

/* MACs of the network divided by the capacity of the core in its layers. */
static double core_use(const struct report *r, int core)
{
	uint64_t peak = 0;

	for (unsigned int i = 0; i < r->layer_count; i++)
		if (r->layers[i].core == core)
			peak += r->layers[i].cost.mac_peak;
	return report_utilisation(r->est.macs_core[core], peak);
}

static void draw_core(FILE *out, const struct report *r, const struct columns *c, int core, int y)
{
	static const int units[] = { CNNRT_COMPUTE, CNNRT_CONTROL, CNNRT_STALL };
	static const int dma[] = {
		CNNRT_DMA_WEIGHTS, CNNRT_DMA_LOAD, CNNRT_DMA_STORE, CNNRT_DMA_PROGRAM,
	};
	struct drawing d = { .out = out, .c = c };
	int row = y + STRIP + GAP;

	fprintf(out, "<text class=\"end\" x=\"%d\" y=\"%d\">layers</text><text class=\"end\" x=\"%d\" "
		"y=\"%d\">%s %d</text><text class=\"end\" x=\"%d\" y=\"%d\">DMA</text>\n", LEFT - 6,
		y + 12, LEFT - 6, row + CORE / 2, r->core[core].name, core, LEFT - 6,
		row + CORE + GAP + DMA / 2 + 4);
	fprintf(out, "<text x=\"%d\" y=\"%d\">of the cycles:</text>\n", LEFT, y - 8);
	draw_legend(out, c, units, 3, LEFT + 90, y - 8);
	draw_legend(out, c, dma, 4, LEFT + 556, y - 8);
	fprintf(out, "<path class=\"use\" d=\"M%d %dh11v11h-11z\"/><text x=\"%d\" y=\"%d\">useful "
		"%.1f %%</text>\n", LEFT + 447, y - 18, LEFT + 463, y - 8, 100 * core_use(r, core));
	draw_row(out, c, units, 3, row, CORE);
	d.y = row;
	fprintf(out, "<path class=\"use\" d=\"M%d %d", LEFT, row + CORE);
	each_run(r, core, draw_use, &d);
	fprintf(out, "V%dz\"/>\n", row + CORE);
	draw_row(out, c, dma, 4, row + CORE + GAP, DMA);
	d.y = y;
	d.count = 0;
	each_run(r, core, draw_layer, &d);
	draw_axis(out, report_ms(r, c->total), row + CORE + GAP + DMA + 2, "model, ms");
}

static void draw_stretch(FILE *out, const struct report *r, const char *class, const char *what,
			 const char *name, uint64_t start, uint64_t end, int y)
{
	double all = r->run_ns ? (double)r->run_ns : 1;

	if (end <= start)
		return;
	fprintf(out, "<rect class=\"%s\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"><title>%s",
		class, LEFT + (double)start / all * ROOM, y,
		fmax((double)(end - start) / all * ROOM, 0.4), HOST, what);
	markup_text(out, name);
	fprintf(out, "\n%.3f ms</title></rect>\n", (double)(end - start) / 1e6);
}

static void draw_host(FILE *out, const struct report *r, int y)
{
	static const char *const key[][2] = {
		{ "cpu", "operators" }, { "store", "copies" }, { "stall", "submits" },
		{ "wait", "waits for a core" },
	};
	int x = LEFT + 90;

	fprintf(out, "<text x=\"%d\" y=\"%d\">host:</text>\n", LEFT, y - 8);
	for (unsigned int i = 0; i < ARRAY_SIZE(key); i++) {
		fprintf(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"11\" height=\"11\"/>"
			"<text x=\"%d\" y=\"%d\">%s</text>\n", key[i][0], x, y - 18, x + 16, y - 8,
			key[i][1]);
		x += 122;
	}
	fprintf(out, "<text class=\"end\" x=\"%d\" y=\"%d\">host</text>\n", LEFT - 6, y + 16);
	for (size_t i = 0; i < r->step_count; i++) {
		const struct cnnrt_step *s = &r->steps[i];

		if (s->kind == CNNRT_STEP_TASKS) {
			draw_stretch(out, r, "stall", "submit, from ", s->name, s->start_ns,
				     s->submitted_ns, y);
			draw_stretch(out, r, "wait", "wait for programs, from ", s->name,
				     s->submitted_ns, s->end_ns, y);
		} else {
			draw_stretch(out, r, s->kind == CNNRT_STEP_OP ? "cpu" : "store",
				     s->kind == CNNRT_STEP_OP ? "CPU: " : "copies at ", s->name,
				     s->start_ns, s->end_ns, y);
		}
	}
	draw_axis(out, (double)r->run_ns / 1e6, y + HOST + 2, "run, ms");
}

#define CORE_HEIGHT	(28 + STRIP + CORE + DMA + 2 * GAP + AXIS)
#define HOST_HEIGHT	(28 + HOST + AXIS)
#define TITLE		22

static bool is_used(const struct report *r, int core)
{
	for (unsigned int i = 0; i < r->est.tasks; i++)
		if (r->tasks[i].core == core && r->tasks[i].cycles)
			return true;
	return false;
}

int timeline_height(const struct report *r)
{
	int used = 0;

	for (unsigned int i = 0; i < r->dev.core_count; i++)
		used += is_used(r, (int)i);
	return TITLE + used * CORE_HEIGHT + HOST_HEIGHT;
}

void draw_timeline(FILE *out, const struct report *r)
{
	struct columns *c = calloc(1, sizeof(*c));
	int height = timeline_height(r), y = TITLE + 28;

	if (!c)
		return;
	fprintf(out, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" "
		"aria-label=\"Time line\">\n<text class=\"title\" x=\"%d\" y=\"16\">Time line</text>"
		"<text x=\"%d\" y=\"16\">cores by the cycle model, program after program; the host as "
		"measured in one run, on its own scale</text>\n", WIDTH, height, WIDTH, height, LEFT,
		LEFT + 90);
	for (unsigned int i = 0; i < r->dev.core_count; i++) {
		if (!is_used(r, (int)i))
			continue;
		collect(c, r, (int)i);
		draw_core(out, r, c, (int)i, y);
		y += CORE_HEIGHT;
	}
	draw_host(out, r, y);
	fputs("</svg>\n", out);
	free(c);
}
