// SPDX-License-Identifier: MIT
/*
 * Contexts cannot read or write memory of others or of the kernel, by loads and stores of a
 * program, by its fetch or by its statistics record, and find no data of others in a core.
 *
 * kmd_isolation	all of these tests
 * kmd_isolation rogue	makes the device access memory that is not mapped for it; only for machines
 *			with an IOMMU, as the access would succeed without one
 * kmd_isolation stale	makes the device, with fault-injection=dma-stale, write to memory
 *			after it was unmapped; likewise
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include <cnnacc_ccp.h>

#include "kmd.h"

#define R	DRM_CNNACC_BIND_READ
#define W	DRM_CNNACC_BIND_WRITE
#define X	DRM_CNNACC_BIND_EXEC
#define VA	0x20000000u
#define PAGE	CNNACC_PAGE_SIZE
#define LINES	1024		/* of a weight bank, and the data of an env */
#define PATTERN	0x3f800000u	/* 1.0f */
#define STALE_ROUNDS	3

static struct kmd_env mine, other;

static uint32_t put(struct kmd_env *env, const uint32_t *words, size_t size)
{
	memcpy(env->program.map, words, size);
	return size;
}

/* A kind of access to memory: the permission that it needs, and how to make it at an address. */
struct path {
	const char *name;
	uint32_t needs, access;
	int target;	/* of LOAD or STORE, else -1 */
};

static const struct path paths[] = {
	{ "fetch", X, CNNACC_ACCESS_EXEC, -1 },
	{ "LOAD instruction cache", X, CNNACC_ACCESS_EXEC, CNNACC_CCP_TGT_ICACHE },
	{ "LOAD read bank", R, CNNACC_ACCESS_READ, CNNACC_CCP_TGT_READ_BANK },
	{ "LOAD write bank", R, CNNACC_ACCESS_READ, CNNACC_CCP_TGT_WRITE_BANK },
	{ "LOAD weights 0", R, CNNACC_ACCESS_READ, CNNACC_CCP_TGT_WEIGHT0 },
	{ "LOAD weights 1", R, CNNACC_ACCESS_READ, CNNACC_CCP_TGT_WEIGHT0 + 1 },
	{ "LOAD weights 2", R, CNNACC_ACCESS_READ, CNNACC_CCP_TGT_WEIGHT0 + 2 },
	{ "LOAD weights 3", R, CNNACC_ACCESS_READ, CNNACC_CCP_TGT_WEIGHT0 + 3 },
	{ "STORE read bank", W, CNNACC_ACCESS_WRITE, CNNACC_CCP_TGT_READ_BANK },
	{ "STORE write bank", W, CNNACC_ACCESS_WRITE, CNNACC_CCP_TGT_WRITE_BANK },
	{ "statistics", W, CNNACC_ACCESS_WRITE, -1 },
};

/* Lines behind the program, so that a LOAD does not overwrite the running code. */
#define FREE_LINE	64

static uint32_t move_program(struct kmd_env *env, const struct path *path, uint32_t va)
{
	const uint32_t move = path->needs == W ?
		CNNACC_CCP_INSN_STORE(0, 1, 2, path->target) :
		CNNACC_CCP_INSN_LOAD(0, 1, 2, path->target);
	const uint32_t words[] = {
		CNNACC_CCP_INSN_LDI(0, va / 64), CNNACC_CCP_INSN_LDIH(0, va / 64 >> 16),
		CNNACC_CCP_INSN_LDI(1, 1), CNNACC_CCP_INSN_LDI(2, FREE_LINE), move,
		CNNACC_CCP_INSN_NOP,
	};

	return put(env, words, sizeof(words));
}

/* Returns the fence error. */
static int try_path(struct kmd_env *env, const struct path *path, uint32_t va)
{
	struct drm_cnnacc_task task;
	uint32_t out = kmd_syncobj(env->fd);
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	struct drm_cnnacc_job job = {
		.core = env->core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
	};
	int ret;

	if (path->target >= 0) {
		task = kmd_task(move_program(env, path, va));
	} else if (path->needs == X) {
		task = kmd_task(4);
		task.program_va = va;
	} else {
		task = kmd_task(kmd_program_nop(env));
		task.flags = DRM_CNNACC_TASK_STATS;
		task.stats_va = va;
	}
	ret = kmd_submit_jobs(env->fd, env->ctx, &job, 1);
	if (!ret)
		ret = kmd_wait(env->fd, out);
	drmSyncobjDestroy(env->fd, out);
	return ret;
}

