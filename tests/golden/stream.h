/* SPDX-License-Identifier: MIT */
/* Writing and printing programs of the sequencer. */
#ifndef GOLDEN_STREAM_H
#define GOLDEN_STREAM_H

#include <stdint.h>

#include "cnnacc_seq.h"
#include "program.h"

#define COMMAND_WORDS	8

/** struct stream_rows - words of COPY2D and FILL. */
struct stream_rows {
	__u32 local, rows, bytes, va_stride, local_stride;
};

/* Commands so far. */
unsigned int stream_length(const struct program *program);
/* Commands that a program memory of @bytes has room for, beside them. */
int64_t stream_room(const struct program *program, uint32_t bytes);
/* @op: operation, flags and bits 31:16. */
void stream_emit(struct program *program, __u32 op, const __u32 arg[7]);
void stream_copy(struct program *program, unsigned int memory, __u32 flags, __u32 va,
		 const struct stream_rows *rows);
void stream_fill(struct program *program, unsigned int memory, __u32 value,
		 const struct stream_rows *rows);
void stream_exec(struct program *program, __u32 flags, __u32 insn, __u32 op0, __u32 op1, __u32 va);
/* @count result registers from @first on, @pitch bytes apart in memory. */
void stream_drain(struct program *program, __u32 flags, __u32 va, unsigned int first,
		  unsigned int count, __u32 pitch);
void stream_wait(struct program *program, __u32 conditions);
/* A LOOP over the next @commands; stream_step() adds its pairs. */
void stream_loop(struct program *program, unsigned int commands, __u32 iterations);
/* Pair @n, 0..2, of the LOOP that is command @loop. */
void stream_step(struct program *program, unsigned int loop, unsigned int n, __u32 step,
		 __u32 increment);
void stream_end(struct program *program);

/* @base: command index of the first word; @print_insn: the core's instruction in an EXEC. */
void stream_print(FILE *out, const struct program *program, unsigned int base,
		  void (*print_insn)(FILE *out, __u32 insn));

#endif /* GOLDEN_STREAM_H */
