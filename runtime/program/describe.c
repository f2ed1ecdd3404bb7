/* SPDX-License-Identifier: MIT */
/* Converts the graph's errors and tensors to the types of the interface. */
#include "model.h"

int rt_graph_error(struct cnnrt_error *err, const struct cnn_err *from)
{
	return rt_fail(err, from->code, "%s", from->text);
}

int rt_tensor_info(const char *name, const struct cnn_tensor *t, struct cnnrt_tensor_info *info,
		   struct cnnrt_error *err)
{
	const struct rt_struct *type = RT_STRUCT(cnnrt_tensor_info, size);
	int64_t bytes = t->rank < 0 ? -1 : cnn_tensor_bytes(t);
	struct cnnrt_tensor_info own = {
		.name = name, .type = (enum cnnrt_type)t->dtype, .rank = t->rank,
		.size = bytes < 0 ? 0 : (size_t)bytes,
	};
	int ret = rt_struct_check(type, info->struct_size, err);

	if (ret)
		return ret;
	for (int i = 0; i < t->rank; i++)
		own.dims[i] = t->dims[i];
	rt_struct_write(type, info, &own);
	return CNNRT_OK;
}

int rt_check_index(unsigned int index, enum cnnrt_direction dir, unsigned int count,
		   struct cnnrt_error *err)
{
	if (dir != CNNRT_INPUT && dir != CNNRT_OUTPUT)
		return rt_fail(err, CNNRT_EINVAL, "direction %d: 0 (input) or 1 (output) wanted",
			       (int)dir);
	if (index < count)
		return CNNRT_OK;
	return rt_fail(err, CNNRT_EINVAL, "%s %u: the network has %u, counted from 0",
		       dir == CNNRT_INPUT ? "input" : "output", index, count);
}
