/* SPDX-License-Identifier: MIT */
/* The CRC-32 of zlib. */
#ifndef GOLDEN_CRC_H
#define GOLDEN_CRC_H

#include <stdint.h>

#define CRC32_NONE	0u

/* Extend @crc by @byte. */
static inline uint32_t crc32_add(uint32_t crc, uint8_t byte)
{
	crc = ~crc ^ byte;
	for (int bit = 0; bit < 8; bit++)
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	return ~crc;
}

#endif /* GOLDEN_CRC_H */
