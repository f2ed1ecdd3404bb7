// SPDX-License-Identifier: MIT
/* Core gcu, the generic convolution unit: its back end. */
#include <stdio.h>
#include <stdlib.h>

#include "bounds.h"
#include "gcu.h"

static bool is_atomic(int64_t v)
{
	return v >= 4 && v <= CNNACC_GCU_ATOMIC_MAX && !(v & (v - 1));
}

static void read_hw(struct gcuc_hw *hw, const struct cnnrt_core_info *info)
{
	const uint32_t *param = info->param;

	hw->atomic_c = param[CNNACC_GCU_PARAM_ATOMIC] & 0xff;
	hw->atomic_k = param[CNNACC_GCU_PARAM_ATOMIC] >> 8 & 0xff;
	hw->banks = param[CNNACC_GCU_PARAM_CBUF] & 0xffff;
	hw->rows_max = cnn_min(param[CNNACC_GCU_PARAM_ROWS], CNNACC_GCU_ROWS_MAX);
	hw->rbuf_banks = cnn_min(param[CNNACC_GCU_PARAM_RBUF] & 0xffff, CNNACC_GCU_RBUF_BANKS_MAX);
	hw->rbuf_depth = param[CNNACC_GCU_PARAM_RBUF] >> 16;
	hw->bus = param[CNNACC_GCU_PARAM_BUS];
	hw->blocks = info->program_max / CNNACC_GCU_BLOCK_SIZE;
	hw->cycles_max = (uint64_t)cnn_min(INT64_MAX, (int64_t)(info->job_cycles_max & INT64_MAX));
	if (!is_atomic(hw->atomic_c) || !is_atomic(hw->atomic_k) ||
	    param[CNNACC_GCU_PARAM_CBUF] >> 16 != CNNACC_GCU_BANK_WORDS)
		snprintf(hw->bad, sizeof(hw->bad), "%lld x %lld MACs and banks of %u words are not "
			 "supported", (long long)hw->atomic_c, (long long)hw->atomic_k,
			 param[CNNACC_GCU_PARAM_CBUF] >> 16);
	else if (hw->banks < CNNACC_GCU_CBUF_BANKS_MIN || hw->rows_max < CNNACC_GCU_ROWS_MIN ||
		 hw->rbuf_banks < CNNACC_GCU_RBUF_BANKS_MIN ||
		 hw->rbuf_depth < CNNACC_GCU_RBUF_DEPTH_MIN || hw->blocks < 1 ||
		 hw->bus < CNNACC_GCU_BUS_MIN || CNNACC_LINE_SIZE % hw->bus)
		snprintf(hw->bad, sizeof(hw->bad), "%lld banks, %lld row slots, RBUF of %lld banks "
			 "of %lld, a bus of %lld bytes or %lld blocks are too few",
			 (long long)hw->banks, (long long)hw->rows_max, (long long)hw->rbuf_banks,
			 (long long)hw->rbuf_depth, (long long)hw->bus, (long long)hw->blocks);
}

static void gcuc_close(struct cnn_backend *base)
{
	struct gcuc_core *core = (struct gcuc_core *)base;

	/* The graph may have more nodes by now: changes of layout. */
	for (int i = 0; core->nodes && i < core->n_nodes; i++)
		gcuc_conv_free(&core->nodes[i].conv);
	free(core->nodes);
	free(core);
}

static struct cnn_backend *gcuc_open(struct cnn_compile *compile,
				     const struct cnnrt_core_info *info)
{
	struct gcuc_core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->base =
		(struct cnn_backend){ .ops = &cnn_backend_gcu, .compile = compile, .info = info };
	core->lut = -1;
	core->n_nodes = compile->g->n_nodes;
	core->nodes = calloc((size_t)core->n_nodes + 1, sizeof(*core->nodes));
	if (!core->nodes) {
		gcuc_close(&core->base);
		return NULL;
	}
	read_hw(&core->hw, info);
	return &core->base;
}

