/* SPDX-License-Identifier: MIT */
/* rt_unload LIBRARY: a process that used the library and unloaded it can still fork(). */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cnnrt.h>

static int use(void *library)
{
	int (*open_device)(const char *, unsigned int, struct cnnrt_device **,
			   struct cnnrt_error *) = dlsym(library, "cnnrt_device_open");
	void (*close_device)(struct cnnrt_device *) = dlsym(library, "cnnrt_device_close");
	struct cnnrt_device *dev;
	struct cnnrt_error err;

	if (!open_device || !close_device || open_device("sim", 0, &dev, &err))
		return -1;
	close_device(dev);
	return dlclose(library);
}

int main(int argc, char **argv)
{
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int status;
	pid_t pid;

	if (!library || use(library) || dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) {
		fprintf(stderr, "it cannot be loaded, used and unloaded\n");
		return 1;
	}
	pid = fork();
	if (!pid)
		_exit(0);
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}
