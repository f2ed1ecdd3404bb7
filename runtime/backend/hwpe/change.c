// SPDX-License-Identifier: MIT
/* Changes of layout in an fmap SRAM of core hwpe. */
#include "hwpe.h"

static struct seqc_change describe(const struct hwpec_core *core, const struct hwpec_change *c)
{
	const struct cnn_slot *slots = core->base.compile->out->slots;

	return (struct seqc_change){
		.to = &c->to, .from = &c->from, .to_va = CNN_VA_ARENA + slots[c->out].offset,
		.from_va = CNN_VA_ARENA + slots[c->in].offset, .memory = CNNACC_HWPE_FMAP0,
		.bytes = core->hw.fmap,
	};
}

static int add_change(struct hwpec_core *core, struct seqc *seq, const struct hwpec_change *c)
{
	const struct seqc_change change = describe(core, c);

	seq->compile = core->base.compile;
	seq->commands_max = core->hw.commands;
	seq->cycles_max = core->hw.cycles_max;
	return seqc_finish(seq, seqc_change(seq, &change));
}

uint64_t hwpec_change_cycles(struct hwpec_core *core, const struct hwpec_change *c)
{
	const struct seqc_change change = describe(core, c);
	struct seqc seq = { .dry = true };

	return !seqc_can_change(&change) || add_change(core, &seq, c) ? 0 : seq.total;
}

int hwpec_emit_change(struct hwpec_core *core, int node)
{
	struct seqc seq = { .node = node };

	return add_change(core, &seq, &core->nodes[node].change);
}
