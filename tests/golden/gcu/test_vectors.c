// SPDX-License-Identifier: MIT
/* The golden model of gcu against the vectors of its page; TAP. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fp16.h"
#include "geometry.h"
#include "vectors.h"
#include "vectors_macs.h"

static unsigned int failures, number;
static struct golden_gcu_coverage ignored;

static void report(bool good, const char *name)
{
	failures += !good;
	printf("%sok %u - %s\n", good ? "" : "not ", ++number, name);
}

static bool differs(const char *what, uint64_t is, uint64_t should)
{
	if (is != should)
		printf("# %s is %llx, not %llx\n", what, (unsigned long long)is,
		       (unsigned long long)should);
	return is != should;
}

/* ------------------------------------------------------------------- sums */

static bool mac_differs(const struct gcu_mac_vector *v, bool fp_floor)
{
	struct golden_gcu_mac mac = golden_gcu_mac(v->f, v->w, 4, fp_floor, &ignored);

	return differs("exp6", 4 * mac.func, v->exp6) ||
	       differs("f", mac.f, fp_floor ? v->f_on : v->f_off) ||
	       differs("first", golden_gcu_add(0, mac, &ignored),
		       fp_floor ? v->first_floor : v->first) ||
	       (!fp_floor && differs("after 1", golden_gcu_add(0x3f800000, mac, &ignored),
				     v->after_1));
}

static void test_macs(void)
{
	for (unsigned int n = 0; n < GCU_MACS; n++)
		report(!(mac_differs(&gcu_macs[n], false) || mac_differs(&gcu_macs[n], true)),
		       gcu_macs[n].name);
}

static const struct {
	uint32_t old;
	int64_t exponent, f;
	uint32_t sum;
} sums[] = {
	{ 0x3f800000, 48, -4, 0x00000000 }, { 0x3f800000, 48, -5, 0xbe800000 },
	{ 0x3f800001, 48, -4, 0x00000000 }, { 0xbf800000, 48, 3, 0xbe800000 },
	{ 0x00000000, 24, 0, 0x00000000 }, { 0x80000000, 24, 0, 0x00000000 },
	{ 0x00000001, 0, 1, 0x26800000 }, { 0x7f7fffff, 56, 68719476736, 0x7f7fffff },
	{ 0x4b000000, 52, -1, 0x4afffff8 }, { 0x3f800000, 24, 0, 0x3f800000 },
	{ 0x41200000, 56, -3, 0xc3360000 }, { 0x41200000, 56, -268435456, 0xd0800000 },
	{ 0x3f800000, 24, -134217728, 0xbf800000 }, { 0x80000001, 24, 67108864, 0x3f800000 },
	{ 0xff7fffff, 56, -1, 0xff7fffff }, { 0x7f000000, 24, 0, 0x7f000000 },
	{ 0x7fc00000, 24, 0, 0x7f7fffff }, { 0xff800000, 24, 0, 0xff7fffff },
};

#define SUMS	(sizeof(sums) / sizeof(sums[0]))

static void test_sums(void)
{
	char name[64];

	for (unsigned int n = 0; n < SUMS; n++) {
		struct golden_gcu_mac mac = { sums[n].f, sums[n].exponent / 4 };

		snprintf(name, sizeof(name), "add %08x, %lld, 4 func %lld", sums[n].old,
			 (long long)sums[n].f, (long long)sums[n].exponent);
		report(!differs("sum", golden_gcu_add(sums[n].old, mac, &ignored), sums[n].sum),
		       name);
	}
}

/* --------------------------------------------------------------- geometry */

static const struct {
	int64_t group_n, atomic_c, atomic_k, groups;
	int64_t first[4], last[4];
} ranges[] = {
	{ 4, 2, 2, 4, { 0, 1, 2, 3 }, { 0, 1, 2, 3 } },
	{ 2, 2, 2, 4, { 0, 0, 2, 2 }, { 1, 1, 3, 3 } },
	{ 1, 1, 8, 1, { 0 }, { 7 } }, { 2, 1, 8, 1, { 0 }, { 7 } }, { 8, 1, 8, 1, { 0 }, { 7 } },
};

