// SPDX-License-Identifier: MIT
#include "lower_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../golden/ccp/ccp.h"
#include "ops/cpu.h"
#include "../lower_costs.h"

static char message[512];

static uint32_t or_default(uint32_t value, uint32_t def)
{
	return value ? value : def;
}

struct cnnrt_core_info lower_core(uint32_t data_bank, uint32_t weight_bank, uint32_t icache, uint32_t lob)
{
	struct cnnrt_core_info core = {
		.name = "ccp",
		.program_max = or_default(icache, CNNACC_CCP_ICACHE_DEFAULT),
		.job_cycles_max = 1ull << 40,
	};

	core.param[CNNACC_CCP_PARAM_DATA_BANK] = or_default(data_bank, CNNACC_CCP_DATA_BANK_DEFAULT);
	core.param[CNNACC_CCP_PARAM_WEIGHT_BANK] =
		or_default(weight_bank, CNNACC_CCP_WEIGHT_BANK_DEFAULT);
	core.param[CNNACC_CCP_PARAM_GEOMETRY] = CNNACC_CCP_ROWS | CNNACC_CCP_LANES << 8 |
						CNNACC_CCP_GROUPS << 16;
	core.param[CNNACC_CCP_PARAM_LOB] = or_default(lob, CNNACC_CCP_LOB_DEFAULT);
	core.param[CNNACC_CCP_PARAM_LIMITS] = CNNACC_CCP_KERNEL_MAX | CNNACC_CCP_STRIDE_MAX << 8 |
					      CNNACC_CCP_PAD_MAX << 16;
	core.param[CNNACC_CCP_PARAM_BANKS] = CNNACC_CCP_BANKS_SPLIT;
	return core;
}

int lower_open(struct lower_case *c, const void *onnx, size_t len, const struct cnnrt_core_info *core,
	       struct cnn_err *err)
{
	const struct cnn_lower_options all = { .cores = 1 };
	int ret;

	memset(c, 0, sizeof(*c));
	c->core = *core;
	ret = cnn_graph_import_onnx(onnx, len, -1, &c->graph, err);
	if (!ret)
		ret = cnn_graph_infer(c->graph, err);
	if (!ret)
		ret = cnn_partition(c->graph, core, 1, &all, err);
	if (!ret)
		ret = cnn_lower(c->graph, core, 1, &all, &c->lowered, err);
	if (ret)
		lower_close(c);
	return ret;
}

void lower_close(struct lower_case *c)
{
	cnn_lowered_free(c->lowered);
	cnn_graph_free(c->graph);
	memset(c, 0, sizeof(*c));
}

/* ---- the device ------------------------------------------------------------------------ */

struct device {
	const struct cnn_lowered *l;
	uint8_t *program;		/* relocated to bases */
	uint8_t *arena;
	struct golden_ccp *ccp;
	struct golden_core core;
	struct golden_memory memory;
	uint8_t *poison;		/* a bank full of NaNs */
	uint32_t spoil[12];		/* a program that copies them to all banks */
};

/* In another order than the compiler's, so that an address that stays the same shows. */
static const struct cnn_bases bases = {
	.va = {
		[CNN_ARENA] = 0x51400000, [CNN_WEIGHTS] = 0x10800000, [CNN_PROGRAM] = 0x80c00000,
	},
};

#define POISON_VA	0x04000000u
#define SPOIL_VA	0x0f000000u
#define POISON_MAX	0x400000

static uint8_t *line_at(struct device *d, uint64_t va, enum cnnacc_access access)
{
	const struct {
		uint64_t va;
		uint8_t *data;
		int64_t bytes;
		bool good;
	} areas[] = {
		{ bases.va[CNN_PROGRAM], d->program, d->l->program_bytes,
		  access == CNNACC_ACCESS_EXEC },
		{ bases.va[CNN_WEIGHTS], d->l->weights, d->l->weight_bytes,
		  access == CNNACC_ACCESS_READ },
		{ bases.va[CNN_ARENA], d->arena, d->l->arena_bytes, access != CNNACC_ACCESS_EXEC },
		{ SPOIL_VA, (uint8_t *)d->spoil, sizeof(d->spoil), access == CNNACC_ACCESS_EXEC },
		{ POISON_VA, d->poison, POISON_MAX, access == CNNACC_ACCESS_READ },
	};

	for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++)
		if (areas[i].good && va >= areas[i].va && (int64_t)(va - areas[i].va) < areas[i].bytes)
			return areas[i].data + (va - areas[i].va);
	return NULL;
}

