/* SPDX-License-Identifier: MIT */
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int complain(int status, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return status;
}

int complain_error(const struct cnnrt_error *err)
{
	bool no_device = err->code == CNNRT_ENODEV || err->code == CNNRT_ENODRIVER ||
			 err->code == CNNRT_EACCES;

	return complain(no_device ? EXIT_NO_DEVICE : EXIT_FAILED, "%s", err->text);
}

bool parse_u64(const char *text, uint64_t *value)
{
	char *end;

	if (!*text || *text == '-' || *text == '+' || *text == ' ')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return !errno && !*end;
}

bool read_file(const char *path, void **data, size_t *size)
{
	FILE *f = fopen(path, "rbe");
	struct stat st;
	bool ok = false;

	if (!f)
		return false;
	*data = NULL;
	if (!fstat(fileno(f), &st)) {
		if (S_ISREG(st.st_mode)) {
			*size = (size_t)st.st_size;
			*data = malloc(*size + 1);
			ok = *data && fread(*data, 1, *size, f) == *size;
		} else {
			errno = EISDIR;
		}
	}
	if (!ok) {
		int saved = errno ? errno : EIO;

		free(*data);
		errno = saved;
	}
	fclose(f);
	return ok;
}

bool write_file(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "wbe");
	bool ok;

	if (!f)
		return false;
	ok = fwrite(data, 1, size, f) == size;
	return !fclose(f) && ok;
}

int find_core(const struct cnnrt_device *dev, const char *name)
{
	struct cnnrt_core_info core;
	struct cnnrt_error err;
	uint64_t index;
	unsigned int i;

	if (parse_u64(name, &index) && index < CNNRT_MAX_CORES &&
	    !cnnrt_device_core(dev, (unsigned int)index, &core, &err))
		return (int)index;
	for (i = 0; !cnnrt_device_core(dev, i, &core, &err); i++)
		if (!strcmp(core.name, name))
			return (int)i;
	complain(0, "the device has no core \"%s\" among its %u", name, i);
	return -1;
}
