/* SPDX-License-Identifier: MIT */
/* One network: compile, fill its inputs, run, show and write its outputs. */
#include "cnnrun_network.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Called before the run, so that a mistyped name does not cost its time. */
static int check_outputs(struct network *n)
{
	const struct run_options *o = n->s->opt;
	int ret = check_writable(o->profile);

	for (int kind = 0; kind < REPORT_KINDS && !ret; kind++)
		ret = check_writable(o->report[kind]);
	for (unsigned int i = 0; i < o->output.count && !ret; i++)
		ret = find_io(n, CNNRT_OUTPUT, o->output.at[i].name) < 0 ?
		      EXIT_USAGE : check_writable(o->output.at[i].file);
	return ret;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Every run must give the same bytes. */
static int check_run(struct network *n, unsigned int run)
{
	unsigned int count = io_count(n, CNNRT_OUTPUT);
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_error err;
	void *mem;

	for (unsigned int i = 0; i < count && i < MAX_FILES; i++) {
		if (cnnrt_job_map(n->job, CNNRT_OUTPUT, i, &info, &mem, &err))
			return complain_error(&err);
		if (!run) {
			n->first[i] = malloc(info.size + 1);
			if (!n->first[i])
				return complain(EXIT_FAILED, "out of memory");
			memcpy(n->first[i], mem, info.size);
		} else if (memcmp(n->first[i], mem, info.size)) {
			return complain(EXIT_FAILED, "output %s: run %u differs from the first",
					info.name, run);
		}
	}
	return EXIT_DONE;
}

static int run_job(struct cnnrt_job *job)
{
	struct cnnrt_error err;

	return checked(cnnrt_job_submit(job, -1, NULL, &err) ?: cnnrt_job_wait(job, -1, &err), &err);
}

static int run_all(struct network *n)
{
	uint64_t repeat = n->s->opt->repeat;
	uint64_t *times = calloc(repeat, sizeof(*times));
	int ret = times ? EXIT_DONE : complain(EXIT_FAILED, "out of memory");

	for (uint64_t i = 0; i < repeat && !ret; i++) {
		uint64_t start = now_ns();

		ret = n->batch ? batch_run(n->batch, i) : run_job(n->job);
		times[i] = now_ns() - start;
		if (!ret && repeat > 1 && n->job)
			ret = check_run(n, i);
	}
	if (!ret) {
		qsort(times, repeat, sizeof(*times), compare_u64);
		printf("time: %.3f ms", (double)times[repeat / 2] / 1e6);
		if (repeat > 1)
			printf(" median of %" PRIu64 ", %.3f .. %.3f ms", repeat, (double)times[0] / 1e6,
			       (double)times[repeat - 1] / 1e6);
		putchar('\n');
		if (n->batch)
			batch_print(n->batch);
	}
	free(times);
	return ret;
}

/* One name per line; *text holds them. */
static char **read_labels(const char *path, char **text, size_t *count)
{
	size_t size, n = 0;
	void *data;
	char **lines;

	if (!read_file(path, &data, &size)) {
		complain(0, "%s: %s", path, strerror(errno));
		return NULL;
	}
	*text = data;
	(*text)[size] = '\0';
	lines = calloc(size + 1, sizeof(*lines));
	for (char *save, *line = lines ? strtok_r(*text, "\r\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\r\n", &save))
		lines[n++] = line;
	*count = n;
	return lines;
}

static int get_output(const struct network *n, unsigned int index, uint64_t image,
		      struct cnnrt_tensor_info *info, void **mem)
{
	struct cnnrt_error err;

	if (!n->batch)
		return checked(cnnrt_job_map(n->job, CNNRT_OUTPUT, index, info, mem, &err), &err);
	*mem = batch_output(n->batch, index, image, info);
	return EXIT_DONE;
}

static int write_outputs(struct network *n)
{
	const struct run_options *o = n->s->opt;
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	int ret = EXIT_DONE;
	void *mem;

	for (unsigned int i = 0; i < o->output.count && !ret; i++) {
		int index = find_io(n, CNNRT_OUTPUT, o->output.at[i].name);
		struct cnn_tensor t;

		ret = get_output(n, (unsigned int)index, 0, &info, &mem);
		if (ret)
			return ret;
		t = tensor_of(&info, mem);
		if (n->batch)
			t.dims[0] = (int64_t)n->images;
		ret = tensor_write(o->output.at[i].file, info.name, &t);
	}
	return ret;
}

static int print_image(const struct network *n, uint64_t image, char *const *labels,
		       size_t label_count)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	unsigned int count = io_count(n, CNNRT_OUTPUT);
	int ret = EXIT_DONE;
	void *mem;

	if (n->batch)
		printf("image %" PRIu64 ":\n", image);
	for (unsigned int i = 0; i < count && !ret; i++) {
		ret = get_output(n, i, image, &info, &mem);
		if (!ret)
			print_output(&info, mem, labels, label_count);
	}
	return ret;
}

