// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Parse, default and check the build parameters. */
#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

#define CLOCK_HZ_DEFAULT	100000000u
#define JOB_CYCLES_DEFAULT	((uint64_t)1 << 28)
#define NAME_LEN		24	/* longest parameter name, and its NUL */
#define NUMBER_LEN		24

static const char *const simd_names[] = {
	[CM_SIMD_WIDEST] = "widest",
	[CM_SIMD_BASELINE] = "baseline",
	[CM_SIMD_AVX2] = "avx2",
	[CM_SIMD_AVX512] = "avx512",
};

#define CORE(name)	extern const struct cm_core_ops cm_##name##_ops;
#include "cores/cores.def"
#undef CORE

static const struct cm_core_ops *const core_types[] = {
#define CORE(name)	&cm_##name##_ops,
#include "cores/cores.def"
#undef CORE
};

#define CORE_TYPES	(sizeof(core_types) / sizeof(core_types[0]))
#define SIMD_NAMES	(sizeof(simd_names) / sizeof(simd_names[0]))

static int fail(char *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int fail(char *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err, CM_ERR_LEN, format, args);
	va_end(args);
	return -1;
}

const struct cm_core_ops *cm_core_type(const char *name)
{
	for (size_t i = 0; i < CORE_TYPES; i++)
		if (!strcmp(core_types[i]->name, name))
			return core_types[i];
	return NULL;
}

/* Copy @len characters as a string; return -1 if they do not fit. */
static int cut(char *out, size_t size, const char *text, size_t len)
{
	if (len >= size)
		return -1;
	memcpy(out, text, len);
	out[len] = 0;
	return 0;
}

/** struct limits - values that a number may have. */
struct limits {
	uint64_t min, max;
};

static int parse_number(const char *key, const char *text, size_t len, struct limits limits,
			uint64_t *value, char *err)
{
	char number[NUMBER_LEN], *end;

	if (cut(number, sizeof(number), text, len) || !isdigit((unsigned char)number[0]))
		return fail(err, "%s: '%.*s' is not a number", key, (int)(len < 40 ? len : 40),
			    text);
	errno = 0;
	*value = strtoull(number, &end, 0);
	if (*end)
		return fail(err, "%s: '%s' is not a number", key, number);
	if (errno || *value < limits.min || *value > limits.max)
		return fail(err, "%s: %s is not in %llu..%llu", key, number,
			    (unsigned long long)limits.min, (unsigned long long)limits.max);
	return 0;
}

/* Append @text and ", " before it unless @list is empty; what does not fit is left out. */
static void append(char *list, size_t size, const char *text)
{
	size_t len = strlen(list);

	snprintf(list + len, size - len, "%s%s", len ? ", " : "", text);
}

static int no_such_core(const char *text, size_t len, char *err)
{
	char known[CM_ERR_LEN] = "";

	for (size_t i = 0; i < CORE_TYPES; i++)
		append(known, sizeof(known), core_types[i]->name);
	return fail(err, "cores: no core type '%.*s' (there are: %s)",
		    (int)(len < 40 ? len : 40), text, known);
}

static int no_such_param(const struct cm_core_ops *ops, const char *name, char *err)
{
	char known[CM_ERR_LEN] = "job-cycles-max";

	for (size_t i = 0; i < ops->param_count; i++)
		append(known, sizeof(known), ops->params[i].name);
	return fail(err, "cores: core %s has no parameter '%s' (there are: %s)", ops->name, name,
		    known);
}

static int check_param(const struct cm_param *param, uint32_t value, char *err)
{
	if (value >= param->min && value <= param->max && value % param->multiple == 0 &&
	    !(param->power_of_two && value & (value - 1)))
		return 0;
	if (param->power_of_two)
		return fail(err, "%s: %u is not a power of two in %u..%u", param->name, value,
			    param->min, param->max);
	return fail(err, "%s: %u is not a multiple of %u in %u..%u", param->name, value,
		    param->multiple, param->min, param->max);
}