static struct cnn_node_io io_of(const struct gcuc_core *core, const struct gcuc_conv *v, int value,
				const struct gcuc_maps *maps, int64_t size)
{
	bool half = v->half && size == 2;

	return (struct cnn_node_io){
		.value = value, .layout = gcuc_layout(maps, core->hw.atomic_c, size, half),
	};
}

static bool gcuc_match_unit(struct cnn_backend *base, struct cnn_unit *unit, char *reason)
{
	struct gcuc_core *core = (struct gcuc_core *)base;
	struct gcuc_node *n = &core->nodes[unit->nodes[0]];
	struct gcuc_conv *v = &n->conv;
	struct cnn_node_io in, add, out;

	n->used = false;
	if (!gcuc_match(core, unit->nodes[0], v, reason))
		return false;
	in = io_of(core, v, v->in, &v->ifm, gcuc_element(v));
	add = io_of(core, v, v->add, &v->ofm, gcuc_element(v));
	out = io_of(core, v, v->out, &v->ofm, gcuc_result(v));
	gcuc_reserve_psum(&core->hw, v, cnn_layout_bytes(&out.layout));
	out.bytes = v->psum_bytes ? v->psum_at + v->psum_bytes : 0;
	n->used = true;
	return cnn_unit_add_in(unit, &in) && (v->add < 0 || cnn_unit_add_in(unit, &add)) &&
	       cnn_unit_add_out(unit, &out);
}

static bool gcuc_plan_unit(struct cnn_backend *base, const struct cnn_unit *unit, char *reason)
{
	struct gcuc_core *core = (struct gcuc_core *)base;
	const char *op = unit->g->nodes[unit->nodes[0]].op_type;
	struct gcuc_node *n = &core->nodes[unit->nodes[0]];
	int64_t lanes = core->hw.atomic_c;

	n->plan = (struct gcuc_plan){ .merge = 1 };
	if (!gcuc_view(&unit->in[0].layout, &n->conv.ifm, lanes, &n->plan.ifm) ||
	    !gcuc_view(&unit->out[0].layout, &n->conv.ofm, lanes, &n->plan.ofm) ||
	    (n->conv.add >= 0 &&
	     !gcuc_view(&unit->in[1].layout, &n->conv.ofm, lanes, &n->plan.add)))
		return cnn_reject(reason, "%s: channels of an operand do not touch in the arena",
				  op);
	return gcuc_find_plan(&core->hw, n, op, &base->compile->tried, reason);
}

static uint64_t gcuc_cycles(struct cnn_backend *base, int lead)
{
	const struct gcuc_node *n = &((struct gcuc_core *)base)->nodes[lead];

	return n->plan.count.cycles;
}

static int gcuc_lower(struct cnn_backend *base, struct cnn_segment *seg)
{
	struct gcuc_core *core = (struct gcuc_core *)base;
	int ret = CNN_OK;

	for (int i = 0; i < seg->n_nodes && !ret; i++) {
		if (core->nodes[seg->nodes[i]].used)
			ret = gcuc_emit(core, seg->nodes[i]);
		cnn_progress(base->compile, i + 1);
	}
	return ret;
}

static int64_t gcuc_peak(const struct cnn_backend *base, int node)
{
	const struct gcuc_core *core = (const struct gcuc_core *)base;

	(void)node;
	return core->hw.atomic_c * core->hw.atomic_k;
}

const struct cnn_backend_ops cnn_backend_gcu = {
	.name = "gcu",
	.has_float16 = true,
	.converts = true,
	.legalize = gcuc_legalize,
	.companions = gcuc_companions,
	.open = gcuc_open,
	.close = gcuc_close,
	.is_for = gcuc_is_for,
	.match = gcuc_match_unit,
	.plan = gcuc_plan_unit,
	.reads = gcuc_reads,
	.cycles = gcuc_cycles,
	.lower = gcuc_lower,
	.peak = gcuc_peak,
	.bounds = gcuc_bounds,
};
