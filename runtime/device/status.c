/* SPDX-License-Identifier: MIT */
/* Numbers of the hardware contract in words. */
#include "device.h"

#include <stdio.h>
#include <cnnacc_seq.h>
#include <cnnacc_ccp.h>
#include <cnnacc_hwpe.h>

struct word {
	uint32_t value;
	const char *text;
};

static const char *find(const struct word *words, size_t count, uint32_t value)
{
	for (size_t i = 0; i < count; i++)
		if (words[i].value == value)
			return words[i].text;
	return "unknown";
}

#define FIND(table, value)	find(table, RT_ARRAY_SIZE(table), value)

const char *rt_core_name(uint32_t type)
{
	static const struct word names[] = {
		{ CNNACC_CORE_CCP, "ccp" }, { CNNACC_CORE_GCU, "gcu" },
		{ CNNACC_CORE_HWPE, "hwpe" }, { CNNACC_CORE_ENPU, "enpu" },
		{ CNNACC_CORE_IMC, "imc" },
	};

	return FIND(names, type);
}

const char *rt_class_name(uint32_t status_class)
{
	static const struct word names[] = {
		{ CNNACC_STATUS_OK, "OK" },
		{ CNNACC_STATUS_BAD_PROGRAM, "BAD_PROGRAM" },
		{ CNNACC_STATUS_MMU_FAULT, "MMU_FAULT" },
		{ CNNACC_STATUS_BUS_ERROR, "BUS_ERROR" },
		{ CNNACC_STATUS_CONFIG, "CONFIG" },
		{ CNNACC_STATUS_DEADLOCK, "DEADLOCK" },
		{ CNNACC_STATUS_TIME_LIMIT, "TIME_LIMIT" },
		{ CNNACC_STATUS_ABORTED, "ABORTED" },
	};

	return FIND(names, status_class);
}

const char *rt_code_name(uint32_t core_type, uint32_t code)
{
	static const struct word shell[] = {
		{ CNNACC_CODE_NONE, "NONE" }, { CNNACC_CODE_PACKET, "PACKET" },
		{ CNNACC_CODE_FETCH, "FETCH" }, { CNNACC_CODE_STATS, "STATS" },
		{ CNNACC_CODE_TIME_LIMIT, "TIME_LIMIT" }, { CNNACC_CODE_ABORT, "ABORT" },
	};
	static const struct word ccp[] = {
		{ CNNACC_CCP_E_ILLEGAL, "E_ILLEGAL" }, { CNNACC_CCP_E_PC, "E_PC" },
		{ CNNACC_CCP_E_RANGE, "E_RANGE" }, { CNNACC_CCP_E_CFG, "E_CFG" },
		{ CNNACC_CCP_E_DMA, "E_DMA" },
	};
	static const struct word hwpe[] = {
		{ CNNACC_SEQ_E_COMMAND, "E_COMMAND" }, { CNNACC_SEQ_E_PC, "E_PC" },
		{ CNNACC_SEQ_E_LOOP, "E_LOOP" }, { CNNACC_SEQ_E_CONFLICT, "E_CONFLICT" },
		{ CNNACC_SEQ_E_RANGE, "E_RANGE" }, { CNNACC_SEQ_E_DMA, "E_DMA" },
		{ CNNACC_SEQ_E_DEADLOCK, "E_DEADLOCK" },
		{ CNNACC_HWPE_E_ILLEGAL, "E_ILLEGAL" }, { CNNACC_HWPE_E_BUSY, "E_BUSY" },
		{ CNNACC_HWPE_E_ENABLE_IDLE, "E_ENABLE_IDLE" }, { CNNACC_HWPE_E_CFG, "E_CFG" },
		{ CNNACC_HWPE_E_FMAP_2ADDR, "E_FMAP_2ADDR" }, { CNNACC_HWPE_E_ADDR, "E_ADDR" },
	};

	if (code < CNNACC_CODE_CORE)
		return FIND(shell, code);
	return core_type == CNNACC_CORE_CCP ? FIND(ccp, code) :
	       core_type == CNNACC_CORE_HWPE ? FIND(hwpe, code) : "unknown";
}

const char *rt_param_name(uint32_t core_type, uint32_t index)
{
	static const struct word ccp[] = {
		{ CNNACC_CCP_PARAM_DATA_BANK, "data-bank" },
		{ CNNACC_CCP_PARAM_WEIGHT_BANK, "weight-bank" },
		{ CNNACC_CCP_PARAM_GEOMETRY, "geometry" },
		{ CNNACC_CCP_PARAM_LOB, "lob" }, { CNNACC_CCP_PARAM_LIMITS, "limits" },
	};

	static const struct word hwpe[] = {
		{ CNNACC_HWPE_PARAM_FMAP, "fmap" }, { CNNACC_HWPE_PARAM_KERNEL, "kernel" },
		{ CNNACC_HWPE_PARAM_GEOMETRY, "geometry" }, { CNNACC_HWPE_PARAM_LIMITS, "limits" },
	};

	return core_type == CNNACC_CORE_CCP ? FIND(ccp, index) :
	       core_type == CNNACC_CORE_HWPE ? FIND(hwpe, index) : "unknown";
}

