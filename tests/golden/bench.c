// SPDX-License-Identifier: MIT
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "fp32.h"

static bool differ(const char *what, uint64_t model, uint64_t golden)
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
	bool bad = differ("class", c->status_class, g->status.status_class);

	bad |= differ("code", c->status_code, g->status.status_code);
	bad |= differ("pc", c->pc, g->status.pc);
	bad |= differ("detail", c->detail, g->status.detail);
	bad |= differ("access", c->access, g->status.access);
	bad |= differ("fault va", c->fault_va, g->status.fault_va);
	bad |= differ("cycles", c->cycles, g->cycles);
	bad |= differ("context", c->ctx_id, job->packet.ctx_id);
	return bad;
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
	return "no VA: a table or not the job's";
}

static bool compare_memory(struct bench *bench, struct job *job, bool all)
{
	unsigned int pages = all ? IMAGE_PAGES : job->space.used, bad = 0;

	for (unsigned int i = 0; i < pages; i++) {
		uint32_t page = all ? i : job->space.order[i];

		if (compare_page(bench, page) && bad++ < 4) {
			bench->image.hole_length = 0;
			printf("mismatch: that page is %s\n", va_of_page(job, page));
		}
	}
	return bad;
}

static bool compare_group(struct host *host, const char *name, uint32_t offset,
			  const uint32_t golden[CNNACC_CCP_GPRS])
{
	bool bad = false;

	for (unsigned int i = 0; i < CNNACC_CCP_GPRS; i++)
		bad |= differ(name, host_read(host, offset + 4 * i), golden[i]);
	return bad;
}

static bool compare_window(struct bench *bench, unsigned int core)
{
	const struct golden_ccp_regs *regs = golden_ccp_regs(bench->ccp[core]);
	struct host *host = &bench->host;
	uint32_t window = host->queue[core].window;
	bool bad = differ("window pc", host_read(host, window + CNNACC_CCP_REG_PC), regs->pc);

	bad |= differ("window state", host_read(host, window + CNNACC_CCP_REG_STATE) & 15,
		      CNNACC_CCP_WAIT);
	bad |= differ("bank select", host_read(host, window + CNNACC_CCP_REG_BANK_SEL),
		      regs->bank_select);
	bad |= compare_group(host, "R", window + CNNACC_CCP_REG_GPR(0), regs->gpr);
	bad |= compare_group(host, "conv group 0", window + CNNACC_CCP_REG_CONV0(0), regs->conv0);
	bad |= compare_group(host, "conv group 1", window + CNNACC_CCP_REG_CONV1(0), regs->conv1);
	bad |= compare_group(host, "pool group", window + CNNACC_CCP_REG_POOL0(0), regs->pool0);
	bad |= compare_group(host, "pad group", window + CNNACC_CCP_REG_PAD0(0), regs->pad0);
	bad |= compare_group(host, "fc group", window + CNNACC_CCP_REG_FC0(0), regs->fc0);
	return bad;
}

static bool compare_queue(struct bench *bench, unsigned int core, const struct job *job,
			  const struct golden_result *g)
{
	struct host *host = &bench->host;
	uint32_t block = host->queue[core].block;
	bool bad = false;

	if (g->ran)
		bad |= differ("CONTEXT", host_read(host, block + CNNACC_QREG_CONTEXT),
			      job->packet.ctx_id);
	if (g->status.status_class == CNNACC_STATUS_OK)
		return bad;
	bad |= differ("STATUS", host_read(host, block + CNNACC_QREG_STATUS),
		      (uint32_t)g->status.status_class << 16 | g->status.status_code);
	bad |= differ("STATUS_PC", host_read(host, block + CNNACC_QREG_STATUS_PC), g->status.pc);
	bad |= differ("STATUS_VA", host_read64(host, block + CNNACC_QREG_STATUS_VA_LO),
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
		bad |= differ(names[i], host_read64(&bench->host, block + 8 * i), golden[i]);
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

void bench_open(struct bench *bench, const char *cores, const char *simd)
{
	host_open(&bench->host, cores, simd);
	bench->image.bytes = calloc(1, IMAGE_BYTES);
	if (!bench->image.bytes)
		exit(2);
	for (unsigned int core = 0; core < bench->host.core_count; core++) {
		struct host_queue *q = &bench->host.queue[core];

		bench->ccp[core] = golden_ccp_create(&q->params);
		if (!bench->ccp[core])
			exit(2);
		golden_ccp_core(bench->ccp[core], &bench->shell[core].core);
		bench->shell[core].core.job_cycles_max = q->job_cycles_max;
		bench->shell[core].bus = image_bus(&bench->image);
	}
}

void bench_close(struct bench *bench)
{
	for (unsigned int core = 0; core < bench->host.core_count; core++)
		golden_ccp_destroy(bench->ccp[core]);
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
	return host_reset_core(&bench->host, core);
}

/* Everything that one finished job leaves behind, on both sides. */
static bool compare_job(struct bench *bench, struct bench_run *run,
			const struct cnnacc_completion *completion, bool all_memory)
{
	const struct golden_result *golden = &run->golden;
	bool bad = compare_completion(run->job, completion, golden);

	bad |= compare_memory(bench, run->job, all_memory);
	bad |= compare_queue(bench, run->core, run->job, golden);
	if (golden->ran) {
		bad |= compare_window(bench, run->core);
		add_stats(&bench->total[run->core], &golden->stats);
	}
	if (golden->status.status_class != CNNACC_STATUS_OK && !bench_reset_core(bench, run->core)) {
		printf("mismatch: core reset does not end\n");
		bad = true;
	}
	return !bad;
}

/* Memory and translations of a job that is about to run. */
static bool prepare(struct bench *bench, const struct bench_run *run)
{
	uint32_t ctx_id = run->job->packet.ctx_id;

	copy_job(bench, run->job);
	/* A bad packet may carry an id that is none. */
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
		host_jobs[i] = (struct host_job){ runs[i].core, &runs[i].job->packet,
						  &completion[i] };
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
	for (unsigned int i = 0; i < count; i++)
		good &= compare_job(bench, &runs[i], &completion[i], all_memory);
	return good;
}
