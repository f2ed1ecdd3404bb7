/* SPDX-License-Identifier: MIT */
/* Programs and data of enpu as images of its memories, and the job that loads and runs them. */
#ifndef GOLDEN_ENPU_IMAGES_H
#define GOLDEN_ENPU_IMAGES_H

#include "state.h"
#include "../job.h"

#define ENPU_IMAGE_BYTES	0x20000u
#define ENPU_RESULTS		24

/** struct enpu_result - a map that a program leaves, its pixels without gaps. */
struct enpu_result {
	enum cnnacc_enpu_memory memory;
	int64_t first, pixels, channels;
};

/**
 * struct enpu_images - what a job loads.
 * @used: bytes of each memory
 * @insns: instructions so far
 * @no_wait: the job ends beside the program and copies nothing out
 */
struct enpu_images {
	uint8_t bytes[CNNACC_ENPU_MEMORIES][ENPU_IMAGE_BYTES];
	uint32_t used[CNNACC_ENPU_MEMORIES];
	unsigned int insns, results;
	bool no_wait;
	struct enpu_result result[ENPU_RESULTS];
};

/* Words of an instruction and of its record. */
void enpu_encode(const struct enpu_insn *insn, uint32_t words[4], uint32_t record[16]);
/* Set y', x' and Zs to what the page wants. */
void enpu_fit(struct enpu_insn *insn);

void enpu_images_begin(struct enpu_images *images);
/* Append an instruction with its record, or STOP. */
void enpu_put(struct enpu_images *images, const struct enpu_insn *insn);
void enpu_put_stop(struct enpu_images *images);
void enpu_put_byte(struct enpu_images *images, enum cnnacc_enpu_memory memory, int64_t word,
		   int64_t lane, uint8_t value);
/* The bias/scale block's entry of channel @o. */
void enpu_put_block(struct enpu_images *images, int64_t block, int64_t o, int32_t bias,
		    int8_t shift);
/* Entry @n of an activation table. */
void enpu_put_segment(struct enpu_images *images, int64_t lut, unsigned int n, uint32_t segment);
void enpu_expect(struct enpu_images *images, struct enpu_result result);

/* Load all, run from instruction 0, wait, and copy both DTCMs to memory. */
void enpu_images_job(const struct enpu_images *images, struct job *job);
/* After the run: a byte of a DTCM; a value of the statistics record. */
int8_t enpu_result_byte(struct job *job, enum cnnacc_enpu_memory memory, int64_t word,
			int64_t lane);
uint64_t enpu_result_stat(struct job *job, size_t offset);

#endif /* GOLDEN_ENPU_IMAGES_H */
