// SPDX-License-Identifier: MIT
/* The golden model of hwpe against known results; TAP. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hwpe.h"
#include "insn.h"
#include "vectors.h"

#define STREAM_COMMANDS	(CNNACC_HWPE_PROGRAM_DEFAULT / (4 * COMMAND_WORDS))

#define OUT_VA		0x00400000u	/* a page that may be written */
#define IN_VA		0x00401000u	/* and one that may be read */
#define PROGRAM_VA	0xf0000000u
#define STATS_VA	0xfffff000u

static unsigned int failures, number;

static void report(bool good, const char *name)
{
	failures += !good;
	printf("%sok %u - %s\n", good ? "" : "not ", ++number, name);
}

static bool differs(const char *what, uint64_t is, uint64_t should)
{
	if (is != should)
		printf("# %s is %llx, not %llx\n", what, (unsigned long long)is,
		       (unsigned long long)should);
	return is != should;
}

/* -------------------------------------------------- published instructions */

static const struct {
	const char *text;
	uint32_t published, encoded;
} encodings[] = {
	{ "WriteFmapAddr", 0x0200300b, CNNACC_HWPE_INSN(1, 0x3000, 0, 0, 0) },
	{ "WriteFmapAddr of bases 2 and 3", 0x0200310b, CNNACC_HWPE_INSN(1, 0x3000, 2, 0, 0) },
	{ "WriteCfg", 0x0400300b, CNNACC_HWPE_INSN(2, 0x3000, 0, 0, 0) },
	{ "MatrixMac", 0x0800300b, CNNACC_HWPE_INSN(4, 0x3000, 0, 0, 0) },
	{ "WriteAcc", 0x1000200b, CNNACC_HWPE_INSN(8, 0x2000, 0, 0, 0) },
	{ "WriteAcc of PE 1", 0x1010200b, CNNACC_HWPE_INSN(8, 0x2000, 0, 0, 1) },
	{ "ReadAcc", 0x2000400b, CNNACC_HWPE_INSN(16, 0x4000, 0, 0, 0) },
	{ "ReLUWrite", 0x4000200b, CNNACC_HWPE_INSN(32, 0x2000, 0, 0, 0) },
	{ "ReLUWrite of AccReg 7, enabling", 0x4170200b,
	  CNNACC_HWPE_INSN(32, 0x2000, 0, 0, 7 | CNNACC_HWPE_ENABLE) },
	{ "Reset", 0x8000000b, CNNACC_HWPE_INSN(64, 0, 0, 0, 0) },
};

#define ENCODINGS	(sizeof(encodings) / sizeof(encodings[0]))

/* ---------------------------------------------------------- short streams */

#define OP(op, flags, param)	(CNNACC_SEQ_##op | (flags) | (uint32_t)(param) << 16)
#define EXEC(flags, insn, ...)	{ OP(EXEC, flags, 0), { insn, 0, 0, 0, __VA_ARGS__ } }
#define XS12			(CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2)
#define WRITE_BASE(n, a, b) \
	EXEC(0, CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_FMAP_ADDR, XS12, n, 0, 0), a, b)
#define BASES(n)		WRITE_BASE(n, 0, CNNACC_HWPE_SRAM2)
#define WRITE_CFG(a, b) \
	EXEC(0, CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_CFG, XS12, 0, 0, 0), a, b)
#define MAC(flags, a, b) \
	EXEC(flags, CNNACC_HWPE_INSN(CNNACC_HWPE_MATRIX_MAC, XS12, 0, 0, 0), a, b)
#define READ_ACC(flags, rs1, pe, va) \
	EXEC(flags, CNNACC_HWPE_INSN(CNNACC_HWPE_READ_ACC, CNNACC_HWPE_XD, 0, rs1, pe), 0, 0, va)
#define RELU_WRITE(rs2, va) \
	EXEC(0, CNNACC_HWPE_INSN(CNNACC_HWPE_RELU_WRITE, CNNACC_HWPE_XS1, 0, 0, rs2), va)