static int print_outputs(struct network *n)
{
	char **labels = NULL, *text = NULL;
	size_t label_count = 0;
	int ret = EXIT_DONE;

	if (n->s->opt->labels) {
		labels = read_labels(n->s->opt->labels, &text, &label_count);
		if (!labels)
			ret = EXIT_FAILED;
	}
	for (uint64_t i = 0; i < n->images && !ret; i++)
		ret = print_image(n, i, labels, label_count);
	free(labels);
	free(text);
	return ret;
}

#define FIRST_NS	1000000000u
#define TTY_NS		100000000u	/* between updates of the line */
#define FILE_NS		10000000000u

/* The progress of a compilation that takes more than a second, on standard error. */
struct progress {
	uint64_t next_ns;
	bool tty, shown;
};

static void progress_show(unsigned int done, unsigned int total, void *opaque)
{
	struct progress *p = opaque;
	uint64_t now = now_ns();

	if (now < p->next_ns)
		return;
	fprintf(stderr, p->tty ? "\rcompiling: %u %%" : "compiling: %u %%\n",
		100 * done / (total ? total : 1));
	p->shown = true;
	p->next_ns = now + (p->tty ? TTY_NS : FILE_NS);
}

#define SHAPE_TEXT	(CNNRT_MAX_RANK * 24)

/* "N,3,N,N", with other texts for the first dimension and the others if they are free. */
static void print_shape(const struct cnnrt_tensor_info *info, const char *first, const char *other,
			char *text)
{
	size_t at = 0;

	*text = '\0';
	for (int i = 0; i < info->rank; i++) {
		const char *comma = i ? "," : "", *size = i ? other : first;

		if (info->dims[i] < 0)
			at += (size_t)snprintf(text + at, SHAPE_TEXT - at, "%s%s", comma, size);
		else
			at += (size_t)snprintf(text + at, SHAPE_TEXT - at, "%s%" PRId64, comma,
					       info->dims[i]);
	}
}

/* Which --shape to give for an input whose free dimensions, from first on, are taken as 1. */
static void name_free_dims(const struct cnnrt_tensor_info *info, int first)
{
	char shape[SHAPE_TEXT], example[SHAPE_TEXT];
	int last = info->rank - 1;

	while (last >= first && info->dims[last] >= 0)
		last--;
	if (last < first)
		return;
	print_shape(info, "N", "N", shape);
	/* The first may be the batch: another number than 1 only if no other dimension is free. */
	print_shape(info, last ? "1" : "8", "224", example);
	complain(0, "input %s: each N of %s is free and was taken as 1; give the size that is wanted, "
		 "as in --shape %s=%s", info->name, shape, info->name, example);
}

void name_free_inputs(const struct cnnrt_model *model, bool compiled)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	unsigned int count = cnnrt_model_io_count(model, CNNRT_INPUT);

	for (unsigned int i = 0; i < count; i++)
		if (!cnnrt_model_io(model, CNNRT_INPUT, i, &info, NULL))
			name_free_dims(&info, compiled ? 1 : 0);
}

/* An error without a file's name gets that of the model. */
static int complain_load(const char *model, const struct cnnrt_error *err)
{
	return err->code == CNNRT_EFILE ? complain_error(err) :
					  complain(EXIT_FAILED, "%s: %s", model, err->text);
}

static int load_network(struct network *n)
{
	struct session *s = n->s;
	struct cnnrt_compile_options opt = s->compile;
	struct progress progress;
	struct cnnrt_error err;
	int ret;

	if (cnnrt_model_load(s->opt->model, &n->model, &err))
		return complain_load(s->opt->model, &err);
	ret = set_shapes(n) ?: check_outputs(n) ?: read_inputs(n);
	if (ret)
		return ret;
	progress = (struct progress){ .next_ns = now_ns() + FIRST_NS, .tty = isatty(STDERR_FILENO) };
	opt.progress = progress_show;
	opt.opaque = &progress;
	ret = cnnrt_compile(n->model, s->dev, &opt, &n->program, &err);
	if (progress.shown && progress.tty)
		fputs("\r\033[K", stderr);
	ret = checked(ret, &err);
	name_free_inputs(n->model, !ret);
	return ret;
}

