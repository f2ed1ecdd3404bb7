// SPDX-License-Identifier: MIT
/* Format, sizes and areas of a random legal layer. */
#include "gen.h"
#include "../min_max.h"

/* ----------------------------------------------------------------- format */

static void pick_flags(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	bool int8 = l->format == CNNACC_GCU_INT8;

	l->unsigned_ifmap = int8 && gcu_chance(gen, 40);
	l->unsigned_weights = int8 && gcu_chance(gen, 30);
	l->acc16 = int8 && gcu_chance(gen, 30);
	l->psum_on = gcu_chance(gen, 30);
	l->linear = gcu_chance(gen, 50);
	l->round_up = l->linear && l->format != CNNACC_GCU_FP16 && gcu_chance(gen, 40);
	l->clamp = gcu_chance(gen, 30);
	l->table = gcu_chance(gen, 60);
	l->act = gcu_chance(gen, 40) ? CNNACC_GCU_ACT_NONE : gcu_pick(gen, 1, 4);
}

/* Flags that the access needs which is to fail. */
static void add_target(const struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	switch (gen->target) {
	case GOLDEN_GCU_LUT:
		l->act = CNNACC_GCU_ACT_SIGMOID;
		break;
	case GOLDEN_GCU_LINEAR:
		l->linear = true;
		break;
	case GOLDEN_GCU_INCREMENT:
	case GOLDEN_GCU_VECTOR:
		l->table = true;
		break;
	case GOLDEN_GCU_PSUM:
		l->psum_on = true;
		break;
	default:
		break;
	}
}

static int64_t zero_of(struct gen_gcu *gen, int64_t low, int64_t high)
{
	int64_t mood = gcu_pick(gen, 0, 9);

	return mood < 4 ? 0 : mood == 4 ? low : mood == 5 ? high : gcu_pick(gen, low, high);
}

static void pick_zeros(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	if (l->format == CNNACC_GCU_INT8) {
		l->zx = l->unsigned_ifmap ? zero_of(gen, 0, 255) : zero_of(gen, -128, 127);
		l->zw = l->unsigned_weights ? zero_of(gen, 0, 255) : zero_of(gen, -128, 127);
	}
	switch (l->out) {
	case CNNACC_GCU_OUT_INT8:
		l->zy = zero_of(gen, -128, 127);
		break;
	case CNNACC_GCU_OUT_UINT8:
		l->zy = zero_of(gen, 0, 255);
		break;
	case CNNACC_GCU_OUT_INT16:
		l->zy = zero_of(gen, -32768, 32767);
		break;
	case CNNACC_GCU_OUT_INT32:
		l->zy = zero_of(gen, INT32_MIN, INT32_MAX);
		break;
	default:
		break;
	}
}

/* FP32 bits that are often near the numbers that occur. */
static uint32_t any_fp32(struct gen_gcu *gen)
{
	uint32_t bits = prng_next(&gen->prng);

	if (gcu_chance(gen, 20))
		return bits;
	return (bits & 0x807fffff) | (uint32_t)gcu_pick(gen, 110, 140) << 23;
}

static bool is_nan(uint32_t bits)
{
	return (bits & 0x7fffffff) > 0x7f800000;
}

/* Order of FP32 bits that are no NaN. */
static int64_t fp32_rank(uint32_t bits)
{
	return bits >> 31 ? -(int64_t)(bits & 0x7fffffff) : (int64_t)bits;
}

static void pick_clamp(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	uint32_t a, b;
	bool swap;

	do {
		int64_t range = gcu_chance(gen, 50) ? 300 : INT32_MAX;

		a = l->fp16 ? any_fp32(gen) : (uint32_t)gcu_pick(gen, -range, range);
		b = l->fp16 ? any_fp32(gen) : (uint32_t)gcu_pick(gen, -range, range);
	} while (l->fp16 && (is_nan(a) || is_nan(b)));
	swap = l->fp16 ? fp32_rank(a) > fp32_rank(b) : (int32_t)a > (int32_t)b;
	l->clamp_low = swap ? b : a;
	l->clamp_high = swap ? a : b;
}

static void pick_factor(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	if (l->act < CNNACC_GCU_ACT_LEAKY || (l->fp16 && l->act != CNNACC_GCU_ACT_LEAKY))
		return;
	l->act_factor = l->fp16 ? any_fp32(gen) : (uint32_t)prng_next(&gen->prng);
	if (l->fp16)
		return;
	l->act_shift = gcu_pick(gen, 0, 63);
	if (gcu_chance(gen, 70)) {
		l->act_factor = (uint32_t)gcu_pick(gen, -300, 300);
		l->act_shift = gcu_pick(gen, 0, 20);
	}
}

