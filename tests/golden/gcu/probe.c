// SPDX-License-Identifier: MIT
/* Section "Probe, fill and wait blocks". */
#include "state.h"

#include <string.h>

#include "../words.h"

static bool in_area(struct golden_gcu *gcu, const struct golden_gcu_probe *probe)
{
	int64_t banks = probe->port == CNNACC_GCU_PORT_FMAP ? probe->fmbufbankn :
			gcu->params.cbuf_banks - probe->fmbufbankn;

	if (probe->address / (2 * gcu->params.atomic_c) + probe->count <=
	    banks * GOLDEN_GCU_BANK_WORDS)
		return true;
	gcu->coverage.range[probe->port]++;
	return golden_gcu_fail(gcu, CNNACC_STATUS_BAD_PROGRAM, CNNACC_GCU_E_RANGE, probe->port);
}

/* The word of CBUF that has byte @address. */
static uint8_t *word_at(struct golden_gcu *gcu, const struct golden_gcu_probe *probe,
			int64_t address)
{
	return golden_gcu_cbuf_at(gcu, probe->port,
				  address - address % (2 * gcu->params.atomic_c),
				  probe->fmbufbankn);
}

/* @words words were moved, of @length bytes. */
static void count(struct golden_gcu *gcu, const struct golden_gcu_probe *probe, int64_t words,
		  int64_t length)
{
	uint64_t clocks = golden_gcu_moved(gcu, golden_gcu_lines(probe->va, length));

	gcu->time += 16 + words + clocks;
	gcu->block.stats.cycles_serial += 16 + words + clocks;
	gcu->block.stats.dma_cycles += clocks;
}

static bool store(struct golden_gcu *gcu, const struct golden_gcu_probe *probe,
		  const uint8_t *bytes, int64_t length)
{
	if (!golden_gcu_write(gcu, GOLDEN_GCU_PROBED, probe->va, bytes, length))
		return false;
	gcu->block.stats.mem_write_bytes += length;
	gcu->coverage.probed[probe->port]++;
	return true;
}

static bool read_area(struct golden_gcu *gcu, const struct golden_gcu_probe *probe)
{
	int64_t word_bytes = 2 * gcu->params.atomic_c, length = probe->count * word_bytes;

	if (!in_area(gcu, probe))
		return false;
	gcu->coverage.rotated[probe->port] += probe->address % word_bytes != 0;
	for (int64_t n = 0; n < probe->count; n++) {
		int64_t address = probe->address + n * word_bytes;

		golden_gcu_rotate(word_at(gcu, probe, address), address, word_bytes,
				  gcu->words + n * word_bytes);
	}
	if (!store(gcu, probe, gcu->words, length))
		return false;
	count(gcu, probe, probe->count, length);
	gcu->block.stats.local_read_bytes += length;
	return true;
}

static bool search(struct golden_gcu *gcu, const struct golden_gcu_probe *probe)
{
	int64_t cg = probe->address & 0xffff, row = probe->address >> 16, slot = -1;
	uint32_t result = CNNACC_GCU_MISS;
	uint8_t bytes[4];

	gcu->coverage.searched_nothing += !gcu->has_layer;
	if (gcu->has_layer && probe->count < gcu->layer.fmbufcoln)
		slot = golden_gcu_search(gcu, cg, row);
	gcu->coverage.missed += slot < 0;
	if (slot >= 0)
		result = golden_gcu_slot_byte(&gcu->layer, gcu->params.atomic_c, slot,
					      probe->count);
	word_put(bytes, 0, result);
	if (!store(gcu, probe, bytes, 4))
		return false;
	count(gcu, probe, 1, 4);
	return true;
}

bool golden_gcu_run_probe(struct golden_gcu *gcu, const struct golden_gcu_probe *probe)
{
	return probe->port == CNNACC_GCU_PORT_SEARCH ? search(gcu, probe) : read_area(gcu, probe);
}

bool golden_gcu_run_fill(struct golden_gcu *gcu, const struct golden_gcu_probe *fill)
{
	int64_t word_bytes = 2 * gcu->params.atomic_c, length = fill->count * word_bytes;

	if (!in_area(gcu, fill) ||
	    !golden_gcu_read(gcu, GOLDEN_GCU_FILLING, fill->va, gcu->words, length))
		return false;
	for (int64_t n = 0; n < fill->count; n++)
		memcpy(word_at(gcu, fill, fill->address + n * word_bytes),
		       gcu->words + n * word_bytes, word_bytes);
	count(gcu, fill, fill->count, length);
	golden_gcu_count_read(gcu, length);
	gcu->coverage.filled[fill->port]++;
	return true;
}

bool golden_gcu_run_wait(struct golden_gcu *gcu, int64_t cycles)
{
	uint64_t limit = gcu->job->cycle_limit, end = gcu->time + 16 + cycles;

	if (end > limit)
		end = limit + 1;
	gcu->block.stats.cycles_serial += end - gcu->time;
	gcu->time = end;
	gcu->coverage.waited++;
	return golden_gcu_within_limit(gcu, end, GOLDEN_GCU_AT_WAIT);
}
