/* SPDX-License-Identifier: MIT */
/* The in-process device: open and close, contexts, buffers, mappings, submit. */
#include "sim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fewer than those of cnnacc.ko: this device has one user. */
#define SIM_MAX_VMS		64
#define SIM_MAX_CONTEXTS	64
/* The limits of cnnacc.ko. */
#define SIM_MAX_BO_SIZE		((uint64_t)1 << 30)
#define SIM_MAX_TASKS		64

static struct rt_sim *to_sim(struct cnnrt_device *dev)
{
	return (struct rt_sim *)dev;
}

static int host_dma_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	const void *ram = rt_sim_mem_ram(&((struct rt_sim *)opaque)->mem, addr, len);

	if (ram)
		memcpy(buf, ram, len);
	return ram ? 0 : -1;
}

static int host_dma_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	void *ram = rt_sim_mem_ram(&((struct rt_sim *)opaque)->mem, addr, len);

	if (ram)
		memcpy(ram, buf, len);
	return ram ? 0 : -1;
}

static void *host_dma_map(void *opaque, uint64_t addr, size_t *len, bool write)
{
	(void)write;
	return rt_sim_mem_ram(&((struct rt_sim *)opaque)->mem, addr, *len);
}

static void host_dma_unmap(void *opaque, void *ptr, size_t len, bool write)
{
	(void)opaque;
	(void)ptr;
	(void)len;
	(void)write;
}

static void host_irq_message(void *opaque, unsigned int vector)
{
	struct rt_sim *sim = opaque;

	if (vector >= sim->base.info.core_count)
		return;
	sim->core[vector].irq = true;
	pthread_cond_signal(&sim->core[vector].wake);
}

static void host_irq_wires(void *opaque, uint32_t wires)
{
	(void)opaque;
	(void)wires;
}

static uint64_t host_now(void *opaque)
{
	(void)opaque;
	return rt_now();
}

static void host_kick(void *opaque, unsigned int core)
{
	struct rt_sim *sim = opaque;

	if (core < CNNRT_MAX_CORES)
		pthread_cond_signal(&sim->core[core].wake);
}

static void host_log(void *opaque, const char *text)
{
	struct rt_sim *sim = opaque;

	if (sim->verbose)
		fprintf(stderr, "cnnacc model: %s\n", text);
}

static const struct cm_host_ops host_ops = {
	.dma_read = host_dma_read,
	.dma_write = host_dma_write,
	.dma_map = host_dma_map,
	.dma_unmap = host_dma_unmap,
	.irq_message = host_irq_message,
	.irq_wires = host_irq_wires,
	.now = host_now,
	.wake_worker = host_kick,
	.log = host_log,
};

static struct rt_sim_vm *find_vm(const struct rt_sim *sim, uint32_t id)
{
	struct rt_sim_vm *vm = sim->vms;

	while (vm && (vm->id != id || vm->destroyed))
		vm = vm->next;
	return vm;
}

static struct rt_sim_ctx *find_ctx(const struct rt_sim *sim, uint32_t id)
{
	struct rt_sim_ctx *ctx = sim->ctxs;

	while (ctx && ctx->id != id)
		ctx = ctx->next;
	return ctx;
}

/* Takes the lock, too, also if there is none. */
static struct rt_sim_vm *lock_vm(struct rt_sim *sim, uint32_t id)
{
	pthread_mutex_lock(&sim->lock);
	return find_vm(sim, id);
}

/* Takes the lock, too, also if there is none. */
static struct rt_sim_ctx *lock_ctx(struct rt_sim *sim, uint32_t id)
{
	pthread_mutex_lock(&sim->lock);
	return find_ctx(sim, id);
}

/* Also one that is destroyed: the device knows its id. */
static bool is_vm_id(const struct rt_sim *sim, uint32_t id)
{
	for (const struct rt_sim_vm *vm = sim->vms; vm; vm = vm->next)
		if (vm->id == id)
			return true;
	return false;
}

