/* SPDX-License-Identifier: MIT */
#include "spread.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct runner {
	struct cnnrt_device *dev;
	const struct cnnrt_program *program;
	pthread_barrier_t *start;
	pthread_t thread;
	struct spread sum;
	struct cnnrt_error err;
	int ret;
};

static void add_step(const struct cnnrt_step *step, void *opaque)
{
	struct spread *sum = opaque;

	if (step->core < 0)
		return;
	sum->cycles[step->core] += step->cycles;
	sum->jobs[step->core]++;
}

static void *run(void *arg)
{
	struct runner *r = arg;
	struct cnnrt_context *ctx = NULL;
	struct cnnrt_job *job = NULL;

	r->ret = cnnrt_context_create(r->dev, CNNRT_PRIORITY_NORMAL, &ctx, &r->err);
	if (!r->ret)
		r->ret = cnnrt_job_create(ctx, r->program, &job, &r->err);
	pthread_barrier_wait(r->start);
	if (!r->ret)
		r->ret = cnnrt_job_submit(job, -1, NULL, &r->err);
	if (!r->ret)
		r->ret = cnnrt_job_wait(job, -1, &r->err);
	if (!r->ret)
		r->ret = cnnrt_job_profile(job, add_step, &r->sum, &r->err);
	cnnrt_job_free(job);
	cnnrt_context_destroy(ctx);
	return NULL;
}

int spread_run(struct cnnrt_device *dev, const struct cnnrt_program *program, int threads,
	       struct spread *sum)
{
	struct runner *r = calloc((size_t)threads, sizeof(*r));
	pthread_barrier_t start;
	int ret = 0;

	if (!r)
		abort();
	pthread_barrier_init(&start, NULL, (unsigned int)threads);
	for (int i = 0; i < threads; i++) {
		r[i] = (struct runner){ .dev = dev, .program = program, .start = &start };
		if (pthread_create(&r[i].thread, NULL, run, &r[i]))
			abort();
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(r[i].thread, NULL);
		if (r[i].ret) {
			fprintf(stderr, "run %d: %s\n", i, r[i].err.text);
			ret = -1;
		}
		for (int c = 0; c < SPREAD_CORES; c++) {
			sum->cycles[c] += r[i].sum.cycles[c];
			sum->jobs[c] += r[i].sum.jobs[c];
		}
	}
	pthread_barrier_destroy(&start);
	free(r);
	return ret;
}

uint64_t spread_end(const struct spread *sum)
{
	uint64_t most = 0;

	for (int c = 0; c < SPREAD_CORES; c++)
		most = sum->cycles[c] > most ? sum->cycles[c] : most;
	return most;
}

int spread_used(const struct spread *sum)
{
	int used = 0;

	for (int c = 0; c < SPREAD_CORES; c++)
		used += sum->jobs[c] > 0;
	return used;
}