/* The access is denied and reported. */
static bool denied(struct kmd_env *env, const struct path *path, uint32_t va)
{
	struct drm_cnnacc_ctx_query q;
	int ret = try_path(env, path, va);

	q = kmd_ctx_query(env->fd, env->ctx);
	if (ret == -EFAULT && q.state & DRM_CNNACC_CTX_FAULT && q.fault_va == va &&
	    q.status_class == CNNACC_STATUS_MMU_FAULT && q.access == path->access)
		return true;
	note("%s at %#x: %d, class %u, access %u, fault at %#llx", path->name, va, ret,
	     q.status_class, q.access, (unsigned long long)q.fault_va);
	return false;
}

static bool all_denied(struct kmd_env *env, uint32_t va)
{
	bool good = true;
	size_t i;

	for (i = 0; i < ARRAY_LEN(paths); i++)
		good &= denied(env, &paths[i], va);
	return good;
}

/* A buffer with a use that allows @needs, mapped there. */
static struct kmd_bo bind_bo(struct kmd_env *env, uint32_t flags, uint64_t size)
{
	struct kmd_bo bo = kmd_bo(env->fd, flags == X ? DRM_CNNACC_BO_PROGRAM :
				  DRM_CNNACC_BO_DATA, size);

	if (kmd_map(env->fd, env->vm, bo.handle, flags, VA, size))
		bail("VM_BIND");
	return bo;
}

static void unbind_bo(struct kmd_env *env, struct kmd_bo *bo)
{
	if (kmd_unmap(env->fd, env->vm, VA, bo->size))
		bail("VM_BIND");
	kmd_bo_free(env->fd, bo);
}

static bool filled(const uint32_t *words, size_t count, uint32_t value)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (words[i] != value)
			return false;
	return true;
}

static void fill(uint32_t *words, size_t count, uint32_t value)
{
	while (count--)
		*words++ = value;
}

/* Addresses that are mapped in the other context only. */
static void test_others(void)
{
	struct kmd_bo data = bind_bo(&other, R | W, PAGE), code;

	fill(data.map, PAGE / 4, PATTERN);
	ok(all_denied(&mine, VA), "no path leads to the data of another context");
	ok(filled(data.map, PAGE / 4, PATTERN), "which is as it was");
	unbind_bo(&other, &data);
	code = bind_bo(&other, X, PAGE);
	ok(all_denied(&mine, VA), "nor to its programs");
	unbind_bo(&other, &code);
}

static uint32_t read_reg(int fd, uint32_t offset)
{
	struct drm_cnnacc_reg_rw args = { .offset = offset };

	if (kmd_ioctl(fd, DRM_IOCTL_CNNACC_REG_RW, &args))
		bail("REG_RW");
	return args.value;
}

/* Bus addresses of the kernel's rings, or any others, are not valid as device addresses. */
static void test_kernel(void)
{
	struct drm_cnnacc_core_info core;
	bool good = true;
	uint32_t va;
	int i;

	kmd_core_info(mine.fd, mine.core, &core);
	good &= all_denied(&mine, read_reg(mine.fd, core.queue_offset + CNNACC_QREG_RING_BASE_LO));
	good &= all_denied(&mine,
			   read_reg(mine.fd, core.queue_offset + CNNACC_QREG_COMPL_BASE_LO));
	ok(good, "no path leads to the kernel's rings");
	srand(1);
	for (good = true, i = 0; i < 64; i++) {
		va = ((uint32_t)rand() << 12) & ~(PAGE - 1);
		if (va - KMD_DATA_VA >= mine.data.size && va != KMD_PROGRAM_VA)
			good &= denied(&mine, &paths[i % ARRAY_LEN(paths)], va);
	}
	ok(good, "nor anywhere else");
}