static int parse_switch(const struct cm_param *param, const char *text, size_t len, uint64_t *value,
			char *err)
{
	bool on = len == 2 && !memcmp(text, "on", len);

	if (!on && (len != 3 || memcmp(text, "off", len)))
		return fail(err, "%s: '%.*s' is neither on nor off", param->name,
			    (int)(len < 40 ? len : 40), text);
	*value = on ? CM_ON : CM_OFF;
	return 0;
}

static int parse_value(const struct cm_param *param, const char *text, size_t len, uint64_t *value,
		       char *err)
{
	if (param->is_switch)
		return parse_switch(param, text, len, value, err);
	if (parse_number(param->name, text, len, (struct limits){ param->min, param->max }, value,
			 err))
		return -1;
	return check_param(param, (uint32_t)*value, err);
}

static int set_param(struct cm_core_config *config, const char *name, const char *text,
		     size_t len, char *err)
{
	const struct cm_core_ops *ops = cm_core_type(config->name);
	uint64_t value;

	if (!strcmp(name, "job-cycles-max"))
		return parse_number(name, text, len, (struct limits){ 1, INT64_MAX },
				    &config->job_cycles_max, err);
	for (size_t i = 0; i < ops->param_count; i++) {
		const struct cm_param *param = &ops->params[i];

		if (strcmp(param->name, name))
			continue;
		if (parse_value(param, text, len, &value, err))
			return -1;
		config->param[i] = (uint32_t)value;
		return 0;
	}
	return no_such_param(ops, name, err);
}

/* Parse one ":NAME=N" of a core; @text starts after the colon. */
static int parse_param(struct cm_core_config *config, const char *text, size_t len, char *err)
{
	const char *equal = memchr(text, '=', len);
	char name[NAME_LEN];
	size_t name_len;

	if (!equal)
		return fail(err, "cores: '%.*s' is not PARAM=N", (int)(len < 40 ? len : 40), text);
	name_len = (size_t)(equal - text);
	if (cut(name, sizeof(name), text, name_len))
		return fail(err, "cores: parameter name '%.40s' is too long", text);
	return set_param(config, name, equal + 1, len - name_len - 1, err);
}

/* Parse one core; @text ends before '+' or at the end of the list. */
static int parse_core(struct cm_core_config *config, const char *text, size_t len, char *err)
{
	size_t part = strcspn(text, ":+");

	*config = (struct cm_core_config){ 0 };
	if (cut(config->name, sizeof(config->name), text, part) || !cm_core_type(config->name))
		return no_such_core(text, part, err);
	while (part < len) {
		text += part + 1;
		len -= part + 1;
		part = strcspn(text, ":+");
		if (parse_param(config, text, part, err))
			return -1;
	}
	return 0;
}

static int parse_cores(struct cm_config *config, const char *text, char *err)
{
	struct cm_config parsed = *config;

	memset(parsed.core, 0, sizeof(parsed.core));
	parsed.core_count = 0;
	for (;;) {
		size_t len = strcspn(text, "+");

		if (parsed.core_count == CM_MAX_CORES)
			return fail(err, "cores: more than %d cores", CM_MAX_CORES);
		if (parse_core(&parsed.core[parsed.core_count], text, len, err))
			return -1;
		parsed.core_count++;
		if (!text[len])
			break;
		text += len + 1;
	}
	*config = parsed;
	return 0;
}

static int parse_timing(struct cm_config *config, const char *value, char *err)
{
	if (strcmp(value, "instant") && strcmp(value, "modelled"))
		return fail(err, "timing: '%.40s' is neither instant nor modelled", value);
	config->modelled = !strcmp(value, "modelled");
	return 0;
}

static int parse_u32(const char *key, const char *text, uint32_t max, uint32_t *value, char *err)
{
	uint64_t number;

	if (parse_number(key, text, strlen(text), (struct limits){ 1, max }, &number, err))
		return -1;
	*value = (uint32_t)number;
	return 0;
}

