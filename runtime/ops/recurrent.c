// SPDX-License-Identifier: MIT
/* RNN, GRU and LSTM: shapes, activation functions and the walk through the sequence. */
#include <stdlib.h>
#include <string.h>

#include "recurrent.h"

static int gates_of(enum cnn_op op)
{
	return op == CNN_OP_RNN ? 1 : op == CNN_OP_GRU ? 3 : 4;
}

static const struct {
	const char *name;
	enum cnn_op op;
	float a, b;
} functions[] = {
	{ "Tanh", CNN_OP_TANH, 0, 0 },
	{ "Sigmoid", CNN_OP_SIGMOID, 0, 0 },
	{ "Relu", CNN_OP_RELU, 0, 0 },
	{ "HardSigmoid", CNN_OP_HARD_SIGMOID, 0.2f, 0.5f },
	{ "LeakyRelu", CNN_OP_LEAKY_RELU, 0.01f, 0 },
	{ "Elu", CNN_OP_ELU, 1, 0 },
	{ "Softplus", CNN_OP_SOFTPLUS, 0, 0 },
};

/* Sets f to the function whose name is the first len characters of name. */
static bool find_function(const char *name, size_t len, struct cell_fn *f)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (strlen(functions[i].name) != len || memcmp(functions[i].name, name, len))
			continue;
		*f = (struct cell_fn){ cnn_unary_of(functions[i].op), functions[i].a,
				       functions[i].b };
		return true;
	}
	return false;
}

/* Functions of all directions: those that the node lists, or the operator's own. */
static int read_functions(const struct cnn_call *c, int64_t dirs, struct cell_fn *f)
{
	const char *list = c->node->params.recurrent.activations;
	int each = c->node->op == CNN_OP_RNN ? 1 : c->node->op == CNN_OP_GRU ? 2 : 3, n = 0;

	for (int i = 0; i < each * (int)dirs && !*list; i++) {
		bool sigmoid = each > 1 && !(i % each);

		find_function(sigmoid ? "Sigmoid" : "Tanh", sigmoid ? 7 : 4, &f[i]);
	}
	for (const char *p = list; *p; n++) {
		size_t len = strcspn(p, ",");

		if (n == each * (int)dirs || !find_function(p, len, &f[n]))
			return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute activations is \"%.80s\"",
					   list);
		p += len + (p[len] == ',');
	}
	if (*list && n != each * (int)dirs)
		return cnn_op_fail(c, CNN_EINVAL, "activations names %d functions, %d expected", n,
				   each * (int)dirs);
	return CNN_OK;
}

/* An optional float input must have these dimensions. */
static int check_input(const struct cnn_call *c, int i, const char *name, int rank,
		       const int64_t *dims)
{
	struct cnn_tensor want = { .rank = rank };
	const struct cnn_tensor *t = cnn_in(c, i);
	char a[80], b[80];
	int ret = t ? CNN_WANT(c, t, CNN_FLOAT32) : CNN_OK;

	if (!t || ret)
		return ret;
	want.dtype = CNN_FLOAT32;
	memcpy(want.dims, dims, sizeof(*dims) * rank);
	if (!cnn_tensor_same_shape(t, &want))
		return cnn_op_fail(c, CNN_EINVAL, "%s is %s, %s expected", name,
				   cnn_tensor_describe(t, a, sizeof(a)),
				   cnn_tensor_describe(&want, b, sizeof(b)));
	return CNN_OK;
}

static int check_lens(const struct cnn_call *c, int64_t batch)
{
	const struct cnn_tensor *t = cnn_in(c, IN_LENS);
	int ret = t ? CNN_WANT(c, t, CNN_INT32) : CNN_OK;

	if (!ret && t && (t->rank != 1 || t->dims[0] != batch))
		ret = cnn_op_fail(c, CNN_EINVAL, "sequence_lens is not one number for each batch");
	return ret;
}

