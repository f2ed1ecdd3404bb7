// SPDX-License-Identifier: MIT
/*
 * Damages small ONNX files and runs what is left: a message or an answer, the same twice, within
 * the limits. Built with the address and undefined-behaviour sanitizers, which end the
 * program at the first fault; leaks fail it at the end.
 *
 * onnx_mutate CASES [FILE...]	damages those files instead, ONNX or TensorFlow Lite: each byte once, or
 *				CASES of them at even distances, then CASES times at random in each way
 *
 * A damaged file that is refused at once tests little: PAST_IMPORT per cent must be imported.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/import.h"
#include "run_graph.h"
#include "passes/passes.h"
#include "hang.h"
#include "onnx_build.h"

#define CASE_SECONDS	120
#define RANDOM_CASES	10000	/* per network, of bytes and of fields */
#define PAST_IMPORT	20
#define MAX_PUTS	64

const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "hard_rss_limit_mb=2048:allocator_may_return_null=1:detect_leaks=1";
}

static int folder = -1;	/* of external data */

static void *copy_of(const void *p, size_t len)
{
	void *c = malloc(len + 1);

	if (!c)
		abort();
	memcpy(c, p, len);
	return c;
}

struct tally {
	long answers, messages, imported;
};

static int cases = RANDOM_CASES;
static struct tally all;

/* Every input gets its shape, 2 where a dimension is dynamic, and numbers. */
static int feed(struct cnn_graph *g, struct cnn_tensor *in, struct cnn_err *err)
{
	for (int i = 0; i < g->n_inputs; i++) {
		struct cnn_tensor *t = &in[i];
		int64_t bytes;
		int ret;

		*t = g->values[g->inputs[i]].t;
		t->rank = t->rank < 0 ? 1 : t->rank;
		for (int j = 0; j < t->rank; j++)
			t->dims[j] = t->dims[j] < 0 ? 2 : t->dims[j];
		ret = cnn_graph_set_input_shape(g, i, t->rank, t->dims, err);
		if (!ret)
			ret = cnn_tensor_alloc(t, g->limits.tensor_bytes, err);
		if (ret)
			return ret;
		bytes = cnn_tensor_bytes(t);
		for (int64_t j = 0; j < bytes; j++)
			((uint8_t *)t->data)[j] = t->dtype != CNN_FLOAT32 ? j % 2 :
						  j % 4 == 3 ? 0x3e : j;
	}
	return CNN_OK;
}

static uint64_t digest(uint64_t h, const struct cnn_tensor *t)
{
	int64_t bytes = cnn_tensor_bytes(t);

	for (int64_t i = 0; i < bytes; i++)
		h = (h ^ ((uint8_t *)t->data)[i]) * 0x100000001b3;
	return h;
}

/* Import to answer; fuse: CNN_FUSE_*. */
static int run(const void *buf, size_t len, unsigned int fuse, uint64_t *h, bool *imported,
	       struct cnn_err *err)
{
	struct cnn_tensor in[MAX_PUTS] = { 0 }, out[MAX_PUTS] = { 0 };
	struct cnn_graph *g;
	int ret = cnn_graph_import(buf, len, folder, &g, err);

	*imported = !ret;
	if (ret)
		return ret;
	g->limits = (struct cnn_limits){ 1 << 24, 1 << 26, 1 << 22, 1 << 22 };
	if (g->n_inputs > MAX_PUTS || g->n_outputs > MAX_PUTS)
		ret = cnn_fail(err, CNN_ELIMIT, "more than %d inputs or outputs", MAX_PUTS);
	if (!ret)
		ret = feed(g, in, err);
	if (!ret)
		ret = cnn_graph_infer(g, err);
	if (!ret && fuse)
		ret = cnn_graph_fuse(g, fuse, err);
	if (!ret)
		ret = cnn_graph_run_cpu(g, in, out, err);
	for (int i = 0; i < MAX_PUTS; i++) {
		if (!ret && i < g->n_outputs)
			*h = digest(*h, &out[i]);
		cnn_tensor_release(&out[i]);
		cnn_tensor_release(&in[i]);
	}
	cnn_graph_free(g);
	return ret;
}

static void count(struct tally *t, bool imported, bool answered)
{
	t->imported += imported;
	t->answers += answered;
	t->messages += !answered;
}

