/* SPDX-License-Identifier: MIT */
/*
 * Calibration: one walk through the network with all samples at once. Each value is computed twice,
 * by the float network and by the quantised one. A layer's scales and biases are chosen for its
 * quantised inputs, with the errors of the layers before, and for the outputs of the float network.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/cpu.h"
#include "cnnquant.h"

enum side { REAL, QUANT, SIDES };

struct walk {
	struct quantizer *q;
	int64_t samples;
	struct cnn_tensor *values[SIDES];	/* [sample][value]; constants and inputs are views */
	const struct cnn_tensor **in;
	struct cnn_tensor **out;
};

static struct cnn_tensor *value_of(const struct walk *w, enum side side, int64_t sample, int v)
{
	return &w->values[side][sample * w->q->g->n_values + v];
}

static int run_side(const struct walk *w, const struct cnn_node *n, enum side side)
{
	for (int64_t s = 0; s < w->samples; s++) {
		for (int i = 0; i < n->n_in; i++)
			w->in[i] = n->in[i] < 0 ? NULL : value_of(w, side, s, n->in[i]);
		for (int i = 0; i < n->n_out; i++)
			w->out[i] = n->out[i] < 0 ? NULL : value_of(w, side, s, n->out[i]);
		if (cnn_cpu_run(n, w->in, w->out, NULL, &w->q->err))
			return quant_fail(w->q);
	}
	return EXIT_DONE;
}

/* Releases the values that node i is the last to read, and its outputs that no node reads. */
static void drop_dead(const struct walk *w, int i)
{
	const struct cnn_graph *g = w->q->g;
	const struct cnn_node *n = &g->nodes[i];

	for (int j = 0; j < n->n_in + n->n_out; j++) {
		int v = j < n->n_in ? n->in[j] : n->out[j - n->n_in];
		const struct cnn_value *val = v < 0 ? NULL : &g->values[v];

		if (!val || val->t.data ||
		    (val->n_consumers && val->consumers[val->n_consumers - 1] != i))
			continue;
		for (int64_t s = 0; s < w->samples * SIDES; s++)
			cnn_tensor_release(value_of(w, (enum side)(s % SIDES), s / SIDES, v));
	}
}

/* A layer with one choice of scales: its codes, its sums and the errors of each output. */
struct trial {
	const struct walk *w;
	struct layer *l;
	const struct cnn_node *n;
	struct cnn_node product;	/* the node as an integer product */
	struct cnn_tensor *x, codes, sums;
	struct {
		float scale;		/* of its sums */
		double error, square, least;
	} *output;
	int64_t count;			/* results of each output */
};

static int64_t output_of(const struct trial *t, const struct cnn_tensor *y, int64_t i)
{
	int64_t plane = 1;

	for (int d = 2; d < y->rank && t->l->conv; d++)
		plane *= y->dims[d];
	return i / plane % t->l->outputs;
}

/* Quantises the layer's inputs with its scale and zero point; returns the squared error. */
static double quantize_inputs(struct trial *t)
{
	const struct layer *l = t->l;
	double sum = 0;

	for (int64_t s = 0; s < t->w->samples; s++) {
		const float *x = value_of(t->w, QUANT, s, t->n->in[0])->data;
		int8_t *codes = t->x[s].data;
		int64_t n = cnn_tensor_count(&t->x[s]);

		quantize(l->format, x, l->x_scale, l->x_zero, codes, n);
		for (int64_t i = 0; i < n; i++) {
			double d = (double)(x[i] - l->x_scale * (float)(codes[i] - l->x_zero));

			sum += d * d;
		}
	}
	return sum;
}

/* Returns the number of the scale with the smallest error of the quantised inputs. */
static int nearest_scale(struct trial *t, float most)
{
	double least = INFINITY;
	int best = 0;

	for (int k = 0; k < X_SCALES; k++) {
		double error;

		t->l->x_scale = scale_number(t->l->format, most, k);
		error = quantize_inputs(t);
		if (error < least) {
			least = error;
			best = k;
		}
	}
	return best;
}

static float largest_input(const struct trial *t)
{
	float most = 0;

	for (int64_t s = 0; s < t->w->samples; s++) {
		const float *x = value_of(t->w, QUANT, s, t->n->in[0])->data;

		for (int64_t i = 0; i < cnn_tensor_count(&t->x[s]); i++)
			most = fmaxf(most, fabsf(x[i]));
	}
	return fminf(most, 1e30f);
}

/* Quantises the weights with scale number k of each output. */
static void try_weights(struct trial *t, int k)
{
	struct layer *l = t->l;
	int8_t *codes = t->codes.data;

	for (int64_t i = 0; i < l->outputs; i++) {
		float most = 0, scale;

		for (int64_t j = 0; j < l->taps; j++)
			most = fmaxf(most, fabsf(l->weights[weight_index(l, i, j)]));
		scale = scale_number(l->format, most, k);
		for (int64_t j = 0; j < l->taps; j++)
			quantize(l->format, &l->weights[weight_index(l, i, j)], scale, 0,
				 &codes[weight_index(l, i, j)], 1);
		t->output[i].scale = scale * l->x_scale;
	}
}

