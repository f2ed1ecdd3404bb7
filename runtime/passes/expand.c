// SPDX-License-Identifier: MIT
/*
 * Replaces If, Loop and Scan by the nodes of their bodies. An If becomes one of its branches. A
 * Loop or Scan becomes the nodes of one iteration and a Loop or Scan of the others, until there are
 * none: what an iteration computes from constants, such as the condition of the next one, is then
 * folded before the next one is expanded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expand.h"
#include "ops/cpu.h"

#define MAX_ITERATIONS	1024

struct expansion {
	struct cnn_graph *g;
	int at;			/* of the node, which moves as others are put before it */
	int *map;		/* by value of the body: the graph's; -1: none yet */
	struct cnn_err *err;
};

static int fail(const struct expansion *e, enum cnn_status code, const char *what)
{
	return cnn_node_fail(&e->g->nodes[e->at], e->err, code, "%s", what);
}

static int nomem(const struct expansion *e)
{
	return fail(e, CNN_ENOMEM, "no memory to expand it");
}

static struct cnn_control_params *params_of(const struct expansion *e)
{
	return &e->g->nodes[e->at].params.control;
}

/* Index of a value, a constant if t has data; an error below 0. */
static int add_value(const struct expansion *e, const char *what, struct cnn_tensor *t)
{
	const struct cnn_node *n = &e->g->nodes[e->at];
	char name[160];

	snprintf(name, sizeof(name), "%.80s/%lld/%.40s", n->name,
		 (long long)params_of(e)->iteration, what);
	return cnn_graph_add_value(e->g, name, t, e->err);
}

static int add_scalar(const struct expansion *e, const char *what, enum cnn_dtype type, int64_t v)
{
	struct cnn_tensor t = { .dtype = type };
	int ret = cnn_tensor_alloc(&t, 0, e->err);

	if (ret)
		return ret;
	memcpy(t.data, &v, cnn_dtype_size(type));
	ret = add_value(e, what, &t);
	if (ret < 0)
		cnn_tensor_release(&t);
	return ret;
}

/* Room for count nodes before the node: the first one. NULL on failure, which is told. */
static struct cnn_node *insert(struct expansion *e, int count)
{
	struct cnn_graph *g = e->g;
	struct cnn_node *nodes, *first;

	if (count > CNN_MAX_NODES - g->n_nodes) {
		fail(e, CNN_ELIMIT, "the network becomes too large");
		return NULL;
	}
	nodes = realloc(g->nodes, sizeof(*nodes) * (size_t)(g->n_nodes + count + 1));
	if (!nodes) {
		nomem(e);
		return NULL;
	}
	g->nodes = nodes;
	first = &nodes[e->at];
	memmove(first + count, first, sizeof(*first) * (size_t)(g->n_nodes - e->at));
	memset(first, 0, sizeof(*first) * (size_t)count);
	g->n_nodes += count;
	e->at += count;
	return first;
}

/* Fills a node with one output; its parameters are the operator's defaults. */
static int make_node(const struct expansion *e, struct cnn_node *n, enum cnn_op op, const int *in,
		     int n_in, int out)
{
	n->op = op;
	n->opset = 11;		/* axes are attributes */
	n->op_type = strdup(cnn_op_desc(op)->name);
	n->domain = strdup("");
	n->name = strdup(e->g->values[out].name);
	n->in = malloc(sizeof(*n->in) * ((size_t)n_in + 1));
	n->out = malloc(sizeof(*n->out));
	if (!n->op_type || !n->domain || !n->name || !n->in || !n->out)
		return nomem(e);
	memcpy(n->in, in, sizeof(*in) * (size_t)n_in);
	n->out[0] = out;
	n->n_in = n_in;
	n->n_out = 1;
	cnn_params_init(n);
	return CNN_OK;
}

/* Copies of the body's nodes before the node. The values of its inputs are in the map. */
static int splice(struct expansion *e, const struct cnn_graph *body)
{
	struct cnn_node *n;
	int ret = CNN_OK;

	for (int v = 0; v < body->n_values; v++) {
		struct cnn_tensor t = { .rank = -1 };

		if (e->map[v] < 0)
			e->map[v] = add_value(e, body->values[v].name, &t);
		if (e->map[v] < 0)
			return e->map[v];
	}
	n = insert(e, body->n_nodes);
	if (!n)
		return e->err ? (int)e->err->code : CNN_ENOMEM;
	for (int i = 0; i < body->n_nodes && !ret; i++, n++) {
		ret = cnn_node_copy(n, &body->nodes[i], e->err);
		for (int k = 0; k < n->n_in; k++)
			n->in[k] = n->in[k] < 0 ? -1 : e->map[n->in[k]];
		for (int k = 0; k < n->n_out; k++)
			n->out[k] = n->out[k] < 0 ? -1 : e->map[n->out[k]];
	}
	return ret;
}

