/* SPDX-License-Identifier: MIT */
/* cnnrun --node-test: runs ONNX test cases, one line of output each. */
#include "cnnrun.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RTOL		1e-3
#define ATOL		1e-7
#define MAX_SETS	100

enum verdict { VERDICT_PASS, VERDICT_FAIL, VERDICT_UNSUPPORTED };

/* Tensors of one data set. */
struct data_set {
	struct cnn_tensor *in, *out;
	unsigned int in_count, out_count;
};

struct test_case {
	struct session *s;
	const char *dir;
	char text[400];		/* why it did not pass */
	uint64_t macs_device, macs_total;
	uint64_t hash;		/* of all output bytes, to compare two devices */
	unsigned int sets;
	char cpu[120];		/* operators that did not run on a core */
};

static enum verdict because(struct test_case *t, int code, const char *text)
{
	snprintf(t->text, sizeof(t->text), "%s", text);
	return code == CNNRT_EUNSUPPORTED ? VERDICT_UNSUPPORTED : VERDICT_FAIL;
}

static void free_tensors(struct cnn_tensor *t, unsigned int count)
{
	for (unsigned int i = 0; t && i < count; i++)
		cnn_tensor_release(&t[i]);
	free(t);
}

static enum verdict read_tensor(struct test_case *t, const char *path, struct cnn_tensor *out)
{
	struct cnn_err err = { 0 };
	char text[300];
	size_t size;
	void *data;
	int ret;

	if (!read_file(path, &data, &size)) {
		snprintf(text, sizeof(text), "%.200s: %s", path, strerror(errno));
		return because(t, CNNRT_EFILE, text);
	}
	ret = cnn_tensor_from_pb(data, size, out, NULL, &err);
	free(data);
	if (!ret)
		return VERDICT_PASS;
	snprintf(text, sizeof(text), "%.60s: %.200s", strrchr(path, '/') + 1, err.text);
	return because(t, err.code, text);
}

/* test_data_set_SET/WORD_0.pb, WORD_1.pb and so on, at most max. */
static enum verdict read_tensors(struct test_case *t, unsigned int set, const char *word,
				 unsigned int max, struct cnn_tensor **out, unsigned int *count)
{
	enum verdict v = VERDICT_PASS;
	char path[4096];

	*out = calloc(max + 1, sizeof(**out));
	if (!*out)
		return because(t, CNNRT_ENOMEM, "out of memory");
	for (*count = 0; *count < max && !v; (*count)++) {
		snprintf(path, sizeof(path), "%s/test_data_set_%u/%s_%u.pb", t->dir, set, word,
			 *count);
		if (access(path, F_OK))
			return VERDICT_PASS;
		v = read_tensor(t, path, &(*out)[*count]);
	}
	return v;
}

/* If frozen, make all inputs but the first constants, as weights usually are. */
static int give_shapes(struct cnnrt_model *m, const struct data_set *d, bool frozen,
		       struct cnnrt_error *err)
{
	for (unsigned int i = 0; i < d->in_count; i++) {
		const struct cnn_tensor *in = &d->in[i];
		int ret;

		if (frozen && i)
			ret = cnnrt_model_set_input_data(m, i, in->rank, in->dims, in->data,
							 (size_t)cnn_tensor_bytes(in), err);
		else
			ret = cnnrt_model_set_input_shape(m, i, in->rank, in->dims, err);
		if (ret)
			return ret;
	}
	return CNNRT_OK;
}

static int give_inputs(struct cnnrt_job *job, const struct data_set *d, bool frozen,
		       struct cnnrt_error *err)
{
	for (unsigned int i = 0; i < d->in_count && !(frozen && i); i++) {
		struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
		void *mem;
		int ret = cnnrt_job_map(job, CNNRT_INPUT, i, &info, &mem, err);

		if (ret)
			return ret;
		if (info.type != (enum cnnrt_type)d->in[i].dtype ||
		    info.size != (size_t)cnn_tensor_bytes(&d->in[i])) {
			err->code = CNNRT_EINVAL;
			snprintf(err->text, sizeof(err->text), "input %u is of another type", i);
			return err->code;
		}
		memcpy(mem, d->in[i].data, info.size);
	}
	return CNNRT_OK;
}

