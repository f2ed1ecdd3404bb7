// SPDX-License-Identifier: MIT
/* Compiles a graph to programs and weights: the part that is common to all back ends. */
#include <stdlib.h>
#include <string.h>

#include "passes/passes.h"
#include "compile.h"
#include "internal.h"

static int open_cores(struct cnn_compiler *cc, const struct cnnrt_core_info *cores, int n_cores,
		      const struct cnn_lower_options *opt)
{
	cc->cores = calloc((size_t)n_cores + 1, sizeof(*cc->cores));
	if (!cc->cores)
		return cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for cores");
	cc->n_cores = n_cores;
	for (int i = 0; i < n_cores; i++) {
		if (!cnn_may_use_core(cores, i, opt))
			continue;
		cc->cores[i] = cnn_backend_find(cores[i].name)->open(&cc->compile, &cores[i]);
		if (!cc->cores[i])
			return cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for cores");
	}
	return CNN_OK;
}

static int alloc_results(struct cnn_compiler *cc)
{
	struct cnn_lowered *out = cc->compile.out;
	size_t nodes = (size_t)cc->compile.g->n_nodes + 1;
	size_t values = (size_t)cc->compile.g->n_values + 1, inputs = 1;

	for (int i = 0; i < cc->compile.g->n_nodes; i++)
		inputs += (size_t)cc->compile.g->nodes[i].n_in;
	out->n_nodes = cc->compile.g->n_nodes;
	out->n_values = cc->compile.g->n_values;
	out->nodes = calloc(nodes, sizeof(*out->nodes));
	out->slots = calloc(values, sizeof(*out->slots));
	cc->compile.owner = calloc(values, sizeof(int));
	cc->slots = calloc(values, sizeof(*cc->slots));
	cc->lead = malloc(nodes * sizeof(*cc->lead));
	cc->units = calloc(nodes, sizeof(*cc->units));
	cc->claims = calloc(nodes, sizeof(*cc->claims));
	cc->chosen = calloc(values, sizeof(*cc->chosen));
	if (cc->may_convert) {
		cc->conversions = calloc(inputs, sizeof(*cc->conversions));
		cc->readers = calloc(inputs, sizeof(*cc->readers));
	}
	if (!out->nodes || !out->slots || !cc->compile.owner || !cc->slots || !cc->lead ||
	    !cc->units || !cc->claims || !cc->chosen ||
	    (cc->may_convert && (!cc->conversions || !cc->readers)))
		return cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for %d nodes",
				out->n_nodes);
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

		cnn_compulsory_traffic(cc, i, on_chip);
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

	cnn_settle_moves(cc);
	cnn_settle_owners(cc);
	ret = cnn_make_segments(cc) ?: cnn_allocate_arena(cc) ?: lower_segments(cc);
	sum_costs(cc);
	cnn_sum_time(cc);
	return ret;
}

/* Frees all but the result. */
static void stop(struct cnn_compiler *cc)
{
	for (int i = 0; i < cc->n_cores; i++)
		if (cc->cores[i])
			cc->cores[i]->ops->close(cc->cores[i]);
	for (int i = 0; i < CNNRT_MAX_CORES; i++)
		if (cc->trials[i])
			cc->trials[i]->ops->close(cc->trials[i]);
	for (int i = 0; cc->units && i < cc->compile.out->n_nodes; i++)
		cnn_unit_free(&cc->units[i]);
	for (int i = 0; cc->claims && i < cc->compile.out->n_nodes; i++) {
		free(cc->claims[i].in);
		free(cc->claims[i].out);
	}
	free(cc->cores);
	free(cc->claims);
	free(cc->chosen);
	free(cc->units);
	free(cc->lead);
	free(cc->compile.owner);
	free(cc->slots);
	free(cc->conversions);
	free(cc->readers);
	free(cc->lanes);
}

static void take_images(struct cnn_compiler *cc)
{
	struct cnn_lowered *out = cc->compile.out;

	out->program = cc->compile.program.data;
	out->program_bytes = cc->compile.program.len;
	out->weights = cc->compile.weights.data;
	out->weight_bytes = cc->compile.weights.len;
	out->addresses = (uint32_t *)cc->compile.addresses.data;
	out->n_addresses = (int)(cc->compile.addresses.len / (int64_t)sizeof(*out->addresses));
}

/* Opens the cores and places all nodes. */
static int place_graph(struct cnn_compiler *cc, const struct cnnrt_core_info *cores, int n_cores,
		       const struct cnn_lower_options *opt)
{
	cc->compile.out = calloc(1, sizeof(*cc->compile.out));
	if (!cc->compile.out)
		return cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for a compiled network");
	return alloc_results(cc) ?: open_cores(cc, cores, n_cores, opt) ?: cnn_place_nodes(cc);
}