/* A buffer of exactly len bytes, so that a read beyond it is seen. */
static bool try_one(const void *bytes, size_t len, struct tally *tally)
{
	static const unsigned int fuse[4] = { 0, 0, CNN_FUSE_ALL,
					      CNN_FUSE_ALL & ~CNN_FUSE_FOR_CPU };
	void *buf = malloc(len ? len : 1);
	uint64_t h[4] = { 0 };
	struct cnn_err err[4];
	bool imported;
	int ret[4];

	if (!buf)
		abort();
	memcpy(buf, bytes, len);
	alarm(CASE_SECONDS);
	for (int i = 0; i < 4; i++) {
		err[i].text[0] = 0;
		ret[i] = run(buf, len, fuse[i], &h[i], &imported, &err[i]);
	}
	alarm(0);
	free(buf);
	if (ret[0] ? ret[1] != ret[0] || !err[0].text[0] :
		     ret[1] || ret[2] || ret[3] || h[0] != h[1]) {
		printf("not ok - %s: %d %s, then %d %s, fused %d %s, for a core %d %s\n", fuzz_where,
		       ret[0], err[0].text, ret[1], err[1].text, ret[2], err[2].text, ret[3],
		       err[3].text);
		return false;
	}
	count(tally, imported, !ret[0]);
	count(&all, imported, !ret[0]);
	return true;
}

static bool report(const char *what, int network, const struct tally *t, bool ok)
{
	if (ok)
		printf("ok - network %d, %s: %ld imported, %ld answers, %ld messages\n", network,
		       what, t->imported, t->answers, t->messages);
	return ok;
}

static bool single_bytes(int network, const uint8_t *file, size_t len)
{
	size_t step = len / (size_t)(cases + 1) + 1;
	struct tally tally = { 0 };
	uint32_t state = 12345;
	bool ok = true;

	for (size_t i = 0; ok && i < len; i += step) {
		uint8_t *bad = copy_of(file, len);

		bad[i] ^= 1 + ob_rand(&state) % 255;
		snprintf(fuzz_where, sizeof(fuzz_where), "network %d, byte %zu\n", network, i);
		ok = try_one(bad, len, &tally);
		free(bad);
	}
	return report("single bytes", network, &tally, ok);
}

static bool random_bytes(int network, const uint8_t *file, size_t len)
{
	struct tally tally = { 0 };
	bool ok = true;

	for (int i = 0; ok && i < cases; i++) {
		uint8_t *bad = copy_of(file, len);
		uint32_t state = 77777 + i;
		size_t keep = ob_rand(&state) % 8 ? len : ob_rand(&state) % (len + 1);
		/* Mostly one place: what is damaged in many seldom gets past the parser. */
		uint32_t n = ob_rand(&state) % 4 ? 1 : 1 << ob_rand(&state) % 4;

		for (; n && keep; n--) {
			static const uint8_t nasty[] = { 0, 1, 0x7f, 0x80, 0xff };
			uint32_t r = ob_rand(&state);

			bad[ob_rand(&state) % keep] = r & 1 ? nasty[r / 2 % 5] : r >> 8;
		}
		snprintf(fuzz_where, sizeof(fuzz_where), "network %d, random %d\n", network, i);
		ok = try_one(bad, keep, &tally);
		free(bad);
	}
	return report("random bytes", network, &tally, ok);
}

/* Pointers to the integers of a model that a reader acts on. */
struct fields {
	int64_t *i64[4096];
	int n;
};

static void add_ints(struct fields *f, int64_t *v, size_t n)
{
	for (size_t i = 0; i < n && f->n < 4096; i++)
		f->i64[f->n++] = &v[i];
}

static void collect(struct fields *f, Onnx__GraphProto *g)
{
	for (size_t i = 0; i < g->n_initializer; i++) {
		add_ints(f, g->initializer[i]->dims, g->initializer[i]->n_dims);
		add_ints(f, g->initializer[i]->int64_data, g->initializer[i]->n_int64_data);
	}
	for (size_t i = 0; i < g->n_node; i++)
		for (size_t j = 0; j < g->node[i]->n_attribute; j++) {
			Onnx__AttributeProto *a = g->node[i]->attribute[j];

			add_ints(f, a->ints, a->n_ints);
			if (a->has_i)
				add_ints(f, &a->i, 1);
		}
	for (size_t i = 0; i < g->n_input; i++) {
		Onnx__TensorShapeProto *s = g->input[i]->type->tensor_type->shape;

		for (size_t j = 0; j < s->n_dim; j++)
			add_ints(f, &s->dim[j]->dim_value, 1);
	}
}

