// SPDX-License-Identifier: MIT
/* Core hwpe, the matrix coprocessor for quantised networks: which tiles a node is cut into. */
#include <stdio.h>
#include <stdlib.h>

#include "hwpe.h"

#define MAX_FIELD	65535	/* counts and strides are 16-bit fields */
#define MAX_GROUPS	1023	/* K_count */

static void read_hw(struct hwpec_hw *hw, const struct cnn_core *info)
{
	uint32_t geometry = info->param[CNNACC_HWPE_PARAM_GEOMETRY];
	const uint32_t known = CNNACC_HWPE_PES | CNNACC_HWPE_ACCS << 8 | 8 * HWPEC_WORD << 16;

	hw->fmap = cnn_min(info->param[CNNACC_HWPE_PARAM_FMAP], CNNACC_HWPE_SRAM2);
	hw->kernel = info->param[CNNACC_HWPE_PARAM_KERNEL];
	hw->kernel_max = info->param[CNNACC_HWPE_PARAM_LIMITS] & 0xff;
	hw->shift_max = info->param[CNNACC_HWPE_PARAM_LIMITS] >> 8 & 0xff;
	hw->commands = info->program_max / sizeof(struct cnnacc_seq_command);
	hw->cycles_max = info->job_cycles_max;
	if (geometry != known)
		snprintf(hw->bad, sizeof(hw->bad), "core of geometry 0x%x, known is 0x%x", geometry,
			 known);
	else if (hw->commands < 2 * HWPEC_TILE_COMMANDS || hw->fmap < 64 || hw->kernel < 128)
		snprintf(hw->bad, sizeof(hw->bad), "core with memories of %lld and %lld bytes, "
			 "%lld commands", (long long)hw->fmap, (long long)hw->kernel,
			 (long long)hw->commands);
}

static void hwpec_close(struct cnn_backend *base)
{
	struct hwpec_core *core = (struct hwpec_core *)base;

	free(core->nodes);
	free(core->codes);
	free(core);
}

static struct cnn_backend *hwpec_open(struct cnn_compile *lw, const struct cnn_core *info)
{
	struct hwpec_core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->base = (struct cnn_backend){ .ops = &cnn_backend_hwpe, .lw = lw, .info = info };
	core->nodes = calloc((size_t)lw->g->n_nodes + 1, sizeof(*core->nodes));
	core->codes = calloc((size_t)lw->g->n_values + 1, sizeof(*core->codes));
	if (!core->nodes || !core->codes) {
		hwpec_close(&core->base);
		return NULL;
	}
	cnn_graph_codes(lw->g, core->codes);
	read_hw(&core->hw, info);
	return &core->base;
}

static bool hwpec_is_for(const struct cnn_graph *g, const struct cnn_node *n)
{
	(void)g;
	return n->op == CNN_OP_CONV_INTEGER || n->op == CNN_OP_MATMUL_INTEGER ||
	       n->op == CNN_OP_QLINEAR_SUMS || hwpec_is_unsplit(n);
}

static bool hwpec_match_node(struct cnn_backend *base, int node, struct cnn_node_fit *fit,
			     char *reason)
{
	struct hwpec_core *core = (struct hwpec_core *)base;
	struct hwpec_node *n = &core->nodes[node];

	if (!hwpec_match(core, node, n, reason))
		return false;
	fit->in[0] = (struct cnn_node_io){ .value = n->in, .layout = n->in_l };
	fit->n_in = 1;
	fit->out = (struct cnn_node_io){
		.value = n->out,
		.layout = n->out_l,
		.bytes = n->out_bytes,
	};
	return true;
}

/* ---- tiles ----------------------------------------------------------------------------- */

struct limit {
	const char *what;
	int64_t value, limit;
};

