/* SPDX-License-Identifier: MIT */
/* Runs programs of imc on the model. */
#ifndef IMC_FIXTURE_H
#define IMC_FIXTURE_H

#include "imc_code.h"
#include "seq_jobs.h"

#define DATA_VA		0x00400000u
#define DATA_BYTES	0x100000u
/* Where in it operands and results are. */
#define INPUT		0u
#define WEIGHT		0x40000u
#define UNIT		0x80000u
#define BOOT(a)		(16 + ((a)->n + 1) / 2)

static inline struct core_jobs *if_new(const char *cores, const struct cm_config *config)
{
	static struct core_jobs f;

	cj_start(&f, cores, config, (struct cj_range){ DATA_VA, DATA_BYTES });
	return &f;
}

static inline int if_setup_cores(void **state, const char *cores)
{
	const struct cm_config config = { 0 };

	*state = if_new(cores, &config);
	return 0;
}

static inline int if_setup(void **state)
{
	return if_setup_cores(state, "imc");
}

/* Loads @bytes of f->data from @from on into a bank; the memories keep them between jobs. */
static inline void if_load(struct core_jobs *f, unsigned int memory, uint32_t from,
			   uint32_t bytes)
{
	struct sasm a = { .n = 0 };

	sa_load(&a, memory, DATA_VA + from, 0, bytes);
	sa_end(&a);
	sq_ok(f, &a);
}

static inline void if_save(struct core_jobs *f, unsigned int memory, uint32_t to, uint32_t bytes)
{
	struct sasm a = { .n = 0 };

	sa_save(&a, memory, DATA_VA + to, 0, bytes);
	sa_end(&a);
	sq_ok(f, &a);
}

static inline void if_put(struct core_jobs *f, uint32_t at, uint32_t value)
{
	memcpy(f->data + at, &value, sizeof(value));
}

static inline uint32_t if_get(const struct core_jobs *f, uint32_t at)
{
	uint32_t value;

	memcpy(&value, f->data + at, sizeof(value));
	return value;
}

#define IT(name)	cmocka_unit_test_setup_teardown(name, if_setup, cj_teardown)

#endif
