/* SPDX-License-Identifier: MIT */
/* The energy of a run, by the table (Documentation/user/profile.rst says how). */
#include "cores_report.h"

/* Mean of a byte of the memories that a core's units use, in pJ. */
static double unit_byte(const struct cores_report *r, unsigned int core)
{
	const struct cores_memories *m = &r->memories[core];
	double sum = 0;
	int count = 0;

	for (size_t i = 0; i < m->count; i++) {
		if (m->at[i].holds == CNN_HOLDS_PROGRAM)
			continue;
		sum += energy_sram(&r->energy, m->at[i].bytes);
		count++;
	}
	return count ? sum / count : 0;
}

/* Bytes that programs move go through the memory that holds them; the units use the rest. */
static double local_energy(const struct cores_report *r, const struct cores_row *row,
			   unsigned int core)
{
	const struct cores_memories *m = &r->memories[core];
	const struct cores_use *use = &row->use[core];
	uint64_t moved = 0;
	double sum = 0;

	for (size_t i = 0; i < m->count; i++) {
		uint64_t bytes = cores_moved(use, &m->at[i]);

		sum += (double)bytes * energy_sram(&r->energy, m->at[i].bytes);
		moved += bytes;
	}
	return sum + (double)(use->local > moved ? use->local - moved : 0) * unit_byte(r, core);
}

void cores_add_energy(const struct cores_report *r, struct cores_row *row)
{
	struct cores_energy *e = &row->energy;
	uint64_t changed = 2 * row->est.conversion_bytes;	/* by the CPU: read and written */
	double pj;

	e->memory = (double)(report_moved(&row->cost) + row->cpu_bytes + changed) *
		    r->energy.memory;
	e->cpu = (double)row->cpu_ns * r->energy.cpu;
	for (unsigned int i = 0; i < r->info.core_count; i++) {
		const struct cores_use *use = &row->use[i];

		if (use->mac && energy_mac(&r->energy, use->mac, &pj))
			e->macs += (double)use->cost.mac_useful * pj;
		e->local += local_energy(r, row, i);
	}
}
