/* SPDX-License-Identifier: MIT */
/* Compares the registers of the sequencer in a core's window with its golden model. */
#ifndef GOLDEN_BENCH_SEQUENCER_H
#define GOLDEN_BENCH_SEQUENCER_H

#include "host.h"
#include "sequencer.h"

/* True if those at @window differ, or the window's ID from @id. */
bool bench_compare_sequencer(struct host *host, uint32_t window, uint32_t id,
			     const struct golden_seq_regs *regs);

#endif /* GOLDEN_BENCH_SEQUENCER_H */
