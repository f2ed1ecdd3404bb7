// SPDX-License-Identifier: MIT
#include "../bench_sequencer.h"
#include "compare.h"
#include "hwpe.h"

static void *create(const struct cnnacc_core_entry *entry, struct golden_core *core)
{
	struct golden_hwpe_params params;
	struct golden_hwpe *hwpe;

	if (!golden_hwpe_params_of(entry, &params))
		return NULL;
	hwpe = golden_hwpe_create(&params);
	if (hwpe)
		golden_hwpe_core(hwpe, core);
	return hwpe;
}

static void destroy(void *model)
{
	golden_hwpe_destroy(model);
}

static bool compare_accs(struct host *host, uint32_t window, const struct golden_hwpe_regs *regs)
{
	bool bad = false;

	for (unsigned int n = 0; n < CNNACC_HWPE_ACCS; n++)
		for (unsigned int pe = 0; pe < CNNACC_HWPE_PES; pe++)
			bad |= bench_differ("AccReg",
					    host_read(host, window + CNNACC_HWPE_REG_ACC(pe, n)),
					    (uint32_t)regs->acc[n][pe]);
	return bad;
}

static bool compare_window(struct host *host, uint32_t window, void *model)
{
	struct golden_hwpe_regs regs = golden_hwpe_regs(model);
	bool bad = bench_compare_sequencer(host, window, CNNACC_HWPE_ID,
					   golden_hwpe_seq_regs(model));

	bad |= bench_differ("STATUS", host_read(host, window + CNNACC_HWPE_REG_STATUS),
			    regs.status);
	bad |= bench_differ("ROUND", host_read(host, window + CNNACC_HWPE_REG_ROUND),
			    regs.round);
	bad |= bench_differ("ROUNDS", host_read(host, window + CNNACC_HWPE_REG_ROUNDS),
			    regs.rounds);
	for (unsigned int n = 0; n < 2; n++) {
		bad |= bench_differ("CFG", host_read(host, window + CNNACC_HWPE_REG_CFG(n)),
				    regs.cfg[n]);
		bad |= bench_differ("MAC", host_read(host, window + CNNACC_HWPE_REG_MAC(n)),
				    regs.mac[n]);
	}
	for (unsigned int n = 0; n < CNNACC_HWPE_ACCS; n++)
		bad |= bench_differ("BASE", host_read(host, window + CNNACC_HWPE_REG_BASE(n)),
				    regs.base[n]);
	return bad | compare_accs(host, window, &regs);
}

static const struct cnnacc_code_info codes[] = CNNACC_HWPE_CODES;
static const struct cnnacc_code_info seq_codes[] = CNNACC_SEQ_CODES;

const struct bench_kind hwpe_bench = {
	.create = create, .destroy = destroy, .compare_window = compare_window,
	.codes = { { codes, sizeof(codes) / sizeof(codes[0]) },
		   { seq_codes, sizeof(seq_codes) / sizeof(seq_codes[0]) } },
};
