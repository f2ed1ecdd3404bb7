/* SPDX-License-Identifier: MIT */
/* Runs a program for a report of all cores, and collects what it took. */
#include "cnnrun.h"
#include "cores_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cnnacc_hw.h>

/* Bytes from and to on-chip memories since the device was opened; false: not for this user. */
static bool read_local(const struct cores_report *r, unsigned int core, uint64_t *bytes)
{
	static const size_t at[] = {
		offsetof(struct cnnacc_stats, local_read_bytes),
		offsetof(struct cnnacc_stats, local_write_bytes),
	};
	uint32_t base = r->core[core].queue_offset + CNNACC_QREG_STATS, lo, hi;

	*bytes = 0;
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		if (cnnrt_device_reg_read(r->dev, base + (uint32_t)at[i], &lo, NULL) ||
		    cnnrt_device_reg_read(r->dev, base + (uint32_t)at[i] + 4, &hi, NULL))
			return false;
		*bytes += (uint64_t)hi << 32 | lo;
	}
	return true;
}

static bool read_all_local(const struct cores_report *r, uint64_t *bytes)
{
	bool known = true;

	for (unsigned int i = 0; i < r->info.core_count; i++)
		known &= read_local(r, i, &bytes[i]);
	return known;
}

/*
 * Signal is only what differs between the samples: a network that gives nearly the same answer for
 * all of them would otherwise seem exact in any format.
 */
static void measure_noise(const struct cores_report *r, const struct cnn_tensor *answers,
			  struct cores_accuracy *a)
{
	int64_t samples = answers->dims[0], elements = answers->dims[1];
	const float *want = r->answers.data, *got = answers->data;

	for (int64_t e = 0; e < elements; e++) {
		double mean = 0;

		for (int64_t s = 0; s < samples; s++)
			mean += (double)want[s * elements + e] / (double)samples;
		for (int64_t s = 0; s < samples; s++) {
			double y = (double)want[s * elements + e];
			double d = (double)got[s * elements + e] - y;

			a->signal += (y - mean) * (y - mean);
			a->noise += d * d;
		}
	}
}

static int compare_answers(const struct cores_report *r, const struct cnnrt_program *p,
			   const struct cnn_tensor *answers, struct cores_accuracy *a)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_error err;

	if (answers->dims[1] != r->answers.dims[1])
		return complain(EXIT_FAILED, "%s: the outputs of its variants differ in size",
				r->o->model);
	if (cnnrt_program_io(p, CNNRT_OUTPUT, 0, &info, &err))
		return complain_error(&err);
	a->samples = answers->dims[0];
	a->scores = info.rank > 0 && answers->dims[1] > 1 &&
		    info.dims[info.rank - 1] == answers->dims[1];
	a->same = count_same(answers, &r->answers);
	a->right = r->labels.data ? count_right(answers, &r->labels) : 0;
	measure_noise(r, answers, a);
	return EXIT_DONE;
}

/* Runs the test samples, or once with inputs that are 0. */
static int run(const struct cores_report *r, const struct cnnrt_program *p, struct cnnrt_job *job,
	       struct cores_row *row)
{
	struct cnn_tensor answers = { 0 };
	struct cnnrt_error err;
	int ret;

	if (!r->test.data)
		return checked(cnnrt_job_submit(job, -1, NULL, &err) ?:
			       cnnrt_job_wait(job, -1, &err), &err);
	ret = run_samples(job, &r->test, r->o->model, &answers) ?:
	      compare_answers(r, p, &answers, &row->accuracy);
	cnn_tensor_release(&answers);
	return ret;
}

static int run_counted(const struct cores_report *r, const struct cnnrt_program *p,
		       struct cnnrt_job *job, struct cores_row *row)
{
	uint64_t before[CNNRT_MAX_CORES], after[CNNRT_MAX_CORES];
	uint64_t runs = r->test.data ? (uint64_t)r->test.dims[0] : 1;
	int ret;

	row->local_known = read_all_local(r, before);
	ret = run(r, p, job, row);
	row->local_known &= read_all_local(r, after);
	for (unsigned int i = 0; row->local_known && i < r->info.core_count; i++) {
		row->use[i].local = (after[i] - before[i]) / runs;
		row->local += row->use[i].local;
	}
	return ret;
}

static struct cores_reason *find_reason(struct cores_row *row, const char *op, const char *why)
{
	for (unsigned int i = 0; i < row->reason_count; i++)
		if (!strcmp(row->reasons[i].op, op) && !strcmp(row->reasons[i].why, why))
			return &row->reasons[i];
	if (row->reason_count == CORES_REASONS)
		return NULL;
	return &row->reasons[row->reason_count++];
}

static bool add_reason(struct cores_row *row, const struct report_layer *l)
{
	struct cores_reason *why = find_reason(row, l->op, l->reason);

	if (!why) {
		row->reasons_left_off = true;
		return true;
	}
	why->macs += l->macs;
	if (why->count++)
		return true;
	why->op = strdup(l->op);
	why->name = strdup(l->name);
	why->why = strdup(l->reason);
	return why->op && why->name && why->why;
}

/* Adds one layer to the row; false: out of memory. */
static bool add_layer(struct cores_row *row, const struct report_layer *l)
{
	row->ops_ns += l->cost_ns;
	if (l->core >= 0) {
		row->use[l->core].macs += l->macs;
		report_add_cost(&row->use[l->core].cost, &l->cost);
		return true;
	}
	row->cpu_ops++;
	row->cpu_ns += l->cost_ns;
	row->cpu_bytes += report_moved(&l->cost);
	return add_reason(row, l);
}

static int summarise(struct cores_row *row, const struct report *layers)
{
	row->reasons = calloc(CORES_REASONS, sizeof(*row->reasons));
	if (!row->reasons)
		return complain(EXIT_FAILED, "out of memory");
	for (unsigned int i = 0; i < layers->layer_count; i++)
		if (!add_layer(row, &layers->layers[i]))
			return complain(EXIT_FAILED, "out of memory");
	row->est = layers->est;
	row->macs = layers->total_macs;
	row->cost = layers->total;
	return EXIT_DONE;
}

int cores_measure(struct cores_report *r, const struct cnnrt_program *p, struct cores_row *row)
{
	struct report layers = { 0 };
	struct cnnrt_job *job = NULL;
	struct cnnrt_error err;
	int ret;

	if (cnnrt_job_create(r->ctx, p, &job, &err))
		return complain_error(&err);
	ret = run_counted(r, p, job, row);
	if (!ret) {
		ret = report_open(&layers, r->o->model, p, r->dev, job) ?:
		      summarise(row, &layers);
		report_close(&layers);
	}
	cnnrt_job_free(job);
	return ret;
}
