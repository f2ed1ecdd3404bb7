// SPDX-License-Identifier: MIT
#include "core_jobs.h"

#define OTHER_BYTES	(1u << 20)	/* of RAM: page tables, rings, program, statistics */

void cj_start(struct core_jobs *f, const char *cores, const struct cm_config *config,
	      struct cj_range range)
{
	struct cm_config c = *config;
	char err[CM_ERR_LEN];

	assert_int_equal(cm_config_set(&c, "cores", cores, err), 0);
	*f = (struct core_jobs){
		.h = mh_new_config(&c, range.bytes + OTHER_BYTES), .limit = 1 << 26,
	};
	f->space = mh_space_new(f->h, 7);
	mh_map_job(f->h, &f->space);
	f->data = mh_map_new(f->h, &f->space, range.va, range.bytes, RW);
	mh_queue_init(f->h, 0, MH_RING_SIZE, MH_RING_SIZE);
}

bool cj_possible(const struct cm_config *config)
{
	const struct cm_host_ops none = { 0 };
	char err[CM_ERR_LEN];
	struct cm_device *dev = cm_device_create(config, &none, NULL, err);

	cm_device_destroy(dev);
	return dev != NULL;
}

int cj_teardown(void **state)
{
	mh_free(((struct core_jobs *)*state)->h);
	return 0;
}

struct cnnacc_packet cj_packet(struct core_jobs *f, const uint32_t *program, size_t words)
{
	struct cnnacc_packet p = mh_packet(f->h, &f->space, program, words);

	p.flags |= f->flags;
	p.cycle_limit = f->limit;
	return p;
}

void cj_submit(struct core_jobs *f, const uint32_t *program, size_t words)
{
	struct cnnacc_packet p = cj_packet(f, program, words);

	if (mh_qread(f->h, 0, CNNACC_QREG_STATE) == CNNACC_QSTATE_HALTED)
		mh_core_reset(f->h, 0);
	mh_submit(f->h, 0, &p);
}

bool cj_done(struct core_jobs *f)
{
	if (!mh_completion(f->h, 0, &f->done))
		return false;
	memcpy(&f->stats, mh_ptr(f->h, CNNACC_PTE_BUS(*mh_pte(f->h, &f->space, MH_STATS_VA))),
	       sizeof(f->stats));
	return true;
}

void cj_run(struct core_jobs *f, const uint32_t *program, size_t words)
{
	cj_submit(f, program, words);
	mh_work(f->h, 0);
	assert_true(cj_done(f));
}

uint32_t cj_reg(struct core_jobs *f, uint32_t reg)
{
	return mh_wread(f->h, 0, reg);
}

uint64_t cj_counter(struct core_jobs *f, uint32_t reg)
{
	return cj_reg(f, reg) | (uint64_t)cj_reg(f, reg + 4) << 32;
}
