/* SPDX-License-Identifier: MIT */
/* From a model to a program. */
#include "model.h"
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

static int apply_input(const struct cnnrt_model *m, struct cnn_graph *g, int i,
		       struct cnn_err *e)
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

/* Cores by name, or one by index. */
static int find_cores(const struct cnnrt_device *dev, const char *name, uint32_t *cores,
		      struct cnnrt_error *err)
{
	char *end;
	unsigned long index = strtoul(name, &end, 0);

	*cores = 0;
	for (uint32_t i = 0; i < dev->info.core_count; i++)
		if (!strcmp(dev->core[i].name, name) || (end != name && !*end && index == i))
			*cores |= 1u << i;
	return *cores ? CNNRT_OK : rt_fail(err, CNNRT_EINVAL, "core %.40s: %s has none", name,
					   dev->info.path);
}

/* The graph with the application's inputs and shapes. */
static int import(struct cnn_graph **g, const struct cnnrt_model *m,
		  const struct cnnrt_compile_options *o, struct cnn_err *e)
{
	int ret = cnn_graph_import(m->bytes, m->size, g, e);

	if (ret)
		return ret;
	rt_set_limits(*g, o->max_memory, o->max_work);
	for (int i = 0; !ret && i < (*g)->n_inputs; i++)
		ret = apply_input(m, *g, i, e);
	return ret;
}

/* The graph with its constants computed; and once more for cnnrt_compare(). */
static int infer(struct cnnrt_program *p, const struct cnnrt_model *m,
		 const struct cnnrt_compile_options *o, struct cnn_err *e)
{
	int ret = import(&p->graph, m, o, e);

	if (!ret)
		ret = rt_removed_start(p, e);
	if (!ret)
		ret = cnn_graph_infer(p->graph, e);
	if (!ret)
		ret = rt_removed_folded(p, e);
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
	struct cnn_core cores[CNNRT_MAX_CORES] = { 0 };
	unsigned int fuse = CNN_FUSE_NOP;
	int ret;

	for (unsigned int i = 0; i < p->core_count; i++) {
		cores[i].type = p->core[i].type;
		cores[i].program_max = p->core[i].program_max;
		cores[i].job_cycles_max = p->core[i].job_cycles_max;
		memcpy(cores[i].param, p->core[i].param, sizeof(p->core[i].param));
	}
	ret = infer(p, m, o, e);
	if (!o->no_fuse)
		fuse |= cnn_lower_fuse_mask(cores, (int)p->core_count, opt);
	if (!ret)
		ret = cnn_graph_fuse(p->graph, fuse, e);
	if (!ret)
		ret = rt_removed_fused(p, e);
	if (!ret)
		ret = cnn_lower(p->graph, cores, (int)p->core_count, opt, &p->low, e);
	return ret ? ret : rt_check_limits(p, e);
}

int cnnrt_compile(const struct cnnrt_model *model, const struct cnnrt_device *dev,
		  const struct cnnrt_compile_options *options, struct cnnrt_program **out,
		  struct cnnrt_error *err)
{
	static const struct cnnrt_compile_options none;
	struct cnn_lower_options opt = { 0 };
	struct cnn_err e = { 0 };
	struct cnnrt_program *p;
	int ret = CNNRT_OK;
	uint64_t start;

	if (!options)
		options = &none;
	opt.cpu_only = options->cpu_only;
	opt.observe = options->observe;
	opt.progress = options->progress;
	opt.opaque = options->opaque;
	if (options->core && options->cpu_only)
		return rt_fail(err, CNNRT_EINVAL, "compile: a core and the CPU only");
	if (options->core)
		ret = find_cores(dev, options->core, &opt.cores, err);
	if (ret)
		return ret;
	p = calloc(1, sizeof(*p));
	if (!p)
		return rt_fail(err, CNNRT_ENOMEM, "compile: out of memory");
	start = rt_now();
	p->core_count = dev->info.core_count;
	memcpy(p->core, dev->core, sizeof(p->core));
	p->hw_version = dev->info.hw_version;
	p->observe = options->observe;
	if (build(p, model, &opt, options, &e)) {
		cnnrt_program_free(p);
		return rt_graph_error(err, &e);
	}
	p->compile_ns = rt_now() - start;
	rt_mark_elsewhere(p);
	*out = p;
	return CNNRT_OK;
}
