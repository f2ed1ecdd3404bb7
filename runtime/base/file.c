/* SPDX-License-Identifier: MIT */
/* Files named by the application. */
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int rt_open_file(const char *path, FILE **f, size_t *size, struct cnnrt_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;
	struct stat st;

	if (fd < 0)
		return rt_fail(err, CNNRT_EFILE, "%.200s: %s", path, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		ret = rt_fail(err, CNNRT_EFILE, "%.200s: not a regular file", path);
	} else {
		*size = (size_t)st.st_size;
		*f = fdopen(fd, "rb");
		ret = *f ? CNNRT_OK : rt_fail(err, CNNRT_ENOMEM, "%.200s: out of memory", path);
	}
	if (ret)
		close(fd);
	return ret;
}

int rt_open_folder(const char *path, int *fd, struct cnnrt_error *err)
{
	*fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *fd >= 0 ? CNNRT_OK :
	       rt_fail(err, CNNRT_EFILE, "folder %.200s: %s", path, strerror(errno));
}

int rt_open_folder_of(const char *file, int *fd, struct cnnrt_error *err)
{
	char *copy = strdup(file);
	int ret;

	if (!copy)
		return rt_fail(err, CNNRT_ENOMEM, "%.200s: out of memory", file);
	ret = rt_open_folder(dirname(copy), fd, err);
	free(copy);
	return ret;
}