static void test_ranges(void)
{
	bool bad = false;

	for (unsigned int n = 0; n < sizeof(ranges) / sizeof(ranges[0]); n++) {
		struct golden_gcu_layer l = { .c = 8, .k = 8, .group_n = ranges[n].group_n };

		bad |= differs("kernel groups", golden_gcu_kernel_groups(&l, ranges[n].atomic_k),
			       ranges[n].groups);
		for (int64_t i = 0; i < ranges[n].groups; i++) {
			struct golden_gcu_range g = golden_gcu_range(&l, ranges[n].atomic_c,
								     ranges[n].atomic_k, i);

			bad |= differs("first", g.first, ranges[n].first[i]);
			bad |= differs("last", g.last, ranges[n].last[i]);
		}
	}
	report(!bad, "channel groups of a kernel group");
}

static const struct {
	enum cnnacc_gcu_port port;
	int64_t word, physical;
} words[] = {
	{ CNNACC_GCU_PORT_FMAP, 0, 0 }, { CNNACC_GCU_PORT_FMAP, 5119, 9 * 512 + 511 },
	{ CNNACC_GCU_PORT_FMAP, 5120, -1 }, { CNNACC_GCU_PORT_KERNEL, 0, 15 * 512 + 511 },
	{ CNNACC_GCU_PORT_KERNEL, 511, 15 * 512 }, { CNNACC_GCU_PORT_KERNEL, 512, 14 * 512 + 511 },
	{ CNNACC_GCU_PORT_KERNEL, 3071, 10 * 512 }, { CNNACC_GCU_PORT_KERNEL, 3072, -1 },
	{ CNNACC_GCU_PORT_KERNEL, 82, 15 * 512 + 429 },
};

static void test_cbuf(void)
{
	static const struct golden_gcu_params p = { .atomic_c = 8, .atomic_k = 8 };
	struct golden_gcu_layer l = { .esz = 1, .fmbufcoln = 8 };
	bool bad = false;

	for (unsigned int n = 0; n < sizeof(words) / sizeof(words[0]); n++)
		bad |= differs("physical word", golden_gcu_physical(words[n].port, words[n].word,
								    16, 10), words[n].physical);
	report(!bad, "words of CBUF");
	bad = differs("surface", golden_gcu_slot_byte(&l, 8, 1, 3), 88);
	l.esz = 2;
	l.kbufgrpsz = 9;
	l.s = 3;
	bad |= differs("weights", golden_gcu_kernel_byte(&l, &p,
							  (struct golden_gcu_point){ 1, 0, 1, 2 }),
		       1312);
	report(!bad, "bytes of surfaces");
}

static void test_rotation(void)
{
	static const uint8_t word[4] = { 0x00, 0x11, 0x22, 0x33 };
	uint8_t one[4], three[4];

	golden_gcu_rotate(word, 1, 4, one);
	golden_gcu_rotate(word, 3, 4, three);
	report(!memcmp(one, (uint8_t[]){ 0x11, 0x22, 0x33, 0x00 }, 4) &&
	       !memcmp(three, (uint8_t[]){ 0x33, 0x00, 0x11, 0x22 }, 4), "rotation");
}

static void test_lines(void)
{
	report(!(differs("lines", golden_gcu_part_lines(0x30, 4, 8, 64), 4) ||
		 differs("lines", golden_gcu_part_lines(0x30, 4, 8, 65), 4) ||
		 differs("lines", golden_gcu_part_lines(0x3c, 3, 8, 128), 6) ||
		 differs("lines", golden_gcu_part_lines(0, 8, 3, 8), 1)), "lines of a row");
}

/* --------------------------------------------------------------- programs */

static bool counters_differ(const struct golden_gcu *gcu, const struct golden_gcu_counters *want)
{
	static const char *const names[] = {
		"ROW_FILLS", "ROW_BYTES", "ROW_REFILLS", "EVICTIONS", "WEIGHT_BYTES",
		"WEIGHT_REFILLS", "TABLE_BYTES", "STALL_ROW", "STALL_WEIGHT", "STALL_PSUM",
		"STALL_RBUF", "TAPS_MASKED", "TAPS",
	};
	uint64_t is[sizeof(*want) / 8], should[sizeof(*want) / 8];
	bool bad = false;

	if (!want)
		return false;
	memcpy(is, golden_gcu_counters(gcu), sizeof(is));
	memcpy(should, want, sizeof(should));
	for (unsigned int n = 0; n < sizeof(is) / 8; n++)
		bad |= differs(names[n], is[n], should[n]);
	return bad;
}

