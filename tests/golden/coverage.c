// SPDX-License-Identifier: MIT
#include "coverage.h"

#include <stdio.h>
#include <string.h>

/* How accesses may fail: rows of the table of faults. */
enum access_kind { BY_FETCH, BY_LOAD, BY_STORE, BY_CODE_LOAD, BY_STATS, ACCESS_KINDS };

enum fault_kind {
	FAULT_BEYOND, FAULT_DIR, FAULT_PAGE, FAULT_PERM, BUS_DIR, BUS_PAGE, BUS_DATA, FAULT_KINDS,
};

struct tally {
	uint64_t kind[GEN_KINDS];
	uint64_t fault[ACCESS_KINDS][FAULT_KINDS];
	uint64_t packet[CNNACC_PACKET_BAD_RESERVED + 1];
	uint64_t status_class[CNNACC_STATUS_ABORTED + 1];
	uint64_t scrubbed, kept, moves, together;
};

static struct tally tally;

static enum fault_kind fault_kind(const struct golden_status *s)
{
	bool bus = s->status_class == CNNACC_STATUS_BUS_ERROR;

	switch (s->detail) {
	case CNNACC_FAULT_BEYOND:
		return FAULT_BEYOND;
	case CNNACC_FAULT_DIR:
		return bus ? BUS_DIR : FAULT_DIR;
	case CNNACC_FAULT_PAGE:
		return bus ? BUS_PAGE : FAULT_PAGE;
	case CNNACC_FAULT_PERM:
		return FAULT_PERM;
	default:
		return BUS_DATA;
	}
}

static enum access_kind access_kind(const struct golden_status *s)
{
	if (s->status_code == CNNACC_CODE_FETCH)
		return BY_FETCH;
	if (s->status_code == CNNACC_CODE_STATS)
		return BY_STATS;
	if (s->access == CNNACC_ACCESS_EXEC)
		return BY_CODE_LOAD;
	return s->access == CNNACC_ACCESS_READ ? BY_LOAD : BY_STORE;
}

void coverage_count(enum gen_kind kind, const struct golden_result *g, bool together)
{
	const struct golden_status *s = &g->status;

	tally.kind[kind]++;
	tally.together += together;
	tally.status_class[s->status_class]++;
	tally.scrubbed += g->stats.scrub_cycles != 0;
	tally.kept += g->ran && !g->stats.scrub_cycles;
	if (s->status_class == CNNACC_STATUS_MMU_FAULT || s->status_class == CNNACC_STATUS_BUS_ERROR)
		tally.fault[access_kind(s)][fault_kind(s)]++;
	if (s->status_code == CNNACC_CODE_PACKET)
		tally.packet[s->detail]++;
}

static unsigned int report(const char *name, const uint64_t *counts, unsigned int length,
			   uint64_t expected)
{
	unsigned int missing = 0;

	printf("%-22s", name);
	for (unsigned int i = 0; i < length; i++) {
		if (!(expected >> i & 1))
			continue;
		printf(" %u:%llu", i, (unsigned long long)counts[i]);
		missing += !counts[i];
	}
	printf("%s\n", missing ? "  <- never hit" : "");
	return missing;
}

static void add_counts(struct golden_ccp_coverage *sum, const struct golden_ccp_coverage *one)
{
	uint64_t a[sizeof(*sum) / 8], b[sizeof(*sum) / 8];

	memcpy(a, sum, sizeof(a));
	memcpy(b, one, sizeof(b));
	for (unsigned int i = 0; i < sizeof(a) / 8; i++)
		a[i] += b[i];
	memcpy(sum, a, sizeof(a));
}

static unsigned int report_fields(const struct golden_ccp_coverage *c)
{
	return report("conv fields", c->field[CNNACC_CCP_CONV], 20, 0xf0fee) +
	       report("pool fields", c->field[CNNACC_CCP_POOL], 20, 0x30cee) +
	       report("pad fields", c->field[CNNACC_CCP_PAD], 20, 0x30cb2) +
	       report("fc fields", c->field[CNNACC_CCP_FC], 20, 0xf1002) +
	       report("RANGE_DMA", &c->range_dma, 1, 1);
}

/* What the halves of the banks make different. */
static unsigned int report_halves(const struct golden_ccp_coverage *c)
{
	uint64_t all = (1u << GOLDEN_CCP_ROLES) - 1;

	return report("LOAD beside EXEC", c->load_beside, GOLDEN_CCP_ROLES, all) +
	       report("STORE beside EXEC", &c->store_beside, 1, 1) +
	       report("EXEC waited for LOAD", c->load_waited_for, GOLDEN_CCP_ROLES, all) +
	       report("EXEC waited for STORE", &c->store_waited_for, 1, 1) +
	       report("EXEC in both halves", c->exec_both, GOLDEN_CCP_ROLES, all) +
	       report("LOAD to both halves", &c->load_both, 1, 1) +
	       report("STORE from both halves", &c->store_both, 1, 1);
}

static unsigned int report_faults(void)
{
	return report("fetch faults", tally.fault[BY_FETCH], FAULT_KINDS, 0x7f) +
	       report("LOAD faults", tally.fault[BY_LOAD], FAULT_KINDS, 0x7f) +
	       report("STORE faults", tally.fault[BY_STORE], FAULT_KINDS, 0x7f) +
	       report("code LOAD faults", tally.fault[BY_CODE_LOAD], FAULT_KINDS, 0x7f) +
	       report("statistics faults", tally.fault[BY_STATS], FAULT_KINDS, 0x7f);
}

uint64_t coverage_macs(const struct bench *benches, unsigned int count)
{
	uint64_t macs = 0;

	for (unsigned int i = 0; i < count; i++)
		for (unsigned int core = 0; core < benches[i].host.core_count; core++)
			macs += benches[i].total[core].mac_useful;
	return macs;
}

/* Everything that the documents name must have been seen; how much was not. */
unsigned int coverage_report(const struct bench *benches, unsigned int count)
{
	struct golden_ccp_coverage c = { 0 };
	unsigned int missing;

	for (unsigned int i = 0; i < count; i++) {
		tally.moves += benches[i].host.moves;
		for (unsigned int core = 0; core < benches[i].host.core_count; core++)
			add_counts(&c, golden_ccp_coverage(benches[i].ccp[core]));
	}
	missing = report("kinds of job", tally.kind, GEN_KINDS, (1u << GEN_KINDS) - 1);
	missing += report("opcodes", c.op, 16, 0xffff);
	missing += report("units", c.unit, 4, 0xf);
	missing += report("codes", c.code, 21, 0x1f0015);
	missing += report("classes", tally.status_class, 8, 0x5f);
	missing += report("packet fields", tally.packet, 9, 0x1fe);
	missing += report("limit at opcode", c.limit, 16, 0x3ff);
	missing += report("limit at boot", &c.limit_boot, 1, 1);
	missing += report_fields(&c);
	missing += report_faults();
	missing += report("conv continued", &c.conv_continued, 1, 1);
	missing += report("conv partial", &c.conv_partial, 1, 1);
	missing += report("conv tile overruns", &c.conv_overrun, 1, 1);
	missing += report("BNZ taken", &c.bnz_taken, 1, 1);
	missing += report("EXEC waited for DMA", &c.stalled, 1, 1);
	missing += report_halves(&c);
	missing += report("context changes", &tally.scrubbed, 1, 1);
	missing += report("contexts kept", &tally.kept, 1, 1);
	missing += report("moves in mid-job", &tally.moves, 1, 1);
	missing += report("jobs beside another", &tally.together, 1, 1);
	return missing;
}
