/* SPDX-License-Identifier: MIT */
/* --report FILE.json: every figure, for programs. */
#include "report.h"

static void put_layer(struct json *j, const struct report_layer *l)
{
	json_open(j, NULL, '{');
	JSON_MEMBERS(j, U64("index", l->index), TEXT("op", l->op), TEXT("name", l->name),
		     TEXT("place", l->place), U64("macs", l->macs));
	report_json_cost(j, &l->cost);
	JSON_MEMBERS(j, U64("host_ns", l->host_ns), U64("cost_ns", l->cost_ns));
	if (*l->next_place)
		JSON_MEMBERS(j, TEXT("next_place", l->next_place), U64("next_ns", l->next_ns));
	if (l->core >= 0) {
		json_double(j, "utilisation", report_utilisation(l->macs, l->cost.mac_peak));
		json_string(j, "bound", report_bound(&l->cost));
	}
	json_close(j, '}');
}

void report_json(const struct report *r, FILE *out)
{
	struct json j = { .out = out };
	char model[1024];

	json_open(&j, NULL, '{');
	JSON_MEMBERS(&j, TEXT("model", clean(r->model, model, sizeof(model))),
		     TEXT("device", r->dev.path), U64("clock_hz", r->dev.clock_hz),
		     U64("compile_ns", r->est.compile_ns), U64("segments", r->est.segments),
		     U64("tasks", r->est.tasks), U64("conversions", r->est.conversions),
		     U64("conversion_bytes", r->est.conversion_bytes),
		     U64("macs", r->est.macs_total), U64("run_ns", r->run_ns),
		     U64("cpu_ns", r->cpu_ns), U64("copy_ns", r->copy_ns),
		     U64("scrub_cycles", r->scrub_cycles),
		     U64("target_ns", r->est.ns), HEX("target_hash", r->est.target_hash));
	json_open(&j, "total", '{');
	json_u64(&j, "macs", r->total_macs);
	report_json_cost(&j, &r->total);
	json_close(&j, '}');
	json_open(&j, "layers", '[');
	for (unsigned int i = 0; i < r->layer_count; i++)
		put_layer(&j, &r->layers[i]);
	json_close(&j, ']');
	json_close(&j, '}');
}
