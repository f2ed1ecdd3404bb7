// SPDX-License-Identifier: MIT
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "words.h"

bool bench_differ(const char *what, uint64_t model, uint64_t golden)
{
	if (model == golden)
		return false;
	printf("mismatch: %s: model %llx golden %llx\n", what, (unsigned long long)model,
	       (unsigned long long)golden);
	return true;
}

static bool compare_completion(const struct job *job, const struct cnnacc_completion *c,
			       const struct golden_result *g)
{
	bool bad = bench_differ("class", c->status_class, g->status.status_class);

	bad |= bench_differ("code", c->status_code, g->status.status_code);
	bad |= bench_differ("pc", c->pc, g->status.pc);
	bad |= bench_differ("detail", c->detail, g->status.detail);
	bad |= bench_differ("access", c->access, g->status.access);
	bad |= bench_differ("fault va", c->fault_va, g->status.fault_va);
	bad |= bench_differ("cycles", c->cycles, g->cycles);
	bad |= bench_differ("context", c->ctx_id, job->packet.ctx_id);
	return bad;
}

/* The class of a core's code is that of the code's table. */
static bool compare_class(const struct bench_kind *kind, const struct cnnacc_completion *c)
{
	uint32_t found = c->status_class == CNNACC_STATUS_BUS_ERROR ? CNNACC_STATUS_MMU_FAULT :
								       c->status_class;

	if (c->status_code < CNNACC_CODE_CORE)
		return false;
	for (size_t i = 0; i < sizeof(kind->codes) / sizeof(kind->codes[0]); i++)
		for (size_t k = 0; k < kind->codes[i].count; k++) {
			const struct cnnacc_code_info *info = &kind->codes[i].list[k];

			if (info->code == c->status_code)
				return bench_differ(info->name, found, info->status_class);
		}
	printf("mismatch: code %u is in no table\n", c->status_code);
	return true;
}

static bool compare_page(struct bench *bench, uint32_t page)
{
	uint64_t offset = (uint64_t)page * CNNACC_PAGE_SIZE;
	const uint8_t *model = bench->host.image.bytes + offset;
	const uint8_t *golden = bench->image.bytes + offset;

	if (!memcmp(model, golden, CNNACC_PAGE_SIZE))
		return false;
	for (int64_t i = 0; i < CNNACC_PAGE_SIZE / 4; i++) {
		if (word_get(model, i) == word_get(golden, i))
			continue;
		printf("mismatch: memory at bus %llx: model %08x golden %08x\n",
		       (unsigned long long)(IMAGE_BASE + offset + 4 * i), word_get(model, i),
		       word_get(golden, i));
		break;
	}
	return true;
}

static const char *va_of_page(struct job *job, uint32_t page)
{
	static char text[32];

	for (uint64_t va = 0; va < 1ull << 32; va += CNNACC_PAGE_SIZE) {
		const uint8_t *entry = space_page_entry(&job->space, va);

		if (!entry) {
			va |= (1u << 22) - CNNACC_PAGE_SIZE;
		} else if (word_get(entry, 0) >> 4 ==
			   (IMAGE_BASE >> CNNACC_PAGE_SHIFT) + page) {
			snprintf(text, sizeof(text), "VA %08llx", (unsigned long long)va);
			return text;
		}
	}
	return "not mapped: a page table, or a page of no job";
}

static bool compare_memory(struct bench *bench, struct job *job, bool all)
{
	unsigned int pages = all ? IMAGE_PAGES : job->space.used, bad = 0;

	for (unsigned int i = 0; i < pages; i++) {
		uint32_t page = all ? i : job->space.order[i];

		if (compare_page(bench, page) && bad++ < 4) {
			bench->image.hole_length = 0;
			printf("mismatch: that page: %s\n", va_of_page(job, page));
		}
	}
	return bad;
}

static bool compare_queue(struct bench *bench, unsigned int core, const struct job *job,
			  const struct golden_result *g)
{
	struct host *host = &bench->host;
	uint32_t block = host->queue[core].block;
	bool bad = bench_differ("EVENT_COUNT", host_read(host, block + CNNACC_QREG_EVENT_COUNT),
				bench->events[core]);

	if (g->ran)
		bad |= bench_differ("CONTEXT", host_read(host, block + CNNACC_QREG_CONTEXT),
			      job->packet.ctx_id);
	if (g->status.status_class == CNNACC_STATUS_OK)
		return bad;
	bad |= bench_differ("STATUS", host_read(host, block + CNNACC_QREG_STATUS),
		      (uint32_t)g->status.status_class << 16 | g->status.status_code);
	bad |= bench_differ("STATUS_PC", host_read(host, block + CNNACC_QREG_STATUS_PC),
			    g->status.pc);
	bad |= bench_differ("STATUS_VA", host_read64(host, block + CNNACC_QREG_STATUS_VA_LO),
		      g->status.fault_va);
	return bad;
}

bool bench_compare_totals(struct bench *bench, unsigned int core)
{
	static const char *const names[] = CNNACC_STATS_NAMES;
	uint32_t block = bench->host.queue[core].block + CNNACC_QREG_STATS;
	uint64_t golden[sizeof(struct cnnacc_stats) / 8];
	bool bad = false;

	memcpy(golden, &bench->total[core], sizeof(golden));
	for (unsigned int i = 0; i < sizeof(golden) / 8; i++)
		bad |= bench_differ(names[i], host_read64(&bench->host, block + 8 * i), golden[i]);
	return bad;
}

/* ---------------------------------------------------------------- running */