static int make_sums(struct trial *t, int64_t sample)
{
	const struct cnn_tensor zero = { .dtype = CNN_INT8, .data = &t->l->x_zero };
	const struct cnn_tensor *in[3] = { &t->x[sample], &t->codes, &zero };
	struct cnn_tensor *out[1] = { &t->sums };

	return cnn_cpu_run(&t->product, in, out, NULL, &t->w->q->err) ? quant_fail(t->w->q) : EXIT_DONE;
}

/* Adds up the errors of each output with these weights and no bias. */
static int measure(struct trial *t)
{
	for (int64_t k = 0; k < t->l->outputs; k++)
		t->output[k].error = t->output[k].square = 0;
	t->count = 0;
	for (int64_t s = 0; s < t->w->samples; s++) {
		const struct cnn_tensor *y = value_of(t->w, REAL, s, t->n->out[0]);

		if (make_sums(t, s))
			return EXIT_FAILED;
		for (int64_t i = 0; i < cnn_tensor_count(y); i++) {
			int64_t k = output_of(t, y, i);
			double e = (double)((const float *)y->data)[i] -
				   (double)t->output[k].scale * ((const int32_t *)t->sums.data)[i];

			t->output[k].error += e;
			t->output[k].square += e * e;
		}
		t->count += cnn_tensor_count(y) / t->l->outputs;
	}
	return EXIT_DONE;
}

/* Keeps the weights of outputs whose error has the least variance yet; its mean is the bias. */
static void keep_best(struct trial *t)
{
	struct layer *l = t->l;
	double n = (double)t->count;

	for (int64_t k = 0; k < l->outputs; k++) {
		double left = t->output[k].square - t->output[k].error * t->output[k].error / n;

		if (!(left < t->output[k].least))
			continue;
		t->output[k].least = left;
		l->scale[k] = t->output[k].scale;
		l->bias[k] = (float)(t->output[k].error / n);
		for (int64_t j = 0; j < l->taps; j++)
			l->codes[weight_index(l, k, j)] =
				((int8_t *)t->codes.data)[weight_index(l, k, j)];
	}
}

/* Computes the quantised network's outputs of the layer, and their signal and noise. */
static int make_outputs(struct trial *t)
{
	struct layer *l = t->l;

	memcpy(t->codes.data, l->codes, (size_t)(l->outputs * l->taps));
	for (int64_t s = 0; s < t->w->samples; s++) {
		const struct cnn_tensor *real = value_of(t->w, REAL, s, t->n->out[0]);
		struct cnn_tensor *y = value_of(t->w, QUANT, s, t->n->out[0]);

		if (make_sums(t, s))
			return EXIT_FAILED;
		if (cnn_tensor_copy(y, real, &t->w->q->err))
			return quant_fail(t->w->q);
		for (int64_t i = 0; i < cnn_tensor_count(y); i++) {
			int64_t k = output_of(t, y, i);
			float *v = (float *)y->data + i, was = *v;

			*v = (float)((const int32_t *)t->sums.data)[i] * l->scale[k] + l->bias[k];
			l->signal += (double)was * (double)was;
			l->noise += (double)(was - *v) * (double)(was - *v);
		}
	}
	return EXIT_DONE;
}

static int alloc_inputs(struct trial *t)
{
	for (int64_t s = 0; s < t->w->samples; s++) {
		t->x[s] = *value_of(t->w, QUANT, s, t->n->in[0]);
		t->x[s].dtype = CNN_INT8;
		t->x[s].owned = false;
		if (cnn_tensor_alloc(&t->x[s], 0, &t->w->q->err))
			return quant_fail(t->w->q);
	}
	return EXIT_DONE;
}

static int alloc_trial(struct trial *t)
{
	t->codes = t->w->q->g->values[t->n->in[1]].t;
	t->codes.dtype = CNN_INT8;
	t->codes.owned = false;
	if (!t->l->conv) {
		t->codes.dims[0] = t->l->taps;
		t->codes.dims[1] = t->l->outputs;
	}
	if (cnn_tensor_alloc(&t->codes, 0, &t->w->q->err))
		return quant_fail(t->w->q);
	t->product = *t->n;
	cnn_params_convert(&t->product, t->l->conv ? CNN_OP_CONV_INTEGER : CNN_OP_MATMUL_INTEGER);
	t->product.op_type = t->l->conv ? "ConvInteger" : "MatMulInteger";
	t->product.n_in = 3;
	t->x = calloc((size_t)t->w->samples, sizeof(*t->x));
	t->output = calloc((size_t)t->l->outputs, sizeof(*t->output));
	if (!t->x || !t->output)
		return complain(EXIT_FAILED, "out of memory");
	return alloc_inputs(t);
}