static void pick_format(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	l->format = gcu_pick(gen, 0, 2);
	pick_flags(gen, l);
	add_target(gen, l);
	l->out = l->format == CNNACC_GCU_FP16 ? gcu_pick(gen, 4, 5) : gcu_pick(gen, 0, 3);
	gen_gcu_derive(l);
	pick_zeros(gen, l);
	if (l->clamp)
		pick_clamp(gen, l);
	pick_factor(gen, l);
}

/* ------------------------------------------------------------------ sizes */

/* A number of channels around multiples of @atomic. */
static int64_t channels(struct gen_gcu *gen, int64_t atomic)
{
	switch (gcu_pick(gen, 0, 5)) {
	case 0:
		return gcu_pick(gen, 1, 3);
	case 1:
		return atomic;
	case 2:
		return atomic * gcu_pick(gen, 1, 6);
	default:
		return gcu_pick(gen, 1, 4 * atomic);
	}
}

static void pick_channels(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	int64_t gs;

	l->group_n = 1;
	l->c = channels(gen, gen->params.atomic_c);
	l->k = channels(gen, gen->params.atomic_k);
	if (gcu_chance(gen, 70))
		return;
	gs = gcu_chance(gen, 40) ? 1 : gcu_pick(gen, 1, 2 * gen->params.atomic_k);
	l->group_n = gcu_pick(gen, 2, gs < 4 ? 40 : 6);
	l->c = l->k = gs * l->group_n;
}

static void pick_kernel(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	int64_t mood = gcu_pick(gen, 0, 19), most = mood < 8 ? 3 : mood < 16 ? 5 : 11;

	if (gen->many_op4)
		most = 2;
	l->r = gcu_pick(gen, 1, most);
	l->s = gcu_pick(gen, 1, most);
	if (mood == 19) {
		l->s = gcu_pick(gen, 1, 121);
		l->r = gcu_pick(gen, 1, min64(121 / l->s, 30));
	}
	if (mood % 4 == 1)
		l->s = l->r = min64(l->r, 11);
}

/* Mostly small: 0..@usual, sometimes 0..@most. */
static int64_t rarely(struct gen_gcu *gen, unsigned int percent, int64_t usual, int64_t most)
{
	if (!gcu_chance(gen, percent))
		return 0;
	return gcu_pick(gen, 0, gcu_chance(gen, 90) ? usual : most);
}

static void pick_steps(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	l->hstride = 1 + rarely(gen, 40, 1, 7);
	l->vstride = 1 + rarely(gen, 40, 1, 7);
	l->dil_h = rarely(gen, 25, 3, 63);
	l->dil_v = rarely(gen, 25, 3, 63);
	l->inner_lr = rarely(gen, 25, 2, 7);
	l->inner_tb = rarely(gen, 25, 2, 7);
	l->left = rarely(gen, 50, 3, 255);
	l->right = rarely(gen, 50, 3, 255);
	l->top = rarely(gen, 50, 3, 255);
	l->bottom = rarely(gen, 50, 3, 255);
}

/* At least @size points, and so many that the extended axis has @kernel of them. */
static int64_t enough(int64_t size, int64_t kernel, int64_t padding, int64_t inner)
{
	int64_t least = golden_gcu_ceil(kernel - padding + inner, inner + 1);

	return size > least ? size : least;
}

static int64_t outputs(int64_t size, int64_t kernel, int64_t stride)
{
	return (size - kernel) / stride + 1;
}

static int64_t extent(int64_t size, int64_t padding, int64_t inner)
{
	return size + padding + (size - 1) * inner;
}

static void pick_size(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	bool wide = gcu_chance(gen, 3), many = gen->many_op4;
	int64_t kd_w = l->s + (l->s - 1) * l->dil_h, kd_h = l->r + (l->r - 1) * l->dil_v;
	int64_t most = gcu_chance(gen, 80) ? 10 : 60;

	l->w = enough(gcu_pick(gen, 1, wide ? 4096 : many ? 3 : most), kd_w, l->left + l->right,
		      l->inner_lr);
	l->h = enough(many ? gcu_pick(gen, 30, 300) : gcu_pick(gen, 1, wide ? 2 : most), kd_h,
		      l->top + l->bottom, l->inner_tb);
	l->ofmw = outputs(extent(l->w, l->left + l->right, l->inner_lr), kd_w, l->hstride);
	l->ofmh = outputs(extent(l->h, l->top + l->bottom, l->inner_tb), kd_h, l->vstride);
	if (gcu_chance(gen, 25))
		l->ofmw = gcu_pick(gen, 1, l->ofmw);
	if (gcu_chance(gen, 25))
		l->ofmh = gcu_pick(gen, 1, l->ofmh);
	l->ofmw = min64(l->ofmw, (l->acc16 ? 2 : 1) * gen->params.rbuf_depth);
}

