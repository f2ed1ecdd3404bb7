// SPDX-License-Identifier: MIT
/* One step of RNN, GRU and LSTM. */
#include "recurrent.h"

/* y[batch][gates * hidden] = x[batch][k] times n rows of weights, plus the bias. */
static void product(const struct recurrent *r, const float *x, int64_t k, const float *weights,
		    const float *bias, float *y, int64_t n)
{
	const struct cnn_gemm g = {
		.m = r->batch, .n = n, .k = k, .a = x, .a_row = k, .a_col = 1,
		.b = weights, .b_row = 1, .b_col = k, .c = y, .c_row = r->gates * r->hidden,
		.c0 = bias, .c0_col = 1, .alpha = 1, .beta = 1,
	};

	cnn_gemm_f32(&g, r->gemm);
}

void cnn_recurrent_product(const struct recurrent *r, const float *state, int64_t first,
			   int64_t gates)
{
	int64_t at = first * r->hidden;

	product(r, state, r->hidden, r->r + at * r->hidden, r->rb ? r->rb + at : NULL, r->rh + at,
		gates * r->hidden);
}

void cnn_recurrent_inputs(const struct recurrent *r)
{
	product(r, r->x, r->input, r->w, r->wb, r->wx, r->gates * r->hidden);
}

/* n gates: act(clip(wx + rh)), in place of wx. */
static void activate(const struct recurrent *r, const struct cell_fn *f, float *wx, const float *rh)
{
	for (int64_t i = 0; i < r->hidden; i++) {
		float v = wx[i] + rh[i];

		if (r->clip > 0) {
			v = v < -r->clip ? -r->clip : v;
			v = v > r->clip ? r->clip : v;
		}
		wx[i] = v;
	}
	f->fn(wx, wx, r->hidden, f->a, f->b);
}

void cnn_rnn_step(const struct recurrent *r, int64_t b)
{
	float *wx = r->wx + b * r->hidden, *h = r->h + b * r->hidden;

	activate(r, &r->fn[0], wx, r->rh + b * r->hidden);
	for (int64_t i = 0; i < r->hidden; i++)
		h[i] = wx[i];
}

/* The gates are update, reset and the candidate of the new state. */
void cnn_gru_reset(const struct recurrent *r)
{
	int64_t n = r->hidden;

	for (int64_t b = 0; b < r->batch; b++) {
		float *reset = r->wx + b * 3 * n + n;

		activate(r, &r->fn[0], reset, r->rh + b * 3 * n + n);
		for (int64_t i = 0; i < n; i++)
			r->cell[b * n + i] = reset[i] * r->h[b * n + i];
	}
	cnn_recurrent_product(r, r->cell, 2, 1);
}

void cnn_gru_step(const struct recurrent *r, int64_t b)
{
	bool linear = r->c->node->params.recurrent.linear_before_reset;
	int64_t n = r->hidden;
	float *z = r->wx + b * 3 * n, *reset = z + n, *new = z + 2 * n, *h = r->h + b * n;
	float *rh = r->rh + b * 3 * n, *rh_new = rh + 2 * n;

	activate(r, &r->fn[0], z, rh);
	if (linear) {
		activate(r, &r->fn[0], reset, rh + n);
		for (int64_t i = 0; i < n; i++)
			rh_new[i] *= reset[i];
	}
	activate(r, &r->fn[1], new, rh_new);
	for (int64_t i = 0; i < n; i++)
		h[i] = (1 - z[i]) * new[i] + z[i] * h[i];
}

static void add_peephole(const struct recurrent *r, float *gate, int which, const float *cell)
{
	for (int64_t i = 0; r->peephole && i < r->hidden; i++)
		gate[i] += r->peephole[which * r->hidden + i] * cell[i];
}

/* The gates are input, output, forget and cell. */
void cnn_lstm_step(const struct recurrent *r, int64_t b)
{
	int64_t n = r->hidden;
	float *in = r->wx + b * 4 * n, *out = in + n, *forget = in + 2 * n, *new = in + 3 * n;
	float *h = r->h + b * n, *cell = r->cell + b * n;
	const float *rh = r->rh + b * 4 * n;

	add_peephole(r, in, 0, cell);
	activate(r, &r->fn[0], in, rh);
	add_peephole(r, forget, 2, cell);
	activate(r, &r->fn[0], forget, rh + 2 * n);
	activate(r, &r->fn[1], new, rh + 3 * n);
	for (int64_t i = 0; i < n; i++) {
		float keep = r->c->node->params.recurrent.input_forget ? 1 - in[i] : forget[i];

		cell[i] = keep * cell[i] + in[i] * new[i];
	}
	add_peephole(r, out, 1, cell);
	activate(r, &r->fn[0], out, rh + n);
	r->fn[2].fn(cell, h, n, r->fn[2].a, r->fn[2].b);
	for (int64_t i = 0; i < n; i++)
		h[i] *= out[i];
}
