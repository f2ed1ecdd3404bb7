// SPDX-License-Identifier: MIT
/*
 * Programs that configure a unit, start transfers, EXEC and end; cycles and stalls
 * are calculated by hand.
 *
 * By hand: boot 16 and a line for each 16 words begun; 8 LDI and 8 for the CFG of a
 * group, 1 more for each value above 16 bits; 3 LDI and 1 for a LOAD, 1 more for a
 * STORE, whose VA is above 16 bits.  The EXEC is then due at the *t* given, and the
 * transfers end at the *d* given: 16 and its lines after the last one's 1, or after the
 * transfer before it.
 *
 * An EXEC that waits for nothing: cycles = max(d, t + T + 1), stall = cycles - (t + T + 1).
 * One that waits for all: cycles = d + T + 1, stall = d - t.
 * Where banks are not split, the halves of a bank are one memory.
 */
#include "vectors_halves.h"

#include <stddef.h>

#include "../fp32.h"
#include "layer.h"

/* First line and float of the upper half. */
#define DATA_LINE	(CNNACC_CCP_DATA_BANK_DEFAULT / CNNACC_LINE_SIZE / 2)
#define DATA_FLOAT	(CNNACC_CCP_DATA_BANK_DEFAULT / 8)
#define WEIGHT_LINE	(CNNACC_CCP_WEIGHT_BANK_DEFAULT / CNNACC_LINE_SIZE / 2)
#define WEIGHT_FLOAT	(CNNACC_CCP_WEIGHT_BANK_DEFAULT / 8)
#define BANK_FLOATS	(2 * WEIGHT_FLOAT)

#define IN_VA		0x00000000u
#define OUT_VA		0x7ff00040u
#define PROGRAM_VA	0xf0000000u
#define STATS_VA	0xfffff000u

#define CYCLE_LIMIT	1000		/* below job_cycles_max of any core */

#define READ		CNNACC_CCP_TGT_READ_BANK
#define WRITE		CNNACC_CCP_TGT_WRITE_BANK
#define WEIGHTS(bank)	(CNNACC_CCP_TGT_WEIGHT0 + (bank))

/* 65 and 17 lines: the upper halves begin with lines 32 and 8, floats 512 and 128. */
static const struct golden_ccp_params odd_banks = { 4160, 1088, 320, 2, 1 };
static const struct golden_ccp_params whole_odd_banks = { 4160, 1088, 320, 2, 0 };
static const struct golden_ccp_params whole_banks = {
	CNNACC_CCP_DATA_BANK_DEFAULT, CNNACC_CCP_WEIGHT_BANK_DEFAULT, CNNACC_CCP_ICACHE_DEFAULT,
	CNNACC_CCP_LOB_DEFAULT, 0,
};

struct move {
	bool store;
	unsigned int target;
	uint32_t first, lines;	/* in the bank */
};

struct halves_vector {
	const char *name;
	const struct golden_ccp_params *params;	/* NULL: of the default build */
	enum cnnacc_ccp_unit unit;
	union {
		struct conv_layer conv;
		struct pool_layer pool;
		struct pad_layer pad;
		struct fc_layer fc;
	};
	struct move move[2];
	bool swap;		/* between the transfers and the EXEC */
	uint64_t cycles, stall;
};

/*
 * A 1 x 1 convolution of a 1 x 1 map on one core group: T = 12 + (bias ? 4 : 0) +
 * outputs + 6 for up to four outputs.  With one LOAD t = 57, with two 61; 1 later for
 * each value above 16 bits besides the three that all have.
 */
#define POINT	.kernel = 1, .stride = 1, .in_cols = 1, .out_cols = 1, .groups = 1, .vec_active = 1

/* The first of two outputs has its weights at the end of bank 1, the other in bank 2. */
#define TWO_BANKS { \
	.in = 16, .out = 2, .bias = 1, .weight_base = 2 * BANK_FLOATS - 16, \
	.bias_base = 3 * BANK_FLOATS, \
}

