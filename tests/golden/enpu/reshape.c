// SPDX-License-Identifier: MIT
#include "state.h"

enum { N, H, W, C };

static unsigned int perm(const struct enpu_insn *insn, unsigned int k)
{
	return insn->reshape >> (2 * k) & 3;
}

static unsigned int split_of(const struct enpu_insn *insn)
{
	return insn->reshape >> CNNACC_ENPU_SPLIT_SHIFT & 3;
}

static unsigned int stack_of(const struct enpu_insn *insn)
{
	return insn->reshape >> CNNACC_ENPU_STACK_SHIFT & 3;
}

/* Parts that the split dimension is cut into; 1 if none is. */
static int64_t parts(const struct enpu_insn *insn)
{
	int64_t factor = insn->reshape >> CNNACC_ENPU_FACTOR_SHIFT & 255;

	return factor < 2 ? 1 : factor;
}

static struct enpu_shape stacked(const struct enpu_insn *insn)
{
	struct enpu_shape e = { { 1, insn->ho, insn->wo, insn->co } };

	if (parts(insn) > 1) {
		e.size[split_of(insn)] /= parts(insn);
		e.size[stack_of(insn)] *= parts(insn);
	}
	return e;
}

static struct enpu_shape permuted(const struct enpu_insn *insn)
{
	struct enpu_shape e = stacked(insn), result;

	for (unsigned int k = 0; k < 4; k++)
		result.size[k] = e.size[perm(insn, k)];
	return result;
}

struct enpu_shape enpu_shape_of(const struct enpu_insn *insn)
{
	if (insn->op != CNNACC_ENPU_RESHAPE)
		return (struct enpu_shape){ { 1, insn->ho, insn->wo, insn->co } };
	return permuted(insn);
}

bool enpu_lanes_change(const struct enpu_insn *insn)
{
	return perm(insn, C) != C ||
	       (parts(insn) > 1 && (split_of(insn) == C || stack_of(insn) == C));
}

static void stack_index(const struct enpu_insn *insn, const int64_t i[4], int64_t e[4])
{
	int64_t size[4] = { 1, insn->ho, insn->wo, insn->co };
	unsigned int split = split_of(insn), stack = stack_of(insn);
	int64_t f = parts(insn), part;

	for (unsigned int k = 0; k < 4; k++)
		e[k] = i[k];
	if (f == 1)
		return;
	part = i[split] / (size[split] / f);
	e[split] = i[split] % (size[split] / f);
	e[stack] = insn->reshape & CNNACC_ENPU_INTERLEAVE ? i[stack] * f + part :
							     part * size[stack] + i[stack];
}

void enpu_moved(const struct enpu_insn *insn, const int64_t at[3], int64_t to[3])
{
	int64_t i[4] = { 0, at[0], at[1], at[2] }, e[4];

	stack_index(insn, i, e);
	to[0] = e[perm(insn, N)] * permuted(insn).size[H] + e[perm(insn, H)];
	to[1] = e[perm(insn, W)];
	to[2] = e[perm(insn, C)];
}