/* Each kind of access to a mapping with each permission. */
static void test_permissions(void)
{
	static const struct {
		const char *name;
		uint32_t flags;
	} kinds[] = {
		{ "read-only", R }, { "write-only", W }, { "read and write", R | W },
		{ "execute-only", X },
	};
	bool good;
	size_t i, j;
	int ret;

	for (i = 0; i < ARRAY_LEN(kinds); i++) {
		struct kmd_bo bo = bind_bo(&mine, kinds[i].flags, PAGE);

		for (good = true, j = 0; j < ARRAY_LEN(paths); j++) {
			if (!(kinds[i].flags & paths[j].needs)) {
				good &= denied(&mine, &paths[j], VA);
				continue;
			}
			ret = try_path(&mine, &paths[j], VA);
			good &= !ret;
			if (ret)
				note("%s: %d", paths[j].name, ret);
		}
		ok(good, "%s memory allows that and no more", kinds[i].name);
		unbind_bo(&mine, &bo);
	}
}

/* The device has used the mapping, so the translation is in its TLB. */
static void test_stale(void)
{
	bool good = true;
	size_t i;

	for (i = 0; i < ARRAY_LEN(paths); i++) {
		struct kmd_bo bo = bind_bo(&mine, paths[i].needs, PAGE);

		good &= !try_path(&mine, &paths[i], VA);
		unbind_bo(&mine, &bo);
		good &= denied(&mine, &paths[i], VA);
	}
	ok(good, "no path leads to what was unmapped");
}

/* Most freed pages are allocated again next, but it is not known which. */
static void test_reused_pages(void)
{
	bool good = true;
	int round;

	for (round = 0; round < 30; round++) {
		struct kmd_bo old = bind_bo(&mine, R | W, 64 * PAGE), new;

		fill(old.map, old.size / 4, 0xdeadbeef);
		good &= !try_path(&mine, &paths[2], VA);
		unbind_bo(&mine, &old);
		new = kmd_bo(other.fd, DRM_CNNACC_BO_DATA, 64 * PAGE);
		good &= filled(new.map, new.size / 4, 0) && denied(&mine, &paths[8], VA) &&
			denied(&mine, &paths[10], VA) && filled(new.map, new.size / 4, 0);
		kmd_bo_free(other.fd, &new);
	}
	ok(good, "pages come to others zeroed and out of reach of whom they were");
}

/* A new context gets the id, and perhaps the table pages, of a destroyed one. */
static void test_reused_id(void)
{
	bool good = true;
	int round;

	for (round = 0; round < 10; round++) {
		struct kmd_env old = kmd_env_on(mine.fd, mine.core), new;
		struct kmd_bo bo = bind_bo(&old, R | W, PAGE);

		good &= !try_path(&old, &paths[2], VA);
		kmd_env_free(&old);
		usleep(2000);
		new = kmd_env_on(mine.fd, mine.core);
		good &= denied(&new, &paths[2], VA) && denied(&new, &paths[8], VA) &&
			denied(&new, &paths[10], VA);
		kmd_env_free(&new);
		kmd_bo_free(mine.fd, &bo);
	}
	ok(good, "a context finds no mapping of the one before it");
}

/* Fills every memory of the core: banks, weights, instruction cache, registers, parameters. */
static int leave_residue(void)
{
	const uint32_t words[] = {
		CNNACC_CCP_INSN_LDI(0, KMD_DATA_VA / 64),
		CNNACC_CCP_INSN_LDIH(0, KMD_DATA_VA / 64 >> 16),
		CNNACC_CCP_INSN_LDI(1, LINES),
		CNNACC_CCP_INSN_LOAD(0, 1, 2, CNNACC_CCP_TGT_READ_BANK),
		CNNACC_CCP_INSN_LOAD(0, 1, 2, CNNACC_CCP_TGT_WRITE_BANK),
		CNNACC_CCP_INSN_LOAD(0, 1, 2, CNNACC_CCP_TGT_WEIGHT0),
		CNNACC_CCP_INSN_LOAD(0, 1, 2, CNNACC_CCP_TGT_WEIGHT0 + 1),
		CNNACC_CCP_INSN_LOAD(0, 1, 2, CNNACC_CCP_TGT_WEIGHT0 + 2),
		CNNACC_CCP_INSN_LOAD(0, 1, 2, CNNACC_CCP_TGT_WEIGHT0 + 3),
		CNNACC_CCP_INSN_LDI(2, 0x5ec), CNNACC_CCP_INSN_LDI(3, 0x5ec),
		CNNACC_CCP_INSN_LDI(4, 0x5ec), CNNACC_CCP_INSN_LDI(5, 0x5ec),
		CNNACC_CCP_INSN_LDI(6, 0x5ec), CNNACC_CCP_INSN_LDI(7, 0x5ec),
		CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 0), CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1),
		CNNACC_CCP_INSN_CFG(CNNACC_CCP_POOL, 0), CNNACC_CCP_INSN_CFG(CNNACC_CCP_PAD, 0),
		CNNACC_CCP_INSN_CFG(CNNACC_CCP_FC, 0),
		CNNACC_CCP_INSN_NOP,
		/* Not reached, unless the next program runs into it. */
		CNNACC_CCP_INSN_BNZ(1, 21),
	};

	fill(other.data.map, other.data.size / 4, PATTERN);
	return kmd_run(&other, put(&other, words, sizeof(words)));
}

