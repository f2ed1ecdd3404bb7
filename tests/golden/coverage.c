// SPDX-License-Identifier: MIT
#include "coverage.h"

#include <stdio.h>
#include <string.h>

/* How an access may fail. */
enum fault_kind {
	FAULT_BEYOND, FAULT_DIR, FAULT_PAGE, FAULT_PERM, BUS_DIR, BUS_PAGE, BUS_DATA, FAULT_KINDS,
};

#define ALL(count)	((1ull << (count)) - 1)

struct tally {
	uint64_t kind[COVERAGE_KINDS];
	uint64_t fault[COVERAGE_ACCESSES][FAULT_KINDS];
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

void coverage_count(unsigned int kind, const struct golden_result *g, unsigned int access,
		    bool together)
{
	const struct golden_status *s = &g->status;

	tally.kind[kind]++;
	tally.together += together;
	tally.status_class[s->status_class]++;
	tally.scrubbed += g->stats.scrub_cycles != 0;
	tally.kept += g->ran && !g->stats.scrub_cycles;
	if (s->status_code == CNNACC_CODE_PACKET)
		tally.packet[s->detail]++;
	if (s->status_code == CNNACC_CODE_FETCH)
		access = COVERAGE_FETCH;
	else if (s->status_code == CNNACC_CODE_STATS)
		access = COVERAGE_STATS;
	if (s->status_class == CNNACC_STATUS_MMU_FAULT ||
	    s->status_class == CNNACC_STATUS_BUS_ERROR)
		tally.fault[access][fault_kind(s)]++;
}

void coverage_add(void *sum, const void *one, size_t bytes)
{
	uint64_t a, b;

	for (size_t i = 0; i < bytes; i += sizeof(a)) {
		memcpy(&a, (uint8_t *)sum + i, sizeof(a));
		memcpy(&b, (const uint8_t *)one + i, sizeof(b));
		a += b;
		memcpy((uint8_t *)sum + i, &a, sizeof(a));
	}
}

uint64_t coverage_macs(const struct bench *benches, unsigned int count)
{
	uint64_t macs = 0;

	for (unsigned int i = 0; i < count; i++)
		for (unsigned int core = 0; core < benches[i].host.core_count; core++)
			macs += benches[i].total[core].mac_useful;
	return macs;
}

unsigned int coverage_line(const char *name, const uint64_t *counts, unsigned int length,
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

static unsigned int report_faults(const struct coverage_scope *scope)
{
	unsigned int missing;
	char name[32];

	missing = coverage_line("fetch faults", tally.fault[COVERAGE_FETCH], FAULT_KINDS,
				ALL(FAULT_KINDS));
	missing += coverage_line("statistics faults", tally.fault[COVERAGE_STATS], FAULT_KINDS,
				 ALL(FAULT_KINDS));
	for (unsigned int i = 0; scope->accesses[i].name; i++) {
		snprintf(name, sizeof(name), "%s faults", scope->accesses[i].name);
		missing += coverage_line(name, tally.fault[COVERAGE_CORE + i], FAULT_KINDS,
					 scope->accesses[i].levels);
	}
	return missing;
}

unsigned int coverage_common(const struct bench *benches, unsigned int count,
			     const struct coverage_scope *scope)
{
	for (unsigned int i = 0; i < count; i++)
		tally.moves += benches[i].host.moves;
	return coverage_line("kinds of job", tally.kind, scope->kinds, ALL(scope->kinds)) +
	       coverage_line("classes", tally.status_class, 8, scope->classes) +
	       coverage_line("packet fields", tally.packet, 9, 0x1fe) +
	       report_faults(scope) +
	       coverage_line("context changes", &tally.scrubbed, 1, 1) +
	       coverage_line("contexts kept", &tally.kept, 1, 1) +
	       coverage_line("moves in mid-job", &tally.moves, 1, 1) +
	       coverage_line("jobs beside another", &tally.together, 1, 1);
}
