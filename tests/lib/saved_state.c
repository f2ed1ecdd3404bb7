// SPDX-License-Identifier: MIT
#include "saved_state.h"

#define SAVED_SUM	16	/* offset of the checksum */
#define REGS_MAX	1024u	/* of a window */

/* Sets the checksum that the format documents. */
static void set_sum(struct saved_job *j)
{
	const char *p = j->state + SAVED_SUMMED;
	uint64_t sum = 0xcbf29ce484222325u, word;
	size_t len = j->state_bytes - SAVED_SUMMED;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		sum = (sum ^ word) * 0x100000001b3u;
		sum ^= sum >> 32;
	}
	assert_int_equal(len, 0);
	memcpy(j->state + SAVED_SUM, &sum, 8);
}

void sj_start(struct saved_job *j)
{
	j->state_bytes = cm_device_state_size(j->f.h->dev);
	j->state = malloc(j->state_bytes);
	assert_non_null(j->state);
}

int sj_teardown(void **state)
{
	struct saved_job *j = *state;

	free(j->state);
	mh_free(j->f.h);
	return 0;
}

bool sj_run(struct saved_job *j, unsigned int steps)
{
	bool more = true;

	mh_core_reset(j->f.h, 0);
	memset(j->out, 0, j->out_bytes);
	mh_submit(j->f.h, 0, &j->packet);
	for (unsigned int i = 0; more && i < steps; i++)
		more = mh_work_once(j->f.h, 0, 1);
	return more;
}

void sj_save(struct saved_job *j)
{
	cm_device_save(j->f.h->dev, j->state);
}

void sj_save_after(struct saved_job *j, unsigned int steps)
{
	sj_run(j, steps);
	sj_save(j);
}

/* A refusal has a message of one line. */
static int load(struct saved_job *j, char err[CM_ERR_LEN])
{
	int ret;

	err[0] = 0;
	ret = cm_device_load(j->f.h->dev, j->state, j->state_bytes, err);
	assert_true(ret == 0 || (ret == -1 && err[0] && !strchr(err, '\n')));
	return ret;
}

int sj_load(struct saved_job *j)
{
	char err[CM_ERR_LEN];

	return load(j, err);
}

void sj_move(struct saved_job *j)
{
	sj_save(j);
	mh_replace_device(j->f.h, j->cores);
	assert_int_equal(sj_load(j), 0);
}

/* Without the times in the record, which differ from run to run. */
uint32_t sj_finish(struct saved_job *j)
{
	struct core_jobs *f = &j->f;
	uint32_t regs[REGS_MAX];

	mh_work(f->h, 0);
	assert_true(cj_done(f));
	assert_int_equal(f->done.status_class, CNNACC_STATUS_OK);
	f->done.start_ns = 0;
	f->done.end_ns = 0;
	assert_true(j->regs <= REGS_MAX);
	for (uint32_t i = 0; i < j->regs; i++)
		regs[i] = cj_reg(f, 4 * i);
	return mh_crc32(&f->done, sizeof(f->done)) ^ mh_crc32(&f->stats, sizeof(f->stats)) ^
	       mh_crc32(regs, j->regs * sizeof(regs[0])) ^ mh_crc32(j->out, j->out_bytes);
}

/* ---- altered states ---- */

void sj_refused(struct saved_job *j, const char *says)
{
	char err[CM_ERR_LEN];

	set_sum(j);
	assert_int_equal(load(j, err), -1);
	assert_non_null(strstr(err, says));
}

static void mutate(char *word, uint64_t *seed)
{
	static const uint32_t values[] = {
		0, 1, 2, 3, 4, 5, 7, 8, 11, 12, 64, 0xff, 0x100, 0xffff, 0x10000, 0x7fffffff,
		0x80000000, 0xfffffffe, 0xffffffff,
	};
	uint32_t value = mh_random(seed);

	if (mh_random(seed) % 4)
		value = values[mh_random(seed) % ELEMENTS(values)];
	memcpy(word, &value, 4);
}

/* False: the state was refused. */
static bool runs_without_harm(struct saved_job *j)
{
	struct model_host *h = j->f.h;

	if (sj_load(j))
		return false;
	for (unsigned int i = 0; i < 60 && mh_work_once(h, 0, 20000); i++)
		mh_qwrite(h, 0, CNNACC_QREG_EVENT_ACK, 1);
	for (unsigned int core = 1; core < cm_device_core_count(h->dev); core++)
		mh_work_once(h, core, 20000);
	sj_save(j);
	assert_int_equal(sj_load(j), 0);
	return true;
}

unsigned int sj_forge(struct saved_job *j, unsigned int count, size_t (*place)(uint64_t *seed),
		      uint64_t *seed)
{
	char *good = malloc(j->state_bytes);
	unsigned int taken = 0;

	assert_non_null(good);
	memcpy(good, j->state, j->state_bytes);
	for (unsigned int i = 0; i < count; i++) {
		memcpy(j->state, good, j->state_bytes);
		for (unsigned int k = 0; k <= i % 3; k++)
			mutate(j->state + place(seed), seed);
		set_sum(j);
		taken += runs_without_harm(j);
	}
	free(good);
	mh_replace_device(j->f.h, j->cores);
	return taken;
}

unsigned int sj_forge_after(struct saved_job *j, const unsigned int *steps, size_t count,
			    size_t (*place)(uint64_t *seed))
{
	unsigned int taken = 0;
	uint64_t seed = 1;

	for (size_t i = 0; i < count; i++) {
		sj_save_after(j, steps[i]);
		taken += sj_forge(j, 4000 / (unsigned int)count, place, &seed);
	}
	return taken;
}

/* ---- tests ---- */

/* At many steps of a job: a new device goes on from the saved state to the same end. */
void test_save_everywhere(void **state)
{
	struct saved_job *j = *state;
	unsigned int at;
	uint32_t end;

	sj_run(j, 0);
	end = sj_finish(j);
	for (at = 0; sj_run(j, at); at += j->stride) {
		sj_move(j);
		assert_int_equal(sj_finish(j), end);
	}
	assert_true(at > j->steps);
}

/* Steps of any length, and nothing else, give the same end. */
void test_budgets(void **state)
{
	struct saved_job *j = *state;
	uint64_t seed = 3;
	uint32_t end;

	sj_run(j, 0);
	end = sj_finish(j);
	for (unsigned int i = 0; i < 50; i++) {
		sj_run(j, 0);
		while (mh_work_once(j->f.h, 0, 1 + mh_random(&seed) % 20000))
			;
		assert_int_equal(sj_finish(j), end);
	}
}
