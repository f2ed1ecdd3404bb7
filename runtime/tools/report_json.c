/* SPDX-License-Identifier: MIT */
/* --report FILE.json: every figure, for programs. */
#include "report.h"

static void put_cost(struct json *j, const struct cnnrt_cost *c)
{
	json_u64(j, "cycles", c->cycles);
	json_u64(j, "compute_cycles", c->compute);
	json_u64(j, "stall_cycles", c->stall);
	json_u64(j, "control_cycles", c->control);
	json_u64(j, "dma_program_cycles", c->dma_program);
	json_u64(j, "dma_weights_cycles", c->dma_weights);
	json_u64(j, "dma_data_cycles", c->dma_data);
	json_u64(j, "mac_slots", c->mac_slots);
	json_u64(j, "mac_useful", c->mac_useful);
	json_u64(j, "mac_peak", c->mac_peak);
	json_u64(j, "read_program_bytes", c->read_program);
	json_u64(j, "read_weights_bytes", c->read_weights);
	json_u64(j, "read_data_bytes", c->read_data);
	json_u64(j, "written_bytes", c->written);
	json_u64(j, "min_weights_bytes", c->min_weights);
	json_u64(j, "min_input_bytes", c->min_input);
	json_u64(j, "min_output_bytes", c->min_output);
}

static void put_layer(struct json *j, const struct report_layer *l)
{
	json_open(j, NULL, '{');
	json_u64(j, "index", l->index);
	json_string(j, "op", l->op);
	json_string(j, "name", l->name);
	json_string(j, "place", l->place);
	json_u64(j, "macs", l->macs);
	put_cost(j, &l->cost);
	json_u64(j, "host_ns", l->host_ns);
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
	json_string(&j, "model", clean(r->model, model, sizeof(model)));
	json_string(&j, "device", r->dev.path);
	json_u64(&j, "clock_hz", r->dev.clock_hz);
	json_u64(&j, "compile_ns", r->est.compile_ns);
	json_u64(&j, "segments", r->est.segments);
	json_u64(&j, "tasks", r->est.tasks);
	json_u64(&j, "conversions", r->est.conversions);
	json_u64(&j, "conversion_bytes", r->est.conversion_bytes);
	json_u64(&j, "macs", r->est.macs_total);
	json_u64(&j, "run_ns", r->run_ns);
	json_u64(&j, "cpu_ns", r->cpu_ns);
	json_u64(&j, "copy_ns", r->copy_ns);
	json_open(&j, "total", '{');
	json_u64(&j, "macs", r->total_macs);
	put_cost(&j, &r->total);
	json_close(&j, '}');
	json_open(&j, "layers", '[');
	for (unsigned int i = 0; i < r->layer_count; i++)
		put_layer(&j, &r->layers[i]);
	json_close(&j, ']');
	json_close(&j, '}');
}
