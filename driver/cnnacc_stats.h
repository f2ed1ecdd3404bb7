/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_STATS_H
#define CNNACC_STATS_H

#include <linux/types.h>

#include <cnnacc_hw.h>

#define CNNACC_COUNTERS		(sizeof(struct cnnacc_stats) / sizeof(u64))

struct cnnacc_completion;
struct cnnacc_core;
struct cnnacc_ctx;
struct cnnacc_device;
struct cnnacc_job;
struct drm_device;
struct drm_file;
struct drm_printer;

/**
 * struct cnnacc_usage - what a core has done for a context, a file or all.
 *
 * Protected by the &cnnacc_core.lock of that core.
 *
 * @jobs: jobs that the device ended, well or not
 * @busy_ns: device time of their tasks, of the running one as far as it was seen
 * @cycles: cycles of their tasks
 * @macs: multiply-accumulates that went into results
 * @read_bytes: bytes read from memory
 * @write_bytes: bytes written to memory
 */
struct cnnacc_usage {
	u64 jobs;
	u64 busy_ns;
	u64 cycles;
	u64 macs;
	u64 read_bytes;
	u64 write_bytes;
};

/**
 * struct cnnacc_meter - who used a core and what is already counted.
 *
 * Protected by &cnnacc_core.lock.
 *
 * @total: usage by all
 * @owner: context whose jobs the counters below belong to, or NULL
 * @counters: MACs, bytes read and bytes written, as the device counted them when @owner came
 *	or was last asked about
 * @seen: fence value of the running packet when it was last looked at
 * @seen_ns: device time of the first such look
 * @counted_ns: what of its time is in @total already
 * @past: what the device's counters, a struct cnnacc_stats, had reached when it forgot them
 * @saved: the device's counters are in @past already
 */
struct cnnacc_meter {
	struct cnnacc_usage total;
	struct cnnacc_ctx *owner;
	struct cnnacc_usage counters;
	u64 seen;
	u64 seen_ns;
	u64 counted_ns;
	u64 past[CNNACC_COUNTERS];
	bool saved;
};

void cnnacc_stats_use(struct cnnacc_core *core, struct cnnacc_ctx *ctx);
void cnnacc_stats_save(struct cnnacc_core *core);
void cnnacc_stats_counters(struct cnnacc_core *core, u64 *to);
void cnnacc_stats_forget(struct cnnacc_core *core, struct cnnacc_ctx *ctx);
void cnnacc_stats_record(struct cnnacc_core *core, struct cnnacc_job *job,
			 const struct cnnacc_completion *record);
void cnnacc_stats_look(struct cnnacc_core *core);
void cnnacc_stats_get(struct cnnacc_core *core, const struct cnnacc_usage *of,
		      struct cnnacc_usage *to);
void cnnacc_stats_show_file(struct drm_printer *p, struct drm_file *file);

int cnnacc_ctx_stats_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