static int vm_create_locked(struct rt_sim *sim, uint32_t *id)
{
	struct rt_sim_vm *vm;
	int ret;

	if (sim->vm_count == SIM_MAX_VMS)
		return -ENOSPC;
	vm = calloc(1, sizeof(*vm));
	if (!vm)
		return -ENOMEM;
	ret = rt_sim_mem_alloc(&sim->mem, CNNACC_PAGE_SIZE, -1, &vm->root);
	if (ret) {
		free(vm);
		return ret;
	}
	do {
		sim->last_vm_id = sim->last_vm_id % 65535 + 1;
	} while (is_vm_id(sim, sim->last_vm_id));
	vm->id = sim->last_vm_id;
	vm->next = sim->vms;
	sim->vms = vm;
	sim->vm_count++;
	*id = vm->id;
	return 0;
}

static int sim_vm_create(struct cnnrt_device *dev, uint32_t *id)
{
	struct rt_sim *sim = to_sim(dev);
	int ret;

	pthread_mutex_lock(&sim->lock);
	ret = vm_create_locked(sim, id);
	pthread_mutex_unlock(&sim->lock);
	return ret;
}

static int ctx_create_locked(struct rt_sim *sim, uint32_t vm_id, uint32_t *id)
{
	struct rt_sim_vm *vm = find_vm(sim, vm_id);
	struct rt_sim_ctx *ctx;

	if (!vm)
		return -ENOENT;
	if (sim->ctx_count == SIM_MAX_CONTEXTS)
		return -ENOSPC;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	do {
		sim->last_ctx_id = sim->last_ctx_id % 65535 + 1;
	} while (find_ctx(sim, sim->last_ctx_id));
	ctx->id = sim->last_ctx_id;
	memset(ctx->event_fd, -1, sizeof(ctx->event_fd));
	ctx->vm = vm;
	vm->ctx_count++;
	ctx->last.ctx_id = ctx->id;
	ctx->next = sim->ctxs;
	sim->ctxs = ctx;
	sim->ctx_count++;
	*id = ctx->id;
	return 0;
}

static int sim_ctx_create(struct cnnrt_device *dev, uint32_t vm_id, uint32_t priority, uint32_t *id)
{
	struct rt_sim *sim = to_sim(dev);
	int ret;

	if (priority > DRM_CNNACC_PRIORITY_HIGH)
		return -EINVAL;
	pthread_mutex_lock(&sim->lock);
	ret = ctx_create_locked(sim, vm_id, id);
	pthread_mutex_unlock(&sim->lock);
	return ret;
}

static void put_bo(struct rt_sim *sim, struct rt_sim_bo *bo)
{
	if (--bo->refs)
		return;
	rt_sim_mem_free(&sim->mem, bo->bus);
	if (bo->fd >= 0)
		close(bo->fd);
	free(bo);
}

static void free_vm(struct rt_sim *sim, struct rt_sim_vm *vm)
{
	struct rt_sim_vm **link = &sim->vms;

	rt_sim_invalidate(sim, vm->id | CNNACC_INVALIDATE_RETIRE);
	while (*link != vm)
		link = &(*link)->next;
	*link = vm->next;
	sim->vm_count--;
	while (vm->mappings) {
		struct rt_sim_mapping *m = vm->mappings;

		vm->mappings = m->next;
		put_bo(sim, m->bo);
		free(m);
	}
	for (unsigned int i = 0; i < CNNACC_PT_ENTRIES; i++)
		if (vm->table[i])
			rt_sim_mem_free(&sim->mem, vm->table[i]);
	rt_sim_mem_free(&sim->mem, vm->root);
	free(vm);
}

static int sim_vm_destroy(struct cnnrt_device *dev, uint32_t id)
{
	struct rt_sim *sim = to_sim(dev);
	struct rt_sim_vm *vm = lock_vm(sim, id);

	if (vm)
		vm->destroyed = true;
	if (vm && !vm->ctx_count)
		free_vm(sim, vm);
	pthread_mutex_unlock(&sim->lock);
	return vm ? 0 : -ENOENT;
}

static void free_ctx(struct rt_sim *sim, struct rt_sim_ctx *ctx)
{
	struct rt_sim_ctx **link = &sim->ctxs;

	while (*link != ctx)
		link = &(*link)->next;
	*link = ctx->next;
	sim->ctx_count--;
	if (!--ctx->vm->ctx_count && ctx->vm->destroyed)
		free_vm(sim, ctx->vm);
	for (int i = 0; i < CNNRT_MAX_CORES; i++)
		if (ctx->event_fd[i] >= 0)
			close(ctx->event_fd[i]);
	free(ctx);
}

