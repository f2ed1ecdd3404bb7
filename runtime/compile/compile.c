// SPDX-License-Identifier: MIT
/* Compiles a graph to programs and weights: the part that is common to all back ends. */
#include <stdlib.h>
#include <string.h>

#include "passes/passes.h"
#include "compile.h"
#include "internal.h"

static const struct cnn_backend_ops *const core_ops[] = {
#define CORE(name) &cnn_backend_##name,
#include "backend/cores.def"
#undef CORE
};

static const struct cnn_backend_ops *find_ops(const char *name)
{
	for (size_t i = 0; i < sizeof(core_ops) / sizeof(core_ops[0]); i++)
		if (!strcmp(core_ops[i]->name, name))
			return core_ops[i];
	return NULL;
}

static bool is_wanted(const struct cnnrt_core_info *cores, int i, const struct cnn_lower_options *opt)
{
	if (opt && (opt->cpu_only || (opt->cores && !(opt->cores >> i & 1))))
		return false;
	return find_ops(cores[i].name) != NULL;
}

unsigned int cnn_lower_fuse_mask(const struct cnnrt_core_info *cores, int n_cores,
				 const struct cnn_lower_options *opt)
{
	unsigned int mask = CNN_FUSE_ALL;

	for (int i = 0; i < n_cores; i++)
		if (is_wanted(cores, i, opt))
			mask &= find_ops(cores[i].name)->fuse;
	return mask;
}

int cnn_legalize(struct cnn_graph *g, const struct cnnrt_core_info *cores, int n_cores,
		 const struct cnn_lower_options *opt, struct cnn_err *err)
{
	int ret = CNN_OK;

	for (size_t k = 0; k < sizeof(core_ops) / sizeof(core_ops[0]) && !ret; k++) {
		bool wanted = false;

		for (int i = 0; i < n_cores; i++)
			wanted |= find_ops(cores[i].name) == core_ops[k] &&
				  is_wanted(cores, i, opt);
		if (wanted && core_ops[k]->legalize)
			ret = core_ops[k]->legalize(g, err);
	}
	return ret;
}

static int open_cores(struct cnn_compiler *cc, const struct cnnrt_core_info *cores, int n_cores,
		      const struct cnn_lower_options *opt)
{
	cc->cores = calloc((size_t)n_cores + 1, sizeof(*cc->cores));
	if (!cc->cores)
		return cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for cores");
	cc->n_cores = n_cores;
	for (int i = 0; i < n_cores; i++) {
		if (!is_wanted(cores, i, opt))
			continue;
		cc->cores[i] = find_ops(cores[i].name)->open(&cc->compile, &cores[i]);
		if (!cc->cores[i])
			return cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for cores");
	}
	return CNN_OK;
}

static int alloc_results(struct cnn_compiler *cc)
{
	struct cnn_lowered *out = cc->compile.out;
	/* At most a copy per node. */
	size_t slots = (size_t)cc->compile.g->n_values + (size_t)cc->compile.g->n_nodes + 1;

	out->n_nodes = cc->compile.g->n_nodes;
	out->n_values = out->n_slots = cc->compile.g->n_values;
	out->nodes = calloc((size_t)out->n_nodes + 1, sizeof(*out->nodes));
	out->slots = calloc(slots, sizeof(*out->slots));
	cc->compile.owner = calloc(slots, sizeof(int));
	cc->slots = calloc(slots, sizeof(*cc->slots));
	cc->copy = calloc((size_t)out->n_nodes + 1, sizeof(int));
	if (!out->nodes || !out->slots || !cc->compile.owner || !cc->slots || !cc->copy)
		return cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for %d nodes",
				out->n_nodes);
	for (int s = 0; s < (int)slots; s++) {
		out->slots[s].from = cc->compile.owner[s] = s;
		cc->slots[s].first = out->n_nodes;
		cc->slots[s].last = -1;
	}
	for (int i = 0; i < out->n_nodes; i++) {
		out->nodes[i].next_core = CNN_NOWHERE;
		cc->copy[i] = -1;
	}
	return CNN_OK;
}

