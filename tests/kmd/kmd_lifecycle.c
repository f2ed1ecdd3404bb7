// SPDX-License-Identifier: MIT
/*
 * Unload, unbind and removal while the device is in use, and rebind: unload is refused while the
 * module is in use; unbind and surprise removal are not, and are safe for all users.
 *
 * kmd_lifecycle	all tests, a few rounds each
 * kmd_lifecycle ROUNDS	unbind and surprise removal, ROUNDS times under load
 * kmd_lifecycle load	uses the device until it is removed
 * kmd_lifecycle hold	holds all kinds of objects of a file until the device is removed
 * kmd_lifecycle hold pull	the same, and switches off the power of the device's slot
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/dma-heap.h>
#include <linux/netlink.h>
#include <linux/pci_regs.h>
#include <linux/sync_file.h>
#include <linux/udmabuf.h>
#include <xf86drm.h>

#include "kmd.h"

#define LOADERS 4
#define CLOSED_VA 0x20000000u
#define CLOSED_SIZE (4u << 20)
#define CLOSERS 4
#define FETCHED_SIZE (64u << 20)
#define IMPORT_VA 0x20000000u

static char function[NAME_MAX + 1];

static int unload(void)
{
	return syscall(SYS_delete_module, "cnnacc", O_NONBLOCK) ? -errno : 0;
}

static int load(void)
{
	return system("modprobe cnnacc") ? -EIO : 0;
}

/* The number of the node changes while an old node is open. */
static void find_node(void)
{
	char path[PATH_MAX];
	glob_t found;

	if (glob(kmd_function_file("{accel/accel,drm/renderD}*"), GLOB_BRACE, NULL, &found))
		bail("node of the device");
	snprintf(path, sizeof(path), "/dev/%s/%s",
		 strstr(found.gl_pathv[0], "/accel/") ? "accel" : "dri",
		 basename(found.gl_pathv[0]));
	setenv("CNNACC_DEVICE", path, 1);
	globfree(&found);
}

static void check_works(const char *when)
{
	struct kmd_env env;

	find_node();
	env = kmd_env(kmd_open());
	ok_ret(kmd_run(&env, kmd_program_copy(&env, KMD_DATA_VA, KMD_DATA_VA + 64, 1)), 0,
	       "the device works %s", when);
	kmd_env_free(&env);
	close(env.fd);
}

/* The last references may be released asynchronously. */
static int unload_soon(void)
{
	int ret;

	kmd_soon((ret = unload()) != -EAGAIN);
	return ret;
}

static void test_unload(void)
{
	int fd = kmd_open(), i, ret = 0;

	ok_ret(unload(), -EAGAIN, "unload is refused while a file is open");
	close(fd);
	for (i = 0; i < 10 && !ret; i++) {
		ret = unload_soon();
		if (!ret)
			ret = load();
	}
	ok_ret(ret, 0, "unload and load ten times");
	check_works("after that");
}

static void test_fence_file(void)
{
	struct kmd_env env = kmd_env(kmd_open());
	struct sync_file_info info = { };
	uint32_t out = kmd_syncobj(env.fd);
	int file;

	kmd_submit(&env, kmd_program_nop(&env), 0, out);
	ok_ret(kmd_wait(env.fd, out), 0, "a job ends");
	if (drmSyncobjExportSyncFile(env.fd, out, &file))
		bail("drmSyncobjExportSyncFile");
	kmd_env_free(&env);
	close(env.fd);
	usleep(200000);
	ok_ret(unload(), -EAGAIN, "unload is refused while a fence file is open");
	ok(!ioctl(file, SYNC_IOC_FILE_INFO, &info) && info.status == 1,
	   "which still tells how the job ended");
	close(file);
	ok_ret(unload_soon(), 0, "unload after it is closed");
	ok_ret(load(), 0, "load");
}

static void test_rebind(void)
{
	int i, ret = 0;

	for (i = 0; i < 10 && !ret; i++) {
		ret = kmd_driver_file("unbind");
		if (!ret)
			ret = kmd_driver_file("bind");
	}
	ok_ret(ret, 0, "unbind and bind ten times");
	check_works("after that");
}

struct waiter {
	int fd;
	uint32_t syncobj;
	int ret;
};

static void *wait_for_job(void *arg)
{
	struct waiter *waiter = arg;

	waiter->ret = drmSyncobjWait(waiter->fd, &waiter->syncobj, 1, kmd_deadline(120000), 0, NULL);
	return NULL;
}

