/* SPDX-License-Identifier: MIT */
/* Records the operators of the file that are not in the compiled graph, and why. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One entry of a node's list of fused operators: "Relu relu3". */
struct fused_op {
	const char *text;
	size_t len;
	int node;
};

int rt_eliminated_ops_start(struct cnnrt_program *p, struct cnn_err *e)
{
	struct cnn_graph *g = p->graph;

	p->eliminated = calloc((size_t)g->n_nodes + 1, sizeof(*p->eliminated));
	if (!p->eliminated)
		return cnn_fail(e, CNN_ENOMEM, "no memory for %d operators", g->n_nodes);
	p->n_eliminated = g->n_nodes;
	for (int i = 0; i < g->n_nodes; i++) {
		struct rt_eliminated_op *r = &p->eliminated[i];

		r->op = strdup(g->nodes[i].op_type);
		r->name = strdup(g->nodes[i].name);
		g->nodes[i].file_op = i + 1;
		if (!r->op || !r->name)
			return cnn_fail(e, CNN_ENOMEM, "no memory for operators' names");
	}
	return CNN_OK;
}

/* By operator of the file: is its node in the graph? */
static bool *find_nodes(const struct cnn_graph *g, int count)
{
	bool *found = calloc((size_t)count + 1, sizeof(*found));

	for (int i = 0; found && i < g->n_nodes; i++)
		found[g->nodes[i].file_op] = true;
	return found;
}

int rt_eliminated_ops_folded(struct cnnrt_program *p, struct cnn_err *e)
{
	bool *found = find_nodes(p->graph, p->n_eliminated);

	if (!found)
		return cnn_fail(e, CNN_ENOMEM, "no memory for operators' names");
	for (int i = 0; i < p->n_eliminated; i++) {
		struct rt_eliminated_op *r = &p->eliminated[i];

		if (found[i + 1])
			continue;
		r->why = strdup("folded: its value is constant, or nothing needs it");
		if (!r->why)
			break;
	}
	free(found);
	return CNN_OK;
}

static int compare_fused_ops(const void *a, const void *b)
{
	const struct fused_op *x = a, *y = b;
	int order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

static struct fused_op *list_fused_ops(const struct cnn_graph *g, int *count)
{
	struct fused_op *ops;
	int max = 0;

	for (int i = 0; i < g->n_nodes; i++) {
		max += g->nodes[i].fused != NULL;
		for (const char *s = g->nodes[i].fused; s && (s = strstr(s, ", ")); s += 2)
			max++;
	}
	ops = calloc((size_t)max + 1, sizeof(*ops));
	*count = 0;
	for (int i = 0; ops && i < g->n_nodes; i++) {
		const char *s = g->nodes[i].fused;

		while (s) {
			const char *end = strstr(s, ", ");

			ops[(*count)++] =
				(struct fused_op){ s, end ? (size_t)(end - s) : strlen(s), i };
			s = end ? end + 2 : NULL;
		}
	}
	if (ops)
		qsort(ops, (size_t)*count, sizeof(*ops), compare_fused_ops);
	return ops;
}

/* "fused into Conv conv3" */
static char *why_fused(const struct cnn_graph *g, const struct fused_op *ops, int count,
		       const struct rt_eliminated_op *r)
{
	char *text = NULL, *why = NULL;
	const struct fused_op *found;
	struct fused_op key;

	if (asprintf(&text, "%s %s", r->op, r->name) < 0)
		return NULL;
	key = (struct fused_op){ text, strlen(text), 0 };
	found = bsearch(&key, ops, (size_t)count, sizeof(*ops), compare_fused_ops);
	if (!found)
		why = strdup("replaced, or passes its input on unchanged");
	else if (asprintf(&why, "fused into %s %s", g->nodes[found->node].op_type,
			  g->nodes[found->node].name) < 0)
		why = NULL;
	free(text);
	return why;
}

static void free_eliminated_op(struct rt_eliminated_op *r)
{
	free(r->op);
	free(r->name);
	free(r->why);
}

int rt_eliminated_ops_fused(struct cnnrt_program *p, struct cnn_err *e)
{
	bool *found = find_nodes(p->graph, p->n_eliminated);
	int count, out = 0;
	struct fused_op *ops = list_fused_ops(p->graph, &count);

	for (int i = 0; found && ops && i < p->n_eliminated; i++) {
		struct rt_eliminated_op r = p->eliminated[i];

		if (!r.why && found[i + 1]) {
			free_eliminated_op(&r);
			continue;
		}
		if (!r.why)
			r.why = why_fused(p->graph, ops, count, &r);
		p->eliminated[out++] = r;
	}
	if (found && ops)
		p->n_eliminated = out;
	free(found);
	free(ops);
	return found && ops ? CNN_OK : cnn_fail(e, CNN_ENOMEM, "no memory for operators' names");
}

void rt_eliminated_ops_free(struct cnnrt_program *p)
{
	for (int i = 0; i < p->n_eliminated; i++)
		free_eliminated_op(&p->eliminated[i]);
	free(p->eliminated);
}

void cnnrt_program_removed(const struct cnnrt_program *p,
			   void (*report)(const char *op, const char *name, const char *why,
					  void *opaque), void *opaque)
{
	for (int i = 0; i < p->n_eliminated; i++)
		report(p->eliminated[i].op, p->eliminated[i].name,
		       p->eliminated[i].why ? p->eliminated[i].why : "removed", opaque);
}
