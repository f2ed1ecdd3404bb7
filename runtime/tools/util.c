/* SPDX-License-Identifier: MIT */
#include "util.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define READ_MIN	65536		/* capacity of a pipe */
#define READ_MAX	((size_t)1 << 33)

/* Returns the length of the UTF-8 sequence at s, 0 if it is invalid or not allowed in XML. */
static size_t utf8_length(const unsigned char *s)
{
	size_t n = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f) ||
	    (s[0] == 0xef && s[1] == 0xbf && s[2] > 0xbd))
		return 0;
	return n;
}

const char *clean(const char *text, char *buf, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t at = 0;

	while (*s) {
		size_t n = *s < 0x80 ? 1 : utf8_length(s);

		if (at + (n ? n : 1) >= len)
			break;
		if (!n || *s < 0x20 || *s == 0x7f)
			buf[at] = '?';
		else
			memcpy(buf + at, s, n);
		at += n ? n : 1;
		s += n ? n : 1;
	}
	buf[at] = '\0';
	return buf;
}

int complain(int status, const char *fmt, ...)
{
	char text[1024], shown[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s: %s\n", program_invocation_short_name,
		clean(text, shown, sizeof(shown)));
	return status;
}

int end_output(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	return complain(status ? status : EXIT_FAILED, "standard output: %s", strerror(errno));
}

int complain_error(const struct cnnrt_error *err)
{
	bool no_device = err->code == CNNRT_ENODEV || err->code == CNNRT_ENODRIVER ||
			 err->code == CNNRT_EACCES;

	return complain(no_device ? EXIT_NO_DEVICE : EXIT_FAILED, "%s", err->text);
}

int checked(int ret, const struct cnnrt_error *err)
{
	return ret ? complain_error(err) : EXIT_DONE;
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int open_device(const char *name, unsigned int flags, struct cnnrt_device **dev)
{
	struct cnnrt_error err;
	int ret;

	if (!cnnrt_device_open(name, flags, dev, &err))
		return EXIT_DONE;
	ret = complain_error(&err);
	return err.code == CNNRT_EGONE ? EXIT_NO_DEVICE :
	       err.code == CNNRT_EINVAL ? EXIT_USAGE : ret;
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

/* Reads to the end: pipes and sysfs files do not report their size. */
static bool read_all(FILE *f, size_t capacity, void **data, size_t *size)
{
	void *grown;

	*data = NULL;
	for (*size = 0; ; capacity *= 2) {
		if (capacity > READ_MAX) {
			errno = EFBIG;
			return false;
		}
		grown = realloc(*data, capacity);
		if (!grown)
			return false;
		*data = grown;
		*size += fread((char *)*data + *size, 1, capacity - *size, f);
		if (*size < capacity)
			return !ferror(f);
	}
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
		if (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode))
			ok = read_all(f, (size_t)st.st_size + READ_MIN, data, size);
		else
			errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	}
	if (!ok) {
		int saved = errno ? errno : EIO;

		free(*data);
		errno = saved;
	}
	fclose(f);
	return ok;
}

static bool is_writable(const char *path)
{
	bool ok = !access(path, W_OK);
	char *copy;

	if (ok || errno != ENOENT)
		return ok;
	copy = strdup(path);
	ok = copy && !access(dirname(copy), W_OK | X_OK);
	free(copy);
	return ok;
}

int check_writable(const char *path)
{
	return !path || is_writable(path) ? EXIT_DONE :
	       complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
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

int close_file(FILE *f, const char *path)
{
	bool bad = ferror(f);

	return fclose(f) || bad ? complain(EXIT_FAILED, "%s: %s", path, strerror(errno)) : EXIT_DONE;
}

int find_cores(const struct cnnrt_device *dev, const char *name, uint32_t *cores)
{
	struct cnnrt_error err;

	if (!cnnrt_device_find_cores(dev, name, cores, &err))
		return EXIT_DONE;
	return complain(EXIT_USAGE, "--core: %s", err.text);
}
