/* SPDX-License-Identifier: MIT */
/* What the views of a report of all cores show of a row. */
#include "cores_report.h"

#include <math.h>

double cores_clocks_per_mac(const struct cores_row *row)
{
	return row->macs ? (double)row->cost.cycles / (double)row->macs : 0;
}

double cores_cpu_macs(const struct cores_row *row)
{
	const struct cnnrt_estimate *e = &row->est;

	return e->macs_total ? (double)(e->macs_total - e->macs_device) / (double)e->macs_total : 0;
}

double cores_cpu_time(const struct cores_row *row)
{
	return row->ops_ns ? (double)row->cpu_ns / (double)row->ops_ns : 0;
}

double cores_top1(const struct cores_accuracy *a, bool labels)
{
	if (!a->samples || !a->scores)
		return -1;
	return (double)(labels ? a->right : a->same) / (double)a->samples;
}

double cores_snr(const struct cores_accuracy *a)
{
	if (isnan(a->noise) || isnan(a->signal))
		return -INFINITY;
	return a->noise > 0 ? 10 * log10(a->signal / a->noise) : INFINITY;
}

double cores_energy_sum(const struct cores_row *row)
{
	const struct cores_energy *e = &row->energy;

	return row->local_known ? e->macs + e->local + e->memory + e->cpu : -1;
}

const char *cores_row_name(const struct cores_row *row)
{
	return row->core ? row->core : "all";
}

uint64_t cores_moved(const struct cores_use *use, const struct cnn_core_memory *m)
{
	return (m->holds & CNN_HOLDS_PROGRAM ? use->cost.read_program : 0) +
	       (m->holds & CNN_HOLDS_WEIGHTS ? use->cost.read_weights : 0) +
	       (m->holds & CNN_HOLDS_INPUTS ? use->cost.read_data : 0) +
	       (m->holds & CNN_HOLDS_OUTPUTS ? use->cost.written : 0);
}

bool cores_uses(const struct cores_report *r, unsigned int i)
{
	for (unsigned int k = 0; k < r->rows; k++)
		if (r->row[k].use[i].cost.cycles)
			return true;
	return false;
}
