// SPDX-License-Identifier: MIT
/*
 * Clocks of each layer of a network: every layer of its programs runs alone on a device in the
 * process, and its clocks and all counters of the core are what the golden model takes from the
 * page's formulas.
 * Usage: layer_clocks FILE.onnx DEVICE
 * Prints a line for each layer: ITCM index, opcodes of its stages, clocks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cnnacc_seq.h>

#include "../../golden/enpu/state.h"
#include "bench_layer.h"
#include "program/model.h"

#define CODE_VA		0xf0000000u
#define INSN_VA		0x10000000u
#define RECORD_VA	0x11000000u
/* Of a layer, STOP included; all are copied, so that each program costs the same beside it. */
#define ENTRIES		16
#define ALL_ENTRIES	(CNNACC_ENPU_ITCM_MAX / CNNACC_ENPU_INSN_BYTES)

/** struct layer - instructions and records of a layer that runs alone. */
struct layer {
	struct cnnacc_enpu_insn insn[ENTRIES];
	struct cnnacc_enpu_record record[ENTRIES];
};

static struct {
	struct cnnrt_device *dev;
	struct cnnrt_core_info core;
	struct golden_enpu *golden;
	/* What the network's programs have loaded. */
	struct cnnacc_enpu_insn insn[ALL_ENTRIES];
	struct cnnacc_enpu_record record[ALL_ENTRIES];
	uint64_t beside;		/* clocks of a program of STOP */
	unsigned int layers, wrong;
} t;

/* ---- both sides ---- */

/* Clocks of a program without scrubbing: nothing in it runs beside anything else. */
static uint64_t run_on_device(struct layer *l)
{
	struct cnnacc_seq_command code[] = {
		{ CNNACC_SEQ_COPY2D | CNNACC_ENPU_ITCM << CNNACC_SEQ_PARAM_SHIFT,
		  { INSN_VA, 0, 1, sizeof(l->insn) } },
		{ CNNACC_SEQ_COPY2D | CNNACC_ENPU_TABLE << CNNACC_SEQ_PARAM_SHIFT,
		  { RECORD_VA, 0, 1, sizeof(l->record) } },
		{ CNNACC_SEQ_EXEC, { CNNACC_ENPU_RUN } },
		{ CNNACC_SEQ_WAIT, { CNNACC_ENPU_WAIT_IDLE } },
		{ CNNACC_SEQ_END, { 0 } },
	};
	struct cnnrt_range ranges[] = {
		{ .va = CODE_VA, .size = sizeof(code), .flags = CNNRT_MAP_EXEC, .in = code },
		{ .va = INSN_VA, .size = sizeof(l->insn), .flags = CNNRT_MAP_READ, .in = l->insn },
		{ .va = RECORD_VA, .size = sizeof(l->record), .flags = CNNRT_MAP_READ,
		  .in = l->record },
	};
	struct cnnacc_stats stats = bench_exec(t.dev, ranges, sizeof(ranges) / sizeof(ranges[0]));

	return stats.cycles_serial - stats.scrub_cycles;
}

static uint64_t run_by_formulas(const struct layer *l)
{
	struct cnnacc_stats stats = { 0 };
	uint64_t clocks;

	memcpy(t.golden->memory[CNNACC_ENPU_ITCM], l->insn, sizeof(l->insn));
	memcpy(t.golden->memory[CNNACC_ENPU_TABLE], l->record, sizeof(l->record));
	memset(&t.golden->regs, 0, sizeof(t.golden->regs));
	bench_must(enpu_check(t.golden, 0), "the golden model refuses a layer");
	t.golden->seq.stats = &stats;
	clocks = enpu_count(t.golden);
	t.golden->seq.stats = NULL;
	return clocks;
}

static uint64_t device_counter(uint32_t offset)
{
	uint32_t at = t.core.window_offset + offset, low = 0, high = 0;
	struct cnnrt_error err;

	bench_must(!cnnrt_device_reg_read(t.dev, at, &low, &err), err.text);
	bench_must(!cnnrt_device_reg_read(t.dev, at + 4, &high, &err), err.text);
	return (uint64_t)high << 32 | low;
}

/* The registers are in the order of enum golden_enpu_count. */
static unsigned int different_counters(void)
{
	unsigned int different = 0;

	for (unsigned int n = 0; n < ENPU_COUNTS; n++) {
		uint32_t offset = CNNACC_ENPU_REG_LAYERS + 8 * n;
		uint64_t device = device_counter(offset), formula = t.golden->regs.count[n];

		if (device == formula)
			continue;
		printf("  counter %03" PRIx32 ": device %" PRIu64 ", formula %" PRIu64 "\n", offset,
		       device, formula);
		different++;
	}
	return different;
}

/* ---- layers of a network ---- */

