// SPDX-License-Identifier: MIT
/*
 * What core hwpe does with its sums (ReLUWrite), an attribute of ConvInteger and MatMulInteger:
 * min(max(sum, 0) >> shift_out, 255). Input 4 is what each channel adds to its sums before.
 */
#include <stdlib.h>

#include "ops/quant.h"

int cnn_infer_shift_out(struct cnn_call *c, int64_t channels)
{
	int64_t shift = cnn_node_int(c->node, "shift_out", -1);
	const struct cnn_tensor *start = cnn_in(c, 4);

	c->out[0]->dtype = shift < 0 ? CNN_INT32 : CNN_UINT8;
	if (shift > 31)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute shift_out %lld, limit 31",
				   (long long)shift);
	if (!start || (shift >= 0 && start->dtype == CNN_INT32 && start->rank == 1 &&
		       start->dims[0] == channels))
		return CNN_OK;
	return cnn_op_fail(c, CNN_EINVAL, "input 4 is not one int32 for each of %lld channels, with "
			   "attribute shift_out", (long long)channels);
}

int32_t *cnn_sums_begin(const struct cnn_call *c)
{
	int64_t n = cnn_tensor_count(c->out[0]);

	return c->out[0]->dtype == CNN_INT32 ? c->out[0]->data : malloc((size_t)n * sizeof(int32_t));
}

int cnn_sums_end(const struct cnn_call *c, int32_t *sums, int64_t channels, int64_t inner, int ret)
{
	const struct cnn_tensor *y = c->out[0], *start = cnn_in(c, 4);
	int shift = (int)cnn_node_int(c->node, "shift_out", 0);
	int64_t n = cnn_tensor_count(y);

	if (y->dtype == CNN_INT32)
		return ret;
	for (int64_t i = 0; i < n && !ret; i++) {
		uint32_t from = start ? ((const uint32_t *)start->data)[i / inner % channels] : 0;
		int32_t v = (int32_t)((uint32_t)sums[i] + from);

		v = v > 0 ? v >> shift : 0;
		((uint8_t *)y->data)[i] = (uint8_t)(v < UINT8_MAX ? v : UINT8_MAX);
	}
	free(sums);
	return ret;
}
