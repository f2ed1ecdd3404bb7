// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Rows of maps in memory: addresses, lines, transfers column by column. */
#include "gcu.h"

struct gcu_part gcu_map_part(const struct cnnacc_gcu_map *map, uint64_t cg, uint64_t y,
			     uint32_t columns, uint32_t bytes)
{
	return (struct gcu_part){
		.va = map->va + cg * map->group_stride + y * map->row_stride,
		.stride = map->column_stride,
		.columns = columns,
		.bytes = bytes,
	};
}

static uint64_t touched(uint64_t va, uint64_t bytes)
{
	return (va + bytes - 1) / CNNACC_LINE_SIZE - va / CNNACC_LINE_SIZE + 1;
}

uint64_t gcu_lines(const struct gcu_part *part)
{
	uint64_t lines = 0;

	if (part->stride <= CNNACC_LINE_SIZE)
		return touched(part->va, (part->columns - 1) * part->stride + part->bytes);
	if (part->stride % CNNACC_LINE_SIZE == 0)
		return part->columns * touched(part->va, part->bytes);
	for (uint32_t i = 0; i < part->columns; i++)
		lines += touched(part->va + i * part->stride, part->bytes);
	return lines;
}

int gcu_move(struct gcu_run *run, const struct gcu_part *part, uint8_t *buf,
	     enum cnnacc_access access)
{
	if (part->stride == part->bytes)
		return cm_port_bytes(run->port, part->va, buf, (size_t)part->columns * part->bytes,
				     access, run->fault);
	for (uint32_t i = 0; i < part->columns; i++)
		if (cm_port_bytes(run->port, part->va + i * part->stride,
				  buf + (size_t)i * part->bytes, part->bytes, access, run->fault))
			return -1;
	return 0;
}
