/* SPDX-License-Identifier: MIT */
/* What uapi/ says of a core against the model: its window and its build parameters. */
#ifndef MODEL_BUILD_H
#define MODEL_BUILD_H

#include "model_fixture.h"

/* Adds registers to a window, one word each; no register may be there already. */
static inline void mb_add_regs(uint32_t *want, const struct cnnacc_window_info *regs,
			       size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (uint32_t n = 0; n < regs[i].count; n++) {
			assert_int_equal(want[regs[i].offset / 4 + n], 0);
			want[regs[i].offset / 4 + n] = regs[i].reset;
		}
}

/* After reset every word of the window of core @name is as wanted, others are 0. */
static inline void mb_check_window(const char *name, const uint32_t *want)
{
	struct model_host *h = mh_new(name, 1 << 20);
	struct cnnacc_core_entry e = entry_of(h, 0);

	for (uint32_t at = 0; at < e.window_size; at += 4)
		assert_int_equal(mh_read(h, e.window_offset + at), want[at / 4]);
	mh_free(h);
}

/* The bits of a parameter in a discovery entry. */
static inline uint32_t mb_param(const struct cnnacc_core_entry *e,
				const struct cnnacc_param_info *param)
{
	uint32_t word = param->index == CNNACC_PARAM_PROGRAM_MAX ? e->program_max :
			e->param[param->index];

	return (word >> param->shift) & (uint32_t)((1ull << param->bits) - 1);
}

/* A core built with @param=@text has @value in its entry. */
static inline void mb_check_param(const char *name, const struct cnnacc_param_info *param,
				  const char *text, uint32_t value)
{
	struct cnnacc_core_entry e;
	struct model_host *h;
	char cores[64];

	snprintf(cores, sizeof(cores), "%s:%s=%s", name, param->name, text);
	h = mh_new(cores, 1 << 20);
	e = entry_of(h, 0);
	assert_int_equal(mb_param(&e, param), value);
	mh_free(h);
}

/* Every parameter of the build by its name in the header, one after the other. */
static inline void mb_check_params(const char *name, const struct cnnacc_param_info *params,
				   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!(params[i].flags & CNNACC_PARAM_F_BUILD))
			continue;
		if (params[i].flags & CNNACC_PARAM_F_ON_OFF) {
			mb_check_param(name, &params[i], "on", 1);
			mb_check_param(name, &params[i], "off", 0);
		} else if (params[i].flags & CNNACC_PARAM_F_BYTES) {
			mb_check_param(name, &params[i], "4096", 4096);
		} else {
			mb_check_param(name, &params[i], "7", 7);
		}
	}
}

/* A property is refused with a message that says something. */
static inline void mb_check_refused(const char *key, const char *value, const char *says)
{
	struct cm_config config = { 0 };
	char err[CM_ERR_LEN] = "";

	assert_int_equal(cm_config_set(&config, key, value, err), -1);
	assert_non_null(strstr(err, says));
	assert_int_equal(config.core_count, 0);
}

#endif
