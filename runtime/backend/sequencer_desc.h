/* SPDX-License-Identifier: MIT */
/* What the descriptions of the cores behind the sequencer share. */
#ifndef CNN_SEQUENCER_DESC_H
#define CNN_SEQUENCER_DESC_H

#include "desc.h"

/* More codes, details and registers: the base of every core behind the sequencer. */
extern const struct cnn_core_desc cnn_desc_sequencer;

/* Writes a command; the instruction of an EXEC in numbers. */
void cnn_sequencer_decode(const uint32_t *insn, char *buf, size_t len);

#endif
