/* SPDX-License-Identifier: MIT */
#include "clients.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int clients_device(struct cnnrt_device *dev, struct client_device *d)
{
	struct cnnrt_core_info core = { .struct_size = sizeof(core) };
	struct cnnrt_error err;
	struct stat st;

	memset(d, 0, sizeof(*d));
	d->info.struct_size = sizeof(d->info);
	if (cnnrt_device_info(dev, &d->info, &err))
		return complain_error(&err);
	if (cnnrt_device_fd(dev) < 0 || fstat(cnnrt_device_fd(dev), &st) || !*d->info.bus)
		return complain(EXIT_USAGE, "%s: the kernel does not know this device",
				d->info.path);
	d->node = st.st_rdev;
	for (unsigned int i = 0; !cnnrt_device_core(dev, i, &core, &err); i++)
		snprintf(d->core[i], sizeof(d->core[i]), "%s.%u", core.name, i);
	return EXIT_DONE;
}

int clients_read_cores(struct client_device *d)
{
	for (unsigned int i = 0; i < d->info.core_count; i++) {
		char path[160];
		FILE *f;
		int n;

		snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device/core%u_busy_time_ns",
			 major(d->node), minor(d->node), i);
		f = fopen(path, "re");
		n = f ? fscanf(f, "%" SCNu64, &d->core_busy_ns[i]) : 0;
		if (f)
			fclose(f);
		if (n != 1)
			return complain(EXIT_FAILED, "%s: %s", path,
					f ? "no number" : strerror(errno));
	}
	return EXIT_DONE;
}

#define USAGE(member, fdinfo, debugfs)	{ offsetof(struct usage, member), #member, fdinfo, debugfs }

/* Fields of struct usage, uint64_t each: their names in JSON, fdinfo and debugfs. */
static const struct {
	size_t offset;
	const char *json, *fdinfo, *debugfs;
} usages[] = {
	USAGE(busy_ns, "drm-engine-", " busy_ns="), USAGE(cycles, "drm-cycles-", " cycles="),
	USAGE(jobs, "cnnacc-jobs-", " jobs="),
};

static uint64_t *usage_at(struct usage *u, size_t i)
{
	return (uint64_t *)(void *)((char *)u + usages[i].offset);
}

void json_usage(struct json *j, const struct usage *u)
{
	struct usage copy = *u;

	for (size_t i = 0; i < ARRAY_SIZE(usages); i++)
		json_u64(j, usages[i].json, *usage_at(&copy, i));
}

/* Returns the value in a line such as "drm-engine-NAME.0: 12 ns", NULL if the key is another. */
static const char *core_key(const char *line, const char *prefix, const char *core)
{
	size_t n = strlen(prefix), m = strlen(core);

	if (strncmp(line, prefix, n) || strncmp(line + n, core, m) || line[n + m] != ':')
		return NULL;
	return line + n + m + 1;
}

static void parse_core(const char *line, const char *core, struct usage *u)
{
	for (size_t i = 0; i < ARRAY_SIZE(usages); i++) {
		const char *rest = core_key(line, usages[i].fdinfo, core);

		if (rest)
			*usage_at(u, i) = strtoull(rest, NULL, 10);
	}
}

/* Bytes, KiB or MiB as drm-usage-stats.rst has it. */
static uint64_t parse_kib(const char *rest)
{
	char *end;
	uint64_t value = strtoull(rest, &end, 10);

	return strstr(end, "MiB") ? value << 10 : strstr(end, "KiB") ? value : value >> 10;
}

/* Returns false if the file does not belong to a client of the driver. */
static bool parse_fdinfo(const struct client_device *d, FILE *f, struct client *c)
{
	bool ours = false, numbered = false;
	char line[256];

	while (fgets(line, sizeof(line), f)) {
		if (core_key(line, "drm-", "driver"))
			ours = strstr(line, "cnnacc") != NULL;
		if (core_key(line, "drm-", "client-id")) {
			c->id = strtoull(strchr(line, ':') + 1, NULL, 10);
			numbered = true;
		}
		if (core_key(line, "drm-", "total-memory"))
			c->memory_kib = parse_kib(strchr(line, ':') + 1);
		if (core_key(line, "drm-", "resident-memory"))
			c->resident_kib = parse_kib(strchr(line, ':') + 1);
		for (unsigned int i = 0; i < d->info.core_count; i++)
			parse_core(line, d->core[i], &c->core[i]);
	}
	return ours && numbered;
}

static void read_comm(long pid, char *comm, size_t size)
{
	char path[64], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	f = fopen(path, "re");
	if (f && fgets(text, sizeof(text), f))
		text[strcspn(text, "\n")] = '\0';
	if (f)
		fclose(f);
	clean(text, comm, size);
}

/* One client can have many descriptors, in one process or several. */
static bool known(const struct clients *c, uint64_t id)
{
	for (unsigned int i = 0; i < c->count; i++)
		if (c->at[i].id == id)
			return true;
	return false;
}

