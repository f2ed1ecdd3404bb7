// SPDX-License-Identifier: MIT
/* Core ccp, the programmable CNN coprocessor: from nodes to tasks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ccp.h"

static const struct {
	const char *text;
	bool (*plan)(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt);
	int (*weights)(struct ccpc_code *c, struct ccpc_node *n); /* NULL: it has none */
	int (*emit)(struct ccpc_code *c, struct ccpc_node *n);
} kinds[] = {
	[CCP_CONV] = { "convolution", ccpc_conv_plan, ccpc_conv_weights, ccpc_conv_emit },
	[CCP_FC] = { "fully connected unit", ccpc_fc_plan, ccpc_fc_weights, ccpc_fc_emit },
	[CCP_MEAN] = { "fully connected unit, a row of equal weights", ccpc_mean_plan,
		       ccpc_mean_weights, ccpc_mean_emit },
	[CCP_POOL] = { "pooling unit", ccpc_pool_plan, NULL, ccpc_pool_emit },
	[CCP_PAD] = { "padding unit", ccpc_pad_plan, NULL, ccpc_pad_emit },
};

/* The sizes of the discovery table; a core with other arithmetic than ours gets no nodes. */
static void read_hw(struct ccpc_hw *hw, const struct cnn_core *info)
{
	uint32_t geometry = info->param[CNNACC_CCP_PARAM_GEOMETRY];
	uint32_t limits = info->param[CNNACC_CCP_PARAM_LIMITS];

	hw->bank = info->param[CNNACC_CCP_PARAM_DATA_BANK] / CNNACC_LINE_SIZE * LINE_FLOATS;
	hw->wbank = info->param[CNNACC_CCP_PARAM_WEIGHT_BANK] / CNNACC_LINE_SIZE * LINE_FLOATS;
	hw->groups = geometry >> 16 & 0xff;
	hw->lob = (int64_t)info->param[CNNACC_CCP_PARAM_LOB] * hw->groups;
	hw->insns = (uint32_t)cnn_min(info->program_max / 4, CNNACC_CCP_TARGET_MASK + 1);
	hw->cycles_max = (uint64_t)cnn_min(INT64_MAX, (int64_t)(info->job_cycles_max & INT64_MAX));
	if ((geometry & 0xff) != CNNACC_CCP_ROWS || (geometry >> 8 & 0xff) != CNNACC_CCP_LANES ||
	    !hw->groups || hw->groups > CNNACC_CCP_GROUPS)
		snprintf(hw->bad, sizeof(hw->bad), "core of geometry 0x%x, known is 0x%x", geometry,
			 CNNACC_CCP_ROWS | CNNACC_CCP_LANES << 8 | CNNACC_CCP_GROUPS << 16);
	else if ((limits & 0xff) < CNNACC_CCP_KERNEL_MAX ||
		 (limits >> 8 & 0xff) < CNNACC_CCP_STRIDE_MAX ||
		 (limits >> 16 & 0xff) < CNNACC_CCP_PAD_MAX)
		snprintf(hw->bad, sizeof(hw->bad), "core with limits 0x%x on kernel, stride and "
			 "padding", limits);
	else if (hw->bank < 1024 || hw->wbank < 256 || hw->insns < 64 || hw->lob < 1)
		snprintf(hw->bad, sizeof(hw->bad), "core with memories of %lld, %lld and %u words",
			 (long long)hw->bank, (long long)hw->wbank, hw->insns);
}

static struct cnn_backend *ccpc_open(struct cnn_compile *lw, const struct cnn_core *info)
{
	struct ccpc_core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->base = (struct cnn_backend){ .ops = &cnn_backend_ccp, .lw = lw, .info = info };
	core->nodes = calloc((size_t)lw->g->n_nodes + 1, sizeof(*core->nodes));
	core->index = malloc(((size_t)lw->g->n_values + 1) * sizeof(*core->index));
	if (!core->nodes || !core->index) {
		free(core->nodes);
		free(core->index);
		free(core);
		return NULL;
	}
	for (int v = 0; v < lw->g->n_values; v++)
		core->index[v] = -1;
	read_hw(&core->hw, info);
	core->base.on_chip = core->hw.bank * (int64_t)sizeof(float);
	return &core->base;
}

