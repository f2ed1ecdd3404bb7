/* SPDX-License-Identifier: MIT */
#include "device.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Kernels have pages of up to 64 KiB; what libcnnrt maps starts at multiples of more. */
#define MAX_PAGE_SIZE	0x10000u

static const char *check_info(const struct drm_cnnacc_dev_info *info)
{
	if (!info->core_count || info->core_count > CNNRT_MAX_CORES)
		return "core_count";
	if (info->va_bits != CNNACC_VA_BITS)
		return "va_bits";
	if (!info->clock_hz)
		return "clock_hz";
	if (info->page_size < CNNACC_PAGE_SIZE || info->page_size > MAX_PAGE_SIZE ||
	    info->page_size & (info->page_size - 1))
		return "page_size";
	return info->max_tasks ? NULL : "max_tasks";
}

const char *rt_device_set_info(struct cnnrt_device *dev, const struct drm_cnnacc_dev_info *info,
			       const struct drm_cnnacc_core_info *cores)
{
	const char *bad = check_info(info);

	if (bad)
		return bad;
	dev->info.hw_version = info->hw_version;
	dev->info.features = info->features;
	dev->info.clock_hz = info->clock_hz;
	dev->info.core_count = info->core_count;
	dev->info.reset_count = info->reset_count;
	dev->info.max_buffer = info->max_bo_size;
	dev->page_size = info->page_size;
	dev->max_contexts = info->max_contexts;
	dev->max_tasks = info->max_tasks;
	for (uint32_t i = 0; i < info->core_count; i++) {
		const struct drm_cnnacc_core_info *c = &cores[i];

		dev->core[i] = (struct cnnrt_core_info){
			.type = c->type, .version = c->version,
			.name = rt_core_name(c->type),
			.window_offset = c->window_offset, .window_size = c->window_size,
			.queue_offset = c->queue_offset, .program_max = c->program_max,
			.job_cycles_max = c->job_cycles_max,
		};
		memcpy(dev->core[i].param, c->param, sizeof(dev->core[i].param));
	}
	return NULL;
}

/* What a walk over the machine's accelerators ended with. */
struct choice {
	const char *wanted;	/* a node's path, NULL: any */
	char path[128];
	int state;
	char text[CNNRT_ERROR_TEXT];
};

/*
 * Of those that cannot be used the one that was asked for is told about, else the first; one
 * without a node may be what was asked for.
 */
static int choose(const struct cnnrt_found *f, void *opaque)
{
	struct choice *c = opaque;
	bool named = c->wanted && !strcmp(c->wanted, f->path);

	if (c->wanted && *f->path && !named)
		return 0;
	if (f->state != CNNRT_OK && !named && c->state != CNNRT_ENODEV)
		return 0;
	c->state = f->state;
	snprintf(c->path, sizeof(c->path), "%.127s", f->path);
	snprintf(c->text, sizeof(c->text), "accelerator %.40s%s%.100s: %.160s", f->bus,
		 *f->path ? " " : "", f->path, f->remedy);
	return f->state == CNNRT_OK || named;
}

static int look(const char *wanted, struct choice *c, struct cnnrt_error *err)
{
	int ret;

	memset(c, 0, sizeof(*c));
	c->wanted = wanted;
	c->state = CNNRT_ENODEV;
	snprintf(c->text, sizeof(c->text), "%.100s: there is no such accelerator in this "
		 "machine; device \"sim\" runs one inside the process",
		 wanted ? wanted : "cnnacc");
	ret = cnnrt_device_enumerate(choose, c, err);
	return ret < 0 ? ret : CNNRT_OK;
}

static int open_found(const char *wanted, unsigned int flags, struct cnnrt_device **dev,
		      struct cnnrt_error *err)
{
	const char *load = getenv("CNNRT_LOAD_MODULE");
	struct choice c;
	int ret = look(wanted, &c, err);

	if (ret)
		return ret;
	if (c.state == CNNRT_ENODRIVER &&
	    (flags & CNNRT_OPEN_LOAD_MODULE || (load && !strcmp(load, "1")))) {
		ret = rt_load_module(err);
		if (!ret)
			ret = look(wanted, &c, err);
		if (ret)
			return ret;
	}
	if (c.state != CNNRT_OK)
		return rt_fail(err, c.state, "%s", c.text);
	return rt_kernel_open(c.path, dev, err);
}

static int open_device(const char *name, unsigned int flags, struct cnnrt_device **dev,
		       struct cnnrt_error *err)
{
	struct stat st;

