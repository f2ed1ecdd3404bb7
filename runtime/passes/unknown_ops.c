// SPDX-License-Identifier: MIT
/* Operators that the library does not have, told all at once. */
#include <stdio.h>
#include <string.h>

#include "passes.h"

#define MAX_KINDS	16	/* that are named */

struct kind {
	const struct cnn_node *first;
	int nodes;
};

static bool same_operator(const struct cnn_node *a, const struct cnn_node *b)
{
	return !strcmp(a->op_type, b->op_type) && !strcmp(a->domain, b->domain);
}

/* The number of kinds in the array; those beyond its end are counted as *others. */
static int count_kinds(const struct cnn_graph *g, struct kind *kinds, int *others)
{
	int n = 0;

	*others = 0;
	for (int i = 0; i < g->n_nodes; i++) {
		const struct cnn_node *node = &g->nodes[i];
		int k = 0;

		if (node->op != CNN_OP_UNKNOWN)
			continue;
		while (k < n && !same_operator(kinds[k].first, node))
			k++;
		if (k == MAX_KINDS) {
			++*others;
			continue;
		}
		if (k == n)
			kinds[n++] = (struct kind){ .first = node };
		kinds[k].nodes++;
	}
	return n;
}

int cnn_check_known_ops(const struct cnn_graph *g, struct cnn_err *err)
{
	struct kind kinds[MAX_KINDS];
	const struct cnn_node *first;
	char more[sizeof(err->text)] = "";
	int others, n = count_kinds(g, kinds, &others);
	size_t at = 0;

	if (!n)
		return CNN_OK;
	first = kinds[0].first;
	if (kinds[0].nodes > 1)
		at += snprintf(more, sizeof(more), " (%d nodes)", kinds[0].nodes);
	for (int k = 1; k < n; k++) {
		const struct cnn_node *node = kinds[k].first;

		if (at < 150)
			at += snprintf(more + at, sizeof(more) - at, "%s%.30s%s%.40s (%d)",
				       k == 1 ? ", nor are " : ", ", node->domain,
				       *node->domain ? "." : "", node->op_type, kinds[k].nodes);
		else
			others += kinds[k].nodes;
	}
	if (others)
		snprintf(more + at, sizeof(more) - at, " and others (%d)", others);
	return cnn_fail(err, CNN_EUNSUPPORTED, "operator %.60s%s%.60s (%.60s) is not supported%s",
			first->domain, *first->domain ? "." : "", first->op_type, first->name, more);
}
