/* SPDX-License-Identifier: MIT */
/* What became of the operators of the file that no program runs. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A piece of what was fused into a node: "Relu relu3". */
struct piece {
	const char *text;
	size_t len;
	int node;
};

int rt_removed_start(struct cnnrt_program *p, struct cnn_err *e)
{
	const struct cnn_graph *g = p->graph;

	p->removed = calloc((size_t)g->n_nodes + 1, sizeof(*p->removed));
	if (!p->removed)
		return cnn_fail(e, CNN_ENOMEM, "no memory for %d operators", g->n_nodes);
	p->n_removed = g->n_nodes;
	for (int i = 0; i < g->n_nodes; i++) {
		struct rt_removed *r = &p->removed[i];

		r->op = strdup(g->nodes[i].op_type);
		r->name = strdup(g->nodes[i].name);
		r->was = g->nodes[i].name;
		if (!r->op || !r->name)
			return cnn_fail(e, CNN_ENOMEM, "no memory for operators' names");
	}
	return CNN_OK;
}

static int compare_pointers(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;

	return (x > y) - (x < y);
}

/* The nodes' names: a node keeps its own wherever it is moved. */
static const char **names_left(const struct cnn_graph *g)
{
	const char **names = calloc((size_t)g->n_nodes + 1, sizeof(*names));

	for (int i = 0; names && i < g->n_nodes; i++)
		names[i] = g->nodes[i].name;
	if (names)
		qsort(names, (size_t)g->n_nodes, sizeof(*names), compare_pointers);
	return names;
}

static bool is_left(const char **names, int count, const struct rt_removed *r)
{
	const char **found = bsearch(&r->was, names, (size_t)count, sizeof(*names),
				     compare_pointers);

	return found && !strcmp(*found, r->name);
}

int rt_removed_folded(struct cnnrt_program *p, struct cnn_err *e)
{
	const char **names = names_left(p->graph);

	if (!names)
		return cnn_fail(e, CNN_ENOMEM, "no memory for operators' names");
	for (int i = 0; i < p->n_removed; i++) {
		struct rt_removed *r = &p->removed[i];

		if (is_left(names, p->graph->n_nodes, r))
			continue;
		r->why = strdup("folded: its value is constant, or nothing needs it");
		if (!r->why)
			break;
	}
	free(names);
	return CNN_OK;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	int order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

static struct piece *fused_pieces(const struct cnn_graph *g, int *count)
{
	struct piece *pieces;
	int max = 0;

	for (int i = 0; i < g->n_nodes; i++) {
		max += g->nodes[i].fused != NULL;
		for (const char *s = g->nodes[i].fused; s && (s = strstr(s, ", ")); s += 2)
			max++;
	}
	pieces = calloc((size_t)max + 1, sizeof(*pieces));
	*count = 0;
	for (int i = 0; pieces && i < g->n_nodes; i++) {
		const char *s = g->nodes[i].fused;

		while (s) {
			const char *end = strstr(s, ", ");

			pieces[(*count)++] = (struct piece){
				s, end ? (size_t)(end - s) : strlen(s), i,
			};
			s = end ? end + 2 : NULL;
		}
	}
	if (pieces)
		qsort(pieces, (size_t)*count, sizeof(*pieces), compare_pieces);
	return pieces;
}

/* "fused into Conv conv3" */
static char *why_fused(const struct cnn_graph *g, const struct piece *pieces, int count,
		       const struct rt_removed *r)
{
	char *text = NULL, *why = NULL;
	const struct piece *found;
	struct piece key;

	if (asprintf(&text, "%s %s", r->op, r->name) < 0)
		return NULL;
	key = (struct piece){ text, strlen(text), 0 };
	found = bsearch(&key, pieces, (size_t)count, sizeof(*pieces), compare_pieces);
	if (!found)
		why = strdup("replaced, or does nothing but hand on its input");
	else if (asprintf(&why, "fused into %s %s", g->nodes[found->node].op_type,
			  g->nodes[found->node].name) < 0)
		why = NULL;
	free(text);
	return why;
}

static void removed_free(struct rt_removed *r)
{
	free(r->op);
	free(r->name);
	free(r->why);
}

int rt_removed_fused(struct cnnrt_program *p, struct cnn_err *e)
{
	const char **names = names_left(p->graph);
	int count, kept = 0;
	struct piece *pieces = fused_pieces(p->graph, &count);

	for (int i = 0; names && pieces && i < p->n_removed; i++) {
		struct rt_removed r = p->removed[i];

		if (!r.why && is_left(names, p->graph->n_nodes, &r)) {
			removed_free(&r);
			continue;
		}
		if (!r.why)
			r.why = why_fused(p->graph, pieces, count, &r);
		p->removed[kept++] = r;
	}
	if (names && pieces)
		p->n_removed = kept;
	free(names);
	free(pieces);
	return names && pieces ? CNN_OK : cnn_fail(e, CNN_ENOMEM, "no memory for operators' names");
}

void rt_removed_free(struct cnnrt_program *p)
{
	for (int i = 0; i < p->n_removed; i++)
		removed_free(&p->removed[i]);
	free(p->removed);
}

void cnnrt_program_removed(const struct cnnrt_program *p,
			   void (*report)(const char *op, const char *name, const char *why,
					  void *opaque), void *opaque)
{
	for (int i = 0; i < p->n_removed; i++)
		report(p->removed[i].op, p->removed[i].name,
		       p->removed[i].why ? p->removed[i].why : "removed", opaque);
}
