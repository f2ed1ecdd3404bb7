/* SPDX-License-Identifier: MIT */
#include "device.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The accelerator chosen among those of the machine. */
struct choice {
	const char *wanted;	/* a node's path, NULL: any */
	char path[128];
	int state;
	char text[CNNRT_ERROR_TEXT];
};

/*
 * Chooses the wanted accelerator, or the first usable one. If none is usable, reports the wanted
 * one, else the first. One without a node may be the wanted one.
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

static int find_accelerator(const char *wanted, struct choice *c, struct cnnrt_error *err)
{
	int ret;

	memset(c, 0, sizeof(*c));
	c->wanted = wanted;
	c->state = CNNRT_ENODEV;
	snprintf(c->text, sizeof(c->text), "%.100s: there is no such accelerator in this "
		 "machine; device \"sim\" (--device sim or CNNRT_DEVICE=sim) runs one inside the "
		 "process",
		 wanted ? wanted : "cnnacc");
	ret = cnnrt_device_enumerate(choose, c, err);
	return ret < 0 ? ret : CNNRT_OK;
}

static int open_found(const char *wanted, unsigned int flags, struct cnnrt_device **dev,
		      struct cnnrt_error *err)
{
	const char *load = getenv("CNNRT_LOAD_MODULE");
	struct choice c;
	int ret = find_accelerator(wanted, &c, err);

	if (ret)
		return ret;
	if (c.state == CNNRT_ENODRIVER &&
	    (flags & CNNRT_OPEN_LOAD_MODULE || (load && !strcmp(load, "1")))) {
		ret = rt_load_module(err) ?: find_accelerator(wanted, &c, err);
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
 * The number of fork() calls between the first process and this one. A pid does not identify the
 * process: a child in a pid namespace of its own can have its parent's. The handler ends with
 * dlclose(): glibc links pthread_atfork() into the library and registers it for the library.
 */
static unsigned int fork_count;
static int fork_watch_error;

static void on_fork_child(void)
{
	fork_count++;
}

static void __attribute__((constructor)) watch_forks(void)
{
	fork_watch_error = pthread_atfork(NULL, NULL, on_fork_child);
}

int cnnrt_device_open(const char *name, unsigned int flags, struct cnnrt_device **dev,
		      struct cnnrt_error *err)
{
	int ret;

	if (!dev || flags & ~CNNRT_OPEN_LOAD_MODULE)
		return rt_fail(err, CNNRT_EINVAL, "device: unknown flags 0x%x, or the result's "
			       "pointer is NULL", flags);
	if (fork_watch_error)
		return rt_fail_errno(err, fork_watch_error, "device: pthread_atfork");
	ret = open_device(name, flags, dev, err);
	if (ret)
		return ret;
	(*dev)->fork_count = fork_count;
	pthread_mutex_init(&(*dev)->lock, NULL);
	for (int i = 0; i < CNNRT_MAX_CORES; i++)
		(*dev)->event_fd[i] = -1;
	return CNNRT_OK;
}

void cnnrt_device_close(struct cnnrt_device *dev)
{
	if (!dev || !rt_is_ours(dev))
		return;
	rt_vm_destroy_all(dev);
	pthread_mutex_destroy(&dev->lock);
	dev->ops->close(dev);
}

bool rt_is_ours(const struct cnnrt_device *dev)
{
	return dev->fork_count == fork_count;
}

int rt_check_process(const struct cnnrt_device *dev, struct cnnrt_error *err)
{
	if (rt_is_ours(dev))
		return CNNRT_OK;
	return rt_fail(err, CNNRT_EINVAL, "%s: another process opened this device: open it again "
		       "in the child", dev->info.path);
}

int rt_check_runs(const struct cnnrt_device *dev, struct cnnrt_error *err)
{
	int ret = rt_check_process(dev, err);

	if (!ret && rt_is_caps(dev))
		ret = rt_fail(err, CNNRT_ENODEV, "%s: a description of a device: programs can be "
			      "compiled for it, not run on it", dev->info.path);
	return ret;
}

