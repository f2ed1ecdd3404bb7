/* SPDX-License-Identifier: MIT */
/* Names of status classes and codes, and the text of a job's status. */
#include "backend/desc.h"
#include "device.h"

#include <stdio.h>

/* The text for a value in a table by values, which may have gaps. */
static const char *find(const char *const *texts, size_t count, uint32_t value)
{
	return value < count && texts[value] ? texts[value] : "unknown";
}

#define FIND(table, value)	find(table, RT_ARRAY_SIZE(table), value)
#define STATUS(name)		[CNNACC_STATUS_##name] = #name
#define CODE(name)		[CNNACC_CODE_##name] = #name

const char *rt_class_name(uint32_t status_class)
{
	static const char *const names[] = {
		STATUS(OK), STATUS(BAD_PROGRAM), STATUS(MMU_FAULT), STATUS(BUS_ERROR),
		STATUS(CONFIG), STATUS(DEADLOCK), STATUS(TIME_LIMIT), STATUS(ABORTED),
	};

	return FIND(names, status_class);
}

const char *rt_code_name(const char *core, uint32_t code)
{
	static const char *const shell[] = {
		CODE(NONE), CODE(PACKET), CODE(FETCH), CODE(STATS), CODE(TIME_LIMIT), CODE(ABORT),
	};
	const struct cnnacc_code_info *info;

	if (code < CNNACC_CODE_CORE)
		return FIND(shell, code);
	info = cnn_desc_code(cnn_core_desc(core), code);
	return info ? info->name : "unknown";
}

static const char *const accesses[] = {
	[CNNACC_ACCESS_NONE] = "access", [CNNACC_ACCESS_READ] = "read",
	[CNNACC_ACCESS_WRITE] = "write", [CNNACC_ACCESS_EXEC] = "program fetch",
};

static const char *const fault_levels[] = {
	[CNNACC_FAULT_NONE] = "refused by the bus", [CNNACC_FAULT_BEYOND] = "beyond 4 GiB",
	[CNNACC_FAULT_DIR] = "nothing is mapped there",
	[CNNACC_FAULT_PAGE] = "nothing is mapped there",
	[CNNACC_FAULT_PERM] = "the mapping does not permit it",
};

static const char *const packet_fields[] = {
	[CNNACC_PACKET_BAD_FLAGS] = "flags", [CNNACC_PACKET_BAD_CTX] = "context id",
	[CNNACC_PACKET_BAD_ROOT] = "root table", [CNNACC_PACKET_BAD_LIMIT] = "cycle limit",
	[CNNACC_PACKET_BAD_PROGRAM_VA] = "program address",
	[CNNACC_PACKET_BAD_PROGRAM_LEN] = "program length",
	[CNNACC_PACKET_BAD_STATS_VA] = "statistics address",
	[CNNACC_PACKET_BAD_RESERVED] = "reserved word",
};

static bool has_va(const struct drm_cnnacc_ctx_query *q)
{
	return q->status_class == CNNACC_STATUS_MMU_FAULT ||
	       q->status_class == CNNACC_STATUS_BUS_ERROR;
}

/* Prints ": kernel size" or ": local memory 2" if the core's description names the detail. */
static void print_core_detail(const char *core, const struct drm_cnnacc_ctx_query *q, char *buf,
			      size_t len)
{
	const struct cnn_core_desc *desc = cnn_core_desc(core);
	const struct cnnacc_code_info *code = cnn_desc_code(desc, q->status_code);
	const char *text = cnn_desc_detail(desc, q->status_code, q->detail);

	if (text)
		snprintf(buf, len, ": %s", text);
	else if (code && code->detail)
		snprintf(buf, len, ": %s %u", code->detail, q->detail);
}

void rt_status_text(const char *core, const struct drm_cnnacc_ctx_query *q, char *buf, size_t len)
{
	int n;

	if (q->status_class == CNNACC_STATUS_OK) {
		snprintf(buf, len, "the core hung at instruction %u and was reset", q->pc);
		return;
	}
	if (q->status_code == CNNACC_CODE_TIME_LIMIT)
		n = snprintf(buf, len, "TIME_LIMIT at instruction %u", q->pc);
	else
		n = snprintf(buf, len, "%s (%s) at instruction %u", rt_class_name(q->status_class),
			     rt_code_name(core, q->status_code), q->pc);
	if (n < 0 || (size_t)n >= len)
		return;
	buf += n;
	len -= (size_t)n;
	if (has_va(q))
		snprintf(buf, len, ": %s of VA 0x%llx: %s", FIND(accesses, q->access),
			 (unsigned long long)q->fault_va, FIND(fault_levels, q->detail));
	else if (q->status_code == CNNACC_CODE_PACKET)
		snprintf(buf, len, ": bad %s", FIND(packet_fields, q->detail));
	else if (q->status_class == CNNACC_STATUS_TIME_LIMIT)
		snprintf(buf, len, ": the cycle limit was reached");
	else
		print_core_detail(core, q, buf, len);
}
