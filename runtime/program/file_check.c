/* SPDX-License-Identifier: MIT */
/*
 * Checks a program from an untrusted file: every index, size and order that the host relies on.
 * First the values, then the graph, the arena, segments and tasks.
 */
#include "file.h"
#include "ir/graph_internal.h"

#include <stdlib.h>

struct check {
	struct cnn_graph *g;
	struct cnn_lowered *low;
	const struct cnnrt_program *p;
	struct cnn_err *e;
};

static int wrong(const struct check *c, const char *what, int i, const char *why)
{
	return cnn_fail(c->e, CNN_EINVAL, "program file: %s %d: %s", what, i, why);
}

static int check_value(const struct check *c, int i)
{
	const struct cnn_value *v = &c->g->values[i];
	int64_t bytes = v->t.rank < 0 ? 0 : cnn_tensor_bytes(&v->t);

	if (bytes < 0 || (v->t.data && v->t.rank < 0))
		return wrong(c, "value", i, "invalid element type or shape");
	if (bytes > c->g->limits.tensor_bytes)
		return cnn_fail(c->e, CNN_ELIMIT, "program file: value %.60s takes %lld bytes, the "
				"limit is %lld", v->name, (long long)bytes,
				(long long)c->g->limits.tensor_bytes);
	return CNN_OK;
}

static int check_inputs_outputs(const struct check *c)
{
	struct cnn_graph *g = c->g;

	for (int i = 0; i < g->n_inputs; i++) {
		struct cnn_value *v = &g->values[g->inputs[i]];

		if (v->is_input || v->in_weight_image || v->t.rank < 0)
			return wrong(c, "input", i, "listed twice, without a shape, or a constant");
		v->is_input = true;
	}
	for (int i = 0; i < g->n_outputs; i++) {
		struct cnn_value *v = &g->values[g->outputs[i]];

		if (v->is_output || v->in_weight_image)
			return wrong(c, "output", i,
				     "listed twice, or its data is not in the file");
		v->is_output = true;
	}
	return g->n_outputs ? CNN_OK : wrong(c, "network", 0, "no outputs");
}

/* Each value has one producer, which comes before its readers. */
static int check_order(const struct check *c, bool *made)
{
	const struct cnn_graph *g = c->g;

	for (int v = 0; v < g->n_values; v++)
		made[v] = g->values[v].is_input || g->values[v].t.data ||
			  g->values[v].in_weight_image;
	for (int i = 0; i < g->n_nodes; i++) {
		const struct cnn_node *n = &g->nodes[i];

		for (int k = 0; k < n->n_in; k++)
			if (n->in[k] >= 0 && !made[n->in[k]])
				return wrong(c, "operator", i,
					     "it reads a value before its producer runs");
		for (int k = 0; k < n->n_out; k++) {
			if (n->out[k] >= 0 && made[n->out[k]])
				return wrong(c, "operator", i,
					     "it writes a value that has data or a producer");
			if (n->out[k] >= 0)
				made[n->out[k]] = true;
		}
	}
	for (int i = 0; i < g->n_outputs; i++)
		if (!made[g->outputs[i]])
			return wrong(c, "output", i, "it has no producer");
	return CNN_OK;
}

static int check_graph(const struct check *c)
{
	bool *made = calloc((size_t)c->g->n_values + 1, sizeof(*made));
	int ret = made ? CNN_OK : cnn_fail(c->e, CNN_ENOMEM, "program file: out of memory");

	for (int i = 0; i < c->g->n_values && !ret; i++)
		ret = check_value(c, i);
	ret = ret ?: check_inputs_outputs(c) ?: check_order(c, made);
	free(made);
	return ret ? ret : cnn_graph_link(c->g, c->e);
}

static bool same_type(const struct cnn_tensor *a, const struct cnn_tensor *b)
{
	return a->rank < 0 ? b->rank < 0 : a->dtype == b->dtype && cnn_tensor_same_shape(a, b);
}

/* The operands of a node, and its outputs as inference makes them. */
struct operands {
	const struct cnn_tensor *in[CNN_MAX_INPUTS];
	struct cnn_tensor *out[CNN_MAX_INPUTS], made[CNN_MAX_INPUTS];
};

/* The shapes in the file must equal those that inference gives. */
static int check_shapes(const struct check *c, int node, struct operands *o)
{
	const struct cnn_node *n = &c->g->nodes[node];
	bool known = true;
	int ret;

	for (int k = 0; k < n->n_in; k++) {
		o->in[k] = cnn_node_in(c->g, n, k);
		known = known && (!o->in[k] || o->in[k]->rank >= 0);
	}
	for (int k = 0; k < n->n_out; k++) {
		o->made[k] = (struct cnn_tensor){ .rank = -1 };
		o->out[k] = n->out[k] < 0 ? NULL : &o->made[k];
	}
	ret = cnn_cpu_check(n, o->in, o->out, c->e);
	if (!ret && known)
		ret = cnn_cpu_infer(n, o->in, o->out, c->e);
	if (ret < 0)
		return ret;
	for (int k = 0; k < n->n_out; k++) {
		if (ret == CNN_NEED_DATA)
			o->made[k].rank = -1;
		if (o->out[k] && !same_type(o->out[k], cnn_node_out(c->g, n, k)))
			return wrong(c, "operator", node,
				     "its output has a type or shape other than inferred");
	}
	return CNN_OK;
}

