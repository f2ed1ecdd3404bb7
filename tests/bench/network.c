/* SPDX-License-Identifier: MIT */
/*
 * bench-network MODEL DEVICE SHAPE INPUT OUTPUT: runs a network with one input and one output
 * of float32.  INPUT and OUTPUT are raw files; SHAPE is 1,3,224,224, or - if MODEL, FILE.cnn, was
 * compiled before.
 *
 * Prints a line for every operator: "op", its place, cycles by the cost model, multiply-adds,
 * bytes, its name, and the operators merged into it, with tabs between.  Then prints "ready", and for every
 * line on stdin runs once and prints the milliseconds from submit to result, those of them in
 * operators on the CPU, in waiting for the device and in copies between the two, and what the
 * device counted: "MS cpu_ms=MS device_ms=MS copy_ms=MS cycles=N ...".  At the end of stdin writes
 * the output.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cnnacc_hw.h>
#include <cnnrt.h>

#define STATS	(sizeof(struct cnnacc_stats) / sizeof(uint64_t))

static const char *const stats_names[] = CNNACC_STATS_NAMES;

struct bench {
	struct cnnrt_device *dev;
	struct cnnrt_model *model;
	struct cnnrt_program *program;
	struct cnnrt_context *ctx;
	struct cnnrt_job *job;
	struct cnnrt_tensor_info in, out;
	void *input;
	uint64_t step_ns[CNNRT_STEP_COPY + 1];	/* of the last run, by kind of step */
};

/* What went wrong in the library, if anything did. */
static struct cnnrt_error err;

static int parse_shape(const char *text, int64_t dims[CNNRT_MAX_RANK])
{
	char *end;
	int rank = 0;

	do {
		dims[rank++] = strtoll(text, &end, 10);
		if (end == text)
			return 0;
		text = end + 1;
	} while (*end == ',' && rank < CNNRT_MAX_RANK);
	return *end ? 0 : rank;
}

/* Every byte of the file, which must be that long; NULL with a message if it is not. */
static void *read_input(const char *path, size_t size)
{
	FILE *in = fopen(path, "re");
	void *data = malloc(size + 1);

	if (!in || !data || fread(data, 1, size + 1, in) != size) {
		fprintf(stderr, "%s: %s\n", path, in ? "not as long as the input" : strerror(errno));
		free(data);
		data = NULL;
	}
	if (in)
		fclose(in);
	return data;
}

static int compile(struct bench *b, const char *path, const char *shape)
{
	int64_t dims[CNNRT_MAX_RANK];
	int rank;

	if (!strcmp(shape, "-"))
		return cnnrt_program_load(path, b->dev, NULL, &b->program, &err);
	rank = parse_shape(shape, dims);
	if (!rank) {
		fprintf(stderr, "%s: not a shape\n", shape);
		return -1;
	}
	return cnnrt_model_load(path, &b->model, &err) ||
	       cnnrt_model_set_input_shape(b->model, 0, rank, dims, &err) ||
	       cnnrt_compile(b->model, b->dev, NULL, &b->program, &err);
}

static int open_bench(struct bench *b, char **argv)
{
	b->in.struct_size = sizeof(b->in);
	b->out.struct_size = sizeof(b->out);
	if (cnnrt_device_open(argv[2], 0, &b->dev, &err) || compile(b, argv[1], argv[3]) ||
	    cnnrt_program_io(b->program, CNNRT_INPUT, 0, &b->in, &err) ||
	    cnnrt_context_create(b->dev, CNNRT_PRIORITY_NORMAL, &b->ctx, &err) ||
	    cnnrt_job_create(b->ctx, b->program, &b->job, &err))
		return -1;
	b->input = read_input(argv[4], b->in.size);
	return b->input ? 0 : -1;
}

static void close_bench(struct bench *b)
{
	free(b->input);
	cnnrt_job_free(b->job);
	cnnrt_context_destroy(b->ctx);
	cnnrt_program_free(b->program);
	cnnrt_model_free(b->model);
	cnnrt_device_close(b->dev);
}