static void add_file(const struct client_device *d, long pid, const char *fd, struct clients *c)
{
	struct client new = { .pid = pid };
	char path[320];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/fdinfo/%s", pid, fd);
	f = fopen(path, "re");
	if (!f)
		return;
	if (parse_fdinfo(d, f, &new) && !known(c, new.id)) {
		c->truncated = c->count == CLIENTS_MAX;
		if (!c->truncated) {
			read_comm(pid, new.comm, sizeof(new.comm));
			c->at[c->count++] = new;
		}
	}
	fclose(f);
}

static void read_process(const struct client_device *d, long pid, struct clients *c)
{
	struct dirent *e;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		struct stat st;

		if (!fstatat(dirfd(dir), e->d_name, &st, 0) && S_ISCHR(st.st_mode) &&
		    st.st_rdev == d->node)
			add_file(d, pid, e->d_name, c);
	}
	if (dir)
		closedir(dir);
}

void clients_read(const struct client_device *d, struct clients *c)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;

	c->count = 0;
	c->truncated = false;
	while (dir && (e = readdir(dir))) {
		long pid = strtol(e->d_name, NULL, 10);

		if (pid > 0 && pid != getpid())
			read_process(d, pid, c);
	}
	if (dir)
		closedir(dir);
}

void clients_debugfs(const struct client_device *d, const char *name, char path[CLIENTS_PATH])
{
	snprintf(path, CLIENTS_PATH, "/sys/kernel/debug/%s/%s/%s",
		 strncmp(d->info.path, "/dev/dri/", 9) ? "accel" : "dri", d->info.bus, name);
}

static FILE *open_debugfs(const struct client_device *d, const char *name)
{
	char path[CLIENTS_PATH];
	FILE *f;

	clients_debugfs(d, name, path);
	f = fopen(path, "re");
	if (!f && errno == EACCES)
		complain(0, "%s: %s: only the administrator may read it", d->info.path, path);
	else if (!f)
		complain(0, "%s: %s: %s", d->info.path, path, strerror(errno));
	return f;
}

/* Returns the number after key, 0 if the line lacks it. */
static uint64_t number(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at ? strtoull(at + strlen(key), NULL, 0) : 0;
}

static void parse_context(char *line, struct context *c)
{
	char *comm = strstr(line, " comm=");

	memset(c, 0, sizeof(*c));
	c->hw_id = (unsigned int)number(line, "ctx ");
	c->pid = (long)number(line, " pid=");
	c->state = number(line, " state=");
	c->submitted = number(line, " submitted=");
	c->failed = number(line, " failed=");
	c->reset = number(line, " reset=");
	if (comm) {
		comm[strcspn(comm, "\n")] = '\0';
		clean(comm + strlen(" comm="), c->comm, sizeof(c->comm));
	}
}

static void parse_context_core(const struct client_device *d, const char *line, struct context *c)
{
	char key[32];

	for (unsigned int i = 0; i < d->info.core_count; i++) {
		snprintf(key, sizeof(key), " core %s ", d->core[i]);
		if (!strstr(line, key))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(usages); k++)
			*usage_at(&c->core[i], k) = number(line, usages[k].debugfs);
	}
}

int clients_read_counters(const struct client_device *d, uint64_t counters[][CLIENTS_COUNTERS])
{
	static const char *const names[CLIENTS_COUNTERS] = CNNACC_STATS_NAMES;
	char line[1024], key[32];
	FILE *f = open_debugfs(d, "stats");
	unsigned int core = 0;

	if (!f)
		return EXIT_FAILED;
	while (core < d->info.core_count && fgets(line, sizeof(line), f)) {
		for (size_t i = 0; i < CLIENTS_COUNTERS; i++) {
			snprintf(key, sizeof(key), " %s=", names[i]);
			counters[core][i] = number(line, key);
		}
		core++;
	}
	fclose(f);
	return core == d->info.core_count ? EXIT_DONE :
	       complain(EXIT_FAILED, "%s: the driver tells the counters of %u of %u cores",
			d->info.path, core, d->info.core_count);
}

int clients_read_contexts(const struct client_device *d, struct contexts *c)
{
	FILE *f = open_debugfs(d, "contexts");
	char line[512];

	c->count = 0;
	c->truncated = false;
	if (!f)
		return EXIT_FAILED;
	while (fgets(line, sizeof(line), f)) {
		bool context = strstr(line, " pid=") != NULL;

		c->truncated |= context && c->count == CLIENTS_MAX;
		if (context && !c->truncated)
			parse_context(line, &c->at[c->count++]);
		else if (c->count && c->at[c->count - 1].hw_id == number(line, "ctx "))
			parse_context_core(d, line, &c->at[c->count - 1]);
	}
	fclose(f);
	return EXIT_DONE;
}