/* The removal of the device may still be running. */
static int fence_file_status(int file, struct sync_fence_info *fence)
{
	struct pollfd end = { .fd = file, .events = POLLIN };
	struct sync_file_info info = {
		.num_fences = 1, .sync_fence_info = (uintptr_t)fence,
	};

	if (poll(&end, 1, 120000) != 1)
		return -ETIME;
	return ioctl(file, SYNC_IOC_FILE_INFO, &info) ? -errno : info.status;
}

/* Every ioctl of the driver, with arguments that were valid before the removal. */
static void check_dead_calls(struct kmd_env *env)
{
	struct drm_cnnacc_dev_info info;
	struct drm_cnnacc_dev_query query = { .result = DRM_CNNACC_OBJ_ARRAY(1, &info) };
	struct drm_cnnacc_vm_create vm_create = { };
	struct drm_cnnacc_ctx_create create = {
		.priority = DRM_CNNACC_PRIORITY_NORMAL, .vm_id = env->vm,
	};
	struct drm_cnnacc_ctx_query state = { .ctx_id = env->ctx };
	struct drm_cnnacc_bo_create bo = { .size = 4096 };
	struct drm_cnnacc_bo_info bo_info = { .handle = env->data.handle };
	struct drm_cnnacc_bo_sync_op sync_op = {
		.handle = env->data.handle, .flags = DRM_CNNACC_BO_SYNC_FOR_CPU, .size = 4096,
	};
	struct drm_cnnacc_bo_sync sync = { .ops = DRM_CNNACC_OBJ_ARRAY(1, &sync_op) };
	struct drm_cnnacc_bind_op unmap = {
		.op = DRM_CNNACC_BIND_UNMAP, .va = KMD_DATA_VA, .size = env->data.size,
	};
	struct drm_cnnacc_vm_bind bind = {
		.vm_id = env->vm, .ops = DRM_CNNACC_OBJ_ARRAY(1, &unmap),
	};
	struct drm_cnnacc_task task = kmd_task(4);
	struct drm_cnnacc_job job = { .tasks = DRM_CNNACC_OBJ_ARRAY(1, &task) };
	struct drm_cnnacc_submit submit = {
		.ctx_id = env->ctx, .jobs = DRM_CNNACC_OBJ_ARRAY(1, &job),
	};
	struct drm_cnnacc_eventfd event = {
		.ctx_id = env->ctx, .flags = DRM_CNNACC_EVENTFD_REMOVE,
	};
	struct drm_cnnacc_reg_rw reg = { .offset = CNNACC_REG_MAGIC };
	struct drm_cnnacc_ctx_destroy destroy = { .ctx_id = env->ctx };
	struct drm_cnnacc_vm_destroy vm_destroy = { .vm_id = env->vm };
	const struct {
		const char *name;
		unsigned long request;
		void *arg;
	} calls[] = {
		{ "DEV_QUERY", DRM_IOCTL_CNNACC_DEV_QUERY, &query },
		{ "VM_CREATE", DRM_IOCTL_CNNACC_VM_CREATE, &vm_create },
		{ "CTX_CREATE", DRM_IOCTL_CNNACC_CTX_CREATE, &create },
		{ "CTX_QUERY", DRM_IOCTL_CNNACC_CTX_QUERY, &state },
		{ "BO_CREATE", DRM_IOCTL_CNNACC_BO_CREATE, &bo },
		{ "BO_INFO", DRM_IOCTL_CNNACC_BO_INFO, &bo_info },
		{ "BO_SYNC", DRM_IOCTL_CNNACC_BO_SYNC, &sync },
		{ "VM_BIND", DRM_IOCTL_CNNACC_VM_BIND, &bind },
		{ "SUBMIT", DRM_IOCTL_CNNACC_SUBMIT, &submit },
		{ "EVENTFD", DRM_IOCTL_CNNACC_EVENTFD, &event },
		{ "REG_RW", DRM_IOCTL_CNNACC_REG_RW, &reg },
		{ "CTX_DESTROY", DRM_IOCTL_CNNACC_CTX_DESTROY, &destroy },
		{ "VM_DESTROY", DRM_IOCTL_CNNACC_VM_DESTROY, &vm_destroy },
	};

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		ok_ret(kmd_ioctl(env->fd, calls[i].request, calls[i].arg), -ENODEV, "%s",
		       calls[i].name);
}

