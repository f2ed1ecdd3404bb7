// SPDX-License-Identifier: MIT
/*
 * imc-reuse: what core imc counts for layers in INT8 on the default build, a layer at a time as one
 * plane, or as one for each phase of its stride.  Reads lines
 *
 *   N W H CIN COUT STRIDE	kernel, columns and rows of the padded input
 *
 * and prints, for partial and for full reuse, a line
 *
 *   ELEMENTS WEIGHTS STORES FIFO CLOCKS GROUPS PASSES
 *
 * ELEMENTS and WEIGHTS are components read, STORES row results, FIFO the entries that all active
 * FIFOs need together.  These are the formulas that test_claims.c checks against the clocks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "script.h"
#include "state.h"
#include "../min_max.h"

/** struct layer - a line of the input. */
struct layer {
	int64_t n, w, h, cin, cout, stride;
};

/** struct reuse - a line of the output. */
struct reuse {
	uint64_t elements, weights, stores, fifo, clocks;
	int64_t groups, passes;
};

static int64_t ceil_div(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

static void add_plane(const struct golden_imc *imc, const struct imc_plane *p, struct reuse *r)
{
	struct imc_cost cost = imc_cost(imc, p);
	uint64_t csus = min64(p->cout, p->group_channels) * (p->full ? p->n : 1);

	r->elements += cost.count[IMC_ELEMENT_READS] / p->passes * p->cin;
	r->weights += cost.useful;
	r->stores += cost.count[IMC_OUTPUTS];
	r->fifo = max64(r->fifo, csus * p->n);
	r->clocks += cost.count[IMC_CLOCKS];
	r->groups = p->groups;
	r->passes = p->passes;
}

/* The plane of phase (a, b); false if it has no tap. */
static bool phase(const struct layer *l, int64_t a, int64_t b, struct imc_setup *s)
{
	int64_t wo = (l->w - l->n) / l->stride + 1, ho = (l->h - l->n) / l->stride + 1;

	if (a >= l->n || b >= l->n)
		return false;
	s->n = max64(ceil_div(l->n - a, l->stride), ceil_div(l->n - b, l->stride));
	s->w = wo + s->n - 1;
	s->h = ho + s->n - 1;
	return true;
}

static struct reuse reuse_of(const struct golden_imc *imc, const struct layer *l, bool full)
{
	struct imc_setup s = { .full = full, .cin = l->cin, .cout = l->cout };
	struct reuse r = { 0 };

	for (int64_t i = 0; i < l->stride * l->stride; i++) {
		const uint32_t conv[4] = { i ? CNNACC_IMC_CONV_ACCUMULATE : 0 };
		struct imc_plane p;
		uint32_t words[6];

		if (!phase(l, i / l->stride, i % l->stride, &s))
			continue;
		imc_setup_words(&s, words);
		p = imc_decode(&imc->params, words, conv);
		add_plane(imc, &p, &r);
	}
	return r;
}

static void print_reuse(const struct reuse *r)
{
	printf("%llu %llu %llu %llu %llu %lld %lld\n", (unsigned long long)r->elements,
	       (unsigned long long)r->weights, (unsigned long long)r->stores,
	       (unsigned long long)r->fifo, (unsigned long long)r->clocks, (long long)r->groups,
	       (long long)r->passes);
}

int main(void)
{
	const struct golden_imc_params params = {
		CNNACC_IMC_CIN_MAX_DEFAULT, CNNACC_IMC_CSUS_DEFAULT, CNNACC_IMC_N_DEFAULT, true,
		true, CNNACC_IMC_INPUT_DEFAULT, CNNACC_IMC_WEIGHT_DEFAULT, CNNACC_IMC_UNIT_DEFAULT,
		CNNACC_IMC_PORT_DEFAULT, CNNACC_IMC_PROGRAM_DEFAULT,
	};
	struct golden_imc *imc = golden_imc_create(&params);
	long long n, w, h, cin, cout, stride;

	if (!imc)
		return 1;
	while (scanf("%lld%lld%lld%lld%lld%lld", &n, &w, &h, &cin, &cout, &stride) == 6) {
		const struct layer l = { n, w, h, cin, cout, stride };

		for (unsigned int full = 0; full < 2; full++) {
			struct reuse r = reuse_of(imc, &l, full);

			print_reuse(&r);
		}
	}
	golden_imc_destroy(imc);
	return 0;
}