static void ccpc_close(struct cnn_backend *base)
{
	struct ccpc_core *core = (struct ccpc_core *)base;

	free(core->nodes);
	free(core->index);
	free(core);
}

static bool ccpc_is_for(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);

	return y && y->dtype == CNN_FLOAT32;
}

static bool ccpc_match_node(struct cnn_backend *base, int node, struct cnn_node_fit *fit,
			    char *reason)
{
	struct ccpc_core *core = (struct ccpc_core *)base;
	struct ccpc_node *n = &core->nodes[node];

	if (!ccpc_match(&core->hw, base->lw->g, node, n, reason))
		return false;
	fit->in[0] = (struct cnn_node_io){ .value = n->in, .layout = n->in_l };
	fit->n_in = 1;
	if (n->add >= 0)
		fit->in[fit->n_in++] = (struct cnn_node_io){ .value = n->add, .layout = n->add_l };
	fit->out = (struct cnn_node_io){ .value = n->out, .layout = n->out_l };
	return true;
}

/* ---- rewriting ------------------------------------------------------------------------- */

/* A convolution that sees its whole input at once is a matrix product, if planes touch. */
static bool conv_as_fc(const struct ccpc_node *from, struct ccpc_node *n)
{
	const struct ccpc_conv *v = &from->conv;

	*n = *from;
	if (v->adds || v->groups > 1 || v->oh > 1 || v->ow > 1 || v->kh != v->ih ||
	    v->kw != v->iw || v->pt || v->pb || v->pl || v->pr)
		return false;
	if (!cnn_layout_view(&from->in_l, v->n, v->ci * v->ih * v->iw, 1, &n->in_l) ||
	    n->in_l.plane_pitch != 1)
		return false;
	n->kind = CCP_FC;
	n->fc = (struct ccpc_fc){
		.rows = v->n,
		.in = v->ci * v->ih * v->iw,
		.out = v->co,
		.w = v->w,
	};
	n->fc.w.sc = 1;
	return true;
}

/* A product with rows too long for the fully connected unit: its sums can go through the LOBs. */
static bool fc_as_conv(const struct ccpc_node *from, struct ccpc_node *n)
{
	const struct ccpc_fc *v = &from->fc;

	*n = *from;
	if (v->in > UINT16_MAX || v->out > UINT16_MAX)
		return false;
	n->kind = CCP_CONV;
	n->conv = (struct ccpc_conv){
		.n = v->rows,
		.groups = 1,
		.ci = v->in,
		.co = v->out,
		.ih = 1,
		.iw = 1,
		.oh = 1,
		.ow = 1,
		.kh = 1,
		.kw = 1,
		.sy = 1,
		.sx = 1,
		.w = v->w,
	};
	return true;
}

/*
 * A 1 x 1 convolution does not care where rows end: eight columns fill every lane. What it
 * computes of the gap behind a plane is never read.
 */
static bool conv_as_strip(const struct ccpc_node *from, struct ccpc_node *n)
{
	const struct ccpc_conv *v = &from->conv;
	int64_t plane = v->ih * v->iw, rows = cnn_div_up(plane, CNNACC_CCP_LANES);

	*n = *from;
	if (v->average || v->kh > 1 || v->kw > 1 || v->sy > 1 || v->sx > 1 || v->pt || v->pb ||
	    v->pl || v->pr)
		return false;
	if (plane < LINE_FLOATS || rows > UINT16_MAX ||
	    (from->in_l.c > 1 && from->in_l.plane_pitch < rows * CNNACC_CCP_LANES) ||
	    (from->out_l.c > 1 && from->out_l.plane_pitch < rows * CNNACC_CCP_LANES))
		return false;
	n->conv.ih = n->conv.oh = rows;
	n->conv.iw = n->conv.ow = CNNACC_CCP_LANES;
	return true;
}

/* ---- planning -------------------------------------------------------------------------- */

enum fit { FITS, NO_MEMORY, NO_TASK, NO_ROOM };

