// SPDX-License-Identifier: MIT
/*
 * kmd_guilty [COUNT [KIND]]: programs that hang, fault, are illegal or run out of cycles, COUNT
 * times each (5).  The guilty context is told what and where, the next job of a bystander ends
 * well, and both soon enough.
 *
 * What hangs is an endless program that makes progress: only the driver's task_limit_ms ends
 * it, which is set for the purpose; the module wants a short watchdog_ms, so that the cycle
 * limit does not come first.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

#define LIMIT_PARAM	"/sys/module/cnnacc/parameters/task_limit_ms"
#define RECOVERY_MAX_S	2.0
#define NOWHERE		0x50000040u
#define FAR_VA		0xe0000000u
#define FAR_SIZE	0x400000u
#define FAR_OFFSET	0x280040u

struct kind {
	const char *name;
	uint32_t (*program)(struct kmd_env *env);
	uint64_t cycle_limit;
	int error;
	uint32_t state;
	uint16_t class, code;
	uint32_t detail, pc, access;
	uint64_t va;
	bool far;		/* in the middle of much other program */
};

static uint32_t program_fault(struct kmd_env *env)
{
	return kmd_program_load(env, NOWHERE / 64, 1);
}

static const struct kind kinds[] = {
	{ "hang", kmd_program_endless, 0, -ETIMEDOUT, DRM_CNNACC_CTX_HANG, .pc = 1 },
	{ "fault", program_fault, 0, -EFAULT, DRM_CNNACC_CTX_FAULT, CNNACC_STATUS_MMU_FAULT,
	  CNNACC_CCP_E_DMA, CNNACC_FAULT_DIR, 3, CNNACC_ACCESS_READ, .va = NOWHERE },
	{ "illegal", kmd_program_illegal, 0, -EINVAL, DRM_CNNACC_CTX_BAD_PROGRAM,
	  CNNACC_STATUS_BAD_PROGRAM, CNNACC_CCP_E_ILLEGAL, .pc = 2 },
	{ "far", kmd_program_illegal, 0, -EINVAL, DRM_CNNACC_CTX_BAD_PROGRAM,
	  CNNACC_STATUS_BAD_PROGRAM, CNNACC_CCP_E_ILLEGAL, .pc = 2, .far = true },
	{ "limit", kmd_program_endless, 100000, -ETIMEDOUT, DRM_CNNACC_CTX_TIME_LIMIT,
	  CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, .pc = 1 },
};

/* Returns the old value. */
static unsigned int set_limit(unsigned int ms)
{
	char text[32] = "";
	int fd = open(LIMIT_PARAM, O_RDWR);
	unsigned int old;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		bail("cannot read " LIMIT_PARAM);
	old = (unsigned int)strtoul(text, NULL, 10);
	if (pwrite(fd, text, (size_t)snprintf(text, sizeof(text), "%u\n", ms), 0) < 0)
		bail("cannot write " LIMIT_PARAM);
	close(fd);
	return old;
}

static bool told(const struct kind *k, const struct kmd_env *env, uint32_t failed)
{
	struct drm_cnnacc_ctx_query q = kmd_ctx_query(env->fd, env->ctx);
	bool good = q.state == k->state && q.failed_jobs == failed && q.seqno == failed &&
		    !q.reset_jobs && q.core == env->core && !q.task &&
		    q.status_class == k->class && q.status_code == k->code &&
		    q.detail == k->detail && q.pc == k->pc && q.access == k->access &&
		    q.fault_va == k->va;

	if (!good)
		note("%s: state 0x%x, %u failed, job %llu, class %u code %u detail %u pc %u "
		     "access %u va 0x%llx", k->name, q.state, q.failed_jobs,
		     (unsigned long long)q.seqno, q.status_class, q.status_code, q.detail, q.pc,
		     q.access, (unsigned long long)q.fault_va);
	return good;
}

/* The program of env also at another place. */
static struct kmd_bo copy_far(struct kmd_env *env, uint32_t length)
{
	struct kmd_bo bo = kmd_bo(env->fd, DRM_CNNACC_BO_PROGRAM, FAR_SIZE);

	if (kmd_map(env->fd, env->ctx, bo.handle, DRM_CNNACC_BIND_EXEC, FAR_VA, FAR_SIZE))
		bail("VM_BIND");
	memcpy((char *)bo.map + FAR_OFFSET, env->program.map, length);
	return bo;
}

static int submit(const struct kind *k, struct kmd_env *env, uint32_t length, uint32_t out)
{
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	struct drm_cnnacc_task task = kmd_task(length);
	struct drm_cnnacc_job job = {
		.core = env->core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
	};

	task.cycle_limit = k->cycle_limit;
	if (k->far)
		task.program_va = FAR_VA + FAR_OFFSET;
	return kmd_submit_jobs(env->fd, env->ctx, &job, 1);
}

static void test_kind(const struct kind *k, int count)
{
	struct kmd_env guilty = kmd_env(kmd_open()), other = kmd_env(kmd_open());
	uint32_t out = kmd_syncobj(guilty.fd), next = kmd_syncobj(other.fd);
	uint32_t length = k->program(&guilty), nop = kmd_program_nop(&other);
	int i, errors = 0, wrong = 0, hurt = 0;
	double worst = 0, sum = 0;
	struct kmd_bo far = { };

	if (k->far)
		far = copy_far(&guilty, length);
	for (i = 0; i < count; i++) {
		double start = kmd_seconds(), took;

		if (submit(k, &guilty, length, out) ||
		    kmd_submit(&other, nop, 0, next))
			bail("SUBMIT");
		errors += kmd_wait(guilty.fd, out) != k->error;
		hurt += kmd_wait(other.fd, next) != 0;
		took = kmd_seconds() - start;
		wrong += !told(k, &guilty, (uint32_t)i + 1);
		sum += took;
		worst = took > worst ? took : worst;
	}
	ok(!errors, "%s: the fence's error, %d times", k->name, count);
	ok(!wrong, "%s: the context is told what and where", k->name);
	ok(!hurt && !kmd_ctx_query(other.fd, other.ctx).state, "%s: a bystander is not hurt",
	   k->name);
	ok(worst < RECOVERY_MAX_S, "%s: and runs again within %.0f s", k->name, RECOVERY_MAX_S);
	note("%s: %.3f s on average, %.3f s at most, from the submit on", k->name, sum / count,
	     worst);
	if (k->far)
		kmd_bo_free(guilty.fd, &far);
	kmd_env_free(&guilty);
	kmd_env_free(&other);
	drmClose(guilty.fd);
	drmClose(other.fd);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 5;
	unsigned int before = set_limit(100);

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (argc < 3 || !strcmp(argv[2], kinds[i].name))
			test_kind(&kinds[i], count);
	set_limit(before);
	return done_testing();
}
