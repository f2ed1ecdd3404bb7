// SPDX-License-Identifier: MIT
/*
 * Einsum: sums of products of elements, over the labels that the output does not have. Each label
 * is a loop, those of the output outside; an ellipsis stands for the axes of a broadcast.
 */
#include <string.h>

#include "ops.h"

#define MAX_OPERANDS	8
#define MAX_LABELS	32
#define ELLIPSIS	'.'	/* the first of the labels for the axes that it stands for */

struct einsum {
	int n, labels, out_labels;	/* the first out_labels labels are the output's, in order */
	int ellipsis;			/* axes that it stands for */
	int label[MAX_LABELS];		/* a letter, or ELLIPSIS and 256 for each axis */
	int64_t dim[MAX_LABELS];
	int64_t step[MAX_OPERANDS][MAX_LABELS];	/* elements */
};

static int label_fail(const struct cnn_call *c, const char *why)
{
	return cnn_op_fail(c, CNN_EINVAL, "equation \"%.60s\": %s",
			   c->node->params.einsum.equation, why);
}

static int find_label(const struct einsum *e, int label)
{
	for (int i = 0; i < e->labels; i++)
		if (e->label[i] == label)
			return i;
	return -1;
}

static int add_label(const struct cnn_call *c, struct einsum *e, int label)
{
	if (e->labels == MAX_LABELS)
		return label_fail(c, "too many labels");
	e->label[e->labels] = label;
	e->dim[e->labels++] = 1;
	return CNN_OK;
}

static bool is_letter(int ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

/* Reads one label, or an ellipsis, and moves on; 0 at the end of the term. */
static int next_label(const char **term)
{
	const char *p = *term;

	while (*p == ' ')
		p++;
	if (!strncmp(p, "...", 3)) {
		*term = p + 3;
		return ELLIPSIS;
	}
	*term = p + is_letter(*p);
	return is_letter(*p) ? *p : 0;
}

/* The end of the term at p, which must be one of the characters in ends, or the equation's end. */
static int end_term(const struct cnn_call *c, const char **p, const char *ends)
{
	while (**p == ' ')
		(*p)++;
	if (**p && !strchr(ends, **p))
		return label_fail(c, "a character that is no label");
	if (**p == '-' && (*p)[1] != '>')
		return label_fail(c, "a character that is no label");
	return CNN_OK;
}

/* Gives each axis of operand k its label: step of the label, and its dimension. */
static int bind_axis(const struct cnn_call *c, struct einsum *e, int k, int axis, int label)
{
	const struct cnn_tensor *x = c->in[k];
	int64_t strides[CNN_MAX_RANK], dim;
	int i = find_label(e, label), ret = CNN_OK;

	if (i < 0) {
		i = e->labels;
		ret = add_label(c, e, label);
	}
	if (ret)
		return ret;
	dim = x->dims[axis];
	if (dim != e->dim[i] && dim != 1 && e->dim[i] != 1)
		return label_fail(c, "a label has two dimensions");
	if (dim != 1)
		e->dim[i] = dim;
	cnn_strides(x, strides);
	e->step[k][i] += dim == 1 ? 0 : strides[axis];
	return CNN_OK;
}

static int count_letters(const char *term)
{
	int n = 0;

	for (int label = next_label(&term); label; label = next_label(&term))
		n += label != ELLIPSIS;
	return n;
}

static int read_operand(const struct cnn_call *c, struct einsum *e, int k, const char **p)
{
	int rank = c->in[k]->rank, letters = count_letters(*p), dots = 0, axis = 0, ret = CNN_OK;

	for (int label = next_label(p); label && !ret; label = next_label(p)) {
		int more = label == ELLIPSIS ? rank - letters : 1;

		if (label == ELLIPSIS && dots++)
			return label_fail(c, "an operand has two ellipses");
		if (more < 0 || axis + more > rank)
			return label_fail(c, "an operand has fewer dimensions than labels");
		if (label == ELLIPSIS)
			e->ellipsis = more > e->ellipsis ? more : e->ellipsis;
		/* The last axis of an ellipsis is number 0: broadcasting aligns the ends. */
		for (int i = more - 1; i >= 0 && !ret; i--)
			ret = bind_axis(c, e, k, axis++,
					label == ELLIPSIS ? ELLIPSIS + 256 * (i + 1) : label);
	}
	if (!ret && axis != rank)
		ret = label_fail(c, "an operand has more dimensions than labels");
	return ret ? ret : end_term(c, p, k + 1 < e->n ? "," : "-");
}

/* Exchanges labels i and j. */
static void swap_labels(struct einsum *e, int i, int j)
{
	struct einsum old = *e;

	e->label[i] = old.label[j];
	e->label[j] = old.label[i];
	e->dim[i] = old.dim[j];
	e->dim[j] = old.dim[i];
	for (int k = 0; k < e->n; k++) {
		e->step[k][i] = old.step[k][j];
		e->step[k][j] = old.step[k][i];
	}
}

/* Makes the label the next one of the output. */
static int put_out(const struct cnn_call *c, struct einsum *e, int label)
{
	int i = find_label(e, label);

	if (i < e->out_labels)
		return label_fail(c, "a label of the output is there twice, or in no operand");
	if (e->out_labels == CNN_MAX_RANK)
		return label_fail(c, "the output has more than 8 dimensions");
	swap_labels(e, i, e->out_labels++);
	return CNN_OK;
}

static int put_ellipsis(const struct cnn_call *c, struct einsum *e)
{
	int ret = CNN_OK;

	for (int i = e->ellipsis; i > 0 && !ret; i--)
		ret = put_out(c, e, ELLIPSIS + 256 * i);
	return ret;
}

static int read_output(const struct cnn_call *c, struct einsum *e, const char *p)
{
	int ret = CNN_OK;

	for (int label = next_label(&p); label && !ret; label = next_label(&p))
		ret = label == ELLIPSIS ? put_ellipsis(c, e) : put_out(c, e, label);
	return ret ? ret : end_term(c, &p, "");
}

/* Without "->": the ellipsis, then the labels that are there once, in alphabetical order. */
static int imply_output(const struct cnn_call *c, struct einsum *e)
{
	const char *equation = c->node->params.einsum.equation;
	int ret = put_ellipsis(c, e);

	for (int label = 'A'; label <= 'z' && !ret; label++) {
		const char *at = is_letter(label) ? strchr(equation, label) : NULL;

		if (at && !strchr(at + 1, label))
			ret = put_out(c, e, label);
	}
	return ret;
}

static int resolve(const struct cnn_call *c, struct einsum *e)
{
	const char *p = c->node->params.einsum.equation;
	int ret = CNN_OK;

	memset(e, 0, sizeof(*e));
	e->n = c->n_in;
	if (e->n > MAX_OPERANDS)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "%d operands, limit %d", e->n, MAX_OPERANDS);
	for (int k = 0; k < e->n && !ret; k++) {
		if (!c->in[k] || c->in[k]->dtype != c->in[0]->dtype)
			return cnn_op_fail(c, CNN_EINVAL, "input %d is missing or of another type", k);
		ret = read_operand(c, e, k, &p);
		if (!ret && k + 1 < e->n && *p++ != ',')
			ret = label_fail(c, "fewer terms than operands");
	}
	if (ret)
		return ret;
	return *p ? read_output(c, e, p + 2) : imply_output(c, e);
}

