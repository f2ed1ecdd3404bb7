// SPDX-License-Identifier: MIT
/* The data path: the ALU, adder 1, the selector and the FIFO of a CSU, and the memory unit. */
#include "state.h"

#include "../fp32.h"

/* --------------------------------------------------------------- arithmetic */

static uint32_t saturated(struct golden_imc *imc, int64_t value)
{
	if (value >= INT32_MIN && value <= INT32_MAX)
		return value;
	imc->coverage.saturated[value > 0]++;
	return value > 0 ? INT32_MAX : INT32_MIN;
}

static uint32_t rounded(struct golden_imc *imc, float value)
{
	uint32_t bits = fp32_to_bits(value);

	imc->coverage.subnormals += !(bits & 0x7f800000) && (bits & 0x007fffff);
	if (value == value)
		return bits;
	imc->coverage.nans++;
	return CNNACC_FP32_NAN;
}

static uint32_t fp_add(struct golden_imc *imc, uint32_t a, uint32_t b)
{
	return rounded(imc, fadd(fp32_from_bits(a), fp32_from_bits(b)));
}

static uint32_t add(struct golden_imc *imc, uint32_t a, uint32_t b)
{
	if (imc->plane.format == CNNACC_IMC_FP32)
		return fp_add(imc, a, b);
	return saturated(imc, (int64_t)(int32_t)a + (int32_t)b);
}

/* --------------------------------------------------------------------- CSU */

/* Byte of the first component of the element and of the weight of this clock. */
static int64_t element_at(const struct golden_imc *imc, int64_t row)
{
	const struct imc_plane *p = &imc->plane;

	return p->in + (row * p->in_row + (imc->control.j - 1) * p->in_column +
			imc->control.pass * p->cin_max) * p->esz;
}

static int64_t weight_at(const struct golden_imc *imc, const int64_t kr[2])
{
	const struct imc_plane *p = &imc->plane;
	int64_t s = imc->control.w - 1;

	return p->wt + (((kr[0] * p->n + kr[1]) * p->n + s) * p->cin +
			imc->control.pass * p->cin_max) * p->esz;
}

/* The input row of this clock. */
static int64_t input_row(const struct golden_imc *imc)
{
	int64_t pass_row = imc->control.pass_row, n = imc->plane.n;

	return imc->plane.full ? pass_row : pass_row / n + pass_row % n;
}

/* @a, @w: components of the element and of the weight. */
static uint32_t alu_integer(const struct imc_plane *p, const uint8_t *a, const uint8_t *w,
			    int64_t channels)
{
	int32_t sum = 0;

	for (int64_t c = 0; c < channels; c++)
		sum += (p->format == CNNACC_IMC_UINT8 ? a[c] : (int8_t)a[c]) * (int8_t)w[c];
	return sum;
}

static uint32_t alu_float(struct golden_imc *imc, const uint8_t *a, const uint8_t *w,
			  int64_t channels)
{
	uint32_t sum = 0;

	for (int64_t c = 0; c < channels; c++) {
		uint32_t product = rounded(imc, fmul(float_get(a, c), float_get(w, c)));

		sum = c ? fp_add(imc, sum, product) : product;
	}
	return sum;
}

static uint32_t alu(struct golden_imc *imc, const int64_t kr[2])
{
	const struct imc_plane *p = &imc->plane;
	int64_t channels = imc_pass_channels(p, imc->control.pass);
	const uint8_t *a = imc->memory[p->in_bank] + element_at(imc, input_row(imc));
	const uint8_t *w = imc->memory[p->wt_bank] + weight_at(imc, kr);

	return p->format == CNNACC_IMC_FP32 ? alu_float(imc, a, w, channels) :
	       alu_integer(p, a, w, channels);
}

static uint32_t pop(struct imc_csu *csu)
{
	uint32_t head = csu->fifo[0];

	csu->level--;
	memmove(csu->fifo, csu->fifo + 1, csu->level * sizeof(head));
	csu->fifo[csu->level] = 0;
	return head;
}

void imc_csu_clock(struct golden_imc *imc, struct imc_csu *csu, struct imc_signals s,
		   const int64_t kr[2])
{
	csu->p = alu(imc, kr);
	csu->head = s.rd_en ? pop(csu) : 0;
	csu->sum = s.rd_en ? add(imc, csu->head, csu->p) : csu->p;
	if (s.wr_en)
		csu->fifo[csu->level++] = s.sel ? csu->sum : csu->p;
}

/* ------------------------------------------------------------- memory unit */

void imc_column_add(struct golden_imc *imc, uint32_t result, int64_t row, const int64_t kr[2])
{
	const struct imc_plane *p = &imc->plane;
	int64_t o = imc->control.j - imc->control.w;	/* from 0 */
	int64_t cell = p->res / 4 + row * p->res_row + o * p->res_column + kr[0];
	bool first = kr[1] == 0 && imc->control.pass == 0 && !p->accumulate;
	uint8_t *unit = imc->memory[p->res_bank];

	if (!first) {
		result = add(imc, word_get(unit, cell), result);
		imc->seq.stats->local_read_bytes += 4;
	}
	word_put(unit, cell, result);
	imc->seq.stats->local_write_bytes += 4;
}
