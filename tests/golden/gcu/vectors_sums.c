// SPDX-License-Identifier: MIT
/* Sums: FP16 MACs, layers of each format, saturation, CBUF. */
#include "vectors.h"
#include "vectors_macs.h"
#include "writer.h"
#include "../words.h"

static void put_half(struct job *job, uint32_t va, uint16_t value)
{
	gcu_vector_put(job, va, &(uint16_t){ htole16(value) }, 2);
}

static void put_byte(struct job *job, uint32_t va, int value)
{
	gcu_vector_put(job, va, &(uint8_t){ value }, 1);
}

static void put_word(struct job *job, uint32_t va, uint32_t value)
{
	gcu_vector_put(job, va, &(uint32_t){ htole32(value) }, 4);
}

/* -------------------------------------------------------------- FP16 MACs */

/* Two blocks a vector: added to +0 and to 1. */
static void build_macs(struct job *job, unsigned int argument)
{
	struct cnnacc_gcu_layer l = gcu_vector_layer(GCU_FORMAT(FP16) | GCU_OUT(FP32), 1, 1, 4, 1);

	(void)argument;
	put_word(job, GCU_VECTOR_PSUM, 0x3f800000);
	for (unsigned int n = 0; n < GCU_MACS; n++) {
		l.ifmap.va = GCU_VECTOR_IN + 64 * n;
		l.weight_va = GCU_VECTOR_WEIGHTS + 64 * n;
		for (unsigned int j = 0; j < 4; j++) {
			put_half(job, l.ifmap.va + 2 * j, gcu_macs[n].f[j]);
			put_half(job, l.weight_va + 2 * j, gcu_macs[n].w[j]);
		}
		l.ofmap.va = GCU_VECTOR_OUT + 8 * n;
		gcu_write_layer(&job->program, &l);
		l.ofmap.va += 4;
		l.control |= CNNACC_GCU_PSUM;
		l.psum = (struct cnnacc_gcu_map){ GCU_VECTOR_PSUM, 0, 0, 0 };
		gcu_write_layer(&job->program, &l);
		l.control &= ~CNNACC_GCU_PSUM;
		l.psum = (struct cnnacc_gcu_map){ 0 };
	}
}

static bool check_macs(struct job *job, unsigned int fp_floor)
{
	bool good = true;

	for (unsigned int n = 0; n < GCU_MACS; n++) {
		const struct gcu_mac_vector *v = &gcu_macs[n];
		uint32_t va = GCU_VECTOR_OUT + 8 * n;

		good &= gcu_vector_same(job, v->name, va,
					fp_floor ? v->first_floor : v->first);
		if (!fp_floor)
			good &= gcu_vector_same(job, v->name, va + 4, v->after_1);
	}
	return good;
}

/* ------------------------------------------------------------- FP16 layer */

/* FP16 of n / 2^shift, |n| < 2048. */
static uint16_t half_of(int n, int shift)
{
	int magnitude = n < 0 ? -n : n, exponent = 25 - shift;

	if (!n)
		return 0;
	while (magnitude < 1024) {
		magnitude *= 2;
		exponent--;
	}
	return (n < 0 ? 0x8000 : 0) | exponent << 10 | (magnitude - 1024);
}

static void build_fp16(struct job *job, unsigned int argument)
{
	struct cnnacc_gcu_layer l = gcu_vector_layer(GCU_FORMAT(FP16) | GCU_OUT(FP32), 4, 4, 3, 2);

	(void)argument;
	gcu_vector_kernel(&l, 3);
	gcu_write_layer(&job->program, &l);
	for (unsigned int n = 0; n < 16; n++)
		for (unsigned int c = 0; c < 3; c++)
			put_half(job, GCU_VECTOR_IN + 16 * n + 2 * c,
				 half_of((int)((n * 3 + c) % 17) - 8, 3));
	for (unsigned int n = 0; n < 9; n++)
		for (unsigned int k = 0; k < 2; k++)
			for (unsigned int c = 0; c < 3; c++)
				put_half(job, GCU_VECTOR_WEIGHTS + 2 * (8 * (2 * n + k) + c),
					 half_of((int)(((9 * k + n) * 3 + c) % 13) - 6, 4));
}

static bool check_fp16(struct job *job, unsigned int argument)
{
	static const uint32_t acc[2][4] = {
		{ 0x40270000, 0x3fe70000, 0xbfd60000, 0x3d400000 },
		{ 0x3fa00000, 0x40508000, 0xbff00000, 0xbf4c0000 },
	};
	bool good = true;

	(void)argument;
	for (unsigned int k = 0; k < 2; k++)
		for (unsigned int n = 0; n < 4; n++)
			good &= gcu_vector_same(job, "accumulator",
						GCU_VECTOR_OUT + 32 * n + 4 * k, acc[k][n]);
	return good;
}

