/* SPDX-License-Identifier: MIT */
/* Collects what --report and --profile show. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define COST(name, member)	{ name, offsetof(struct cnnrt_cost, member) }

/* The figures of a cost, uint64_t each, under their names in JSON. */
static const struct {
	const char *name;
	size_t offset;
} costs[] = {
	COST("cycles", cycles), COST("compute_cycles", compute), COST("stall_cycles", stall),
	COST("control_cycles", control), COST("dma_program_cycles", dma_program),
	COST("dma_weights_cycles", dma_weights), COST("dma_data_cycles", dma_data),
	COST("mac_slots", mac_slots), COST("mac_useful", mac_useful), COST("mac_peak", mac_peak),
	COST("read_program_bytes", read_program), COST("read_weights_bytes", read_weights),
	COST("read_data_bytes", read_data), COST("written_bytes", written),
	COST("min_weights_bytes", min_weights), COST("min_input_bytes", min_input),
	COST("min_output_bytes", min_output),
};

static uint64_t *cost_at(struct cnnrt_cost *c, size_t i)
{
	return (uint64_t *)(void *)((char *)c + costs[i].offset);
}

void report_json_cost(struct json *j, const struct cnnrt_cost *c)
{
	struct cnnrt_cost copy = *c;

	for (size_t i = 0; i < ARRAY_SIZE(costs); i++)
		json_u64(j, costs[i].name, *cost_at(&copy, i));
}

void report_add_cost(struct cnnrt_cost *to, const struct cnnrt_cost *c)
{
	struct cnnrt_cost copy = *c;

	for (size_t i = 0; i < ARRAY_SIZE(costs); i++)
		*cost_at(to, i) += *cost_at(&copy, i);
}

/* Room for one more in a list; false, and the report has failed, if there is none. */
static bool grow(struct report *r, void *list, size_t *cap, size_t count, size_t size)
{
	size_t want = *cap ? 2 * *cap : 64;
	void **data = list, *more;

	if (r->failed || count < *cap)
		return !r->failed;
	more = reallocarray(*data, want, size);
	r->failed = !more;
	if (more) {
		*data = more;
		*cap = want;
	}
	return more;
}

static char *cleaned(const char *text)
{
	size_t len = strlen(text) + 1;
	char *copy = malloc(len);

	if (copy)
		clean(text, copy, len);
	return copy;
}

static void add_layer(const struct cnnrt_op_report *op, void *opaque)
{
	struct report *r = opaque;
	struct report_layer *l;

	if (!grow(r, &r->layers, &r->layer_cap, r->layer_count, sizeof(*r->layers)))
		return;
	l = &r->layers[r->layer_count++];
	*l = (struct report_layer){
		.index = op->index, .op = cleaned(op->op), .name = cleaned(op->name),
		.place = cleaned(op->place), .core = op->core, .macs = op->macs, .cost = *op->cost,
		.next_place = cleaned(op->next_place), .cost_ns = op->cost_ns,
		.next_ns = op->next_ns, .reason = cleaned(op->reason),
	};
	r->failed = !l->op || !l->name || !l->place || !l->next_place || !l->reason;
}

static void add_span(const struct cnnrt_span *span, void *opaque)
{
	struct report *r = opaque;

	if (!grow(r, &r->spans, &r->span_cap, r->span_count, sizeof(*r->spans)))
		return;
	r->spans[r->span_count++] = *span;
	/* The core's row has no gaps: the last span ends the task. */
	r->tasks[span->task].core = span->core;
	if (span->end > r->tasks[span->task].cycles)
		r->tasks[span->task].cycles = span->end;
}