/* FNV-1a */
static void hash_bytes(struct test_case *t, const void *data, size_t size)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < size; i++)
		t->hash = (t->hash ^ p[i]) * 0x100000001b3u;
}

/* 1: a core rounds output i in a way of its own, and each element is within the bounds of that. */
static int check_bounds(struct cnnrt_job *job, unsigned int i, const struct cnn_tensor *got,
			const struct cnn_tensor *want, char *why, size_t len)
{
	size_t count = (size_t)cnn_tensor_count(want);
	double *bound = calloc(count + 1, sizeof(*bound)), most = 0;
	struct cnnrt_error err = { .code = CNNRT_ENOMEM, .text = "out of memory" };
	int ret = bound ? cnnrt_job_bounds(job, i, bound, count, &err) : err.code;

	if (ret)
		snprintf(why, len, "%.200s", err.text);
	for (size_t k = 0; !ret && k < count; k++)
		most = bound[k] > most ? bound[k] : most;
	if (!ret && most > 0)
		ret = tensor_exceeds(got, want, bound, why, len) ? CNNRT_EJOB : 1;
	free(bound);
	return ret;
}

static bool is_rounded(const struct cnn_tensor *t)
{
	return t->dtype == CNN_FLOAT32 || t->dtype == CNN_FLOAT16;
}

/* CNNRT_OK if output i is what is expected; else why not. */
static int check_output(struct cnnrt_job *job, unsigned int i, const struct cnn_tensor *got,
			const struct cnn_tensor *want, char *why, size_t len)
{
	int ret = is_rounded(want) && got->dtype == want->dtype &&
				  cnn_tensor_same_shape(got, want) ?
			  check_bounds(job, i, got, want, why, len) : 0;

	if (ret)
		return ret < 0 ? ret : CNNRT_OK;
	return tensor_differs(got, want, RTOL, ATOL, why, len) ? CNNRT_EJOB : CNNRT_OK;
}

static enum verdict compare(struct test_case *t, struct cnnrt_job *job, const struct data_set *d)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_error err;
	char text[300], why[240];
	void *mem;
	int ret;

	for (unsigned int i = 0; i < d->out_count; i++) {
		struct cnn_tensor got;

		if (cnnrt_job_map(job, CNNRT_OUTPUT, i, &info, &mem, &err))
			return because(t, err.code, err.text);
		got = tensor_of(&info, mem);
		hash_bytes(t, mem, info.size);
		ret = check_output(job, i, &got, &d->out[i], why, sizeof(why));
		if (ret) {
			snprintf(text, sizeof(text), "output %u: %s", i, why);
			return because(t, ret, text);
		}
	}
	return VERDICT_PASS;
}

static enum verdict run_program(struct test_case *t, const struct cnnrt_program *program,
				const struct data_set *d, bool frozen)
{
	struct cnnrt_job *job;
	struct cnnrt_error err;
	enum verdict v;
	int ret = cnnrt_job_create(t->s->ctx, program, &job, &err);

	if (ret)
		return because(t, err.code, err.text);
	ret = give_inputs(job, d, frozen, &err) ?: cnnrt_job_submit(job, -1, NULL, &err) ?:
	      cnnrt_job_wait(job, -1, &err);
	v = ret ? because(t, err.code, err.text) : compare(t, job, d);
	cnnrt_job_free(job);
	return v;
}

/* Names that do not fit are dropped. */
static void note_cpu(const struct cnnrt_op_report *op, void *opaque)
{
	struct test_case *t = opaque;
	size_t used = strlen(t->cpu);

	if (op->core < 0)
		snprintf(t->cpu + used, sizeof(t->cpu) - used, " %s", op->op);
}

static void note_macs(struct test_case *t, const struct cnnrt_program *program)
{
	struct cnnrt_estimate est = { .struct_size = sizeof(est) };

	t->cpu[0] = '\0';
	cnnrt_program_explain(program, note_cpu, t);
	if (!cnnrt_program_estimate(program, &est, NULL) && est.macs_device >= t->macs_device) {
		t->macs_device = est.macs_device;
		t->macs_total = est.macs_total;
	}
}

