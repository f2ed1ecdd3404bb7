/* SPDX-License-Identifier: MIT */
/*
 * Device descriptions: files of "key=value" lines, to compile for a device without having it, or
 * with the costs of a stated target (compile/target.h). Each line of the costs may be left out.
 */
#include "device.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct caps_info {
	struct drm_cnnacc_dev_info dev;
	uint32_t clock_hz;
};

struct caps {
	struct caps_info info;
	struct cnnrt_core_info core[CNNRT_MAX_CORES];
	struct cnn_target target;
	/* A bit for each field so far, by core; the device's own fields in the last. */
	uint32_t seen[CNNRT_MAX_CORES + 1];
	uint64_t target_seen;	/* a bit for each number of the target */
};

_Static_assert(CNN_TARGET_NUMBERS <= 64, "target_seen has a bit for each");

struct field {
	const char *key;
	size_t offset, size;
	bool text;
};

#define FIELD(type, key, member, is_text) \
	{ key, offsetof(struct type, member), sizeof(((struct type *)0)->member), is_text }
#define INFO(member)	FIELD(caps_info, #member, dev.member, false)
#define CORE(member)	FIELD(cnnrt_core_info, #member, member, false)
#define PARAM(i)	FIELD(cnnrt_core_info, "param" #i, param[i], false)

static const struct field info_fields[] = {
	INFO(hw_version), INFO(features),
	FIELD(caps_info, "clock_hz", clock_hz, false), INFO(va_bits), INFO(page_size),
	INFO(max_contexts), INFO(max_tasks), INFO(max_bo_size), INFO(core_count),
};

static const struct field core_fields[] = {
	FIELD(cnnrt_core_info, "name", name, true), CORE(type), CORE(version),
	CORE(window_offset), CORE(window_size), CORE(queue_offset), CORE(program_max),
	CORE(job_cycles_max),
	PARAM(0), PARAM(1), PARAM(2), PARAM(3), PARAM(4), PARAM(5), PARAM(6), PARAM(7),
	PARAM(8), PARAM(9), PARAM(10), PARAM(11), PARAM(12), PARAM(13), PARAM(14), PARAM(15),
};

static void print_fields(FILE *f, const char *prefix, const struct field *fields, size_t n,
			 const void *data)
{
	for (size_t i = 0; i < n; i++) {
		const uint8_t *field = (const uint8_t *)data + fields[i].offset;
		uint64_t v = 0;

		if (fields[i].text) {
			fprintf(f, "%s%s=%.*s\n", prefix, fields[i].key, (int)fields[i].size,
				(const char *)field);
			continue;
		}
		memcpy(&v, field, fields[i].size);
		fprintf(f, "%s%s=0x%llx\n", prefix, fields[i].key, (unsigned long long)v);
	}
}

/* The clocks of cores that there are not are left out. */
static void print_target(FILE *f, const struct cnn_target *t, uint32_t cores)
{
	uint32_t count = CNN_TARGET_NUMBERS - CNNRT_MAX_CORES + cores;
	char key[CNN_TARGET_KEY_LEN];

	fprintf(f, "# costs: Documentation/user/cost.rst\n");
	for (uint32_t i = 0; i < count; i++) {
		cnn_target_key((int)i, key);
		fprintf(f, "%s=%lld\n", key, (long long)cnn_target_number(t, (int)i));
	}
}

int cnnrt_device_save_caps(const struct cnnrt_device *dev, const char *path,
			   struct cnnrt_error *err)
{
	const struct caps_info info = {
		.dev = {
			.hw_version = dev->info.hw_version, .features = dev->info.features,
			.va_bits = CNNACC_VA_BITS, .page_size = dev->page_size,
			.max_contexts = dev->max_contexts, .max_tasks = dev->max_tasks,
			.max_bo_size = dev->info.max_buffer, .core_count = dev->info.core_count,
		},
		.clock_hz = dev->info.clock_hz,
	};
	FILE *f = fopen(path, "we");
	bool bad;