/* A state: [dirs, batch, hidden], or with the batch first. */
static void state_dims(const struct recurrent *r, int64_t *dims)
{
	bool batch_first = r->c->node->params.recurrent.layout;

	dims[batch_first] = r->dirs;
	dims[!batch_first] = r->batch;
	dims[2] = r->hidden;
}

static int check_shapes(const struct recurrent *r)
{
	int64_t rows = r->gates * r->hidden, state[3];
	int ret = check_input(r->c, IN_W, "W", 3, (int64_t[]){ r->dirs, rows, r->input });

	state_dims(r, state);
	if (!ret)
		ret = check_input(r->c, IN_R, "R", 3, (int64_t[]){ r->dirs, rows, r->hidden });
	if (!ret)
		ret = check_input(r->c, IN_B, "B", 2, (int64_t[]){ r->dirs, 2 * rows });
	if (!ret)
		ret = check_lens(r->c, r->batch);
	if (!ret)
		ret = check_input(r->c, IN_H, "initial_h", 3, state);
	if (!ret && r->c->node->op == CNN_OP_LSTM)
		ret = check_input(r->c, IN_C, "initial_c", 3, state);
	if (!ret && r->c->node->op == CNN_OP_LSTM)
		ret = check_input(r->c, IN_P, "P", 2, (int64_t[]){ r->dirs, 3 * r->hidden });
	return ret;
}

static int resolve(const struct cnn_call *c, struct recurrent *r)
{
	const struct cnn_recurrent_params *p = &c->node->params.recurrent;
	const struct cnn_tensor *x = c->in[IN_X], *w = c->in[IN_R];
	int ret = CNN_WANT(c, x, CNN_FLOAT32);

	if (ret)
		return ret;
	if (x->rank != 3 || w->rank != 3)
		return cnn_op_fail(c, CNN_EINVAL, "X or R does not have 3 dimensions");
	*r = (struct recurrent){
		.c = c, .gates = gates_of(c->node->op), .seq = x->dims[p->layout],
		.batch = x->dims[!p->layout], .input = x->dims[2], .hidden = w->dims[2],
		.dirs = p->direction == CNN_RECURRENT_BIDIRECTIONAL ? 2 : 1, .clip = p->clip,
	};
	if (r->hidden > CNN_MAX_TENSOR_BYTES)
		return cnn_op_fail(c, CNN_ELIMIT, "hidden size %lld", (long long)r->hidden);
	if (p->hidden_size != -1 && p->hidden_size != r->hidden)
		return cnn_op_fail(c, CNN_EINVAL, "hidden_size is %lld, R has %lld",
				   (long long)p->hidden_size, (long long)r->hidden);
	if (!(p->clip >= 0))
		return cnn_op_fail(c, CNN_EINVAL, "clip is %g, limit 0", (double)p->clip);
	return check_shapes(r);
}

static void set_shape(struct cnn_tensor *t, int rank, const int64_t *dims)
{
	if (!t)
		return;
	t->dtype = CNN_FLOAT32;
	t->rank = rank;
	memcpy(t->dims, dims, sizeof(*dims) * rank);
}

int cnn_infer_recurrent(struct cnn_call *c)
{
	bool batch_first = c->node->params.recurrent.layout;
	struct cell_fn fn[6];
	struct recurrent r;
	int64_t state[3];
	int ret = resolve(c, &r);

	if (!ret)
		ret = read_functions(c, r.dirs, fn);
	if (ret)
		return ret;
	state_dims(&r, state);
	set_shape(c->out[0], 4, batch_first ?
		  (int64_t[]){ r.batch, r.seq, r.dirs, r.hidden } :
		  (int64_t[]){ r.seq, r.dirs, r.batch, r.hidden });
	set_shape(cnn_out(c, 1), 3, state);
	set_shape(cnn_out(c, 2), 3, state);
	return CNN_OK;
}

