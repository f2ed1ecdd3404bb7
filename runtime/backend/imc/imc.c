// SPDX-License-Identifier: MIT
/* Core imc, the row-FIFO convolver: its back end. */
#include <stdio.h>
#include <stdlib.h>

#include "imc.h"

#define COMMANDS_MIN	32	/* of a program: two of the smallest tiles */

static void read_hw(struct imcc_hw *hw, const struct cnnrt_core_info *info)
{
	uint32_t array = info->param[CNNACC_IMC_PARAM_ARRAY];

	*hw = (struct imcc_hw){
		.cin_max = array & 0xff, .csus = array >> 8 & 0xff, .n_max = array >> 16 & 0xf,
		.full = array & CNNACC_IMC_ARRAY_FULL, .fp32 = array & CNNACC_IMC_ARRAY_FP32,
		.input = info->param[CNNACC_IMC_PARAM_INPUT],
		.weight = info->param[CNNACC_IMC_PARAM_WEIGHT],
		.unit = info->param[CNNACC_IMC_PARAM_UNIT],
		.port = info->param[CNNACC_IMC_PARAM_PORT],
		.cin_limit = info->param[CNNACC_IMC_PARAM_LIMITS] & 0xffff,
		.cout_limit = info->param[CNNACC_IMC_PARAM_LIMITS] >> 16,
		.commands = info->program_max / (int64_t)sizeof(struct cnnacc_seq_command),
		.cycles_max = info->job_cycles_max,
	};
	if (!hw->cin_max || !hw->csus || !hw->n_max || !hw->port || hw->cin_limit < hw->cin_max ||
	    !hw->cout_limit)
		snprintf(hw->bad, sizeof(hw->bad), "array 0x%x or limits of the core are not "
			 "supported", array);
	else if (hw->commands < COMMANDS_MIN)
		snprintf(hw->bad, sizeof(hw->bad), "programs of %lld commands, at least %d wanted",
			 (long long)hw->commands, COMMANDS_MIN);
}

static void imcc_close(struct cnn_backend *base)
{
	struct imcc_core *core = (struct imcc_core *)base;

	free(core->nodes);
	free(core);
}

static struct cnn_backend *imcc_open(struct cnn_compile *compile,
				     const struct cnnrt_core_info *info)
{
	struct imcc_core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->base =
		(struct cnn_backend){ .ops = &cnn_backend_imc, .compile = compile, .info = info };
	core->nodes = calloc((size_t)compile->g->n_nodes + 1, sizeof(*core->nodes));
	if (!core->nodes) {
		imcc_close(&core->base);
		return NULL;
	}
	read_hw(&core->hw, info);
	return &core->base;
}

static bool imcc_match_node(struct cnn_backend *base, struct cnn_unit *unit, char *reason)
{
	struct imcc_core *core = (struct imcc_core *)base;
	struct imcc_node *n = &core->nodes[unit->nodes[0]];
	const struct imcc_conv *v = &n->conv;

	n->planned = false;
	if (!imcc_match(core, unit->nodes[0], &n->conv, reason))
		return false;
	return cnn_unit_add_in(unit, &(struct cnn_node_io){ .value = v->in, .layout = v->ifm }) &&
	       cnn_unit_add_out(unit, &(struct cnn_node_io){
			       .value = v->out, .layout = v->ofm, .bytes = v->ofm_bytes });
}

/* Uses the layout that the value has. */
static bool plan_input(struct imcc_node *n, const struct cnn_layout *l)
{
	const struct imcc_conv *v = &n->conv;
	struct cnn_planes rows;
	struct cnn_pixels map;

	if (v->product) {
		if (!cnn_layout_planes(l, &rows) || rows.n != 1)
			return false;
		n->plan.pixel = (rows.c > 1 ? rows.plane_pitch : v->ci) * v->size;
		n->plan.row = n->plan.image = 0;
		return true;
	}
	if (!cnn_layout_pixels(l, &map))
		return false;
	n->plan.pixel = map.column_pitch * v->size;
	n->plan.row = map.row_pitch * v->size;
	n->plan.image = map.image_pitch * v->size;
	return true;
}

static const char *format_name(const struct imcc_conv *v)
{
	return v->format == CNNACC_IMC_FP32 ? "FP32" : v->format == CNNACC_IMC_UINT8 ? "UINT8" :
										       "INT8";
}

/* n of the first phase that has taps. */
static int64_t first_n(const struct imcc_conv *v)
{
	int64_t n = 0;

	for (int64_t i = 0; i < imcc_phases(v) && !n; i++)
		n = imcc_phase(v, i).n;
	return cnn_max(n, 1);
}