static int sim_ctx_destroy(struct cnnrt_device *dev, uint32_t id)
{
	struct rt_sim *sim = to_sim(dev);
	struct rt_sim_ctx *ctx = lock_ctx(sim, id);

	if (ctx) {
		/* Nothing can use the result of its jobs. */
		rt_sim_queue_cancel(sim, ctx, true);
		rt_sim_queue_idle(sim, ctx->vm, ctx);
		free_ctx(sim, ctx);
	}
	pthread_mutex_unlock(&sim->lock);
	return ctx ? 0 : -ENOENT;
}

static int sim_ctx_query(struct cnnrt_device *dev, struct drm_cnnacc_ctx_query *query)
{
	struct rt_sim *sim = to_sim(dev);
	struct rt_sim_ctx *ctx = lock_ctx(sim, query->ctx_id);

	if (ctx)
		*query = ctx->last;
	pthread_mutex_unlock(&sim->lock);
	return ctx ? 0 : -ENOENT;
}

static int sim_eventfd(struct cnnrt_device *dev, uint32_t ctx_id, uint32_t core, int fd)
{
	struct rt_sim *sim = to_sim(dev);
	struct rt_sim_ctx *ctx = lock_ctx(sim, ctx_id);
	int ret = !ctx ? -ENOENT : core >= dev->info.core_count ? -EINVAL : 0;

	if (!ret) {
		if (ctx->event_fd[core] >= 0)
			close(ctx->event_fd[core]);
		ctx->event_fd[core] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		ret = ctx->event_fd[core] < 0 ? -errno : 0;
	}
	pthread_mutex_unlock(&sim->lock);
	return ret;
}

static int sim_end_time(struct cnnrt_device *dev, uint32_t ctx_id, uint64_t seqno, int fence,
			uint64_t *ns)
{
	struct rt_sim *sim = to_sim(dev);
	struct rt_sim_ctx *ctx = lock_ctx(sim, ctx_id);

	(void)fence;
	if (ctx)
		*ns = ctx->ended_ns[seqno % RT_END_TIMES];
	pthread_mutex_unlock(&sim->lock);
	return ctx ? 0 : -ENOENT;
}

static struct rt_sim_bo *find_bo(const struct rt_sim *sim, uint32_t handle)
{
	return handle && handle <= sim->bo_cap ? sim->bos[handle - 1] : NULL;
}

/* Takes the lock, too, also if there is none. */
static struct rt_sim_bo *lock_bo(struct rt_sim *sim, const struct rt_bo *bo)
{
	pthread_mutex_lock(&sim->lock);
	return find_bo(sim, bo->handle);
}

static int new_handle(struct rt_sim *sim, uint32_t *handle)
{
	uint32_t cap = sim->bo_cap;
	struct rt_sim_bo **bos;

	for (uint32_t i = 0; i < cap; i++) {
		if (!sim->bos[i]) {
			*handle = i + 1;
			return 0;
		}
	}
	bos = realloc(sim->bos, (cap + 64) * sizeof(*bos));
	if (!bos)
		return -ENOMEM;
	memset(bos + cap, 0, 64 * sizeof(*bos));
	sim->bos = bos;
	sim->bo_cap = cap + 64;
	*handle = cap + 1;
	return 0;
}

/* Takes ownership of fd on success. */
static int add_bo(struct rt_sim *sim, uint64_t size, uint32_t use, uint32_t vm_id, int fd,
		  struct rt_bo *out)
{
	struct rt_sim_bo *bo = calloc(1, sizeof(*bo));
	uint32_t handle;
	int ret;

	if (!bo)
		return -ENOMEM;
	*bo = (struct rt_sim_bo){ .size = size, .use = use, .vm_id = vm_id, .fd = fd, .refs = 1 };
	pthread_mutex_lock(&sim->lock);
	ret = vm_id && !find_vm(sim, vm_id) ? -ENOENT : new_handle(sim, &handle);
	if (!ret)
		ret = rt_sim_mem_alloc(&sim->mem, size, fd, &bo->bus);
	if (!ret) {
		sim->bos[handle - 1] = bo;
		*out = (struct rt_bo){ .handle = handle, .size = size };
	}
	pthread_mutex_unlock(&sim->lock);
	if (ret)
		free(bo);
	return ret;
}