/* Output k of the node is the value from. */
static int give_output(struct expansion *e, int k, int from)
{
	int out = e->g->nodes[e->at].out[k];
	struct cnn_node *n;

	if (out < 0)
		return CNN_OK;
	n = insert(e, 1);
	return n ? make_node(e, n, CNN_OP_IDENTITY, &from, 1, out) : CNN_ENOMEM;
}

/* Reads a constant of one element. */
static int read_constant(const struct expansion *e, int value, enum cnn_dtype type, int64_t *v)
{
	const struct cnn_tensor *t = &e->g->values[value].t;

	if (!t->data)
		return fail(e, CNN_EUNSUPPORTED,
			    "its condition or count is known only when the network runs");
	if (t->dtype != type || cnn_tensor_count(t) != 1)
		return fail(e, CNN_EINVAL, "its condition or count is not one bool or int64");
	*v = type == CNN_BOOL ? *(const uint8_t *)t->data : *(const int64_t *)t->data;
	return CNN_OK;
}

static int expand_if(struct expansion *e)
{
	const struct cnn_control_params *p = params_of(e);
	const struct cnn_node *n = &e->g->nodes[e->at];
	const struct cnn_graph *body;
	int64_t condition;
	int ret, first = 1;

	if (!p->body[0] || !p->body[1] || n->n_in < 1 || n->in[0] < 0)
		return fail(e, CNN_EINVAL, "the condition or a branch is missing");
	ret = read_constant(e, n->in[0], CNN_BOOL, &condition);
	if (ret)
		return ret;
	body = p->body[!condition];
	first += condition ? 0 : p->body[0]->n_inputs;
	if (n->n_in != 1 + p->body[0]->n_inputs + p->body[1]->n_inputs ||
	    n->n_out > body->n_outputs)
		return fail(e, CNN_EINVAL, "its branches do not have its inputs and outputs");
	for (int k = 0; k < body->n_inputs; k++)
		e->map[body->inputs[k]] = n->in[first + k];
	ret = splice(e, body);
	for (int k = 0; k < e->g->nodes[e->at].n_out && !ret; k++)
		ret = give_output(e, k, e->map[body->outputs[k]]);
	if (!ret)
		cnn_node_free(&e->g->nodes[e->at]);
	return ret;
}

/*
 * The node's inputs: head values that only it reads, carried ones from one iteration to the next,
 * slices that Scan cuts up, what the body reads of the graph around it, and the lists: for each
 * iteration so far one element of each of them. Outputs: carried ones, then lists.
 */
struct layout {
	int head, carried, slices, captured, lists;
};

static int check_layout(const struct expansion *e, const struct layout *l, int formals)
{
	const struct cnn_control_params *p = params_of(e);
	const struct cnn_node *n = &e->g->nodes[e->at];
	int made = (int)p->iteration * l->lists;

	if (l->carried < 0 || l->slices < 0 || l->lists < 0 || p->formals != formals ||
	    n->n_in != l->head + l->carried + l->slices + l->captured + made ||
	    n->n_out > l->carried + l->lists)
		return fail(e, CNN_EINVAL, "its body does not have its inputs and outputs");
	for (int i = l->head; i < n->n_in; i++)
		if (n->in[i] < 0)
			return fail(e, CNN_EINVAL, "an input is left out");
	return CNN_OK;
}

static void map_captured(struct expansion *e, const struct layout *l)
{
	const struct cnn_node *n = &e->g->nodes[e->at];
	const struct cnn_graph *body = params_of(e)->body[0];
	int formals = body->n_inputs - l->captured, first = l->head + l->carried + l->slices;

	for (int k = 0; k < l->captured; k++)
		e->map[body->inputs[formals + k]] = n->in[first + k];
}

/* After the nodes of an iteration: its outputs, from first on, become inputs of the others. */
static int carry_on(struct expansion *e, const struct layout *l, int first)
{
	const struct cnn_graph *body = params_of(e)->body[0];
	struct cnn_node *n = &e->g->nodes[e->at];
	int *in;

	if (++params_of(e)->iteration > MAX_ITERATIONS || n->n_in + l->lists > CNN_MAX_INPUTS)
		return fail(e, CNN_ELIMIT, "more than 1024 iterations, or elements of its outputs");
	in = realloc(n->in, sizeof(*in) * (size_t)(n->n_in + l->lists + 1));
	if (!in)
		return nomem(e);
	n->in = in;
	for (int k = 0; k < l->carried; k++)
		in[l->head + k] = e->map[body->outputs[first + k]];
	for (int k = 0; k < l->lists; k++)
		in[n->n_in++] = e->map[body->outputs[first + l->carried + k]];
	return CNN_OK;
}

