// SPDX-License-Identifier: MIT
/* The golden model of imc against the vectors of the page, as whole jobs; TAP. */
#include <stdio.h>
#include <stdlib.h>

#include "vectors.h"

static struct job job;
static struct image image;

static bool differs(const char *what, uint64_t is, uint64_t should)
{
	if (is != should)
		printf("# %s is %llx, not %llx\n", what, (unsigned long long)is,
		       (unsigned long long)should);
	return is != should;
}

static bool run(unsigned int index, struct golden_result *result)
{
	struct golden_shell shell = { .core.job_cycles_max = INT64_MAX };
	struct golden_imc_params params = imc_vector_params(index);
	struct golden_imc *imc = golden_imc_create(&params);
	struct prng prng = { 1 };

	if (!imc)
		exit(2);
	golden_imc_core(imc, &shell.core);
	shell.bus = image_bus(&image);
	job_begin(&job, &image, &prng);
	imc_vector_build(index, &job);
	golden_shell_run(&shell, &job.packet, result);
	golden_imc_destroy(imc);
	return imc_vector_check(index, &job);
}

static bool test_vector(unsigned int index)
{
	struct golden_status should = imc_vector_status(index);
	struct golden_result result;
	bool good = run(index, &result);
	bool bad = differs("class", result.status.status_class, should.status_class);

	bad |= differs("code", result.status.status_code, should.status_code);
	bad |= differs("detail", result.status.detail, should.detail);
	return good && !bad;
}

int main(void)
{
	unsigned int failures = 0;

	image.bytes = calloc(1, IMAGE_BYTES);
	if (!image.bytes)
		return 2;
	for (unsigned int n = 0; n < imc_vector_count(); n++) {
		bool good = test_vector(n);

		failures += !good;
		printf("%sok %u - %s\n", good ? "" : "not ", n + 1, imc_vector_name(n));
	}
	printf("1..%u\n", imc_vector_count());
	free(image.bytes);
	return failures ? 1 : 0;
}