static int make_memfd(uint64_t size)
{
	int fd = memfd_create("cnnacc-buffer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)size) && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		return fd;
	close(fd);
	return -ENOMEM;
}

static int sim_bo_create(struct cnnrt_device *dev, uint64_t size, uint32_t use, uint32_t flags,
			 uint32_t vm_id, struct rt_bo *bo)
{
	bool is_private = flags & DRM_CNNACC_BO_PRIVATE;
	int fd = -1, ret;

	if (!size || size > SIM_MAX_BO_SIZE || use > DRM_CNNACC_BO_PROGRAM ||
	    flags & ~(DRM_CNNACC_BO_CACHED | DRM_CNNACC_BO_PRIVATE) || (vm_id && !is_private))
		return -EINVAL;
	if (is_private && !vm_id)
		return -ENOENT;
	size = (size + CNNACC_PAGE_SIZE - 1) & ~(uint64_t)(CNNACC_PAGE_SIZE - 1);
	if (!is_private)
		fd = make_memfd(size);
	if (!is_private && fd < 0)
		return fd;
	ret = add_bo(to_sim(dev), size, use, vm_id, fd, bo);
	if (ret && fd >= 0)
		close(fd);
	return ret;
}

/* If a mapped file shrank, the model's access would raise SIGBUS; a dma-buf cannot shrink. */
static bool can_shrink(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals >= 0)
		return !(seals & F_SEAL_SHRINK);
	return fstat(fd, &st) || S_ISREG(st.st_mode) || S_ISBLK(st.st_mode);
}

static int sim_bo_import(struct cnnrt_device *dev, int fd, struct rt_bo *bo)
{
	off_t size = lseek(fd, 0, SEEK_END);
	int ret;

	if (size <= 0 || size % CNNACC_PAGE_SIZE || (uint64_t)size > SIM_MAX_BO_SIZE ||
	    can_shrink(fd))
		return -EINVAL;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	ret = add_bo(to_sim(dev), (uint64_t)size, DRM_CNNACC_BO_DATA, 0, fd, bo);
	if (ret)
		close(fd);
	return ret;
}

static int sim_bo_export(struct cnnrt_device *dev, const struct rt_bo *bo, int *fd)
{
	struct rt_sim *sim = to_sim(dev);
	struct rt_sim_bo *b = lock_bo(sim, bo);
	int ret = !b ? -ENOENT : b->fd < 0 ? -EINVAL : 0;

	if (!ret) {
		*fd = fcntl(b->fd, F_DUPFD_CLOEXEC, 0);
		ret = *fd < 0 ? -errno : 0;
	}
	pthread_mutex_unlock(&sim->lock);
	return ret;
}

static int sim_bo_map(struct cnnrt_device *dev, struct rt_bo *bo)
{
	struct rt_sim *sim = to_sim(dev);
	struct rt_sim_bo *b = lock_bo(sim, bo);

	if (b)
		bo->map = rt_sim_mem_ptr(&sim->mem, b->bus);
	pthread_mutex_unlock(&sim->lock);
	return b ? 0 : -ENOENT;
}

/* Memory is coherent; taking the lock orders the caller after the workers' writes. */
static int sim_bo_sync(struct cnnrt_device *dev, const struct rt_bo *bo, uint32_t flags)
{
	struct rt_sim *sim = to_sim(dev);

	(void)bo;
	(void)flags;
	pthread_mutex_lock(&sim->lock);
	pthread_mutex_unlock(&sim->lock);
	return 0;
}

static void sim_bo_close(struct cnnrt_device *dev, struct rt_bo *bo)
{
	struct rt_sim *sim = to_sim(dev);
	struct rt_sim_bo *b = lock_bo(sim, bo);

	if (b) {
		sim->bos[bo->handle - 1] = NULL;
		put_bo(sim, b);
	}
	pthread_mutex_unlock(&sim->lock);
	memset(bo, 0, sizeof(*bo));
}