/* Fills node n: the value from with a new axis. The value that it makes, an error below 0. */
static int unsqueeze(const struct expansion *e, int n, int from, int64_t axis)
{
	struct cnn_tensor t = { .rank = -1 };
	int out = add_value(e, "element", &t), ret;

	if (out < 0)
		return out;
	ret = make_node(e, &e->g->nodes[n], CNN_OP_UNSQUEEZE, &from, 1, out);
	e->g->nodes[n].params.axes.n = 1;
	e->g->nodes[n].params.axes.v[0] = axis;
	return ret ? ret : out;
}

/* The elements of list k side by side along a new axis: all nodes at once, as the others move. */
static int give_list(struct expansion *e, const struct layout *l, int k, int64_t axis, bool reverse)
{
	int count = (int)params_of(e)->iteration, elements[MAX_ITERATIONS], ret;
	int first = l->head + l->carried + l->slices + l->captured, n = e->at;
	int out = k + l->carried < e->g->nodes[e->at].n_out ?
		  e->g->nodes[e->at].out[k + l->carried] : -1;

	if (out < 0)
		return CNN_OK;
	if (!count)
		return fail(e, CNN_EUNSUPPORTED, "no iteration gives its outputs a shape");
	if (!insert(e, count + 1))
		return e->err ? (int)e->err->code : CNN_ENOMEM;
	for (int i = 0; i < count; i++) {
		int at = first + (reverse ? count - 1 - i : i) * l->lists + k;

		elements[i] = unsqueeze(e, n + i, e->g->nodes[e->at].in[at], axis);
		if (elements[i] < 0)
			return elements[i];
	}
	ret = make_node(e, &e->g->nodes[n + count], CNN_OP_CONCAT, elements, count, out);
	e->g->nodes[n + count].params.axis.axis = axis;
	return ret;
}

static int64_t list_entry(const struct cnn_ints *list, int i)
{
	return i < list->n ? list->v[i] : 0;
}

/* No iteration is left: the node's outputs, and it goes. */
static int end(struct expansion *e, const struct layout *l)
{
	int ret = CNN_OK;

	for (int k = 0; k < l->carried && k < e->g->nodes[e->at].n_out && !ret; k++)
		ret = give_output(e, k, e->g->nodes[e->at].in[l->head + k]);
	for (int k = 0; k < l->lists && !ret; k++) {
		const struct cnn_control_params *p = params_of(e);

		ret = give_list(e, l, k, list_entry(&p->output_axes, k),
				list_entry(&p->output_directions, k));
	}
	if (!ret)
		cnn_node_free(&e->g->nodes[e->at]);
	return ret;
}

static int goes_on(const struct expansion *e, bool *go)
{
	const struct cnn_node *n = &e->g->nodes[e->at];
	int64_t count = INT64_MAX, condition = 1;
	int ret = CNN_OK;

	if (n->in[0] >= 0)
		ret = read_constant(e, n->in[0], CNN_INT64, &count);
	*go = params_of(e)->iteration < count;
	if (!ret && n->in[1] >= 0 && *go)
		ret = read_constant(e, n->in[1], CNN_BOOL, &condition);
	*go = *go && condition;
	return ret;
}

static int expand_loop(struct expansion *e)
{
	const struct cnn_graph *body = params_of(e)->body[0];
	struct cnn_node *n = &e->g->nodes[e->at];
	struct layout l = { .head = 2 };
	int ret, number, condition;
	bool go;

	l.carried = (int)params_of(e)->formals - 2;
	l.captured = body->n_inputs - (int)params_of(e)->formals;
	l.lists = body->n_outputs - 1 - l.carried;
	ret = n->n_in < 2 ? fail(e, CNN_EINVAL, "its count or condition is missing") :
			    check_layout(e, &l, 2 + l.carried);
	if (!ret)
		ret = goes_on(e, &go);
	if (ret || !go)
		return ret ? ret : end(e, &l);
	number = add_scalar(e, "number", CNN_INT64, params_of(e)->iteration);
	condition = n->in[1] < 0 ? add_scalar(e, "condition", CNN_BOOL, 1) : n->in[1];
	if (number < 0 || condition < 0)
		return number < 0 ? number : condition;
	e->map[body->inputs[0]] = number;
	e->map[body->inputs[1]] = condition;
	for (int k = 0; k < l.carried; k++)
		e->map[body->inputs[2 + k]] = n->in[2 + k];
	map_captured(e, &l);
	ret = splice(e, body);
	e->g->nodes[e->at].in[1] = e->map[body->outputs[0]];
	return ret ? ret : carry_on(e, &l, 1);
}

