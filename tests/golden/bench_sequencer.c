// SPDX-License-Identifier: MIT
#include "bench.h"
#include "bench_sequencer.h"

bool bench_compare_sequencer(struct host *host, uint32_t window, uint32_t id,
			     const struct golden_seq_regs *regs)
{
	bool bad = bench_differ("window id", host_read(host, window + CNNACC_SEQ_REG_ID), id);

	bad |= bench_differ("window pc", host_read(host, window + CNNACC_SEQ_REG_PC), regs->pc);
	bad |= bench_differ("window state", host_read(host, window + CNNACC_SEQ_REG_STATE),
			    CNNACC_SEQ_IDLE);
	bad |= bench_differ("EVENT", host_read(host, window + CNNACC_SEQ_REG_EVENT), regs->event);
	bad |= bench_differ("LOOPS", host_read(host, window + CNNACC_SEQ_REG_LOOPS), regs->loops);
	for (unsigned int i = 0; i < CNNACC_SEQ_LOOPS; i++)
		bad |= bench_differ("ITERATION",
				    host_read(host, window + CNNACC_SEQ_REG_ITERATION(i)),
				    regs->iteration[i]);
	return bad;
}
