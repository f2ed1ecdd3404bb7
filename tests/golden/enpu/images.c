// SPDX-License-Identifier: MIT
#include "images.h"

#include <string.h>

#include "../stream.h"
#include "../words.h"

#define LOAD_VA(memory)	(0x00400000u + (memory) * 0x00100000u)
#define OUT_VA(memory)	(0x7fe00000u + (memory) * 0x00100000u)
#define PROGRAM_VA	0xf0000000u
#define STATS_VA	0xfffff000u
#define OUT_BYTES	CNNACC_ENPU_DTCM_DEFAULT
#define WORD		CNNACC_ENPU_WORD_BYTES

void enpu_encode(const struct enpu_insn *insn, uint32_t words[4], uint32_t record[16])
{
	const struct enpu_insn *i = insn;

	words[0] = CNNACC_ENPU_WORD0(i->opcode, i->sh, i->sw, i->ph, i->pw, i->dh, i->dw);
	words[1] = CNNACC_ENPU_WORD1(i->y, i->x, i->in_y, i->in_x, i->hk);
	words[2] = CNNACC_ENPU_WORD2(i->wk, i->ho, i->wo, i->co);
	words[3] = CNNACC_ENPU_WORD3(i->ci, i->zs);
	memset(record, 0, CNNACC_ENPU_RECORD_BYTES);
	record[0] = i->flags;
	record[1] = i->hi | i->wi << 16;
	record[2] = i->in;
	record[3] = i->out;
	record[4] = i->skip;
	record[5] = i->b;
	record[6] = i->weight;
	record[7] = i->block;
	record[8] = i->lut;
	record[9] = i->step_a | i->step_b << 8 | i->step_out << 16;
	record[10] = i->shift & 255;
	record[11] = i->pad & 255;
	record[12] = i->reshape;
}

void enpu_fit(struct enpu_insn *insn)
{
	insn->zs = enpu_stage_z(insn);
	if (!enpu_is_window(insn))
		return;
	insn->in_y = insn->sh * (insn->y - 1) + (insn->dh + 1) * (insn->hk - 1) + 1;
	insn->in_x = insn->sw * (insn->x - 1) + (insn->dw + 1) * (insn->wk - 1) + 1;
}

void enpu_images_begin(struct enpu_images *images)
{
	memset(images, 0, sizeof(*images));
}

void enpu_put_byte(struct enpu_images *images, enum cnnacc_enpu_memory memory, int64_t word,
		   int64_t lane, uint8_t value)
{
	uint32_t end = WORD * (word + 1);

	images->bytes[memory][WORD * word + lane] = value;
	if (images->used[memory] < end)
		images->used[memory] = end;
}

static void put_words(struct enpu_images *images, enum cnnacc_enpu_memory memory, int64_t first,
		      const uint32_t *words, unsigned int count)
{
	for (unsigned int n = 0; n < 4 * count; n++)
		enpu_put_byte(images, memory, first + n / WORD, n % WORD,
			      words[n / 4] >> n % 4 * 8);
}

void enpu_put(struct enpu_images *images, const struct enpu_insn *insn)
{
	uint32_t words[4], record[16];

	enpu_encode(insn, words, record);
	put_words(images, CNNACC_ENPU_ITCM, images->insns, words, 4);
	put_words(images, CNNACC_ENPU_TABLE, 4 * images->insns, record, 16);
	images->insns++;
}

void enpu_put_stop(struct enpu_images *images)
{
	struct enpu_insn stop = { .opcode = CNNACC_ENPU_STOP };

	enpu_put(images, &stop);
}

void enpu_put_block(struct enpu_images *images, int64_t block, int64_t o, int32_t bias,
		    int8_t shift)
{
	int64_t first = block + CNNACC_ENPU_BLOCK_WORDS * (o / 16);

	for (int64_t n = 0; n < 4; n++)
		enpu_put_byte(images, CNNACC_ENPU_WEIGHT, first + o % 16 / 4, o % 4 * 4 + n,
			      (uint32_t)bias >> 8 * n);
	enpu_put_byte(images, CNNACC_ENPU_WEIGHT, first + 4, o % 16, shift);
}

void enpu_put_segment(struct enpu_images *images, int64_t lut, unsigned int n, uint32_t segment)
{
	for (unsigned int k = 0; k < 4; k++)
		enpu_put_byte(images, CNNACC_ENPU_WEIGHT, lut + n / 4, n % 4 * 4 + k,
			      segment >> 8 * k);
}

void enpu_expect(struct enpu_images *images, struct enpu_result result)
{
	images->result[images->results++] = result;
}

/* --------------------------------------------------------------------- job */

static uint64_t lines_of(uint64_t bytes)
{
	return (bytes + CNNACC_LINE_SIZE - 1) / CNNACC_LINE_SIZE;
}

static void load(const struct enpu_images *images, struct job *job, unsigned int memory)
{
	uint32_t bytes = images->used[memory];

	if (!bytes)
		return;
	job_region(job, LOAD_VA(memory), lines_of(bytes), CNNACC_PTE_READ);
	space_write(&job->space, LOAD_VA(memory), images->bytes[memory], bytes);
	stream_copy(&job->program, memory, 0, LOAD_VA(memory),
		    &(struct stream_rows){ 0, 1, bytes, 0, 0 });
}

static void copy_out(struct job *job, unsigned int memory)
{
	job_region(job, OUT_VA(memory), lines_of(OUT_BYTES), CNNACC_PTE_WRITE);
	stream_copy(&job->program, memory, CNNACC_SEQ_TO_MEMORY, OUT_VA(memory),
		    &(struct stream_rows){ 0, 1, OUT_BYTES, 0, 0 });
}

void enpu_images_job(const struct enpu_images *images, struct job *job)
{
	for (unsigned int memory = 0; memory < CNNACC_ENPU_MEMORIES; memory++)
		load(images, job, memory);
	stream_exec(&job->program, 0, CNNACC_ENPU_RUN, 0, 0, 0);
	if (!images->no_wait) {
		stream_wait(&job->program, CNNACC_ENPU_WAIT_IDLE);
		copy_out(job, CNNACC_ENPU_WORK);
		copy_out(job, CNNACC_ENPU_SKIP);
	}
	stream_end(&job->program);
	job_finish(job, PROGRAM_VA, STATS_VA);
}

int8_t enpu_result_byte(struct job *job, enum cnnacc_enpu_memory memory, int64_t word,
			int64_t lane)
{
	return *space_at(&job->space, OUT_VA(memory) + WORD * word + lane);
}

uint64_t enpu_result_stat(struct job *job, size_t offset)
{
	const uint8_t *at = space_at(&job->space, STATS_VA + offset);

	return word_get(at, 0) | (uint64_t)word_get(at, 1) << 32;
}