static int64_t nasty_int(uint32_t *state)
{
	static const int64_t nasty[] = {
		0, 1, 2, 3, 5, 7, 16, 255, 1000, 65536, -1, -2, -3, -7, INT64_MAX, INT64_MIN,
		INT64_MAX - 1, INT64_MIN + 1, INT32_MAX, INT32_MIN, (int64_t)1 << 30,
		((int64_t)1 << 30) + 1, (int64_t)1 << 31, (int64_t)1 << 32, (int64_t)1 << 40,
		(int64_t)1 << 61, (int64_t)1 << 62, -((int64_t)1 << 62),
	};

	return nasty[ob_rand(state) % (sizeof(nasty) / sizeof(nasty[0]))];
}

/* Swaps, renames or re-attaches something of the graph. */
static void rewire(Onnx__GraphProto *g, uint32_t *state)
{
	Onnx__NodeProto *a = g->node[ob_rand(state) % g->n_node];
	Onnx__NodeProto *b = g->node[ob_rand(state) % g->n_node];
	char **p = a->n_input ? &a->input[ob_rand(state) % a->n_input] : &a->output[0];
	char **q = b->n_input && ob_rand(state) % 4 ? &b->input[ob_rand(state) % b->n_input] :
						      &b->output[0];
	char *t = *p;

	*p = *q;
	*q = t;
	if (!(ob_rand(state) % 4)) {
		t = a->op_type;
		a->op_type = b->op_type;
		b->op_type = t;
	}
}

/* Another type for an attribute, or none, perhaps with its list empty. */
static void retype(Onnx__GraphProto *g, uint32_t *state)
{
	Onnx__NodeProto *n = g->node[ob_rand(state) % g->n_node];
	Onnx__AttributeProto *a;

	if (!n->n_attribute)
		return;
	a = n->attribute[ob_rand(state) % n->n_attribute];
	if (ob_rand(state) % 2)
		a->n_ints = a->n_floats = 0;
	if (ob_rand(state) % 4)
		a->type = ob_rand(state) % 9;
}

static bool random_fields(int network)
{
	struct tally tally = { 0 };
	bool ok = true;

	for (int i = 0; ok && i < cases; i++) {
		struct onnx_build *b = ob_network(network);
		struct fields f = { .n = 0 };
		uint32_t state = 424242 + i;
		size_t len;
		void *bad;

		collect(&f, ob_model(b)->graph);
		for (uint32_t n = 1 + ob_rand(&state) % 3; n; n--)
			*f.i64[ob_rand(&state) % f.n] = nasty_int(&state);
		if (!(ob_rand(&state) % 4))
			rewire(ob_model(b)->graph, &state);
		if (!(ob_rand(&state) % 4))
			retype(ob_model(b)->graph, &state);
		bad = ob_pack(b, &len);
		ob_free(b);
		snprintf(fuzz_where, sizeof(fuzz_where), "network %d, fields %d\n", network, i);
		ok = try_one(bad, len, &tally);
		free(bad);
	}
	return report("random fields", network, &tally, ok);
}

