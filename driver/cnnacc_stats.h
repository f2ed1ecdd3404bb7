/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_STATS_H
#define CNNACC_STATS_H

#include <linux/types.h>

#include <cnnacc_hw.h>

#define CNNACC_COUNTERS		(sizeof(struct cnnacc_stats) / sizeof(u64))

struct cnnacc_completion;
struct cnnacc_core;
struct cnnacc_job;
struct drm_file;
struct drm_printer;

/**
 * struct cnnacc_usage - work of a core for a context, for a file or in total.
 *
 * Protected by the &cnnacc_core.lock of that core.
 *
 * @jobs: jobs that the device ended, successful or failed
 * @busy_ns: device time of their tasks, and of the running one up to its last sample
 * @cycles: cycles of their tasks
 */
struct cnnacc_usage {
	u64 jobs;
	u64 busy_ns;
	u64 cycles;
};

/**
 * struct cnnacc_meter - accounting state of a core.
 *
 * Protected by &cnnacc_core.lock.
 *
 * @total: usage by all contexts
 * @sampled_fence: fence value of the last running packet that was sampled
 * @sampled_ns: device time of the first sample of that packet
 * @counted_ns: busy time of that packet that is charged already
 * @saved_counters: sums of the device's counters, a struct cnnacc_stats, before its resets
 * @saved: @saved_counters includes what the device counted since its last reset
 */
struct cnnacc_meter {
	struct cnnacc_usage total;
	u64 sampled_fence;
	u64 sampled_ns;
	u64 counted_ns;
	u64 saved_counters[CNNACC_COUNTERS];
	bool saved;
};

void cnnacc_stats_save(struct cnnacc_core *core);
void cnnacc_stats_counters(struct cnnacc_core *core, u64 *to);
void cnnacc_stats_record(struct cnnacc_core *core, struct cnnacc_job *job,
			 const struct cnnacc_completion *record);
void cnnacc_stats_sample(struct cnnacc_core *core);
void cnnacc_stats_get(struct cnnacc_core *core, const struct cnnacc_usage *of,
		      struct cnnacc_usage *to);
void cnnacc_stats_show_file(struct drm_printer *p, struct drm_file *file);
extern const struct attribute_group *cnnacc_stats_attr_groups[];

#endif
