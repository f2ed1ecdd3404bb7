/* SPDX-License-Identifier: MIT */
/* --report FILE.json --core all: every figure, for programs. */
#include "cnnrun.h"
#include "cores_report.h"

#include <math.h>

static void put_accuracy(struct json *j, const struct cores_report *r, const struct cores_row *row)
{
	const struct cores_accuracy *a = &row->accuracy;

	if (!a->samples)
		return;
	json_u64(j, "samples", (uint64_t)a->samples);
	if (a->scores)
		json_u64(j, "same", (uint64_t)a->same);
	if (a->scores && r->labels.data)
		json_u64(j, "right", (uint64_t)a->right);
	if (isfinite(cores_snr(a)))
		json_double(j, "snr_db", cores_snr(a));
	json_bool(j, "exact", cores_snr(a) == INFINITY);
}

static void put_energy(struct json *j, const struct cores_row *row)
{
	json_open(j, "energy_pj", '{');
	json_double(j, "macs", row->energy.macs);
	if (row->local_known)
		json_double(j, "on_chip", row->energy.local);
	json_double(j, "memory", row->energy.memory);
	json_double(j, "cpu", row->energy.cpu);
	if (row->local_known)
		json_double(j, "all", cores_energy_sum(row));
	json_close(j, '}');
}

static void put_memory(struct json *j, const struct cores_use *use, const struct cnn_core_memory *m)
{
	json_open(j, NULL, '{');
	JSON_MEMBERS(j, TEXT("name", m->name), U64("banks", m->banks), U64("bank_bytes", m->bytes));
	json_bool(j, "program", m->holds == CNN_HOLDS_PROGRAM);
	if (m->holds)
		json_u64(j, "moved_bytes", cores_moved(use, m));
	json_close(j, '}');
}

static void put_use(struct json *j, const struct cores_report *r, const struct cores_row *row,
		    unsigned int core)
{
	const struct cores_use *use = &row->use[core];

	json_open(j, NULL, '{');
	JSON_MEMBERS(j, TEXT("core", r->core[core].name), U64("index", core),
		     TEXT("mac", use->mac), U64("macs", use->macs));
	report_json_cost(j, &use->cost);
	if (row->local_known)
		json_u64(j, "on_chip_bytes", use->local);
	json_open(j, "memories", '[');
	for (size_t i = 0; i < r->memories[core].count; i++)
		put_memory(j, use, &r->memories[core].at[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static void put_reasons(struct json *j, const struct cores_row *row)
{
	json_open(j, "on_cpu", '[');
	for (unsigned int i = 0; i < row->reason_count; i++) {
		const struct cores_reason *why = &row->reasons[i];

		JSON_OBJECT(j, NULL, TEXT("op", why->op), TEXT("name", why->name),
			    U64("count", why->count), U64("macs", why->macs),
			    TEXT("reason", why->why));
	}
	json_close(j, ']');
}

static void put_figures(struct json *j, const struct cores_report *r, const struct cores_row *row)
{
	JSON_MEMBERS(j, U64("run_ns", row->est.ns), U64("cycles", row->cost.cycles),
		     U64("macs", row->macs), U64("mac_peak", row->cost.mac_peak),
		     U64("memory_bytes", report_moved(&row->cost)),
		     U64("macs_total", row->est.macs_total), U64("cpu_ops", row->cpu_ops),
		     U64("cpu_ns", row->cpu_ns), U64("ops_ns", row->ops_ns),
		     U64("cpu_bytes", row->cpu_bytes),
		     U64("conversion_bytes", row->est.conversion_bytes));
	json_double(j, "clocks_per_mac", cores_clocks_per_mac(row));
	json_double(j, "utilisation", report_utilisation(row->macs, row->cost.mac_peak));
	json_double(j, "cpu_macs", cores_cpu_macs(row));
	json_double(j, "cpu_time", cores_cpu_time(row));
	if (row->local_known)
		json_u64(j, "on_chip_bytes", row->local);
	put_accuracy(j, r, row);
	put_energy(j, row);
	json_open(j, "cores", '[');
	for (unsigned int i = 0; i < r->info.core_count; i++)
		if (row->use[i].cost.cycles)
			put_use(j, r, row, i);
	json_close(j, ']');
	put_reasons(j, row);
}

static void put_table(struct json *j, const struct energy_table *t)
{
	char key[32];

	json_open(j, "energy_table", '{');
	for (int i = 0; i < ENERGY_MACS; i++) {
		snprintf(key, sizeof(key), "mac.%s", energy_mac_names[i]);
		json_double(j, key, t->mac[i]);
	}
	json_double(j, "memory", t->memory);
	json_double(j, "cpu", t->cpu);
	for (unsigned int i = 0; i < t->srams; i++) {
		snprintf(key, sizeof(key), "sram.%llu", (unsigned long long)t->sram[i].bytes);
		json_double(j, key, t->sram[i].pj);
	}
	json_close(j, '}');
}

void cores_json(const struct cores_report *r, FILE *out)
{
	struct json j = { .out = out };
	char model[1024];

	json_open(&j, NULL, '{');
	JSON_MEMBERS(&j, TEXT("model", clean(r->o->model, model, sizeof(model))),
		     TEXT("device", r->info.path), U64("clock_hz", r->info.clock_hz));
	if (r->test.data)
		JSON_MEMBERS(&j, U64("calibration", (uint64_t)r->calibration.dims[0]),
			     U64("test", (uint64_t)r->test.dims[0]));
	put_table(&j, &r->energy);
	json_open(&j, "rows", '[');
	for (unsigned int i = 0; i < r->rows; i++) {
		const struct cores_row *row = &r->row[i];

		json_open(&j, NULL, '{');
		JSON_MEMBERS(&j, TEXT("core", cores_row_name(row)),
			     TEXT("format", row->variant->name));
		if (row->variant->format)
			json_string(&j, "quantised", row->variant->format);
		json_bool(&j, "half", row->variant->half);
		json_bool(&j, "best", row->best);
		if (row->why)
			json_string(&j, "reason", row->why);
		else
			put_figures(&j, r, row);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
}
