// SPDX-License-Identifier: MIT
/* Core ccp, the programmable CNN coprocessor: its back end, and how nodes are planned. */
#include <stdio.h>
#include <stdlib.h>

#include "ccp.h"

/* Reads the discovery table. A core with another arithmetic than ours gets no nodes. */
static void read_hw(struct ccpc_hw *hw, const struct cnnrt_core_info *info)
{
	uint32_t geometry = info->param[CNNACC_CCP_PARAM_GEOMETRY];
	uint32_t limits = info->param[CNNACC_CCP_PARAM_LIMITS];

	hw->data_bank =
		info->param[CNNACC_CCP_PARAM_DATA_BANK] / CNNACC_LINE_SIZE * CCPC_LINE_FLOATS;
	hw->weight_bank =
		info->param[CNNACC_CCP_PARAM_WEIGHT_BANK] / CNNACC_LINE_SIZE * CCPC_LINE_FLOATS;
	hw->split_banks = info->param[CNNACC_CCP_PARAM_BANKS] & CNNACC_CCP_BANKS_SPLIT;
	hw->groups = geometry >> 16 & 0xff;
	hw->lob = (int64_t)info->param[CNNACC_CCP_PARAM_LOB] * hw->groups;
	hw->insns = (uint32_t)cnn_min(info->program_max / 4, CNNACC_CCP_TARGET_MASK + 1);
	hw->cycles_max = (uint64_t)cnn_min(INT64_MAX, (int64_t)(info->job_cycles_max & INT64_MAX));
	if ((geometry & 0xff) != CNNACC_CCP_ROWS || (geometry >> 8 & 0xff) != CNNACC_CCP_LANES ||
	    !hw->groups || hw->groups > CNNACC_CCP_GROUPS)
		snprintf(hw->bad, sizeof(hw->bad),
			 "geometry 0x%x of the core is not supported, only 0x%x", geometry,
			 CNNACC_CCP_ROWS | CNNACC_CCP_LANES << 8 | CNNACC_CCP_GROUPS << 16);
	else if ((limits & 0xff) < CNNACC_CCP_KERNEL_MAX ||
		 (limits >> 8 & 0xff) < CNNACC_CCP_STRIDE_MAX ||
		 (limits >> 16 & 0xff) < CNNACC_CCP_PAD_MAX)
		snprintf(hw->bad, sizeof(hw->bad), "limits 0x%x of the core on kernel, stride and "
			 "padding are too low", limits);
	else if (hw->data_bank < 1024 || hw->weight_bank < 256 || hw->insns < 64 || hw->lob < 1)
		snprintf(hw->bad, sizeof(hw->bad), "memories of %lld, %lld and %u words are too "
			 "small", (long long)hw->data_bank, (long long)hw->weight_bank, hw->insns);
}

static void ccpc_close(struct cnn_backend *base)
{
	struct ccpc_core *core = (struct ccpc_core *)base;

	free(core->nodes);
	free(core->index);
	free(core);
}

static struct cnn_backend *ccpc_open(struct cnn_compile *compile, const struct cnnrt_core_info *info)
{
	struct ccpc_core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->base =
		(struct cnn_backend){ .ops = &cnn_backend_ccp, .compile = compile, .info = info };
	core->nodes = calloc((size_t)compile->g->n_nodes + 1, sizeof(*core->nodes));
	core->index = malloc(((size_t)compile->g->n_values + 1) * sizeof(*core->index));
	if (!core->nodes || !core->index) {
		ccpc_close(&core->base);
		return NULL;
	}
	for (int v = 0; v < compile->g->n_values; v++)
		core->index[v] = -1;
	read_hw(&core->hw, info);
	core->base.on_chip = core->hw.data_bank * (int64_t)sizeof(float);
	return &core->base;
}

static bool ccpc_is_for(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);

	return y && y->dtype == CNN_FLOAT32;
}

static struct cnn_node_io io_of(const struct ccpc_operand *o)
{
	return (struct cnn_node_io){
		.value = o->value, .layout = cnn_planes_layout(&o->layout),
	};
}

static bool ccpc_match_node(struct cnn_backend *base, struct cnn_unit *unit, char *reason)
{
	struct ccpc_core *core = (struct ccpc_core *)base;
	struct ccpc_node *n = &core->nodes[unit->nodes[0]];
	struct cnn_node_io in, add, out;

	if (!ccpc_match(&core->hw, base->compile->g, unit->nodes[0], n, reason))
		return false;
	in = io_of(&n->in);
	add = io_of(&n->add);
	out = io_of(&n->out);
	return cnn_unit_add_in(unit, &in) && (n->add.value < 0 || cnn_unit_add_in(unit, &add)) &&
	       cnn_unit_add_out(unit, &out);
}

