// SPDX-License-Identifier: MIT
#include "compare.h"
#include "ccp.h"

static void *create(const struct cnnacc_core_entry *entry, struct golden_core *core)
{
	struct golden_ccp_params params;
	struct golden_ccp *ccp;

	if (!golden_ccp_params_of(entry, &params))
		return NULL;
	ccp = golden_ccp_create(&params);
	if (ccp)
		golden_ccp_core(ccp, core);
	return ccp;
}

static void destroy(void *model)
{
	golden_ccp_destroy(model);
}

static bool compare_group(struct host *host, const char *name, uint32_t offset,
			  const uint32_t golden[CNNACC_CCP_GPRS])
{
	bool bad = false;

	for (unsigned int i = 0; i < CNNACC_CCP_GPRS; i++)
		bad |= bench_differ(name, host_read(host, offset + 4 * i), golden[i]);
	return bad;
}

static bool compare_window(struct host *host, uint32_t window, void *model)
{
	const struct golden_ccp_regs *regs = golden_ccp_regs(model);
	bool bad = bench_differ("window pc", host_read(host, window + CNNACC_CCP_REG_PC), regs->pc);

	bad |= bench_differ("window state", host_read(host, window + CNNACC_CCP_REG_STATE) & 15,
			    CNNACC_CCP_WAIT);
	bad |= bench_differ("bank select", host_read(host, window + CNNACC_CCP_REG_BANK_SEL),
			    regs->bank_select);
	bad |= compare_group(host, "R", window + CNNACC_CCP_REG_GPR(0), regs->gpr);
	bad |= compare_group(host, "conv group 0", window + CNNACC_CCP_REG_CONV0(0), regs->conv0);
	bad |= compare_group(host, "conv group 1", window + CNNACC_CCP_REG_CONV1(0), regs->conv1);
	bad |= compare_group(host, "pool group", window + CNNACC_CCP_REG_POOL0(0), regs->pool0);
	bad |= compare_group(host, "pad group", window + CNNACC_CCP_REG_PAD0(0), regs->pad0);
	bad |= compare_group(host, "fc group", window + CNNACC_CCP_REG_FC0(0), regs->fc0);
	return bad;
}

static const struct cnnacc_code_info codes[] = CNNACC_CCP_CODES;

const struct bench_kind ccp_bench = {
	.create = create, .destroy = destroy, .compare_window = compare_window,
	.codes = { { codes, sizeof(codes) / sizeof(codes[0]) } },
};
