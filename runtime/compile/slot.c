// SPDX-License-Identifier: MIT
/* Slots of values in the arena. */
#include "internal.h"

void cnn_use_slot(struct cnn_compiler *cc, const struct cnn_node_io *io)
{
	struct cnn_slot *slot = &cc->compile.out->slots[io->value];

	if (slot->used)
		return;
	slot->used = true;
	slot->layout = io->layout;
	slot->bytes =
		cnn_round_up(cnn_max(cnn_layout_bytes(&io->layout), io->bytes), CNNACC_LINE_SIZE);
}