static int set_pages(struct rt_sim *sim, struct rt_sim_vm *vm, uint64_t va, uint64_t size,
		     uint64_t bus, uint32_t bits)
{
	uint32_t *dir = rt_sim_mem_ptr(&sim->mem, vm->root);

	for (uint64_t end = va + size; va < end; va += CNNACC_PAGE_SIZE) {
		uint32_t d = CNNACC_PT_DIR_INDEX(va);
		uint32_t pte = bits ? CNNACC_PTE_ADDR(bus) | bits : 0;
		uint32_t *table;

		if (!vm->table[d] && !bits)
			continue;
		if (!vm->table[d]) {
			int ret = rt_sim_mem_alloc(&sim->mem, CNNACC_PAGE_SIZE, -1, &vm->table[d]);

			if (ret)
				return ret;
			__atomic_store_n(&dir[d], CNNACC_PTE_ADDR(vm->table[d]) |
					 CNNACC_PTE_VALID, __ATOMIC_RELEASE);
		}
		table = rt_sim_mem_ptr(&sim->mem, vm->table[d]);
		__atomic_store_n(&table[CNNACC_PT_PAGE_INDEX(va)], pte, __ATOMIC_RELEASE);
		bus += CNNACC_PAGE_SIZE;
	}
	return 0;
}

static uint32_t pte_bits(uint32_t flags)
{
	return CNNACC_PTE_VALID | (flags & DRM_CNNACC_BIND_READ ? CNNACC_PTE_READ : 0) |
	       (flags & DRM_CNNACC_BIND_WRITE ? CNNACC_PTE_WRITE : 0) |
	       (flags & DRM_CNNACC_BIND_EXEC ? CNNACC_PTE_EXEC : 0);
}

static uint32_t flags_of_use(uint32_t use)
{
	switch (use) {
	case DRM_CNNACC_BO_WEIGHT:
		return DRM_CNNACC_BIND_READ;
	case DRM_CNNACC_BO_PROGRAM:
		return DRM_CNNACC_BIND_EXEC;
	}
	return DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE;
}

static int check_map(const struct rt_sim *sim, const struct rt_sim_vm *vm,
		     const struct drm_cnnacc_bind_op *op)
{
	const struct rt_sim_bo *bo = find_bo(sim, op->handle);

	if (!bo)
		return -ENOENT;
	if (!op->flags || op->flags & ~flags_of_use(bo->use) ||
	    (bo->vm_id && bo->vm_id != vm->id) ||
	    op->bo_offset > bo->size || op->size > bo->size - op->bo_offset)
		return -EINVAL;
	for (const struct rt_sim_mapping *m = vm->mappings; m; m = m->next)
		if (op->va < m->va + m->size && m->va < op->va + op->size)
			return -EEXIST;
	return 0;
}

static int bind_map(struct rt_sim *sim, struct rt_sim_vm *vm, const struct drm_cnnacc_bind_op *op)
{
	int ret = check_map(sim, vm, op);
	struct rt_sim_mapping *m;
	struct rt_sim_bo *bo;

	if (ret)
		return ret;
	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	bo = find_bo(sim, op->handle);
	ret = set_pages(sim, vm, op->va, op->size, bo->bus + op->bo_offset, pte_bits(op->flags));
	if (ret) {
		set_pages(sim, vm, op->va, op->size, 0, 0);
		free(m);
		return ret;
	}
	bo->refs++;
	*m = (struct rt_sim_mapping){
		.va = op->va, .size = op->size, .bo = bo, .next = vm->mappings,
	};
	vm->mappings = m;
	return 0;
}

static int bind_unmap(struct rt_sim *sim, struct rt_sim_vm *vm,
		      const struct drm_cnnacc_bind_op *op)
{
	struct rt_sim_mapping **link = &vm->mappings, *m;

	if (!(op->flags & DRM_CNNACC_BIND_NOWAIT))
		rt_sim_queue_idle(sim, vm, NULL);
	while (*link && ((*link)->va != op->va || (*link)->size != op->size))
		link = &(*link)->next;
	m = *link;
	if (!m)
		return -ENOENT;
	*link = m->next;
	set_pages(sim, vm, m->va, m->size, 0, 0);
	rt_sim_invalidate(sim, vm->id);
	put_bo(sim, m->bo);
	free(m);
	return 0;
}