/* --------------------------------------------------------- integer layers */

#define RAW_INT8	(GCU_FORMAT(INT8) | GCU_OUT(INT32))

static void build_padded(struct job *job, unsigned int argument)
{
	struct cnnacc_gcu_layer l = gcu_vector_layer(RAW_INT8 | CNNACC_GCU_UNSIGNED_IFMAP, 3, 1, 1,
						     1);
	static const int in[] = { 10, 200, 255 }, weight[] = { -1, 2, 3 };

	(void)argument;
	l.zero_in = gcu_halves(128, 0);
	l.kernel = gcu_bytes(3, 1, 1, 1);
	l.padding = gcu_bytes(1, 1, 0, 0);
	gcu_write_layer(&job->program, &l);
	for (unsigned int n = 0; n < 3; n++) {
		put_byte(job, GCU_VECTOR_IN + 8 * n, in[n]);
		put_byte(job, GCU_VECTOR_WEIGHTS + 8 * n, weight[n]);
	}
}

static bool check_padded(struct job *job, unsigned int argument)
{
	(void)argument;
	return gcu_vector_same(job, "point 0", GCU_VECTOR_OUT, -20) &&
	       gcu_vector_same(job, "point 1", GCU_VECTOR_OUT + 32, 643) &&
	       gcu_vector_same(job, "point 2", GCU_VECTOR_OUT + 64, 182);
}

static void build_unsigned(struct job *job, unsigned int argument)
{
	struct cnnacc_gcu_layer l = gcu_vector_layer(RAW_INT8 | CNNACC_GCU_UNSIGNED_IFMAP |
						     CNNACC_GCU_UNSIGNED_WEIGHTS, 1, 1, 1, 1);

	(void)argument;
	l.zero_in = gcu_halves(3, 130);
	gcu_write_layer(&job->program, &l);
	put_byte(job, GCU_VECTOR_WEIGHTS, 255);
}

static bool check_one(struct job *job, unsigned int value)
{
	return gcu_vector_same(job, "accumulator", GCU_VECTOR_OUT, value);
}

static void put_saturating(struct job *job, unsigned int flags)
{
	struct cnnacc_gcu_layer l = gcu_vector_layer(RAW_INT8 | CNNACC_GCU_UNSIGNED_IFMAP | flags,
						     1, 1, 16, 1);

	gcu_write_layer(&job->program, &l);
	for (unsigned int c = 0; c < 16; c++) {
		put_byte(job, l.ifmap.va + (c / 8) * l.ifmap.group_stride + c % 8, 255);
		put_byte(job, l.weight_va + c, c < 8 ? 127 : -1);
	}
}

static void build_acc32(struct job *job, unsigned int argument)
{
	(void)argument;
	put_saturating(job, 0);
}

static void build_acc16(struct job *job, unsigned int argument)
{
	(void)argument;
	put_saturating(job, CNNACC_GCU_ACC16);
}

static void build_int16(struct job *job, unsigned int argument)
{
	struct cnnacc_gcu_layer l = gcu_vector_layer(GCU_FORMAT(INT16) | GCU_OUT(INT32), 1, 1, 16,
						     1);

	(void)argument;
	gcu_write_layer(&job->program, &l);
	for (unsigned int c = 0; c < 16; c++) {
		put_half(job, l.ifmap.va + 2 * c, c < 8 ? 32767 : 1);
		put_half(job, l.weight_va + 2 * c, c < 8 ? 32767 : 0xffff);
	}
}

/* -------------------------------------------------------------------- CBUF */

static const struct {
	uint32_t port, address, count;
} areas[] = {
	{ CNNACC_GCU_PORT_FMAP, 5119 * 16, 1 }, { CNNACC_GCU_PORT_FMAP, 5120 * 16, 1 },
	{ CNNACC_GCU_PORT_FMAP, 5119 * 16 + 15, 2 }, { CNNACC_GCU_PORT_KERNEL, 3071 * 16, 1 },
	{ CNNACC_GCU_PORT_KERNEL, 3072 * 16, 1 }, { CNNACC_GCU_PORT_KERNEL, 2561 * 16, 512 },
};

static void build_area(struct job *job, unsigned int n)
{
	const struct cnnacc_gcu_probe probe = {
		.control = CNNACC_GCU_PROBE, .port = areas[n].port, .address = areas[n].address,
		.count = areas[n].count, .va = GCU_VECTOR_OUT, .fmbuf_banks = 10,
	};

	gcu_write_probe(&job->program, &probe);
}