static void free_trial(struct trial *t)
{
	for (int64_t s = 0; t->x && s < t->w->samples; s++)
		cnn_tensor_release(&t->x[s]);
	cnn_tensor_release(&t->codes);
	cnn_tensor_release(&t->sums);
	free(t->x);
	free(t->output);
}

/* Chooses the weights' scales for the layer's x_scale and x_zero; *error: what remains. */
static int choose_weights(struct trial *t, double *error)
{
	int ret = EXIT_DONE;

	quantize_inputs(t);
	for (int64_t k = 0; k < t->l->outputs; k++)
		t->output[k].least = INFINITY;
	for (int i = 0; i < W_SCALES && !ret; i++) {
		try_weights(t, i);
		ret = measure(t);
		if (!ret)
			keep_best(t);
	}
	*error = 0;
	for (int64_t k = 0; k < t->l->outputs; k++)
		*error += t->output[k].least;
	return ret;
}

/*
 * Chooses the inputs' scale with the smallest error of the outputs, of nearest_scale() and its two
 * neighbours. In TER2 the code for 0 may be -1: inputs that are never negative then have three
 * values, not two.
 */
static int choose_inputs(struct trial *t)
{
	float most = largest_input(t), scale = 1;
	double least = INFINITY, error;
	struct layer *l = t->l;
	const struct cnn_packed_format *packed = cnn_packed_format(l->format);
	int8_t zero = 0;
	int ret = EXIT_DONE;

	for (int z = 0; z >= (packed && packed->shifts_zero ? -1 : 0) && !ret; z--) {
		int best;

		l->x_zero = (int8_t)z;
		best = nearest_scale(t, most);
		for (int k = best > 0 ? best - 1 : 0; k <= best + 1 && !ret; k++) {
			l->x_scale = scale_number(l->format, most, k);
			ret = choose_weights(t, &error);
			if (ret || !(error < least))
				continue;
			least = error;
			scale = l->x_scale;
			zero = l->x_zero;
		}
	}
	l->x_scale = scale;
	l->x_zero = zero;
	if (!ret && !isfinite(least))
		leave_layer(l, "its outputs for the samples are not finite, or no scale's are");
	return ret || l->format == FORMAT_FLOAT32 ? ret : choose_weights(t, &error);
}

static int quantize_layer(const struct walk *w, struct layer *l)
{
	struct trial t = { .w = w, .l = l, .n = &w->q->g->nodes[l->node] };
	int ret = alloc_trial(&t) ?: choose_inputs(&t);

	if (!ret && l->format != FORMAT_FLOAT32)
		ret = make_outputs(&t);
	free_trial(&t);
	return ret;
}

static int walk_node(const struct walk *w, int i)
{
	const struct cnn_node *n = &w->q->g->nodes[i];
	struct layer *l = layer_at(w->q, i);
	int ret = run_side(w, n, REAL);

	if (!ret && l)
		ret = quantize_layer(w, l);
	if (!ret && (!l || l->format == FORMAT_FLOAT32))
		ret = run_side(w, n, QUANT);
	drop_dead(w, i);
	return ret;
}

/* Makes constants and inputs views of the graph and of the samples. */
static void set_values(const struct walk *w)
{
	const struct cnn_graph *g = w->q->g;

	for (int64_t s = 0; s < w->samples * SIDES; s++) {
		for (int v = 0; v < g->n_values; v++) {
			struct cnn_tensor *to = value_of(w, (enum side)(s % SIDES), s / SIDES, v);

			*to = g->values[v].t;
			to->owned = false;
			if (!to->data && g->values[v].is_input)
				to->data = (char *)w->q->samples.data +
					   s / SIDES * cnn_tensor_bytes(to);
		}
	}
}

int calibrate(struct quantizer *q, int64_t count)
{
	size_t values = (size_t)count * (size_t)q->g->n_values;
	struct walk w = { .q = q, .samples = count };
	int ret = EXIT_DONE;

	for (int side = 0; side < SIDES; side++)
		w.values[side] = calloc(values + 1, sizeof(*w.values[side]));
	w.in = calloc(CNN_MAX_INPUTS, sizeof(*w.in));
	w.out = calloc(CNN_MAX_INPUTS, sizeof(*w.out));
	if (!w.values[REAL] || !w.values[QUANT] || !w.in || !w.out)
		ret = complain(EXIT_FAILED, "out of memory");
	else
		set_values(&w);
	for (int i = 0; i < q->g->n_nodes && !ret; i++)
		ret = walk_node(&w, i);
	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; w.values[side] && i < values; i++)
			cnn_tensor_release(&w.values[side][i]);
		free(w.values[side]);
	}
	free(w.in);
	free(w.out);
	return ret;
}
