// SPDX-License-Identifier: MIT
/*
 * rawjob ITERATIONS [nomaster | write DIR]: runs one long chain of convolutions
 * on the device without the driver, to test the emulated function alone.
 *
 * Every iteration rotates pairs of channels, so each result depends on all bits
 * of the previous one.  Prints "started", then the completion and a hash of
 * the last result.  With "nomaster" bus mastering stays off.  With "write" it only
 * writes the files DIR/{program,input,weights} for cnnctl exec.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cnnacc_ccp.h"
#include "raw.h"

#define CHANNELS	64
#define ROWS		16
#define COLS		8
#define TAPS		9
#define BANK_FLOATS	(CHANNELS / 4 * CHANNELS * TAPS)
#define PLANES_BYTES	(CHANNELS * ROWS * COLS * 4)

/* All memory of the device is in one huge page; a VA is the offset in it. */
#define OFF_DIR		0x1000
#define OFF_TABLE	0x2000
#define OFF_RING	0x3000
#define OFF_COMPL	0x4000
#define OFF_PROGRAM	0x5000
#define OFF_INPUT	0x10000
#define OFF_OUTPUT	0x20000
#define OFF_WEIGHTS	0x40000

#define RING_SIZE	8
#define CTX_ID		5
#define FENCE		0x123456789abcdefull

static void write_tables(void)
{
	uint32_t *dir = (uint32_t *)(mem + OFF_DIR), *table = (uint32_t *)(mem + OFF_TABLE);

	dir[0] = CNNACC_PTE_ADDR(bus + OFF_TABLE) | CNNACC_PTE_VALID;
	for (uint32_t i = 0; i < HUGE / CNNACC_PAGE_SIZE; i++)
		table[i] = CNNACC_PTE_ADDR(bus + i * CNNACC_PAGE_SIZE) | CNNACC_PTE_VALID |
			   CNNACC_PTE_READ | CNNACC_PTE_WRITE | CNNACC_PTE_EXEC;
}

/* The weights rotate each pair of channels (o, o ^ 1) by a fixed angle. */
static void write_data(void)
{
	float *in = (float *)(mem + OFF_INPUT), *w = (float *)(mem + OFF_WEIGHTS);
	uint32_t seed = 1;

	for (uint32_t i = 0; i < PLANES_BYTES / 4; i++) {
		seed = seed * 1664525 + 1013904223;
		in[i] = (float)(int32_t)seed / 0x1p31f;
	}
	for (uint32_t o = 0; o < CHANNELS; o++) {
		float *bank = w + (o % 4) * BANK_FLOATS + o / 4 * CHANNELS * TAPS;

		bank[o * TAPS + TAPS / 2] = 0.8f;
		bank[(o ^ 1) * TAPS + TAPS / 2] = o & 1 ? 0.6f : -0.6f;
	}
}

static uint32_t *load32(uint32_t *p, uint32_t reg, uint32_t value)
{
	*p++ = CNNACC_CCP_INSN_LDI(reg, value);
	*p++ = CNNACC_CCP_INSN_LDIH(reg, value >> 16);
	return p;
}

static uint32_t *load_lines(uint32_t *p, uint32_t va, uint32_t bytes, uint32_t target)
{
	p = load32(p, 0, va / CNNACC_LINE_SIZE);
	p = load32(p, 1, bytes / CNNACC_LINE_SIZE);
	p = load32(p, 2, 0);
	*p++ = CNNACC_CCP_INSN_LOAD(0, 1, 2, target);
	return p;
}

static uint32_t *configure(uint32_t *p)
{
	const uint32_t conv[2][8] = {
		{ 1 << CNNACC_CCP_R0_STRIDE_SHIFT | 3 << CNNACC_CCP_R0_KERNEL_SHIFT,
		  COLS << 16 | COLS, CHANNELS << 16 | CHANNELS, (CHANNELS - 1) << 16, 0,
		  3 << CNNACC_CCP_R5_GROUPS_SHIFT | ROWS,
		  1 << CNNACC_CCP_PAD_TOP_SHIFT | 1 << CNNACC_CCP_PAD_BOTTOM_SHIFT |
		  1 << CNNACC_CCP_PAD_LEFT_SHIFT | 1u << CNNACC_CCP_PAD_RIGHT_SHIFT, 0 },
		{ 0, 0, 0, 0, ROWS << 16 | ROWS, 0, 0, 0 },
	};

	for (uint32_t group = 0; group < 2; group++) {
		for (uint32_t r = 0; r < 8; r++)
			p = load32(p, r, conv[group][r]);
		*p++ = CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, group);
	}
	return p;
}

static uint32_t write_program(uint32_t iterations)
{
	uint32_t *start = (uint32_t *)(mem + OFF_PROGRAM), *p = start, loop;

	p = load_lines(p, OFF_INPUT, PLANES_BYTES, CNNACC_CCP_TGT_READ_BANK);
	for (uint32_t b = 0; b < 4; b++)
		p = load_lines(p, OFF_WEIGHTS + b * BANK_FLOATS * 4, BANK_FLOATS * 4,
			       CNNACC_CCP_TGT_WEIGHT0 + b);
	p = configure(p);
	p = load32(p, 7, iterations);
	loop = p - start;
	*p++ = CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV);
	*p++ = CNNACC_CCP_INSN_SWAP;
	*p++ = CNNACC_CCP_INSN_ADDI(7, 7, -1);
	*p++ = CNNACC_CCP_INSN_BNZ(7, loop);
	p = load32(p, 0, OFF_OUTPUT / CNNACC_LINE_SIZE);
	p = load32(p, 1, PLANES_BYTES / CNNACC_LINE_SIZE);
	p = load32(p, 2, 0);
	*p++ = CNNACC_CCP_INSN_STORE(0, 1, 2, CNNACC_CCP_TGT_READ_BANK);
	*p++ = CNNACC_CCP_INSN_NOP;
	return (p - start) * 4;
}