/*
 * INT8, fmbufcoln 8, slot 1, column 3: byte 88, the upper half of word 5; and the words of two
 * kernels, with bank 15 row 511 as kernel word 0.
 */
static void build_placed(struct job *job, unsigned int argument)
{
	struct cnnacc_gcu_layer l = gcu_vector_layer(RAW_INT8, 8, 2, 8, 2);
	struct cnnacc_gcu_probe probe = {
		.control = CNNACC_GCU_PROBE, .port = CNNACC_GCU_PORT_FMAP, .address = 88,
		.count = 1, .va = GCU_VECTOR_OUT + 0x1000, .fmbuf_banks = 10,
	};

	(void)argument;
	l.fmbuf = 10 | 1 << 8 | 2u << 16;
	l.control |= CNNACC_GCU_TABLE;
	l.threshold = 0;
	l.table_entries = 1;
	l.increment_va = GCU_VECTOR_TABLES;
	l.vector_va = GCU_VECTOR_TABLES;
	put_byte(job, GCU_VECTOR_TABLES, 255);
	for (unsigned int n = 0; n < 16 * 8; n++)
		put_byte(job, GCU_VECTOR_IN + n, n);
	for (unsigned int n = 0; n < 16; n++)
		put_byte(job, GCU_VECTOR_WEIGHTS + n, 0x80 + n);
	gcu_write_layer(&job->program, &l);
	gcu_write_probe(&job->program, &probe);
	probe.port = CNNACC_GCU_PORT_KERNEL;
	probe.address = 1;
	probe.va += 64;
	gcu_write_probe(&job->program, &probe);
	probe.port = CNNACC_GCU_PORT_SEARCH;
	probe.address = gcu_halves(0, 1);
	probe.count = 3;
	probe.fmbuf_banks = 0;
	probe.va += 64;
	gcu_write_probe(&job->program, &probe);
}

/* Word 5, rotated by 8 bytes: columns 3 and 2 of row 1. */
static bool check_placed(struct job *job, unsigned int argument)
{
	uint32_t va = GCU_VECTOR_OUT + 0x1000;

	(void)argument;
	return gcu_vector_same(job, "row 1, column 3", va, 0x5b5a5958) &&
	       gcu_vector_same(job, "row 1, column 2", va + 8, 0x53525150) &&
	       gcu_vector_same(job, "kernels 0 and 1", va + 64, 0x84838281) &&
	       gcu_vector_same(job, "kernel 1 and 0", va + 76, 0x808f8e8d) &&
	       gcu_vector_same(job, "surface", va + 128, 88);
}

#define RANGE(port_)	.want = { .status_class = CNNACC_STATUS_BAD_PROGRAM, \
			  .status_code = CNNACC_GCU_E_RANGE, .detail = CNNACC_GCU_PORT_##port_ }

const struct gcu_vector gcu_sum_vectors[] = {
	{ "V1 to V11, fp-floor off", .build = build_macs, .check = check_macs,
	  .want.pc = 2 * GCU_MACS - 1 },
	{ "V1 to V11, fp-floor on", .fp_floor = true, .build = build_macs, .check = check_macs,
	  .argument = 1, .want.pc = 2 * GCU_MACS - 1 },
	{ "FP16 layer", .build = build_fp16, .check = check_fp16 },
	{ "INT8 with padding and zero point", .build = build_padded, .check = check_padded },
	{ "UINT8 with zero points", .build = build_unsigned, .check = check_one, .argument = -375 },
	{ "32-bit accumulators", .build = build_acc32, .check = check_one, .argument = 257040 },
	{ "16-bit accumulators", .build = build_acc16, .check = check_one, .argument = 30727 },
	{ "INT16 saturated", .build = build_int16, .check = check_one, .argument = 2147483639 },
	{ "feature-map word 5119", .build = build_area, .argument = 0 },
	{ "feature-map word 5120", .build = build_area, .argument = 1, RANGE(FMAP) },
	{ "feature-map words 5119 and 5120", .build = build_area, .argument = 2, RANGE(FMAP) },
	{ "kernel word 3071", .build = build_area, .argument = 3 },
	{ "kernel word 3072", .build = build_area, .argument = 4, RANGE(KERNEL) },
	{ "kernel words 2561 to 3072", .build = build_area, .argument = 5, RANGE(KERNEL) },
	{ "surfaces in CBUF", .build = build_placed, .check = check_placed, .want.pc = 3 },
};

const unsigned int gcu_sum_vector_count = sizeof(gcu_sum_vectors) / sizeof(gcu_sum_vectors[0]);