/* The fills' times are those of T = 0; the boot of one block takes 20 cycles. */
static bool fills_differ(const struct golden_gcu *gcu, const struct gcu_vector *v)
{
	struct golden_gcu_fill is[GOLDEN_GCU_FILLS];
	bool bad = golden_gcu_fills(gcu, is) < v->fill_count;

	for (unsigned int n = 0; n < v->fill_count && !bad; n++) {
		bad |= differs("channel group", is[n].cg, v->fills[n].cg);
		bad |= differs("row", is[n].row, v->fills[n].row);
		bad |= differs("slot", is[n].slot, v->fills[n].slot);
		bad |= differs("ready", is[n].ready, v->fills[n].ready + 20);
	}
	return bad;
}

static bool status_differs(const struct golden_status *is, const struct golden_status *should)
{
	return differs("class", is->status_class, should->status_class) ||
	       differs("code", is->status_code, should->status_code) ||
	       differs("pc", is->pc, should->pc) || differs("detail", is->detail, should->detail);
}

/* Where a deadlock is; the kernel group is 0. */
static bool place_differs(const struct golden_gcu *gcu, const struct gcu_vector *v)
{
	const struct golden_gcu_regs *regs = golden_gcu_regs(gcu);

	return v->want.status_class == CNNACC_STATUS_DEADLOCK &&
	       (differs("KERNEL_GROUP", regs->kernel_group, 0) ||
		differs("OUT_ROW", regs->out_row, v->out_row) ||
		differs("CHANNEL_GROUP", regs->channel_group, v->channel_group));
}

static struct golden_gcu *model_for(const struct gcu_vector *v)
{
	struct golden_gcu_params p = {
		.atomic_c = CNNACC_GCU_ATOMIC_DEFAULT, .atomic_k = CNNACC_GCU_ATOMIC_DEFAULT,
		.cbuf_banks = CNNACC_GCU_CBUF_BANKS_DEFAULT,
		.fmbuf_rows = CNNACC_GCU_ROWS_DEFAULT,
		.rbuf_banks = CNNACC_GCU_RBUF_BANKS_DEFAULT,
		.rbuf_depth = CNNACC_GCU_RBUF_DEPTH_DEFAULT,
		.bus = v->bus ? v->bus : CNNACC_GCU_BUS_DEFAULT,
		.program = CNNACC_GCU_PROGRAM_DEFAULT, .fp_floor = v->fp_floor,
	};

	return golden_gcu_create(&p);
}

static void test_program(unsigned int index, struct image *image, struct job *job)
{
	const struct gcu_vector *v = gcu_vector(index);
	struct golden_shell shell = { .core.job_cycles_max = INT64_MAX };
	struct golden_gcu *gcu = model_for(v);
	struct golden_result result;
	struct prng prng = { index };
	bool bad;

	if (!gcu)
		exit(2);
	golden_gcu_core(gcu, &shell.core);
	shell.bus = image_bus(image);
	job_begin(job, image, &prng);
	gcu_vector_build(index, job);
	golden_shell_run(&shell, &job->packet, &result);
	bad = status_differs(&result.status, &v->want);
	bad |= v->cycles && differs("cycles", result.cycles, v->cycles);
	bad |= !gcu_vector_check(index, job);
	bad |= counters_differ(gcu, v->counters) || fills_differ(gcu, v);
	bad |= place_differs(gcu, v);
	report(!bad, v->name);
	golden_gcu_destroy(gcu);
}

int main(void)
{
	struct job *job = calloc(1, sizeof(*job));
	struct image image = { .bytes = calloc(1, IMAGE_BYTES) };

	if (!job || !image.bytes)
		return 2;
	printf("1..%u\n", (unsigned int)(GCU_MACS + SUMS) + 5 + gcu_vector_count());
	test_macs();
	test_sums();
	test_ranges();
	test_cbuf();
	test_rotation();
	test_lines();
	for (unsigned int index = 0; index < gcu_vector_count(); index++)
		test_program(index, &image, job);
	free(job);
	free(image.bytes);
	return failures ? 1 : 0;
}
