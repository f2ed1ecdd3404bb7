// SPDX-License-Identifier: MIT
#include "stream.h"

unsigned int stream_length(const struct program *program)
{
	return program->length / COMMAND_WORDS;
}

int64_t stream_room(const struct program *program, uint32_t bytes)
{
	return (int64_t)(bytes / sizeof(struct cnnacc_seq_command)) - stream_length(program);
}

void stream_emit(struct program *program, __u32 op, const __u32 arg[7])
{
	program_emit(program, op);
	for (int i = 0; i < 7; i++)
		program_emit(program, arg[i]);
}

void stream_copy(struct program *program, unsigned int memory, __u32 flags, __u32 va,
		 const struct stream_rows *rows)
{
	stream_emit(program, CNNACC_SEQ_COPY2D | flags | memory << CNNACC_SEQ_PARAM_SHIFT,
		    (__u32[7]){ va, rows->local, rows->rows, rows->bytes, rows->va_stride,
				rows->local_stride });
}

void stream_fill(struct program *program, unsigned int memory, __u32 value,
		 const struct stream_rows *rows)
{
	stream_emit(program, CNNACC_SEQ_FILL | memory << CNNACC_SEQ_PARAM_SHIFT,
		    (__u32[7]){ value, rows->local, rows->rows, rows->bytes, 0,
				rows->local_stride });
}

void stream_exec(struct program *program, __u32 flags, __u32 insn, __u32 op0, __u32 op1, __u32 va)
{
	stream_emit(program, CNNACC_SEQ_EXEC | flags, (__u32[7]){ insn, 0, 0, 0, op0, op1, va });
}

void stream_drain(struct program *program, __u32 flags, __u32 va, unsigned int first,
		  unsigned int count, __u32 pitch)
{
	stream_emit(program, CNNACC_SEQ_DRAIN | flags | count << CNNACC_SEQ_PARAM_SHIFT,
		    (__u32[7]){ va, first, 0, 0, pitch });
}

void stream_wait(struct program *program, __u32 conditions)
{
	stream_emit(program, CNNACC_SEQ_WAIT, (__u32[7]){ conditions });
}

void stream_loop(struct program *program, unsigned int commands, __u32 iterations)
{
	stream_emit(program, CNNACC_SEQ_LOOP | commands << CNNACC_SEQ_PARAM_SHIFT,
		    (__u32[7]){ iterations });
}

void stream_step(struct program *program, unsigned int loop, unsigned int n, __u32 step,
		 __u32 increment)
{
	program->word[loop * COMMAND_WORDS + 2 + 2 * n] = step;
	program->word[loop * COMMAND_WORDS + 3 + 2 * n] = increment;
}

void stream_end(struct program *program)
{
	stream_emit(program, CNNACC_SEQ_END, (__u32[7]){ 0 });
}

/* --------------------------------------------------------------- reading */

static const char *const op_name[] = {
	"end", "copy2d", "fill", "exec", "drain", "wait", "irq", "loop",
};

void stream_print(FILE *out, const struct program *program, unsigned int base,
		  void (*print_insn)(FILE *out, __u32 insn))
{
	for (unsigned int i = 0; i < stream_length(program); i++) {
		const __u32 *word = program->word + i * COMMAND_WORDS;
		unsigned int op = word[0] & CNNACC_SEQ_OP_MASK;

		fprintf(out, "%5u: %-6s %08x ", base + i, op <= CNNACC_SEQ_LOOP ? op_name[op] : "?",
			word[0]);
		for (int n = 1; n < COMMAND_WORDS; n++)
			fprintf(out, " %x", word[n]);
		if (op == CNNACC_SEQ_EXEC)
			print_insn(out, word[1]);
		fprintf(out, "\n");
	}
}
