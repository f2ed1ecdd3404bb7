// SPDX-License-Identifier: MIT
#include "gen.h"

#include "../fp32.h"

#define LINE		CNNACC_LINE_SIZE
#define LINE_WORDS	(LINE / 4)
#define SWITCH_WORDS	6
#define VA_END		(1ull << CNNACC_VA_BITS)

int64_t gen_pick(struct gen *gen, int64_t low, int64_t high)
{
	return prng_range(&gen->prng, low, high);
}

bool gen_chance(struct gen *gen, unsigned int percent)
{
	return prng_chance(&gen->prng, percent);
}

/* ---------------------------------------------------------------- memory */

static uint32_t any_special(struct gen *gen)
{
	static const uint32_t special[] = {
		0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7fa00000,
		0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff,
		0x3f800000, 0xbf800000, 0x34000000, 0x00400000,
	};

	return special[gen_pick(gen, 0, sizeof(special) / sizeof(special[0]) - 1)];
}

static uint32_t any_float(uint64_t random, unsigned int mood)
{
	uint32_t sign = random << 31, mantissa = random >> 8 & 0x7fffff;
	uint32_t exponent = random >> 32;

	switch (mood) {
	case 0:		/* around one */
		return sign | (120 + exponent % 12) << 23 | mantissa;
	case 1:		/* all magnitudes */
		return sign | (1 + exponent % 254) << 23 | mantissa;
	case 2:		/* small enough for subnormal products */
		return sign | (exponent % 40) << 23 | mantissa;
	case 3:		/* whole numbers */
		return fp32_to_bits((float)((int)(exponent % 17) - 8));
	default:	/* anything, NaN and infinities with it */
		return random >> 16;
	}
}

static void fill_line(struct gen *gen, uint64_t va, unsigned int mood, unsigned int specials)
{
	uint8_t *line = space_at(&gen->job->space, va);

	for (unsigned int i = 0; i < LINE_WORDS; i++)
		word_put(line, i, any_float(prng_next(&gen->prng), mood));
	if (gen_chance(gen, specials))
		word_put(line, gen_pick(gen, 0, LINE_WORDS - 1), any_special(gen));
}

void gen_fill(struct gen *gen, uint64_t va, uint64_t lines, uint32_t permissions)
{
	unsigned int mood = gen_chance(gen, 60) ? 0 : gen_pick(gen, 0, 4);
	unsigned int specials = gen_chance(gen, 70) ? 0 : gen_pick(gen, 0, 60);

	job_region(gen->job, va, lines, permissions);
	for (uint64_t i = 0; i < lines; i++)
		fill_line(gen, va + i * LINE, mood, specials);
}

/* ------------------------------------------------------------------ code */

static uint32_t half_words(const struct gen *gen)
{
	return gen->params.icache / 2 / LINE * LINE_WORDS;
}

void gen_code_begin(struct gen *gen)
{
	gen->code = &gen->job->program;
	gen->code_base = 0;
	gen->code_limit = half_words(gen);
	gen->code_lines = NULL;
}

void gen_code_end(struct gen *gen)
{
	uint32_t lines = (gen->code->length + LINE_WORDS - 1) / LINE_WORDS;

	if (gen->code_lines)
		*gen->code_lines += lines;
}

bool gen_full(const struct gen *gen)
{
	return gen->job->segments > JOB_SEGMENTS - 24;
}

/* Bits that an instruction does not use may have any value. */
static uint32_t unused_bits(uint32_t insn)
{
	static const uint32_t mask[16] = {
		[CNNACC_CCP_NOP] = 0x0fffffff, [CNNACC_CCP_LDI] = 0x01ff0000,
		[CNNACC_CCP_LDIH] = 0x01ff0000, [CNNACC_CCP_ADDI] = 0x003f0000,
		[CNNACC_CCP_LOAD] = 0x0000ffff, [CNNACC_CCP_STORE] = 0x0000ffff,
		[CNNACC_CCP_CFG] = 0x00ffffff, [CNNACC_CCP_EXEC_UNIT] = 0x03ffffff,
		[CNNACC_CCP_SWAP] = 0x0fffffff, [CNNACC_CCP_BNZ] = 0x01fff800,
	};

	return mask[insn >> 28];
}

void gen_emit(struct gen *gen, uint32_t insn)
{
	if (gen_chance(gen, 5))
		insn |= (uint32_t)prng_next(&gen->prng) & unused_bits(insn);
	program_emit(gen->code, insn);
}

/*
 * Continue in a new code segment: the program loads it into the other half of the
 * instruction cache and branches there.  Clobbers R0..R2.
 */
