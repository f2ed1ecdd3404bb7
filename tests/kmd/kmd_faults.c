// SPDX-License-Identifier: MIT
/*
 * Programs that fault, are illegal or never end: CTX_QUERY reports what failed and where, the next
 * job of another process gives correct results, and no data of one context is visible to another.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

struct wanted {
	int error;
	uint32_t state;
	uint16_t class, code;
	uint32_t detail, pc, access;
	uint64_t va;
};

static struct kmd_env env;

/* The next job of another file must succeed after any failure. */
static void check_other(const char *name)
{
	struct kmd_env other = kmd_env(kmd_open());
	uint32_t *words = other.data.map;

	words[0] = 0xc0ffee;
	ok(!kmd_run(&other, kmd_program_copy(&other, KMD_DATA_VA, KMD_DATA_VA + 8192, 1)) &&
	   words[2048] == 0xc0ffee, "%s: the next job of another file is right", name);
	ok(!kmd_ctx_query(other.fd, other.ctx).state, "%s: and its context is healthy", name);
	kmd_env_free(&other);
	drmClose(other.fd);
}

static void check(const char *name, uint32_t length, uint64_t limit, struct wanted w)
{
	struct drm_cnnacc_ctx_query before = kmd_ctx_query(env.fd, env.ctx), q;

	ok_ret(kmd_run_limited(&env, length, limit), w.error, "%s: fence error", name);
	q = kmd_ctx_query(env.fd, env.ctx);
	ok(q.state & w.state, "%s: state", name);
	ok(q.failed_jobs == before.failed_jobs + 1 && q.seqno > before.seqno && !q.reset_jobs,
	   "%s: counted", name);
	if (!ok(q.status_class == w.class && q.status_code == w.code, "%s: class and code", name))
		note("class %u code %u", q.status_class, q.status_code);
	if (!ok(q.detail == w.detail && q.access == w.access, "%s: detail and access", name))
		note("detail %u access %u", q.detail, q.access);
	if (!ok(q.pc == w.pc && q.fault_va == w.va, "%s: program counter and address", name))
		note("pc %u va %#llx", q.pc, (unsigned long long)q.fault_va);
	ok(q.core == env.core && q.task == 0, "%s: core and task", name);
	check_other(name);
}

static void check_fault(const char *name, uint32_t length, uint32_t access, uint32_t detail,
			uint64_t va)
{
	check(name, length, 0, (struct wanted){
		-EFAULT, DRM_CNNACC_CTX_FAULT, CNNACC_STATUS_MMU_FAULT, env.programs->dma_code,
		detail, env.programs->dma_pc, access, va });
}

static void test_mmu(void)
{
	struct kmd_bo weights = kmd_bo(env.fd, DRM_CNNACC_BO_WEIGHT, 4096);
	struct kmd_bo blind = kmd_bo(env.fd, DRM_CNNACC_BO_DATA, 4096);
	struct kmd_bo last = kmd_bo(env.fd, DRM_CNNACC_BO_DATA, 4096);
	const uint32_t ro = 0x20000000, wo = 0x30000000, end = 0xfffff000;

	kmd_map(env.fd, env.vm, weights.handle, DRM_CNNACC_BIND_READ, ro, 4096);
	kmd_map(env.fd, env.vm, blind.handle, DRM_CNNACC_BIND_WRITE, wo, 4096);
	kmd_map(env.fd, env.vm, last.handle, DRM_CNNACC_BIND_READ, end, 4096);

	check_fault("read of nothing", kmd_program_load(&env, 0x50000040 / 64, 1),
		    CNNACC_ACCESS_READ, CNNACC_FAULT_DIR, 0x50000040);
	check_fault("read past a mapping",
		    kmd_program_load(&env, (KMD_DATA_VA + env.data.size - 64) / 64, 2),
		    CNNACC_ACCESS_READ, CNNACC_FAULT_PAGE, KMD_DATA_VA + env.data.size);
	check_fault("write of weights", kmd_program_store(&env, ro / 64 + 1, 1),
		    CNNACC_ACCESS_WRITE, CNNACC_FAULT_PERM, ro + 64);
	check_fault("read of write-only data", kmd_program_load(&env, wo / 64, 1),
		    CNNACC_ACCESS_READ, CNNACC_FAULT_PERM, wo);
	check_fault("write of the program", kmd_program_store(&env, KMD_PROGRAM_VA / 64, 1),
		    CNNACC_ACCESS_WRITE, CNNACC_FAULT_PERM, KMD_PROGRAM_VA);
	check_fault("read beyond 4 GiB", kmd_program_load(&env, end / 64, 65),
		    CNNACC_ACCESS_READ, CNNACC_FAULT_BEYOND, 0x100000000);
	kmd_bo_free(env.fd, &weights);
	kmd_bo_free(env.fd, &blind);
	kmd_bo_free(env.fd, &last);
}