static int check_cpu(const struct check *c)
{
	struct operands *o = calloc(1, sizeof(*o));
	int ret = o ? CNN_OK : cnn_fail(c->e, CNN_ENOMEM, "program file: out of memory");

	for (int i = 0; i < c->g->n_nodes && !ret; i++)
		if (c->low->nodes[i].core < 0)
			ret = check_shapes(c, i, o);
	free(o);
	return ret;
}

static bool layout_fits(const struct cnn_slot *s, const struct cnn_tensor *t)
{
	const struct cnn_layout *l = &s->layout;

	return cnn_layout_value_size(l) == (int64_t)cnn_dtype_size(t->dtype) && t->rank >= 0 &&
	       (!l->half || t->dtype == CNN_FLOAT32) && cnn_layout_count(l) == cnn_tensor_count(t) && cnn_layout_bytes(l) <= s->bytes;
}

/* The host packs codes, but cannot read them. */
static bool codes_fit(const struct check *c, int i)
{
	return !c->low->slots[i].layout.codes ||
	       (c->g->values[i].t.dtype == CNN_INT8 && !rt_made_on_device(c->p, i));
}

static int check_slot(const struct check *c, int i)
{
	const struct cnn_slot *s = &c->low->slots[i];
	int64_t align = s->own_pages ? CNNACC_PAGE_SIZE : CNNACC_LINE_SIZE;

	if (!s->used)
		return CNN_OK;
	if (!cnn_layout_valid(&s->layout))
		return wrong(c, "slot", i, "the axes of its layout do not fit its sizes, or overlap");
	if (!layout_fits(s, &c->g->values[i].t) || !codes_fit(c, i))
		return wrong(c, "slot", i, "its layout does not fit the value or the slot");
	if (s->offset % align || s->bytes % CNNACC_LINE_SIZE || !s->bytes ||
	    s->bytes > c->low->arena_bytes - s->offset)
		return wrong(c, "slot", i, "it is misaligned, or outside the arena");
	if (c->g->values[i].in_weight_image)
		return wrong(c, "slot", i, "its constant is not in the file");
	return CNN_OK;
}

static bool overlap(const struct check *c, int v, int w)
{
	const struct cnn_slot *a = &c->low->slots[v], *b = &c->low->slots[w];

	return a->used && b->used && a->offset < b->offset + b->bytes &&
	       b->offset < a->offset + a->bytes;
}

/* A CPU operator may work in the arena, where its outputs must not overlap inputs or each other. */
static int check_apart(const struct check *c, int i)
{
	const struct cnn_node *n = &c->g->nodes[i];

	for (int k = 0; k < n->n_out; k++) {
		for (int j = 0; j < n->n_in && n->out[k] >= 0; j++)
			if (n->in[j] >= 0 && overlap(c, n->out[k], n->in[j]))
				return wrong(c, "operator", i, "an output overlaps an input");
		for (int j = 0; j < k && n->out[k] >= 0; j++)
			if (n->out[j] >= 0 && overlap(c, n->out[k], n->out[j]))
				return wrong(c, "operator", i, "two outputs overlap");
	}
	return CNN_OK;
}

/* What the host reads must be in memory: a slot for a core's result, data for a constant. */
static int check_crossing(const struct check *c, int i)
{
	const struct cnn_value *v = &c->g->values[i];
	bool host = cnn_read_on_host(c->g, c->low, i);

	if (host && v->in_weight_image)
		return wrong(c, "value", i, "the host reads it, but its data is not in the file");
	if (host && rt_made_on_device(c->p, i) && !c->low->slots[i].used)
		return wrong(c, "value", i, "the host reads it from a core, but it has no slot");
	return CNN_OK;
}

static bool has_data(const struct check *c, int v)
{
	const struct cnn_value *val = &c->g->values[v];

	return val->t.data || val->is_input || val->producer >= 0;
}

static int check_lists(const struct check *c, int i)
{
	const struct cnn_segment *s = &c->low->segments[i];

	if (s->core < 0 && (s->n_in || s->n_out))
		return wrong(c, "segment", i, "it is on the CPU, but has lists of slots");
	for (int k = 0; k < s->n_in; k++)
		if (!c->low->slots[s->in[k]].used || !has_data(c, s->in[k]))
			return wrong(c, "segment", i, "it reads a value that has no data by then");
	for (int k = 0; k < s->n_out; k++)
		if (!c->low->slots[s->out[k]].used || !rt_made_on_device(c->p, s->out[k]) ||
		    c->low->nodes[c->g->values[s->out[k]].producer].segment != i)
			return wrong(c, "segment", i,
				     "it does not compute a value of its out list");
	return CNN_OK;
}

