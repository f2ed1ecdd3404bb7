// SPDX-License-Identifier: MIT
/*
 * Convolutions on core ccp. The map is cut into slabs of output rows, whose input rows and halo fit
 * the read bank, and the output channels into batches, which fit the write bank. A tile is a batch
 * of a slab. Where rows are so long that few of them fit, slabs are cut in columns too: an EXEC of
 * few rows takes about as long as one of CCPC_EXEC_ROWS. Each row of a plane is then a transfer of
 * its own.
 *
 * Weights come in chunks of output channels, in one of two ways:
 * - A chunk holds all input channels and stays while the patches change.
 * - Each patch is computed in slices of input channels. The sums stay in the LOBs, and weights are
 *   loaded for each patch. An EXEC then has more output channels over which the time to read its
 *   input is spread.
 * Small groups are computed in blocks: patch by patch, with a loop over the groups.
 *
 * Transfers overlap EXECs. The next weights go into the other half of the weight banks. If tiles fit
 * halves of the data banks, inputs and outputs do the same. Otherwise, if the next input fits behind
 * the pending output, it is loaded there, the banks are exchanged, and the store overlaps.
 */
#include "conv.h"

static int emit_tiles(struct ccpc_code *c, struct ccpc_conv_part *u)
{
	const struct ccpc_conv *v = &u->n->conv;
	int ret = CNN_OK;

	for (u->i = 0; u->i < ccpc_conv_tile_count(v) && !ret; u->i++) {
		struct ccpc_conv_tile t = ccpc_conv_tile_at(v, u->i);
		int64_t columns = ccpc_patch_columns(&t.s);

		for (u->x0 = 0; u->x0 < columns && !ret; u->x0 = u->x1) {
			u->x1 = cnn_min(u->x0 + v->part_columns, columns);
			ret = ccpc_emit_section(c, v->block ? ccpc_emit_block : ccpc_emit_dense, u);
		}
	}
	return ret;
}

static int conv_weights(struct ccpc_code *c, struct ccpc_node *n)
{
	const struct ccpc_conv *v = &n->conv;
	struct ccpc_chunk_shape k = ccpc_chunk_shape_of(v);
	int64_t lines = ccpc_chunk_count(v) * ccpc_chunk_lines(&k);
	float *data;
	int ret = ccpc_reserve_weights(c, lines * CCPC_LINE_FLOATS, &n->weight_line, &data);

	if (ret)
		return ret;
	if (data)
		ccpc_pack(v, &k, data);
	n->first = ccpc_chunk_at(n, 0);
	return CNN_OK;
}

static int conv_emit(struct ccpc_code *c, struct ccpc_node *n)
{
	const struct ccpc_conv *v = &n->conv;
	int ret = CNN_OK;

	for (int64_t image = 0; image < v->n; image++) {
		for (int64_t g = 0; g < (v->block ? 1 : v->groups) && !ret; g++) {
			struct ccpc_conv_part u = { .n = n, .image = image, .group = g };

			ret = emit_tiles(c, &u);
		}
	}
	return ret ?: ccpc_emit_section(c, ccpc_tile_flush, NULL);
}

const struct ccpc_kind ccpc_conv = {
	.text = "convolution", .plan = ccpc_conv_plan, .weights = conv_weights, .emit = conv_emit,
};