/* Multiplications of the lanes, masked ones too. */
static int64_t work(const struct gen_gcu *gen, const struct golden_gcu_layer *l)
{
	int64_t lanes = 0;

	for (int64_t i = 0; i < golden_gcu_kernel_groups(l, gen->params.atomic_k); i++) {
		struct golden_gcu_range g = golden_gcu_range(l, gen->params.atomic_c,
							     gen->params.atomic_k, i);

		lanes += g.cgrpn * g.kn * gen->params.atomic_c;
	}
	return lanes * l->r * l->s * l->ofmw * l->ofmh;
}

static int64_t budget(struct gen_gcu *gen)
{
	if (gen->kind == GEN_GCU_LIMIT)
		return 1000;
	if (gen->kind == GEN_GCU_SHORT)
		return 8000;
	if (gcu_chance(gen, 2))
		return 1000000;
	return gcu_chance(gen, 20) ? 200000 : 50000;
}

/* Make the layer smaller until its work is within @most; false if it cannot be. */
static bool shrink(struct gen_gcu *gen, struct golden_gcu_layer *l, int64_t most)
{
	while (work(gen, l) > most) {
		if (l->ofmh > 2 && (l->ofmh > l->ofmw || gen->many_op4))
			l->ofmh = l->ofmh * 3 / 4;
		else if (l->ofmw > 1)
			l->ofmw = l->ofmw * 3 / 4;
		else if (l->group_n == 1 && l->k > gen->params.atomic_k)
			l->k = l->k / 2;
		else if (l->group_n == 1 && l->c > gen->params.atomic_c)
			l->c = l->c / 2;
		else if (l->ofmh > 1)
			l->ofmh /= 2;
		else
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------ areas */

static const int64_t kernel_sizes[] = { 1, 9, 25, 49, 81, 121 };

static int64_t column_code(struct gen_gcu *gen, int64_t w)
{
	int64_t code = 0;

	while (4ll << code < w)
		code++;
	return gcu_chance(gen, 70) ? code : gcu_pick(gen, code, 10);
}

static int64_t kernel_size(struct gen_gcu *gen, int64_t points)
{
	int64_t n = 0;

	while (kernel_sizes[n] < points)
		n++;
	return kernel_sizes[gcu_chance(gen, 80) ? n : gcu_pick(gen, n, 5)];
}

bool gen_gcu_areas(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	int64_t most, banks = gen->params.cbuf_banks;

	l->fmbufbankn = gcu_pick(gen, 1, banks - 1);
	l->column_code = column_code(gen, l->w);
	l->fmbufcoln = 4ll << l->column_code;
	l->kbufgrpsz = kernel_size(gen, l->r * l->s);
	most = (banks - l->fmbufbankn) * 512 / (l->kbufgrpsz * gen->params.atomic_k);
	if (most < 3 || l->fmbufbankn * 512 < l->fmbufcoln)
		return false;
	l->kbufgrpn = min64(most, gcu_chance(gen, 30) ? 3 : gcu_pick(gen, 3, 9));
	if (gcu_chance(gen, 20))
		l->kbufgrpn = most;
	return true;
}

/* A layer of one point. */
static void smallest(struct golden_gcu_layer *l)
{
	l->w = l->h = l->c = l->k = l->ofmw = l->ofmh = 1;
	l->s = l->r = l->hstride = l->vstride = l->group_n = 1;
	l->dil_h = l->dil_v = l->inner_lr = l->inner_tb = 0;
	l->left = l->right = l->top = l->bottom = 0;
}

static bool pick_sizes(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	pick_channels(gen, l);
	pick_kernel(gen, l);
	pick_steps(gen, l);
	pick_size(gen, l);
	return l->w <= 4096 && l->h <= 2000 && l->r * l->s <= 121 &&
	       shrink(gen, l, budget(gen)) && gen_gcu_areas(gen, l);
}

void gen_gcu_shape(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	*l = (struct golden_gcu_layer){ 0 };
	pick_format(gen, l);
	for (unsigned int tries = 0; tries < 30; tries++)
		if (pick_sizes(gen, l))
			return;
	smallest(l);
	while (!gen_gcu_areas(gen, l))
		;
}
