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

static struct seqc new_sequence(const struct hwpec_core *core)
{
	return (struct seqc){
		.compile = core->base.compile, .commands_max = core->hw.commands,
		.cycles_max = core->hw.cycles_max,
	};
}

uint64_t hwpec_change_cycles(struct hwpec_core *core, const struct hwpec_change *c)
{
	const struct seqc_change change = describe(core, c);
	struct seqc seq = new_sequence(core);

	seq.dry = true;
	if (!seqc_can_change(&seq, &change) || seqc_finish(&seq, seqc_change(&seq, &change)))
		return 0;
	return seq.total;
}

int hwpec_emit_change(struct hwpec_core *core, int node)
{
	const struct seqc_change change = describe(core, &core->nodes[node].change);
	struct seqc seq = new_sequence(core);

	seq.node = node;
	return seqc_finish(&seq, seqc_change(&seq, &change));
}