static size_t line_bytes(const struct device *d, uint64_t va)
{
	if (va == SPOIL_VA)
		return sizeof(d->spoil);
	/* The program image ends where the last program does. */
	if (va >= bases.va[CNN_PROGRAM] &&
	    d->l->program_bytes - (int64_t)(va - bases.va[CNN_PROGRAM]) < 64)
		return (size_t)(d->l->program_bytes - (int64_t)(va - bases.va[CNN_PROGRAM]));
	return CNNACC_LINE_SIZE;
}

static bool read_line(void *opaque, uint64_t va, enum cnnacc_access access,
		      uint8_t line[CNNACC_LINE_SIZE], struct golden_fault *fault)
{
	const uint8_t *from = line_at(opaque, va, access);

	memset(line, 0, CNNACC_LINE_SIZE);
	*fault = (struct golden_fault){ CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_PAGE };
	if (from)
		memcpy(line, from, line_bytes(opaque, va));
	return from;
}

static bool write_bytes(void *opaque, uint64_t va, const uint8_t *bytes, size_t length,
			struct golden_fault *fault)
{
	uint8_t *to = line_at(opaque, va, CNNACC_ACCESS_WRITE);

	*fault = (struct golden_fault){ CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_PAGE };
	if (to)
		memcpy(to, bytes, length);
	return to;
}

static void make_spoil(struct device *d, const struct golden_ccp_params *p)
{
	uint32_t *w = d->spoil;

	*w++ = CNNACC_CCP_INSN_LDIH(0, POISON_VA / CNNACC_LINE_SIZE >> 16);
	*w++ = CNNACC_CCP_INSN_LDI(1, p->data_bank / CNNACC_LINE_SIZE);
	*w++ = CNNACC_CCP_INSN_LOAD(0, 1, 2, CNNACC_CCP_TGT_READ_BANK);
	*w++ = CNNACC_CCP_INSN_LOAD(0, 1, 2, CNNACC_CCP_TGT_WRITE_BANK);
	*w++ = CNNACC_CCP_INSN_LDI(1, p->weight_bank / CNNACC_LINE_SIZE);
	for (unsigned int b = 0; b < CNNACC_CCP_WEIGHT_BANKS; b++)
		*w++ = CNNACC_CCP_INSN_LOAD(0, 1, 2, CNNACC_CCP_TGT_WEIGHT0 + b);
	*w = CNNACC_CCP_INSN_NOP;
}

static const char *device_open(struct device *d, const struct lower_case *c)
{
	const struct golden_ccp_params params = {
		.data_bank = c->core.param[CNNACC_CCP_PARAM_DATA_BANK],
		.weight_bank = c->core.param[CNNACC_CCP_PARAM_WEIGHT_BANK],
		.icache = c->core.program_max,
		.lob = c->core.param[CNNACC_CCP_PARAM_LOB],
		.split_banks = c->core.param[CNNACC_CCP_PARAM_BANKS] & CNNACC_CCP_BANKS_SPLIT,
	};

	d->l = c->lowered;
	d->arena = malloc((size_t)c->lowered->arena_bytes + 1);
	d->program = malloc((size_t)c->lowered->program_bytes + 1);
	d->ccp = golden_ccp_create(&params);
	d->memory = (struct golden_memory){ .opaque = d, .read = read_line, .write = write_bytes };
	d->poison = malloc(POISON_MAX);
	if (!d->arena || !d->program || !d->ccp || !d->poison)
		return "no memory for a device";
	if (c->lowered->program_bytes)
		memcpy(d->program, c->lowered->program, (size_t)c->lowered->program_bytes);
	cnn_relocate(c->lowered, &bases, d->program);
	memset(d->poison, 0xff, POISON_MAX);
	make_spoil(d, &params);
	/* Fill memory with NaNs, so that a read before a write shows. */
	memset(d->arena, 0xff, (size_t)c->lowered->arena_bytes);
	golden_ccp_core(d->ccp, &d->core);
	return NULL;
}

