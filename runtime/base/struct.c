/* SPDX-License-Identifier: MIT */
/* Public structs of other versions of the library, which carry their size. */
#include "base.h"

#include <string.h>

#define MAX_SIZE 4096u /* bytes; a larger size is an uninitialised struct */

int rt_struct_check(const struct rt_struct *s, size_t size, struct cnnrt_error *err)
{
	if (size >= s->first && size <= MAX_SIZE)
		return CNNRT_OK;
	return rt_fail(err, CNNRT_EINVAL, "%s: struct_size is %zu, %zu to %u are valid; set it to "
		       "sizeof(%s)", s->name, size, s->first, MAX_SIZE, s->name);
}

bool rt_is_zero(const void *data, size_t from, size_t to)
{
	const uint8_t *bytes = data;

	for (size_t i = from; i < to; i++)
		if (bytes[i])
			return false;
	return true;
}

int rt_struct_read(const struct rt_struct *s, void *own, const void *from, struct cnnrt_error *err)
{
	size_t size = from ? *(const size_t *)from : 0;
	int ret = from ? rt_struct_check(s, size, err) : CNNRT_OK;

	if (ret)
		return ret;
	if (!rt_is_zero(from, s->size, size))
		return rt_fail(err, CNNRT_EINVAL, "%s: a field that libcnnrt %s does not have is "
			       "not zero: install a newer libcnnrt, or leave it zero", s->name,
			       cnnrt_version());
	memset(own, 0, s->size);
	if (from)
		memcpy(own, from, size < s->size ? size : s->size);
	*(size_t *)own = s->size;
	return CNNRT_OK;
}

void rt_struct_write(const struct rt_struct *s, void *to, const void *own)
{
	size_t head = sizeof(size_t), size = *(size_t *)to;
	size_t known = size < s->size ? size : s->size;

	memcpy((uint8_t *)to + head, (const uint8_t *)own + head, known - head);
	memset((uint8_t *)to + known, 0, size - known);
}
