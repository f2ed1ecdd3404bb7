// SPDX-License-Identifier: MIT
/* The planes of a convolution, and what one costs (Documentation/hardware/imc.rst). */
#include "imc.h"

void imcc_set_axis(struct imcc_axis *a)
{
	int64_t common;

	if (a->kernel == 1)
		a->dilation = 1;
	if (a->out == 1 && !a->transposed)
		a->stride = 1;
	common = cnn_gcd(a->stride, a->dilation);
	a->phases = a->stride / common;
	if (a->transposed) {
		a->step = a->dilation / common;
		a->classes = a->step * a->stride;
		a->first_input = -cnn_floor_div((a->kernel - 1) * a->dilation - a->pad, a->stride);
		return;
	}
	a->classes = a->dilation / common;
	a->step = a->classes * a->stride;
	a->class_input = a->stride;
	a->first_input = -a->pad;
}

int64_t imcc_input_at(const struct imcc_axis *a, int64_t out)
{
	return a->first_input + (a->transposed ? out / a->classes * a->step : out * a->stride);
}

bool imcc_fold(struct imcc_conv *v)
{
	if (v->format == CNNACC_IMC_FP32 || v->groups > 1 || v->x.kernel == 1 ||
	    v->x.dilation > 1 || v->x.transposed)
		return false;
	v->fold = v->x.kernel;
	v->x.kernel = 1;
	v->x.phases = v->x.classes = v->y.classes = 1;
	v->x.step = v->x.stride;
	v->y.step = v->y.stride;
	v->y.phases = v->y.kernel;
	return true;
}

static int64_t phases_of(const struct imcc_axis *a)
{
	return a->transposed ? cnn_min(a->classes, a->out) : cnn_min(a->phases, a->kernel);
}

int64_t imcc_most_taps(const struct imcc_conv *v)
{
	return cnn_max(cnn_div_up(v->y.kernel, v->y.phases), cnn_div_up(v->x.kernel, v->x.phases));
}

int64_t imcc_phases(const struct imcc_conv *v)
{
	return phases_of(&v->y) * phases_of(&v->x);
}

/* The taps that give results of a class, from the highest to the lowest. */
static struct imcc_taps taps_of_class(const struct imcc_axis *a, int64_t class)
{
	struct imcc_taps t = { .step = -a->phases, .class_first = class, .class_end = class + 1 };
	int64_t lowest = 0, at = class + a->pad;

	while (lowest < a->phases && (at - lowest * a->dilation) % a->stride)
		lowest++;
	if (lowest == a->phases || lowest >= a->kernel)
		return t;
	t.count = cnn_div_up(a->kernel - lowest, a->phases);
	t.first = lowest + (t.count - 1) * a->phases;
	t.input = (at - t.first * a->dilation) / a->stride - a->first_input;
	return t;
}

static struct imcc_taps taps_of_phase(const struct imcc_axis *a, int64_t phase)
{
	return (struct imcc_taps){
		.first = phase, .step = a->phases, .count = cnn_div_up(a->kernel - phase, a->phases),
		.input = phase * a->dilation, .class_end = a->classes,
	};
}

static struct imcc_taps taps_of(const struct imcc_axis *a, int64_t i)
{
	return a->transposed ? taps_of_class(a, i) : taps_of_phase(a, i);
}

struct imcc_phase imcc_phase(const struct imcc_conv *v, int64_t i)
{
	struct imcc_phase p = { .y = taps_of(&v->y, i / phases_of(&v->x)),
				.x = taps_of(&v->x, i % phases_of(&v->x)) };

	if (p.y.count && p.x.count)
		p.n = cnn_max(p.y.count, p.x.count);
	return p;
}

int64_t imcc_taps_before(const struct imcc_conv *v, int64_t i)
{
	int64_t taps = 0;

	while (i-- > 0) {
		struct imcc_phase p = imcc_phase(v, i);

		taps += p.n * p.n;
	}
	return taps;
}

int64_t imcc_class_size(const struct imcc_axis *axis, int64_t a, int64_t out)
{
	return a < out ? cnn_div_up(out - a, axis->classes) : 0;
}

int64_t imcc_reach(const struct imcc_conv *v, const struct imcc_axis *axis, int64_t out)
{
	int64_t most = 1;

	for (int64_t i = 0; i < imcc_phases(v); i++) {
		struct imcc_phase p = imcc_phase(v, i);
		const struct imcc_taps *t = axis == &v->y ? &p.y : &p.x;

		for (int64_t a = t->class_first; p.n && a < cnn_min(t->class_end, out); a++) {
			int64_t last = imcc_class_size(axis, a, out) - 1 + p.n - 1;

			most = cnn_max(most, axis->step * last + a * axis->class_input +
						     t->input + 1);
		}
	}
	return most + (axis == &v->x ? v->fold - 1 : 0);
}

static uint64_t stalls_before(uint64_t load, int64_t clocks)
{
	return load > (uint64_t)clocks ? load - (uint64_t)clocks : 0;
}

/* Stalls before the elements of a row pass that follows another one. */
static uint64_t stalls_of_row(const struct imcc_plane *p, uint64_t load)
{
	int64_t wo = p->w - p->n + 1, most = cnn_min(p->n, wo);
	uint64_t stalls = (uint64_t)(p->w - 2 * (most - 1)) * stalls_before(load, most);

	for (int64_t u = 1; u < most; u++)
		stalls += 2 * stalls_before(load, u);
	return stalls;
}

/* Clocks in which the element port loads an element of pass @pass. */
static uint64_t load_clocks(const struct imcc_hw *hw, const struct imcc_plane *p, int64_t pass)
{
	int64_t c = cnn_min(hw->cin_max, p->cin - pass * hw->cin_max);

	return (uint64_t)cnn_div_up(c * p->size, hw->port);
}

struct imcc_cycles imcc_plane_cycles(const struct imcc_hw *hw, const struct imcc_plane *p)
{
	int64_t passes = cnn_div_up(p->cin, hw->cin_max);
	int64_t groups = cnn_div_up(p->cout, p->full ? hw->csus / p->n : hw->csus);
	uint64_t rows = (uint64_t)(groups * (p->full ? p->h : (p->h - p->n + 1) * p->n));
	uint64_t first = load_clocks(hw, p, 0);
	uint64_t stalls = (uint64_t)(passes - 1) * stalls_of_row(p, first) +
			  stalls_of_row(p, load_clocks(hw, p, passes - 1));

	return (struct imcc_cycles){
		.start = 4 + first,
		.clocks = rows * (uint64_t)(passes * p->n * (p->w - p->n + 1)),
		.stalls = rows * stalls - (first - 1),
	};
}

void imcc_choose_mode(const struct imcc_hw *hw, struct imcc_plane *p)
{
	struct imcc_cycles partial, full;

	p->full = false;
	if (!hw->full || p->n == 1 || p->n > hw->csus)
		return;
	partial = imcc_plane_cycles(hw, p);
	p->full = true;
	full = imcc_plane_cycles(hw, p);
	p->full = imcc_total(&full) <= imcc_total(&partial);
}
