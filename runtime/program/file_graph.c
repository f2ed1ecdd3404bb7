/* SPDX-License-Identifier: MIT */
/* The graph in a program file. */
#include "file.h"
#include "ir/graph_internal.h"

#if __SIZEOF_POINTER__ == 8
/* A new field must be added to the walk, unless it does not belong in the file. */
_Static_assert(sizeof(struct cnn_value) == 128, "struct cnn_value and its walk");
_Static_assert(offsetof(struct cnn_node, params) == 64, "struct cnn_node and its walk");
_Static_assert(sizeof(struct cnn_node) == 64 + sizeof(struct cnn_params) + 48,
	       "struct cnn_node and its walk");
#endif

enum { DATA_NONE, DATA_IN_FILE, DATA_IN_WEIGHT_IMAGE };

static void walk_data(struct rt_archive *a, struct cnn_tensor *t, int kind)
{
	int64_t bytes = kind == DATA_IN_FILE ? cnn_tensor_bytes(t) : 0;

	if (bytes < 0) {
		rt_ar_fail(a, CNNRT_EINVAL, "program file: a constant of unknown size");
		return;
	}
	if (kind != DATA_IN_FILE)
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
	rt_ar_int(a, &kind, DATA_NONE, DATA_IN_WEIGHT_IMAGE, "location of the data");
	if (!a->writing)
		t->dtype = (enum cnn_dtype)dtype;
	walk_data(a, t, kind);
	return kind;
}

/* Constants that only cores read are in the weight image, and not written again. */
static bool is_in_weight_image(const struct rt_archive *a, const struct cnn_value *v)
{
	return v->in_weight_image && !a->all_constants;
}

static void walk_value(struct rt_archive *a, struct cnn_value *v)
{
	int kind = is_in_weight_image(a, v) ? DATA_IN_WEIGHT_IMAGE :
		   v->t.data		    ? DATA_IN_FILE :
					      DATA_NONE;

	rt_ar_string(a, &v->name, false, "name of a value");
	kind = walk_tensor(a, &v->t, kind);
	if (!a->writing)
		v->in_weight_image = kind == DATA_IN_WEIGHT_IMAGE;
}

static void walk_owned(struct rt_archive *a, struct cnn_tensor *t)
{
	int kind = walk_tensor(a, t, t->rank < 0 ? DATA_NONE : DATA_IN_FILE);

	if (kind != (t->rank < 0 ? DATA_NONE : DATA_IN_FILE))
		rt_ar_fail(a, CNNRT_EINVAL, "program file: an attribute without data");
}

/* Memory is safe after it; walk_params checks the values. */
static void walk_field(struct rt_archive *a, const struct cnn_field *f, void *at)
{
	bool ints = f->kind == CNN_FIELD_INTS;

	if (f->kind == CNN_FIELD_TENSOR) {
		walk_owned(a, at);
	} else if (ints || f->kind == CNN_FIELD_FLOATS) {
		rt_ar_int(a, at, -1, f->max, f->name);
		if (*(int *)at > 0)
			rt_ar_bytes(a, ints ? (void *)cnn_field_ints(at) : cnn_field_floats(at),
				    (size_t)*(int *)at * (ints ? sizeof(int64_t) : sizeof(float)));
	} else {
		rt_ar_bytes(a, at, f->size);
	}
}

static void walk_params(struct rt_archive *a, struct cnn_node *n)
{
	struct cnn_err e;

	/* Inference leaves no operator with a body. */
	for (const struct cnn_field *f = cnn_node_fields(n); f->name; f++)
		if (!f->alias && f->kind != CNN_FIELD_GRAPH)
			walk_field(a, f, cnn_field_at(&n->params, f));
	if (!a->writing && !a->code && cnn_params_check(n, &e))
		rt_ar_fail(a, CNNRT_EINVAL, "program file: %s", e.text);
}

/* A list of indices of values. */
struct index_list {
	int **list, *n;
	int max;   /* length */
	int least; /* -1: an index may be missing */
};

static void walk_indices(struct rt_archive *a, struct index_list l, int values, const char *what)
{
	rt_ar_list(a, l.n, l.max, (void **)l.list, sizeof(**l.list), what);
	for (int i = 0; i < *l.n; i++)
		rt_ar_int(a, &(*l.list)[i], l.least, values - 1, what);
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
	walk_indices(a, (struct index_list){ &n->in, &n->n_in, CNN_MAX_INPUTS, -1 }, values,
		     "inputs of an operator");
	walk_indices(a, (struct index_list){ &n->out, &n->n_out, CNN_MAX_INPUTS, -1 }, values,
		     "outputs of an operator");
	if (!a->writing && !a->code)
		cnn_op_find(n->domain, n->op_type, &n->op);
	walk_params(a, n);
	walk_act(a, &n->act);
	rt_ar_bool(a, &n->wide);
}

void rt_ar_eliminated_ops(struct rt_archive *a, struct cnnrt_program *p)
{
	rt_ar_list(a, &p->n_eliminated, CNN_MAX_NODES, (void **)&p->eliminated,
		   sizeof(*p->eliminated), "eliminated operators");
	for (int i = 0; i < p->n_eliminated; i++) {
		rt_ar_string(a, &p->eliminated[i].op, false, "operator");
		rt_ar_string(a, &p->eliminated[i].name, false, "name of an operator");
		rt_ar_string(a, &p->eliminated[i].why, true, "reason");
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
	walk_indices(a, (struct index_list){ &g->inputs, &g->n_inputs, g->n_values, 0 },
		     g->n_values, "inputs");
	walk_indices(a, (struct index_list){ &g->outputs, &g->n_outputs, g->n_values, 0 },
		     g->n_values, "outputs");
	if (!a->writing)
		g->inferred = true;
}
