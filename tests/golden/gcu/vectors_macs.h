/* SPDX-License-Identifier: MIT */
/* V1 to V11 of gcu's page. */
#ifndef GOLDEN_GCU_VECTORS_MACS_H
#define GOLDEN_GCU_VECTORS_MACS_H

#include <stdint.h>

/** struct gcu_mac_vector - a FP16 MAC of four lanes; first_floor: @first with fp-floor on. */
struct gcu_mac_vector {
	const char *name;
	uint16_t f[4], w[4];
	int64_t exp6, f_off, f_on;
	uint32_t first, first_floor, after_1;
};

static const struct gcu_mac_vector gcu_macs[] = {
	{ "V1", { 0x3c00 }, { 0x3c00 }, 24, 67108864, 67108864, 0x3f800000, 0x3f800000,
	  0x40000000 },
	{ "V2", { 0x3e00, 0xc080, 0x2e66, 0x5640 }, { 0x4000, 0x4300, 0xb4cd, 0x211f }, 32,
	  -1023615, -1023616, 0xc079e7f0, 0xc079e800, 0xc039e7f0 },
	{ "V3", { 0x0001, 0x03ff, 0x0400, 0x8001 }, { 0x3c00, 0x3c00, 0x3c00, 0x3c00 }, 12,
	  33538048, 33538048, 0x38ffe000, 0x38ffe000, 0x3f8003ff },
	{ "V4", { 0x6400, 0x9419 }, { 0x6400, 0x3c00 }, 48, 4194304, 4194304, 0x49800000,
	  0x49800000, 0x49800008 },
	{ "V5", { 0x0000, 0x0001 }, { 0x7bff, 0x0001 }, 28, 0, 0, 0x00000000, 0x00000000,
	  0x3f800000 },
	{ "V6", { 0x7bff, 0x7bff, 0x7bff, 0x7bff }, { 0x7bff, 0x7bff, 0x7bff, 0x7bff }, 56,
	  268173376, 268173376, 0x507fc004, 0x507fc004, 0x507fc004 },
	{ "V7", { 0x7c00 }, { 0x3c00 }, 40, 67108864, 67108864, 0x47800000, 0x47800000,
	  0x47800080 },
	{ "V8", { 0x7800, 0x8001 }, { 0x7800, 0x0001 }, 56, 16777216, 16777216, 0x4e800000,
	  0x4e800000, 0x4e800000 },
	{ "V9", { 0x4c00, 0x868e, 0x868e, 0x868e }, { 0x4c00, 0x1419, 0x1419, 0x1419 }, 32,
	  67108864, 67108861, 0x43800000, 0x437fffff, 0x43808000 },
	{ "V10", { 0x3c00, 0xbc00 }, { 0x3c00, 0x3c00 }, 24, 0, 0, 0x00000000, 0x00000000,
	  0x3f800000 },
	{ "V11", { 0x4248, 0x4170, 0xbda8, 0x389e }, { 0x2e66, 0x3266, 0x34cd, 0x3666 }, 28,
	  2785514, 2785514, 0x3f2a03a8, 0x3f2a03a8, 0x3fd501d4 },
};

#define GCU_MACS	(sizeof(gcu_macs) / sizeof(gcu_macs[0]))

#endif /* GOLDEN_GCU_VECTORS_MACS_H */
