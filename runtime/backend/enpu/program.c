// SPDX-License-Identifier: MIT
/* Programs of the sequencer for the core: what they cost whom, copies, and code in the image. */
#include <stdlib.h>

#include "enpu.h"

/* ---- programs ---- */

void enpuc_begin(struct enpuc_emitter *e)
{
	seqc_begin(e->seq);
	e->told = (struct cnnrt_cost){ 0 };
	e->first_node = -1;
	e->n_reads = e->n_writes = 0;
	e->restartable = true;
	e->running = false;
}

void enpuc_tell_cost(struct enpuc_emitter *e, int node)
{
	if (e->first_node < 0)
		e->first_node = node;
	e->seq->node = node;
	if (!e->seq->dry)
		cnn_add_cost(&e->core->base.compile->out->nodes[node].cost, &e->seq->cost, &e->told);
	e->told = e->seq->cost;
}

void enpuc_wait(struct enpuc_emitter *e)
{
	if (!e->running)
		return;
	seqc_wait(e->seq, CNNACC_ENPU_WAIT_IDLE);
	seqc_charge(e->seq, 1);
	seqc_idle(e->seq);
	e->running = false;
}

/* The nodes have got all but the boot and END, which are the last one's. */
int enpuc_end(struct enpuc_emitter *e)
{
	struct cnn_lowered *out = e->core->base.compile->out;
	struct cnnrt_cost before;
	struct cnn_task *task;
	int ret, node;

	if (!e->seq->count)
		return CNN_OK;
	enpuc_wait(e);
	node = e->seq->node;
	if (e->seq->dry)
		return seqc_end(e->seq);
	before = out->nodes[node].cost;
	ret = seqc_end(e->seq);
	if (ret)
		return ret;
	out->nodes[node].cost = before;
	cnn_add_cost(&out->nodes[node].cost, &e->seq->cost, &e->told);
	task = &out->tasks[out->n_tasks - 1];
	task->first_node = cnn_min(e->first_node, node);
	task->last_node = cnn_max(e->first_node, node);
	task->restartable = e->restartable;
	return CNN_OK;
}

/* ---- copies ---- */

static bool overlaps(const struct enpuc_range *list, int n, struct enpuc_range r)
{
	for (int i = 0; i < n; i++)
		if (list[i].from < r.to && r.from < list[i].to)
			return true;
	return false;
}

static void add_range(struct enpuc_emitter *e, struct enpuc_range **list, int *n,
		      struct enpuc_range r)
{
	void *more = reallocarray(*list, (size_t)*n + 1, sizeof(r));

	e->seq->failed |= !more;
	if (!more)
		return;
	*list = more;
	(*list)[(*n)++] = r;
}

/* A program that writes what it has read from an earlier one cannot run again. */
static void note_range(struct enpuc_emitter *e, bool store, struct enpuc_range r)
{
	if (store) {
		e->restartable &= !overlaps(e->reads, e->n_reads, r);
		add_range(e, &e->writes, &e->n_writes, r);
	} else if (!overlaps(e->writes, e->n_writes, r)) {
		add_range(e, &e->reads, &e->n_reads, r);
	}
}

void enpuc_move(struct enpuc_emitter *e, const struct seqc_copy *c, int64_t count,
		int64_t va_advance, int64_t local_advance)
{
	const struct enpuc_range r = {
		c->va, c->va + (count - 1) * va_advance + (c->rows - 1) * c->va_pitch + c->row_bytes,
	};

	if (!c->weights)
		note_range(e, c->store, r);
	if (count > 1)
		seqc_copy_loop(e->seq, c, count, va_advance, local_advance);
	else
		seqc_copy(e->seq, c);
}

int64_t enpuc_keep(struct enpuc_emitter *e, const void *data, int64_t bytes)
{
	struct cnn_compile *compile = e->core->base.compile;
	int64_t at;

	if (e->seq->dry)
		return CNN_VA_WEIGHTS;
	at = cnn_image_add(compile, &compile->weights, bytes, CNNACC_LINE_SIZE);
	if (at < 0)
		return at;
	for (int64_t i = 0; i < bytes; i++)
		compile->weights.data[at + i] = ((const uint8_t *)data)[i];
	return CNN_VA_WEIGHTS + at;
}

static int load(struct enpuc_emitter *e, uint32_t memory, const void *data, int64_t bytes,
		int64_t local)
{
	int64_t va = bytes ? enpuc_keep(e, data, bytes) : 0;
	const struct seqc_copy c = {
		.memory = memory, .va = va, .local = local, .rows = 1, .row_bytes = bytes,
		.weights = true,
	};

	if (va < 0)
		return (int)va;
	if (bytes)
		seqc_copy(e->seq, &c);
	return CNN_OK;
}

int enpuc_no_memory(struct enpuc_emitter *e)
{
	return cnn_fail(e->core->base.compile->err, CNN_ENOMEM, "no memory for programs of enpu");
}

int enpuc_load_code(struct enpuc_emitter *e, const struct enpuc_code *c, int64_t first)
{
	const int64_t insn = CNNACC_ENPU_INSN_BYTES, record = CNNACC_ENPU_RECORD_BYTES;

	if (c->failed)
		return enpuc_no_memory(e);
	return load(e, CNNACC_ENPU_ITCM, c->insn, c->insns * insn, first * insn) ?:
	       load(e, CNNACC_ENPU_TABLE, c->record, (c->insns - 1) * record, first * record);
}

int enpuc_load_weights(struct enpuc_emitter *e, const struct enpuc_code *c)
{
	if (c->failed)
		return enpuc_no_memory(e);
	return load(e, CNNACC_ENPU_WEIGHT, c->weights, c->words * ENPUC_WORD, c->base * ENPUC_WORD);
}

void enpuc_exec(struct enpuc_emitter *e, int64_t first)
{
	const uint32_t words[4] = { CNNACC_ENPU_RUN };

	seqc_exec_wide(e->seq, words, (uint32_t)first, 0);
	seqc_charge(e->seq, 1);
	e->running = true;
}

int64_t enpuc_address(const struct enpuc_emitter *e, int value)
{
	if (e->seq->dry)
		return CNN_VA_ARENA;
	return CNN_VA_ARENA + e->core->base.compile->out->slots[value].offset;
}
