// SPDX-License-Identifier: MIT
/* EVENTFD, REG_RW and spurious interrupts. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

static int reg(int fd, uint32_t offset, uint32_t flags, uint32_t *value)
{
	struct drm_cnnacc_reg_rw args = { .offset = offset, .flags = flags, .value = *value };
	int ret = kmd_ioctl(fd, DRM_IOCTL_CNNACC_REG_RW, &args);

	*value = args.value;
	return ret;
}

static void test_registers(int fd)
{
	struct drm_cnnacc_reg_rw args = { .pad = 1 };
	uint32_t value = 0;
	int status;

	ok_ret(reg(fd, CNNACC_REG_MAGIC, 0, &value), 0, "read a register");
	ok(value == CNNACC_MAGIC, "it has the right value");
	value = 0x12345678;
	ok_ret(reg(fd, CNNACC_REG_SCRATCH, DRM_CNNACC_REG_WRITE, &value), 0, "write a register");
	value = 0;
	reg(fd, CNNACC_REG_SCRATCH, 0, &value);
	ok(value == 0x12345678, "it keeps the value");
	ok_ret(reg(fd, 2, 0, &value), -EINVAL, "offset not of a word");
	ok_ret(reg(fd, CNNACC_REGS_SIZE, 0, &value), -EINVAL, "offset past the registers");
	ok_ret(reg(fd, 0xfffffffc, 0, &value), -EINVAL, "offset far past the registers");
	ok_ret(reg(fd, 0, 2, &value), -EINVAL, "unknown flag");
	ok_ret(kmd_ioctl(fd, DRM_IOCTL_CNNACC_REG_RW, &args), -EINVAL, "pad set");
	if (!fork()) {
		if (setuid(65534))
			_exit(2);
		_exit(reg(fd, CNNACC_REG_MAGIC, 0, &value) == -EACCES ? 0 : 1);
	}
	ok(wait(&status) > 0 && !status, "another user may not");
}

/* The driver keeps every register but SCRATCH to itself: also those that it does not use. */
static void test_writes(int fd)
{
	uint32_t offset, before, value, allowed = 0, wrong = 0;

	kmd_stay_awake(true);
	for (offset = 0; offset < CNNACC_REGS_SIZE; offset += 4) {
		value = ~0u;
		switch (reg(fd, offset, DRM_CNNACC_REG_WRITE, &value)) {
		case 0:
			allowed++;
			break;
		case -EPERM:
			break;
		default:
			wrong++;
		}
	}
	reg(fd, CNNACC_REG_SCRATCH, 0, &before);
	kmd_stay_awake(false);
	ok(allowed == 1 && before == ~0u, "SCRATCH may be written");
	ok(!wrong, "a write of any other register is -EPERM");
}

static int event(int fd, uint32_t ctx, uint32_t core, int event_fd, uint32_t flags)
{
	struct drm_cnnacc_eventfd args = {
		.ctx_id = ctx, .core = core, .fd = event_fd, .flags = flags,
	};

	return kmd_ioctl(fd, DRM_IOCTL_CNNACC_EVENTFD, &args);
}

static void test_eventfd(int fd)
{
	uint32_t ctx = kmd_ctx(fd);
	int a = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), b = eventfd(0, EFD_CLOEXEC);

	ok_ret(event(fd, ctx, 0, a, 0), 0, "set");
	ok_ret(event(fd, ctx, 0, b, 0), 0, "replace");
	ok_ret(event(fd, ctx, 0, -1, DRM_CNNACC_EVENTFD_REMOVE), 0, "remove");
	ok_ret(event(fd, ctx, 0, -1, DRM_CNNACC_EVENTFD_REMOVE), 0, "remove what is not there");
	ok_ret(event(fd, ctx, 0, -1, 0), -EBADF, "no file");
	ok_ret(event(fd, ctx, 0, fd, 0), -EINVAL, "not an eventfd");
	ok_ret(event(fd, ctx, 8, a, 0), -EINVAL, "unknown core");
	ok_ret(event(fd, ctx, 0, a, 2), -EINVAL, "unknown flag");
	ok_ret(event(fd, 4711, 0, a, 0), -ENOENT, "unknown context");
	ok_ret(event(fd, ctx, 0, a, 0), 0, "set and leave it behind");
	close(a);
	close(b);
	ok_ret(kmd_ctx_destroy(fd, ctx), 0, "with its context");
}

static void test_spurious(int fd)
{
	uint32_t status = 0, i;
	struct kmd_env env = kmd_env(fd);
	int ret = 0;

	kmd_stay_awake(true);
	for (i = 0; i < 100 && !ret; i++) {
		kmd_poke(CNNACC_REG_IRQ_RAISE, 0xffffffff);
		ret = kmd_run(&env, kmd_program_nop(&env));
	}
	kmd_stay_awake(false);
	ok_ret(ret, 0, "jobs run while all interrupts are raised for nothing");
	ok(kmd_soon(!reg(fd, CNNACC_REG_IRQ_STATUS, 0, &status) && !(status & CNNACC_IRQ_ERROR)),
	   "and they are all taken");
	kmd_env_free(&env);
}

int main(void)
{
	int fd = kmd_open();

	test_registers(fd);
	test_writes(fd);
	test_eventfd(fd);
	test_spurious(fd);
	return done_testing();
}
