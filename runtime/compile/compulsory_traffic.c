// SPDX-License-Identifier: MIT
/* Compulsory traffic: the bytes that a layer must move however it is compiled. */
#include "internal.h"

static uint64_t tensor_bytes(const struct cnn_tensor *t)
{
	int64_t bytes = t->rank < 0 ? 0 : cnn_tensor_bytes(t);

	return bytes > 0 ? (uint64_t)bytes : 0;
}

/* Does a core compute the node with float16, whatever the graph says? */
static bool computes_half(const struct cnn_compiler *cc, int node)
{
	const struct cnn_node *n = &cc->compile.g->nodes[node];
	const struct cnn_tensor *y = cnn_node_out(cc->compile.g, n, 0);

	return cc->compile.out->nodes[node].core >= 0 && y &&
	       (y->dtype == CNN_FLOAT16 || cc->compile.out->slots[n->out[0]].layout.half);
}

/* Of a value that a node reads or writes, where the node runs. */
static uint64_t value_bytes(const struct cnn_compiler *cc, int node, int v)
{
	const struct cnn_value *val = &cc->compile.g->values[v];
	uint64_t bytes = tensor_bytes(&val->t);
	bool half = val->t.data ? val->t.dtype == CNN_FLOAT32 && computes_half(cc, node) :
				  cc->compile.out->nodes[node].core >= 0 &&
					  cc->compile.out->slots[v].layout.half;

	return half ? bytes / 2 : bytes;
}

/* Float tensors that fit on chip need no transfer, except inputs, constants and outputs. */
static bool must_move(const struct cnn_value *v, int64_t on_chip)
{
	return v->is_output || v->producer < 0 || v->t.dtype != CNN_FLOAT32 ||
	       tensor_bytes(&v->t) > (uint64_t)on_chip;
}

static bool has_input(const struct cnn_node *n, int n_in, int v)
{
	for (int k = 0; k < n_in; k++)
		if (n->in[k] == v)
			return true;
	return false;
}

/* Has input i been counted, or does the node's unit make it? */
static bool is_there(const struct cnn_compiler *cc, int node, int i)
{
	const struct cnn_graph *g = cc->compile.g;
	const struct cnn_unit *u = cnn_unit_of(cc, node);
	int v = g->nodes[node].in[i];

	if (has_input(&g->nodes[node], i, v))
		return true;
	for (int k = 0; u && u->nodes[k] != node; k++)
		if (has_input(&g->nodes[u->nodes[k]], g->nodes[u->nodes[k]].n_in, v))
			return true;
	return u && cnn_unit_has(u, g->values[v].producer);
}

static void add_inputs(const struct cnn_compiler *cc, int node, int64_t on_chip,
		       struct cnnrt_cost *c, struct cnnrt_cost *moved)
{
	const struct cnn_node *n = &cc->compile.g->nodes[node];

	for (int i = 0; i < n->n_in; i++) {
		const struct cnn_value *v = n->in[i] < 0 ? NULL : &cc->compile.g->values[n->in[i]];

		if (!v || is_there(cc, node, i))
			continue;
		if (v->t.data) {
			c->min_weights += value_bytes(cc, node, n->in[i]);
			moved->read_weights += tensor_bytes(&v->t);
			continue;
		}
		moved->read_data += tensor_bytes(&v->t);
		if (must_move(v, on_chip))
			c->min_input += value_bytes(cc, node, n->in[i]);
	}
}

/* What the nodes of a unit only pass to each other has no slot. */
static void add_outputs(const struct cnn_compiler *cc, int node, int64_t on_chip,
			struct cnnrt_cost *c, struct cnnrt_cost *moved)
{
	const struct cnn_node *n = &cc->compile.g->nodes[node];
	bool is_part = cnn_unit_of(cc, node);

	for (int i = 0; i < n->n_out; i++) {
		const struct cnn_value *v = n->out[i] < 0 ? NULL : &cc->compile.g->values[n->out[i]];

		if (!v || (is_part && !cc->compile.out->slots[n->out[i]].used))
			continue;
		moved->written += tensor_bytes(&v->t);
		if (must_move(v, on_chip))
			c->min_output += value_bytes(cc, node, n->out[i]);
	}
}

void cnn_compulsory_traffic(const struct cnn_compiler *cc, int node, int64_t on_chip)
{
	struct cnn_placement *p = &cc->compile.out->nodes[node];
	const struct cnn_unit *u = cnn_unit_of(cc, node);
	struct cnnrt_cost moved = { 0 };

	/* A node on a core that takes no cycles only renames a value, or another accounts for it. */
	if (p->core >= 0 && !p->cost.cycles)
		return;
	for (int i = 0; i < (u ? u->n_nodes : 1); i++) {
		int part = u ? u->nodes[i] : node;

		add_inputs(cc, part, on_chip, &p->cost, &moved);
		add_outputs(cc, part, on_chip, &p->cost, &moved);
	}
	/* An operator on the CPU reads and writes its tensors once. */
	if (p->core >= 0)
		return;
	p->cost.read_weights = moved.read_weights;
	p->cost.read_data = moved.read_data;
	p->cost.written = moved.written;
}
