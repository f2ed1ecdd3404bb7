/* SPDX-License-Identifier: MIT */
/* The graph in a program file. */
#include "file.h"
#include "ir/graph_internal.h"

#include <stdlib.h>
#include <string.h>

#if __SIZEOF_POINTER__ == 8
/* Whoever adds a field says here whether it belongs into the file. */
_Static_assert(sizeof(struct cnn_value) == 128, "struct cnn_value and its walk");
_Static_assert(sizeof(struct cnn_node) == 96, "struct cnn_node and its walk");
_Static_assert(sizeof(struct cnn_attr) == 160, "struct cnn_attr and its walk");
#endif

enum { DATA_NONE, DATA_HERE, DATA_ELSEWHERE };

static void walk_data(struct rt_archive *a, struct cnn_tensor *t, int kind)
{
	int64_t bytes = kind == DATA_HERE ? cnn_tensor_bytes(t) : 0;

	if (bytes < 0) {
		rt_ar_fail(a, CNNRT_EINVAL, "program file: a constant of unknown size");
		return;
	}
	if (kind != DATA_HERE)
		return;
	rt_ar_blob(a, &t->data, (size_t)bytes);
	if (!a->writing)
		t->capacity = a->code ? 0 : (size_t)bytes;
}

static int walk_tensor(struct rt_archive *a, struct cnn_tensor *t, int kind)
{
	int dtype = (int)t->dtype;

	rt_ar_int(a, &dtype, CNN_UNDEFINED, CNN_BFLOAT16, "element type");
	rt_ar_int(a, &t->rank, -1, CNN_MAX_RANK, "rank");
	for (int i = 0; i < t->rank; i++)
		rt_ar_i64(a, &t->dims[i], 0, INT64_MAX, "dimension");
	rt_ar_int(a, &kind, DATA_NONE, DATA_ELSEWHERE, "place of the data");
	if (!a->writing)
		t->dtype = (enum cnn_dtype)dtype;
	walk_data(a, t, kind);
	return kind;
}

/* What only cores read is in the weight image already. */
static bool is_elsewhere(const struct rt_archive *a, const struct cnn_value *v)
{
	return v->elsewhere && !a->keep_constants;
}

static void walk_value(struct rt_archive *a, struct cnn_value *v)
{
	int kind = is_elsewhere(a, v) ? DATA_ELSEWHERE : v->t.data ? DATA_HERE : DATA_NONE;

	rt_ar_string(a, &v->name, false, "name of a value");
	kind = walk_tensor(a, &v->t, kind);
	if (!a->writing)
		v->elsewhere = kind == DATA_ELSEWHERE;
}

static void walk_attr(struct rt_archive *a, struct cnn_attr *at)
{
	uint8_t type = (uint8_t)at->type;

	rt_ar_string(a, &at->name, false, "name of an attribute");
	rt_ar_bytes(a, &type, 1);
	at->type = (char)type;
	switch (type) {
	case 'i':
		rt_ar_i64(a, &at->i, INT64_MIN, INT64_MAX, "attribute");
		break;
	case 'f':
		rt_ar_bytes(a, &at->f, sizeof(at->f));
		break;
	case 's':
		rt_ar_string(a, &at->s, false, "attribute");
		break;
	case 'I':
		rt_ar_list(a, &at->count, INT32_MAX, (void **)&at->ints, sizeof(*at->ints),
			   "integers of an attribute");
		rt_ar_bytes(a, at->ints, (size_t)at->count * sizeof(*at->ints));
		break;
	case 'F':
		rt_ar_list(a, &at->count, INT32_MAX, (void **)&at->floats, sizeof(*at->floats),
			   "numbers of an attribute");
		rt_ar_bytes(a, at->floats, (size_t)at->count * sizeof(*at->floats));
		break;
	case 't':
		if (walk_tensor(a, &at->t, DATA_HERE) != DATA_HERE)
			rt_ar_fail(a, CNNRT_EINVAL, "program file: an attribute without data");
		break;
	case '0':
	case '?':
		break;
	default:
		rt_ar_fail(a, CNNRT_EINVAL, "program file: attribute type %u", type);
	}
}

static void walk_indices(struct rt_archive *a, int **list, int *n, int max, int least, int values,
			 const char *what)
{
	rt_ar_list(a, n, max, (void **)list, sizeof(**list), what);
	for (int i = 0; i < *n; i++)
		rt_ar_int(a, &(*list)[i], least, values - 1, what);
}

static void walk_act(struct rt_archive *a, struct cnn_act *act)
{
	int kind = (int)act->kind;

	rt_ar_int(a, &kind, CNN_ACT_NONE, CNN_ACT_LAST, "activation");
	rt_ar_bytes(a, &act->a, sizeof(act->a));
	rt_ar_bytes(a, &act->b, sizeof(act->b));
	if (!a->writing)
		act->kind = (enum cnn_act_kind)kind;
}

static void walk_node(struct rt_archive *a, struct cnn_node *n, int values)
{
	rt_ar_string(a, &n->op_type, false, "operator");
	rt_ar_string(a, &n->domain, false, "domain");
	rt_ar_string(a, &n->name, false, "name of an operator");
	rt_ar_string(a, &n->fused, true, "list of fused operators");
	rt_ar_int(a, &n->opset, 0, INT32_MAX, "operator set");
	walk_indices(a, &n->in, &n->n_in, CNN_MAX_INPUTS, -1, values, "inputs of an operator");
	walk_indices(a, &n->out, &n->n_out, CNN_MAX_INPUTS, -1, values, "outputs of an operator");
	rt_ar_list(a, &n->n_attrs, INT32_MAX, (void **)&n->attrs, sizeof(*n->attrs), "attributes");
	for (int i = 0; i < n->n_attrs; i++)
		walk_attr(a, &n->attrs[i]);
	walk_act(a, &n->act);
	if (!a->writing && !a->code)
		cnn_op_find(n->domain, n->op_type, &n->op);
}

void rt_ar_removed(struct rt_archive *a, struct cnnrt_program *p)
{
	rt_ar_list(a, &p->n_removed, CNN_MAX_NODES, (void **)&p->removed, sizeof(*p->removed),
		   "removed operators");
	for (int i = 0; i < p->n_removed; i++) {
		rt_ar_string(a, &p->removed[i].op, false, "operator");
		rt_ar_string(a, &p->removed[i].name, false, "name of an operator");
		rt_ar_string(a, &p->removed[i].why, true, "reason");
	}
}

void rt_ar_graph(struct rt_archive *a, struct cnn_graph *g)
{
	rt_ar_string(a, &g->name, false, "name of the network");
	rt_ar_list(a, &g->n_values, CNN_MAX_VALUES, (void **)&g->values, sizeof(*g->values),
		   "values");
	for (int i = 0; i < g->n_values; i++)
		walk_value(a, &g->values[i]);
	rt_ar_list(a, &g->n_nodes, CNN_MAX_NODES, (void **)&g->nodes, sizeof(*g->nodes),
		   "operators");
	for (int i = 0; i < g->n_nodes; i++)
		walk_node(a, &g->nodes[i], g->n_values);
	walk_indices(a, &g->inputs, &g->n_inputs, g->n_values, 0, g->n_values, "inputs");
	walk_indices(a, &g->outputs, &g->n_outputs, g->n_values, 0, g->n_values, "outputs");
	if (!a->writing)
		g->inferred = true;
}