void gen_switch(struct gen *gen)
{
	struct job *job = gen->job;
	uint32_t base = gen->code_base ? 0 : half_words(gen);
	uint32_t limit = gen->code_base ? half_words(gen) : gen->params.icache / 4;
	struct job_segment *next = &job->segment[job->segments++];
	uint32_t *lines;

	next->va = places_take(&gen->places, (limit - base) / LINE_WORDS);
	next->base = base;
	next->code.length = 0;
	asm_set(gen->code, 0, next->va / LINE);
	lines = &gen->code->word[gen->code->length];
	gen_emit(gen, CNNACC_CCP_INSN_LDI(1, 0));
	gen_emit(gen, CNNACC_CCP_INSN_LDI(2, base / LINE_WORDS));
	gen_emit(gen, CNNACC_CCP_INSN_LOAD(0, 1, 2, CNNACC_CCP_TGT_ICACHE));
	gen_emit(gen, CNNACC_CCP_INSN_BNZ(1, base));
	gen_code_end(gen);
	gen->code_lines = lines;
	gen->code = &next->code;
	gen->code_base = base;
	gen->code_limit = limit;
}

/* Keep the next @words instructions in one segment; may clobber R0..R2 before them. */
void gen_room(struct gen *gen, unsigned int words)
{
	if (gen->code_base + gen->code->length + words + SWITCH_WORDS > gen->code_limit)
		gen_switch(gen);
}

/* At most three instructions. */
void gen_set(struct gen *gen, unsigned int reg, uint32_t value)
{
	uint32_t offset = gen_pick(gen, -0x8000, 0x7fff);

	switch (gen_pick(gen, 0, 5)) {
	case 0:
		gen_emit(gen, CNNACC_CCP_INSN_LDI(reg, value));
		gen_emit(gen, CNNACC_CCP_INSN_LDIH(reg, value >> 16));
		break;
	case 1:
		asm_set(gen->code, reg, value - offset);
		gen_emit(gen, CNNACC_CCP_INSN_ADDI(reg, reg, offset));
		break;
	default:
		asm_set(gen->code, reg, value);
		break;
	}
}

/* ------------------------------------------------------------------- DMA */

struct dma {
	uint64_t line, lines, local_line;
	unsigned int target;
};

static uint64_t target_lines(const struct gen *gen, unsigned int target)
{
	if (target <= CNNACC_CCP_TGT_WRITE_BANK)
		return gen->params.data_bank / LINE;
	if (target == CNNACC_CCP_TGT_ICACHE)
		return gen->params.icache / LINE;
	return gen->params.weight_bank / LINE;
}

static void spoil_dma(struct gen *gen, bool load, struct dma *dma)
{
	uint64_t size = target_lines(gen, dma->target);

	gen->spoilt = true;
	switch (gen_pick(gen, 0, 5)) {
	case 0:		/* illegal target; wins over the length */
		dma->target = load ? 3 : gen_pick(gen, 2, 7);
		dma->lines = gen_chance(gen, 50) ? 0 : dma->lines;
		break;
	case 1:		/* just past the end */
		dma->local_line = size - dma->lines + 1;
		break;
	case 2:
		dma->lines = size + 1;
		dma->local_line = 0;
		break;
	case 3:		/* sum beyond 32 bits */
		dma->local_line = 0xffffffff - gen_pick(gen, 0, 3);
		break;
	case 4:		/* beyond 4 GiB from the start */
		dma->line = gen_pick(gen, 1ull << 26, 0xffffffff);
		if (load && gen_chance(gen, 30)) {
			dma->target = CNNACC_CCP_TGT_ICACHE;
			dma->lines = 1;
			dma->local_line = 0;
		}
		break;
	default:	/* runs into the end of the address space */
		dma->line = (VA_END - LINE) / LINE;
		dma->lines = 2;
		dma->local_line = 0;
		space_map(&gen->job->space, VA_END - LINE, 2 * LINE,
			  CNNACC_PTE_READ | CNNACC_PTE_WRITE);
		break;
	}
}

void gen_dma(struct gen *gen, bool load, uint64_t va, uint64_t lines, uint64_t local_line,
	     unsigned int target)
{
	struct dma dma = { va / LINE, lines, local_line, target };
	unsigned int first = gen_pick(gen, 0, 7), step = 1 + 2 * gen_pick(gen, 0, 3);
	unsigned int ra = first, rl = (first + step) % 8, rt = (first + 2 * step) % 8;

	if (gen->kind == GEN_DMA && !gen->spoilt && gen_chance(gen, 15))
		spoil_dma(gen, load, &dma);
	gen_room(gen, 10);
	gen_set(gen, ra, dma.line);
	gen_set(gen, rl, dma.lines);
	gen_set(gen, rt, dma.local_line);
	gen_emit(gen, load ? CNNACC_CCP_INSN_LOAD(ra, rl, rt, dma.target) :
			     CNNACC_CCP_INSN_STORE(ra, rl, rt, dma.target));
}
