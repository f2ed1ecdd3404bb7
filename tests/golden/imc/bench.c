// SPDX-License-Identifier: MIT
#include "../bench_sequencer.h"
#include "compare.h"

static void *create(const struct cnnacc_core_entry *entry, struct golden_core *core)
{
	struct golden_imc_params params;
	struct golden_imc *imc;

	if (!golden_imc_params_of(entry, &params))
		return NULL;
	imc = golden_imc_create(&params);
	if (imc)
		golden_imc_core(imc, core);
	return imc;
}

static void destroy(void *model)
{
	golden_imc_destroy(model);
}

/* @count words from offset @first on. */
static bool compare_words(struct host *host, uint32_t first, const uint32_t *words,
			  unsigned int count, const char *name)
{
	bool bad = false;

	for (unsigned int n = 0; n < count; n++)
		bad |= bench_differ(name, host_read(host, first + 4 * n), words[n]);
	return bad;
}

static bool compare_last(struct host *host, uint32_t window, const struct golden_imc_last *last)
{
	const struct {
		const char *name;
		uint32_t at, value;
	} words[] = {
		{ "SIG", CNNACC_IMC_REG_SIG, last->sig },
		{ "GROUP", CNNACC_IMC_REG_GROUP, last->group },
		{ "PASS", CNNACC_IMC_REG_PASS, last->pass },
		{ "ROW", CNNACC_IMC_REG_ROW, last->row },
		{ "CSU", CNNACC_IMC_REG_CSU, last->csu },
		{ "KERNEL_ROW", CNNACC_IMC_REG_KERNEL_ROW, last->kernel_row },
		{ "ELEMENT", CNNACC_IMC_REG_ELEMENT, last->element },
		{ "WEIGHT", CNNACC_IMC_REG_WEIGHT, last->weight },
		{ "P", CNNACC_IMC_REG_P, last->p },
		{ "HEAD", CNNACC_IMC_REG_HEAD, last->head },
		{ "OUT", CNNACC_IMC_REG_OUT, last->out },
	};
	bool bad = compare_words(host, window + CNNACC_IMC_REG_FIFO(0), last->fifo,
				 CNNACC_IMC_N_MAX, "FIFO");

	for (unsigned int n = 0; n < sizeof(words) / sizeof(words[0]); n++)
		bad |= bench_differ(words[n].name, host_read(host, window + words[n].at),
				    words[n].value);
	return bad;
}

static bool compare_window(struct host *host, uint32_t window, void *model)
{
	const struct golden_imc_regs *regs = golden_imc_regs(model);
	bool bad = bench_compare_sequencer(host, window, CNNACC_IMC_ID,
					   golden_imc_seq_regs(model));

	bad |= compare_words(host, window + CNNACC_IMC_REG_STATUS, &regs->status, 1, "STATUS");
	bad |= compare_words(host, window + CNNACC_IMC_REG_FIFO_PEAK, &regs->fifo_peak, 1,
			     "FIFO_PEAK");
	bad |= compare_words(host, window + CNNACC_IMC_REG_SETUP(0), regs->setup, 6, "SETUP");
	bad |= compare_words(host, window + CNNACC_IMC_REG_CONV(0), regs->conv, 4, "CONV");
	for (unsigned int n = 0; n < IMC_COUNTS; n++) {
		char name[16];
		uint32_t at = CNNACC_IMC_REG_CLOCKS + 8 * n;

		snprintf(name, sizeof(name), "counter %03x", at);
		bad |= bench_differ(name, host_read64(host, window + at), regs->count[n]);
	}
	return bad | compare_last(host, window, &regs->last);
}

static const struct cnnacc_code_info codes[] = CNNACC_IMC_CODES;
static const struct cnnacc_code_info seq_codes[] = CNNACC_SEQ_CODES;

const struct bench_kind imc_bench = {
	.create = create, .destroy = destroy, .compare_window = compare_window,
	.codes = { { codes, sizeof(codes) / sizeof(codes[0]) },
		   { seq_codes, sizeof(seq_codes) / sizeof(seq_codes[0]) } },
};
