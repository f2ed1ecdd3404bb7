// SPDX-License-Identifier: MIT
/* Memory, its streams, and CBUF. */
#include <string.h>

#include "state.h"

#define LINE	CNNACC_LINE_SIZE

static bool refused(struct golden_gcu *gcu, enum golden_gcu_access access, uint64_t va,
		    const struct golden_fault *fault)
{
	bool writes = access == GOLDEN_GCU_OFMAP || access == GOLDEN_GCU_PROBED;

	gcu->failed_access = access;
	gcu->status->access = writes ? CNNACC_ACCESS_WRITE : CNNACC_ACCESS_READ;
	gcu->status->fault_va = va - va % LINE;
	return golden_gcu_fail(gcu, fault->status_class, CNNACC_GCU_E_DMA, fault->level);
}

/* Bytes from @va on that are in its line. */
static size_t in_line(uint64_t va, size_t length)
{
	size_t rest = LINE - va % LINE;

	return length < rest ? length : rest;
}

bool golden_gcu_read(struct golden_gcu *gcu, enum golden_gcu_access access, uint64_t va,
		     void *bytes, size_t length)
{
	uint8_t line[LINE], *to = bytes;
	struct golden_fault fault;

	while (length) {
		size_t n = in_line(va, length);

		if (!gcu->memory->read(gcu->memory->opaque, va - va % LINE, CNNACC_ACCESS_READ,
				       line, &fault))
			return refused(gcu, access, va, &fault);
		memcpy(to, line + va % LINE, n);
		to += n;
		va += n;
		length -= n;
	}
	return true;
}

bool golden_gcu_write(struct golden_gcu *gcu, enum golden_gcu_access access, uint64_t va,
		      const void *bytes, size_t length)
{
	const uint8_t *from = bytes;
	struct golden_fault fault;

	while (length) {
		size_t n = in_line(va, length);

		if (!gcu->memory->write(gcu->memory->opaque, va, from, n, &fault))
			return refused(gcu, access, va, &fault);
		from += n;
		va += n;
		length -= n;
	}
	return true;
}

uint64_t golden_gcu_moved(const struct golden_gcu *gcu, int64_t lines)
{
	return lines * (LINE / gcu->params.bus);
}

void golden_gcu_count_transfer(struct golden_gcu *gcu, int64_t lines)
{
	uint64_t clocks = golden_gcu_moved(gcu, lines);

	gcu->block.stats.dma_cycles += clocks;
	gcu->block.stats.cycles_serial += 16 + clocks;
}

uint64_t golden_gcu_use(struct golden_gcu *gcu, uint64_t *stream, int64_t lines)
{
	uint64_t t = gcu->run.time.t;

	*stream = (*stream > t ? *stream : t) + golden_gcu_moved(gcu, lines);
	golden_gcu_count_transfer(gcu, lines);
	return *stream + 16;
}

void golden_gcu_count_read(struct golden_gcu *gcu, uint64_t bytes)
{
	gcu->block.stats.mem_read_bytes += bytes;
	gcu->block.stats.local_write_bytes += bytes;
}

static uint64_t *stall_counter(struct golden_gcu *gcu, enum golden_gcu_stall why)
{
	struct golden_gcu_counters *c = &gcu->block.window;

	switch (why) {
	case GOLDEN_GCU_STALL_ROW:
		return &c->stall_row;
	case GOLDEN_GCU_STALL_WEIGHT:
		return &c->stall_weight;
	case GOLDEN_GCU_STALL_PSUM:
		return &c->stall_psum;
	default:
		return &c->stall_rbuf;
	}
}

void golden_gcu_wait(struct golden_gcu *gcu, enum golden_gcu_stall why, uint64_t until)
{
	uint64_t *t = &gcu->run.time.t;

	if (until <= *t)
		return;
	*stall_counter(gcu, why) += until - *t;
	gcu->block.stats.stall_cycles += until - *t;
	gcu->coverage.stall[why]++;
	*t = until;
}

uint8_t *golden_gcu_cbuf_at(struct golden_gcu *gcu, enum cnnacc_gcu_port port, int64_t address,
			    int64_t fmbufbankn)
{
	int64_t word_bytes = 2 * gcu->params.atomic_c;
	int64_t word = golden_gcu_physical(port, address / word_bytes, gcu->params.cbuf_banks,
					   fmbufbankn);

	return word < 0 ? NULL : gcu->cbuf + word * word_bytes + address % word_bytes;
}