/* Calls that the DRM core handles. */
static void check_dead_file(struct kmd_env *env, uint64_t mmap_offset, int buf)
{
	struct drm_prime_handle out = { .handle = env->program.handle };
	struct drm_prime_handle in = { .fd = buf };
	void *map;

	ok_ret(kmd_ioctl(env->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &out), -ENODEV, "PRIME export");
	ok_ret(kmd_ioctl(env->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &in), -ENODEV, "PRIME import");
	map = mmap(NULL, env->data.size, PROT_READ, MAP_SHARED, env->fd, (off_t)mmap_offset);
	ok_ret(map == MAP_FAILED ? -errno : 0, -ENODEV, "mmap");
}

/* A dma-buf of another exporter, or -1. */
static int foreign_memory(void)
{
	struct dma_heap_allocation_data data = { .len = 4096, .fd_flags = O_RDWR | O_CLOEXEC };
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
	struct udmabuf_create create = { .size = 4096 };
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), buf = -1;

	if (dev >= 0) {
		create.memfd = memfd_create("kmd", MFD_ALLOW_SEALING);
		if (!ftruncate(create.memfd, 4096) &&
		    !fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
			buf = ioctl(dev, UDMABUF_CREATE, &create);
		close(create.memfd);
		close(dev);
	}
	if (heap >= 0) {
		if (buf < 0 && !ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &data))
			buf = data.fd;
		close(heap);
	}
	return buf;
}

static uint64_t mmap_offset(const struct kmd_env *env)
{
	struct drm_cnnacc_bo_info info = { .handle = env->data.handle };

	if (kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_BO_INFO, &info))
		bail("BO_INFO");
	return info.mmap_offset;
}

/* Objects that can outlive a device. */
struct held {
	struct kmd_env env;
	struct waiter waiter;
	pthread_t thread;
	int buf, foreign, file[2];
	uint64_t mmap_offset;
	uint32_t *map;
};

/* A running job, queued jobs, a waiting thread, mappings, exported and imported dma-bufs. */
static struct held *hold(void)
{
	static struct held held;
	struct kmd_env env = held.env = kmd_env(kmd_open());
	uint32_t first = kmd_syncobj(env.fd), last = kmd_syncobj(env.fd), handle, length, i;
	struct drm_cnnacc_bo_create create = {
		.size = 4096, .flags = DRM_CNNACC_BO_PRIVATE, .vm_id = env.vm,
	};

	if (drmPrimeHandleToFD(env.fd, env.data.handle, DRM_CLOEXEC | DRM_RDWR, &held.buf))
		bail("drmPrimeHandleToFD");
	held.mmap_offset = mmap_offset(&env);
	held.foreign = foreign_memory();
	if (held.foreign >= 0 && (drmPrimeFDToHandle(env.fd, held.foreign, &handle) ||
				  kmd_map(env.fd, env.vm, handle, DRM_CNNACC_BIND_READ, 0, 4096)))
		bail("import");
	note("%s memory of another driver", held.foreign >= 0 ? "with" : "without");
	kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_BO_CREATE, &create);
	held.waiter = (struct waiter){ .fd = env.fd, .syncobj = first };
	length = kmd_program_long(&env);
	kmd_submit_tasks(&env, length, KMD_LONG_TASKS, 0, first);
	for (i = 0; i < 10; i++)
		kmd_submit(&env, length, 0, last);
	if (drmSyncobjExportSyncFile(env.fd, first, &held.file[0]) ||
	    drmSyncobjExportSyncFile(env.fd, last, &held.file[1]))
		bail("drmSyncobjExportSyncFile");
	pthread_create(&held.thread, NULL, wait_for_job, &held.waiter);
	return &held;
}

static void check_held(struct held *held)
{
	struct sync_fence_info fence = { };
	struct kmd_env *env = &held->env;

	pthread_join(held->thread, NULL);
	ok(!held->waiter.ret || held->waiter.ret == -ENODEV, "the thread that waited goes on");
	ok_ret(fence_file_status(held->file[0], &fence), -ENODEV, "the running job's fence");
	ok_ret(fence_file_status(held->file[1], &fence), -ENODEV, "the queued job's fence");
	note("fence of driver %s, timeline %s", fence.driver_name, fence.obj_name);
	check_dead_calls(env);
	check_dead_file(env, held->mmap_offset, held->buf);
	memset(env->data.map, 0x77, env->data.size);
	held->map = mmap(NULL, env->data.size, PROT_READ, MAP_SHARED, held->buf, 0);
	ok(held->map != MAP_FAILED && *held->map == 0x77777777, "the memory is still there");
}