int cnnrt_device_info(struct cnnrt_device *dev, struct cnnrt_device_info *info,
		      struct cnnrt_error *err)
{
	const struct rt_struct *type = RT_STRUCT(cnnrt_device_info, max_buffer);
	struct cnnrt_device_info own = dev->info;
	struct rt_device_state state = { .clocks.current_hz = dev->info.clock_hz };
	int ret = rt_struct_check(type, info->struct_size, err);

	if (!ret)
		ret = rt_check_process(dev, err);
	if (ret)
		return ret;
	ret = dev->ops->state ? dev->ops->state(dev, &state) : 0;
	if (ret)
		return rt_fail_errno(err, ret, "%s: query", dev->info.path);
	own.clock_hz = (uint32_t)state.clocks.current_hz;
	own.reset_count = state.reset_count;
	own.device_ns = state.time.device_ns;
	own.cpu_ns = state.time.cpu_ns;
	own.target_hash = cnn_target_hash(&dev->target, (int)dev->info.core_count);
	rt_struct_write(type, info, &own);
	return CNNRT_OK;
}

int cnnrt_device_core(const struct cnnrt_device *dev, unsigned int index,
		      struct cnnrt_core_info *info, struct cnnrt_error *err)
{
	const struct rt_struct *type = RT_STRUCT(cnnrt_core_info, param);
	int ret = rt_struct_check(type, info->struct_size, err);

	if (ret)
		return ret;
	if (index >= dev->info.core_count)
		return rt_fail(err, CNNRT_EINVAL, "core %u: %s has cores 0..%u", index,
			       dev->info.path, dev->info.core_count - 1);
	rt_struct_write(type, info, &dev->core[index]);
	return CNNRT_OK;
}

void rt_list_cores(const struct cnnrt_device *dev, char *text, size_t len)
{
	size_t at = 0;

	*text = '\0';
	for (uint32_t i = 0; i < dev->info.core_count && at < len; i++)
		at += (size_t)snprintf(text + at, len - at, "%s%s.%u", i ? ", " : "",
				       dev->core[i].name, i);
}

/* Does name, as "NAME", "INDEX" or "NAME.INDEX", mean core i? */
static bool is_called(const struct cnnrt_device *dev, uint32_t i, const char *name)
{
	char full[64];

	snprintf(full, sizeof(full), "%s.%u", dev->core[i].name, i);
	return !strcmp(name, dev->core[i].name) || !strcmp(name, full) ||
	       !strcmp(name, full + strlen(dev->core[i].name) + 1);
}

int cnnrt_device_find_cores(const struct cnnrt_device *dev, const char *name, uint32_t *cores,
			    struct cnnrt_error *err)
{
	char known[CNNRT_ERROR_TEXT / 2];
	uint32_t found = 0;

	for (uint32_t i = 0; i < dev->info.core_count; i++)
		found |= is_called(dev, i, name) ? 1u << i : 0;
	if (!found) {
		rt_list_cores(dev, known, sizeof(known));
		return rt_fail(err, CNNRT_EINVAL, "%.60s has no core \"%.40s\": it has %s",
			       dev->info.path, name, known);
	}
	*cores = found;
	return CNNRT_OK;
}

int cnnrt_device_fd(const struct cnnrt_device *dev)
{
	return dev->fd;
}

static int reg_rw(struct cnnrt_device *dev, struct drm_cnnacc_reg_rw *rw, struct cnnrt_error *err)
{
	int ret = rt_check_runs(dev, err);

	if (ret)
		return ret;
	ret = dev->ops->reg_rw(dev, rw);
	if (ret == -EPERM)
		return rt_fail(err, CNNRT_EACCES, "%s: register 0x%x: the driver allows writes only "
			       "to registers without a side effect", dev->info.path, rw->offset);
	if (ret == -EACCES)
		return rt_fail(err, CNNRT_EACCES, "%s: register 0x%x: only the administrator "
			       "(CAP_SYS_ADMIN) may access registers", dev->info.path, rw->offset);
	if (ret == -EINVAL)
		return rt_fail(err, CNNRT_EINVAL, "%s: register 0x%x: multiple of 4 below 0x%x "
			       "wanted", dev->info.path, rw->offset, CNNACC_REGS_SIZE);
	return ret ? rt_fail_errno(err, ret, "%s: register 0x%x", dev->info.path, rw->offset) :
		     CNNRT_OK;
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