/* Loads a network that was compiled before. */
static int load_program(struct network *n)
{
	struct session *s = n->s;
	struct cnnrt_error err;

	if (s->opt->shape.count || s->opt->core || s->opt->target || s->opt->prefer ||
	    s->opt->precision)
		return complain(EXIT_USAGE, "%s is compiled: --shape, --core, --prefer, --precision "
				"and --target come too late", s->opt->model);
	if (cnnrt_program_load(s->opt->model, s->dev, NULL, &n->program, &err))
		return complain_load(s->opt->model, &err);
	return check_outputs(n) ?: read_inputs(n);
}

static bool is_program(const char *path)
{
	struct stat st;
	char start[16];
	size_t size;
	FILE *f;

	if (stat(path, &st) || !S_ISREG(st.st_mode))	/* opening a FIFO may block */
		return false;
	f = fopen(path, "rbe");
	if (!f)
		return false;
	size = fread(start, 1, sizeof(start), f);
	fclose(f);
	return cnnrt_program_is(start, size);
}

/* An idle device may not be what its user expects; --core and --explain print the reasons. */
static void name_idle_device(const struct network *n)
{
	struct cnnrt_estimate est = { .struct_size = sizeof(est) };
	const struct run_options *o = n->s->opt;

	if (!o->core && !o->explain && !cnnrt_program_estimate(n->program, &est, NULL) &&
	    est.macs_total && !est.macs_device)
		complain(0, "no MAC runs on the device: --explain says why");
}

static int prepare(struct network *n)
{
	struct session *s = n->s;
	struct cnnrt_error err;
	int ret = is_program(s->opt->model) ? load_program(n) : load_network(n);

	if (ret)
		return ret;
	if (s->opt->explain || s->compile.core)
		print_explain(n->program, s->opt->explain ? NULL : s->compile.core);
	print_macs(n->program, s->dev);
	name_idle_device(n);
	if (s->opt->compile)
		return EXIT_DONE;
	name_zeros(n);
	if (s->opt->batch)
		return batch_create(n);
	if (cnnrt_job_create(s->ctx, n->program, &n->job, &err))
		return complain_error(&err);
	return fill_inputs(n, n->job, 0);
}

static void free_network(struct network *n)
{
	batch_free(n->batch);
	cnnrt_job_free(n->job);
	cnnrt_program_free(n->program);
	cnnrt_model_free(n->model);
	for (unsigned int i = 0; i < MAX_FILES; i++) {
		cnn_tensor_release(&n->input[i]);
		free(n->first[i]);
	}
}

int compile_network(struct session *s)
{
	struct network n = { .s = s, .images = 1 };
	struct cnnrt_error err;
	int ret = prepare(&n) ?: checked(cnnrt_program_save(n.program, s->opt->out, &err), &err);

	free_network(&n);
	return ret;
}

static int report_run(struct network *n)
{
	const struct run_options *o = n->s->opt;
	struct report r;
	int ret;

	if (!o->profile && !wants_report(o))
		return EXIT_DONE;
	ret = report_open(&r, o->model, n->program, n->s->dev,
			  n->batch ? batch_last_job(n->batch) : n->job);
	r.command = o->command;
	if (!ret && n->batch)
		printf("The report is of the last image.\n");
	if (!ret && o->print_report)
		report_print(&r);
	for (int kind = 0; kind < REPORT_KINDS && !ret; kind++)
		if (o->report[kind])
			ret = report_write(&r, o->report[kind]);
	if (!ret && o->profile)
		ret = profile_write(&r, o->profile);
	report_close(&r);
	return ret;
}

/* Compiles without observe: memory is reused and values stay on chip. */
static int compare_plain(struct network *n)
{
	struct cnnrt_compile_options opt = n->s->compile;
	struct network plain = *n;
	struct cnnrt_error err;
	int ret;

	opt.observe = false;
	plain.program = NULL;
	plain.job = NULL;
	ret = checked(cnnrt_compile(n->model, n->s->dev, &opt, &plain.program, &err), &err) ?:
	      checked(cnnrt_job_create(n->s->ctx, plain.program, &plain.job, &err), &err) ?:
	      fill_inputs(&plain, plain.job, 0) ?: run_job(plain.job) ?:
	      compare_outputs(n->job, plain.job, io_count(n, CNNRT_OUTPUT), n->s->opt);
	cnnrt_job_free(plain.job);
	cnnrt_program_free(plain.program);
	return ret;
}

int run_network(struct session *s)
{
	struct network n = { .s = s, .images = 1 };
	int ret = prepare(&n);

	if (!ret && s->opt->compare)
		ret = compare_layers(n.job, s->opt) ?: (n.model ? compare_plain(&n) : EXIT_DONE);
	else if (!ret)
		ret = run_all(&n) ?: print_outputs(&n) ?: write_outputs(&n) ?: report_run(&n);
	free_network(&n);
	return ret;
}