/* The mode of the first plane of a tile; others of other sizes may have the other one. */
static bool is_full(const struct imcc_hw *hw, const struct imcc_node *n)
{
	const struct imcc_conv *v = &n->conv;
	struct imcc_plane p = { .n = first_n(v), .cin = n->plan.c * v->fold, .cout = n->plan.k,
				.size = v->size };

	p.h = imcc_class_size(&v->y, 0, n->plan.h) + p.n - 1;
	p.w = imcc_class_size(&v->x, 0, n->plan.w) + p.n - 1;
	imcc_choose_mode(hw, &p);
	return p.full;
}

static void describe(const struct imcc_hw *hw, const struct imcc_node *n, const char *op,
		     char *reason)
{
	const struct imcc_conv *v = &n->conv;
	bool transposed = v->y.transposed || v->x.transposed;
	int64_t tiles = imcc_tiles(n), classes = transposed ? 1 : v->y.classes * v->x.classes;
	int len = snprintf(reason, CNN_REASON_LEN, "%s: %s %s, n %lld, %s reuse, %lld tile%s", op,
			   format_name(v), v->product ? "matrix product" :
			   transposed ? "transposed convolution" : "convolution",
			   (long long)first_n(v), is_full(hw, n) ? "full" : "partial",
			   (long long)tiles, tiles == 1 ? "" : "s");

	if (v->fold > 1)
		len += snprintf(reason + len, CNN_REASON_LEN - (size_t)len,
				", %lld columns as channels", (long long)v->fold);
	if (imcc_phases(v) > 1)
		len += snprintf(reason + len, CNN_REASON_LEN - (size_t)len, ", %lld phases of %s",
				(long long)imcc_phases(v), transposed ? "results" : "taps");
	if (classes > 1)
		len += snprintf(reason + len, CNN_REASON_LEN - (size_t)len,
				", %lld classes of results", (long long)classes);
	if (v->groups > 1)
		snprintf(reason + len, CNN_REASON_LEN - (size_t)len, ", %lld groups as %lld blocks",
			 (long long)v->groups, (long long)v->blocks);
}

/* Takes columns of the kernel as channels if that is faster. */
static void try_fold(struct imcc_core *core, struct imcc_node *n, const char *op)
{
	struct imcc_node other = *n;
	char reason[CNN_REASON_LEN];
	uint64_t cycles;

	if (!imcc_fold(&other.conv) || !imcc_find_plan(core, &other, op, reason))
		return;
	cycles = imcc_cycles(core, &other);
	if (cycles && cycles < imcc_cycles(core, n))
		*n = other;
}

static bool imcc_plan(struct cnn_backend *base, const struct cnn_unit *unit, char *reason)
{
	struct imcc_core *core = (struct imcc_core *)base;
	const char *op = unit->g->nodes[unit->nodes[0]].op_type;
	struct imcc_node *n = &core->nodes[unit->nodes[0]];

	n->plan = (struct imcc_plan){ 0 };
	if (!plan_input(n, &unit->in[0].layout))
		return cnn_reject(reason, "%s: pixels of the input are not equidistant in the arena",
				  op);
	if (!imcc_find_plan(core, n, op, reason))
		return false;
	try_fold(core, n, op);
	n->planned = true;
	describe(&core->hw, n, op, reason);
	return true;
}

/* Maps are pixels, matrices planes of one row. */
static bool imcc_reads(const struct cnn_layout *has, struct cnn_layout *want)
{
	return cnn_layout_as_pixels(has, want) || cnn_layout_as_planes(has, want);
}

static int imcc_lower(struct cnn_backend *base, struct cnn_segment *seg)
{
	struct imcc_core *core = (struct imcc_core *)base;
	int ret = CNN_OK;

	for (int i = 0; i < seg->n_nodes && !ret; i++) {
		if (core->nodes[seg->nodes[i]].planned)
			ret = imcc_emit(core, seg->nodes[i]);
		cnn_progress(base->compile, i + 1);
	}
	return ret;
}

static uint64_t imcc_node_cycles(struct cnn_backend *base, int node)
{
	struct imcc_core *core = (struct imcc_core *)base;

	return imcc_cycles(core, &core->nodes[node]);
}

static int64_t imcc_peak(const struct cnn_backend *base, int node)
{
	const struct imcc_core *core = (const struct imcc_core *)base;

	(void)node;
	return core->hw.cin_max * core->hw.csus;
}

const struct cnn_backend_ops cnn_backend_imc = {
	.name = "imc",
	.legalize = imcc_legalize,
	.converts = true,
	.open = imcc_open,
	.close = imcc_close,
	.is_for = imcc_is_for,
	.match = imcc_match_node,
	.plan = imcc_plan,
	.reads = imcc_reads,
	.cycles = imcc_node_cycles,
	.lower = imcc_lower,
	.peak = imcc_peak,
};