static const struct halves_vector vectors[] = {
	/* t 57, d 173, T 19 */
	{ .name = "LOAD above the weights of a conv",
	  .conv = { POINT, .ci_num = 1, .co_num = 1 },
	  .move = { { false, WEIGHTS(0), WEIGHT_LINE, 100 } },
	  .cycles = 173, .stall = 96 },
	{ .name = "LOAD over both halves of the weights of a conv",
	  .conv = { POINT, .ci_num = 1, .co_num = 1 },
	  .move = { { false, WEIGHTS(0), WEIGHT_LINE - 1, 100 } },
	  .cycles = 193, .stall = 116 },
	/* t 57, d 173, T 23 */
	{ .name = "LOAD around the bias of a conv",
	  .conv = { POINT, .ci_num = 1, .co_num = 1, .bias = 1, .bias_base = WEIGHT_FLOAT },
	  .move = { { false, WEIGHTS(0), WEIGHT_LINE, 100 } },
	  .cycles = 197, .stall = 116 },
	/* t 57, d 173, T 18: nothing is added to nor stored */
	{ .name = "LOAD around the bias of a later conv iteration",
	  .conv = { POINT, .ci_num = 2, .co_num = 1, .bias = 1, .bias_base = WEIGHT_FLOAT },
	  .move = { { false, WEIGHTS(0), WEIGHT_LINE, 100 } },
	  .cycles = 192, .stall = 116 },
	/* t 57, d 173, T = 1 + 2 + 2 * 9 + 5 + 6 = 32; bank 1 has output 1 alone */
	{ .name = "LOAD around weights that another bank alone has",
	  .conv = { POINT, .ci_num = 1, .co_num = 5, .weight_pitch = WEIGHT_FLOAT },
	  .move = { { false, WEIGHTS(1), WEIGHT_LINE + 88, 100 } },
	  .cycles = 206, .stall = 116 },
	/* t 58, d 174, T 23; channel 4 has its weight and bias at float WEIGHT_FLOAT */
	{ .name = "LOAD below the first output channel's weights and bias",
	  .conv = { POINT, .ci_num = 1, .co_num = 5, .co_start = 4, .bias = 1,
		    .weight_base = WEIGHT_FLOAT - 1, .bias_base = WEIGHT_FLOAT - 1 },
	  .move = { { false, WEIGHTS(0), WEIGHT_LINE - 100, 100 } },
	  .cycles = 174, .stall = 92 },
	/* t 57, d 173, T 18 */
	{ .name = "LOAD above the last input channel's weights",
	  .conv = { POINT, .ci_num = 2, .co_num = 1, .weight_base = WEIGHT_FLOAT - 1 },
	  .move = { { false, WEIGHTS(0), WEIGHT_LINE, 100 } },
	  .cycles = 173, .stall = 97 },
	/* t 58, d 174, T 18 */
	{ .name = "LOAD above the last input channel's plane",
	  .conv = { POINT, .ci_num = 2, .co_num = 1, .in_base = DATA_FLOAT - 1 },
	  .move = { { false, READ, DATA_LINE, 100 } },
	  .cycles = 174, .stall = 97 },
	/* t 61; the first LOAD ends at 173, the second at 190; the EXEC runs from 173 to 192 */
	{ .name = "EXEC does not wait for the second LOAD",
	  .conv = { POINT, .ci_num = 1, .co_num = 1 },
	  .move = { { false, WEIGHTS(0), 0, 100 }, { false, WEIGHTS(0), WEIGHT_LINE, 1 } },
	  .cycles = 193, .stall = 112 },
	/* t 58, d 174, T 19 */
	{ .name = "LOAD below the input of a conv",
	  .conv = { POINT, .ci_num = 1, .co_num = 1, .in_base = DATA_FLOAT },
	  .move = { { false, READ, 0, 100 } },
	  .cycles = 174, .stall = 96 },
	/* t 58, d 174, T 20; the tile is below the map */
	{ .name = "LOAD around planes that a conv does not write",
	  .conv = { POINT, .ci_num = 1, .co_num = 2, .row_start = 1, .out_base = DATA_FLOAT - 1 },
	  .move = { { false, WRITE, DATA_LINE, 100 } },
	  .cycles = 195, .stall = 116 },
	/* t 58, d 174, T 18 */
	{ .name = "LOAD around the output of a conv that stores nothing",
	  .conv = { POINT, .ci_num = 2, .co_num = 1, .out_base = DATA_FLOAT },
	  .move = { { false, WRITE, DATA_LINE, 100 } },
	  .cycles = 193, .stall = 116 },
	/* t 59, d 174, T 19 */
	{ .name = "LOAD below the output of a conv, of a bank that was swapped",
	  .conv = { POINT, .ci_num = 1, .co_num = 1, .out_base = DATA_FLOAT },
	  .move = { { false, READ, 0, 100 } }, .swap = true,
	  .cycles = 174, .stall = 95 },
	/* t 59, d 175, T 19 */
	{ .name = "STORE below the output of a conv",
	  .conv = { POINT, .ci_num = 1, .co_num = 1, .out_base = DATA_FLOAT },
	  .move = { { true, WRITE, DATA_LINE - 100, 100 } },
	  .cycles = 175, .stall = 96 },
	{ .name = "STORE from both halves beside a conv",
	  .conv = { POINT, .ci_num = 1, .co_num = 1, .out_base = DATA_FLOAT },
	  .move = { { true, WRITE, DATA_LINE - 50, 100 } },
	  .cycles = 195, .stall = 116 },
	/* two planes, the second in the upper half; t 40, d 156, T 7 */
	{ .name = "LOAD around the second plane of a pool",
	  .unit = CNNACC_CCP_POOL,
	  .pool = { .kernel = 2, .stride = 1, .in_cols = 2, .channels = 2,
		    .in_pitch = DATA_FLOAT },
	  .move = { { false, READ, DATA_LINE, 100 } },
	  .cycles = 164, .stall = 116 },
	/* the output's first float is the last of the lower half; t 40, d 156, T 1 */
	{ .name = "STORE around the output of a pad",
	  .unit = CNNACC_CCP_PAD,
	  .pad = { .layers = 1, .in_cols = 1, .channels = 1, .out_base = DATA_FLOAT - 1 },
	  .move = { { true, WRITE, DATA_LINE, 100 } },
	  .cycles = 158, .stall = 116 },
	/* t 37, d 153, T 18 */
	{ .name = "LOAD below the first weights of an fc", .unit = CNNACC_CCP_FC,
	  .fc = TWO_BANKS,
	  .move = { { false, WEIGHTS(1), 0, 100 } },
	  .cycles = 153, .stall = 97 },
	{ .name = "LOAD above the last weights of an fc", .unit = CNNACC_CCP_FC,
	  .fc = TWO_BANKS,
	  .move = { { false, WEIGHTS(2), WEIGHT_LINE, 100 } },
	  .cycles = 153, .stall = 97 },
	{ .name = "LOAD around the first weights of an fc", .unit = CNNACC_CCP_FC,
	  .fc = TWO_BANKS,
	  .move = { { false, WEIGHTS(1), WEIGHT_LINE, 100 } },
	  .cycles = 172, .stall = 116 },
	{ .name = "LOAD around the last weights of an fc", .unit = CNNACC_CCP_FC,
	  .fc = TWO_BANKS,
	  .move = { { false, WEIGHTS(2), 0, 100 } },
	  .cycles = 172, .stall = 116 },
	{ .name = "LOAD around the biases of an fc", .unit = CNNACC_CCP_FC,
	  .fc = TWO_BANKS,
	  .move = { { false, WEIGHTS(3), 0, 100 } },
	  .cycles = 172, .stall = 116 },
	/* one weight and the 15 behind it; t 37, d 153, T 14 */
	{ .name = "LOAD around the rounding of an fc's weights",
	  .unit = CNNACC_CCP_FC,
	  .fc = { .in = 1, .out = 1, .weight_base = WEIGHT_FLOAT - 1 },
	  .move = { { false, WEIGHTS(0), WEIGHT_LINE, 100 } },
	  .cycles = 168, .stall = 116 },
	/* t 38, d 154, T 14 */
	{ .name = "LOAD above the input of an fc",
	  .unit = CNNACC_CCP_FC,
	  .fc = { .in = 1, .out = 1, .in_base = DATA_FLOAT - 1 },
	  .move = { { false, READ, DATA_LINE, 100 } },
	  .cycles = 154, .stall = 101 },
	/* t 57, T 19; d 82, 82, 81, 106, 106 */
	{ .name = "LOAD above the weights in 17 lines", .params = &odd_banks,
	  .conv = { POINT, .ci_num = 1, .co_num = 1, .weight_base = 127 },
	  .move = { { false, WEIGHTS(0), 8, 9 } },
	  .cycles = 82, .stall = 5 },
	{ .name = "LOAD around the weights in 17 lines", .params = &odd_banks,
	  .conv = { POINT, .ci_num = 1, .co_num = 1, .weight_base = 128 },
	  .move = { { false, WEIGHTS(0), 8, 9 } },
	  .cycles = 102, .stall = 25 },
	{ .name = "LOAD below the weights in 17 lines", .params = &odd_banks,
	  .conv = { POINT, .ci_num = 1, .co_num = 1, .weight_base = 128 },
	  .move = { { false, WEIGHTS(0), 0, 8 } },
	  .cycles = 81, .stall = 4 },
	{ .name = "LOAD above the input in 65 lines", .params = &odd_banks,
	  .conv = { POINT, .ci_num = 1, .co_num = 1, .in_base = 511 },
	  .move = { { false, READ, 32, 33 } },
	  .cycles = 106, .stall = 29 },
	{ .name = "LOAD around the input in 65 lines", .params = &odd_banks,
	  .conv = { POINT, .ci_num = 1, .co_num = 1, .in_base = 512 },
	  .move = { { false, READ, 32, 33 } },
	  .cycles = 126, .stall = 49 },
	/* t 58, d 174, T 19: both read */
	{ .name = "STORE of what a conv reads",
	  .conv = { POINT, .ci_num = 1, .co_num = 1 },
	  .move = { { true, READ, 0, 100 } },
	  .cycles = 174, .stall = 96 },
	/*
	 * Banks that are one memory each.
	 * t 57, d 173, T 19
	 */
	{ .name = "whole banks: LOAD above the weights of a conv", .params = &whole_banks,
	  .conv = { POINT, .ci_num = 1, .co_num = 1 },
	  .move = { { false, WEIGHTS(0), WEIGHT_LINE, 100 } },
	  .cycles = 193, .stall = 116 },
	{ .name = "whole banks: LOAD into a weight bank that a conv leaves", .params = &whole_banks,
	  .conv = { POINT, .ci_num = 1, .co_num = 1 },
	  .move = { { false, WEIGHTS(1), 0, 100 } },
	  .cycles = 173, .stall = 96 },
	/* t 61; the second LOAD ends at 190 */
	{ .name = "whole banks: EXEC waits for the second LOAD", .params = &whole_banks,
	  .conv = { POINT, .ci_num = 1, .co_num = 1 },
	  .move = { { false, WEIGHTS(0), 0, 100 }, { false, WEIGHTS(0), WEIGHT_LINE, 1 } },
	  .cycles = 210, .stall = 129 },
	/* t 58, d 174, T 19 */
	{ .name = "whole banks: LOAD below the input of a conv", .params = &whole_banks,
	  .conv = { POINT, .ci_num = 1, .co_num = 1, .in_base = DATA_FLOAT },
	  .move = { { false, READ, 0, 100 } },
	  .cycles = 194, .stall = 116 },
	/* t 59, d 174, T 19 */
	{ .name = "whole banks: LOAD below the output of a conv, swapped", .params = &whole_banks,
	  .conv = { POINT, .ci_num = 1, .co_num = 1, .out_base = DATA_FLOAT },
	  .move = { { false, READ, 0, 100 } }, .swap = true,
	  .cycles = 194, .stall = 115 },
	/* t 59, d 175, T 19 */
	{ .name = "whole banks: STORE below the output of a conv", .params = &whole_banks,
	  .conv = { POINT, .ci_num = 1, .co_num = 1, .out_base = DATA_FLOAT },
	  .move = { { true, WRITE, DATA_LINE - 100, 100 } },
	  .cycles = 195, .stall = 116 },
	/* t 58, d 174, T 19: both read */
	{ .name = "whole banks: STORE of what a conv reads", .params = &whole_banks,
	  .conv = { POINT, .ci_num = 1, .co_num = 1 },
	  .move = { { true, READ, 0, 100 } },
	  .cycles = 174, .stall = 96 },
	{ .name = "whole banks: STORE above what a conv reads", .params = &whole_banks,
	  .conv = { POINT, .ci_num = 1, .co_num = 1 },
	  .move = { { true, READ, DATA_LINE, 100 } },
	  .cycles = 174, .stall = 96 },
	/* t 38, d 154, T 6 */
	{ .name = "whole banks: LOAD above the input of a pool", .params = &whole_banks,
	  .unit = CNNACC_CCP_POOL,
	  .pool = { .kernel = 2, .stride = 1, .in_cols = 2, .channels = 1 },
	  .move = { { false, READ, DATA_LINE, 100 } },
	  .cycles = 161, .stall = 116 },
	/* t 38, d 154, T 1 */
	{ .name = "whole banks: STORE above the output of a pad", .params = &whole_banks,
	  .unit = CNNACC_CCP_PAD,
	  .pad = { .layers = 1, .in_cols = 1, .channels = 1 },
	  .move = { { true, WRITE, DATA_LINE, 100 } },
	  .cycles = 156, .stall = 116 },
	/* t 37, d 153, T 18 */
	{ .name = "whole banks: LOAD below the first weights of an fc", .params = &whole_banks,
	  .unit = CNNACC_CCP_FC, .fc = TWO_BANKS,
	  .move = { { false, WEIGHTS(1), 0, 100 } },
	  .cycles = 172, .stall = 116 },
	{ .name = "whole banks: LOAD into a weight bank that an fc leaves", .params = &whole_banks,
	  .unit = CNNACC_CCP_FC, .fc = TWO_BANKS,
	  .move = { { false, WEIGHTS(0), 0, 100 } },
	  .cycles = 153, .stall = 97 },
	/* t 57, T 19; d 81, then 106 */
	{ .name = "whole banks: LOAD below the weights in 17 lines", .params = &whole_odd_banks,
	  .conv = { POINT, .ci_num = 1, .co_num = 1, .weight_base = 128 },
	  .move = { { false, WEIGHTS(0), 0, 8 } },
	  .cycles = 101, .stall = 24 },
	{ .name = "whole banks: LOAD above the input in 65 lines", .params = &whole_odd_banks,
	  .conv = { POINT, .ci_num = 1, .co_num = 1, .in_base = 511 },
	  .move = { { false, READ, 32, 33 } },
	  .cycles = 126, .stall = 49 },
};