static const char *access_name(uint32_t access)
{
	static const struct word names[] = {
		{ CNNACC_ACCESS_NONE, "access" }, { CNNACC_ACCESS_READ, "read" },
		{ CNNACC_ACCESS_WRITE, "write" }, { CNNACC_ACCESS_EXEC, "program fetch" },
	};

	return FIND(names, access);
}

static const char *level_name(uint32_t level)
{
	static const struct word names[] = {
		{ CNNACC_FAULT_NONE, "refused by the bus" },
		{ CNNACC_FAULT_BEYOND, "beyond 4 GiB" },
		{ CNNACC_FAULT_DIR, "nothing is mapped there" },
		{ CNNACC_FAULT_PAGE, "nothing is mapped there" },
		{ CNNACC_FAULT_PERM, "the mapping does not permit it" },
	};

	return FIND(names, level);
}

static const char *packet_field_name(uint32_t field)
{
	static const struct word names[] = {
		{ CNNACC_PACKET_BAD_FLAGS, "flags" },
		{ CNNACC_PACKET_BAD_CTX, "context id" },
		{ CNNACC_PACKET_BAD_ROOT, "root table" },
		{ CNNACC_PACKET_BAD_LIMIT, "cycle limit" },
		{ CNNACC_PACKET_BAD_PROGRAM_VA, "program address" },
		{ CNNACC_PACKET_BAD_PROGRAM_LEN, "program length" },
		{ CNNACC_PACKET_BAD_STATS_VA, "statistics address" },
		{ CNNACC_PACKET_BAD_RESERVED, "reserved word" },
	};

	return FIND(names, field);
}

static const char *ccp_field_name(uint32_t field)
{
	static const struct word names[] = {
		{ CNNACC_CCP_BAD_RESERVED, "reserved bit set" },
		{ CNNACC_CCP_BAD_KERNEL, "kernel size" },
		{ CNNACC_CCP_BAD_STRIDE, "stride" },
		{ CNNACC_CCP_BAD_PAD, "zero layers" },
		{ CNNACC_CCP_BAD_IN_SIZE, "input size" },
		{ CNNACC_CCP_BAD_OUT_SIZE, "output size" },
		{ CNNACC_CCP_BAD_CHANNELS, "channel counts" },
		{ CNNACC_CCP_BAD_VEC_ACTIVE, "active vectors" },
		{ CNNACC_CCP_BAD_CONTINUE, "does not continue the last iteration" },
		{ CNNACC_CCP_BAD_IN_PITCH, "input plane pitch" },
		{ CNNACC_CCP_BAD_OUT_PITCH, "output plane pitch" },
		{ CNNACC_CCP_BAD_LENGTH, "length" },
		{ CNNACC_CCP_RANGE_INPUT, "input outside the read bank" },
		{ CNNACC_CCP_RANGE_OUTPUT, "output outside the write bank" },
		{ CNNACC_CCP_RANGE_WEIGHT, "weights outside a weight bank" },
		{ CNNACC_CCP_RANGE_BIAS, "bias outside a weight bank" },
		{ CNNACC_CCP_RANGE_DMA, "transfer past the end of its target" },
	};

	return FIND(names, field);
}

static bool has_va(const struct drm_cnnacc_ctx_query *q)
{
	return q->status_class == CNNACC_STATUS_MMU_FAULT ||
	       q->status_class == CNNACC_STATUS_BUS_ERROR;
}

static bool has_core_field(uint32_t core_type, const struct drm_cnnacc_ctx_query *q)
{
	return core_type == CNNACC_CORE_CCP && (q->status_code == CNNACC_CCP_E_CFG ||
						q->status_code == CNNACC_CCP_E_RANGE);
}

void rt_status_text(uint32_t core_type, const struct drm_cnnacc_ctx_query *q, char *buf,
		    size_t len)
{
	int n;

	if (q->status_class == CNNACC_STATUS_OK) {
		snprintf(buf, len, "the core hung at instruction %u and was reset",
			 q->pc);
		return;
	}
	if (q->status_code == CNNACC_CODE_TIME_LIMIT)
		n = snprintf(buf, len, "TIME_LIMIT at instruction %u", q->pc);
	else
		n = snprintf(buf, len, "%s (%s) at instruction %u",
			     rt_class_name(q->status_class),
			     rt_code_name(core_type, q->status_code), q->pc);
	if (n < 0 || (size_t)n >= len)
		return;
	buf += n;
	len -= (size_t)n;
	if (has_va(q))
		snprintf(buf, len, ": %s of VA 0x%llx: %s", access_name(q->access),
			 (unsigned long long)q->fault_va, level_name(q->detail));
	else if (q->status_code == CNNACC_CODE_PACKET)
		snprintf(buf, len, ": bad %s", packet_field_name(q->detail));
	else if (has_core_field(core_type, q))
		snprintf(buf, len, ": %s", ccp_field_name(q->detail));
	else if (q->status_class == CNNACC_STATUS_TIME_LIMIT)
		snprintf(buf, len, ": the cycle limit was reached");
}
