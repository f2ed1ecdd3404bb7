// SPDX-License-Identifier: MIT
#include "script.h"

#include "../stream.h"
#include "../words.h"

#define LINE		CNNACC_LINE_SIZE
#define PROGRAM_VA	0x00100000u
#define STATS_VA	0x00200000u
#define READ_VA		0x00300000u
#define READ_BYTES	0x4000u
#define STORE_VA	0x00400000u
#define LOAD_VA(n)	(0x01000000u * (1 + (n)))

void imc_setup_words(const struct imc_setup *s, uint32_t words[6])
{
	uint32_t in_column = s->in_column ? s->in_column : s->cin;
	uint32_t res_column = s->res_column ? s->res_column : s->cout;
	uint32_t wo = s->w - s->n + 1;

	words[0] = CNNACC_IMC_SETUP | s->n << CNNACC_IMC_SETUP_N_SHIFT |
		   s->format << CNNACC_IMC_SETUP_FORMAT_SHIFT |
		   (s->full ? CNNACC_IMC_SETUP_FULL : 0);
	words[1] = s->w | s->h << 16;
	words[2] = s->cin | s->cout << 16;
	words[3] = in_column | res_column << 16;
	words[4] = s->in_row ? s->in_row : s->w * in_column;
	words[5] = s->res_row ? s->res_row : wo * res_column;
}

void imc_script_begin(struct imc_script *script, struct job *job)
{
	*script = (struct imc_script){ .job = job };
	job_region(job, READ_VA, READ_BYTES / LINE, CNNACC_PTE_WRITE);
}

void imc_script_load(struct imc_script *script, unsigned int memory, const void *bytes,
		     uint32_t length)
{
	uint32_t va = LOAD_VA(script->loads++);

	job_region(script->job, va, (length + LINE - 1) / LINE, CNNACC_PTE_READ);
	space_write(&script->job->space, va, bytes, length);
	stream_copy(&script->job->program, memory, 0, va,
		    &(struct stream_rows){ 0, 1, length, 0, 0 });
}

static void exec(struct imc_script *script, const uint32_t words[6])
{
	stream_emit(&script->job->program, CNNACC_SEQ_EXEC,
		    (__u32[7]){ words[0], words[1], words[2], words[3], words[4], words[5] });
}

void imc_script_setup(struct imc_script *script, const struct imc_setup *setup)
{
	uint32_t words[6];

	imc_setup_words(setup, words);
	exec(script, words);
}

void imc_script_conv(struct imc_script *script, const struct imc_conv *c)
{
	exec(script, (uint32_t[6]){ CNNACC_IMC_CONV | c->flags, c->in, c->wt, c->res });
}

void imc_script_step(struct imc_script *script, bool valid, uint32_t clocks)
{
	uint32_t flags = valid ? CNNACC_IMC_STEP_VALID : 0;

	exec(script, (uint32_t[6]){ CNNACC_IMC_STEP | flags, clocks });
}

void imc_script_read(struct imc_script *script, uint32_t offset)
{
	uint32_t va = READ_VA + 4 * script->reads++;

	stream_emit(&script->job->program, CNNACC_SEQ_EXEC | CNNACC_SEQ_RESULT,
		    (__u32[7]){ CNNACC_IMC_READ, offset, 0, 0, 0, 0, va });
}

void imc_script_wait(struct imc_script *script)
{
	stream_wait(&script->job->program, CNNACC_IMC_WAIT_IDLE);
}

void imc_script_store(struct imc_script *script, unsigned int memory, uint32_t length)
{
	job_region(script->job, STORE_VA, (length + LINE - 1) / LINE, CNNACC_PTE_WRITE);
	stream_copy(&script->job->program, memory, CNNACC_SEQ_TO_MEMORY, STORE_VA,
		    &(struct stream_rows){ 0, 1, length, 0, 0 });
}

void imc_script_end(struct imc_script *script)
{
	stream_end(&script->job->program);
	job_finish(script->job, PROGRAM_VA, STATS_VA);
}

/* ----------------------------------------------------------------- results */

uint32_t imc_read_result(struct job *job, unsigned int n)
{
	return word_get(space_at(&job->space, READ_VA + 4 * n), 0);
}

uint32_t imc_stored_word(struct job *job, uint32_t n)
{
	return word_get(space_at(&job->space, STORE_VA + 4 * n), 0);
}

uint64_t imc_stat(struct job *job, size_t offset)
{
	const uint8_t *at = space_at(&job->space, STATS_VA + offset);

	return word_get(at, 0) | (uint64_t)word_get(at, 1) << 32;
}