/* The limits that a tile of th rows and tw columns has to keep; returns how many. */
static int tile_limits(const struct hwpec_hw *hw, const struct hwpec_node *n, struct limit *l)
{
	int64_t column = hwpec_column_bytes(n, n->th);
	int64_t columns = (n->tw / HWPEC_OUT_COLUMNS - 1) * n->sw + (n->kw - 1) * n->dw + 1;
	const struct limit all[] = {
		{ "Conv_CH_count", n->words, MAX_FIELD },
		{ "H_stride", hwpec_row_step(n), MAX_FIELD },
		{ "W_stride", n->sw * column, MAX_FIELD },
		{ "Conv_W_offset", n->dw * column, MAX_FIELD },
		{ "H_count", n->th / HWPEC_OUT_ROWS, MAX_FIELD },
		{ "W_count", n->tw / HWPEC_OUT_COLUMNS, MAX_FIELD },
		{ "bytes of half a map", columns * column + HWPEC_WORD, hw->fmap },
		{ "bytes of weights", n->rounds * CNNACC_HWPE_ROUND_BYTES, hw->kernel },
		{ "cycles of a tile", (int64_t)hwpec_tile_cycles(n),
		  (int64_t)(hw->cycles_max & INT64_MAX) / 2 },
	};
	int count = sizeof(all) / sizeof(all[0]);

	for (int i = 0; i < count; i++)
		l[i] = all[i];
	return count;
}

static const struct limit *find_broken(const struct limit *l, int count)
{
	for (int i = 0; i < count; i++)
		if (l[i].value > l[i].limit)
			return &l[i];
	return NULL;
}

static int64_t half_up(int64_t v, int64_t unit)
{
	return cnn_round_up(v / 2, unit);
}

/* The largest tile: whole maps, halved along the longer side until one fits. */
static bool find_tile(const struct hwpec_hw *hw, struct hwpec_node *n, const char *op, char *reason)
{
	struct limit l[16];

	n->th = n->ohp;
	n->tw = n->owp;
	n->chunk = cnn_min(hw->kernel / (n->rounds * CNNACC_HWPE_ROUND_BYTES), MAX_GROUPS);
	n->chunk = cnn_min(n->chunk, cnn_div_up(hwpec_block_outputs(n, 0), HWPEC_COLUMNS));
	/* The core begins each task with the first group of the kernel memory. */
	if (n->start)
		n->chunk = cnn_min(n->chunk, 1);
	while (true) {
		const struct limit *bad = find_broken(l, tile_limits(hw, n, l));

		if (!bad)
			return true;
		if (n->th > HWPEC_OUT_ROWS && (n->th >= n->tw || n->tw <= HWPEC_OUT_COLUMNS))
			n->th = half_up(n->th, HWPEC_OUT_ROWS);
		else if (n->tw > HWPEC_OUT_COLUMNS)
			n->tw = half_up(n->tw, HWPEC_OUT_COLUMNS);
		else if (n->chunk > 1)
			n->chunk = n->chunk / 2;
		else
			return cnn_reject(reason, "%s: %s %lld, limit of hwpe %lld", op, bad->what,
					  (long long)bad->value, (long long)bad->limit);
	}
}

/*
 * Where the last parts of a whole image's tile lie beside the output nobody wants their AccRegs.
 * What stays in them goes wrong, which would matter to tiles of other sizes.
 */
static uint32_t wanted_accs(const struct hwpec_node *n)
{
	int64_t rows = n->product ? cnn_min(n->rows, n->oh) : n->oh;
	int64_t columns = n->product ? cnn_div_up(n->rows, n->oh) : n->ow;
	int64_t parts = cnn_div_up(rows, n->th / HWPEC_OUT_ROWS);

	if (n->th < n->ohp || n->tw < n->owp || n->interleaved)
		return CNNACC_HWPE_ACCS;
	return (uint32_t)(HWPEC_OUT_COLUMNS * (parts - 1) +
			  cnn_div_up(columns, n->tw / HWPEC_OUT_COLUMNS));
}

