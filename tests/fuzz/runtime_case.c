// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime_case.h"

const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:detect_leaks=1:hard_rss_limit_mb=4096";
}

static uint64_t seed = 88172645463325252u;

uint32_t fuzz_number(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 32) % below;
}

int fuzz_fill_and_run(struct cnnrt_job *job, const struct cnnrt_program *p,
		      struct cnnrt_error *err)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	void *mem;
	int ret = CNNRT_OK;

	for (unsigned int i = 0; i < cnnrt_program_io_count(p, CNNRT_INPUT) && !ret; i++) {
		ret = cnnrt_job_map(job, CNNRT_INPUT, i, &info, &mem, err);
		for (size_t b = 0; !ret && b < info.size; b++)
			((uint8_t *)mem)[b] = (uint8_t)(b * 5) & 0x3f;
	}
	if (!ret)
		ret = cnnrt_job_submit(job, -1, NULL, err);
	return ret ? ret : cnnrt_job_wait(job, -1, err);
}

bool fuzz_read(const char *path, uint8_t **bytes, uint8_t **copy, size_t *size)
{
	FILE *f = fopen(path, "rb");
	long length = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
	bool ok = false;

	if (length > 0) {
		rewind(f);
		*size = (size_t)length;
		*bytes = malloc(*size);
		*copy = malloc(*size);
		ok = *bytes && *copy && fread(*bytes, 1, *size, f) == *size;
		if (ok)
			memcpy(*copy, *bytes, *size);
	}
	if (f)
		fclose(f);
	return ok;
}