	if (!f)
		return rt_fail(err, CNNRT_EFILE, "%.200s: %s", path, strerror(errno));
	fprintf(f, "# cnnacc device: %s\n", dev->info.driver);
	print_fields(f, "", info_fields, RT_ARRAY_SIZE(info_fields), &info);
	for (uint32_t i = 0; i < info.dev.core_count; i++) {
		char prefix[24];

		snprintf(prefix, sizeof(prefix), "core%u.", i);
		print_fields(f, prefix, core_fields, RT_ARRAY_SIZE(core_fields), &dev->core[i]);
	}
	print_target(f, &dev->target, info.dev.core_count);
	bad = ferror(f);
	bad = fclose(f) || bad;
	return bad ? rt_fail(err, CNNRT_EFILE, "%.200s: %s", path, strerror(errno)) : CNNRT_OK;
}

/* Index of the field named key, -1 if there is none. */
static int find(const char *key, const struct field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(key, fields[i].key))
			return (int)i;
	return -1;
}

static bool put(const struct field *f, void *data, const char *text)
{
	char *end;
	uint64_t v;

	if (f->text) {
		if (strlen(text) >= f->size)
			return false;
		strcpy((char *)data + f->offset, text);
		return true;
	}
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	v = strtoull(text, &end, 0);
	if (errno || *end || (f->size == 4 && v > UINT32_MAX))
		return false;
	memcpy((uint8_t *)data + f->offset, &v, f->size);
	return true;
}

/* The number of the target that has this key, -1 if none has. */
static int find_number(const char *key)
{
	char have[CNN_TARGET_KEY_LEN];

	for (int i = 0; i < CNN_TARGET_NUMBERS; i++) {
		cnn_target_key(i, have);
		if (!strcmp(key, have))
			return i;
	}
	return -1;
}

/* Parses the value of a number of the target; returns NULL or what is wrong. */
static const char *read_number(struct caps *c, int i, const char *text)
{
	bool is_clock = i >= CNN_TARGET_NUMBERS - CNNRT_MAX_CORES;
	unsigned long long v;
	char *end;

	if (c->target_seen & 1ull << i)
		return "a key that was given before";
	c->target_seen |= 1ull << i;
	errno = 0;
	v = isdigit((unsigned char)*text) ? strtoull(text, &end, 0) : ULLONG_MAX;
	if (v > CNN_TARGET_NUMBER_MAX || errno || *end)
		return "a value that is no number from 0 to 1099511627776 (2^40)";
	if (is_clock && !v)
		return "a clock of 0";
	cnn_target_set_number(&c->target, i, (int64_t)v);
	return NULL;
}

/* Parses a line that it cuts at the end of its key; returns NULL or what is wrong. */
static const char *read_line(struct caps *c, char *line)
{
	char *value = strchr(line, '=');
	unsigned int core = CNNRT_MAX_CORES;
	const struct field *fields = info_fields;
	void *data = &c->info;
	int skip = 0, i;

	if (!value)
		return "no \"=\" after the key";
	*value++ = '\0';
	i = find_number(line);
	if (i >= 0)
		return read_number(c, i, value);
	if (sscanf(line, "core%u.%n", &core, &skip) == 1 && skip) {
		if (core >= CNNRT_MAX_CORES)
			return "a core above the highest possible index";
		fields = core_fields;
		data = &c->core[core];
	}
	i = find(line + skip, fields, skip ? RT_ARRAY_SIZE(core_fields) :
					     RT_ARRAY_SIZE(info_fields));
	if (i < 0)
		return "an unknown key";
	if (c->seen[core] & 1u << i)
		return "a key that was given before";
	c->seen[core] |= 1u << i;
	if (put(&fields[i], data, value))
		return NULL;
	return fields[i].text ? "a name that is too long" :
				"a value that is no number, or too large";
}