static bool covers_input(const struct ccpc_conv *v)
{
	return !v->adds && v->groups == 1 && v->oh == 1 && v->ow == 1 && v->kh == v->ih &&
	       v->kw == v->iw && !v->pad.top && !v->pad.bottom && !v->pad.left && !v->pad.right;
}

/* A convolution whose window covers the whole input is a matrix product, if planes are adjacent. */
static bool conv_as_fc(const struct ccpc_node *from, struct ccpc_node *n)
{
	const struct ccpc_conv *v = &from->conv;
	const struct cnn_layout in = cnn_planes_layout(&from->in.layout);

	*n = *from;
	if (!covers_input(v))
		return false;
	if (!cnn_layout_view(&in, v->n, v->ci * v->ih * v->iw, 1, &n->in.layout) ||
	    n->in.layout.plane_pitch != 1)
		return false;
	n->kind = &ccpc_fc;
	n->fc = (struct ccpc_fc){
		.rows = v->n, .in = v->ci * v->ih * v->iw, .out = v->co, .w = v->w,
	};
	n->fc.w.stride_in = 1;
	return true;
}

/* A product with rows too long for the fully connected unit: a convolution sums in the LOBs. */
static bool fc_as_conv(const struct ccpc_node *from, struct ccpc_node *n)
{
	const struct ccpc_fc *v = &from->fc;

	*n = *from;
	if (v->in > UINT16_MAX || v->out > UINT16_MAX)
		return false;
	n->kind = &ccpc_conv;
	n->conv = (struct ccpc_conv){
		.n = v->rows, .groups = 1, .ci = v->in, .co = v->out, .ih = 1, .iw = 1, .oh = 1,
		.ow = 1, .kh = 1, .kw = 1, .sy = 1, .sx = 1, .w = v->w,
	};
	return true;
}

/*
 * A 1 x 1 convolution may treat a plane as rows of eight columns, which fill every lane. Its
 * results for the gap behind a plane are never read.
 */
static bool conv_as_strip(const struct ccpc_node *from, struct ccpc_node *n)
{
	const struct ccpc_conv *v = &from->conv;
	int64_t plane = v->ih * v->iw, rows = cnn_div_up(plane, CNNACC_CCP_LANES);

	*n = *from;
	if (v->average || v->kh > 1 || v->kw > 1 || v->sy > 1 || v->sx > 1 || v->pad.top ||
	    v->pad.bottom || v->pad.left || v->pad.right)
		return false;
	if (plane < CCPC_LINE_FLOATS || rows > UINT16_MAX ||
	    (from->in.layout.c > 1 && from->in.layout.plane_pitch < rows * CNNACC_CCP_LANES) ||
	    (from->out.layout.c > 1 && from->out.layout.plane_pitch < rows * CNNACC_CCP_LANES))
		return false;
	n->conv.ih = n->conv.oh = rows;
	n->conv.iw = n->conv.ow = CNNACC_CCP_LANES;
	return true;
}

static enum ccpc_trial_result try_plan(struct ccpc_core *core, struct ccpc_node *n)
{
	struct ccpc_trial t;
	enum ccpc_trial_result fit = ccpc_node_try(core, n, &t);

	if (fit != CCPC_FITS)
		return fit;
	if ((core->words + t.words) * 4 > CNN_PROGRAM_MAX / 2 ||
	    (core->weights + t.weights) * 4 > CNN_WEIGHTS_MAX / 2)
		return CCPC_NO_CAPACITY;
	core->words += t.words;
	core->weights += t.weights;
	n->trial_cycles = t.cycles;
	return CCPC_FITS;
}

static enum ccpc_trial_result plan_node(struct ccpc_core *core, const struct ccpc_node *from,
					struct ccpc_node *n)
{
	enum ccpc_trial_result fit;

	if (from->kind == &ccpc_conv && conv_as_fc(from, n) && try_plan(core, n) == CCPC_FITS)
		return CCPC_FITS;
	if (from->kind == &ccpc_conv && conv_as_strip(from, n) && try_plan(core, n) == CCPC_FITS)
		return CCPC_FITS;
	*n = *from;
	fit = try_plan(core, n);
	if (fit != CCPC_FITS && from->kind == &ccpc_fc && fc_as_conv(from, n))
		fit = try_plan(core, n);
	return fit;
}