static void test_unmapped(void)
{
	struct kmd_bo bo = kmd_bo(env.fd, DRM_CNNACC_BO_DATA, 4096);

	kmd_map(env.fd, env.vm, bo.handle, DRM_CNNACC_BIND_READ, 0x60000000, 4096);
	ok_ret(kmd_run(&env, kmd_program_load(&env, 0x60000000 / 64, 1)), 0, "a mapping works");
	kmd_unmap(env.fd, env.vm, 0x60000000, 4096);
	check_fault("read of what was unmapped", kmd_program_load(&env, 0x60000000 / 64, 1),
		    CNNACC_ACCESS_READ, CNNACC_FAULT_PAGE, 0x60000000);
	kmd_bo_free(env.fd, &bo);
}

static void test_fetch(void)
{
	struct drm_cnnacc_ctx_query q;
	struct drm_cnnacc_task task = { .program_va = KMD_DATA_VA, .program_len = 4 };
	uint32_t out = kmd_syncobj(env.fd);
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	struct drm_cnnacc_job job = {
		.core = env.core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
	};

	kmd_submit_jobs(env.fd, env.ctx, &job, 1);
	ok_ret(kmd_wait(env.fd, out), -EFAULT, "execution of data: fence error");
	q = kmd_ctx_query(env.fd, env.ctx);
	ok(q.status_class == CNNACC_STATUS_MMU_FAULT && q.status_code == CNNACC_CODE_FETCH &&
	   q.access == CNNACC_ACCESS_EXEC && q.detail == CNNACC_FAULT_PERM &&
	   q.fault_va == KMD_DATA_VA, "execution of data: what and where");

	task = kmd_task(kmd_program_nop(&env));
	task.flags = DRM_CNNACC_TASK_STATS;
	task.stats_va = 0x70000000;
	kmd_submit_jobs(env.fd, env.ctx, &job, 1);
	ok_ret(kmd_wait(env.fd, out), -EFAULT, "statistics to nowhere: fence error");
	q = kmd_ctx_query(env.fd, env.ctx);
	ok(q.status_class == CNNACC_STATUS_MMU_FAULT && q.status_code == CNNACC_CODE_STATS &&
	   q.access == CNNACC_ACCESS_WRITE && q.fault_va == 0x70000000,
	   "statistics to nowhere: what and where");
	check_other("statistics to nowhere");
	drmSyncobjDestroy(env.fd, out);
}

/* A store from the caches after another context's load must read zeros. */
static void test_residue(void)
{
	struct kmd_env other = kmd_env(kmd_open());
	uint8_t *secret = env.data.map, *spy = other.data.map;
	size_t i;

	memset(secret, 0xa5, 8192);
	memset(spy, 0xff, 8192);
	ok_ret(kmd_run(&env, kmd_program_load(&env, KMD_DATA_VA / 64, 128)), 0,
	       "residue: one context fills the cache");
	ok_ret(kmd_run(&other, kmd_program_store(&other, KMD_DATA_VA / 64, 128)), 0,
	       "residue: another stores it");
	for (i = 0; i < 8192 && !spy[i]; i++)
		;
	ok(i == 8192, "residue: and gets zeros");
	kmd_env_free(&other);
	drmClose(other.fd);
}

/* Also if the other context is destroyed and its id and tables are reused. */
static void test_old_residue(void)
{
	int fd = kmd_open(), round, ret = 0;
	bool clean = true;

	for (round = 0; round < 30 && !ret; round++) {
		struct kmd_env one = kmd_env(fd);
		uint8_t *data;
		size_t i;

		memset(one.data.map, 0xa5, 8192);
		ret = kmd_run(&one, kmd_program_load(&one, KMD_DATA_VA / 64, 128));
		kmd_env_free(&one);
		usleep(5000);
		one = kmd_env(fd);
		data = one.data.map;
		memset(data, 0xff, 8192);
		if (!ret)
			ret = kmd_run(&one, kmd_program_store(&one, KMD_DATA_VA / 64, 128));
		for (i = 0; i < 8192; i++)
			clean &= !data[i];
		kmd_env_free(&one);
		usleep(5000);
	}
	ok_ret(ret, 0, "residue: contexts that follow one another");
	ok(clean, "residue: find nothing of the one before");
	drmClose(fd);
}

int main(void)
{
	env = kmd_env(kmd_open());
	test_mmu();
	test_unmapped();
	test_fetch();
	check("illegal instruction", kmd_program_illegal(&env), 0, (struct wanted){
		-EINVAL, DRM_CNNACC_CTX_BAD_PROGRAM, CNNACC_STATUS_BAD_PROGRAM,
		env.programs->illegal_code, 0, KMD_ILLEGAL_PC, 0, 0 });
	check("endless program", kmd_program_endless(&env), 100000, (struct wanted){
		-ETIMEDOUT, DRM_CNNACC_CTX_TIME_LIMIT, CNNACC_STATUS_TIME_LIMIT,
		CNNACC_CODE_TIME_LIMIT, 0, env.programs->endless_pc, 0, 0 });
	test_residue();
	test_old_residue();
	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "the context that failed goes on");
	kmd_env_free(&env);
	return done_testing();
}