int64_t cnn_recurrent_work(const struct cnn_node *node, const struct cnn_tensor *const *in)
{
	struct cnn_call c = { .node = node, .n_in = node->n_in, .in = in };
	struct recurrent r;
	int64_t work;

	if (resolve(&c, &r))
		return 1;
	work = cnn_mul_sat(r.gates * r.hidden, cnn_add_sat(r.input, r.hidden));
	work = cnn_mul_sat(work, cnn_mul_sat(r.seq, r.batch));
	return cnn_mul_sat(work, r.dirs);
}

static float *floats(int64_t rows, int64_t n)
{
	int64_t bytes = cnn_mul_sat(cnn_mul_sat(rows, n), sizeof(float));

	return bytes > CNN_MAX_TENSOR_BYTES ? NULL : calloc(1, bytes ? bytes : 1);
}

static int take_scratch(struct recurrent *r)
{
	int64_t k = r->input > r->hidden ? r->input : r->hidden;

	r->x = floats(r->batch, r->input);
	r->wx = floats(r->batch, r->gates * r->hidden);
	r->rh = floats(r->batch, r->gates * r->hidden);
	r->h = floats(r->batch, r->hidden);
	r->cell = floats(r->batch, r->hidden);
	r->gemm = cnn_gemm_scratch(r->batch, k);
	if (r->x && r->wx && r->rh && r->h && r->cell && r->gemm)
		return CNN_OK;
	return cnn_op_fail(r->c, CNN_ENOMEM, "no memory for a step of %lld rows",
			   (long long)r->batch);
}

static void free_scratch(struct recurrent *r)
{
	free(r->x);
	free(r->wx);
	free(r->rh);
	free(r->h);
	free(r->cell);
	free(r->gemm);
}

/* Steps of row b. */
static int64_t length_of(const struct recurrent *r, int64_t b)
{
	const struct cnn_tensor *lens = cnn_in(r->c, IN_LENS);

	return lens ? cnn_int_at(lens, b) : r->seq;
}

/* Where row b is in a state tensor; NULL without the tensor. */
static float *state_row(const struct recurrent *r, const struct cnn_tensor *t, int64_t dir,
			int64_t b)
{
	int64_t row = r->c->node->params.recurrent.layout ? b * r->dirs + dir : dir * r->batch + b;

	return t ? (float *)t->data + row * r->hidden : NULL;
}

static void begin_direction(struct recurrent *r, int64_t dir)
{
	const struct cnn_tensor *bias = cnn_in(r->c, IN_B), *h = cnn_in(r->c, IN_H);
	bool lstm = r->c->node->op == CNN_OP_LSTM;
	const struct cnn_tensor *cell = lstm ? cnn_in(r->c, IN_C) : NULL;
	const struct cnn_tensor *peephole = lstm ? cnn_in(r->c, IN_P) : NULL;
	int64_t rows = r->gates * r->hidden, row = r->hidden * (int64_t)sizeof(float);

	r->reverse = dir || r->c->node->params.recurrent.direction == CNN_RECURRENT_REVERSE;
	r->w = (const float *)r->c->in[IN_W]->data + dir * rows * r->input;
	r->r = (const float *)r->c->in[IN_R]->data + dir * rows * r->hidden;
	r->wb = bias ? (const float *)bias->data + dir * 2 * rows : NULL;
	r->rb = bias ? r->wb + rows : NULL;
	r->peephole = peephole ? (const float *)peephole->data + dir * 3 * r->hidden : NULL;
	memset(r->h, 0, r->batch * row);
	memset(r->cell, 0, r->batch * row);
	for (int64_t b = 0; b < r->batch; b++) {
		if (h)
			memcpy(r->h + b * r->hidden, state_row(r, h, dir, b), row);
		if (cell)
			memcpy(r->cell + b * r->hidden, state_row(r, cell, dir, b), row);
	}
}