static void compare_layer(uint32_t index, unsigned int stages)
{
	static struct layer l;
	uint64_t device, formula;

	bench_must(stages < ENTRIES, "a layer has too many stages");
	memset(&l, 0, sizeof(l));
	memcpy(l.insn, &t.insn[index], stages * sizeof(l.insn[0]));
	memcpy(l.record, &t.record[index], stages * sizeof(l.record[0]));
	l.insn[stages].word0 = CNNACC_ENPU_STOP;
	device = run_on_device(&l) - t.beside;
	formula = run_by_formulas(&l) - 1;
	printf("%u: index %" PRIu32 ", opcodes", t.layers++, index);
	for (unsigned int n = 0; n < stages; n++)
		printf(" %02" PRIx32, l.insn[n].word0 & 255);
	printf(", clocks %" PRIu64, device);
	if (device != formula)
		printf(", formula %" PRIu64, formula);
	putchar('\n');
	t.wrong += (device != formula) + different_counters();
}

/* The layers of the program at @index. */
static void compare_program(uint32_t index)
{
	uint32_t first = index;

	for (; index < ALL_ENTRIES; index++) {
		uint32_t opcode = t.insn[index].word0 & 255;

		if (opcode == CNNACC_ENPU_STOP)
			return;
		if (opcode & CNNACC_ENPU_FUSED)
			continue;
		compare_layer(first, index + 1 - first);
		first = index + 1;
	}
	bench_must(false, "a program has no STOP");
}

/* Do what a command loads into ITCM and side table. */
static void load(const struct cnn_lowered *low, const struct cnnacc_seq_command *c)
{
	uint32_t memory = c->op >> CNNACC_SEQ_PARAM_SHIFT, local = c->arg[1];
	uint64_t bytes = (uint64_t)c->arg[2] * c->arg[3], at = (uint64_t)c->arg[0] - CNN_VA_WEIGHTS;
	uint8_t *to = memory == CNNACC_ENPU_ITCM ? (uint8_t *)t.insn : (uint8_t *)t.record;
	uint64_t room = memory == CNNACC_ENPU_ITCM ? sizeof(t.insn) : sizeof(t.record);

	if ((memory != CNNACC_ENPU_ITCM && memory != CNNACC_ENPU_TABLE) ||
	    c->op & CNNACC_SEQ_TO_MEMORY)
		return;
	bench_must(c->arg[2] == 1 && at + bytes <= (uint64_t)low->weight_bytes &&
		   local + bytes <= room, "code comes from elsewhere");
	memcpy(to + local, low->weights + at, bytes);
}

static void compare_task(const struct cnn_lowered *low, const struct cnn_task *task)
{
	const uint8_t *code = low->program + task->offset;

	for (uint32_t at = 0; at < task->length; at += sizeof(struct cnnacc_seq_command)) {
		struct cnnacc_seq_command c;

		memcpy(&c, code + at, sizeof(c));
		switch (c.op & CNNACC_SEQ_OP_MASK) {
		case CNNACC_SEQ_COPY2D:
			load(low, &c);
			break;
		case CNNACC_SEQ_EXEC:
			compare_program(c.arg[4]);
			break;
		}
	}
}

static void compare_network(const char *file)
{
	const struct cnnrt_compile_options opt = {
		.struct_size = sizeof(opt), .core = "enpu",
	};
	struct cnnrt_program *program;
	struct cnnrt_model *model;
	struct cnnrt_error err;

	bench_must(!cnnrt_model_load(file, &model, &err), err.text);
	bench_must(!cnnrt_compile(model, t.dev, &opt, &program, &err), err.text);
	cnnrt_model_free(model);
	for (int i = 0; i < program->low->n_tasks; i++)
		compare_task(program->low, &program->low->tasks[i]);
	cnnrt_program_free(program);
}

static void open_both(const char *device)
{
	struct cnnacc_core_entry entry = { 0 };
	struct golden_enpu_params params;
	struct cnnrt_error err;

	t.dev = bench_open(device);
	t.core.struct_size = sizeof(t.core);
	bench_must(!cnnrt_device_core(t.dev, 0, &t.core, &err), err.text);
	entry.type = t.core.type;
	entry.program_max = t.core.program_max;
	memcpy(entry.param, t.core.param, sizeof(entry.param));
	bench_must(golden_enpu_params_of(&entry, &params), "core 0 is no enpu");
	t.golden = golden_enpu_create(&params);
	bench_must(t.golden, "no memory");
}

int main(int argc, char **argv)
{
	static struct layer none;

	if (argc != 3) {
		fprintf(stderr, "usage: %s FILE.onnx DEVICE\n", argv[0]);
		return 2;
	}
	open_both(argv[2]);
	none.insn[0].word0 = CNNACC_ENPU_STOP;
	t.beside = run_on_device(&none);
	compare_network(argv[1]);
	printf("%u layers, %u differences\n", t.layers, t.wrong);
	golden_enpu_destroy(t.golden);
	cnnrt_device_close(t.dev);
	return t.wrong || !t.layers;
}
