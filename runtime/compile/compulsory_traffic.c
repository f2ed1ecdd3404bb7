// SPDX-License-Identifier: MIT
/* Compulsory traffic: the bytes that a layer must move however it is compiled. */
#include "internal.h"

static uint64_t tensor_bytes(const struct cnn_tensor *t)
{
	int64_t bytes = t->rank < 0 ? 0 : cnn_tensor_bytes(t);

	return bytes > 0 ? (uint64_t)bytes : 0;
}

/* Float tensors that fit on chip need no transfer, except inputs, constants and outputs. */
static bool must_move(const struct cnn_value *v, int64_t on_chip)
{
	return v->is_output || v->producer < 0 || v->t.dtype != CNN_FLOAT32 ||
	       tensor_bytes(&v->t) > (uint64_t)on_chip;
}

static bool is_repeated(const struct cnn_node *n, int i)
{
	for (int k = 0; k < i; k++)
		if (n->in[k] == n->in[i])
			return true;
	return false;
}

static void add_inputs(const struct cnn_graph *g, const struct cnn_node *n, int64_t on_chip,
		       struct cnnrt_cost *c, struct cnnrt_cost *moved)
{
	for (int i = 0; i < n->n_in; i++) {
		const struct cnn_value *v = n->in[i] < 0 ? NULL : &g->values[n->in[i]];

		if (!v || is_repeated(n, i))
			continue;
		if (v->t.data) {
			c->min_weights += tensor_bytes(&v->t);
			moved->read_weights += tensor_bytes(&v->t);
			continue;
		}
		moved->read_data += tensor_bytes(&v->t);
		if (must_move(v, on_chip))
			c->min_input += tensor_bytes(&v->t);
	}
}

void cnn_compulsory_traffic(const struct cnn_graph *g, int node, int64_t on_chip,
			    struct cnn_placement *p)
{
	const struct cnn_node *n = &g->nodes[node];
	struct cnnrt_cost moved = { 0 };

	/* A node on a core that takes no cycles only renames a value. */
	if (p->core >= 0 && !p->cost.cycles)
		return;
	add_inputs(g, n, on_chip, &p->cost, &moved);
	for (int i = 0; i < n->n_out; i++) {
		const struct cnn_value *v = n->out[i] < 0 ? NULL : &g->values[n->out[i]];

		if (!v)
			continue;
		moved.written += tensor_bytes(&v->t);
		if (must_move(v, on_chip))
			p->cost.min_output += tensor_bytes(&v->t);
	}
	/* An operator on the CPU reads and writes its tensors once. */
	if (p->core >= 0)
		return;
	p->cost.read_weights = moved.read_weights;
	p->cost.read_data = moved.read_data;
	p->cost.written = moved.written;
}
