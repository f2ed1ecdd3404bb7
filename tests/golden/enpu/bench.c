// SPDX-License-Identifier: MIT
#include "../bench_sequencer.h"
#include "compare.h"

static void *create(const struct cnnacc_core_entry *entry, struct golden_core *core)
{
	struct golden_enpu_params params;
	struct golden_enpu *enpu;

	if (!golden_enpu_params_of(entry, &params))
		return NULL;
	enpu = golden_enpu_create(&params);
	if (enpu)
		golden_enpu_core(enpu, core);
	return enpu;
}

static void destroy(void *model)
{
	golden_enpu_destroy(model);
}

/* Registers of the counters, in the order of enum golden_enpu_count. */
static const uint32_t counter[ENPU_COUNTS] = {
	CNNACC_ENPU_REG_LAYERS, CNNACC_ENPU_REG_TILES, CNNACC_ENPU_REG_SETUP,
	CNNACC_ENPU_REG_COMPUTE, CNNACC_ENPU_REG_FUSED, CNNACC_ENPU_REG_LOAD,
	CNNACC_ENPU_REG_STORE, CNNACC_ENPU_REG_WORK_READS, CNNACC_ENPU_REG_WORK_WRITES,
	CNNACC_ENPU_REG_SKIP_READS, CNNACC_ENPU_REG_SKIP_WRITES, CNNACC_ENPU_REG_WEIGHT_READS,
	CNNACC_ENPU_REG_IFPAD_WRITES, CNNACC_ENPU_REG_IFPAD_READS, CNNACC_ENPU_REG_WPAD_WRITES,
	CNNACC_ENPU_REG_WPAD_READS, CNNACC_ENPU_REG_PSUM_READS, CNNACC_ENPU_REG_PSUM_WRITES,
};

static bool compare_counters(struct host *host, uint32_t window,
			     const struct golden_enpu_regs *regs)
{
	bool bad = false;

	for (unsigned int n = 0; n < ENPU_COUNTS; n++) {
		char name[16];

		snprintf(name, sizeof(name), "counter %03x", counter[n]);
		bad |= bench_differ(name, host_read64(host, window + counter[n]), regs->count[n]);
	}
	return bad;
}

static bool compare_window(struct host *host, uint32_t window, void *model)
{
	struct golden_enpu_regs regs = golden_enpu_regs(model);
	const struct {
		const char *name;
		uint32_t at, value;
	} words[] = {
		{ "STATUS", CNNACC_ENPU_REG_STATUS, regs.status },
		{ "START", CNNACC_ENPU_REG_START, regs.start },
		{ "END", CNNACC_ENPU_REG_END, regs.end },
		{ "BANKS", CNNACC_ENPU_REG_BANKS, regs.banks },
		{ "ERR_INSN", CNNACC_ENPU_REG_ERR_INSN, regs.err_insn },
		{ "ERR_VALUE", CNNACC_ENPU_REG_ERR_VALUE, regs.err_value },
		{ "ERR_LIMIT", CNNACC_ENPU_REG_ERR_LIMIT, regs.err_limit },
	};
	bool bad = bench_compare_sequencer(host, window, CNNACC_ENPU_ID,
					   golden_enpu_seq_regs(model));

	for (unsigned int n = 0; n < sizeof(words) / sizeof(words[0]); n++)
		bad |= bench_differ(words[n].name, host_read(host, window + words[n].at),
				    words[n].value);
	return bad | compare_counters(host, window, &regs);
}

static const struct cnnacc_code_info codes[] = CNNACC_ENPU_CODES;
static const struct cnnacc_code_info seq_codes[] = CNNACC_SEQ_CODES;

const struct bench_kind enpu_bench = {
	.create = create, .destroy = destroy, .compare_window = compare_window,
	.codes = { { codes, sizeof(codes) / sizeof(codes[0]) },
		   { seq_codes, sizeof(seq_codes) / sizeof(seq_codes[0]) } },
};