static void device_close(struct device *d)
{
	if (d->ccp)
		golden_ccp_destroy(d->ccp);
	free(d->arena);
	free(d->program);
	free(d->poison);
}

/* Spoil the caches: a task must not rely on their contents. */
static const char *spoil_banks(struct device *d)
{
	const struct golden_job job = {
		.program_va = SPOIL_VA, .program_len = sizeof(d->spoil), .cycle_limit = INT64_MAX,
	};
	struct golden_status status = { 0 };
	struct cnnacc_stats stats = { 0 };

	d->core.run(d->core.priv, &job, &d->memory, &status, &stats);
	return status.status_class ? "the banks cannot be filled" : NULL;
}

static const char *run_task(struct device *d, const struct cnn_task *t, struct lower_result *r)
{
	const struct golden_job job = {
		.program_va = bases.va[CNN_PROGRAM] + (uint32_t)t->offset,
		.program_len = t->length, .cycle_limit = t->cycle_limit,
	};
	struct golden_status status = { 0 };
	struct cnnacc_stats stats = { 0 };
	const char *wrong = spoil_banks(d);

	if (wrong)
		return wrong;
	d->core.run(d->core.priv, &job, &d->memory, &status, &stats);
	if (status.status_class) {
		snprintf(message, sizeof(message), "task of node %d: class %u code %u pc %u "
			 "detail %u va 0x%llx", t->first_node, status.status_class,
			 status.status_code, status.pc, status.detail,
			 (unsigned long long)status.fault_va);
		return message;
	}
	if (stats.cycles != t->cycles) {
		snprintf(message, sizeof(message), "task of node %d took %llu cycles, not %llu",
			 t->first_node, (unsigned long long)stats.cycles,
			 (unsigned long long)t->cycles);
		return message;
	}
	r->stats.cycles += stats.cycles;
	r->stats.compute_cycles += stats.compute_cycles;
	r->stats.stall_cycles += stats.stall_cycles;
	r->stats.dma_cycles += stats.dma_cycles;
	r->stats.mac_slots += stats.mac_slots;
	r->stats.mac_useful += stats.mac_useful;
	r->stats.mem_read_bytes += stats.mem_read_bytes;
	r->stats.mem_write_bytes += stats.mem_write_bytes;
	r->tasks++;
	return NULL;
}

/* Run a task twice if it is marked restartable. */
static const char *run_tasks(struct device *d, const struct cnn_segment *seg,
			     struct lower_result *r)
{
	struct lower_result again;
	const char *wrong = NULL;

	for (int round = 0; round < (seg->restartable ? 2 : 1); round++) {
		for (int i = 0; i < seg->n_tasks && !wrong; i++) {
			const struct cnn_task *t = &d->l->tasks[seg->first_task + i];

			wrong = run_task(d, t, round ? &again : r);
			if (!wrong && t->restartable)
				wrong = run_task(d, t, &again);
		}
	}
	return wrong;
}

/* ---- the graph ------------------------------------------------------------------------- */

struct run {
	const struct lower_case *c;
	struct device device;
	struct cnn_tensor *values;	/* results of CPU nodes, and values fetched for them */
	struct cnn_err err;
};

/* The value as a dense tensor, from the arena if the device made it. */
static const char *fetch(struct run *x, int v)
{
	const struct cnn_graph *g = x->c->graph;
	int producer = g->values[v].producer;

	if (producer < 0 || x->values[v].data || x->c->lowered->nodes[producer].core < 0)
		return NULL;
	x->values[v] = g->values[v].t;
	x->values[v].data = NULL;
	if (cnn_tensor_alloc(&x->values[v], 0, &x->err))
		return x->err.text;
	cnn_slot_read(&x->c->lowered->slots[v], x->device.arena, x->values[v].data);
	return NULL;
}