static int bind_one(struct rt_sim *sim, struct rt_sim_vm *vm, const struct drm_cnnacc_bind_op *op)
{
	if (!op->size || (op->va | op->size | op->bo_offset) % CNNACC_PAGE_SIZE ||
	    op->va >> CNNACC_VA_BITS || op->size > (1ull << CNNACC_VA_BITS) - op->va)
		return -EINVAL;
	switch (op->op) {
	case DRM_CNNACC_BIND_MAP:
		return bind_map(sim, vm, op);
	case DRM_CNNACC_BIND_UNMAP:
		return op->flags & ~DRM_CNNACC_BIND_NOWAIT || op->handle || op->bo_offset ?
			       -EINVAL : bind_unmap(sim, vm, op);
	}
	return -EINVAL;
}

static int sim_bind(struct cnnrt_device *dev, uint32_t vm_id,
		    const struct drm_cnnacc_bind_op *ops, uint32_t count)
{
	struct rt_sim *sim = to_sim(dev);
	struct rt_sim_vm *vm = lock_vm(sim, vm_id);
	int ret = vm ? 0 : -ENOENT;

	for (uint32_t i = 0; i < count && !ret; i++)
		ret = bind_one(sim, vm, &ops[i]);
	pthread_mutex_unlock(&sim->lock);
	return ret;
}

static int new_job(const struct rt_submit *s, struct rt_sim_job **out)
{
	struct rt_sim_job *job = calloc(1, sizeof(*job));

	if (!job)
		return -ENOMEM;
	job->tasks = malloc(s->task_count * sizeof(*job->tasks));
	job->fence = job->tasks ? rt_fence_create() : -ENOMEM;
	if (job->fence < 0) {
		int ret = job->fence;

		free(job->tasks);
		free(job);
		return ret;
	}
	memcpy(job->tasks, s->tasks, s->task_count * sizeof(*job->tasks));
	job->task_count = s->task_count;
	*out = job;
	return 0;
}

static void drop_job(struct rt_sim_job *job)
{
	close(job->fence);
	free(job->tasks);
	free(job);
}

static int check_tasks(const struct cnnrt_device *dev, const struct rt_submit *s)
{
	const uint32_t known = DRM_CNNACC_JOB_RESTARTABLE | DRM_CNNACC_JOB_ANY_EQUAL;

	if (s->core >= dev->info.core_count || !s->task_count || s->task_count > SIM_MAX_TASKS ||
	    s->flags & ~known)
		return -EINVAL;
	for (uint32_t i = 0; i < s->task_count; i++)
		if (s->tasks[i].cycle_limit > dev->core[s->core].job_cycles_max)
			return -EINVAL;
	return 0;
}

static int sim_submit(struct cnnrt_device *dev, struct rt_submit *s)
{
	struct rt_sim *sim = to_sim(dev);
	struct rt_sim_ctx *ctx;
	struct rt_sim_job *job;
	int ret = check_tasks(dev, s) ?: new_job(s, &job);

	if (ret)
		return ret;
	s->out_fence = fcntl(job->fence, F_DUPFD_CLOEXEC, 0);
	if (s->out_fence < 0) {
		ret = -errno;
		drop_job(job);
		return ret;
	}
	ctx = lock_ctx(sim, s->ctx_id);
	if (ctx) {
		job->ctx = ctx;
		job->seqno = s->seqno = ++ctx->seqno;
		if (s->flags & DRM_CNNACC_JOB_ANY_EQUAL)
			s->core = rt_sim_queue_choose(sim, ctx->vm->id, s->core);
		rt_sim_queue_push(&sim->core[s->core], job);
	}
	pthread_mutex_unlock(&sim->lock);
	if (ctx)
		return 0;
	close(s->out_fence);
	drop_job(job);
	return -ENOENT;
}

static int sim_reg_rw(struct cnnrt_device *dev, struct drm_cnnacc_reg_rw *rw)
{
	struct rt_sim *sim = to_sim(dev);

	if (rw->offset % 4 || rw->offset >= CNNACC_REGS_SIZE)
		return -EINVAL;
	pthread_mutex_lock(&sim->lock);
	if (rw->flags & DRM_CNNACC_REG_WRITE)
		cm_device_write(sim->model, rw->offset, rw->value);
	else
		rw->value = cm_device_read(sim->model, rw->offset);
	/* The write may have been a reset: wake the workers to check their queues. */
	for (uint32_t i = 0; i < dev->info.core_count; i++)
		pthread_cond_signal(&sim->core[i].wake);
	pthread_mutex_unlock(&sim->lock);
	return 0;
}

