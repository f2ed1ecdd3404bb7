/* SPDX-License-Identifier: MIT */
/*
 * What can be said about a core without compiling for it: its parameters, codes, registers and
 * instructions in words, and programs with known answers. It is found by the name in the discovery
 * table; a core without a description is shown in numbers.
 *
 * A core defines cnn_desc_NAME in its folder; cores.def registers it. Tools use it, too, so it
 * stands on uapi/ alone.
 */
#ifndef CNN_DESC_H
#define CNN_DESC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cnnacc_hw.h>

/* Where a self-test's ranges are bound. Nothing is at CNN_TEST_NOWHERE. */
#define CNN_TEST_IN		0x1000u		/* read only; @in, or CNN_TEST_FILLED bytes */
#define CNN_TEST_OUT		0x2000u		/* a page of zeros, writable */
#define CNN_TEST_PROGRAM	0xf0000000u
#define CNN_TEST_NOWHERE	0x40000000u
#define CNN_TEST_FILLED		64u

/* A program and how it must end. */
struct cnn_core_test {
	const char *name;
	const void *code;
	uint32_t code_size; /* bytes */
	const void *in;	    /* NULL: the caller fills CNN_TEST_FILLED bytes */
	uint32_t in_size;
	const void *out; /* expected at CNN_TEST_OUT; NULL: the bytes that were filled in */
	uint32_t out_size;
	uint16_t status_class, status_code;
	uint32_t pc; /* pc and va: of a failure */
	uint64_t va;
	uint64_t cycle_limit;
};

/* A test's program; how one ends that is to fail. */
#define CNN_TEST_CODE(program)	.code = program, .code_size = sizeof(program)
#define CNN_TEST_ENDS(class, own_code) \
	.status_class = CNNACC_STATUS_##class, .status_code = CNNACC_##own_code

/* What a core can compute a float network with; cnnrun --report --core all measures each. */
struct cnn_core_variant {
	const char *name;   /* "FP16" */
	const char *format; /* of cnnquant, which quantises the network; NULL: it stays as it is */
	bool half;	    /* floats are computed as float16 */
	const char *mac;    /* multiply-add in the table of energies: "FP16" is mac.FP16 */
};

/* What the memory holds of what programs move, by struct cnnrt_cost. */
#define CNN_HOLDS_PROGRAM	0x1u
#define CNN_HOLDS_WEIGHTS	0x2u
#define CNN_HOLDS_INPUTS	0x4u	/* activations that are read from memory */
#define CNN_HOLDS_OUTPUTS	0x8u	/* those that are written to memory */
#define CNN_HOLDS_DATA		(CNN_HOLDS_INPUTS | CNN_HOLDS_OUTPUTS)

/* An on-chip memory; its banks are equal. holds is 0 if only the core's units use it. */
struct cnn_core_memory {
	const char *name;
	uint64_t bytes; /* of a bank */
	uint32_t banks;
	unsigned int holds;
};

#define CNN_CORE_MEMORIES_MAX	8

struct cnn_core_desc {
	const char *name;		  /* in the discovery table */
	const struct cnn_core_desc *base; /* more codes, details and registers; NULL: none */
	const struct cnnacc_param_info *params;
	const struct cnnacc_code_info *codes;
	const struct cnnacc_detail_info *details;
	const struct cnnacc_window_info *regs;
	const struct cnn_core_test *tests;
	const struct cnn_core_variant *variants; /* none: reports leave the core out */
	size_t n_params, n_codes, n_details, n_regs, n_tests, n_variants;
	/*
	 * Fills in the memories, at most CNN_CORE_MEMORIES_MAX, of a core with these build
	 * parameters and returns their number; NULL: unknown.
	 */
	size_t (*memories)(const uint32_t *param, uint32_t program_max,
			   struct cnn_core_memory *to);
	uint32_t insn_words; /* 32-bit words of an instruction, which a program counter counts */
	/* Writes an instruction as text; never NULL. */
	void (*decode)(const uint32_t *insn, char *buf, size_t len);
};

#define CNN_DESC_INSN_WORDS_MAX	64

/* A table of the same name and its length. */
#define CNN_DESC_TABLE(table)	.table = (table), .n_##table = sizeof(table) / sizeof((table)[0])

/* NULL: there is no description of such a core. */
const struct cnn_core_desc *cnn_core_desc(const char *name);
/* Number i of those that there are; NULL behind the last. */
const struct cnn_core_desc *cnn_core_desc_at(size_t i);

/* Names are printed and looked up; the driver has the same rule. */
bool cnn_core_name_ok(const char *name, size_t size);

/* Each takes a desc of NULL and returns NULL if there is nothing to say. */
const struct cnnacc_code_info *cnn_desc_code(const struct cnn_core_desc *desc, uint32_t code);
const char *cnn_desc_detail(const struct cnn_core_desc *desc, uint32_t code, uint32_t detail);

/* The value of a parameter in a discovery entry's words. */
uint32_t cnn_desc_param(const struct cnnacc_param_info *info, const uint32_t *param,
			uint32_t program_max);

#define CNN_DESC_VALUE	12

/* A value as the device's properties spell it: "on", or a number. */
void cnn_desc_value(const struct cnnacc_param_info *info, uint32_t value,
		    char text[CNN_DESC_VALUE]);

#define CNN_DESC_REG_NAME	32

/* Name and offset of register number i of the window; false if it has no more. */
bool cnn_desc_reg(const struct cnn_core_desc *desc, uint32_t i, char name[CNN_DESC_REG_NAME],
		  uint32_t *offset);

/*
 * The core as property "cores" builds it: "NAME:PARAM=N...". False if there is no description or
 * no room.
 */
bool cnn_desc_property(const struct cnnacc_core_entry *entry, char *buf, size_t len);

/* Cores behind the sequencer have this one as their base, and commands that it decodes. */
extern const struct cnn_core_desc cnn_desc_sequencer;
void cnn_sequencer_decode(const uint32_t *insn, char *buf, size_t len);

#endif