int ccpc_weights(struct ccpc_code *c, struct ccpc_node *n)
{
	return kinds[n->kind].weights ? kinds[n->kind].weights(c, n) : CNN_OK;
}

int ccpc_emit(struct ccpc_code *c, struct ccpc_node *n)
{
	return kinds[n->kind].emit(c, n);
}

/* Makes n's code without keeping it, in smaller and smaller units until every one fits a task. */
static enum fit try_units(struct ccpc_core *core, struct ccpc_node *n, struct ccpc_code *c)
{
	int ret = CCPC_TOO_BIG;

	n->in_line = 0x10000000;
	n->out_line = 0x40000000;
	n->add_line = 0x20000000;
	for (int attempt = 0; ret == CCPC_TOO_BIG && core->steps < CCPC_ALL_STEPS_MAX; attempt++) {
		if (!kinds[n->kind].plan(&core->hw, n, attempt))
			return attempt ? NO_TASK : NO_MEMORY;
		if (ccpc_code_flush(c))
			return NO_MEMORY;
		c->trial = (struct ccpc_trial){ .words = 0 };
		ret = ccpc_weights(c, n);
		if (!ret)
			ret = ccpc_emit(c, n);
		core->steps += c->trial.steps;
	}
	return ret || ccpc_code_flush(c) ? NO_ROOM : FITS;
}

static enum fit try_node(struct ccpc_core *core, struct ccpc_node *n, struct ccpc_trial *t)
{
	struct ccpc_code c;
	enum fit fit;

	if (ccpc_code_init(&c, &core->hw, NULL))
		return NO_MEMORY;
	fit = try_units(core, n, &c);
	*t = c.trial;
	ccpc_code_free(&c);
	return fit;
}

bool ccpc_try(struct ccpc_core *core, struct ccpc_node *n, struct ccpc_trial *t)
{
	return try_node(core, n, t) == FITS;
}

static enum fit try_plan(struct ccpc_core *core, struct ccpc_node *n)
{
	struct ccpc_trial t;
	enum fit fit = try_node(core, n, &t);

	if (fit != FITS)
		return fit;
	if ((core->words + t.words) * 4 > CNN_PROGRAM_MAX / 2 ||
	    (core->weights + t.weights) * 4 > CNN_WEIGHTS_MAX / 2)
		return NO_ROOM;
	core->words += t.words;
	core->weights += t.weights;
	return FITS;
}

static enum fit plan_node(struct ccpc_core *core, const struct ccpc_node *from, struct ccpc_node *n)
{
	enum fit fit;

	if (from->kind == CCP_CONV && conv_as_fc(from, n) && try_plan(core, n) == FITS)
		return FITS;
	if (from->kind == CCP_CONV && conv_as_strip(from, n) && try_plan(core, n) == FITS)
		return FITS;
	*n = *from;
	fit = try_plan(core, n);
	if (fit != FITS && from->kind == CCP_FC && fc_as_conv(from, n))
		fit = try_plan(core, n);
	return fit;
}

static bool explain(const struct ccpc_core *core, const char *op, enum fit fit, char *reason)
{
	const struct ccpc_hw *hw = &core->hw;

	if (fit == NO_TASK)
		return cnn_reject(reason,
				  "%s: its smallest piece exceeds a task's %u instructions or "
				  "%llu cycles",
				  op, hw->insns, (unsigned long long)hw->cycles_max);
	if (fit == NO_ROOM)
		return cnn_reject(reason,
				  "%s: program above %lld words or %u steps, or all weights above "
				  "%lld bytes",
				  op, (long long)CCPC_WORDS_MAX, CCPC_STEPS_MAX,
				  (long long)(CNN_WEIGHTS_MAX / 2));
	return cnn_reject(reason,
			  "%s: its smallest piece exceeds data banks of %lld or weight banks of "
			  "%lld bytes",
			  op, (long long)hw->bank * 4, (long long)hw->wbank * 4);
}