static int check_seen(const struct caps *c, const char *path, struct cnnrt_error *err)
{
	uint32_t all = (1u << RT_ARRAY_SIZE(info_fields)) - 1;
	uint32_t lacks = all & ~c->seen[CNNRT_MAX_CORES];

	if (lacks)
		return rt_fail(err, CNNRT_EINVAL, "%.200s: %s is missing", path,
			       info_fields[__builtin_ctz(lacks)].key);
	for (uint32_t i = 0; i < CNNRT_MAX_CORES && i < c->info.dev.core_count; i++) {
		lacks = ((1u << RT_ARRAY_SIZE(core_fields)) - 1) & ~c->seen[i];
		if (lacks)
			return rt_fail(err, CNNRT_EINVAL, "%.200s: core%u.%s is missing", path, i,
				       core_fields[__builtin_ctz(lacks)].key);
	}
	return CNNRT_OK;
}

static int read_caps(const char *path, struct caps *c, struct cnnrt_error *err)
{
	char line[256];
	size_t size;
	FILE *f;
	int ret = rt_open_file(path, &f, &size, err);

	if (ret)
		return ret;
	for (int n = 1; !ret && fgets(line, sizeof(line), f); n++) {
		const char *why = NULL;

		line[strcspn(line, "\r\n")] = '\0';
		if (*line && *line != '#')
			why = read_line(c, line);
		if (why)
			ret = rt_fail(err, CNNRT_EINVAL, "%.140s: line %d: %s: %.60s", path, n,
				      why, line);
	}
	if (!ret && ferror(f))
		ret = rt_fail(err, CNNRT_EFILE, "%.200s: %s", path, strerror(errno));
	fclose(f);
	return ret;
}

/* Copies the numbers that the file has. */
static void apply_target(const struct caps *c, struct cnn_target *target)
{
	for (int i = 0; i < CNN_TARGET_NUMBERS; i++)
		if (c->target_seen & 1ull << i)
			cnn_target_set_number(target, i, cnn_target_number(&c->target, i));
}

int rt_caps_read_target(const char *path, const struct cnnrt_device *dev,
			struct cnn_target *target, struct cnnrt_error *err)
{
	struct caps c = { 0 };
	int ret = read_caps(path, &c, err);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < dev->info.core_count; i++)
		if (*c.core[i].name && strcmp(c.core[i].name, dev->core[i].name))
			return rt_fail(err, CNNRT_EINVAL, "%.120s: core%u.name=%s, but core %u of "
				       "%.60s is %s: its costs are for another device", path, i,
				       c.core[i].name, i, dev->info.path, dev->core[i].name);
	*target = cnn_target_reference;
	for (int i = 0; i < CNNRT_MAX_CORES; i++)
		target->core_hz[i] = dev->info.clock_hz;
	apply_target(&c, target);
	return CNNRT_OK;
}

static void caps_close(struct cnnrt_device *dev)
{
	free(dev);
}

/* What calls the other functions asks rt_check_runs() first. */
static const struct rt_device_ops caps_ops = {
	.close = caps_close,
};

bool rt_is_caps(const struct cnnrt_device *dev)
{
	return dev->ops == &caps_ops;
}

int rt_caps_open(const char *path, struct cnnrt_device **out, struct cnnrt_error *err)
{
	struct caps c = { 0 };
	struct cnnrt_device *dev;
	const char *bad;
	int ret = read_caps(path, &c, err) ?: check_seen(&c, path, err);

	if (ret)
		return ret;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return rt_fail(err, CNNRT_ENOMEM, "%.200s: out of memory", path);
	dev->ops = &caps_ops;
	dev->fd = -1;
	snprintf(dev->info.path, sizeof(dev->info.path), "caps:%.120s", path);
	strcpy(dev->info.driver, "none");
	bad = rt_device_set_info(dev, &c.info.dev, c.info.clock_hz, c.core);
	if (bad) {
		free(dev);
		return rt_fail(err, CNNRT_EINVAL, "%.200s: %s has a value that is not a device's",
			       path, bad);
	}
	apply_target(&c, &dev->target);
	*out = dev;
	return CNNRT_OK;
}
