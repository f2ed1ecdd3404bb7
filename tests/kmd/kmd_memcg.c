// SPDX-License-Identifier: MIT
/* Memory that the driver allocates for a process is charged to its memory control group. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kmd.h"

#define GROUP	"/run/cgroup/kmd"

/* Bytes charged to the memory control group as @key; the value may be up to 2 s old. */
static long long charged(const char *key)
{
	FILE *file = fopen(GROUP "/memory.stat", "r");
	long long value = -1, got;
	char name[64];

	while (file && fscanf(file, "%63s %lld", name, &got) == 2)
		if (!strcmp(name, key))
			value = got;
	if (file)
		fclose(file);
	return value;
}

static bool enter_group(void)
{
	mkdir("/run/cgroup", 0755);
	if (mount("none", "/run/cgroup", "cgroup2", 0, NULL) ||
	    kmd_write_file("/run/cgroup/cgroup.subtree_control", "+memory") ||
	    (mkdir(GROUP, 0755) && errno != EEXIST))
		return false;
	return !kmd_write_file(GROUP "/cgroup.procs", "0");
}

static void test_memory(void)
{
	const uint32_t tables = 512, bytes = 16 << 20;
	long long shmem, kernel, before;
	struct kmd_env env;
	struct kmd_bo bo;
	uint32_t i;
	int fd;

	if (!enter_group()) {
		skip("memory control group", "there is none to be had");
		return;
	}
	fd = kmd_open();
	env = kmd_env(fd);
	before = charged("shmem");
	bo = kmd_bo(fd, DRM_CNNACC_BO_DATA, bytes);
	kmd_map(fd, env.vm, bo.handle, DRM_CNNACC_BIND_READ, 0x40000000, bytes);
	ok(kmd_soon((shmem = charged("shmem") - before) >= bytes) && shmem < 2 * bytes,
	   "memory of buffers is charged to its owner");
	before = charged("kernel");
	for (i = 0; i < tables; i++)
		kmd_map(fd, env.vm, env.data.handle, DRM_CNNACC_BIND_READ,
			0x60000000 + ((uint64_t)i << 22), CNNACC_PAGE_SIZE);
	ok(kmd_soon((kernel = charged("kernel") - before) >=
		    (long long)tables * CNNACC_PAGE_SIZE * 9 / 10), "and so is that of page tables");
	note("%lld bytes of buffers, %lld of the kernel", shmem, kernel);
	kmd_bo_free(fd, &bo);
	kmd_env_free(&env);
	close(fd);
	kmd_write_file("/run/cgroup/cgroup.procs", "0");
	rmdir(GROUP);
	umount("/run/cgroup");
}

int main(void)
{
	test_memory();
	return done_testing();
}