/* A network whose weights are in folder/w. */
static struct onnx_build *external_network(int i)
{
	struct onnx_build *b = ob_network(i);
	int fd = openat(folder, "w", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FILE *f = fdopen(fd, "wb");

	if (!f)
		abort();
	ob_move_data(b, "w", f);
	fclose(f);
	return b;
}

static void damage_entry(Onnx__GraphProto *g, uint32_t *state)
{
	static const char *const nasty[] = {
		"", "0", "1", "4", "1000000", "-1", "9223372036854775807", "18446744073709551616",
		"w", "x", ".", "../w", "./w", "/dev/zero", "location", "offset", "length",
	};
	Onnx__TensorProto *tp = g->initializer[ob_rand(state) % g->n_initializer];
	Onnx__StringStringEntryProto *entry;
	char **text;

	if (!tp->n_external_data)
		return;
	entry = tp->external_data[ob_rand(state) % tp->n_external_data];
	text = ob_rand(state) % 4 ? &entry->value : &entry->key;
	free(*text);
	*text = strdup(nasty[ob_rand(state) % (sizeof(nasty) / sizeof(nasty[0]))]);
	if (tp->n_dims && !(ob_rand(state) % 8))
		tp->dims[0] = nasty_int(state);
}

static bool external_cases(struct tally *tally)
{
	bool ok = true;

	for (int i = 0; ok && i < cases; i++) {
		struct onnx_build *b = external_network(i % OB_NETWORKS);
		uint32_t state = 31337 + i;
		size_t len;
		void *bad;

		if (i >= OB_NETWORKS)
			damage_entry(ob_model(b)->graph, &state);
		bad = ob_pack(b, &len);
		ob_free(b);
		snprintf(fuzz_where, sizeof(fuzz_where), "external data %d\n", i);
		ok = try_one(bad, len, tally);
		if (ok && i == OB_NETWORKS - 1 && tally->answers != OB_NETWORKS)
			ok = false;	/* undamaged, all of them run */
		free(bad);
	}
	return ok;
}

/* Places in other files. */
static bool external_data(void)
{
	char path[] = "/tmp/cnnacc-mutate-XXXXXX";
	struct tally tally = { 0 };
	bool ok;

	if (!mkdtemp(path))
		abort();
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ok = external_cases(&tally);
	unlinkat(folder, "w", 0);
	close(folder);
	folder = -1;
	rmdir(path);
	printf("%sok - external data: %ld imported, %ld answers, %ld messages\n", ok ? "" : "not ",
	       tally.imported, tally.answers, tally.messages);
	return ok;
}

/* Tensor files, as test data sets have them. */
static bool tensors(void)
{
	float v[24] = { 1, 2, 3 };
	struct cnn_tensor t = { .dtype = CNN_FLOAT32, .rank = 3, .dims = { 2, 3, 4 }, .data = v };
	struct cnn_err err;
	size_t len;
	void *file;

	if (cnn_tensor_to_pb(&t, "name", &file, &len, &err))
		return false;
	for (int i = 0; i < cases; i++) {
		uint32_t state = 999 + i;
		size_t keep = ob_rand(&state) % 3 ? len : ob_rand(&state) % (len + 1);
		uint8_t *bad = copy_of(file, keep);
		struct cnn_tensor got;
		char *name;

		if (keep)
			bad[ob_rand(&state) % keep] = ob_rand(&state);
		err.text[0] = 0;
		if (!cnn_tensor_from_pb(bad, keep, &got, &name, &err)) {
			free(name);
			cnn_tensor_release(&got);
		} else if (!err.text[0]) {
			printf("not ok - tensor %d: no message\n", i);
		}
		free(bad);
	}
	free(file);
	printf("ok - %d damaged tensor files\n", cases);
	return true;
}

static bool damage_file(int i, const char *path)
{
	uint8_t *buf = malloc(1 << 20);
	FILE *f = fopen(path, "rb");
	size_t len = f && buf ? fread(buf, 1, 1 << 20, f) : 0;
	struct tally tally = { 0 };
	bool ok;

	snprintf(fuzz_where, sizeof(fuzz_where), "%.100s, as it is\n", path);
	ok = len && try_one(buf, len, &tally) && tally.answers == 1;
	ok = ok && single_bytes(i, buf, len) && random_bytes(i, buf, len);
	if (!ok)
		printf("not ok - %s\n", path);
	if (f)
		fclose(f);
	free(buf);
	return ok;
}

static bool damage_network(int i)
{
	struct onnx_build *b = ob_network(i);
	struct tally tally = { 0 };
	size_t len;
	uint8_t *file = ob_pack(b, &len);
	bool ok;

	ob_free(b);
	snprintf(fuzz_where, sizeof(fuzz_where), "network %d, as it is\n", i);
	ok = try_one(file, len, &tally) && tally.answers == 1;
	printf("%sok - network %d of %zu bytes runs\n", ok ? "" : "not ", i, len);
	ok = ok && single_bytes(i, file, len) && random_bytes(i, file, len) &&
	     random_fields(i);
	free(file);
	return ok;
}

static bool enough_imported(void)
{
	long files = all.answers + all.messages;
	bool ok = all.imported * 100 >= files * PAST_IMPORT;

	printf("%sok - of %ld damaged files %ld are imported\n", ok ? "" : "not ", files,
	       all.imported);
	return ok;
}

int main(int argc, char **argv)
{
	bool ok = true, own = argc <= 2;

	if (argc > 1)
		cases = atoi(argv[1]);

	setvbuf(stdout, NULL, _IOLBF, 0);
	fuzz_name_hangs();
	printf("1..%d\n", own ? 4 * OB_NETWORKS + 3 : 2 * (argc - 2) + 1);
	for (int i = 2; ok && i < argc; i++)
		ok = damage_file(i, argv[i]);
	for (int i = 0; ok && own && i < OB_NETWORKS; i++)
		ok = damage_network(i);
	if (ok && own)
		ok = tensors() && external_data();
	return !ok || !enough_imported();
}