static int parse_simd(struct cm_config *config, const char *text, char *err)
{
	for (uint32_t i = 0; i < SIMD_NAMES; i++)
		if (!strcmp(text, simd_names[i])) {
			config->simd = i;
			return 0;
		}
	return fail(err, "simd: '%.40s' is none of widest, baseline, avx2, avx512", text);
}

int cm_config_set(struct cm_config *config, const char *key, const char *value,
		   char err[CM_ERR_LEN])
{
	if (!strcmp(key, "cores"))
		return parse_cores(config, value, err);
	if (!strcmp(key, "clock-hz"))
		return parse_u32(key, value, UINT32_MAX, &config->clock_hz, err);
	if (!strcmp(key, "timing"))
		return parse_timing(config, value, err);
	if (!strcmp(key, "threads"))
		return parse_u32(key, value, CM_MAX_THREADS, &config->threads, err);
	if (!strcmp(key, "simd"))
		return parse_simd(config, value, err);
	return fail(err, "no property '%.40s' (there are: cores, clock-hz, timing, threads, "
		    "simd)", key);
}

static int resolve_core(struct cm_core_config *config, unsigned int index, char *err)
{
	const struct cm_core_ops *ops = cm_core_type(config->name);

	if (!ops)
		return fail(err, "cores: core %u has no known type ('%.*s')", index,
			    CM_CORE_NAME_LEN, config->name);
	if (!config->job_cycles_max)
		config->job_cycles_max = JOB_CYCLES_DEFAULT;
	if (config->job_cycles_max > INT64_MAX)
		return fail(err, "job-cycles-max: %llu is above %llu",
			    (unsigned long long)config->job_cycles_max,
			    (unsigned long long)INT64_MAX);
	for (size_t i = 0; i < ops->param_count; i++) {
		if (!config->param[i])
			config->param[i] = ops->params[i].def;
		if (check_param(&ops->params[i], config->param[i], err))
			return -1;
	}
	return 0;
}

/* Number of CPUs in the process's affinity mask. */
static uint32_t host_cpus(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return count < CM_MAX_THREADS ? (uint32_t)count : CM_MAX_THREADS;
}

static bool host_has(uint32_t simd)
{
#if defined(__x86_64__) && !defined(CM_PORTABLE)
	if (simd == CM_SIMD_AVX512)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
		       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
	if (simd == CM_SIMD_AVX2)
		return __builtin_cpu_supports("avx2");
#endif
	return simd == CM_SIMD_BASELINE;
}

static int resolve_host(struct cm_config *config, char *err)
{
	if (!config->threads)
		config->threads = host_cpus();
	if (config->threads > CM_MAX_THREADS)
		return fail(err, "threads: %u is above %d", config->threads,
			    CM_MAX_THREADS);
	if (config->simd >= SIMD_NAMES)
		return fail(err, "simd: %u is none", config->simd);
	if (!config->simd)
		for (config->simd = SIMD_NAMES - 1; !host_has(config->simd);)
			config->simd--;
	if (!host_has(config->simd))
		return fail(err, "simd: this host has no %s", simd_names[config->simd]);
	return 0;
}

int cm_config_resolve(struct cm_config *config, char err[CM_ERR_LEN])
{
	if (resolve_host(config, err))
		return -1;
	if (!config->clock_hz)
		config->clock_hz = CLOCK_HZ_DEFAULT;
	if (!config->core_count) {
		config->core_count = 1;
		config->core[0] = (struct cm_core_config){ 0 };
		strcpy(config->core[0].name, core_types[0]->name);
	}
	if (config->core_count > CM_MAX_CORES)
		return fail(err, "cores: %u is more than %d cores", config->core_count,
			    CM_MAX_CORES);
	for (unsigned int i = 0; i < config->core_count; i++)
		if (resolve_core(&config->core[i], i, err))
			return -1;
	return 0;
}
