/* SPDX-License-Identifier: MIT */
/* Random words as hostile software might choose them. */
#ifndef ANY_VALUE_H
#define ANY_VALUE_H

#include <stdint.h>

/* Powers of two and their neighbours, small numbers, or any; @number as in core_programs.h. */
static inline uint32_t any_value(uint32_t (*number)(uint32_t below))
{
	static const uint32_t values[] = {
		0, 1, 2, 3, 4, 7, 8, 16, 64, 4096, 0x1000, 0x2000, 0x8000, 0xffff, 0x10000,
		0x7fffffff, 0x80000000, 0xffffffff,
	};

	switch (number(3)) {
	case 0:
		return values[number(sizeof(values) / sizeof(values[0]))];
	case 1:
		return number(64);
	}
	return number(0);
}

#endif
