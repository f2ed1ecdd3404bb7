/* SPDX-License-Identifier: MIT */
/* Runs programs of the sequencer and of hwpe on the model. */
#ifndef HWPE_FIXTURE_H
#define HWPE_FIXTURE_H

#include "hwpe_code.h"
#include "seq_jobs.h"

#define DATA_VA		0x00400000u
#define DATA_PAGES	16u
#define FMAP		8192u
#define KERNEL		32768u
#define CORES		"hwpe:fmap=8192:kernel=32768:program=4096"

static inline struct core_jobs *hf_new(const struct cm_config *config)
{
	static struct core_jobs f;

	cj_start(&f, CORES, config, (struct cj_range){ DATA_VA, DATA_PAGES * PAGE });
	return &f;
}

static inline int hf_setup(void **state)
{
	const struct cm_config config = { 0 };

	*state = hf_new(&config);
	return 0;
}

#define HT(name)	cmocka_unit_test_setup_teardown(name, hf_setup, cj_teardown)

#endif