static void check_bank(const char *name, uint32_t target)
{
	const uint32_t words[] = {
		CNNACC_CCP_INSN_LDI(0, KMD_DATA_VA / 64),
		CNNACC_CCP_INSN_LDIH(0, KMD_DATA_VA / 64 >> 16),
		CNNACC_CCP_INSN_LDI(1, LINES),
		CNNACC_CCP_INSN_STORE(0, 1, 2, target),
		CNNACC_CCP_INSN_NOP,
	};
	int left = leave_residue(), ret;

	fill(mine.data.map, mine.data.size / 4, ~0u);
	ret = kmd_run(&mine, put(&mine, words, sizeof(words)));
	ok(!left && !ret && filled(mine.data.map, mine.data.size / 4, 0),
	   "residue: nothing in the %s", name);
}

/* Multiplies ones by all weights of all banks: any non-zero weight is visible. */
static void check_weights(void)
{
	const uint32_t words[] = {
		CNNACC_CCP_INSN_LDI(0, KMD_DATA_VA / 64),
		CNNACC_CCP_INSN_LDIH(0, KMD_DATA_VA / 64 >> 16),
		CNNACC_CCP_INSN_LDI(1, 16),
		CNNACC_CCP_INSN_LOAD(0, 1, 2, CNNACC_CCP_TGT_READ_BANK),
		CNNACC_CCP_INSN_LDI(0, 0), CNNACC_CCP_INSN_LDI(1, 256),
		CNNACC_CCP_INSN_LDI(2, 256),
		CNNACC_CCP_INSN_CFG(CNNACC_CCP_FC, 0), CNNACC_CCP_INSN_EXEC(CNNACC_CCP_FC),
		CNNACC_CCP_INSN_LDI(0, KMD_DATA_VA / 64 + 16),
		CNNACC_CCP_INSN_LDIH(0, KMD_DATA_VA / 64 >> 16),
		CNNACC_CCP_INSN_LDI(1, 16), CNNACC_CCP_INSN_LDI(2, 0),
		CNNACC_CCP_INSN_STORE(0, 1, 2, CNNACC_CCP_TGT_WRITE_BANK),
		CNNACC_CCP_INSN_NOP,
	};
	uint32_t *data = mine.data.map;
	int left = leave_residue(), ret;

	fill(data, 256, PATTERN);
	fill(data + 256, 256, ~0u);
	ret = kmd_run(&mine, put(&mine, words, sizeof(words)));
	ok(!left && !ret && filled(data + 256, 256, 0), "residue: nothing in the weight banks");
}

/* A program shorter than the one before runs on into its cache lines: NOP ends it. */
static void check_cache_and_registers(void)
{
	const uint32_t words[] = {
		CNNACC_CCP_INSN_LDI(1, 1),
		CNNACC_CCP_INSN_STORE(5, 1, 6, CNNACC_CCP_TGT_READ_BANK),
		CNNACC_CCP_INSN_BNZ(1, 21),
	};
	struct kmd_bo bo = kmd_bo(mine.fd, DRM_CNNACC_BO_DATA, PAGE);
	int left = leave_residue(), ret;

	fill(bo.map, PAGE / 4, ~0u);
	kmd_map(mine.fd, mine.vm, bo.handle, W, 0, PAGE);
	ret = kmd_run_limited(&mine, put(&mine, words, sizeof(words)), 100000);
	ok_ret(left ? left : ret, 0, "residue: no instruction in the cache");
	ok(filled(bo.map, 16, 0) && ((uint32_t *)bo.map)[16] == ~0u,
	   "residue: nothing in the registers");
	kmd_unmap(mine.fd, mine.vm, 0, PAGE);
	kmd_bo_free(mine.fd, &bo);
}

