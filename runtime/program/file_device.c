/* SPDX-License-Identifier: MIT */
/* What a program requires of the device that it is loaded for. */
#include "backend/desc.h"
#include "file.h"

#include <string.h>

static struct rt_need *need_of(struct rt_archive *a, const struct cnnrt_program *p, int core)
{
	struct rt_need *need;

	for (int i = 0; i < a->need_count; i++)
		if (a->need[i].core == core)
			return &a->need[i];
	need = &a->need[a->need_count++];
	*need = (struct rt_need){
		.core = core, .pinned = p->pinned & 1u << core, .info = p->core[core],
	};
	need->info.program_max = 0;
	need->info.job_cycles_max = 0;
	return need;
}

/* Placements count too: a core may only rename values, without a task. */
static void collect_needs(struct rt_archive *a, const struct cnnrt_program *p)
{
	const struct cnn_lowered *low = p->low;

	for (int i = 0; i < low->n_nodes; i++)
		if (low->nodes[i].core >= 0)
			need_of(a, p, low->nodes[i].core);
	for (int i = 0; i < low->n_segments; i++) {
		const struct cnn_segment *s = &low->segments[i];
		struct rt_need *need = s->core < 0 ? NULL : need_of(a, p, s->core);

		for (int k = s->first_task; need && k < s->first_task + s->n_tasks; k++) {
			const struct cnn_task *t = &low->tasks[k];

			if (need->info.program_max < t->length)
				need->info.program_max = t->length;
			if (need->info.job_cycles_max < t->cycle_limit)
				need->info.job_cycles_max = t->cycle_limit;
		}
	}
}

/* Major versions must be equal; the device's minor version may be higher. */
static bool version_fits(uint32_t have, uint32_t want)
{
	return have >> 16 == want >> 16 && (have & 0xffff) >= (want & 0xffff);
}

/* Names the first parameter in build parameter word i that differs; false. */
static bool param_differs(const struct cnnrt_core_info *c, int index, const struct rt_need *need,
			  uint32_t i, struct cnnrt_error *why)
{
	const struct cnn_core_desc *desc = cnn_core_desc(c->name);
	uint32_t want = need->info.param[i], have = c->param[i];
	const char *name = "unknown";

	for (size_t k = 0; desc && k < desc->n_params; k++) {
		const struct cnnacc_param_info *p = &desc->params[k];
		uint32_t value = cnn_desc_param(p, need->info.param, 0);

		if (p->index != i || value == cnn_desc_param(p, c->param, 0))
			continue;
		name = p->name;
		want = value;
		have = cnn_desc_param(p, c->param, 0);
		break;
	}
	return !rt_fail(why, CNNRT_EUNSUPPORTED, "the program needs %s parameter %u (%s) 0x%x, core "
			"%d of the device has 0x%x", c->name, i, name, want, index, have);
}

/* Does core c meet the need? If not, why says what it lacks. */
static bool meets_need(const struct cnnrt_core_info *c, int index, const struct rt_need *need,
		       struct cnnrt_error *why)
{
	if (strcmp(c->name, need->info.name))
		return !rt_fail(why, CNNRT_EUNSUPPORTED, "the program needs a core %s, core %d of "
				"the device is %s", need->info.name, index, c->name);
	if (!version_fits(c->version, need->info.version))
		return !rt_fail(why, CNNRT_EUNSUPPORTED, "the program needs %s version %u.%u, core "
				"%d of the device is %u.%u", c->name, need->info.version >> 16,
				need->info.version & 0xffff, index, c->version >> 16,
				c->version & 0xffff);
	for (uint32_t i = 0; i < RT_ARRAY_SIZE(c->param); i++)
		if (c->param[i] != need->info.param[i])
			return param_differs(c, index, need, i, why);
	if (need->info.program_max > c->program_max)
		return !rt_fail(why, CNNRT_EUNSUPPORTED, "the program needs programs of %u bytes, "
				"core %d (%s) takes up to %u", need->info.program_max, index,
				c->name, c->program_max);
	if (need->info.job_cycles_max > c->job_cycles_max)
		return !rt_fail(why, CNNRT_EUNSUPPORTED, "the program needs a cycle limit of %llu, "
				"core %d (%s) takes up to %llu",
				(unsigned long long)need->info.job_cycles_max, index, c->name,
				(unsigned long long)c->job_cycles_max);
	return true;
}

/* Prefers the core of the same index, then the first that no other need has, then any. */
static bool find_core(const struct cnnrt_program *p, struct rt_need *need, unsigned int taken,
		      struct cnnrt_error *why)
{
	int count = (int)p->core_count, found = -1;

	if (need->core < count && meets_need(&p->core[need->core], need->core, need, why))
		return true;
	for (int i = 0; i < count; i++) {
		bool same_name = !strcmp(p->core[i].name, need->info.name);

		if (found >= 0 && (!(taken & 1u << found) || taken & 1u << i))
			continue;
		/* The reason is to be about a core of the same kind, if there is one. */
		if (meets_need(&p->core[i], i, need, same_name ? why : NULL))
			found = i;
	}
	if (found >= 0)
		need->core = found;
	return found >= 0;
}

static void find_cores(struct rt_archive *a, struct cnnrt_program *p)
{
	unsigned int taken = 0;

	for (int i = 0; i < a->need_count && !a->code; i++) {
		struct cnnrt_error why = { 0 };

		rt_fail(&why, CNNRT_EUNSUPPORTED, "the program needs a core %s, the device has "
			"none", a->need[i].info.name);
		if (!find_core(p, &a->need[i], taken, &why))
			rt_ar_fail(a, why.code, "%s", why.text);
		taken |= 1u << a->need[i].core;
		p->pinned |= a->need[i].pinned ? 1u << a->need[i].core : 0;
	}
}

static void walk_need(struct rt_archive *a, struct rt_need *need)
{
	rt_ar_int(a, &need->core, 0, CNNRT_MAX_CORES - 1, "index of a core");
	rt_ar_chars(a, need->info.name, sizeof(need->info.name), "name of a core");
	if (!a->writing && !a->code && !cnn_core_name_ok(need->info.name, sizeof(need->info.name)))
		rt_ar_fail(a, CNNRT_EINVAL, "program file: characters in the name of a core");
	rt_ar_bool(a, &need->pinned);
	rt_ar_u32(a, &need->info.version);
	rt_ar_u32(a, &need->info.program_max);
	rt_ar_u64(a, &need->info.job_cycles_max);
	rt_ar_bytes(a, need->info.param, sizeof(need->info.param));
}

void rt_ar_needs(struct rt_archive *a, struct cnnrt_program *p, uint32_t hw_version)
{
	uint32_t version = p->hw_version;

	if (a->writing)
		collect_needs(a, p);
	rt_ar_u32(a, &version);
	if (!a->writing && !a->code && !version_fits(hw_version, version))
		rt_ar_fail(a, CNNRT_EUNSUPPORTED, "the program needs hardware version %u.%u, the "
			   "device is %u.%u", version >> 16, version & 0xffff, hw_version >> 16,
			   hw_version & 0xffff);
	rt_ar_int(a, &a->need_count, 0, CNNRT_MAX_CORES, "number of cores");
	for (int i = 0; i < a->need_count; i++)
		walk_need(a, &a->need[i]);
	if (!a->writing)
		find_cores(a, p);
	if (!a->writing)
		p->hw_version = version;
}