static void add_stats(struct cnnacc_stats *total, const struct cnnacc_stats *stats)
{
	uint64_t a[sizeof(*total) / 8], b[sizeof(*total) / 8];

	memcpy(a, total, sizeof(a));
	memcpy(b, stats, sizeof(b));
	for (unsigned int i = 0; i < sizeof(a) / 8; i++)
		a[i] += b[i];
	memcpy(total, a, sizeof(a));
}

void bench_open(struct bench *bench, const struct bench_kind *kind, const char *cores,
		const char *simd)
{
	bench->kind = kind;
	host_open(&bench->host, cores, simd);
	bench->image.bytes = calloc(1, IMAGE_BYTES);
	if (!bench->image.bytes)
		exit(2);
	for (unsigned int core = 0; core < bench->host.core_count; core++) {
		struct host_queue *q = &bench->host.queue[core];

		bench->model[core] = kind->create(&q->entry, &bench->shell[core].core);
		if (!bench->model[core]) {
			fprintf(stderr, "golden: no golden model of core %u of %s\n", core,
				cores);
			exit(2);
		}
		bench->shell[core].core.job_cycles_max = q->job_cycles_max;
		bench->shell[core].bus = image_bus(&bench->image);
	}
}

void bench_close(struct bench *bench)
{
	for (unsigned int core = 0; core < bench->host.core_count; core++)
		bench->kind->destroy(bench->model[core]);
	host_close(&bench->host);
	free(bench->image.bytes);
}

/* The job's pages, as built for the golden model, into the device's RAM. */
static void copy_job(struct bench *bench, const struct job *job)
{
	for (unsigned int i = 0; i < job->space.used; i++) {
		uint64_t offset = (uint64_t)job->space.order[i] * CNNACC_PAGE_SIZE;

		memcpy(bench->host.image.bytes + offset, bench->image.bytes + offset,
		       CNNACC_PAGE_SIZE);
	}
	bench->host.image.hole = bench->image.hole;
	bench->host.image.hole_length = bench->image.hole_length;
}

bool bench_reset_core(struct bench *bench, unsigned int core)
{
	golden_shell_reset(&bench->shell[core]);
	bench->events[core] = 0;
	return host_reset_core(&bench->host, core);
}

/* An event suspends a program only if its packet has EVENT_WAIT. */
static bool compare_acks(const struct bench_run *run, const struct host_job *job)
{
	bool waits = run->job->packet.flags & CNNACC_PACKET_EVENT_WAIT;
	bool bad = bench_differ("suspensions", job->acks, waits ? run->golden.status.events : 0);

	if (waits)
		bad |= bench_differ("PC and EVENT when suspended", job->trace,
				    run->golden.status.event_trace);
	return bad;
}

/* Compare completion, memory, registers and totals after a job. */
static bool compare_job(struct bench *bench, struct bench_run *run,
			const struct cnnacc_completion *completion, bool all_memory)
{
	const struct golden_result *golden = &run->golden;
	bool bad = compare_completion(run->job, completion, golden);

	bench->events[run->core] += golden->status.events;
	bad |= compare_class(bench->kind, completion);
	bad |= compare_memory(bench, run->job, all_memory);
	bad |= compare_queue(bench, run->core, run->job, golden);
	if (golden->ran) {
		bad |= bench->kind->compare_window(&bench->host,
						   bench->host.queue[run->core].window,
						   bench->model[run->core]);
		add_stats(&bench->total[run->core], &golden->stats);
	}
	if (golden->status.status_class != CNNACC_STATUS_OK && !bench_reset_core(bench, run->core)) {
		printf("mismatch: core reset does not end\n");
		bad = true;
	}
	return !bad;
}

/* Copy a job to the device and invalidate the translations of its context id. */
static bool prepare(struct bench *bench, const struct bench_run *run)
{
	uint32_t ctx_id = run->job->packet.ctx_id;

	copy_job(bench, run->job);
	/* A bad packet may carry an id out of range, which INVALIDATE cannot take. */
	if (ctx_id > 65535)
		return true;
	for (unsigned int core = 0; run->retire && core < bench->host.core_count; core++)
		golden_shell_retire(&bench->shell[core], ctx_id);
	if (host_invalidate(&bench->host, ctx_id | (run->retire ? CNNACC_INVALIDATE_RETIRE : 0)))
		return true;
	printf("mismatch: INVALIDATE does not complete\n");
	return false;
}

bool bench_run(struct bench *bench, struct bench_run *runs, unsigned int count, bool all_memory)
{
	struct cnnacc_completion completion[BENCH_RUNS];
	struct host_job host_jobs[BENCH_RUNS];
	const char *wrong;
	bool good = true;

	for (unsigned int i = 0; i < count; i++) {
		if (!prepare(bench, &runs[i]))
			return false;
		host_jobs[i] = (struct host_job){
			.core = runs[i].core, .packet = &runs[i].job->packet,
			.completion = &completion[i],
		};
	}
	for (unsigned int i = 0; i < count; i++)
		golden_shell_run(&bench->shell[runs[i].core], &runs[i].job->packet,
				 &runs[i].golden);
	wrong = count == 1 ? host_run(&bench->host, &host_jobs[0]) :
			     host_run_together(&bench->host, host_jobs, count);
	if (wrong) {
		printf("mismatch: %s\n", wrong);
		return false;
	}
	for (unsigned int i = 0; i < count; i++) {
		good &= !compare_acks(&runs[i], &host_jobs[i]);
		good &= compare_job(bench, &runs[i], &completion[i], all_memory);
	}
	return good;
}