static const char *run_cpu_node(struct run *x, const struct cnn_node *n)
{
	const struct cnn_graph *g = x->c->graph;
	const struct cnn_tensor *in[64] = { NULL };
	struct cnn_tensor *out[64] = { NULL };

	if (n->n_in > 64 || n->n_out > 64)
		return "node with more than 64 inputs or outputs";
	for (int i = 0; i < n->n_in; i++) {
		const char *wrong = n->in[i] >= 0 ? fetch(x, n->in[i]) : NULL;

		if (wrong)
			return wrong;
		if (n->in[i] >= 0)
			in[i] = g->values[n->in[i]].t.data ? &g->values[n->in[i]].t :
							     &x->values[n->in[i]];
	}
	for (int i = 0; i < n->n_out; i++)
		out[i] = n->out[i] >= 0 ? &x->values[n->out[i]] : NULL;
	return cnn_cpu_run(n, in, out, NULL, &x->err) ? x->err.text : NULL;
}

static const char *run_segment(struct run *x, const struct cnn_segment *seg,
			       struct lower_result *r)
{
	const struct cnn_graph *g = x->c->graph;
	const char *wrong = NULL;

	for (int i = 0; seg->core < 0 && i < seg->n_nodes && !wrong; i++)
		wrong = run_cpu_node(x, &g->nodes[seg->nodes[i]]);
	if (seg->core < 0)
		return wrong;
	for (int i = 0; i < seg->n_in; i++) {
		int v = seg->in[i], producer = g->values[v].producer;
		const struct cnn_tensor *from = g->values[v].t.data ? &g->values[v].t : &x->values[v];

		if (producer < 0 || x->c->lowered->nodes[producer].core < 0)
			cnn_slot_write(&x->c->lowered->slots[v], x->device.arena, from->data);
	}
	return run_tasks(&x->device, seg, r);
}

static const char *run_all(struct run *x, const struct cnn_tensor *in, struct cnn_tensor *out,
			   struct lower_result *r)
{
	const struct cnn_graph *g = x->c->graph;
	const char *wrong = device_open(&x->device, x->c);

	for (int i = 0; i < g->n_inputs; i++) {
		x->values[g->inputs[i]] = in[i];
		x->values[g->inputs[i]].owned = false;
	}
	for (int i = 0; i < x->c->lowered->n_segments && !wrong; i++)
		wrong = run_segment(x, &x->c->lowered->segments[i], r);
	for (int i = 0; i < g->n_outputs && !wrong; i++) {
		const struct cnn_value *v = &g->values[g->outputs[i]];

		wrong = fetch(x, g->outputs[i]);
		if (!wrong && cnn_tensor_copy(&out[i], v->t.data ? &v->t : &x->values[g->outputs[i]],
					      &x->err))
			wrong = x->err.text;
	}
	return wrong;
}

const char *lower_run(const struct lower_case *c, const struct cnn_tensor *in,
		      struct cnn_tensor *out, struct lower_result *result)
{
	struct run x = { .c = c };
	const char *wrong;

	memset(result, 0, sizeof(*result));
	memset(out, 0, sizeof(*out) * (size_t)c->graph->n_outputs);
	x.values = calloc((size_t)c->graph->n_values + 1, sizeof(*x.values));
	if (!x.values)
		return "no memory for values";
	wrong = run_all(&x, in, out, result);
	if (!wrong)
		wrong = lower_check_costs(c->lowered, &result->stats);
	if (!wrong)
		wrong = lower_check_spans(c->lowered);
	if (wrong && wrong != message) {
		snprintf(message, sizeof(message), "%s", wrong);
		wrong = message;
	}
	for (int v = 0; v < c->graph->n_values; v++)
		cnn_tensor_release(&x.values[v]);
	free(x.values);
	device_close(&x.device);
	return wrong;
}

const char *lower_compare(const struct cnn_tensor *a, const struct cnn_tensor *b, double rtol,
			  double atol)
{
	const float *x = a->data, *y = b->data;

	if (!cnn_tensor_same_shape(a, b) || a->dtype != CNN_FLOAT32 || b->dtype != CNN_FLOAT32)
		return "shapes or types differ";
	for (int64_t i = 0; i < cnn_tensor_count(a); i++) {
		double d = fabs((double)x[i] - y[i]);

		if (x[i] == y[i] || (isfinite(d) && d <= atol + rtol * fabs((double)y[i])))
			continue;
		snprintf(message, sizeof(message), "element %lld is %.9g, not %.9g", (long long)i, x[i],
			 y[i]);
		return message;
	}
	return NULL;
}
