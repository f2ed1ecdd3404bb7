// SPDX-License-Identifier: MIT
/* The golden model against known results; TAP. */
#include <stdlib.h>
#include <string.h>

#include "ccp.h"
#include "fields.h"
#include "vectors.h"

static const struct {
	const char *text;
	uint32_t published, encoded;
} encodings[] = {
	{ "ldi r1, 0x1234", 0x12001234, CNNACC_CCP_INSN_LDI(1, 0x1234) },
	{ "ldih r1, 0xabcd", 0x2200abcd, CNNACC_CCP_INSN_LDIH(1, 0xabcd) },
	{ "addi r2, r1, -1", 0x3440ffff, CNNACC_CCP_INSN_ADDI(2, 1, -1) },
	{ "load read[r2], [r0], r1", 0x40500000, CNNACC_CCP_INSN_LOAD(0, 1, 2, 0) },
	{ "load weight3[r2], [r0], r1", 0x40570000, CNNACC_CCP_INSN_LOAD(0, 1, 2, 7) },
	{ "store [r3], write[r5], r4", 0x57290000, CNNACC_CCP_INSN_STORE(3, 4, 5, 1) },
	{ "cfg conv, 0", 0x60000000, CNNACC_CCP_INSN_CFG(0, 0) },
	{ "cfg conv, 1", 0x61000000, CNNACC_CCP_INSN_CFG(0, 1) },
	{ "exec conv", 0x70000000, CNNACC_CCP_INSN_EXEC(0) },
	{ "exec pool", 0x74000000, CNNACC_CCP_INSN_EXEC(1) },
	{ "exec pad", 0x78000000, CNNACC_CCP_INSN_EXEC(2) },
	{ "exec fc", 0x7c000000, CNNACC_CCP_INSN_EXEC(3) },
	{ "swap", 0x80000000, CNNACC_CCP_INSN_SWAP },
	{ "bnz r2, 5", 0x94000005, CNNACC_CCP_INSN_BNZ(2, 5) },
	{ "nop", 0x00000000, CNNACC_CCP_INSN_NOP },
};

#define ENCODINGS	(sizeof(encodings) / sizeof(encodings[0]))

static unsigned int failures, number;

static void report(bool good, const char *name)
{
	failures += !good;
	printf("%sok %u - %s\n", good ? "" : "not ", ++number, name);
}

static void test_encoding(unsigned int i)
{
	char text[64];

	disassemble(encodings[i].published, text);
	report(encodings[i].published == encodings[i].encoded && !strcmp(text, encodings[i].text),
	       encodings[i].text);
}

/* The rows of BAD_RESERVED in Documentation/hardware/ccp.rst. */
static void test_reserved(void)
{
	static const uint32_t reserved[CCP_GROUPS][CNNACC_CCP_GPRS] = {
		[CONV_GROUP_0] = { [0] = 0x000000fc, [5] = 0x0000fce0 },
		[CONV_GROUP_1] = { [7] = 0xffff0000 },
		[POOL_GROUP] = { [0] = 0x000000fe },
		[PAD_GROUP] = { [2] = 0xffff0000 },
		[FC_GROUP] = { [0] = 0xfffffffc },
	};
	bool good = true;

	for (unsigned int group = 0; group < CCP_GROUPS; group++)
		for (unsigned int word = 0; word < CNNACC_CCP_GPRS; word++)
			good &= fields_reserved(&ccp_fields, group, word) == reserved[group][word];
	report(good, "reserved bits of the parameter groups");
}

/* Every bit of every word is in one field or reserved: none is in two. */
static void test_overlap(void)
{
	unsigned int bits = 0;

	for (unsigned int i = 0; i < ccp_fields.count; i++)
		bits += ccp_fields.field[i].high - ccp_fields.field[i].low + 1;
	for (unsigned int group = 0; group < CCP_GROUPS; group++)
		for (unsigned int word = 0; word < CNNACC_CCP_GPRS; word++)
			bits += __builtin_popcount(fields_reserved(&ccp_fields, group, word));
	report(bits == 32 * CCP_GROUPS * CNNACC_CCP_GPRS, "no bit of a group in two fields");
}

static void test_vector(unsigned int i, struct golden_shell *shell, struct job *job)
{
	struct prng prng = { i };
	struct golden_result result;

	golden_shell_reset(shell);
	job_begin(job, shell->bus.opaque, &prng);
	vector_build(i, job);
	golden_shell_run(shell, &job->packet, &result);
	report(result.status.status_class == CNNACC_STATUS_OK && vector_check(i, job),
	       vector_name(i));
	if (result.status.status_class != CNNACC_STATUS_OK)
		printf("# class %u code %u pc %u detail %u\n", result.status.status_class,
		       result.status.status_code, result.status.pc, result.status.detail);
}

static bool ended(const struct golden_result *r, const struct golden_status *want)
{
	return r->status.status_class == want->status_class &&
	       r->status.status_code == want->status_code && r->status.pc == want->pc &&
	       r->status.detail == want->detail && r->status.access == want->access &&
	       r->status.fault_va == want->fault_va;
}

