/* SPDX-License-Identifier: MIT */
#include "desc.h"

#include <stdio.h>
#include <string.h>

#define CORE(name) extern const struct cnn_core_desc cnn_desc_##name;
#include "cores.def"
#undef CORE

static const struct cnn_core_desc *const descs[] = {
#define CORE(name) &cnn_desc_##name,
#include "cores.def"
#undef CORE
};

const struct cnn_core_desc *cnn_core_desc(const char *name)
{
	for (size_t i = 0; i < sizeof(descs) / sizeof(descs[0]); i++)
		if (!strcmp(descs[i]->name, name))
			return descs[i];
	return NULL;
}

const struct cnn_core_desc *cnn_core_desc_at(size_t i)
{
	return i < sizeof(descs) / sizeof(descs[0]) ? descs[i] : NULL;
}

bool cnn_core_name_ok(const char *name, size_t size)
{
	size_t len = strnlen(name, size);

	return len && len < size && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

const struct cnnacc_code_info *cnn_desc_code(const struct cnn_core_desc *desc, uint32_t code)
{
	for (; desc; desc = desc->base)
		for (size_t i = 0; i < desc->n_codes; i++)
			if (desc->codes[i].code == code)
				return &desc->codes[i];
	return NULL;
}

const char *cnn_desc_detail(const struct cnn_core_desc *desc, uint32_t code, uint32_t detail)
{
	for (; desc; desc = desc->base)
		for (size_t i = 0; i < desc->n_details; i++)
			if (desc->details[i].code == code && desc->details[i].detail == detail)
				return desc->details[i].text;
	return NULL;
}

uint32_t cnn_desc_param(const struct cnnacc_param_info *info, const uint32_t *param,
			uint32_t program_max)
{
	uint32_t word = info->index == CNNACC_PARAM_PROGRAM_MAX ? program_max : param[info->index];

	return word >> info->shift & (uint32_t)((1ull << info->bits) - 1);
}

void cnn_desc_value(const struct cnnacc_param_info *info, uint32_t value,
		    char text[CNN_DESC_VALUE])
{
	if (info->flags & CNNACC_PARAM_F_ON_OFF)
		snprintf(text, CNN_DESC_VALUE, "%s", value ? "on" : "off");
	else
		snprintf(text, CNN_DESC_VALUE, "%u", value);
}

bool cnn_desc_reg(const struct cnn_core_desc *desc, uint32_t i, char name[CNN_DESC_REG_NAME],
		  uint32_t *offset)
{
	for (; desc; desc = desc->base) {
		const struct cnnacc_window_info *r = desc->regs, *end = r + desc->n_regs;

		for (; r < end && i >= r->count; r++)
			i -= r->count;
		if (r == end)
			continue;
		snprintf(name, CNN_DESC_REG_NAME, r->count > 1 ? "%s_%u" : "%s", r->name, i);
		*offset = r->offset + 4 * i;
		return true;
	}
	return false;
}

bool cnn_desc_property(const struct cnnacc_core_entry *entry, char *buf, size_t len)
{
	const struct cnn_core_desc *desc = cnn_core_desc(entry->name);
	uint64_t cycles = (uint64_t)entry->job_cycles_max_hi << 32 | entry->job_cycles_max_lo;
	int n = desc ? snprintf(buf, len, "%s:job-cycles-max=%llu", desc->name,
				(unsigned long long)cycles) : -1;
	size_t used = (size_t)n;

	for (size_t i = 0; n >= 0 && used < len && i < desc->n_params; i++) {
		const struct cnnacc_param_info *p = &desc->params[i];
		char value[CNN_DESC_VALUE];

		if (!(p->flags & CNNACC_PARAM_F_BUILD))
			continue;
		cnn_desc_value(p, cnn_desc_param(p, entry->param, entry->program_max), value);
		n = snprintf(buf + used, len - used, ":%s=%s", p->name, value);
		used += (size_t)n;
	}
	return n >= 0 && used < len;
}