#define RESET			EXEC(0, CNNACC_HWPE_INSN(CNNACC_HWPE_RESET, 0, 0, 0, 0))
#define WAIT(mask)		{ OP(WAIT, 0, 0), { mask } }
#define IRQ			{ OP(IRQ, 0, 0), { 5 } }
#define END			{ 0, { 0 } }
#define DRAIN(flags, n, ...)	{ OP(DRAIN, flags, n), { __VA_ARGS__ } }
#define LOOP(n, ...)		{ OP(LOOP, 0, n), { __VA_ARGS__ } }

/* INT8 inner, one kernel group, Kernel_size 1: one round of 20 cycles, later 16. */
#define ONE		WRITE_CFG(1, 1 | CNNACC_HWPE_INT8 << 4 | 1 << 13)
#define SMALL_TASK	BASES(0), BASES(2), BASES(4), BASES(6), ONE, MAC(0, 0x10001, 0)

#define COMMANDS	16

struct short_stream {
	const char *name;
	struct cnnacc_seq_command command[COMMANDS];
	uint32_t count;
	struct golden_status want;
	struct cnnacc_stats stats;	/* counts if cycles do */
};

#define BAD(code_, pc_, detail_) \
	.want = { .status_class = CNNACC_STATUS_BAD_PROGRAM, .status_code = CNNACC_##code_, \
		  .pc = pc_, .detail = detail_ }
