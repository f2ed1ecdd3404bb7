// SPDX-License-Identifier: MIT
/* The packed formats of all cores. */
#include "packed_format.h"

#include <stddef.h>

/* Each table ends with an entry without a name. */
#define FORMATS(core) extern const struct cnn_packed_format cnn_packed_##core[];
#include "core_formats.def"
#undef FORMATS

static const struct cnn_packed_format *const tables[] = {
#define FORMATS(core) cnn_packed_##core,
#include "core_formats.def"
#undef FORMATS
	NULL
};

const struct cnn_packed_format *cnn_packed_format(int64_t number)
{
	for (size_t t = 0; tables[t]; t++)
		for (const struct cnn_packed_format *f = tables[t]; f->name; f++)
			if (!--number)
				return f;
	return NULL;
}

int cnn_packed_number(const struct cnn_packed_format *format)
{
	int number = 1;

	while (cnn_packed_format(number) && cnn_packed_format(number) != format)
		number++;
	return number;
}

void cnn_packed_encode(int64_t number, const int8_t *values, int64_t stride, int64_t n, uint8_t *to)
{
	const struct cnn_packed_format *f = cnn_packed_format(number);
	int bits = f ? f->bits : 8;

	for (int64_t i = 0; i < n; to++) {
		unsigned int byte = 0;

		for (int at = 0; at < 8 && i < n; at += bits, i++) {
			int8_t value = values[i * stride];

			byte |= (f ? f->encode(value) : (uint8_t)value) << at;
		}
		*to = (uint8_t)byte;
	}
}