	if (!name)
		name = getenv("CNNRT_DEVICE");
	if (name && !*name)
		name = NULL;
	if (name && (!strcmp(name, "sim") || !strncmp(name, "sim:", 4)))
		return rt_sim_open(name[3] ? name + 4 : "", dev, err);
	if (name && !strncmp(name, "caps:", 5))
		return rt_caps_open(name + 5, dev, err);
	if (!name)
		return open_found(NULL, flags, dev, err);
	if (!stat(name, &st) && !S_ISCHR(st.st_mode))
		return rt_fail(err, CNNRT_ENODEV, "%.200s: not a device node", name);
	if (!stat(name, &st) && !access(name, R_OK | W_OK))
		return rt_kernel_open(name, dev, err);
	return open_found(name, flags, dev, err);
}

/*
 * fork()s that led to this process.  A pid would not do: a child in a namespace of its own can have
 * its parent's.  glibc links pthread_atfork() into the library itself, registers the handler under
 * the library's handle and drops it at dlclose().
 */
static unsigned int forks;
static int forks_error;

static void count_fork(void)
{
	forks++;
}

static void __attribute__((constructor)) watch_forks(void)
{
	forks_error = pthread_atfork(NULL, NULL, count_fork);
}

int cnnrt_device_open(const char *name, unsigned int flags, struct cnnrt_device **dev,
		      struct cnnrt_error *err)
{
	int ret;

	if (!dev || flags & ~CNNRT_OPEN_LOAD_MODULE)
		return rt_fail(err, CNNRT_EINVAL, "device: unknown flags 0x%x or no result",
			       flags);
	if (forks_error)
		return rt_fail_errno(err, forks_error, "device: pthread_atfork");
	ret = open_device(name, flags, dev, err);
	if (!ret)
		(*dev)->forks = forks;
	return ret;
}

void cnnrt_device_close(struct cnnrt_device *dev)
{
	if (dev && rt_is_ours(dev))
		dev->ops->close(dev);
}

bool rt_is_ours(const struct cnnrt_device *dev)
{
	return dev->forks == forks;
}

int rt_check_process(const struct cnnrt_device *dev, struct cnnrt_error *err)
{
	if (rt_is_ours(dev))
		return CNNRT_OK;
	return rt_fail(err, CNNRT_EINVAL, "%s: another process opened this device; a child opens "
		       "it anew", dev->info.path);
}

int cnnrt_device_info(struct cnnrt_device *dev, struct cnnrt_device_info *info,
		      struct cnnrt_error *err)
{
	uint64_t resets;
	int ret = rt_check_process(dev, err);

	if (ret)
		return ret;
	ret = dev->ops->reset_count(dev, &resets);
	if (ret)
		return rt_fail_errno(err, ret, "%s: query", dev->info.path);
	*info = dev->info;
	info->reset_count = resets;
	return CNNRT_OK;
}

int cnnrt_device_core(const struct cnnrt_device *dev, unsigned int index,
		      struct cnnrt_core_info *info, struct cnnrt_error *err)
{
	if (index >= dev->info.core_count)
		return rt_fail(err, CNNRT_EINVAL, "core %u: %s has cores 0..%u", index,
			       dev->info.path, dev->info.core_count - 1);
	*info = dev->core[index];
	return CNNRT_OK;
}

int cnnrt_device_fd(const struct cnnrt_device *dev)
{
	return dev->fd;
}

static int reg_rw(struct cnnrt_device *dev, struct drm_cnnacc_reg_rw *rw,
		  struct cnnrt_error *err)
{
	int ret = rt_check_process(dev, err);

	if (ret)
		return ret;
	ret = dev->ops->reg_rw(dev, rw);
	if (ret == -EPERM)
		return rt_fail(err, CNNRT_EACCES, "%s: register 0x%x: in a kernel that is locked "
			       "down (kernel_lockdown(7)) nobody may write registers",
			       dev->info.path, rw->offset);
	if (ret == -EACCES)
		return rt_fail(err, CNNRT_EACCES, "%s: register 0x%x: only the administrator "
			       "(CAP_SYS_ADMIN) may access registers", dev->info.path, rw->offset);
	if (ret)
		return rt_fail_errno(err, ret, "%s: register 0x%x: multiple of 4 below 0x%x wanted",
				     dev->info.path, rw->offset, CNNACC_REGS_SIZE);
	return CNNRT_OK;
}

int cnnrt_device_reg_read(struct cnnrt_device *dev, uint32_t offset, uint32_t *value,
			  struct cnnrt_error *err)
{
	struct drm_cnnacc_reg_rw rw = { .offset = offset };
	int ret = reg_rw(dev, &rw, err);

	if (!ret)
		*value = rw.value;
	return ret;
}

int cnnrt_device_reg_write(struct cnnrt_device *dev, uint32_t offset, uint32_t value,
			   struct cnnrt_error *err)
{
	struct drm_cnnacc_reg_rw rw = {
		.offset = offset, .flags = DRM_CNNACC_REG_WRITE, .value = value,
	};

	return reg_rw(dev, &rw, err);
}
