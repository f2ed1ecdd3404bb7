// SPDX-License-Identifier: MIT
/*
 * Results depend neither on the replacement scheme nor on the sizes of the areas: the same
 * random layer under both schemes, with other tables, thresholds and areas; TAP.
 */
#include <stdio.h>
#include <stdlib.h>

#include "gen.h"

#define LAYERS	400

static const struct golden_gcu_params builds[] = {
	{ 8, 8, 16, 512, 4, 512, 64, 65536, false },
	{ 4, 4, 4, 8, 2, 16, 16, 4096, false },
	{ 16, 8, 7, 48, 3, 48, 32, 65536, true },
	{ 4, 32, 32, 1024, 8, 64, 8, 65536, true },
};

#define BUILDS	(sizeof(builds) / sizeof(builds[0]))

static uint64_t element_va(const struct golden_gcu_layer *l, int64_t atomic_c, int64_t k)
{
	return l->ofmap.va + k / atomic_c * l->ofmap.group + k % atomic_c * l->out_bytes;
}

/* Do the ofmaps of two layers hold the same? */
static bool same(struct job *job, int64_t atomic_c, const struct golden_gcu_layer *a,
		 const struct golden_gcu_layer *b)
{
	for (int64_t k = 0; k < a->k; k++)
		for (int64_t h = 0; h < a->ofmh; h++)
			for (int64_t w = 0; w < a->ofmw; w++) {
				uint64_t at = h * a->ofmap.row + w * a->ofmap.column;

				for (int64_t n = 0; n < a->out_bytes; n++)
					if (*space_at(&job->space,
						      element_va(a, atomic_c, k) + at + n) !=
					    *space_at(&job->space,
						      element_va(b, atomic_c, k) + at + n))
						return false;
			}
	return true;
}

static void explain(struct job *job, const struct golden_status *status)
{
	printf("# class %u code %u pc %u detail %u\n", status->status_class, status->status_code,
	       status->pc, status->detail);
	gcu_print(stdout, &job->program, 0);
}

static bool test_layer(struct golden_shell *shell, const struct golden_gcu_params *params,
		       struct job *job, uint64_t seed)
{
	static struct gen_gcu gen;
	unsigned int layers = gen_gcu_schemes(&gen, seed, params, job, shell->bus.opaque);
	struct golden_result result;
	bool good;

	golden_shell_run(shell, &job->packet, &result);
	good = result.status.status_class == CNNACC_STATUS_OK;
	for (unsigned int n = 1; n < layers && good; n++)
		good = same(job, params->atomic_c, &gen.layer[0], &gen.layer[n]);
	if (!good)
		explain(job, &result.status);
	return good;
}

static bool test_build(const struct golden_gcu_params *params, struct job *job,
		       struct image *image)
{
	struct golden_shell shell = { .core.job_cycles_max = INT64_MAX };
	struct golden_gcu *gcu = golden_gcu_create(params);
	bool good = true;

	if (!gcu)
		exit(2);
	golden_gcu_core(gcu, &shell.core);
	shell.bus = image_bus(image);
	for (uint64_t seed = 1; seed <= LAYERS && good; seed++)
		good = test_layer(&shell, params, job, seed * BUILDS);
	golden_gcu_destroy(gcu);
	return good;
}

int main(void)
{
	struct job *job = calloc(1, sizeof(*job));
	struct image image = { .bytes = calloc(1, IMAGE_BYTES) };
	unsigned int failures = 0;

	if (!job || !image.bytes)
		return 2;
	printf("1..%u\n", (unsigned int)BUILDS);
	for (unsigned int n = 0; n < BUILDS; n++) {
		bool good = test_build(&builds[n], job, &image);

		failures += !good;
		printf("%sok %u - %u layers, ATOMIC_C %u, ATOMIC_K %u\n", good ? "" : "not ",
		       n + 1, LAYERS, builds[n].atomic_c, builds[n].atomic_k);
	}
	free(job);
	free(image.bytes);
	return failures ? 1 : 0;
}