/* How many iterations there are: the dimension that every slice has along its axis. */
static int count_slices(const struct expansion *e, const struct layout *l, int64_t *count)
{
	const struct cnn_node *n = &e->g->nodes[e->at];

	for (int k = 0; k < l->slices; k++) {
		const struct cnn_tensor *t = &e->g->values[n->in[l->carried + k]].t;
		int64_t axis = list_entry(&params_of(e)->input_axes, k);

		if (t->rank < 0)
			return fail(e, CNN_EUNSUPPORTED,
				    "the shape of an input is known only when the network runs");
		axis += axis < 0 ? t->rank : 0;
		if (axis < 0 || axis >= t->rank || (k && t->dims[axis] != *count))
			return fail(e, CNN_EINVAL, "scan_input_axes does not fit the inputs");
		*count = t->dims[axis];
	}
	return CNN_OK;
}

/* The slice of this iteration of scan input k; count: of all. */
static int cut_slice(struct expansion *e, const struct layout *l, int k, int64_t count)
{
	const struct cnn_control_params *p = params_of(e);
	bool reverse = list_entry(&p->input_directions, k);
	int64_t at = reverse ? count - 1 - p->iteration : p->iteration;
	int64_t axis = list_entry(&p->input_axes, k);
	struct cnn_tensor t = { .rank = -1 };
	int in[2] = { e->g->nodes[e->at].in[l->carried + k], add_scalar(e, "at", CNN_INT64, at) };
	int out = in[1] < 0 ? in[1] : add_value(e, "slice", &t), ret;
	struct cnn_node *n = out < 0 ? NULL : insert(e, 1);

	if (!n)
		return out < 0 ? out : CNN_ENOMEM;
	ret = make_node(e, n, CNN_OP_GATHER, in, 2, out);
	n->params.axis.axis = axis;
	return ret ? ret : out;
}

static int expand_scan(struct expansion *e)
{
	const struct cnn_graph *body = params_of(e)->body[0];
	const struct cnn_control_params *p = params_of(e);
	struct layout l = { .head = 0 };
	int64_t count = 0;
	int ret;

	if (e->g->nodes[e->at].opset < 9)
		return fail(e, CNN_EUNSUPPORTED, "operator set 8");
	if (p->num_scan_inputs < 1 || p->num_scan_inputs > p->formals)
		return fail(e, CNN_EINVAL, "num_scan_inputs does not fit its body");
	l.slices = (int)p->num_scan_inputs;
	l.carried = (int)p->formals - l.slices;
	l.captured = body->n_inputs - (int)p->formals;
	l.lists = body->n_outputs - l.carried;
	ret = check_layout(e, &l, l.carried + l.slices);
	if (!ret)
		ret = count_slices(e, &l, &count);
	if (ret || p->iteration >= count)
		return ret ? ret : end(e, &l);
	for (int k = 0; k < l.carried; k++)
		e->map[body->inputs[k]] = e->g->nodes[e->at].in[k];
	for (int k = 0; k < l.slices; k++) {
		ret = cut_slice(e, &l, k, count);
		if (ret < 0)
			return ret;
		e->map[body->inputs[l.carried + k]] = ret;
	}
	map_captured(e, &l);
	ret = splice(e, body);
	return ret ? ret : carry_on(e, &l, 0);
}

bool cnn_is_control(const struct cnn_node *n)
{
	return n->op == CNN_OP_IF || n->op == CNN_OP_LOOP || n->op == CNN_OP_SCAN;
}

int cnn_expand_control(struct cnn_graph *g, int at, struct cnn_err *err)
{
	const struct cnn_control_params *p = &g->nodes[at].params.control;
	struct expansion e = { .g = g, .at = at, .err = err };
	int values = 0, ret;

	for (int i = 0; i < 2; i++)
		if (p->body[i] && p->body[i]->n_values > values)
			values = p->body[i]->n_values;
	if (!p->body[0])
		return fail(&e, CNN_EINVAL, "its body is missing");
	e.map = malloc(sizeof(*e.map) * ((size_t)values + 1));
	if (!e.map)
		return nomem(&e);
	for (int i = 0; i < values; i++)
		e.map[i] = -1;
	ret = g->nodes[at].op == CNN_OP_IF ? expand_if(&e) :
	      g->nodes[at].op == CNN_OP_LOOP ? expand_loop(&e) : expand_scan(&e);
	free(e.map);
	return ret;
}
