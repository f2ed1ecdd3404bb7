/* SPDX-License-Identifier: MIT */
/* Runs programs of the sequencer on the model. */
#ifndef SEQ_JOBS_H
#define SEQ_JOBS_H

#include "core_jobs.h"
#include "seq_code.h"

static inline size_t sq_words(const struct sasm *a)
{
	return a->n * sizeof(a->c[0]) / 4;
}

static inline void sq_submit(struct core_jobs *f, const struct sasm *a)
{
	cj_submit(f, (const uint32_t *)a->c, sq_words(a));
}

static inline void sq_run(struct core_jobs *f, const struct sasm *a)
{
	cj_run(f, (const uint32_t *)a->c, sq_words(a));
}

static inline void sq_ok(struct core_jobs *f, const struct sasm *a)
{
	sq_run(f, a);
	assert_int_equal(f->done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(f->done.status_code, 0);
	assert_int_equal(f->done.fault_va, 0);
	assert_int_equal(f->done.pc, a->n - 1);
}

#define sq_fails(f, a, status_class_, code, pc_, detail_) do { \
	sq_run(f, a); \
	assert_int_equal((f)->done.status_class, status_class_); \
	assert_int_equal((f)->done.status_code, code); \
	assert_int_equal((f)->done.pc, pc_); \
	assert_int_equal((f)->done.detail, detail_); \
} while (0)

#define sq_bad(f, a, code, pc, detail) \
	sq_fails(f, a, CNNACC_STATUS_BAD_PROGRAM, code, pc, detail)

#endif