static void add_step(const struct cnnrt_step *step, void *opaque)
{
	struct report *r = opaque;
	struct report_layer *l;

	if (!grow(r, &r->steps, &r->step_cap, r->step_count, sizeof(*r->steps)))
		return;
	l = &r->layers[r->by_op[step->op]];
	r->steps[r->step_count] = *step;
	r->steps[r->step_count].name = l->name;
	r->steps[r->step_count].place = l->place;
	r->step_count++;
	r->run_ns = step->end_ns;
	r->scrub_cycles += step->scrub_cycles;
	if (step->kind == CNNRT_STEP_COPY)
		r->copy_ns += step->end_ns - step->start_ns;
	if (step->kind != CNNRT_STEP_OP)
		return;
	l->host_ns += step->end_ns - step->start_ns;
	r->cpu_ns += step->end_ns - step->start_ns;
	r->cpu_ops++;
}

static void add_up(struct report *r)
{
	uint64_t end[CNNRT_MAX_CORES] = { 0 };

	for (unsigned int i = 0; i < r->layer_count; i++) {
		if (r->layers[i].core < 0)
			continue;
		r->total_macs += r->layers[i].macs;
		report_add_cost(&r->total, &r->layers[i].cost);
	}
	for (unsigned int i = 0; i < r->est.tasks; i++) {
		r->tasks[i].start = end[r->tasks[i].core];
		end[r->tasks[i].core] += r->tasks[i].cycles;
	}
}

static bool index_layers(struct report *r)
{
	r->by_op = calloc(r->layer_count + 1, sizeof(*r->by_op));
	for (unsigned int i = 0; r->by_op && i < r->layer_count; i++)
		r->by_op[r->layers[i].index] = i;
	return r->by_op;
}

int report_open(struct report *r, const char *model, const struct cnnrt_program *program,
		struct cnnrt_device *dev, struct cnnrt_job *job)
{
	struct cnnrt_error err;

	*r = (struct report){
		.model = model, .dev.struct_size = sizeof(r->dev), .est.struct_size = sizeof(r->est),
	};
	if (cnnrt_device_info(dev, &r->dev, &err) || cnnrt_program_estimate(program, &r->est, &err))
		return complain_error(&err);
	for (unsigned int i = 0; i < r->dev.core_count; i++) {
		r->core[i].struct_size = sizeof(r->core[i]);
		if (cnnrt_device_core(dev, i, &r->core[i], &err))
			return complain_error(&err);
	}
	r->tasks = calloc(r->est.tasks + 1, sizeof(*r->tasks));
	r->failed = !r->tasks;
	cnnrt_program_explain(program, add_layer, r);
	if (r->failed || !index_layers(r))
		return complain(EXIT_FAILED, "out of memory");
	cnnrt_program_spans(program, add_span, r);
	if (cnnrt_job_profile(job, add_step, r, &err))
		return complain_error(&err);
	if (r->failed)
		return complain(EXIT_FAILED, "out of memory");
	add_up(r);
	return EXIT_DONE;
}

void report_close(struct report *r)
{
	for (unsigned int i = 0; i < r->layer_count; i++) {
		free(r->layers[i].op);
		free(r->layers[i].name);
		free(r->layers[i].place);
		free(r->layers[i].next_place);
		free(r->layers[i].reason);
	}
	free(r->layers);
	free(r->by_op);
	free(r->spans);
	free(r->steps);
	free(r->tasks);
}

uint64_t report_moved(const struct cnnrt_cost *c)
{
	return c->read_program + c->read_weights + c->read_data + c->written;
}

uint64_t report_minimum(const struct cnnrt_cost *c)
{
	return c->min_weights + c->min_input + c->min_output;
}

double report_utilisation(uint64_t macs, uint64_t peak)
{
	return peak ? (double)macs / (double)peak : 0;
}

const char *report_bound(const struct cnnrt_cost *c)
{
	uint64_t dma = c->dma_weights + c->dma_data;

	if (c->compute >= dma && c->compute >= c->control)
		return "compute";
	if (c->control > dma)
		return "control";
	return c->dma_weights > c->dma_data ? "weight load" : "data load";
}

bool report_works(const struct report_layer *l)
{
	return l->core < 0 || l->cost.cycles;
}

double report_ms(const struct report *r, uint64_t cycles)
{
	return r->dev.clock_hz ? (double)cycles * 1e3 / r->dev.clock_hz : 0;
}