/* The same with a node in the graph for each conversion that it lacked. */
static int place_again(struct cnn_compiler *cc, struct cnn_graph *g,
		       const struct cnnrt_core_info *cores, int n_cores,
		       const struct cnn_lower_options *opt)
{
	const struct cnn_compiler old = *cc;
	int ret = cnn_insert_conversions(cc, g);

	stop(cc);
	cnn_lowered_free(cc->compile.out);
	*cc = (struct cnn_compiler){
		.observe = old.observe, .target = old.target, .compile = old.compile,
	};
	cc->compile.out = NULL;
	cc->compile.owner = NULL;
	return ret ?: place_graph(cc, cores, n_cores, opt);
}

/*
 * Lowers the graph with lanes; returns whether that takes a tenth less time at least. Lanes make more
 * work in all, for which other runs have to wait.
 */
static bool lower_lanes(struct cnn_compiler *cc, const struct cnnrt_core_info *cores, int n_cores,
			const struct cnn_lower_options *opt, int64_t serial_ns)
{
	struct cnn_lane *lane = cc->lanes;
	int64_t ns = 0;
	int ret;

	cc->lanes = NULL;
	ret = place_graph(cc, cores, n_cores, opt);
	cc->lanes = lane;
	ret = ret ?: lower_graph(cc) ?: cnn_parallel_time(cc, &ns);
	if (ret || ns >= serial_ns - serial_ns / 10)
		return false;
	cc->compile.out->ns = ns;
	return true;
}

static void swap_results(struct cnn_compile *a, struct cnn_compile *b)
{
	const struct cnn_compile old = *a;

	a->out = b->out;
	a->program = b->program;
	a->weights = b->weights;
	a->addresses = b->addresses;
	b->out = old.out;
	b->program = old.program;
	b->weights = old.weights;
	b->addresses = old.addresses;
}

/*
 * Where the device has equal cores, lowers the graph once more with a segment for each of its
 * independent branches, and keeps that if it takes less time. cc: lowered without.
 */
static int try_lanes(struct cnn_compiler *cc, const struct cnnrt_core_info *cores, int n_cores,
		     const struct cnn_lower_options *opt)
{
	struct cnn_err err = { 0 };
	struct cnn_compiler lanes = {
		.target = cc->target, .may_convert = cc->may_convert,
		.compile = {
			.g = cc->compile.g, .err = &err, .no_residency = cc->compile.no_residency,
			.program = { .max = CNN_PROGRAM_MAX, .what = "programs" },
			.weights = { .max = CNN_WEIGHTS_MAX, .what = "weights" },
			.addresses = { .max = CNN_PROGRAM_MAX, .what = "addresses" },
		},
	};
	bool found = false, better;
	int64_t ns = 0;
	int ret = cnn_find_lanes(cc, &found) ?: cnn_parallel_time(cc, &ns);

	lanes.lanes = cc->lanes;
	cc->lanes = NULL;
	better = !ret && found && lower_lanes(&lanes, cores, n_cores, opt, ns);
	stop(&lanes);
	if (better)
		swap_results(&cc->compile, &lanes.compile);
	if (lanes.compile.out)
		take_images(&lanes);
	cnn_lowered_free(lanes.compile.out);
	return ret;
}

int cnn_lower(struct cnn_graph *g, const struct cnnrt_core_info *cores, int n_cores,
	      const struct cnn_lower_options *opt, struct cnn_lowered **out, struct cnn_err *err)
{
	struct cnn_compiler cc = {
		.observe = opt && opt->observe,
		.target = opt && opt->target ? opt->target : &cnn_target_reference,
		.may_convert = true,
		.compile = {
			.g = g, .err = err,
			.progress = opt ? opt->progress : NULL,
			.opaque = opt ? opt->opaque : NULL,
			.no_residency = opt && (opt->no_residency || opt->observe),
			.program = { .max = CNN_PROGRAM_MAX, .what = "programs" },
			.weights = { .max = CNN_WEIGHTS_MAX, .what = "weights" },
			.addresses = { .max = CNN_PROGRAM_MAX, .what = "addresses" },
		},
	};
	int ret = place_graph(&cc, cores, n_cores, opt);

	*out = NULL;
	if (!ret && cc.n_conversions)
		ret = place_again(&cc, g, cores, n_cores, opt);
	cc.compile.before = cc.compile.done;
	if (!ret)
		ret = lower_graph(&cc);
	if (!ret && !cc.observe && cnn_has_equal_cores(&cc))
		ret = try_lanes(&cc, cores, n_cores, opt);
	stop(&cc);
	if (cc.compile.out)
		take_images(&cc);
	if (ret)
		cnn_lowered_free(cc.compile.out);
	else
		*out = cc.compile.out;
	return ret;
}
