// SPDX-License-Identifier: MIT
/*
 * Core hwpe, the matrix coprocessor for quantised networks: its back end, and the choice of tiles.
 */
#include <stdio.h>
#include <stdlib.h>

#include "hwpe.h"

#define MAX_FIELD	65535	/* counts and strides are 16-bit fields */
#define MAX_GROUPS	1023	/* K_count */

static void read_hw(struct hwpec_hw *hw, const struct cnnrt_core_info *info)
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
		snprintf(hw->bad, sizeof(hw->bad),
			 "geometry 0x%x of the core is not supported, only 0x%x", geometry, known);
	else if (hw->commands < 2 * HWPEC_TILE_COMMANDS || hw->fmap < 64 || hw->kernel < 128)
		snprintf(hw->bad, sizeof(hw->bad),
			 "memories of %lld and %lld bytes and %lld commands are too small",
			 (long long)hw->fmap, (long long)hw->kernel, (long long)hw->commands);
}

static void hwpec_close(struct cnn_backend *base)
{
	struct hwpec_core *core = (struct hwpec_core *)base;

	free(core->nodes);
	free(core->codes);
	free(core);
}

static struct cnn_backend *hwpec_open(struct cnn_compile *compile, const struct cnnrt_core_info *info)
{
	struct hwpec_core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->base =
		(struct cnn_backend){ .ops = &cnn_backend_hwpe, .compile = compile, .info = info };
	core->nodes = calloc((size_t)compile->g->n_nodes + 1, sizeof(*core->nodes));
	core->codes = calloc((size_t)compile->g->n_values + 1, sizeof(*core->codes));
	if (!core->nodes || !core->codes) {
		hwpec_close(&core->base);
		return NULL;
	}
	cnn_graph_codes(compile->g, core->codes);
	read_hw(&core->hw, info);
	return &core->base;
}

static bool hwpec_is_for(const struct cnn_graph *g, const struct cnn_node *n)
{
	enum cnn_op op = cnn_op_base(n->op);

	(void)g;
	return op == CNN_OP_CONV_INTEGER || op == CNN_OP_MATMUL_INTEGER ||
	       op == CNN_OP_QLINEAR_SUMS || cnn_is_unsplit(n);
}

static bool hwpec_match_node(struct cnn_backend *base, struct cnn_unit *unit, char *reason)
{
	struct hwpec_core *core = (struct hwpec_core *)base;
	struct hwpec_node *n = &core->nodes[unit->nodes[0]];
	const struct hwpec_conv *v = &n->conv;

	n->change.wanted = false;
	if (!hwpec_match(core, unit->nodes[0], &n->conv, reason))
		return false;
	return cnn_unit_add_in(unit, &(struct cnn_node_io){ .value = v->in, .layout = v->ifm }) &&
	       cnn_unit_add_out(unit, &(struct cnn_node_io){
			       .value = v->out, .layout = v->ofm, .bytes = v->ofm_bytes });
}

struct limit {
	const char *what;
	int64_t value, limit;
};