static void write_file(const char *dir, const char *name, uint32_t offset, uint32_t len)
{
	char path[320];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f || fwrite(mem + offset, 1, len, f) != len || fclose(f))
		die(path);
}

static int write_files(const char *dir, uint32_t iterations)
{
	mem = calloc(1, HUGE);
	if (!mem)
		die("memory");
	write_data();
	write_file(dir, "program", OFF_PROGRAM, write_program(iterations));
	write_file(dir, "input", OFF_INPUT, PLANES_BYTES);
	write_file(dir, "weights", OFF_WEIGHTS, 4 * BANK_FLOATS * 4);
	free(mem);
	return 0;
}

static void submit(uint32_t program_len)
{
	volatile uint32_t *entry = regs + CNNACC_CORE_TABLE_OFFSET / 4;
	volatile uint32_t *q = regs + entry[4] / 4;
	struct cnnacc_packet *packet = (struct cnnacc_packet *)(mem + OFF_RING);
	uint64_t limit = (uint64_t)entry[7] << 32 | entry[6];

	*packet = (struct cnnacc_packet){
		.ctx_id = CTX_ID,
		.root = bus + OFF_DIR,
		.fence = FENCE,
		.cycle_limit = limit,
		.program_va = OFF_PROGRAM,
		.program_len = program_len,
	};
	regs[CNNACC_REG_RESET / 4] = 1;
	while (regs[CNNACC_REG_RESET / 4])
		;
	q[CNNACC_QREG_RING_BASE_LO / 4] = (uint32_t)(bus + OFF_RING);
	q[CNNACC_QREG_RING_BASE_HI / 4] = (bus + OFF_RING) >> 32;
	q[CNNACC_QREG_RING_SIZE / 4] = RING_SIZE;
	q[CNNACC_QREG_COMPL_BASE_LO / 4] = (uint32_t)(bus + OFF_COMPL);
	q[CNNACC_QREG_COMPL_BASE_HI / 4] = (bus + OFF_COMPL) >> 32;
	q[CNNACC_QREG_COMPL_SIZE / 4] = RING_SIZE;
	q[CNNACC_QREG_CTRL / 4] = CNNACC_QCTRL_ENABLE;
	__sync_synchronize();
	q[CNNACC_QREG_RING_TAIL / 4] = 1;
	printf("started\n");
	fflush(stdout);
}

/* Waits until the job is complete or the queue halts. */
static void wait_end(void)
{
	volatile uint32_t *q = regs + regs[CNNACC_CORE_TABLE_OFFSET / 4 + 4] / 4;
	const struct timespec ms = { .tv_nsec = 1000000 };

	while (q[CNNACC_QREG_COMPL_TAIL / 4] == 0 &&
	       q[CNNACC_QREG_STATE / 4] != CNNACC_QSTATE_HALTED)
		nanosleep(&ms, NULL);
	__sync_synchronize();
}

static uint64_t hash(const uint8_t *p, size_t len)
{
	uint64_t h = 14695981039346656037ull;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 1099511628211ull;
	return h;
}

/* Prints the completion.  Times depend on the host's speed and go to stderr. */
static void report(void)
{
	const struct cnnacc_completion *c = (struct cnnacc_completion *)(mem + OFF_COMPL);

	printf("shell error %u\n", regs[CNNACC_REG_ERR_CODE / 4]);
	printf("fence %#llx class %u code %u pc %u detail %u va %#llx cycles %llu\n",
	       (unsigned long long)c->fence, c->status_class, c->status_code, c->pc,
	       c->detail, (unsigned long long)c->fault_va, (unsigned long long)c->cycles);
	printf("hash %016llx\n", (unsigned long long)hash(mem + OFF_OUTPUT, PLANES_BYTES));
	fprintf(stderr, "device time %llu to %llu ns\n", (unsigned long long)c->start_ns,
		(unsigned long long)c->end_ns);
}

int main(int argc, char **argv)
{
	uint32_t iterations = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	int master = argc < 3 || strcmp(argv[2], "nomaster");
	char dir[300];

	if (!iterations) {
		fprintf(stderr, "usage: rawjob ITERATIONS [nomaster | write DIR]\n");
		return 2;
	}
	if (argc == 4 && !strcmp(argv[2], "write"))
		return write_files(argv[3], iterations);
	find_device(dir);
	map_device(dir, master);
	if (regs[CNNACC_REG_MAGIC / 4] != CNNACC_MAGIC) {
		fprintf(stderr, "rawjob: no magic number\n");
		return 1;
	}
	alloc_memory();
	write_tables();
	write_data();
	submit(write_program(iterations));
	wait_end();
	report();
	return 0;
}
