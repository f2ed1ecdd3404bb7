// SPDX-License-Identifier: MIT
/* Probes; section "Probe block". */
#include "state.h"

#include "../words.h"

#define WORD_MAX	(2 * CNNACC_GCU_ATOMIC_MAX)

static int64_t area_words(const struct golden_gcu *gcu, const struct golden_gcu_probe *probe)
{
	int64_t banks = probe->port == CNNACC_GCU_PORT_FMAP ? probe->fmbufbankn :
			gcu->params.cbuf_banks - probe->fmbufbankn;

	return banks * GOLDEN_GCU_BANK_WORDS;
}

/* Write @bytes to the result, at the cost of @words words read. */
static bool finish(struct golden_gcu *gcu, const struct golden_gcu_probe *probe,
		   const uint8_t *bytes, int64_t length, int64_t words)
{
	int64_t lines = golden_gcu_lines(probe->result_va, length);
	struct cnnacc_stats *stats = &gcu->block.stats;
	uint64_t cost = 16 + words + golden_gcu_moved(gcu, lines);

	if (!golden_gcu_write(gcu, GOLDEN_GCU_RESULT, probe->result_va, bytes, length))
		return false;
	gcu->time += cost;
	stats->cycles_serial += cost;
	stats->dma_cycles += golden_gcu_moved(gcu, lines);
	stats->mem_write_bytes += length;
	gcu->coverage.probe[probe->port]++;
	return true;
}

static bool read_area(struct golden_gcu *gcu, const struct golden_gcu_probe *probe)
{
	int64_t word_bytes = 2 * gcu->params.atomic_c;
	uint8_t bytes[CNNACC_GCU_PROBE_WORDS * WORD_MAX];

	if (probe->address / word_bytes + probe->count > area_words(gcu, probe)) {
		gcu->coverage.range[probe->port]++;
		return golden_gcu_fail(gcu, CNNACC_STATUS_BAD_PROGRAM, CNNACC_GCU_E_RANGE,
				       probe->port);
	}
	gcu->coverage.rotated[probe->port] += probe->address % word_bytes != 0;
	for (int64_t n = 0; n < probe->count; n++) {
		int64_t address = probe->address + n * word_bytes;
		const uint8_t *word = golden_gcu_cbuf_at(gcu, probe->port,
							 address - address % word_bytes,
							 probe->fmbufbankn);

		golden_gcu_rotate(word, address, word_bytes, bytes + n * word_bytes);
	}
	if (!finish(gcu, probe, bytes, probe->count * word_bytes, probe->count))
		return false;
	gcu->block.stats.local_read_bytes += probe->count * word_bytes;
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
	return finish(gcu, probe, bytes, 4, 1);
}

bool golden_gcu_run_probe(struct golden_gcu *gcu, const struct golden_gcu_probe *probe)
{
	return probe->port == CNNACC_GCU_PORT_SEARCH ? search(gcu, probe) : read_area(gcu, probe);
}
