// SPDX-License-Identifier: MIT
/* Core enpu, one instruction for a layer: its back end. */
#include <stdio.h>
#include <stdlib.h>

#include "enpu.h"

static void read_hw(struct enpuc_hw *hw, const struct cnnrt_core_info *info)
{
	uint32_t pe = info->param[CNNACC_ENPU_PARAM_PE], limits = info->param[CNNACC_ENPU_PARAM_LIMITS];
	const uint32_t known = CNNACC_ENPU_IFMAP_PAD | CNNACC_ENPU_WEIGHT_PAD << 8 |
			       CNNACC_ENPU_PSUMS << 16 | (uint32_t)CNNACC_ENPU_SHIFT_MAX << 24;

	hw->words[CNNACC_ENPU_WORK] = info->param[CNNACC_ENPU_PARAM_WORK] / ENPUC_WORD;
	hw->words[CNNACC_ENPU_SKIP] = info->param[CNNACC_ENPU_PARAM_SKIP] / ENPUC_WORD;
	hw->words[CNNACC_ENPU_WEIGHT] = info->param[CNNACC_ENPU_PARAM_WEIGHT] / ENPUC_WORD;
	hw->insns = info->param[CNNACC_ENPU_PARAM_ITCM] / CNNACC_ENPU_INSN_BYTES;
	hw->stages = (int)cnn_min(ENPUC_STAGES, hw->insns / ENPUC_BANKS - 1);
	hw->commands = info->program_max / sizeof(struct cnnacc_seq_command);
	hw->cycles_max = info->job_cycles_max;
	hw->psum_bits = (int)(pe >> 8 & 0xff);
	hw->prefetch = pe >> 16 & 1;
	if ((pe & 0xff) != CNNACC_ENPU_PES || limits != known)
		snprintf(hw->bad, sizeof(hw->bad), "%u PEs and limits 0x%x are not supported, only "
			 "%u and 0x%x", pe & 0xff, limits, CNNACC_ENPU_PES, known);
	else if (hw->stages < 1 || hw->commands < ENPUC_COMMANDS_MIN)
		snprintf(hw->bad, sizeof(hw->bad), "%lld instructions and programs of %lld commands "
			 "are too few", (long long)hw->insns, (long long)hw->commands);
}

static void enpuc_close(struct cnn_backend *base)
{
	struct enpuc_core *core = (struct enpuc_core *)base;

	free(core->nodes);
	free(core);
}

static struct cnn_backend *enpuc_open(struct cnn_compile *compile,
				      const struct cnnrt_core_info *info)
{
	struct enpuc_core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->base =
		(struct cnn_backend){ .ops = &cnn_backend_enpu, .compile = compile, .info = info };
	core->nodes = calloc((size_t)compile->g->n_nodes + 1, sizeof(*core->nodes));
	if (!core->nodes) {
		free(core);
		return NULL;
	}
	read_hw(&core->hw, info);
	core->base.on_chip = ENPUC_WORD * cnn_max(core->hw.words[CNNACC_ENPU_WORK],
						  core->hw.words[CNNACC_ENPU_SKIP]);
	return &core->base;
}

static int64_t enpuc_peak(const struct cnn_backend *base, int node)
{
	(void)base;
	(void)node;
	return CNNACC_ENPU_PES;
}

const struct cnn_backend_ops cnn_backend_enpu = {
	.name = "enpu",
	.converts = true,
	.legalize = enpuc_legalize,
	.companions = enpuc_companions,
	.open = enpuc_open,
	.close = enpuc_close,
	.is_for = enpuc_is_for,
	.match = enpuc_match,
	.plan = enpuc_plan,
	.cycles = enpuc_cycles,
	.lower = enpuc_lower,
	.peak = enpuc_peak,
};