/* Fills the limits that the tile in the plan has to keep; returns their number. */
static int tile_limits(const struct hwpec_hw *hw, const struct hwpec_node *n, struct limit *l)
{
	int64_t column = hwpec_column_bytes(n, n->plan.tile_h);
	int64_t columns = (n->plan.tile_w / HWPEC_OUT_COLUMNS - 1) * n->conv.sw +
			  (n->conv.kw - 1) * n->conv.dw + 1;
	const struct limit all[] = {
		{ "Conv_CH_count", n->conv.words, MAX_FIELD },
		{ "H_stride", hwpec_row_advance(n), MAX_FIELD },
		{ "W_stride", n->conv.sw * column, MAX_FIELD },
		{ "Conv_W_offset", n->conv.dw * column, MAX_FIELD },
		{ "H_count", n->plan.tile_h / HWPEC_OUT_ROWS, MAX_FIELD },
		{ "W_count", n->plan.tile_w / HWPEC_OUT_COLUMNS, MAX_FIELD },
		{ "bytes of the map in one SRAM", columns * column + HWPEC_WORD, hw->fmap },
		{ "bytes of weights", n->plan.rounds * CNNACC_HWPE_ROUND_BYTES, hw->kernel },
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

static int64_t halve(int64_t v, int64_t unit)
{
	return cnn_round_up(v / 2, unit);
}

/* Finds the largest tile: the whole map, halved along the longer side until it fits. */
static bool find_tile(const struct hwpec_hw *hw, struct hwpec_node *n, const char *op, char *reason)
{
	struct limit l[16];

	n->plan.tile_h = n->conv.ofm_h_padded;
	n->plan.tile_w = n->conv.ofm_w_padded;
	n->plan.chunk =
		cnn_min(hw->kernel / (n->plan.rounds * CNNACC_HWPE_ROUND_BYTES), MAX_GROUPS);
	n->plan.chunk =
		cnn_min(n->plan.chunk, cnn_div_up(hwpec_block_outputs(&n->conv, 0), HWPEC_COLUMNS));
	/* The core begins each MAC with the first group of the kernel memory. */
	if (n->conv.acc_init)
		n->plan.chunk = cnn_min(n->plan.chunk, 1);
	while (true) {
		const struct limit *bad = find_broken(l, tile_limits(hw, n, l));

		if (!bad)
			return true;
		if (n->plan.tile_h > HWPEC_OUT_ROWS &&
		    (n->plan.tile_h >= n->plan.tile_w || n->plan.tile_w <= HWPEC_OUT_COLUMNS))
			n->plan.tile_h = halve(n->plan.tile_h, HWPEC_OUT_ROWS);
		else if (n->plan.tile_w > HWPEC_OUT_COLUMNS)
			n->plan.tile_w = halve(n->plan.tile_w, HWPEC_OUT_COLUMNS);
		else if (n->plan.chunk > 1)
			n->plan.chunk = n->plan.chunk / 2;
		else
			return cnn_reject(reason, "%s: %s %lld, limit of hwpe %lld", op, bad->what,
					  (long long)bad->value, (long long)bad->limit);
	}
}

/*
 * Accumulators beyond the output edge need not be drained. They then keep stale sums, which would
 * spoil tiles of other sizes, so this holds only if one tile covers the map.
 */
static uint32_t used_accs(const struct hwpec_node *n)
{
	int64_t rows = n->conv.product ? cnn_min(n->conv.rows, n->conv.ofm_h) : n->conv.ofm_h;
	int64_t columns = n->conv.product ? cnn_div_up(n->conv.rows, n->conv.ofm_h) : n->conv.ofm_w;
	int64_t parts = cnn_div_up(rows, n->plan.tile_h / HWPEC_OUT_ROWS);

	if (n->plan.tile_h < n->conv.ofm_h_padded || n->plan.tile_w < n->conv.ofm_w_padded ||
	    n->plan.interleaved)
		return CNNACC_HWPE_ACCS;
	return (uint32_t)(HWPEC_OUT_COLUMNS * (parts - 1) +
			  cnn_div_up(columns, n->plan.tile_w / HWPEC_OUT_COLUMNS));
}

static void describe(const struct hwpec_node *n, const char *op, int64_t macs, char *reason)
{
	int64_t slots = hwpec_slots(n), tiles = hwpec_tiles(n);
	int len = snprintf(reason, CNN_REASON_LEN, "%s: %s%s%s, %lld tile%s", op,
			   n->conv.codes ? cnn_codes_format(n->conv.codes)->name : "",
			   n->conv.codes ? " " : "",
			   n->conv.product     ? "matrix product" :
			   n->plan.interleaved ? "interleaved input layer" :
			   n->conv.input_layer ? "input layer" :
						 "inner layer",
			   (long long)tiles, tiles == 1 ? "" : "s");

	if (n->conv.blocks > 1)
		len += snprintf(reason + len, CNN_REASON_LEN - (size_t)len,
				", %lld groups as %lld dense blocks", (long long)n->conv.groups,
				(long long)n->conv.blocks);
	len += snprintf(reason + len, CNN_REASON_LEN - (size_t)len, ", %.1f %% of %lld slots used",
			100.0 * (double)macs / (double)slots, (long long)slots);
	if (n->conv.shift >= 0)
		snprintf(reason + len, CNN_REASON_LEN - (size_t)len, ", shifted out by %d",
			 n->conv.shift);
}

/* Kernel_333, for kernels of 3 x 3 pixels of 3 bytes, needs fewer rounds but more transfers. */
static void try_interleaved(struct hwpec_core *core, struct hwpec_node *n, const char *op)
{
	struct hwpec_node other = *n;
	char reason[CNN_REASON_LEN];
	uint64_t cycles;

	if (n->conv.product || n->conv.groups > 1 || n->conv.ci != 3 || n->plan.pixel != 3 ||
	    n->conv.kh != 3 || n->conv.kw != 3 || n->conv.dh > 1 || n->conv.dw > 1)
		return;
	other.plan.interleaved = true;
	other.plan.rounds = 4;
	if (!find_tile(&core->hw, &other, op, reason))
		return;
	other.plan.accs = used_accs(&other);
	cycles = hwpec_cycles(core, &other);
	if (cycles && cycles < hwpec_cycles(core, n))
		*n = other;
}

/* Use the layout chosen by the producer. */
static bool plan_input(struct hwpec_node *n, const struct cnn_layout *l)
{
	const struct hwpec_conv *v = &n->conv;
	struct cnn_planes rows;
	struct cnn_pixels map;

	if (v->product) {
		cnn_layout_planes(l, &rows);
		n->plan.pixel = rows.c > 1 ? rows.plane_pitch / v->per_byte : v->pixel;
		n->plan.column = v->ifm_h * n->plan.pixel;
		return rows.n == 1;
	}
	cnn_layout_pixels(l, &map);
	n->plan.pixel = map.row_pitch / v->per_byte;
	n->plan.column = map.column_pitch / v->per_byte;
	n->plan.image = map.image_pitch / v->per_byte;
	return true;
}

static bool hwpec_plan(struct cnn_backend *base, const struct cnn_unit *unit, char *reason)
{
	struct hwpec_core *core = (struct hwpec_core *)base;
	const struct cnn_node *node = &unit->g->nodes[unit->nodes[0]];
	const char *op = node->op_type;
	struct hwpec_node *n = &core->nodes[unit->nodes[0]];

	n->plan = (struct hwpec_plan){ .rounds = n->conv.kw * n->conv.words };
	if (!plan_input(n, &unit->in[0].layout))
		return cnn_reject(reason, "%s: rows of the input are not equidistant in the arena",
				  op);
	if (!find_tile(&core->hw, n, op, reason))
		return false;
	n->plan.accs = used_accs(n);
	try_interleaved(core, n, op);
	describe(n, op, cnn_node_macs(unit->g, node), reason);
	return true;
}

/* Maps are pixels, matrices planes of one row. */
static bool hwpec_reads(const struct cnn_layout *has, struct cnn_layout *want)
{
	return cnn_layout_as_pixels(has, want) || cnn_layout_as_planes(has, want);
}

static uint64_t hwpec_convert(struct cnn_backend *base, int node, const struct cnn_node_io *in,
			      const struct cnn_node_io *out, char *reason)
{
	struct hwpec_core *core = (struct hwpec_core *)base;
	const struct hwpec_change c = {
		.wanted = true, .in = in->value, .out = out->value, .from = in->layout,
		.to = out->layout,
	};

	if (reason) {
		core->nodes[node].change = c;
		cnn_reject(reason, "%s: changes the layout by transfers to an SRAM and back",
			   base->compile->g->nodes[node].op_type);
	}
	return core->hw.bad[0] ? 0 : hwpec_change_cycles(core, &c);
}

static int hwpec_lower(struct cnn_backend *base, struct cnn_segment *seg)
{
	struct hwpec_core *core = (struct hwpec_core *)base;
	int ret = CNN_OK;

	for (int i = 0; i < seg->n_nodes && !ret; i++) {
		if (core->nodes[seg->nodes[i]].change.wanted)
			ret = hwpec_emit_change(core, seg->nodes[i]);
		else if (core->nodes[seg->nodes[i]].conv.pixel)
			ret = hwpec_emit(core, seg->nodes[i]);
		cnn_progress(base->compile, i + 1);
	}
	return ret;
}

static uint64_t hwpec_node_cycles(struct cnn_backend *base, int node)
{
	struct hwpec_core *core = (struct hwpec_core *)base;

	return hwpec_cycles(core, &core->nodes[node]);
}

static int64_t hwpec_peak(const struct cnn_backend *base, int node)
{
	const struct hwpec_core *core = (const struct hwpec_core *)base;

	return HWPEC_COLUMNS * HWPEC_WORD * core->nodes[node].conv.per_byte;
}

const struct cnn_backend_ops cnn_backend_hwpe = {
	.name = "hwpe",
	.legalize = hwpec_legalize,
	.companions = hwpec_companions,
	.converts = true,
	.open = hwpec_open,
	.close = hwpec_close,
	.is_for = hwpec_is_for,
	.match = hwpec_match_node,
	.plan = hwpec_plan,
	.reads = hwpec_reads,
	.convert = hwpec_convert,
	.cycles = hwpec_node_cycles,
	.lower = hwpec_lower,
	.peak = hwpec_peak,
};
