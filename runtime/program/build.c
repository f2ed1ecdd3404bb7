/* SPDX-License-Identifier: MIT */
/* Compiles a model to a program. */
#include "model.h"
#include "import/import.h"
#include "passes/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int apply_input(const struct cnnrt_model *m, struct cnn_graph *g, int i, struct cnn_err *e)
{
	const struct rt_input *in = &m->inputs[i];
	struct cnn_tensor *t = &g->values[g->inputs[i]].t;
	int64_t dims[CNNRT_MAX_RANK];
	bool dynamic = false;

	if (in->data.data)
		return cnn_graph_set_input_data(g, i, &in->data, e);
	if (in->has_shape)
		return cnn_graph_set_input_shape(g, i, in->rank, in->dims, e);
	if (t->rank < 0)
		return cnn_fail(e, CNN_EINVAL, "input %.80s: the file gives no shape: set one",
				g->values[g->inputs[i]].name);
	for (int d = 0; d < t->rank; d++) {
		dynamic |= t->dims[d] < 0;
		dims[d] = t->dims[d] < 0 ? 1 : t->dims[d];
	}
	return dynamic ? cnn_graph_set_input_shape(g, i, t->rank, dims, e) : CNN_OK;
}

/* Imports the graph and applies the application's inputs, shapes and limits. */
static int import(struct cnn_graph **g, const struct cnnrt_model *m,
		  const struct cnnrt_compile_options *o, struct cnn_err *e)
{
	int ret = cnn_graph_import(m->bytes, m->size, m->folder, g, e);

	if (ret)
		return ret;
	rt_set_limits(*g, o->max_memory, o->max_work);
	(*g)->fp16 = o->precision == CNNRT_PRECISION_FP16;
	for (int i = 0; !ret && i < (*g)->n_inputs; i++)
		ret = apply_input(m, *g, i, e);
	return ret;
}

/* Imports the graph and infers it, which folds constants; twice if cnnrt_compare() needs a copy. */
static int infer(struct cnnrt_program *p, const struct cnnrt_model *m,
		 const struct cnnrt_compile_options *o, struct cnn_err *e)
{
	int ret = import(&p->graph, m, o, e) ?: rt_eliminated_ops_start(p, e) ?:
		  cnn_graph_infer(p->graph, e) ?: rt_eliminated_ops_folded(p, e);

	if (!ret && o->observe)
		ret = import(&p->file_graph, m, o, e);
	if (!ret && o->observe)
		ret = cnn_graph_infer(p->file_graph, e);
	return ret;
}

static int build(struct cnnrt_program *p, const struct cnnrt_model *m,
		 const struct cnn_lower_options *opt, const struct cnnrt_compile_options *o,
		 struct cnn_err *e)
{
	struct cnn_lower_options best;
	int n = (int)p->core_count, ret = infer(p, m, o, e);

	if (ret)
		return ret;
	cnn_find_fastest(p->graph, p->core, n, opt, &best);
	opt = &best;
	return cnn_partition(p->graph, p->core, n, opt, e) ?: rt_eliminated_ops_fused(p, e) ?:
	       cnn_lower(p->graph, p->core, n, opt, &p->low, e) ?: rt_check_limits(p, e);
}

/* Adds to a message that sizes which nobody gave may be its cause. */
static void name_free_input(const struct cnnrt_model *m, struct cnn_err *e)
{
	size_t len = strlen(e->text);

	for (int i = 0; i < m->graph->n_inputs; i++) {
		const struct cnn_value *v = &m->graph->values[m->graph->inputs[i]];
		bool is_free = false;

		for (int d = 0; d < v->t.rank; d++)
			is_free |= v->t.dims[d] < 0;
		if (!is_free || m->inputs[i].has_shape)
			continue;
		snprintf(e->text + len, sizeof(e->text) - len,
			 "; free dimensions of input %.40s were taken as 1", v->name);
		return;
	}
}

/*
 * The cores that the caller chose by index: an option that names a core leaves out those that are
 * equal to it only then.
 */
static uint32_t pinned_cores(const struct rt_target *target, uint32_t wanted)
{
	uint32_t pinned = 0;

	for (unsigned int i = 0; i < target->core_count; i++)
		if (wanted & 1u << i && cnn_equal_cores(target->core, target->core_count, i) & ~wanted)
			pinned |= 1u << i;
	return pinned;
}

int rt_build(const struct cnnrt_model *model, const struct rt_target *target,
	     const struct cnnrt_compile_options *options, const struct cnn_lower_options *opt,
	     struct cnnrt_program **out, struct cnnrt_error *err)
{
	struct cnnrt_program *p = calloc(1, sizeof(*p));
	uint64_t start = rt_now();
	struct cnn_err e = { 0 };

	if (!p)
		return rt_fail(err, CNNRT_ENOMEM, "compile: out of memory");
	p->core_count = target->core_count;
	memcpy(p->core, target->core, p->core_count * sizeof(p->core[0]));
	p->pinned = pinned_cores(target, opt->cores);
	p->hw_version = target->hw_version;
	p->observe = options->observe;
	if (build(p, model, opt, options, &e)) {
		rt_program_free(p);
		name_free_input(model, &e);
		return rt_graph_error(err, &e);
	}
	p->compile_ns = rt_now() - start;
	rt_mark_in_weight_image(p);
	*out = p;
	return CNNRT_OK;
}
