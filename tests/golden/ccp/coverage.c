// SPDX-License-Identifier: MIT
#include "ccp.h"
#include "../coverage.h"
#include "compare.h"
#include "gen.h"

enum { BY_LOAD, BY_STORE, BY_CODE_LOAD };

unsigned int ccp_coverage_access(const struct golden_status *status, void *model)
{
	(void)model;
	if (status->access == CNNACC_ACCESS_EXEC)
		return COVERAGE_CORE + BY_CODE_LOAD;
	return COVERAGE_CORE + (status->access == CNNACC_ACCESS_READ ? BY_LOAD : BY_STORE);
}

static unsigned int report_fields(const struct golden_ccp_coverage *c)
{
	return coverage_line("conv fields", c->field[CNNACC_CCP_CONV], 20, 0xf0fee) +
	       coverage_line("pool fields", c->field[CNNACC_CCP_POOL], 20, 0x30cee) +
	       coverage_line("pad fields", c->field[CNNACC_CCP_PAD], 20, 0x30cb2) +
	       coverage_line("fc fields", c->field[CNNACC_CCP_FC], 20, 0xf1002) +
	       coverage_line("RANGE_DMA", &c->range_dma, 1, 1);
}

/* Overlap of DMA and EXEC by halves of banks, and waiting where banks are not split. */
static unsigned int report_halves(const struct golden_ccp_coverage *c)
{
	uint64_t all = (1u << GOLDEN_CCP_ROLES) - 1;

	return coverage_line("LOAD beside EXEC", c->load_beside, GOLDEN_CCP_ROLES, all) +
	       coverage_line("STORE beside EXEC", &c->store_beside, 1, 1) +
	       coverage_line("EXEC waited for LOAD", c->load_waited_for, GOLDEN_CCP_ROLES, all) +
	       coverage_line("EXEC waited for STORE", &c->store_waited_for, 1, 1) +
	       coverage_line("LOAD of other half", c->load_waited_for_bank, GOLDEN_CCP_ROLES, all) +
	       coverage_line("STORE of other half", &c->store_waited_for_bank, 1, 1) +
	       coverage_line("STORE beside reads", &c->store_beside_read, 1, 1) +
	       coverage_line("EXEC in both halves", c->exec_both, GOLDEN_CCP_ROLES, all) +
	       coverage_line("LOAD to both halves", &c->load_both, 1, 1) +
	       coverage_line("STORE from both halves", &c->store_both, 1, 1);
}

unsigned int ccp_coverage(const struct bench *benches, unsigned int count)
{
	static const struct coverage_scope scope = {
		.kinds = GEN_KINDS, .classes = 0x5f,
		.accesses = { { "LOAD", 0x7f }, { "STORE", 0x7f }, { "code LOAD", 0x7f } },
	};
	struct golden_ccp_coverage c = { 0 };

	for (unsigned int i = 0; i < count; i++)
		for (unsigned int core = 0; core < benches[i].host.core_count; core++)
			coverage_add(&c, golden_ccp_coverage(benches[i].model[core]), sizeof(c));
	return coverage_common(benches, count, &scope) +
	       coverage_line("opcodes", c.op, 16, 0xffff) +
	       coverage_line("units", c.unit, 4, 0xf) +
	       coverage_line("codes", c.code, 21, 0x1f0015) +
	       coverage_line("limit at opcode", c.limit, 16, 0x3ff) +
	       coverage_line("limit at boot", &c.limit_boot, 1, 1) +
	       report_fields(&c) +
	       coverage_line("conv continued", &c.conv_continued, 1, 1) +
	       coverage_line("conv partial", &c.conv_partial, 1, 1) +
	       coverage_line("conv tile overruns", &c.conv_overrun, 1, 1) +
	       coverage_line("BNZ taken", &c.bnz_taken, 1, 1) +
	       coverage_line("EXEC waited for DMA", &c.stalled, 1, 1) +
	       report_halves(&c);
}
