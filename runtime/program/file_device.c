/* SPDX-License-Identifier: MIT */
/* What a program needs of the device that it is loaded for. */
#include "file.h"

#include <string.h>

/* ---- what this program needs -------------------------------------------------------- */

static struct rt_need *need_of(struct rt_archive *a, const struct cnnrt_program *p, int core)
{
	const struct cnnrt_core_info *c = &p->core[core];
	struct rt_need *need;

	for (int i = 0; i < a->need_count; i++)
		if (a->need[i].core == core)
			return &a->need[i];
	need = &a->need[a->need_count++];
	*need = (struct rt_need){ .core = core, .type = c->type, .version = c->version };
	memcpy(need->param, c->param, sizeof(need->param));
	return need;
}

/* By placement too: a core may have nothing to do but rename values. */
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

			if (need->program_max < t->length)
				need->program_max = t->length;
			if (need->job_cycles_max < t->cycle_limit)
				need->job_cycles_max = t->cycle_limit;
		}
	}
}

/* ---- does a device have it? --------------------------------------------------------- */

/* Major versions must be the same, the device's minor one may be newer. */
static bool version_fits(uint32_t have, uint32_t want)
{
	return have >> 16 == want >> 16 && (have & 0xffff) >= (want & 0xffff);
}

/* Does core c serve? If not, what it lacks. */
static bool serves(const struct cnnrt_core_info *c, int index, const struct rt_need *need,
		   struct cnnrt_error *why)
{
	if (c->type != need->type)
		return !rt_fail(why, CNNRT_EUNSUPPORTED, "the program needs a core %s, core %d of "
				"the device is %s", rt_core_name(need->type), index, c->name);
	if (!version_fits(c->version, need->version))
		return !rt_fail(why, CNNRT_EUNSUPPORTED, "the program needs %s version %u.%u, core "
				"%d of the device is %u.%u", c->name, need->version >> 16,
				need->version & 0xffff, index, c->version >> 16,
				c->version & 0xffff);
	for (int i = 0; i < 8; i++)
		if (c->param[i] != need->param[i])
			return !rt_fail(why, CNNRT_EUNSUPPORTED, "the program needs %s parameter "
					"%d (%s) 0x%x, core %d of the device has 0x%x", c->name, i,
					rt_param_name(c->type, (uint32_t)i), need->param[i], index,
					c->param[i]);
	if (need->program_max > c->program_max)
		return !rt_fail(why, CNNRT_EUNSUPPORTED, "the program needs programs of %u bytes, "
				"core %d (%s) takes up to %u", need->program_max, index, c->name,
				c->program_max);
	if (need->job_cycles_max > c->job_cycles_max)
		return !rt_fail(why, CNNRT_EUNSUPPORTED, "the program needs a cycle limit of %llu, "
				"core %d (%s) takes up to %llu",
				(unsigned long long)need->job_cycles_max, index, c->name,
				(unsigned long long)c->job_cycles_max);
	return true;
}

/* The core that it was compiled for if that serves, else the first other one that does. */
static bool find_core(const struct cnnrt_program *p, struct rt_need *need, unsigned int taken,
		      struct cnnrt_error *why)
{
	int count = (int)p->core_count, found = -1;

	if (need->core < count && serves(&p->core[need->core], need->core, need, why))
		return true;
	for (int i = 0; i < count; i++) {
		bool same_type = p->core[i].type == need->type;

		if (found >= 0 && (!(taken & 1u << found) || taken & 1u << i))
			continue;
		/* A core of another type says nothing about what one of this type lacks. */
		if (serves(&p->core[i], i, need, same_type ? why : NULL))
			found = i;
	}
	if (found >= 0)
		need->core = found;
	return found >= 0;
}

static void find_cores(struct rt_archive *a, const struct cnnrt_program *p)
{
	unsigned int taken = 0;

	for (int i = 0; i < a->need_count && !a->code; i++) {
		struct cnnrt_error why = { 0 };

		rt_fail(&why, CNNRT_EUNSUPPORTED, "the program needs a core %s, the device has "
			"none", rt_core_name(a->need[i].type));
		if (!find_core(p, &a->need[i], taken, &why))
			rt_ar_fail(a, why.code, "%s", why.text);
		taken |= 1u << a->need[i].core;
	}
}

/* ---- in the file -------------------------------------------------------------------- */

static void walk_need(struct rt_archive *a, struct rt_need *need)
{
	rt_ar_int(a, &need->core, 0, CNNRT_MAX_CORES - 1, "index of a core");
	rt_ar_u32(a, &need->type);
	rt_ar_u32(a, &need->version);
	rt_ar_u32(a, &need->program_max);
	rt_ar_u64(a, &need->job_cycles_max);
	rt_ar_bytes(a, need->param, sizeof(need->param));
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