/* Only a convolution that continues accumulation can read partial sums in the output buffers. */
static void check_partial_sums(void)
{
	const uint32_t words[] = {
		CNNACC_CCP_INSN_LDI(0, 1 << CNNACC_CCP_R0_STRIDE_SHIFT),
		CNNACC_CCP_INSN_LDIH(0, 1),
		CNNACC_CCP_INSN_LDI(1, 16), CNNACC_CCP_INSN_LDIH(1, 16),
		CNNACC_CCP_INSN_LDI(2, 2), CNNACC_CCP_INSN_LDIH(2, 1),
		CNNACC_CCP_INSN_LDI(3, 1), CNNACC_CCP_INSN_LDIH(3, 1),
		CNNACC_CCP_INSN_LDI(5, 16),
		CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 0),
		CNNACC_CCP_INSN_LDI(0, 0), CNNACC_CCP_INSN_LDI(1, 0), CNNACC_CCP_INSN_LDI(2, 0),
		CNNACC_CCP_INSN_LDI(3, 0), CNNACC_CCP_INSN_LDI(5, 0),
		CNNACC_CCP_INSN_CFG(CNNACC_CCP_CONV, 1), CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV),
		CNNACC_CCP_INSN_NOP,
	};
	struct drm_cnnacc_ctx_query q;
	int left = leave_residue(), ret;

	ret = kmd_run(&mine, put(&mine, words, sizeof(words)));
	q = kmd_ctx_query(mine.fd, mine.ctx);
	if (!ok(!left && ret == -EINVAL && q.status_code == CNNACC_CCP_E_CFG &&
		q.detail == CNNACC_CCP_BAD_CONTINUE,
		"residue: no convolution of another context goes on"))
		note("%d, code %u, detail %u", ret, q.status_code, q.detail);
}

static void check_window(void)
{
	struct drm_cnnacc_core_info core;
	uint32_t at, seen = 0, secret = 0;
	int left = leave_residue();

	kmd_core_info(mine.fd, mine.core, &core);
	for (at = CNNACC_CCP_REG_GPR(0); at < CNNACC_CCP_REG_FC0(8); at += 4)
		seen += read_reg(mine.fd, core.window_offset + at) == 0x5ec;
	kmd_run(&mine, kmd_program_nop(&mine));
	for (at = CNNACC_CCP_REG_GPR(0); at < CNNACC_CCP_REG_FC0(8); at += 4)
		secret += !!read_reg(mine.fd, core.window_offset + at);
	ok(!left && seen && !secret, "residue: nothing in the registers of the window");
}

/* Memory that is freed with data in it reads as zero when it is allocated again. */
static void test_zeroed(void)
{
	bool good = true;
	int round;

	for (round = 0; round < 10; round++) {
		struct kmd_bo bo = bind_bo(&mine, R | W, 64 * PAGE);

		good &= filled(bo.map, bo.size / 4, 0);
		fill(mine.data.map, 16, ~0u);
		good &= !kmd_run(&mine, kmd_program_copy(&mine, VA + 13 * PAGE, KMD_DATA_VA, 1)) &&
			filled(mine.data.map, 16, 0);
		fill(bo.map, bo.size / 4, 0xa5a5a5a5);
		unbind_bo(&mine, &bo);
	}
	ok(good, "new memory is zero for the CPU and for the device");
}

/* The first packet in the ring is that of our job, which has ended. */
static void start_with_rings(uint32_t queue, uint32_t ring, uint32_t records)
{
	kmd_poke(queue + CNNACC_QREG_CTRL, 0);
	kmd_poke(queue + CNNACC_QREG_RING_BASE_LO, ring);
	kmd_poke(queue + CNNACC_QREG_COMPL_BASE_LO, records);
	kmd_poke(queue + CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE);
	kmd_poke(queue + CNNACC_QREG_RING_TAIL, 1);
}