static enum verdict run_set(struct test_case *t, struct cnnrt_model *model,
			    const struct data_set *d, bool frozen)
{
	struct cnnrt_program *program;
	struct cnnrt_error err;
	enum verdict v;

	if (give_shapes(model, d, frozen, &err) ||
	    cnnrt_compile(model, t->s->dev, &t->s->compile, &program, &err))
		return because(t, err.code, err.text);
	v = run_program(t, program, d, frozen);
	note_macs(t, program);
	cnnrt_program_free(program);
	return v;
}

/* Unreadable data is a failure only if the network compiles. */
static enum verdict unreadable(struct test_case *t, const struct cnnrt_model *model, enum verdict v)
{
	struct cnnrt_program *program;
	struct cnnrt_error err;

	if (cnnrt_compile(model, t->s->dev, &t->s->compile, &program, &err))
		return err.code == CNNRT_EUNSUPPORTED ? because(t, err.code, err.text) : v;
	cnnrt_program_free(program);
	return v;
}

static enum verdict read_set(struct test_case *t, const struct cnnrt_model *model,
			     unsigned int set, struct data_set *d)
{
	enum verdict v = read_tensors(t, set, "input", cnnrt_model_io_count(model, CNNRT_INPUT),
				      &d->in, &d->in_count) ?:
			 read_tensors(t, set, "output", cnnrt_model_io_count(model, CNNRT_OUTPUT),
				      &d->out, &d->out_count);

	if (!v && !d->out_count)
		v = because(t, CNNRT_EFILE, "it has no expected output");
	return v ? unreadable(t, model, v) : v;
}

static enum verdict with_model(struct test_case *t, unsigned int set, bool frozen,
			       struct data_set *d)
{
	struct cnnrt_model *model;
	struct cnnrt_error err;
	char path[4096];
	enum verdict v;

	snprintf(path, sizeof(path), "%s/model.onnx", t->dir);
	if (cnnrt_model_load(path, &model, &err))
		return because(t, err.code, err.text);
	v = (d->in ? VERDICT_PASS : read_set(t, model, set, d)) ?: run_set(t, model, d, frozen);
	cnnrt_model_free(model);
	return v;
}

static enum verdict test_set(struct test_case *t, unsigned int set)
{
	struct data_set d = { 0 };
	enum verdict v = with_model(t, set, false, &d);

	if (!v && d.in_count > 1)
		v = with_model(t, set, true, &d);
	free_tensors(d.in, d.in_count);
	free_tensors(d.out, d.out_count);
	return v;
}

static enum verdict test_case(struct test_case *t)
{
	enum verdict v = VERDICT_PASS;
	char path[4096];

	for (unsigned int set = 0; set < MAX_SETS && !v; set++) {
		snprintf(path, sizeof(path), "%s/test_data_set_%u", t->dir, set);
		if (access(path, F_OK))
			break;
		v = test_set(t, set);
		t->sets++;
	}
	return t->sets ? v : because(t, CNNRT_EFILE, "it has no test_data_set_0");
}

int node_test(struct session *s)
{
	static const char *const names[] = { "PASS", "FAIL", "UNSUPPORTED" };
	unsigned int count[3] = { 0 };

	for (unsigned int i = 0; i < s->opt->dir_count; i++) {
		struct test_case t = {
			.s = s, .dir = s->opt->dirs[i], .hash = 0xcbf29ce484222325u,
		};
		enum verdict v = test_case(&t);
		char text[sizeof(t.text)];

		count[v]++;
		printf("%s %s: ", names[v], t.dir);
		if (v)
			printf("%s\n", clean(t.text, text, sizeof(text)));
		else
			printf("%u data set%s, MACs on device %" PRIu64 " of %" PRIu64
			       ", outputs %016" PRIx64 "%s%s\n", t.sets,
			       t.sets == 1 ? "" : "s", t.macs_device, t.macs_total, t.hash,
			       *t.cpu ? ", on the CPU:" : "", t.cpu);
		fflush(stdout);
	}
	printf("%u passed, %u failed, %u unsupported\n", count[VERDICT_PASS],
	       count[VERDICT_FAIL], count[VERDICT_UNSUPPORTED]);
	return count[VERDICT_FAIL] ? EXIT_FAILED : EXIT_DONE;
}