unsigned int halves_count(void)
{
	return sizeof(vectors) / sizeof(vectors[0]);
}

const char *halves_name(unsigned int index)
{
	return vectors[index].name;
}

const struct golden_ccp_params *halves_params(unsigned int index)
{
	return vectors[index].params;
}

static void configure(struct program *program, unsigned int unit, unsigned int group,
		      const uint32_t g[8])
{
	asm_set_all(program, g);
	program_emit(program, CNNACC_CCP_INSN_CFG(unit, group));
}

static void configure_unit(struct program *program, const struct halves_vector *v)
{
	uint32_t g[8], g1[8];

	switch (v->unit) {
	case CNNACC_CCP_CONV:
		conv_pack(&v->conv, g, g1);
		configure(program, CNNACC_CCP_CONV, 1, g1);
		break;
	case CNNACC_CCP_POOL:
		pool_pack(&v->pool, g);
		break;
	case CNNACC_CCP_PAD:
		pad_pack(&v->pad, g);
		break;
	case CNNACC_CCP_FC:
		fc_pack(&v->fc, g);
		break;
	}
	configure(program, v->unit, 0, g);
}

void halves_build(unsigned int index, struct job *job)
{
	const struct halves_vector *v = &vectors[index];

	job_region(job, IN_VA, 100, CNNACC_PTE_READ);
	job_region(job, OUT_VA, 100, CNNACC_PTE_WRITE);
	configure_unit(&job->program, v);
	for (const struct move *m = v->move; m < v->move + 2 && m->lines; m++)
		asm_dma(&job->program, !m->store, m->store ? OUT_VA : IN_VA,
			m->lines, m->first, m->target);
	if (v->swap)
		program_emit(&job->program, CNNACC_CCP_INSN_SWAP);
	program_emit(&job->program, CNNACC_CCP_INSN_EXEC(v->unit));
	program_emit(&job->program, CNNACC_CCP_INSN_NOP);
	job_finish(job, PROGRAM_VA, STATS_VA);
	job->packet.cycle_limit = CYCLE_LIMIT;
}

static uint64_t recorded(struct job *job, size_t offset)
{
	return word_get(space_at(&job->space, STATS_VA + offset), 0);
}

bool halves_check(unsigned int index, struct job *job)
{
	const struct halves_vector *v = &vectors[index];
	uint64_t cycles = recorded(job, offsetof(struct cnnacc_stats, cycles));
	uint64_t stall = recorded(job, offsetof(struct cnnacc_stats, stall_cycles));

	if (cycles == v->cycles && stall == v->stall)
		return true;
	printf("# %s: cycles %llu, not %llu; stall %llu, not %llu\n", v->name,
	       (unsigned long long)cycles, (unsigned long long)v->cycles,
	       (unsigned long long)stall, (unsigned long long)v->stall);
	return false;
}