/* The buffer is system memory, so another device can import it. */
static void check_dead_buffer(struct held *held)
{
	struct kmd_env env = kmd_env(kmd_open());
	uint32_t handle, *data = env.data.map;

	ok(!drmPrimeFDToHandle(env.fd, held->buf, &handle) &&
	   !kmd_map(env.fd, env.vm, handle, DRM_CNNACC_BIND_READ, IMPORT_VA,
		    held->env.data.size) &&
	   !kmd_run(&env, kmd_program_copy(&env, IMPORT_VA, KMD_DATA_VA, 1)) &&
	   data[0] == 0x77777777 && data[15] == 0x77777777,
	   "a new device reads the dead one's dma-buf");
	kmd_env_free(&env);
	close(env.fd);
}

static void let_go_of_file(struct held *held)
{
	kmd_bo_free(held->env.fd, &held->env.program);
	munmap(held->env.data.map, held->env.data.size);
	close(held->env.fd);
	ok(*held->map == 0x77777777, "the dma-buf outlives the file");
}

static void let_go_of_rest(struct held *held)
{
	munmap(held->map, held->env.data.size);
	close(held->buf);
	if (held->foreign >= 0)
		close(held->foreign);
	close(held->file[0]);
	close(held->file[1]);
}

static void test_unbind_in_use(void)
{
	struct held *held = hold();

	usleep(10000);		/* until the thread waits */
	ok_ret(kmd_driver_file("unbind"), 0, "unbind while everything is in use");
	check_held(held);
	ok_ret(unload(), -EAGAIN, "unload is refused");
	ok_ret(kmd_driver_file("bind"), 0, "bind again");
	check_works("for a new file");
	check_dead_buffer(held);
	let_go_of_file(held);
	ok_ret(unload(), -EAGAIN, "and keeps the module");
	let_go_of_rest(held);
	ok_ret(unload_soon(), 0, "unload when all is closed");
	ok_ret(load(), 0, "load");
	check_works("after that");
}

/* Offset of a capability in the configuration space open as fd, 0 if there is none. */
static uint8_t capability(int fd, uint8_t wanted)
{
	uint8_t at = 0, id = 0;

	pread(fd, &at, 1, PCI_CAPABILITY_LIST);
	while (at && pread(fd, &id, 1, at) == 1 && id != wanted)
		pread(fd, &at, 1, at + PCI_CAP_LIST_NEXT);
	return at;
}

static char port[PATH_MAX];	/* path of the configuration space of the port */

static int write_control(int fd, uint8_t at, uint16_t control)
{
	return pwrite(fd, &control, 2, at + PCI_EXP_SLTCTL) == 2 ? 0 : -errno;
}

/*
 * Switches off the power of the slot without telling the kernel: the device is gone at once.  Then
 * the port reports that no card is present; a port with an attention button must be asked to.
 */
static int pull(void)
{
	char path[PATH_MAX];
	uint16_t control;
	int fd, ret = -EIO;
	uint8_t at;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/../config", function);
	if (!realpath(path, port))
		return -errno;
	fd = open(port, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	at = capability(fd, PCI_CAP_ID_EXP);
	if (at && pread(fd, &control, 2, at + PCI_EXP_SLTCTL) == 2)
		ret = write_control(fd, at, (control & ~PCI_EXP_SLTCTL_HPIE) |
				    PCI_EXP_SLTCTL_PCC | PCI_EXP_SLTCTL_PIC);
	if (!ret)
		ret = write_control(fd, at, control | PCI_EXP_SLTCTL_PDCE);
	close(fd);
	return ret;
}

/* The port ignores a new card until its indicator is off, one second after the power. */
static bool port_is_dark(void)
{
	int fd = open(port, O_RDONLY | O_CLOEXEC);
	uint16_t control = 0;

	if (fd < 0 || pread(fd, &control, 2, capability(fd, PCI_CAP_ID_EXP) + PCI_EXP_SLTCTL) != 2)
		bail("%s", port);
	close(fd);
	return (control & PCI_EXP_SLTCTL_PIC) == PCI_EXP_SLTCTL_PWR_IND_OFF;
}

/* The device that does not answer becomes wedged; the port removes it. */
static bool gone(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", function);
	return kmd_soon(access(path, F_OK) && port_is_dark());
}

/* Another process removes the device, unless the test itself pulls it out. */
static void test_hold(bool pulled)
{
	struct held *held = hold();

	note("holding");
	if (pulled) {
		ok_ret(pull(), 0, "the device is pulled out");
		ok(gone(), "and the kernel notices");
	}
	check_held(held);
	let_go_of_file(held);
	let_go_of_rest(held);
}

static uint32_t private_bo(struct kmd_env *env, uint64_t size)
{
	struct drm_cnnacc_bo_create create = {
		.size = size, .flags = DRM_CNNACC_BO_PRIVATE, .vm_id = env->vm,
	};

	if (kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_BO_CREATE, &create))
		bail("BO_CREATE");
	return create.handle;
}

