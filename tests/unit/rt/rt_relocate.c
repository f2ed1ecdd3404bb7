/* SPDX-License-Identifier: MIT */
/* Addresses in programs: what back ends tell of them, their change, and what files may say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/sequencer.h"

static const struct cnn_bases moved = { { 0x00400000, 0xffc00000, 0x40000000 } };

#define WORDS	8

/* A program of an address of each buffer and form, with numbers around them. */
static uint32_t program[WORDS] = {
	7, CNN_VA_ARENA + 68, CNN_VA_WEIGHTS + 4, CNN_VA_PROGRAM, 0x20000000u | CNN_VA_ARENA >> 22,
	0x22000000u | CNN_VA_WEIGHTS >> 22, 0x2e000000u | CNN_VA_PROGRAM >> 22, CNN_VA_ARENA,
};

static uint32_t addresses[] = {
	CNN_ADDRESS(1, CNN_ARENA, CNN_ADDRESS_WORD), CNN_ADDRESS(2, CNN_WEIGHTS, CNN_ADDRESS_WORD),
	CNN_ADDRESS(3, CNN_PROGRAM, CNN_ADDRESS_WORD), CNN_ADDRESS(4, CNN_ARENA, CNN_ADDRESS_HIGH),
	CNN_ADDRESS(5, CNN_WEIGHTS, CNN_ADDRESS_HIGH),
	CNN_ADDRESS(6, CNN_PROGRAM, CNN_ADDRESS_HIGH),
};

#define ENTRIES	(sizeof(addresses) / sizeof(addresses[0]))

static const struct cnn_lowered lowered = {
	.program = (uint8_t *)program, .program_bytes = sizeof(program), .arena_bytes = 128,
	.weight_bytes = 64, .addresses = addresses, .n_addresses = ENTRIES,
};

static void test_moves(void **state)
{
	static const uint32_t wanted[WORDS] = {
		7, 0x00400044, 0xffc00004, 0x40000000, 0x20000001, 0x220003ff, 0x2e000100,
		CNN_VA_ARENA,
	};
	uint32_t copy[WORDS];

	(void)state;
	memcpy(copy, program, sizeof(copy));
	cnn_relocate(&lowered, &moved, (uint8_t *)copy);
	assert_memory_equal(copy, wanted, sizeof(copy));
}

static void test_stays(void **state)
{
	uint32_t copy[WORDS];

	(void)state;
	memcpy(copy, program, sizeof(copy));
	cnn_relocate(&lowered, &cnn_default_bases, (uint8_t *)copy);
	assert_memory_equal(copy, program, sizeof(copy));
}

static void test_good_list(void **state)
{
	int entry;

	(void)state;
	assert_null(cnn_check_addresses(&lowered, &entry));
}

/* The list with one entry changed. */
static void refuse(unsigned int i, uint32_t value, const char *why)
{
	uint32_t bad[ENTRIES];
	struct cnn_lowered l = lowered;
	const char *text;
	int entry = -1;

	memcpy(bad, addresses, sizeof(bad));
	bad[i] = value;
	l.addresses = bad;
	text = cnn_check_addresses(&l, &entry);
	assert_non_null(text);
	assert_string_equal(text, why);
	assert_int_equal(entry, i);
}

static void test_bad_lists(void **state)
{
	const char *unknown = "its form or its buffer is unknown";
	const char *order = "its word does not follow the one before";
	const char *outside = "its word is no address in that buffer";

	(void)state;
	refuse(0, CNN_ADDRESS(1, CNN_BUFFERS, CNN_ADDRESS_WORD), unknown);
	refuse(0, CNN_ADDRESS(1, CNN_ARENA, CNN_ADDRESS_FORMS), unknown);
	refuse(0, addresses[0] | 0x80000000u, unknown);
	refuse(1, addresses[0], order);
	refuse(2, CNN_ADDRESS(0, CNN_ARENA, CNN_ADDRESS_WORD), order);
	refuse(ENTRIES - 1, CNN_ADDRESS(WORDS, CNN_PROGRAM, CNN_ADDRESS_HIGH),
	       "its word is outside the programs");
	refuse(ENTRIES - 1, 0x03ffffffu, "its word is outside the programs");
	refuse(0, CNN_ADDRESS(0, CNN_ARENA, CNN_ADDRESS_WORD), outside);
	refuse(0, CNN_ADDRESS(1, CNN_WEIGHTS, CNN_ADDRESS_WORD), outside);
	refuse(3, CNN_ADDRESS(4, CNN_PROGRAM, CNN_ADDRESS_HIGH), outside);
}

