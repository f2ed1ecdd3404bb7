// SPDX-License-Identifier: MIT
/* The parts of a layer's output, and which part of its input each needs. */
#include "enpu.h"

/* An axis of a layer: what the instruction has, and pixels from one of a phase to the next. */
struct axis {
	int64_t in, out, kernel, stride, dilation, pad, in_step, out_step;
};

static struct axis rows_of(const struct enpuc_layer *l)
{
	return (struct axis){ l->hi, l->ho, l->hk, l->sh, l->dh + 1, l->ph,
			      l->gather.in[ENPUC_ROWS], l->gather.out[ENPUC_ROWS] };
}

static struct axis columns_of(const struct enpuc_layer *l)
{
	return (struct axis){ l->wi, l->wo, l->wk, l->sw, l->dw + 1, l->pw,
			      l->gather.in[ENPUC_COLUMNS], l->gather.out[ENPUC_COLUMNS] };
}

/* Pixels of an axis of the input that @len ones of the output need, with padding. */
static int64_t span(const struct axis *a, int64_t len)
{
	return (len - 1) * a->stride + a->dilation * (a->kernel - 1) + 1;
}

/* A range of an axis: its first pixel in the map, and how many; padding before it. */
struct range {
	int64_t at, len, pad;
};

static struct range input_of(const struct axis *a, const struct range *out)
{
	int64_t begin = out->at * (a->stride * a->in_step / a->out_step) - a->pad;
	int64_t before = begin < 0 ? cnn_div_up(-begin, a->in_step) : 0;
	struct range r = { .at = cnn_min(begin + before * a->in_step, a->in - 1) };

	r.pad = (r.at - begin) / a->in_step;
	r.len = cnn_max(cnn_min(span(a, out->len) - r.pad, (a->in - 1 - r.at) / a->in_step + 1), 1);
	return r;
}

/* Slabs of @part pixels of an axis: those of each phase follow each other. */
static int64_t count_ranges(const struct axis *a, int64_t part)
{
	int64_t count = 0;

	for (int64_t phase = 0; phase < cnn_min(a->out_step, a->out); phase++)
		count += cnn_div_up(cnn_div_up(a->out - phase, a->out_step), part);
	return count;
}

static struct range find_range(const struct axis *a, int64_t part, int64_t i)
{
	for (int64_t phase = 0;; phase++) {
		int64_t pixels = cnn_div_up(a->out - phase, a->out_step);
		int64_t ranges = cnn_div_up(pixels, part);

		if (i < ranges)
			return (struct range){ .at = phase + i * part * a->out_step,
					       .len = cnn_min(part, pixels - i * part) };
		i -= ranges;
	}
}

int64_t enpuc_count_slabs(const struct enpuc_layer *l, const struct enpuc_plan *p)
{
	const struct axis rows = rows_of(l), columns = columns_of(l);

	return l->n * count_ranges(&rows, p->rows) * count_ranges(&columns, p->columns);
}

struct enpuc_slab enpuc_slab_of(const struct enpuc_layer *l, const struct enpuc_plan *p, int64_t i)
{
	const struct axis rows = rows_of(l), columns = columns_of(l);
	int64_t across = count_ranges(&columns, p->columns), down = count_ranges(&rows, p->rows);
	struct range y = find_range(&rows, p->rows, i / across % down);
	struct range x = find_range(&columns, p->columns, i % across);
	struct range in_y = input_of(&rows, &y), in_x = input_of(&columns, &x);
	struct enpuc_slab s = {
		.n = i / across / down, .y = y.at, .x = x.at, .h = y.len, .w = x.len,
		.in_y = in_y.at, .in_x = in_x.at, .in_h = in_y.len, .in_w = in_x.len,
		.ph = in_y.pad, .pw = in_x.pad,
	};

	/* It has the padding inside. */
	if (l->gather.kernel_rows > 1) {
		s.in_h = s.h;
		s.ph = 0;
	}
	return s;
}

struct enpuc_slab enpuc_largest_slab(const struct enpuc_layer *l, int64_t h, int64_t w)
{
	const struct axis rows = rows_of(l), columns = columns_of(l);

	return (struct enpuc_slab){
		.h = h, .w = w, .in_w = cnn_min(span(&columns, w), l->wi),
		.in_h = l->gather.kernel_rows > 1 ? h : cnn_min(span(&rows, h), l->hi),
	};
}

int64_t enpuc_slab_commands(const struct enpuc_layer *l)
{
	return 9 + 4 * l->stages + (l->gather.kernel_rows > 1 ? 4 * l->gather.kernel_rows : 0);
}

uint64_t enpuc_gather_cycles(const struct enpuc_layer *l, const struct enpuc_slab *s)
{
	/* A copy of a row of pixels, each of which touches two lines more than it has. */
	int64_t in = s->in_h * (20 + 2 * s->in_w), out = s->h * (20 + 2 * s->w);

	if (!l->gather.used && !l->slice)
		return 0;
	return (uint64_t)(l->gather.kernel_rows * in + 2 * l->stages * out);
}

bool enpuc_needs_second(const struct enpuc_layer *l, int i)
{
	return l->stage[i].b >= 0 &&
	       (l->stage[i].b != l->in || enpuc_uses(l->stage[0].opcode) & ENPUC_WINDOW);
}

struct enpuc_slab enpuc_whole(const struct enpuc_layer *l)
{
	return (struct enpuc_slab){
		.h = l->ho, .w = l->wo, .in_h = l->hi, .in_w = l->wi, .ph = l->ph, .pw = l->pw,
	};
}

int64_t enpuc_in_words(const struct enpuc_layer *l, const struct enpuc_slab *s)
{
	return s->in_h * s->in_w * enpuc_groups(l->ci);
}

int64_t enpuc_out_words(const struct enpuc_layer *l, const struct enpuc_slab *s)
{
	return s->h * s->w * enpuc_groups(l->co);
}
