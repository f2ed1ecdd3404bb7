// SPDX-License-Identifier: MIT
/* Attributes of nodes. */
#include <stdlib.h>
#include <string.h>

#include "graph_internal.h"

const struct cnn_attr *cnn_node_attr(const struct cnn_node *n, const char *name)
{
	for (int i = 0; i < n->n_attrs; i++)
		if (!strcmp(n->attrs[i].name, name))
			return &n->attrs[i];
	return NULL;
}

static const struct cnn_attr *typed(const struct cnn_node *n, const char *name, char type)
{
	const struct cnn_attr *a = cnn_node_attr(n, name);

	return a && a->type == type ? a : NULL;
}

int64_t cnn_node_int(const struct cnn_node *n, const char *attr, int64_t def)
{
	const struct cnn_attr *a = typed(n, attr, 'i');

	return a ? a->i : def;
}

float cnn_node_float(const struct cnn_node *n, const char *attr, float def)
{
	const struct cnn_attr *a = typed(n, attr, 'f');

	return a ? a->f : def;
}

const char *cnn_node_str(const struct cnn_node *n, const char *attr, const char *def)
{
	const struct cnn_attr *a = typed(n, attr, 's');

	return a ? a->s : def;
}

const int64_t *cnn_node_ints(const struct cnn_node *n, const char *attr, int *count)
{
	const struct cnn_attr *a = typed(n, attr, 'I');

	*count = a ? a->count : 0;
	return a ? a->ints : NULL;
}

const struct cnn_tensor *cnn_node_tensor(const struct cnn_node *n, const char *attr)
{
	const struct cnn_attr *a = typed(n, attr, 't');

	return a ? &a->t : NULL;
}

bool cnn_node_has(const struct cnn_node *n, const char *attr)
{
	return cnn_node_attr(n, attr);
}

/* The type letter that spec gives name; 0 if it does not name it. */
static char spec_type(const char *spec, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = spec; p && *p; p = strchr(p, ' ')) {
		while (*p == ' ')
			p++;
		if (!strncmp(p, name, len) && p[len] == ':')
			return p[len + 1];
	}
	return 0;
}

int cnn_node_check_attrs(const struct cnn_node *n, const char *spec, struct cnn_err *err)
{
	for (int i = 0; i < n->n_attrs; i++) {
		const struct cnn_attr *a = &n->attrs[i];
		char want = spec_type(spec, a->name);

		if (!strcmp(a->name, "consumed_inputs"))	/* a hint of opsets below 6 */
			want = 'I';
		if (!want || want == '-')
			return cnn_fail(err, CNN_EUNSUPPORTED,
					"%s (%.60s): attribute %.60s is not supported", n->op_type,
					n->name, a->name);
		if (want != a->type && !(a->type == '0' && strchr("IF", want)))
			return cnn_fail(err, CNN_EINVAL,
					"%s (%.60s): attribute %s has the wrong type",
					n->op_type, n->name, a->name);
	}
	return CNN_OK;
}

static void attr_free(struct cnn_attr *a)
{
	free(a->name);
	free(a->s);
	free(a->ints);
	free(a->floats);
	cnn_tensor_release(&a->t);
}

void cnn_node_drop_attrs(struct cnn_node *n)
{
	for (int i = 0; i < n->n_attrs; i++)
		attr_free(&n->attrs[i]);
	free(n->attrs);
	n->attrs = NULL;
	n->n_attrs = 0;
}

static int add_attr(struct cnn_node *n, const char *name, struct cnn_attr attr,
		    struct cnn_err *err)
{
	struct cnn_attr *attrs = realloc(n->attrs, sizeof(*attrs) * (n->n_attrs + 1));

	attr.name = strdup(name);
	if (attrs)
		n->attrs = attrs;
	if (!attrs || !attr.name) {
		attr_free(&attr);
		return cnn_fail(err, CNN_ENOMEM, "no memory for an attribute");
	}
	attrs[n->n_attrs++] = attr;
	return CNN_OK;
}

int cnn_node_add_int(struct cnn_node *n, const char *name, int64_t v, struct cnn_err *err)
{
	return add_attr(n, name, (struct cnn_attr){ .type = 'i', .i = v }, err);
}

int cnn_node_add_str(struct cnn_node *n, const char *name, const char *v, struct cnn_err *err)
{
	char *s = strdup(v);

	if (!s)
		return cnn_fail(err, CNN_ENOMEM, "no memory for an attribute");
	return add_attr(n, name, (struct cnn_attr){ .type = 's', .s = s }, err);
}

int cnn_node_add_ints(struct cnn_node *n, const char *name, int count, const int64_t *v,
		      struct cnn_err *err)
{
	int64_t *ints = malloc(sizeof(*ints) * count);

	if (!ints)
		return cnn_fail(err, CNN_ENOMEM, "no memory for an attribute");
	memcpy(ints, v, sizeof(*ints) * count);
	return add_attr(n, name, (struct cnn_attr){ .type = 'I', .ints = ints, .count = count },
			err);
}

void cnn_node_free(struct cnn_node *n)
{
	cnn_node_drop_attrs(n);
	free(n->op_type);
	free(n->domain);
	free(n->name);
	free(n->in);
	free(n->out);
	free(n->fused);
	memset(n, 0, sizeof(*n));
}