/* The sums over all cores since the device was opened. */
static int read_stats(struct bench *b, uint64_t stats[STATS])
{
	struct cnnrt_device_info info = { .struct_size = sizeof(info) };
	struct cnnrt_core_info core = { .struct_size = sizeof(core) };

	memset(stats, 0, STATS * sizeof(*stats));
	if (cnnrt_device_info(b->dev, &info, &err))
		return -1;
	for (unsigned int i = 0; i < info.core_count; i++) {
		if (cnnrt_device_core(b->dev, i, &core, &err))
			return -1;
		for (size_t s = 0; s < STATS; s++) {
			uint32_t reg = core.queue_offset + CNNACC_QREG_STATS + 8 * (uint32_t)s;
			uint32_t lo, hi;

			if (cnnrt_device_reg_read(b->dev, reg, &lo, &err) ||
			    cnnrt_device_reg_read(b->dev, reg + 4, &hi, &err))
				return -1;
			stats[s] += (uint64_t)hi << 32 | lo;
		}
	}
	return 0;
}

static void print_op(const struct cnnrt_op_report *op, void *opaque)
{
	(void)opaque;
	printf("op\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\n", op->place,
	       op->cost->cycles, op->macs,
	       op->cost->read_weights + op->cost->read_data + op->cost->written, op->name,
	       op->fused);
}

static void add_step(const struct cnnrt_step *step, void *opaque)
{
	struct bench *b = opaque;

	b->step_ns[step->kind] += step->end_ns - step->start_ns;
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int run(struct bench *b)
{
	uint64_t before[STATS], after[STATS];
	double start, ms;
	void *in;

	if (read_stats(b, before) || cnnrt_job_map(b->job, CNNRT_INPUT, 0, NULL, &in, &err))
		return -1;
	memcpy(in, b->input, b->in.size);
	start = now_ms();
	if (cnnrt_job_submit(b->job, -1, NULL, &err) || cnnrt_job_wait(b->job, -1, &err))
		return -1;
	ms = now_ms() - start;
	memset(b->step_ns, 0, sizeof(b->step_ns));
	if (cnnrt_job_profile(b->job, add_step, b, &err) || read_stats(b, after))
		return -1;
	printf("%.4f cpu_ms=%.4f device_ms=%.4f copy_ms=%.4f", ms,
	       (double)b->step_ns[CNNRT_STEP_OP] / 1e6, (double)b->step_ns[CNNRT_STEP_TASKS] / 1e6,
	       (double)b->step_ns[CNNRT_STEP_COPY] / 1e6);
	for (size_t s = 0; s < STATS; s++)
		if (after[s] != before[s])
			printf(" %s=%" PRIu64, stats_names[s], after[s] - before[s]);
	putchar('\n');
	return 0;
}

static int write_output(struct bench *b, const char *path)
{
	FILE *out;
	void *data;
	int ret;

	if (cnnrt_job_map(b->job, CNNRT_OUTPUT, 0, &b->out, &data, &err))
		return -1;
	out = fopen(path, "we");
	ret = out && fwrite(data, 1, b->out.size, out) == b->out.size ? 0 : -1;
	if ((out && fclose(out)) || ret) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct bench b = { 0 };
	char line[16];
	int ret;

	if (argc != 6) {
		fprintf(stderr, "usage: %s MODEL DEVICE SHAPE INPUT OUTPUT\n", argv[0]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	ret = open_bench(&b, argv);
	if (!ret) {
		cnnrt_program_explain(b.program, print_op, NULL);
		puts("ready");
	}
	while (!ret && fgets(line, sizeof(line), stdin))
		ret = run(&b);
	if (!ret)
		ret = write_output(&b, argv[5]);
	if (err.code)
		fprintf(stderr, "bench-network: %s: %s\n", argv[1], err.text);
	close_bench(&b);
	return ret ? 1 : 0;
}