static bool explain(const struct ccpc_core *core, const char *op, enum ccpc_trial_result fit,
		    char *reason)
{
	const struct ccpc_hw *hw = &core->hw;

	if (fit == CCPC_NO_TASK)
		return cnn_reject(reason, "%s: its smallest piece exceeds a task's %u instructions "
				  "or %llu cycles", op, hw->insns,
				  (unsigned long long)hw->cycles_max);
	if (fit == CCPC_NO_CAPACITY)
		return cnn_reject(reason, "%s: program exceeds %lld words or %u executed "
				  "instructions, or all weights exceed %lld bytes", op,
				  (long long)CCPC_WORDS_MAX, CCPC_TRIAL_INSNS_MAX,
				  (long long)(CNN_WEIGHTS_MAX / 2));
	return cnn_reject(reason, "%s: its smallest piece exceeds data banks of %lld or weight "
			  "banks of %lld bytes", op, (long long)hw->data_bank * 4,
			  (long long)hw->weight_bank * 4);
}

/* A batch element must start at a line. Otherwise a store would write a part of the one before. */
static bool check_pitch(const char *op, const struct cnn_planes *l, char *reason)
{
	if (l->n == 1 || l->image_pitch % CCPC_LINE_FLOATS == 0)
		return true;
	return cnn_reject(reason, "%s: batch elements are %lld floats apart, not a multiple of %d",
			  op, (long long)l->image_pitch, CCPC_LINE_FLOATS);
}

/* Whole lines are added, so both operands need the same plane pitch. */
static bool check_addend(const char *op, const struct ccpc_node *n, char *reason)
{
	if (n->out.layout.c == 1 || n->add.layout.plane_pitch == n->out.layout.plane_pitch)
		return true;
	return cnn_reject(
		reason, "%s: planes of the addend are %lld floats apart, those of the output %lld",
		op, (long long)n->add.layout.plane_pitch, (long long)n->out.layout.plane_pitch);
}

/* Binding to a bank that holds nothing. */
static struct ccpc_bank_binding empty_bank(const struct ccpc_hw *hw)
{
	int64_t half_lines = hw->split_banks ? hw->data_bank / CCPC_LINE_FLOATS / 2 : 0;

	return (struct ccpc_bank_binding){
		.capacity = hw->data_bank, .half_capacity = half_lines * CCPC_LINE_FLOATS,
		.half_line = { 0, half_lines },
	};
}

static bool ccpc_plan(struct cnn_backend *base, const struct cnn_unit *unit, char *reason)
{
	struct ccpc_core *core = (struct ccpc_core *)base;
	int node = unit->nodes[0];
	const char *op = base->compile->g->nodes[node].op_type;
	struct ccpc_node from = core->nodes[node], *n = &core->nodes[node];
	enum ccpc_trial_result result;

	cnn_layout_planes(&unit->in[0].layout, &from.in.layout);
	cnn_layout_planes(&unit->out[0].layout, &from.out.layout);
	if (from.add.value >= 0)
		cnn_layout_planes(&unit->in[1].layout, &from.add.layout);
	from.in.bind = from.out.bind = empty_bank(&core->hw);
	n->kind = NULL;
	if (!check_pitch(op, &from.in.layout, reason) || !check_pitch(op, &from.out.layout, reason))
		return false;
	if (from.add.value >= 0 &&
	    (!check_pitch(op, &from.add.layout, reason) || !check_addend(op, &from, reason)))
		return false;
	if (from.kind == &ccpc_fc && from.in.layout.plane_pitch != 1)
		return cnn_reject(reason, "%s: rows of the input are not contiguous", op);
	result = plan_node(core, &from, n);
	if (result != CCPC_FITS) {
		n->kind = NULL;
		return explain(core, op, result, reason);
	}
	ccpc_node_describe(n, op, reason);
	return true;
}

/* What becomes a matrix product of adjacent planes adds in another order. */
static bool ccpc_takes_dense(const struct cnn_backend *base, const struct cnn_unit *unit, int value)
{
	const struct ccpc_node *n = &((const struct ccpc_core *)base)->nodes[unit->nodes[0]];

	return value != n->in.value || n->kind != &ccpc_conv || !covers_input(&n->conv);
}

static uint64_t ccpc_cycles(struct cnn_backend *base, int node)
{
	return ((struct ccpc_core *)base)->nodes[node].trial_cycles;
}

static int64_t ccpc_peak(const struct cnn_backend *base, int node)
{
	(void)node;
	return CNNACC_CCP_ROWS * CNNACC_CCP_LANES * ((const struct ccpc_core *)base)->hw.groups;
}

const struct cnn_backend_ops cnn_backend_ccp = {
	.name = "ccp",
	.legalize = ccpc_legalize,
	.companions = ccpc_companions,
	.open = ccpc_open,
	.close = ccpc_close,
	.is_for = ccpc_is_for,
	.match = ccpc_match_node,
	.plan = ccpc_plan,
	.reads = cnn_layout_as_planes,
	.takes_dense = ccpc_takes_dense,
	.cycles = ccpc_cycles,
	.lower = ccpc_lower,
	.peak = ccpc_peak,
};
