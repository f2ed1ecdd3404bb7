/* SPDX-License-Identifier: MIT */
/* The graph's errors and tensors in the words of the interface. */
#include "model.h"

int rt_graph_error(struct cnnrt_error *err, const struct cnn_err *from)
{
	return rt_fail(err, from->code, "%s", from->text);
}

void rt_tensor_info(const char *name, const struct cnn_tensor *t, struct cnnrt_tensor_info *info)
{
	int64_t bytes = t->rank < 0 ? -1 : cnn_tensor_bytes(t);

	*info = (struct cnnrt_tensor_info){
		.name = name, .type = (enum cnnrt_type)t->dtype, .rank = t->rank,
		.size = bytes < 0 ? 0 : (size_t)bytes,
	};
	for (int i = 0; i < t->rank; i++)
		info->dims[i] = t->dims[i];
}

int rt_check_index(unsigned int index, enum cnnrt_direction dir, unsigned int count,
		   struct cnnrt_error *err)
{
	if (dir != CNNRT_INPUT && dir != CNNRT_OUTPUT)
		return rt_fail(err, CNNRT_EINVAL, "direction %d: 0 or 1 wanted", (int)dir);
	if (index < count)
		return CNNRT_OK;
	return rt_fail(err, CNNRT_EINVAL, "%s %u: the network has %u",
		       dir == CNNRT_INPUT ? "input" : "output", index, count);
}
