/* SPDX-License-Identifier: MIT */
/*
 * --profile: writes a run as trace events, for Perfetto and browsers. The host's rows are measured.
 * A core's rows come from the cycle model at the device's clock: the programs of a submission start
 * when the host submits them, or when those of the previous submission end, if that is later.
 */
#include "report.h"

#include <errno.h>
#include <string.h>

enum { PID_HOST = 1, PID_DEVICE = 2 };

/* Rows of the host: what it does, and for each core how long it runs what was submitted. */
#define TID_HOST		1
#define TID_WAIT(core)		(2 + (unsigned int)(core))
/* Rows of the device. */
#define TID_CORE(core)	(2 * (unsigned int)(core) + 1)
#define TID_DMA(core)	(TID_CORE(core) + 1)

static const char *const name_of[] = {
	[CNNRT_CONTROL] = "control", [CNNRT_STALL] = "stall", [CNNRT_COMPUTE] = "compute",
	[CNNRT_DMA_PROGRAM] = "load program", [CNNRT_DMA_WEIGHTS] = "load weights",
	[CNNRT_DMA_LOAD] = "load data", [CNNRT_DMA_STORE] = "store data",
};

struct trace {
	struct json j;
	const struct report *r;
	uint64_t base_ns;	/* of the device's clock: where the current task begins */
	int core;		/* that runs it, which may be another than it was compiled for */
	uint64_t waited_ns[CNNRT_MAX_CORES]; /* the end of a core's last wait */
};

static uint64_t to_ns(const struct trace *t, uint64_t cycles)
{
	uint64_t hz = t->r->dev.clock_hz ? t->r->dev.clock_hz : 1;

	/* Whole seconds first, so that the product does not overflow. */
	return cycles / hz * 1000000000 + cycles % hz * 1000000000 / hz;
}

/* Opens a slice up to its args. */
static void open_slice(struct trace *t, const char *name, const char *category, int pid,
		       unsigned int tid, uint64_t start_ns, uint64_t end_ns)
{
	json_open(&t->j, NULL, '{');
	JSON_MEMBERS(&t->j, TEXT("name", name), TEXT("cat", category), TEXT("ph", "X"),
		     U64("pid", (uint64_t)pid), U64("tid", tid));
	json_micros(&t->j, "ts", start_ns);
	json_micros(&t->j, "dur", end_ns - start_ns);
	json_open(&t->j, "args", '{');
}

static void close_slice(struct trace *t)
{
	json_close(&t->j, '}');
	json_close(&t->j, '}');
}

static void name_row(struct trace *t, const char *what, int pid, unsigned int tid, const char *name)
{
	json_open(&t->j, NULL, '{');
	JSON_MEMBERS(&t->j, TEXT("name", what), TEXT("ph", "M"), U64("pid", (uint64_t)pid),
		     U64("tid", tid));
	JSON_OBJECT(&t->j, "args", TEXT("name", name));
	json_close(&t->j, '}');
}

static void name_rows(struct trace *t)
{
	const struct report *r = t->r;
	char text[256];

	name_row(t, "process_name", PID_HOST, 0, "host, measured");
	name_row(t, "thread_name", PID_HOST, TID_HOST, "operators, copies, submissions");
	snprintf(text, sizeof(text), "%.128s, modelled at %.6g MHz", r->dev.path,
		 r->dev.clock_hz / 1e6);
	name_row(t, "process_name", PID_DEVICE, 0, text);
	for (unsigned int i = 0; i < r->dev.core_count; i++) {
		snprintf(text, sizeof(text), "waits for core %u, %s", i, r->core[i].name);
		name_row(t, "thread_name", PID_HOST, TID_WAIT(i), text);
		snprintf(text, sizeof(text), "core %u, %s", i, r->core[i].name);
		name_row(t, "thread_name", PID_DEVICE, TID_CORE(i), text);
		snprintf(text, sizeof(text), "core %u, DMA", i);
		name_row(t, "thread_name", PID_DEVICE, TID_DMA(i), text);
	}
}

static void put_activity(struct trace *t, const struct cnnrt_span *s, unsigned int tid)
{
	open_slice(t, name_of[s->what], name_of[s->what], PID_DEVICE, tid,
		   t->base_ns + to_ns(t, s->start), t->base_ns + to_ns(t, s->end));
	json_u64(&t->j, "cycles", s->end - s->start);
	if (tid == TID_DMA(t->core))
		json_string(&t->j, "for", t->r->layers[t->r->by_op[s->op]].name);
	close_slice(t);
}