/* 17 words, the last a NOP: two lines from the end of a page. */
#define TWO_LINES_VA	0x00400fc0u
#define RECORD_VA	0xffffffc0u

static void two_lines_of_code(struct golden_shell *shell, struct job *job)
{
	struct prng prng = { 1 };

	golden_shell_reset(shell);
	job_begin(job, shell->bus.opaque, &prng);
	for (unsigned int i = 0; i < 16; i++)
		program_emit(&job->program, CNNACC_CCP_INSN_LDI(1, i));
	program_emit(&job->program, CNNACC_CCP_INSN_NOP);
}

/* A boot whose second line is refused counts nothing. */
static void test_fetch_fault(struct golden_shell *shell, struct job *job)
{
	static const struct golden_status want = {
		.status_class = CNNACC_STATUS_MMU_FAULT, .status_code = CNNACC_CODE_FETCH,
		.detail = CNNACC_FAULT_PAGE, .access = CNNACC_ACCESS_EXEC,
		.fault_va = TWO_LINES_VA + CNNACC_LINE_SIZE,
	};
	struct golden_result result;

	two_lines_of_code(shell, job);
	job_finish(job, TWO_LINES_VA, 0);
	memset(space_page_entry(&job->space, TWO_LINES_VA + CNNACC_LINE_SIZE), 0, 4);
	golden_shell_run(shell, &job->packet, &result);
	report(ended(&result, &want) && !result.cycles && !result.stats.mem_read_bytes &&
	       result.stats.jobs == 1, "a boot that faults in its second line");
}

/* The record's second line is beyond 4 GiB, not at VA 0. */
static void test_record_fault(struct golden_shell *shell, struct job *job)
{
	static const struct golden_status want = {
		.status_class = CNNACC_STATUS_MMU_FAULT, .status_code = CNNACC_CODE_STATS,
		.pc = 16, .detail = CNNACC_FAULT_BEYOND, .access = CNNACC_ACCESS_WRITE,
		.fault_va = RECORD_VA,
	};
	struct golden_result result;

	two_lines_of_code(shell, job);
	job_finish(job, TWO_LINES_VA, RECORD_VA);
	golden_shell_run(shell, &job->packet, &result);
	report(ended(&result, &want) && result.cycles == 18 + 17 &&
	       *space_at(&job->space, RECORD_VA) == 18 + 17, "a record that does not fit");
}

/* PC is the instruction that exceeds the limit, and that instruction counts. */
static void test_limit(struct golden_shell *shell, struct job *job)
{
	static const struct golden_status want = {
		.status_class = CNNACC_STATUS_TIME_LIMIT, .status_code = CNNACC_CODE_TIME_LIMIT,
		.pc = 10,
	};
	struct golden_result result;

	two_lines_of_code(shell, job);
	job_finish(job, TWO_LINES_VA, 0);
	job->packet.cycle_limit = 18 + 10;
	golden_shell_run(shell, &job->packet, &result);
	report(ended(&result, &want) && result.cycles == 18 + 11 &&
	       result.stats.instructions == 11, "a cycle limit");
}

/* A vector for other build parameters than the default gets its own core. */
static void test_vector_of(unsigned int i, struct golden_shell *shell, struct job *job)
{
	struct golden_shell other = { .core.job_cycles_max = INT64_MAX, .bus = shell->bus };
	const struct golden_ccp_params *params = vector_params(i);
	struct golden_ccp *ccp;

	if (!params) {
		test_vector(i, shell, job);
		return;
	}
	ccp = golden_ccp_create(params);
	if (!ccp)
		exit(2);
	golden_ccp_core(ccp, &other.core);
	test_vector(i, &other, job);
	golden_ccp_destroy(ccp);
}

int main(void)
{
	static const struct golden_ccp_params params = {
		CNNACC_CCP_DATA_BANK_DEFAULT, CNNACC_CCP_WEIGHT_BANK_DEFAULT,
		CNNACC_CCP_ICACHE_DEFAULT, CNNACC_CCP_LOB_DEFAULT, 1,
	};
	struct golden_shell shell = { .core.job_cycles_max = INT64_MAX };
	struct golden_ccp *ccp = golden_ccp_create(&params);
	struct job *job = calloc(1, sizeof(*job));
	struct image image = { .bytes = calloc(1, IMAGE_BYTES) };

	if (!ccp || !job || !image.bytes)
		return 2;
	golden_ccp_core(ccp, &shell.core);
	shell.bus = image_bus(&image);
	printf("1..%u\n", (unsigned int)ENCODINGS + vector_count() + 5);
	for (unsigned int i = 0; i < ENCODINGS; i++)
		test_encoding(i);
	test_reserved();
	test_overlap();
	for (unsigned int i = 0; i < vector_count(); i++)
		test_vector_of(i, &shell, job);
	test_fetch_fault(&shell, job);
	test_record_fault(&shell, job);
	test_limit(&shell, job);
	golden_ccp_destroy(ccp);
	free(job);
	free(image.bytes);
	return failures ? 1 : 0;
}