static void sim_close(struct cnnrt_device *dev)
{
	struct rt_sim *sim = to_sim(dev);

	while (sim->ctxs)
		sim_ctx_destroy(dev, sim->ctxs->id);
	while (sim->vms)
		sim_vm_destroy(dev, sim->vms->id);
	rt_sim_queue_stop(sim);
	for (uint32_t i = 0; i < sim->bo_cap; i++)
		if (sim->bos[i])
			put_bo(sim, sim->bos[i]);
	free(sim->bos);
	if (sim->model)
		cm_device_destroy(sim->model);
	rt_sim_mem_fini(&sim->mem);
	for (unsigned int i = 0; i < CNNRT_MAX_CORES; i++)
		pthread_cond_destroy(&sim->core[i].wake);
	pthread_cond_destroy(&sim->changed);
	pthread_mutex_destroy(&sim->lock);
	free(sim);
}

static int sim_state(struct cnnrt_device *dev, struct rt_device_state *state)
{
	struct rt_sim *sim = to_sim(dev);
	struct timespec now;

	pthread_mutex_lock(&sim->lock);
	clock_gettime(CLOCK_MONOTONIC, &now);
	state->time.cpu_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	state->time.device_ns = cm_device_read(sim->model, CNNACC_REG_TIME_LO);
	state->time.device_ns |= (uint64_t)cm_device_read(sim->model, CNNACC_REG_TIME_HI) << 32;
	state->clocks.current_hz = cm_device_read(sim->model, CNNACC_REG_CLOCK_HZ);
	pthread_mutex_unlock(&sim->lock);
	state->clocks.min_hz = state->clocks.current_hz;
	state->clocks.max_hz = state->clocks.current_hz;
	return 0;
}

static const struct rt_device_ops sim_ops = {
	.close = sim_close,
	.state = sim_state,
	.vm_create = sim_vm_create,
	.vm_destroy = sim_vm_destroy,
	.ctx_create = sim_ctx_create,
	.ctx_destroy = sim_ctx_destroy,
	.ctx_query = sim_ctx_query,
	.eventfd = sim_eventfd,
	.bo_create = sim_bo_create,
	.bo_import = sim_bo_import,
	.bo_export = sim_bo_export,
	.bo_map = sim_bo_map,
	.bo_sync = sim_bo_sync,
	.bo_close = sim_bo_close,
	.bind = sim_bind,
	.submit = sim_submit,
	.end_time = sim_end_time,
	.reg_rw = sim_reg_rw,
};

/* Has an earlier item this key? text: the items so far, as zero-terminated keys and values. */
static bool is_duplicate(const char *text, const char *key)
{
	for (; text < key; text += strlen(text) + 1)
		if (!strcmp(text, key))
			return true;
	return false;
}

/* "cores=NAME:PARAM=64,clock-hz=200000000" */
static int parse_props(const char *props, struct cm_config *config, struct cnnrt_error *err)
{
	char text[CM_ERR_LEN], *copy = strdup(props), *save, *item;
	int ret = copy ? CNNRT_OK : rt_fail(err, CNNRT_ENOMEM, "sim: out of memory");

	for (item = copy ? strtok_r(copy, ",", &save) : NULL; item && !ret;
	     item = strtok_r(NULL, ",", &save)) {
		char *value = strchr(item, '=');

		if (!value) {
			ret = rt_fail(err, CNNRT_EINVAL, "sim: property \"%.100s\" has no value: "
				      "write KEY=VALUE, and cores=NAME+NAME for more than one "
				      "core", item);
			break;
		}
		*value++ = '\0';
		if (is_duplicate(copy, item))
			ret = rt_fail(err, CNNRT_EINVAL, "sim: property \"%.100s\" is given twice",
				      item);
		else if (cm_config_set(config, item, value, text))
			ret = rt_fail(err, CNNRT_EINVAL, "sim: %s", text);
	}
	free(copy);
	return ret;
}