/* An address behind the end of its buffer. */
static void test_behind(void **state)
{
	struct cnn_lowered l = lowered;
	int entry;

	(void)state;
	l.arena_bytes = 64;
	assert_non_null(cnn_check_addresses(&l, &entry));
	assert_int_equal(entry, 0);
}

static struct cnn_compile new_compile(struct cnn_lowered *out)
{
	return (struct cnn_compile){
		.out = out,
		.program = { .max = 4096, .what = "programs" },
		.addresses = { .max = 4096, .what = "addresses" },
	};
}

static void free_compile(struct cnn_compile *compile, struct cnn_lowered *out)
{
	free(compile->program.data);
	free(compile->addresses.data);
	free(out->tasks);
	free(out->nodes);
	free(out->spans);
}

/* Of the sequencer's commands, those hold addresses that name memory; increments do not. */
static void test_sequencer(void **state)
{
	static const uint32_t wanted[] = {
		CNN_ADDRESS(8 + 1, CNN_WEIGHTS, CNN_ADDRESS_WORD),
		CNN_ADDRESS(24 + 5, CNN_ARENA, CNN_ADDRESS_WORD),
		CNN_ADDRESS(32 + 1, CNN_ARENA, CNN_ADDRESS_WORD),
	};
	const struct seqc_copy copy = { .va = CNN_VA_WEIGHTS, .rows = 1, .row_bytes = 64 };
	const struct seqc_drain drain = { .va = CNN_VA_ARENA + 4096, .count = 1 };
	struct cnn_lowered out = { .n_nodes = 1, .nodes = calloc(1, sizeof(*out.nodes)) };
	struct cnn_compile compile = new_compile(&out);
	struct seqc s = { .compile = &compile, .commands_max = 64, .cycles_max = 1 << 20 };

	(void)state;
	seqc_begin(&s);
	seqc_copy_loop(&s, &copy, 4, 256, 64);
	seqc_exec(&s, 1, CNN_VA_ARENA, CNN_VA_ARENA);
	seqc_exec_to(&s, 1, CNN_VA_ARENA + 64, CNN_VA_ARENA);
	seqc_drain(&s, &drain);
	seqc_wait(&s, CNN_VA_ARENA);
	assert_int_equal(seqc_finish(&s, 0), 0);
	assert_int_equal(compile.addresses.len, sizeof(wanted));
	assert_memory_equal(compile.addresses.data, wanted, sizeof(wanted));
	free_compile(&compile, &out);
}

/* A program's address must be in a buffer that is mapped. */
static void test_nowhere(void **state)
{
	const struct seqc_copy copy = { .va = CNN_VA_ARENA - 64, .rows = 1, .row_bytes = 64 };
	struct cnn_lowered out = { .n_nodes = 1, .nodes = calloc(1, sizeof(*out.nodes)) };
	struct cnn_err err = { 0 };
	struct cnn_compile compile = new_compile(&out);
	struct seqc s = { .compile = &compile, .commands_max = 64, .cycles_max = 1 << 20 };

	(void)state;
	compile.err = &err;
	seqc_begin(&s);
	seqc_copy(&s, &copy);
	assert_int_equal(seqc_finish(&s, 0), CNN_EINVAL);
	assert_string_equal(err.text, "a program has address 0xfffffc0, which is in no buffer");
	free_compile(&compile, &out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves),	  cmocka_unit_test(test_stays),
		cmocka_unit_test(test_good_list), cmocka_unit_test(test_bad_lists),
		cmocka_unit_test(test_behind),	  cmocka_unit_test(test_sequencer),
		cmocka_unit_test(test_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