/* Waits until the log has @count messages with a text. */
static bool reported(const char *text, unsigned int count, double seconds)
{
	double end = kmd_seconds() + seconds;

	while (kmd_log_count(text) < count) {
		if (kmd_seconds() > end)
			return false;
		usleep(10000);
	}
	return true;
}

/* An IOMMU may record one fault at a time only.  The host checks the contents of the reports. */
static void test_rogue(void)
{
	struct drm_cnnacc_core_info core;
	uint32_t ring, records;

	kmd_stay_awake(true);
	kmd_core_info(mine.fd, mine.core, &core);
	ok_ret(kmd_force_reset("device"), 0, "a device reset");
	ok_ret(kmd_run(&mine, kmd_program_nop(&mine)), 0, "a job before");
	ring = read_reg(mine.fd, core.queue_offset + CNNACC_QREG_RING_BASE_LO);
	records = read_reg(mine.fd, core.queue_offset + CNNACC_QREG_COMPL_BASE_LO);
	start_with_rings(core.queue_offset, 0x100000, records);
	ok(reported("fault addr 0x100000 ", 1, 60) && reported("address 0x100000", 1, 60),
	   "a stray read is reported");
	ok_ret(kmd_run(&mine, kmd_program_nop(&mine)), 0, "a job after a stray read");
	ok_ret(kmd_force_reset("device"), 0, "a device reset");
	ok_ret(kmd_run(&mine, kmd_program_nop(&mine)), 0, "a job after a reset");
	start_with_rings(core.queue_offset, ring, 0x200000);
	ok(reported("fault addr 0x200000 ", 1, 60) && reported("address 0x200000", 1, 60),
	   "a stray write is reported");
	ok_ret(kmd_run(&mine, kmd_program_nop(&mine)), 0, "a job after a stray write");
	kmd_stay_awake(false);
}

/*
 * The device writes once more to freed memory, which the kernel may have reused.  A write before
 * the memory is freed is not refused and does not count.
 */
static void test_stale_write(void)
{
	unsigned int round, refused = 0;
	bool stored, same;

	for (round = 0; refused < STALE_ROUNDS && round < 10 * STALE_ROUNDS; round++) {
		struct kmd_bo bo = bind_bo(&mine, R | W, 64 * PAGE), next;

		stored = !try_path(&mine, &paths[8], VA);
		unbind_bo(&mine, &bo);
		/* Not mapped for the device, so that no access to it is legal. */
		next = kmd_bo_flags(mine.fd, DRM_CNNACC_BO_DATA, DRM_CNNACC_BO_CACHED, 64 * PAGE);
		fill(next.map, next.size / 4, PATTERN);
		reported("DMAR: [DMA Write", refused + 1, 5);
		refused = kmd_log_count("DMAR: [DMA Write");
		same = filled(next.map, next.size / 4, PATTERN);
		ok(stored && same, "a late write changes nothing");
		kmd_bo_free(mine.fd, &next);
		ok_ret(kmd_run(&mine, kmd_program_nop(&mine)), 0, "a job after it");
	}
	ok(refused >= STALE_ROUNDS, "late writes are refused: %u of %u", refused, round);
}

int main(int argc, char **argv)
{
	int fd = kmd_open();
	uint32_t core;

	if (!kmd_find_core(fd, CNNACC_CORE_CCP, &core)) {
		skip("memories of a core", "no core ccp");
		return done_testing();
	}
	mine = kmd_env_on(fd, core);
	other = kmd_env_on(kmd_open(), core);
	if (argc > 1 && !strcmp(argv[1], "rogue")) {
		test_rogue();
		return done_testing();
	}
	if (argc > 1 && !strcmp(argv[1], "stale")) {
		test_stale_write();
		return done_testing();
	}
	test_others();
	test_kernel();
	test_permissions();
	test_stale();
	test_reused_pages();
	test_reused_id();
	check_bank("read bank", CNNACC_CCP_TGT_READ_BANK);
	check_bank("write bank", CNNACC_CCP_TGT_WRITE_BANK);
	check_weights();
	check_cache_and_registers();
	check_partial_sums();
	check_window();
	test_zeroed();
	ok(!kmd_ctx_query(other.fd, other.ctx).state, "the other context is healthy");
	return done_testing();
}