static uint32_t reg(struct rt_sim *sim, uint32_t offset)
{
	return cm_device_read(sim->model, offset);
}

/* Reads the discovery table, as cnnacc.ko does at probe. */
static int probe(struct rt_sim *sim)
{
	struct cnnrt_core_info cores[CNNRT_MAX_CORES] = { 0 };
	struct drm_cnnacc_dev_info info = {
		.hw_version = reg(sim, CNNACC_REG_HW_VERSION),
		.features = reg(sim, CNNACC_REG_FEATURES),
		.core_count = reg(sim, CNNACC_REG_CORE_COUNT),
		.va_bits = CNNACC_VA_BITS,
		.page_size = CNNACC_PAGE_SIZE, .max_vms = SIM_MAX_VMS,
		.max_contexts = SIM_MAX_CONTEXTS,
		.max_tasks = SIM_MAX_TASKS, .max_bo_size = SIM_MAX_BO_SIZE,
	};
	uint32_t table = reg(sim, CNNACC_REG_CORE_TABLE);

	if (reg(sim, CNNACC_REG_MAGIC) != CNNACC_MAGIC || info.core_count > CNNRT_MAX_CORES)
		return -EINVAL;
	for (uint32_t i = 0; i < info.core_count; i++) {
		struct cnnacc_core_entry e;
		uint32_t *word = (uint32_t *)&e;

		for (uint32_t w = 0; w < sizeof(e) / 4; w++)
			word[w] = reg(sim, table + i * CNNACC_CORE_ENTRY_SIZE + 4 * w);
		cores[i] = (struct cnnrt_core_info){
			.type = e.type, .version = e.version,
			.window_offset = e.window_offset, .window_size = e.window_size,
			.queue_offset = e.queue_offset, .program_max = e.program_max,
			.job_cycles_max = (uint64_t)e.job_cycles_max_hi << 32 |
					  e.job_cycles_max_lo,
		};
		memcpy(cores[i].name, e.name, sizeof(e.name));
		memcpy(cores[i].param, e.param, sizeof(e.param));
	}
	return rt_device_set_info(&sim->base, &info, reg(sim, CNNACC_REG_CLOCK_HZ), cores) ?
		-EINVAL : 0;
}

static int start(struct rt_sim *sim)
{
	int ret;

	pthread_mutex_lock(&sim->lock);
	ret = probe(sim);
	for (uint32_t i = 0; i < sim->base.info.core_count && !ret; i++)
		ret = rt_sim_queue_start(&sim->core[i]);
	pthread_mutex_unlock(&sim->lock);
	return ret;
}

int rt_sim_open(const char *props, struct cnnrt_device **dev, struct cnnrt_error *err)
{
	struct cm_config config = { 0 };
	char text[CM_ERR_LEN] = "";
	struct rt_sim *sim;
	int ret = parse_props(props, &config, err);

	if (ret)
		return ret;
	sim = calloc(1, sizeof(*sim));
	if (!sim)
		return rt_fail(err, CNNRT_ENOMEM, "sim: out of memory");
	sim->base.ops = &sim_ops;
	sim->base.fd = -1;
	sim->verbose = getenv("CNNRT_SIM_LOG");
	pthread_mutex_init(&sim->lock, NULL);
	pthread_cond_init(&sim->changed, NULL);
	for (unsigned int i = 0; i < CNNRT_MAX_CORES; i++) {
		sim->core[i].sim = sim;
		sim->core[i].index = i;
		pthread_cond_init(&sim->core[i].wake, NULL);
	}
	snprintf(sim->base.info.path, sizeof(sim->base.info.path), "sim%s%.100s",
		 *props ? ":" : "", props);
	strcpy(sim->base.info.driver, "in-process");
	ret = rt_sim_mem_init(&sim->mem);
	if (ret) {
		ret = rt_fail_errno(err, ret, "sim: reserving address space for the bus");
	} else {
		sim->model = cm_device_create(&config, &host_ops, sim, text);
		if (!sim->model)
			ret = rt_fail(err, CNNRT_EINVAL, "sim: %s", text);
		else if ((ret = start(sim)))
			ret = rt_fail_errno(err, ret, "sim: starting the device");
	}
	if (ret)
		sim_close(&sim->base);
	else
		*dev = &sim->base;
	return ret;
}