/* The time that a core spends on one layer: spans first..last-1, including the DMA engine's. */
static void put_layer(struct trace *t, size_t first, size_t last, uint64_t end)
{
	const struct cnnrt_span *s = &t->r->spans[first];
	const struct report_layer *l = &t->r->layers[t->r->by_op[s->op]];

	open_slice(t, l->name, "layer", PID_DEVICE, TID_CORE(t->core),
		   t->base_ns + to_ns(t, s->start), t->base_ns + to_ns(t, end));
	JSON_MEMBERS(&t->j, TEXT("op", l->op), U64("index", l->index),
		     U64("cycles", end - s->start), U64("cycles of the layer", l->cost.cycles),
		     U64("MACs of the layer", l->macs));
	json_double(&t->j, "MACs, % of the peak",
		    100 * report_utilisation(l->macs, l->cost.mac_peak));
	JSON_MEMBERS(&t->j, U64("bytes of the layer", report_moved(&l->cost)),
		     U64("least bytes of the layer", report_minimum(&l->cost)),
		     TEXT("bound", report_bound(&l->cost)));
	close_slice(t);
	for (size_t i = first; i < last; i++)
		if (t->r->spans[i].what < CNNRT_DMA_PROGRAM)
			put_activity(t, &t->r->spans[i], TID_CORE(t->core));
}

/* The first span of a task or of one behind it; spans are in the order of tasks. */
static size_t find_span(const struct report *r, unsigned int task)
{
	size_t low = 0, high = r->span_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->spans[middle].task < task)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void put_task(struct trace *t, unsigned int task)
{
	const struct cnnrt_span *s = t->r->spans;
	size_t count = t->r->span_count, at = find_span(t->r, task), first = at, last = at;
	uint64_t end = 0;

	for (; at < count && s[at].task == task; at++) {
		if (s[at].what >= CNNRT_DMA_PROGRAM) {
			put_activity(t, &s[at], TID_DMA(t->core));
			continue;
		}
		if (end && s[at].op != s[first].op) {
			put_layer(t, first, last, end);
			end = 0;
		}
		if (!end)
			first = at;
		end = s[at].end;
		last = at + 1;
	}
	if (end)
		put_layer(t, first, last, end);
}

static void put_device(struct trace *t)
{
	uint64_t free_ns[CNNRT_MAX_CORES] = { 0 };

	for (size_t i = 0; i < t->r->step_count; i++) {
		const struct cnnrt_step *s = &t->r->steps[i];

		if (s->kind != CNNRT_STEP_TASKS)
			continue;
		t->core = s->core;
		t->base_ns = s->start_ns > free_ns[s->core] ? s->start_ns : free_ns[s->core];
		for (unsigned int k = 0; k < s->task_count; k++) {
			put_task(t, s->first_task + k);
			t->base_ns += to_ns(t, t->r->tasks[s->first_task + k].cycles);
		}
		free_ns[s->core] = t->base_ns;
	}
}

/* Two submissions may wait for one core: the second wait begins where the first one ends. */
static void put_tasks(struct trace *t, const struct cnnrt_step *s)
{
	uint64_t *waited = &t->waited_ns[s->core];
	uint64_t start = s->submitted_ns > *waited ? s->submitted_ns : *waited;
	char wait[64];

	open_slice(t, "submit", "submit", PID_HOST, TID_HOST, s->start_ns, s->submitted_ns);
	JSON_MEMBERS(&t->j, U64("programs", s->task_count), TEXT("from", s->name));
	close_slice(t);
	snprintf(wait, sizeof(wait), "wait for core %d, %.32s", s->core, s->place);
	*waited = s->end_ns > start ? s->end_ns : start;
	open_slice(t, wait, "wait", PID_HOST, TID_WAIT(s->core), start, *waited);
	JSON_MEMBERS(&t->j, U64("programs", s->task_count),
		     U64("cycles counted by the device", s->cycles),
		     U64("of them clearing what another process left", s->scrub_cycles));
	close_slice(t);
}

static void put_step(struct trace *t, const struct cnnrt_step *s)
{
	const struct report_layer *l = &t->r->layers[t->r->by_op[s->op]];

	if (s->kind == CNNRT_STEP_TASKS) {
		put_tasks(t, s);
	} else if (s->kind == CNNRT_STEP_COPY) {
		open_slice(t, "copies", "copy", PID_HOST, TID_HOST, s->start_ns, s->end_ns);
		json_string(&t->j, "at", l->name);
		close_slice(t);
	} else {
		open_slice(t, l->name, "operator", PID_HOST, TID_HOST, s->start_ns, s->end_ns);
		JSON_MEMBERS(&t->j, TEXT("op", l->op), U64("index", l->index),
			     U64("MACs", l->macs));
		close_slice(t);
	}
}

int profile_write(const struct report *r, const char *path)
{
	struct trace t = { .j.out = fopen(path, "we"), .r = r };

	if (!t.j.out)
		return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
	json_open(&t.j, NULL, '{');
	json_string(&t.j, "displayTimeUnit", "ns");
	json_open(&t.j, "traceEvents", '[');
	name_rows(&t);
	for (size_t i = 0; i < r->step_count; i++)
		put_step(&t, &r->steps[i]);
	put_device(&t);
	json_close(&t.j, ']');
	json_close(&t.j, '}');
	return close_file(t.j.out, path);
}