static int lower_segments(struct cnn_compiler *cc)
{
	struct cnn_lowered *out = cc->compile.out;

	for (int i = 0; i < out->n_segments; i++) {
		struct cnn_segment *seg = &out->segments[i];
		int ret = CNN_OK;

		if (seg->core >= 0) {
			seg->first_task = out->n_tasks;
			ret = cc->cores[seg->core]->ops->lower(cc->cores[seg->core], seg);
			seg->n_tasks = out->n_tasks - seg->first_task;
		}
		if (ret)
			return ret;
		cnn_progress(&cc->compile, seg->n_nodes);
		cc->compile.before = cc->compile.done;
	}
	return CNN_OK;
}

static void sum_costs(struct cnn_compiler *cc)
{
	struct cnn_lowered *out = cc->compile.out;
	int64_t on_chip = 0;

	for (int i = 0; i < cc->n_cores; i++)
		if (cc->cores[i])
			on_chip = cnn_max(on_chip, cc->cores[i]->on_chip);
	for (int i = 0; i < out->n_nodes; i++) {
		struct cnn_placement *p = &out->nodes[i];
		const struct cnn_backend *core = p->core < 0 ? NULL : cc->cores[p->core];

		cnn_compulsory_traffic(cc->compile.g, i, on_chip, p);
		out->macs = cnn_add_sat(out->macs, p->macs);
		if (!core)
			continue;
		out->device_macs = cnn_add_sat(out->device_macs, p->macs);
		p->cost.mac_peak = p->cost.cycles * (uint64_t)core->ops->peak(core, i);
	}
}

static int lower_graph(struct cnn_compiler *cc)
{
	int ret;

	for (int i = cc->compile.g->n_nodes - 1; i >= 0; i--)
		cnn_place_host_copy(cc, i);
	cnn_settle_owners(cc);
	ret = cnn_make_segments(cc) ?: cnn_allocate_arena(cc) ?: lower_segments(cc);
	sum_costs(cc);
	cnn_sum_time(cc);
	return ret;
}

static void finish(struct cnn_compiler *cc)
{
	struct cnn_lowered *out = cc->compile.out;

	for (int i = 0; i < cc->n_cores; i++)
		if (cc->cores[i])
			cc->cores[i]->ops->close(cc->cores[i]);
	free(cc->cores);
	free(cc->compile.owner);
	free(cc->slots);
	free(cc->copy);
	out->program = cc->compile.program.data;
	out->program_bytes = cc->compile.program.len;
	out->weights = cc->compile.weights.data;
	out->weight_bytes = cc->compile.weights.len;
}

int cnn_lower(const struct cnn_graph *g, const struct cnnrt_core_info *cores, int n_cores,
	      const struct cnn_lower_options *opt, struct cnn_lowered **out, struct cnn_err *err)
{
	struct cnn_compiler cc = {
		.observe = opt && opt->observe,
		.target = opt && opt->target ? opt->target : &cnn_target_reference,
		.compile = {
			.g = g, .err = err,
			.progress = opt ? opt->progress : NULL,
			.opaque = opt ? opt->opaque : NULL,
			.no_residency = opt && (opt->no_residency || opt->observe),
			.program = { .max = CNN_PROGRAM_MAX, .what = "programs" },
			.weights = { .max = CNN_WEIGHTS_MAX, .what = "weights" },
		},
	};
	int ret;

	*out = NULL;
	cc.compile.out = calloc(1, sizeof(*cc.compile.out));
	if (!cc.compile.out)
		return cnn_fail(err, CNN_ENOMEM, "no memory for a compiled network");
	ret = alloc_results(&cc) ?: open_cores(&cc, cores, n_cores, opt);
	for (int i = 0; i < g->n_nodes && !ret; i++) {
		cnn_place_node(&cc, i);
		cnn_progress(&cc.compile, i + 1);
	}
	cc.compile.before = cc.compile.done;
	if (!ret)
		ret = lower_graph(&cc);
	finish(&cc);
	if (ret)
		cnn_lowered_free(cc.compile.out);
	else
		*out = cc.compile.out;
	return ret;
}