/* Allocates all pages of a buffer, under the lock of its reservation object. */
static pid_t start_fetch(struct kmd_env *env, uint64_t size)
{
	uint32_t handle = private_bo(env, size);
	pid_t pid = fork();

	if (!pid) {
		kmd_mmap(env->fd, handle, size);
		_exit(0);
	}
	return pid;
}

static double fetch_time(void)
{
	struct kmd_env env = kmd_env(kmd_open());
	double start = kmd_seconds(), took;

	waitpid(start_fetch(&env, FETCHED_SIZE / 4), NULL, 0);
	took = 4 * (kmd_seconds() - start);
	kmd_env_free(&env);
	close(env.fd);
	return took;
}

struct closer {
	pthread_t thread;
	int fd;
	uint32_t handle;
	int ret;
	double end;
};

static struct closer closer(struct kmd_env *env)
{
	struct closer closer = { .fd = env->fd, .handle = private_bo(env, CLOSED_SIZE) };

	if (kmd_map(env->fd, env->vm, closer.handle, DRM_CNNACC_BIND_READ, CLOSED_VA,
		    CLOSED_SIZE) ||
	    kmd_unmap(env->fd, env->vm, CLOSED_VA, CLOSED_SIZE))
		bail("VM_BIND");
	return closer;
}

static void *close_bo(void *arg)
{
	struct closer *closer = arg;

	closer->ret = drmCloseBufferHandle(closer->fd, closer->handle);
	closer->end = kmd_seconds();
	return NULL;
}

static void remove_function(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", function);
	ok_ret(kmd_write_file(path, "1"), 0, "remove while buffers are being closed");
}

/*
 * Closes buffers, which has to wait for their reservation lock, while the device is removed: they
 * must be unmapped before the device is gone, which CONFIG_DMA_API_DEBUG checks.
 */
static void test_close_while_removed(void)
{
	double took = fetch_time(), start, end;
	struct kmd_env env = kmd_env(kmd_open());
	struct closer closers[CLOSERS];
	unsigned int i, later = 0, failed = 0;
	pid_t pid;

	for (i = 0; i < CLOSERS; i++)
		closers[i] = closer(&env);
	pid = start_fetch(&env, FETCHED_SIZE);
	usleep((useconds_t)(took * 1e5));
	for (i = 0; i < CLOSERS; i++)
		pthread_create(&closers[i].thread, NULL, close_bo, &closers[i]);
	usleep((useconds_t)(took * 1e5));
	start = kmd_seconds();
	remove_function();
	end = kmd_seconds();
	for (i = 0; i < CLOSERS; i++) {
		pthread_join(closers[i].thread, NULL);
		later += closers[i].end > end;
		failed += closers[i].ret != 0;
	}
	waitpid(pid, NULL, 0);
	note("fetching %.2f s, removal %.2f s; %u of %u closed after that, %u too late", took,
	     end - start, later, CLOSERS, failed);
	kmd_env_free(&env);
	close(env.fd);
	ok_ret(kmd_write_file("/sys/bus/pci/rescan", "1"), 0, "rescan");
	check_works("after that");
}

/*
 * Makes a device not answer, as after a surprise removal: turns off address decoding, or sets a
 * power state without registers.  Binding a driver restores it.
 */
static int vanish(bool asleep)
{
	uint16_t value = asleep ? 3 : 0;
	char path[PATH_MAX];
	int fd, ret = 0;
	uint8_t at;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", function);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	at = capability(fd, PCI_CAP_ID_PM);
	if (pwrite(fd, &value, 2, asleep && at ? at + PCI_PM_CTRL : PCI_COMMAND) != 2)
		ret = -errno;
	close(fd);
	return ret;
}

/* A socket that receives uevents from now on, or -1. */
static int listen_for_events(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)))
		bail("events of the kernel");
	return fd;
}