static void describe(const struct hwpec_node *n, const char *op, int64_t macs, char *reason)
{
	int64_t slots = hwpec_slots(n), tiles = hwpec_tiles(n);
	int len = snprintf(reason, CNN_REASON_LEN, "%s: %s%s%s, %lld tile%s", op,
			   n->codes ? cnn_codes_name(n->codes) : "", n->codes ? " " : "",
			   n->product ? "matrix product" : n->interleaved ? "interleaved input layer" :
			   n->input ? "input layer" : "inner layer", (long long)tiles, tiles == 1 ? "" : "s");

	if (n->blocks > 1)
		len += snprintf(reason + len, CNN_REASON_LEN - (size_t)len,
				", %lld groups as %lld dense blocks", (long long)n->groups,
				(long long)n->blocks);
	len += snprintf(reason + len, CNN_REASON_LEN - (size_t)len, ", %.1f %% of %lld slots used",
			100.0 * (double)macs / (double)slots, (long long)slots);
	if (n->shift >= 0)
		snprintf(reason + len, CNN_REASON_LEN - (size_t)len, ", shifted out by %d",
			 n->shift);
}

/* The core has a mode for kernels of 3 x 3 pixels of 3 bytes: fewer rounds for more transfers. */
static void try_interleaved(struct hwpec_core *core, struct hwpec_node *n, const char *op)
{
	struct hwpec_node other = *n;
	char reason[CNN_REASON_LEN];
	uint64_t cycles;

	if (n->product || n->groups > 1 || n->ci != 3 || n->cp != 3 || n->kh != 3 || n->kw != 3 ||
	    n->dh > 1 || n->dw > 1)
		return;
	other.interleaved = true;
	other.rounds = 4;
	if (!find_tile(&core->hw, &other, op, reason))
		return;
	other.accs = wanted_accs(&other);
	cycles = hwpec_cycles(core, &other);
	if (cycles && cycles < hwpec_cycles(core, n))
		*n = other;
}

/* The input lies as what made it left it. */
static void place_input(struct hwpec_node *n)
{
	if (!n->product)
		n->cp = n->in_l.row_pitch / n->per_byte;
	else if (n->in_l.c > 1)
		n->cp = n->in_l.plane_pitch / n->per_byte;
	n->column = n->product ? n->ih * n->cp : n->in_l.column_pitch / n->per_byte;
}

static bool hwpec_plan(struct cnn_backend *base, int node, const struct cnn_node_fit *fit,
		       char *reason)
{
	struct hwpec_core *core = (struct hwpec_core *)base;
	const struct cnn_graph *g = base->lw->g;
	const char *op = g->nodes[node].op_type;
	struct hwpec_node *n = &core->nodes[node];

	n->in = fit->in[0].slot;
	n->in_l = fit->in[0].layout;
	n->out_l = fit->out.layout;
	if (n->product && n->in_l.n != 1)
		return cnn_reject(reason, "%s: rows do not lie at one distance in the arena", op);
	place_input(n);
	if (!find_tile(&core->hw, n, op, reason))
		return false;
	n->accs = wanted_accs(n);
	try_interleaved(core, n, op);
	describe(n, op, cnn_node_macs(g, &g->nodes[node]), reason);
	return true;
}

static int hwpec_lower(struct cnn_backend *base, struct cnn_segment *seg)
{
	struct hwpec_core *core = (struct hwpec_core *)base;
	int ret = CNN_OK;

	for (int i = 0; i < seg->n_nodes && !ret; i++) {
		if (core->nodes[seg->nodes[i]].cp)
			ret = hwpec_emit(core, seg->nodes[i]);
		cnn_progress(base->lw, i + 1);
	}
	return ret;
}

static int64_t hwpec_peak(const struct cnn_backend *base, int node)
{
	const struct hwpec_core *core = (const struct hwpec_core *)base;

	return HWPEC_COLUMNS * HWPEC_WORD * core->nodes[node].per_byte;
}

const struct cnn_backend_ops cnn_backend_hwpe = {
	.type = CNNACC_CORE_HWPE,
	.name = "hwpe",
	.fuse = CNN_FUSE_ALL,
	.wants = CNN_FUSE_SUMS,
	.copies = true,
	.open = hwpec_open,
	.close = hwpec_close,
	.is_for = hwpec_is_for,
	.match = hwpec_match_node,
	.plan = hwpec_plan,
	.lower = hwpec_lower,
	.peak = hwpec_peak,
};
