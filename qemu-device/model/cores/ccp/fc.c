// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Fully connected unit: sixteen products at a time through an adder tree. */
#include <string.h>

#include "ccp.h"
#include "simd.h"
#include "workers.h"

#define LANES		CNNACC_CCP_FC_LANES
#define OUTPUT_NS	10	/* estimated, in addition to its products */
#define PART_OUTPUTS		16	/* outputs, whole vectors of every width */

static void resolve(struct ccp *c)
{
	const uint32_t *g = c->s->group[CCP_FC0];
	struct ccp_fc *p = &c->plan.fc;

	memset(p, 0, sizeof(*p));
	p->relu = g[0] & CNNACC_CCP_R0_RELU;
	p->bias = g[0] & CNNACC_CCP_R0_BIAS;
	p->in = g[1];
	p->out = g[2];
	p->in16 = ccp_div_up(p->in, LANES) * LANES;
	p->in_base = (int32_t)g[3];
	p->out_base = (int32_t)g[4];
	p->weight_base = (int32_t)g[5];
	p->bias_base = (int32_t)g[6];
}

static bool outside(int64_t base, uint64_t len, uint64_t floats)
{
	return base < 0 || len > floats || (uint64_t)base > floats - len;
}

static uint32_t check(struct ccp *c)
{
	struct ccp_fc *p = &c->plan.fc;
	uint64_t weights = (uint64_t)c->weight_floats * CNNACC_CCP_WEIGHT_BANKS;

	resolve(c);
	if (ccp_bits(c->s->group[CCP_FC0][0], 31, 2))
		return CNNACC_CCP_BAD_RESERVED;
	if (!p->in || !p->out)
		return CNNACC_CCP_BAD_LENGTH;
	if (outside(p->in_base, p->in, c->bank_floats))
		return CNNACC_CCP_RANGE_INPUT;
	if (outside(p->out_base, p->out, c->bank_floats))
		return CNNACC_CCP_RANGE_OUTPUT;
	if (outside(p->weight_base, p->out * p->in16, weights))
		return CNNACC_CCP_RANGE_WEIGHT;
	if (p->bias && outside(p->bias_base, p->out, weights))
		return CNNACC_CCP_RANGE_BIAS;
	ccp_work_fc(c);
	return 0;
}

/* Sum of sixteen products: neighbours are added pairwise. */
static inline float tree(const float p[LANES])
{
	float a[LANES / 2], b[LANES / 4];

	for (unsigned int i = 0; i < LANES / 2; i++)
		a[i] = p[2 * i] + p[2 * i + 1];
	for (unsigned int i = 0; i < LANES / 4; i++)
		b[i] = a[2 * i] + a[2 * i + 1];
	return (b[0] + b[1]) + (b[2] + b[3]);
}

static float inner_product(const float *x, const float *w, uint32_t len)
{
	float acc = 0.0f, p[LANES];
	uint32_t i;

	for (i = 0; len - i >= LANES; i += LANES) {
		for (unsigned int j = 0; j < LANES; j++)
			p[j] = x[i + j] * w[i + j];
		acc += tree(p);
	}
	if (i < len) {
		for (unsigned int j = 0; j < LANES; j++)
			p[j] = i + j < len ? x[i + j] * w[i + j] : 0.0f;
		acc += tree(p);
	}
	return acc;
}

static void output(const struct ccp *c, uint32_t o)
{
	const struct ccp_fc *p = &c->plan.fc;
	const float *x = c->data[c->s->sel] + p->in_base;
	float acc = inner_product(x, c->weight + p->weight_base + o * p->in16, p->in);

	if (p->bias)
		acc += c->weight[p->bias_base + (int64_t)o];
	c->data[!c->s->sel][p->out_base + o] = p->relu ? ccp_relu(acc) : ccp_canonical(acc);
}

/** struct chunk - outputs computed in one run of the threads. */
struct chunk {
	const struct ccp *c;
	uint32_t first, count;
	unsigned int parts;
};

static void run_part(void *opaque, unsigned int part, unsigned int thread)
{
	const struct chunk *chunk = opaque;
	uint32_t groups = (chunk->count + PART_OUTPUTS - 1) / PART_OUTPUTS;
	uint32_t first = groups * part / chunk->parts * PART_OUTPUTS;
	uint32_t end = groups * (part + 1) / chunk->parts * PART_OUTPUTS;

	(void)thread;
	if (end > chunk->count)
		end = chunk->count;
	first += chunk->first;
	end += chunk->first;
	first += chunk->c->simd->fc(chunk->c, first, end - first);
	for (; first < end; first++)
		output(chunk->c, first);
}

static int64_t cost(const struct ccp *c, uint32_t count)
{
	return (int64_t)(c->plan.fc.in16 * count * c->simd->mac_ps / 500) + count * OUTPUT_NS;
}

static struct chunk next_chunk(const struct ccp *c, int64_t most_ns)
{
	uint32_t first = (uint32_t)c->s->pos[0];
	struct chunk chunk = { .c = c, .first = first, .count = c->plan.fc.out - first };
	int64_t parts;

	while (chunk.count > PART_OUTPUTS && cost(c, chunk.count) > most_ns)
		chunk.count = (chunk.count / 2 + PART_OUTPUTS - 1) / PART_OUTPUTS * PART_OUTPUTS;
	parts = cost(c, chunk.count) / CM_MIN_PART_NS;
	if (parts > (chunk.count + PART_OUTPUTS - 1) / PART_OUTPUTS)
		parts = (chunk.count + PART_OUTPUTS - 1) / PART_OUTPUTS;
	if (parts > c->resources.threads)
		parts = c->resources.threads;
	chunk.parts = parts > 1 ? (unsigned int)parts : 1;
	return chunk;
}

/* pos[0]: outputs done. */
static bool check_pos(const struct ccp *c)
{
	return c->s->pos[0] < c->plan.fc.out;
}

static bool run(struct ccp *c, int64_t *budget)
{
	while (c->s->pos[0] < c->plan.fc.out) {
		struct chunk chunk = next_chunk(c, ccp_chunk_ns(*budget));

		if (*budget <= 0)
			return false;
		cm_workers_run(c->resources.workers, run_part, &chunk, chunk.parts);
		c->s->pos[0] += chunk.count;
		*budget -= cost(c, chunk.count) / chunk.parts;
	}
	return true;
}

const struct ccp_unit ccp_fc_unit = { check, check_pos, run };