int cnn_infer_einsum(struct cnn_call *c)
{
	struct cnn_tensor *y = c->out[0];
	struct einsum e;
	int ret = CNN_WANT(c, c->in[0], CNN_FLOAT32, CNN_FLOAT64, CNN_INT32, CNN_INT64);

	if (!ret)
		ret = resolve(c, &e);
	if (ret)
		return ret;
	y->dtype = c->in[0]->dtype;
	y->rank = e.out_labels;
	memcpy(y->dims, e.dim, sizeof(y->dims));
	return CNN_OK;
}

int64_t cnn_einsum_work(const struct cnn_node *node, const struct cnn_tensor *const *in)
{
	struct cnn_call c = { .node = node, .n_in = node->n_in, .in = in };
	struct einsum e;
	int64_t work;

	if (resolve(&c, &e))
		return 1;
	work = e.n;
	for (int i = 0; i < e.labels; i++)
		work = cnn_mul_sat(work, e.dim[i]);
	return work;
}

/* The next combination of labels first.. in order; false after the last one. */
static bool next_at(const struct einsum *e, int first, int end, int64_t *at, const char **p,
		    int64_t size)
{
	for (int i = end - 1; i >= first; i--) {
		bool more = ++at[i] < e->dim[i];

		for (int k = 0; k < e->n; k++)
			p[k] += (more ? e->step[k][i] : e->step[k][i] * (1 - e->dim[i])) * size;
		if (more)
			return true;
		at[i] = 0;
	}
	return false;
}

/* One element of the output, whose operands begin at p. wide: the type of sums and products. */
typedef void sum_fn(const struct einsum *e, const char **p, int64_t *at, void *y);

#define SUM(name, type, wide)								\
static void sum_##name(const struct einsum *e, const char **p, int64_t *at, void *y)	\
{											\
	wide sum = 0;									\
											\
	do {										\
		wide product = (wide)*(const type *)p[0];				\
											\
		for (int k = 1; k < e->n; k++)						\
			product *= (wide)*(const type *)p[k];				\
		sum += product;								\
	} while (next_at(e, e->out_labels, e->labels, at, p, sizeof(type)));		\
	*(type *)y = (type)sum;								\
}

SUM(f32, float, double)
SUM(f64, double, double)
SUM(i32, int32_t, uint32_t)
SUM(i64, int64_t, uint64_t)

int cnn_compute_einsum(struct cnn_call *c)
{
	static sum_fn *const fn[] = {
		[CNN_FLOAT32] = sum_f32, [CNN_FLOAT64] = sum_f64,
		[CNN_INT32] = sum_i32, [CNN_INT64] = sum_i64,
	};
	int64_t size = cnn_dtype_size(c->out[0]->dtype), at[MAX_LABELS] = { 0 };
	int64_t bytes = cnn_tensor_bytes(c->out[0]);
	const char *p[MAX_OPERANDS];
	char *y = c->out[0]->data;
	struct einsum e;
	int ret = resolve(c, &e);

	if (ret || !bytes)
		return ret;
	memset(y, 0, bytes);
	for (int k = 0; k < e.n; k++) {
		p[k] = c->in[k]->data;
		if (!cnn_tensor_count(c->in[k]))
			return CNN_OK;
	}
	do {
		fn[c->out[0]->dtype](&e, p, at, y);
		y += size;
	} while (next_at(&e, 0, e.out_labels, at, p, size));
	return CNN_OK;
}