/* Each node is in one segment, after the nodes whose values it reads. */
static int take_node(const struct check *c, int segment, int node, int order)
{
	struct cnn_placement *p = &c->low->nodes[node];
	const struct cnn_node *n = &c->g->nodes[node];

	if (p->segment >= 0 || p->core != c->low->segments[segment].core)
		return wrong(c, "operator", node,
			     "it runs twice, or its segment is on another core");
	for (int k = 0; k < n->n_in; k++) {
		int from = n->in[k] < 0 ? -1 : c->g->values[n->in[k]].producer;

		if (from >= 0 && c->low->nodes[from].segment < 0)
			return wrong(c, "operator", node,
				     "it runs before the producer of an input");
	}
	p->segment = segment;
	p->order = order;
	return CNN_OK;
}

/* Each task is in one segment, and tasks are in order. */
static int take_tasks(const struct check *c, int i, int *task)
{
	const struct cnn_segment *s = &c->low->segments[i];

	if (s->core < 0)
		return s->n_tasks ? wrong(c, "segment", i, "it is on the CPU, but has tasks") :
				    CNN_OK;
	if (s->first_task != *task || s->n_tasks > c->low->n_tasks - *task)
		return wrong(c, "segment", i, "its tasks do not follow the previous segment's");
	*task += s->n_tasks;
	return CNN_OK;
}

static int take_segments(const struct check *c)
{
	int order = 0, task = 0, ret = CNN_OK;

	for (int i = 0; i < c->low->n_nodes; i++)
		c->low->nodes[i].segment = -1;
	for (int i = 0; i < c->low->n_segments && !ret; i++) {
		const struct cnn_segment *s = &c->low->segments[i];

		if (!s->n_nodes)
			ret = wrong(c, "segment", i, "it has no operators");
		for (int k = 0; k < s->n_nodes && !ret; k++)
			ret = take_node(c, i, s->nodes[k], order++);
		if (!ret)
			ret = take_tasks(c, i, &task);
	}
	if (!ret && (order != c->g->n_nodes || task != c->low->n_tasks))
		ret = wrong(c, "segment", c->low->n_segments,
			    "operators or tasks without a segment");
	return ret;
}

static int check_task(const struct check *c, const struct cnnrt_core_info *core, int i)
{
	const struct cnn_task *t = &c->low->tasks[i];

	if (t->offset % CNNACC_LINE_SIZE || !t->length || t->length % 4 ||
	    t->length > core->program_max || (int64_t)t->length > c->low->program_bytes - t->offset)
		return wrong(c, "task", i, "its program is outside the image, or too long");
	if (!t->cycle_limit || t->cycle_limit > core->job_cycles_max)
		return wrong(c, "task", i, "its cycle limit is 0, or above the core's");
	return CNN_OK;
}

static int check_segments(const struct check *c)
{
	int ret = take_segments(c);

	for (int i = 0; i < c->low->n_segments && !ret; i++) {
		const struct cnn_segment *s = &c->low->segments[i];

		ret = check_lists(c, i);
		for (int k = 0; k < s->n_tasks && !ret; k++)
			ret = check_task(c, &c->p->core[s->core], s->first_task + k);
	}
	return ret;
}

static int check_addresses(const struct check *c)
{
	int entry = 0;
	const char *why = cnn_check_addresses(c->low, &entry);

	return why ? wrong(c, "address", entry, why) : CNN_OK;
}

static void sum_up(struct cnn_lowered *low)
{
	for (int i = 0; i < low->n_nodes; i++) {
		low->macs = cnn_add_sat(low->macs, low->nodes[i].macs);
		if (low->nodes[i].core >= 0)
			low->device_macs = cnn_add_sat(low->device_macs, low->nodes[i].macs);
	}
}

int rt_program_check(struct cnnrt_program *p, struct cnn_err *e)
{
	struct check c = { .g = p->graph, .low = p->low, .p = p, .e = e };
	int ret;

	if (c.low->n_nodes != c.g->n_nodes || c.low->n_values != c.g->n_values)
		return wrong(&c, "placement", c.low->n_nodes,
			     "the counts differ from those of operators and values");
	if (c.low->weight_bytes > CNN_WEIGHTS_MAX || c.low->program_bytes > CNN_PROGRAM_MAX)
		return cnn_fail(e, CNN_ELIMIT, "program file: %lld bytes of weights, %lld of "
				"programs: limits %lld and %lld", (long long)c.low->weight_bytes,
				(long long)c.low->program_bytes, (long long)CNN_WEIGHTS_MAX,
				(long long)CNN_PROGRAM_MAX);
	sum_up(c.low);
	ret = check_graph(&c) ?: rt_check_limits(p, e) ?: check_cpu(&c);
	for (int i = 0; i < c.low->n_values && !ret; i++)
		ret = check_slot(&c, i);
	for (int i = 0; i < c.g->n_values && !ret; i++)
		ret = check_crossing(&c, i);
	for (int i = 0; i < c.g->n_nodes && !ret; i++)
		if (c.low->nodes[i].core < 0)
			ret = check_apart(&c, i);
	return ret ?: check_segments(&c) ?: check_addresses(&c);
}