void ccpc_describe(const struct ccpc_node *n, const char *op, char *reason)
{
	static const char *const kept[] = {
		"", ", input on chip", ", output stays on chip", ", input and output on chip",
	};
	int len = snprintf(reason, CNN_REASON_LEN, "%s: %s%s", op, kinds[n->kind].text,
			   kept[n->in_home.kept + 2 * n->out_home.kept]);

	if (n->kind == CCP_CONV && n->conv.block)
		snprintf(reason + len, CNN_REASON_LEN - (size_t)len,
			 ", %lld of %lld rows, %lld of %lld groups at a time",
			 (long long)n->conv.rows, (long long)n->conv.oh, (long long)n->conv.block,
			 (long long)n->conv.groups);
	else if (n->kind == CCP_CONV)
		snprintf(reason + len, CNN_REASON_LEN - (size_t)len,
			 ", %lld of %lld rows, %lld of %lld channels at a time%s",
			 (long long)n->conv.rows, (long long)n->conv.oh, (long long)n->conv.out_co,
			 (long long)n->conv.co, n->conv.slice ? ", input channels in slices" : "");
}

/* Images have to start at a line, or a store would touch two of them. */
static bool check_pitch(const char *op, const struct cnn_layout *l, char *reason)
{
	if (l->n == 1 || l->image_pitch % LINE_FLOATS == 0)
		return true;
	return cnn_reject(reason, "%s: %lld floats from image to image, not a multiple of %d", op,
			  (long long)l->image_pitch, LINE_FLOATS);
}

/* Whole lines are added, so planes have to lie alike. */
static bool check_addend(const char *op, const struct ccpc_node *n, char *reason)
{
	if (n->out_l.c == 1 || n->add_l.plane_pitch == n->out_l.plane_pitch)
		return true;
	return cnn_reject(reason, "%s: what is added has planes %lld floats apart, the output %lld",
			  op, (long long)n->add_l.plane_pitch, (long long)n->out_l.plane_pitch);
}

static bool ccpc_plan(struct cnn_backend *base, int node, const struct cnn_node_fit *fit,
		      char *reason)
{
	struct ccpc_core *core = (struct ccpc_core *)base;
	const char *op = base->lw->g->nodes[node].op_type;
	struct ccpc_node from = core->nodes[node], *n = &core->nodes[node];
	enum fit result;

	from.in_l = fit->in[0].layout;
	from.out_l = fit->out.layout;
	if (from.add >= 0)
		from.add_l = fit->in[1].layout;
	from.in_home = from.out_home = (struct ccpc_home){
		.room = core->hw.bank,
		.half = core->hw.bank / LINE_FLOATS / 2 * LINE_FLOATS,
		.half_at = { 0, core->hw.bank / LINE_FLOATS / 2 },
	};
	n->kind = CCP_NONE;
	if (!check_pitch(op, &from.in_l, reason) || !check_pitch(op, &from.out_l, reason))
		return false;
	if (from.add >= 0 && (!check_pitch(op, &from.add_l, reason) ||
			      !check_addend(op, &from, reason)))
		return false;
	if (from.kind == CCP_FC && from.in_l.plane_pitch != 1)
		return cnn_reject(reason, "%s: rows of the input are not contiguous", op);
	result = plan_node(core, &from, n);
	if (result != FITS) {
		n->kind = CCP_NONE;
		return explain(core, op, result, reason);
	}
	ccpc_describe(n, op, reason);
	return true;
}

static int64_t ccpc_peak(const struct cnn_backend *base, int node)
{
	(void)node;
	return CNNACC_CCP_ROWS * CNNACC_CCP_LANES * ((const struct ccpc_core *)base)->hw.groups;
}

const struct cnn_backend_ops cnn_backend_ccp = {
	.type = CNNACC_CORE_CCP,
	.name = "ccp",
	.fuse = CNN_FUSE_NOP | CNN_FUSE_BN | CNN_FUSE_BIAS | CNN_FUSE_RELU | CNN_FUSE_CHAIN |
		CNN_FUSE_ADD | CNN_FUSE_SHUFFLE | CNN_FUSE_STRIDE | CNN_FUSE_QDQ,
	.open = ccpc_open,
	.close = ccpc_close,
	.is_for = ccpc_is_for,
	.match = ccpc_match_node,
	.plan = ccpc_plan,
	.lower = ccpc_lower,
	.peak = ccpc_peak,
};
