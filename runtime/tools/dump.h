/* SPDX-License-Identifier: MIT */
/* Device coredumps (uapi/cnnacc_dump.h): read with every bound checked, and run again. */
#ifndef CNNRT_TOOLS_DUMP_H
#define CNNRT_TOOLS_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cnnacc_dump.h>
#include <cnnrt.h>

#define DUMP_PROGRAMS_MAX	1024

struct dump_program {
	uint64_t va, size;
	const uint8_t *bytes;
};

/* Points into the file's bytes; what the file lacks is NULL and 0. */
struct dump {
	struct cnnacc_dump_header header;
	struct cnnacc_dump_job job;
	struct cnnacc_dump_walk walk;
	bool has_job, has_walk;
	const struct cnnacc_dump_reg *regs;
	const struct cnnacc_dump_range *ranges;
	const struct cnnacc_packet *packets;
	const struct cnnacc_completion *records;
	size_t reg_count, range_count, packet_count, record_count;
	struct dump_program programs[DUMP_PROGRAMS_MAX];
	size_t program_count;
};

/* Fills err and returns code. */
int dump_fail(struct cnnrt_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * data is aligned to 8 bytes and stays in use.  CNNRT_OK; or CNNRT_EINVAL with the first thing that
 * is wrong, and where, in err.
 */
int dump_parse(struct dump *d, const void *data, size_t size, struct cnnrt_error *err);

/* The status that the device reported; state is FAILED, and class OK means a hang. */
void dump_status(const struct dump *d, struct cnnrt_job_status *status);

/* Words in an instruction of the core, or in a command of its sequencer. */
uint32_t dump_insn_words(const struct dump *d);
/* Copies word n of the task's instruction number pc; false if the dump lacks it. */
bool dump_word(const struct dump *d, uint32_t pc, uint32_t n, uint32_t *word);

/*
 * Runs the dumped program on a device like the dumped one inside this process, in zero-filled
 * memory with the same mappings.  status is how that ended.  timeout_ns as for cnnrt_exec().
 */
int dump_replay(const struct dump *d, int64_t timeout_ns, struct cnnrt_job_status *status,
		struct cnnrt_error *err);

/* Did the program stop at the same place?  After a hang: did it reach its cycle limit? */
bool dump_same(const struct dump *d, const struct cnnrt_job_status *replayed);

#endif
