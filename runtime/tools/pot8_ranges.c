// SPDX-License-Identifier: MIT
/* The least and the largest number of every value, over the samples. */
#include <math.h>
#include <stdlib.h>

#include "ops/cpu.h"
#include "pot8.h"

static int run_node(const struct pot8 *p, const struct cnn_node *n, struct cnn_tensor *values)
{
	const struct cnn_tensor *in[CNN_MAX_INPUTS];
	struct cnn_tensor *out[CNN_MAX_INPUTS];

	for (int i = 0; i < n->n_in; i++)
		in[i] = n->in[i] < 0 ? NULL : &values[n->in[i]];
	for (int i = 0; i < n->n_out; i++)
		out[i] = n->out[i] < 0 ? NULL : &values[n->out[i]];
	return cnn_cpu_run(n, in, out, NULL, &p->q->err) ? quant_fail(p->q) : EXIT_DONE;
}

static void note_range(struct pot8_value *v, const struct cnn_tensor *t)
{
	if (t->dtype != CNN_FLOAT32 || !t->data)
		return;
	for (int64_t i = 0; i < cnn_tensor_count(t); i++) {
		float x = ((const float *)t->data)[i];

		if (!isfinite(x))
			continue;
		v->low = fminf(v->low, x);
		v->high = fmaxf(v->high, x);
	}
}

static int run_sample(struct pot8 *p, int64_t sample, struct cnn_tensor *values)
{
	const struct cnn_graph *g = p->q->g;
	int ret = EXIT_DONE;

	for (int v = 0; v < g->n_values; v++) {
		values[v] = g->values[v].t;
		values[v].owned = false;
		if (!values[v].data && g->values[v].is_input)
			values[v].data = (char *)p->q->samples.data +
					 sample * cnn_tensor_bytes(&values[v]);
	}
	for (int i = 0; i < g->n_nodes && !ret; i++)
		ret = run_node(p, &g->nodes[i], values);
	for (int v = 0; v < g->n_values; v++) {
		if (!ret)
			note_range(&p->value[v], &values[v]);
		cnn_tensor_release(&values[v]);
	}
	return ret;
}

int pot8_find_ranges(struct pot8 *p, int64_t count)
{
	struct cnn_tensor *values = calloc((size_t)p->n_values + 1, sizeof(*values));
	int ret = values ? EXIT_DONE : complain(EXIT_FAILED, "out of memory");

	for (int64_t s = 0; s < count && !ret; s++)
		ret = run_sample(p, s, values);
	free(values);
	return ret;
}
