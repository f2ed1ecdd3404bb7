/* SPDX-License-Identifier: MIT */
/* Golden model of core ccp: slow, scalar, one reading of its documentation. */
#ifndef GOLDEN_CCP_H
#define GOLDEN_CCP_H

#include "cnnacc_ccp.h"
#include "../core.h"

/** struct golden_ccp_params - build parameters, from the discovery table. */
struct golden_ccp_params {
	uint32_t data_bank;	/* bytes */
	uint32_t weight_bank;	/* bytes */
	uint32_t icache;	/* bytes */
	uint32_t lob;		/* vectors */
	uint32_t split_banks;	/* 1: each half of a bank is a memory of its own; 0: none is */
};

/** struct golden_ccp_regs - the registers that the core's window shows. */
struct golden_ccp_regs {
	uint32_t pc;
	uint32_t bank_select;
	uint32_t gpr[CNNACC_CCP_GPRS];
	uint32_t conv0[CNNACC_CCP_GPRS];
	uint32_t conv1[CNNACC_CCP_GPRS];
	uint32_t pool0[CNNACC_CCP_GPRS];
	uint32_t pad0[CNNACC_CCP_GPRS];
	uint32_t fc0[CNNACC_CCP_GPRS];
};

struct golden_ccp;

/* False if the entry is of another core type, or has what the model lacks. */
bool golden_ccp_params_of(const struct cnnacc_core_entry *entry,
			  struct golden_ccp_params *params);
/* NULL if there is no memory. */
struct golden_ccp *golden_ccp_create(const struct golden_ccp_params *params);
void golden_ccp_destroy(struct golden_ccp *ccp);
/* Fills @core for the shell; job_cycles_max stays the caller's. */
void golden_ccp_core(struct golden_ccp *ccp, struct golden_core *core);
const struct golden_ccp_regs *golden_ccp_regs(const struct golden_ccp *ccp);

/** enum golden_ccp_role - how an EXEC uses a bank. */
enum golden_ccp_role { GOLDEN_CCP_READ, GOLDEN_CCP_WRITTEN, GOLDEN_CCP_WEIGHTS, GOLDEN_CCP_ROLES };

/** struct golden_ccp_coverage - number of occurrences. */
struct golden_ccp_coverage {
	uint64_t op[16];
	uint64_t unit[4];		/* EXECs that ran */
	uint64_t field[4][20];		/* per unit, enum cnnacc_ccp_field */
	uint64_t range_dma;
	uint64_t code[21];		/* of finished jobs */
	uint64_t limit[16];		/* opcode that exceeded the cycle limit */
	uint64_t limit_boot;
	uint64_t conv_continued;
	uint64_t conv_partial;
	uint64_t conv_overrun;		/* tile past the map's edge */
	uint64_t bnz_taken;
	uint64_t stalled;
	/* halves with a LOAD or STORE in flight at an EXEC that uses the bank */
	uint64_t load_waited_for[GOLDEN_CCP_ROLES];
	uint64_t load_beside[GOLDEN_CCP_ROLES];
	uint64_t store_waited_for;	/* of the write bank */
	uint64_t store_beside;
	/* the same where banks are not split and the EXEC uses the other half alone */
	uint64_t load_waited_for_bank[GOLDEN_CCP_ROLES];
	uint64_t store_waited_for_bank;
	uint64_t store_beside_read;	/* of what the EXEC reads, too */
	/* spans over both halves of a bank */
	uint64_t exec_both[GOLDEN_CCP_ROLES];
	uint64_t load_both;
	uint64_t store_both;
};

const struct golden_ccp_coverage *golden_ccp_coverage(const struct golden_ccp *ccp);

#endif /* GOLDEN_CCP_H */