#define BAD_CONFIG(pc_, detail_) \
	.want = { .status_class = CNNACC_STATUS_CONFIG, .status_code = CNNACC_HWPE_E_CFG, \
		  .pc = pc_, .detail = CNNACC_HWPE_BAD_##detail_ }
#define FAULT(code_, pc_, access_, va) \
	.want = { .status_class = CNNACC_STATUS_MMU_FAULT, .status_code = CNNACC_##code_, \
		  .pc = pc_, .detail = CNNACC_FAULT_PERM, .access = CNNACC_ACCESS_##access_, \
		  .fault_va = va }

static const struct short_stream streams[] = {
	/* 12 commands in 6 lines: 22; MatrixMac ends at 28, the window at 48, DRAIN at 69 */
	{ "a window drained late", { SMALL_TASK, WAIT(1), IRQ, IRQ, IRQ,
	    DRAIN(CNNACC_SEQ_RESUME, 1, OUT_VA, 0, 0, 0, 64), END }, 12,
	  .want = { .pc = 11, .events = 3 },
	  .stats = { .cycles = 70, .cycles_serial = 71, .compute_cycles = 20, .stall_cycles = 21,
		     .dma_cycles = 22, .mac_slots = 1024, .mac_useful = 128,
		     .mem_read_bytes = 384, .mem_write_bytes = 64, .local_read_bytes = 192,
		     .local_write_bytes = 384, .instructions = 12, .events = 4, .jobs = 1 } },
	/* 7 commands in 4 lines: 20; MatrixMac ends at 26 */
	{ "END beside a window", { SMALL_TASK, END }, 7, .want = { .pc = 6 },
	  .stats = { .cycles = 46, .cycles_serial = 47, .compute_cycles = 20, .dma_cycles = 20,
		     .mac_slots = 1024, .mem_read_bytes = 256, .local_read_bytes = 192,
		     .local_write_bytes = 256, .instructions = 7, .jobs = 1 } },
	/* 15 commands in 8 lines: 24; MatrixMac at 30 until 50; the other at 37 until 70 */
	{ "a task after a Reset", { SMALL_TASK, RESET, SMALL_TASK, WAIT(1), END }, 15,
	  .want = { .pc = 14 },
	  .stats = { .cycles = 71, .cycles_serial = 79, .compute_cycles = 40, .dma_cycles = 24,
		     .mac_slots = 2048, .mem_read_bytes = 512, .local_read_bytes = 384,
		     .local_write_bytes = 512, .instructions = 15, .events = 1, .jobs = 1 } },
	/* 6 commands in 3 lines: 19; two rows of 65 bytes from 0x...3f: 4 lines, 16 + 4 + 1; both
	 * ways; 1 + 3 * 2 of FILL; LOOP 1; 4 * IRQ; END 1 */
	{ "rows, and a loop", { { OP(COPY2D, 0, 0), { IN_VA + 63, 1, 2, 65, 64, 70 } },
	    { OP(COPY2D, CNNACC_SEQ_TO_MEMORY, 0), { OUT_VA + 63, 1, 2, 65, 64, 70 } },
	    { OP(FILL, 0, 2), { 255, 0, 3, 65, 0, 100 } }, LOOP(1, 4), IRQ, END }, 6,
	  .want = { .pc = 5, .events = 4 },
	  .stats = { .cycles = 74, .cycles_serial = 74, .dma_cycles = 59, .mem_read_bytes = 322,
		     .mem_write_bytes = 130, .local_read_bytes = 130, .local_write_bytes = 517,
		     .instructions = 9, .events = 4, .jobs = 1 } },
	{ "an unknown operation", { IRQ, { .op = 8 } }, 2, BAD(SEQ_E_COMMAND, 1, 0) },
	{ "a flag of another operation", { { OP(IRQ, CNNACC_SEQ_RESUME, 0), { 1 } } }, 1,
	  BAD(SEQ_E_COMMAND, 0, 0) },
	{ "a memory too many", { { OP(FILL, 0, 3), { 0 } } }, 1, BAD(SEQ_E_COMMAND, 0, 0) },
	{ "a byte above 255 and an unused word", { { OP(FILL, 0, 0), { 256, 0, 0, 0, 1 } } }, 1,
	  BAD(SEQ_E_COMMAND, 0, 1) },
	{ "an unused word", { { OP(COPY2D, 0, 0), { 0, 0, 0, 0, 0, 0, 1 } } }, 1,
	  BAD(SEQ_E_COMMAND, 0, 7) },
	{ "no AccReg to drain", { DRAIN(0, 0, 1) }, 1, BAD(SEQ_E_COMMAND, 0, 0) },
	{ "AccRegs 1..8", { DRAIN(0, 8, OUT_VA, 1, 0, 2) }, 1, BAD(SEQ_E_COMMAND, 0, 2) },
	{ "a pitch of 2", { DRAIN(0, 1, OUT_VA, 1, 0, 4, 2) }, 1, BAD(SEQ_E_COMMAND, 0, 5) },
	{ "WAIT for nothing", { WAIT(0) }, 1, BAD(SEQ_E_COMMAND, 0, 1) },
	{ "a result at an odd VA", { READ_ACC(CNNACC_SEQ_RESULT, 9, 0, 2) }, 1,
	  BAD(SEQ_E_COMMAND, 0, 7) },
	{ "Reset with a result", { EXEC(CNNACC_SEQ_RESULT, 0x8000000b, 0, 0, OUT_VA) }, 1,
	  BAD(SEQ_E_COMMAND, 0, 0) },
	{ "an operand too many", { EXEC(0, 0x8000000b, 0, 1) }, 1, BAD(SEQ_E_COMMAND, 0, 6) },
	{ "ReLUWrite to an odd VA", { RELU_WRITE(CNNACC_HWPE_ENABLE, 2) }, 1,
	  BAD(SEQ_E_COMMAND, 0, 5) },
	{ "rows past an SRAM", { { OP(FILL, 0, 1), { 0, 0xfffff, 1, 2 } } }, 1,
	  BAD(SEQ_E_RANGE, 0, 1) },
	{ "no rows anywhere", { { OP(FILL, 0, 1), { 0, 0xffffffff, 0, 2 } }, END }, 2,
	  .want = { .pc = 1 } },
	{ "an SRAM in use", { SMALL_TASK, { OP(COPY2D, 0, 2), { 0 } } }, 7,
	  BAD(SEQ_E_CONFLICT, 6, 2) },
	{ "a body without commands", { LOOP(0, 1) }, 1, BAD(SEQ_E_LOOP, 0, 1) },
	{ "a body past the enclosing one", { LOOP(2, 1), IRQ, LOOP(1, 1), END }, 4,
	  BAD(SEQ_E_LOOP, 2, 1) },
	{ "a body past the program memory", { LOOP(2048, 1) }, 1, BAD(SEQ_E_LOOP, 0, 1) },
	{ "a fifth loop", { LOOP(5, 1), LOOP(4, 1), LOOP(3, 1), LOOP(2, 1), LOOP(1, 1), END }, 6,
	  BAD(SEQ_E_LOOP, 4, 2) },
	{ "no iteration", { LOOP(1, 0, 0, 0, 1) }, 1, BAD(SEQ_E_LOOP, 0, 3) },
	{ "a command behind the body", { LOOP(2, 1, 0, 0, CNNACC_SEQ_STEP(1, 1, 0)) }, 1,
	  BAD(SEQ_E_LOOP, 0, 5) },
	{ "arg[7]", { LOOP(1, 1, 0, 0, 0, 0, CNNACC_SEQ_STEP(0, 0, 7)) }, 1,
	  BAD(SEQ_E_LOOP, 0, 6) },
	{ "a mask stepped to 0", { LOOP(1, 2, CNNACC_SEQ_STEP(0, 0, 0), -3), WAIT(3) }, 2,
	  BAD(SEQ_E_COMMAND, 1, 1) },
	{ "WAIT for a round of no task", { WAIT(1) }, 1,
	  .want = { .status_class = CNNACC_STATUS_DEADLOCK,
		    .status_code = CNNACC_SEQ_E_DEADLOCK } },
	{ "WAIT for idleness beside a window", { SMALL_TASK, WAIT(2) }, 7,
	  .want = { .status_class = CNNACC_STATUS_DEADLOCK, .status_code = CNNACC_SEQ_E_DEADLOCK,
		    .pc = 6 } },
	{ "another opcode", { EXEC(0, 0x8000000f) }, 1,
	  BAD(HWPE_E_ILLEGAL, 0, CNNACC_HWPE_BAD_OPCODE) },
	{ "funct 3", { EXEC(0, 0x0600300b) }, 1, BAD(HWPE_E_ILLEGAL, 0, CNNACC_HWPE_BAD_FUNCT) },
	{ "Reset with xd", { EXEC(0, 0x8000400b) }, 1,
	  BAD(HWPE_E_ILLEGAL, 0, CNNACC_HWPE_BAD_FLAGS) },
	{ "PE 16 and AccReg 8", { READ_ACC(0, 8, 16, 0) }, 1,
	  BAD(HWPE_E_ILLEGAL, 0, CNNACC_HWPE_BAD_PE) },
	{ "AccReg 8", { READ_ACC(0, 8, 15, 0) }, 1, BAD(HWPE_E_ILLEGAL, 0, CNNACC_HWPE_BAD_ACC) },
	{ "base 8", { WRITE_BASE(8, 0, 0) }, 1, BAD(HWPE_E_ILLEGAL, 0, CNNACC_HWPE_BAD_BASE) },
	{ "DRAIN beside a window", { SMALL_TASK, DRAIN(CNNACC_SEQ_RESUME, 1, 0) }, 7,
	  BAD(HWPE_E_BUSY, 6, CNNACC_HWPE_RUNNING) },
	{ "WriteCfg of a suspended task", { SMALL_TASK, WAIT(1), ONE }, 8,
	  BAD(HWPE_E_BUSY, 7, CNNACC_HWPE_SUSPENDED) },
	{ "nothing to resume", { READ_ACC(0, CNNACC_HWPE_ENABLE, 0, 0) }, 1,
	  BAD(HWPE_E_ENABLE_IDLE, 0, 0) },
	{ "reserved bits", { WRITE_CFG(0, 0xff800000) }, 1, BAD_CONFIG(0, RESERVED) },
	{ "Kernel_size 12", { WRITE_CFG(1, 12) }, 1, BAD_CONFIG(0, KERNEL) },
	{ "Kernel_333 of size 5", { WRITE_CFG(1, 0xf5) }, 1, BAD_CONFIG(0, KERNEL) },
	{ "an input layer of EXP4", { WRITE_CFG(1, 0x63) }, 1, BAD_CONFIG(0, TYPE) },
	{ "Kernel_333 of an inner layer", { WRITE_CFG(1, 0xb3) }, 1, BAD_CONFIG(0, LAYER) },
	{ "a shift of 25", { WRITE_CFG(0, 0x1931) }, 1, BAD_CONFIG(0, SHIFT) },
	{ "no channels", { WRITE_CFG(0, 0x1831) }, 1, BAD_CONFIG(0, CH_COUNT) },
	{ "a task without configuration", { MAC(0, 0, 0) }, 1, BAD_CONFIG(0, KERNEL) },
	{ "base 1 in SRAM1", { ONE, MAC(0, 0x10001, 0) }, 2, BAD(HWPE_E_FMAP_2ADDR, 1, 1) },
	{ "base 2 beyond 2 MiB", { BASES(0), WRITE_BASE(2, 0x200000, 0), ONE, MAC(0, 0x10001, 0) },
	  4, BAD(HWPE_E_ADDR, 3, 2) },
	{ "a row into SRAM2", { WRITE_BASE(0, 0xffffc, 0), WRITE_CFG(1, 0x2071),
	    MAC(0, 0x10001, 0) }, 3, BAD(HWPE_E_FMAP_2ADDR, 2, 0) },
	{ "a second window past the kernels", { BASES(0), BASES(2), BASES(4), BASES(6),
	    WRITE_CFG(8192, 0x4031), MAC(0, 0x10001, 0), WAIT(1),
	    READ_ACC(0, CNNACC_HWPE_ENABLE, 0, 0), WAIT(1), END }, 10, .want = { .pc = 9 } },
	{ "one of 8193 rounds", { BASES(0), BASES(2), BASES(4), BASES(6),
	    WRITE_CFG(8193, 0x4031), MAC(0, 0x10001, 0), WAIT(1),
	    READ_ACC(0, CNNACC_HWPE_ENABLE, 0, 0) }, 8, BAD(HWPE_E_ADDR, 7, 8) },
	{ "COPY2D without permission", { { OP(COPY2D, 0, 0), { OUT_VA + 70, 0, 1, 1 } } }, 1,
	  FAULT(SEQ_E_DMA, 0, READ, OUT_VA + 64) },
	{ "ReLUWrite into a read-only page", { RELU_WRITE(0, IN_VA - 12) }, 1,
	  FAULT(SEQ_E_DMA, 0, WRITE, IN_VA) },
	{ "DRAIN into a read-only page", { DRAIN(0, 2, IN_VA - 64, 0, 1, 64) }, 1,
	  FAULT(SEQ_E_DMA, 0, WRITE, IN_VA) },
	{ "a result into a read-only page", { READ_ACC(CNNACC_SEQ_RESULT, 0, 0, IN_VA + 4) }, 1,
	  FAULT(SEQ_E_DMA, 0, WRITE, IN_VA) },
};

#define STREAMS		(sizeof(streams) / sizeof(streams[0]))

static void build(const struct short_stream *s, struct golden_shell *shell, struct job *job)
{
	struct prng prng = { 1 };

	golden_shell_reset(shell);
	job_begin(job, shell->bus.opaque, &prng);
	job_region(job, OUT_VA, 64, CNNACC_PTE_WRITE);
	job_region(job, IN_VA, 64, CNNACC_PTE_READ);
	for (uint32_t i = 0; i < s->count; i++)
		stream_emit(&job->program, s->command[i].op, s->command[i].arg);
	job_finish(job, PROGRAM_VA, STATS_VA);
}

static bool stats_differ(const struct cnnacc_stats *is, const struct cnnacc_stats *should)
{
	static const char *const names[] = CNNACC_STATS_NAMES;
	uint64_t a[sizeof(*is) / 8], b[sizeof(*is) / 8];
	bool bad = false;

	memcpy(a, is, sizeof(a));
	memcpy(b, should, sizeof(b));
	for (unsigned int i = 0; should->cycles && i < sizeof(a) / 8; i++)
		bad |= differs(names[i], a[i], b[i]);
	return bad;
}

static void test_stream(const struct short_stream *s, struct golden_shell *shell, struct job *job)
{
	const struct golden_status *want = &s->want;
	struct golden_result r;
	bool bad;

	build(s, shell, job);
	golden_shell_run(shell, &job->packet, &r);
	bad = differs("class", r.status.status_class, want->status_class);
	bad |= differs("code", r.status.status_code, want->status_code);
	bad |= differs("pc", r.status.pc, want->pc);
	bad |= differs("detail", r.status.detail, want->detail);
	bad |= differs("access", r.status.access, want->access);
	bad |= differs("fault va", r.status.fault_va, want->fault_va);
	bad |= want->events && differs("events", r.status.events, want->events);
	bad |= stats_differ(&r.stats, &s->stats);
	report(!bad, s->name);
}

/* A LOOP whose body ends with the last command of the program memory. */
static void test_end_of_memory(struct golden_shell *shell, struct job *job)
{
	struct prng prng = { 1 };
	struct golden_result r;

	golden_shell_reset(shell);
	job_begin(job, shell->bus.opaque, &prng);
	stream_loop(&job->program, STREAM_COMMANDS - 1, 2);
	while (stream_length(&job->program) < STREAM_COMMANDS)
		stream_emit(&job->program, CNNACC_SEQ_IRQ, (uint32_t[7]){ 0 });
	job_finish(job, PROGRAM_VA, STATS_VA);
	golden_shell_run(shell, &job->packet, &r);
	report(r.status.status_code == CNNACC_SEQ_E_PC && r.status.pc == STREAM_COMMANDS &&
	       r.status.events == 2 * (STREAM_COMMANDS - 1), "past the program memory");
}

/* The command that exceeds the limit raises no event, but counts it. */
static void test_limit(struct golden_shell *shell, struct job *job)
{
	static const struct short_stream s = {
		.name = "a cycle limit", .command = { IRQ, IRQ, END }, .count = 3,
	};
	struct golden_result r;

	build(&s, shell, job);
	job->packet.cycle_limit = 16 + 2 + 1;
	golden_shell_run(shell, &job->packet, &r);
	report(r.status.status_class == CNNACC_STATUS_TIME_LIMIT && r.status.pc == 1 &&
	       r.status.events == 1 && r.stats.events == 2 && r.cycles == 20, s.name);
}

static void test_vector(unsigned int i, struct golden_shell *shell, struct job *job)
{
	struct prng prng = { i };
	struct golden_result result;

	golden_shell_reset(shell);
	job_begin(job, shell->bus.opaque, &prng);
	hwpe_vector_build(i, job);
	golden_shell_run(shell, &job->packet, &result);
	report(!differs("class", result.status.status_class, CNNACC_STATUS_OK) &&
	       hwpe_vector_check(i, job), hwpe_vector_name(i));
}

int main(void)
{
	static const struct golden_hwpe_params params = {
		CNNACC_HWPE_FMAP_DEFAULT, CNNACC_HWPE_KERNEL_DEFAULT, CNNACC_HWPE_PROGRAM_DEFAULT,
	};
	struct golden_shell shell = { .core.job_cycles_max = INT64_MAX };
	struct golden_hwpe *hwpe = golden_hwpe_create(&params);
	struct job *job = calloc(1, sizeof(*job));
	struct image image = { .bytes = calloc(1, IMAGE_BYTES) };

	if (!hwpe || !job || !image.bytes)
		return 2;
	golden_hwpe_core(hwpe, &shell.core);
	shell.bus = image_bus(&image);
	printf("1..%u\n", (unsigned int)(ENCODINGS + STREAMS) + hwpe_vector_count() + 2);
	for (unsigned int i = 0; i < ENCODINGS; i++)
		report(!differs(encodings[i].text, encodings[i].encoded, encodings[i].published),
		       encodings[i].text);
	for (unsigned int i = 0; i < hwpe_vector_count(); i++)
		test_vector(i, &shell, job);
	for (unsigned int i = 0; i < STREAMS; i++)
		test_stream(&streams[i], &shell, job);
	test_end_of_memory(&shell, job);
	test_limit(&shell, job);
	golden_hwpe_destroy(hwpe);
	free(job);
	free(image.bytes);
	return failures ? 1 : 0;
}
