// SPDX-License-Identifier: MIT
/* Nodes that a core runs as one, and their values in the arena. */
#include <stdlib.h>

#include "backend.h"

void cnn_unit_init(struct cnn_unit *u, const struct cnn_graph *g, const int *lead, int place,
		   int node)
{
	*u = (struct cnn_unit){
		.g = g, .lead = lead, .place = place, .nodes = { node }, .n_nodes = 1,
	};
}

void cnn_unit_free(struct cnn_unit *u)
{
	free(u->in);
	free(u->out);
	*u = (struct cnn_unit){ 0 };
}

bool cnn_unit_has(const struct cnn_unit *u, int node)
{
	for (int i = 0; i < u->n_nodes; i++)
		if (u->nodes[i] == node)
			return true;
	return false;
}

/* Does a node before this one, but none of the unit, read what a node of the unit makes? */
static bool is_read_before(const struct cnn_unit *u, const struct cnn_node *n, int node)
{
	for (int k = 0; k < n->n_out; k++) {
		const struct cnn_value *v = n->out[k] < 0 ? NULL : &u->g->values[n->out[k]];

		for (int i = 0; v && i < v->n_consumers && v->consumers[i] < node; i++)
			if (!cnn_unit_has(u, v->consumers[i]))
				return true;
	}
	return false;
}

bool cnn_unit_add_node(struct cnn_unit *u, int node)
{
	int place = u->g->nodes[node].place;

	if (u->alone || u->n_nodes == CNN_UNIT_NODES_MAX || u->lead[node] >= 0 ||
	    node <= u->nodes[u->n_nodes - 1] || (place != CNN_PLACE_OPEN && place != u->place))
		return false;
	for (int i = 0; i < u->n_nodes; i++)
		if (is_read_before(u, &u->g->nodes[u->nodes[i]], node))
			return false;
	u->nodes[u->n_nodes++] = node;
	return true;
}

static bool append(struct cnn_unit *u, struct cnn_node_io **list, int *n,
		   const struct cnn_node_io *io)
{
	struct cnn_node_io *more = reallocarray(*list, (size_t)*n + 1, sizeof(*more));

	if (!more) {
		u->failed = true;
		return false;
	}
	*list = more;
	more[(*n)++] = *io;
	return true;
}

bool cnn_unit_add_in(struct cnn_unit *u, const struct cnn_node_io *io)
{
	return append(u, &u->in, &u->n_in, io);
}

bool cnn_unit_add_out(struct cnn_unit *u, const struct cnn_node_io *io)
{
	return append(u, &u->out, &u->n_out, io);
}

static bool is_listed(const struct cnn_node_io *list, int n, int value)
{
	for (int i = 0; i < n; i++)
		if (list[i].value == value)
			return true;
	return false;
}

bool cnn_unit_gives(const struct cnn_unit *u, int value)
{
	const struct cnn_value *v = &u->g->values[value];

	for (int i = 0; i < v->n_consumers; i++)
		if (!cnn_unit_has(u, v->consumers[i]))
			return true;
	return v->is_output;
}

/* The first value of a node that must be in the arena and is not, or -1. */
static int find_missing(const struct cnn_unit *u, const struct cnn_node *n, bool all)
{
	for (int k = 0; k < n->n_in; k++) {
		const struct cnn_value *v = n->in[k] < 0 ? NULL : &u->g->values[n->in[k]];

		if (v && !v->t.data && !cnn_unit_has(u, v->producer) &&
		    !is_listed(u->in, u->n_in, n->in[k]))
			return n->in[k];
	}
	for (int k = 0; k < n->n_out; k++)
		if (n->out[k] >= 0 && (all || cnn_unit_gives(u, n->out[k])) &&
		    !is_listed(u->out, u->n_out, n->out[k]))
			return n->out[k];
	return -1;
}

bool cnn_unit_check(const struct cnn_unit *u, bool all, char *reason)
{
	for (int i = 0; i < u->n_nodes && u->n_nodes > 1; i++) {
		int v = find_missing(u, &u->g->nodes[u->nodes[i]], all);

		if (v >= 0)
			return cnn_reject(reason, "a unit of %d operators has no place in memory "
					  "for %.60s, which others read or make", u->n_nodes,
					  u->g->values[v].name);
	}
	return true;
}
