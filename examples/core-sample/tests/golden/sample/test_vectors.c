// SPDX-License-Identifier: MIT
/* The golden model of sample against known results; TAP. */
#include <stdio.h>
#include <stdlib.h>

#include "sample.h"
#include "vectors.h"

static bool run(unsigned int i, struct golden_shell *shell, struct job *job)
{
	struct prng prng = { i };
	struct golden_result result;

	golden_shell_reset(shell);
	job_begin(job, shell->bus.opaque, &prng);
	sample_vector_build(i, job);
	golden_shell_run(shell, &job->packet, &result);
	return result.status.status_class == CNNACC_STATUS_OK && sample_vector_check(i, job);
}

int main(void)
{
	static const struct golden_sample_params params = {
		CNNACC_SAMPLE_BANK_DEFAULT, CNNACC_SAMPLE_PROGRAM_DEFAULT,
	};
	struct golden_shell shell = { .core.job_cycles_max = INT64_MAX };
	struct golden_sample *sample = golden_sample_create(&params);
	struct job *job = calloc(1, sizeof(*job));
	struct image image = { .bytes = calloc(1, IMAGE_BYTES) };
	unsigned int failures = 0;

	if (!sample || !job || !image.bytes)
		return 2;
	golden_sample_core(sample, &shell.core);
	shell.bus = image_bus(&image);
	printf("1..%u\n", sample_vector_count());
	for (unsigned int i = 0; i < sample_vector_count(); i++) {
		bool good = run(i, &shell, job);

		failures += !good;
		printf("%sok %u - %s\n", good ? "" : "not ", i + 1, sample_vector_name(i));
	}
	golden_sample_destroy(sample);
	free(job);
	free(image.bytes);
	return failures ? 1 : 0;
}
