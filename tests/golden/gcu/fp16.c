// SPDX-License-Identifier: MIT
#include "fp16.h"

struct parts {
	bool negative;
	int64_t mts, ex;
};

static struct parts decode(uint16_t bits)
{
	int64_t e = bits >> 10 & 31, m = bits & 1023;

	return (struct parts){
		.negative = bits >> 15, .mts = e == 0 ? m << 1 : (1024 + m) << (e & 3),
		.ex = e >> 2,
	};
}

/* floor(value / 2^n) for any n. */
static int64_t shift_down(int64_t value, int64_t n)
{
	if (n > 62)
		return value < 0 ? -1 : 0;
	return value < 0 ? ~(~value >> n) : value >> n;
}

static int64_t product(const struct parts *x, const struct parts *w, int64_t shift, bool fp_floor,
		       struct golden_gcu_coverage *c)
{
	bool negative = x->negative != w->negative;
	int64_t magnitude = x->mts * w->mts, truncated = shift_down(magnitude, shift);

	if (!fp_floor)
		return negative ? -truncated : truncated;
	c->shifted_out += shift >= 32 && magnitude;
	if (shift >= 32)
		return 0;
	c->floored += negative && truncated << shift != magnitude;
	return shift_down(negative ? -magnitude : magnitude, shift);
}

static int64_t func_of(const struct parts *x, const struct parts *w, unsigned int lanes,
		       struct golden_gcu_coverage *c)
{
	int64_t func = 0, of_others = 0;

	for (unsigned int j = 0; j < lanes; j++) {
		int64_t e = x[j].ex + w[j].ex;

		func = e > func ? e : func;
		if (x[j].mts && w[j].mts && e > of_others)
			of_others = e;
	}
	c->raised_by_zero += func > of_others;
	return func;
}

struct golden_gcu_mac golden_gcu_mac(const uint16_t *x, const uint16_t *w, unsigned int lanes,
				     bool fp_floor, struct golden_gcu_coverage *c)
{
	struct parts px[CNNACC_GCU_ATOMIC_MAX], pw[CNNACC_GCU_ATOMIC_MAX];
	struct golden_gcu_mac mac = { 0 };

	for (unsigned int j = 0; j < lanes; j++) {
		px[j] = decode(x[j]);
		pw[j] = decode(w[j]);
		c->special_factor += (x[j] >> 10 & 31) == 31 || (w[j] >> 10 & 31) == 31;
	}
	mac.func = func_of(px, pw, lanes, c);
	for (unsigned int j = 0; j < lanes; j++)
		mac.f += product(&px[j], &pw[j], 4 * (mac.func - px[j].ex - pw[j].ex), fp_floor, c);
	return mac;
}

/* Index of the highest bit of @value that differs from its sign bit; 0 if there is none. */
static int64_t highest_bit(int64_t value)
{
	uint64_t bits = value < 0 ? ~value : value;
	int64_t p = 0;

	while (bits >> 1 >> p)
		p++;
	return p;
}

static uint32_t pack(bool negative, int64_t exponent, int64_t mantissa,
		     struct golden_gcu_coverage *c)
{
	uint32_t sign = (uint32_t)negative << 31;

	c->sum[GOLDEN_GCU_SUM_ABOVE] += exponent > 254;
	return exponent > 254 ? sign | 0x7f7fffff : sign | (uint32_t)exponent << 23 | mantissa;
}

/* S * 2^(X - 23). */
static uint32_t encode(int64_t s, int64_t x, struct golden_gcu_coverage *c)
{
	int64_t magnitude = s < 0 ? -s : s;

	if (x < -126) {
		c->sum[GOLDEN_GCU_SUM_BELOW]++;
		return s < 0 ? 0x80000000 : 0;
	}
	if (s == -(1 << 24)) {
		c->sum[GOLDEN_GCU_SUM_POWER]++;
		return pack(true, x + 128, 0, c);
	}
	if (magnitude < 1 << 23) {
		c->sum[GOLDEN_GCU_SUM_CANCELLED]++;
		return s < 0 ? 0x80000000 : 0;
	}
	c->sum[GOLDEN_GCU_SUM_NORMAL]++;
	return pack(s < 0, x + 127, magnitude - (1 << 23), c);
}

uint32_t golden_gcu_add(uint32_t old, struct golden_gcu_mac mac, struct golden_gcu_coverage *c)
{
	int64_t field = old >> 23 & 255, om = old & 0x7fffff;
	int64_t oe = (field ? field : 1) - 150, e = 4 * mac.func - 50;
	int64_t d = oe > e ? oe - e : e - oe, x = oe > e ? oe : e;
	int64_t big, small, sm, s, p;

	om |= field ? 1 << 23 : 0;
	om = old >> 31 ? -om : om;
	big = oe > e ? om : mac.f;
	small = oe > e ? mac.f : om;
	c->sum_big[oe > e]++;
	c->old_subnormal += !field && om;
	c->old_special += field == 255;
	c->far_apart += d > 63 && small;
	sm = d > 63 ? 0 : d <= 23 ? small * (1ll << (23 - d)) : shift_down(small, d - 23);
	s = big * (1 << 23) + sm;
	p = highest_bit(shift_down(s, 23));
	return encode(shift_down(s, p), x + p, c);
}