/* Where row b is at a step; -1 when its sequence has ended. */
static int64_t time_of(const struct recurrent *r, int64_t step, int64_t b)
{
	int64_t len = length_of(r, b);

	if (step >= len)
		return -1;
	return r->reverse ? len - 1 - step : step;
}

static void gather_inputs(const struct recurrent *r, int64_t step)
{
	bool batch_first = r->c->node->params.recurrent.layout;
	const float *x = r->c->in[IN_X]->data;

	for (int64_t b = 0; b < r->batch; b++) {
		int64_t t = time_of(r, step, b);

		if (t >= 0)
			memcpy(r->x + b * r->input,
			       x + (batch_first ? b * r->seq + t : t * r->batch + b) * r->input,
			       r->input * sizeof(*x));
	}
}

static void run_step(struct recurrent *r, int64_t dir, int64_t step)
{
	enum cnn_op op = r->c->node->op;
	bool batch_first = r->c->node->params.recurrent.layout;
	float *y = r->c->out[0]->data;

	gather_inputs(r, step);
	cnn_recurrent_inputs(r);
	cnn_recurrent_product(r, r->h, 0, r->gates);
	if (op == CNN_OP_GRU && !r->c->node->params.recurrent.linear_before_reset)
		cnn_gru_reset(r);
	for (int64_t b = 0; b < r->batch; b++) {
		int64_t t = time_of(r, step, b), row;

		if (t < 0)
			continue;
		(op == CNN_OP_RNN ? cnn_rnn_step : op == CNN_OP_GRU ? cnn_gru_step :
		 cnn_lstm_step)(r, b);
		row = batch_first ? (b * r->seq + t) * r->dirs + dir :
				    (t * r->dirs + dir) * r->batch + b;
		memcpy(y + row * r->hidden, r->h + b * r->hidden, r->hidden * sizeof(*y));
	}
}

static void end_direction(const struct recurrent *r, int64_t dir)
{
	for (int64_t b = 0; b < r->batch; b++) {
		float *h = state_row(r, cnn_out(r->c, 1), dir, b);
		float *cell = state_row(r, cnn_out(r->c, 2), dir, b);

		if (h)
			memcpy(h, r->h + b * r->hidden, r->hidden * sizeof(*h));
		if (cell)
			memcpy(cell, r->cell + b * r->hidden, r->hidden * sizeof(*cell));
	}
}

static int run(struct recurrent *r)
{
	struct cell_fn fn[6];
	int ret = read_functions(r->c, r->dirs, fn);
	int each = r->c->node->op == CNN_OP_RNN ? 1 : r->c->node->op == CNN_OP_GRU ? 2 : 3;

	for (int64_t dir = 0; dir < r->dirs && !ret; dir++) {
		memcpy(r->fn, fn + dir * each, sizeof(*fn) * each);
		begin_direction(r, dir);
		for (int64_t step = 0; step < r->seq; step++)
			run_step(r, dir, step);
		end_direction(r, dir);
	}
	return ret;
}

int cnn_compute_recurrent(struct cnn_call *c)
{
	struct recurrent r;
	int ret = resolve(c, &r);

	for (int64_t b = 0; !ret && b < r.batch; b++)
		if (length_of(&r, b) < 0 || length_of(&r, b) > r.seq)
			ret = cnn_op_fail(c, CNN_EINVAL, "sequence_lens[%lld] is %lld, limits 0 to "
					  "%lld", (long long)b, (long long)length_of(&r, b),
					  (long long)r.seq);
	if (ret || !r.batch || !r.hidden)
		return ret;
	/* Beyond the end of a row's sequence the output is 0. */
	memset(c->out[0]->data, 0, cnn_tensor_bytes(c->out[0]));
	ret = take_scratch(&r);
	if (!ret)
		ret = run(&r);
	free_scratch(&r);
	for (int i = 1; i < c->n_out && !ret; i++)
		if (c->out[i])
			cnn_canonical_nans(c->out[i]->data, cnn_tensor_count(c->out[i]));
	return ret;
}