/* Waits for a uevent of a node of the device that contains a line. */
static bool next_event(int fd, const char *wanted)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char text[8192];

	while (poll(&ready, 1, 60000) == 1) {
		ssize_t n = recv(fd, text, sizeof(text) - 1, 0);
		bool found = false, change = false, node = false;

		text[n > 0 ? n : 0] = '\0';
		for (char *line = text; line < text + n; line += strlen(line) + 1) {
			found |= !strcmp(line, wanted);
			change |= !strcmp(line, "ACTION=change");
			node |= !strcmp(line, "SUBSYSTEM=accel") ||
				!strcmp(line, "SUBSYSTEM=drm");
		}
		if (found)
			return change && node;
	}
	return false;
}

static void test_wedged(void)
{
	struct kmd_env env = kmd_env(kmd_open());
	int events = listen_for_events();

	kmd_stay_awake(true);
	ok_ret(vanish(false), 0, "a device does not answer");
	ok_ret(kmd_force_reset("device"), 0, "and does not reset");
	ok_ret(kmd_run(&env, kmd_program_nop(&env)), -ENODEV, "so it is given up");
	if (events < 0)
		skip("an event says so", "a kernel without netlink");
	else
		ok(next_event(events, "WEDGED=rebind,bus-reset"), "an event says so");
	close(events);
	kmd_env_free(&env);
	close(env.fd);
	ok_ret(kmd_driver_file("unbind"), 0, "unbind");
	ok_ret(kmd_driver_file("bind"), 0, "bind");
	check_works("after that");
}

/* Runs until the device is gone; failures that the helpers report then are ignored. */
static void load_the_device(void)
{
	if (!freopen("/dev/null", "w", stdout))
		_exit(1);
	for (;;) {
		struct kmd_env env = kmd_env(kmd_open());
		uint32_t i;

		for (i = 0; i < 20; i++) {
			kmd_submit(&env, kmd_program_delay(&env, 10000 * i), 0, 0);
			if (kmd_unmap(env.fd, env.vm, KMD_DATA_VA, env.data.size) == -ENODEV)
				_exit(0);
			kmd_map(env.fd, env.vm, env.data.handle, DRM_CNNACC_BIND_READ,
				KMD_DATA_VA, env.data.size);
		}
		kmd_env_free(&env);
		close(env.fd);
	}
}

enum removal { UNBIND, VANISH, SLEEP };

/* Returns the longest time of an unbind, or -errno. */
static double remove_under_load(enum removal how, unsigned int seed)
{
	pid_t pid[LOADERS];
	int i, status, ret = 0;
	bool died = false;
	double start;

	for (i = 0; i < LOADERS; i++) {
		pid[i] = fork();
		if (!pid[i])
			load_the_device();
	}
	usleep(50000 + seed * 7919 % 200 * 1000);
	if (how != UNBIND) {
		ret = vanish(how == SLEEP);
		usleep(seed * 104729 % 100 * 1000);
	}
	start = kmd_seconds();
	if (!ret)
		ret = kmd_driver_file("unbind");
	start = kmd_seconds() - start;
	for (i = 0; i < LOADERS; i++)
		died |= waitpid(pid[i], &status, 0) != pid[i] || WIFSIGNALED(status);
	if (!ret)
		ret = kmd_driver_file("bind");
	find_node();
	return ret ? ret : died ? -ECHILD : start;
}

static void test_removal(const char *name, bool surprise, unsigned int rounds)
{
	double longest = 0, took = 0, start = kmd_seconds();
	unsigned int i;

	for (i = 0; i < rounds && took >= 0; i++) {
		took = remove_under_load(!surprise ? UNBIND : i % 2 ? VANISH : SLEEP, i);
		if (took > longest)
			longest = took;
	}
	ok(took >= 0, "%s and bind %u times under load", name, rounds);
	if (took < 0)
		note("round %u: %s", i, strerror((int)-took));
	note("%.0f s, the longest unbind %.2f s", kmd_seconds() - start, longest);
	check_works("after that");
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 3;

	if (argc > 1 && !strcmp(argv[1], "load"))
		load_the_device();
	snprintf(function, sizeof(function), "%s", kmd_function());
	if (argc > 1 && !strcmp(argv[1], "hold")) {
		test_hold(argc > 2 && !strcmp(argv[2], "pull"));
		return done_testing();
	}
	if (argc == 1) {
		test_unload();
		test_fence_file();
		test_rebind();
		test_unbind_in_use();
		if (kmd_is_pci()) {
			test_close_while_removed();
			test_wedged();
		}
	}
	test_removal("unbind", false, rounds);
	/* Nothing but reset and clock makes a platform device vanish. */
	if (kmd_is_pci())
		test_removal("vanish, unbind", true, rounds);
	return done_testing();
}
