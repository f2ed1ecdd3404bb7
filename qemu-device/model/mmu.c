// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Two-level table walk, transfers of lines and of bytes. */
#include <string.h>

#include "mmu.h"
#include "workers.h"

#define VA_LIMIT	((uint64_t)1 << CNNACC_VA_BITS)
#define MOVE_SHARE	((size_t)8 << 10)	/* bytes that are worth a thread */
#define MOVE_LONG	((size_t)16 << 10)	/* bytes that threads share */
#define LINE_ENTRIES	((uint32_t)CNNACC_LINE_SIZE / 4)

void cm_port_flush(struct cm_port *port)
{
	port->dir_tag = 0;
	memset(port->tlb, 0, sizeof(port->tlb));
}

void cm_port_select(struct cm_port *port, uint32_t ctx_id, uint64_t root)
{
	if (port->ctx_id == ctx_id && port->root == root)
		return;
	cm_port_flush(port);
	port->ctx_id = ctx_id;
	port->root = root;
}

static int refuse(struct core_fault *fault, uint32_t status_class, uint32_t level)
{
	fault->status_class = status_class;
	fault->detail = level;
	return -1;
}

/* Reads entries of a table, which may be what the core has just stored. */
static int read_entries(struct cm_port *port, uint64_t table, uint32_t index, uint32_t *entry,
			uint32_t count)
{
	uint64_t first = table + 4 * index, end = first + 4 * count;

	for (unsigned int i = 0; port->writing && i < port->move_count; i++)
		if (port->mappings[i].bus < end &&
		    first < port->mappings[i].bus + port->mappings[i].len)
			cm_port_settle(port);
	return port->ops->dma_read(port->opaque, first, entry, 4 * count);
}

static int walk_dir(struct cm_port *port, uint32_t va, struct core_fault *fault)
{
	uint32_t index = CNNACC_PT_DIR_INDEX(va), pte;

	if (port->dir_tag == index + 1)
		return 0;
	if (read_entries(port, port->root, index, &pte, 1))
		return refuse(fault, CNNACC_STATUS_BUS_ERROR, CNNACC_FAULT_DIR);
	if ((pte & CNNACC_PTE_FLAGS) != CNNACC_PTE_VALID)
		return refuse(fault, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_DIR);
	port->dir_tag = index + 1;
	port->dir_pte = pte;
	return 0;
}

static void remember(struct cm_port *port, uint32_t page, uint32_t pte)
{
	struct cm_tlb_entry *entry = &port->tlb[page % CM_TLB_ENTRIES];

	if (!(pte & CNNACC_PTE_VALID))
		return;
	entry->tag = page + 1;
	entry->pte = pte;
}

/* Reads the entry of a page and, where all of it is memory, the line that it is in. */
static int read_page(struct cm_port *port, uint32_t va, uint32_t *pte)
{
	uint64_t table = CNNACC_PTE_BUS(port->dir_pte);
	uint32_t index = CNNACC_PT_PAGE_INDEX(va), first = index & ~(LINE_ENTRIES - 1);
	uint32_t page = (va >> CNNACC_PAGE_SHIFT) - index + first, line[LINE_ENTRIES];

	if (read_entries(port, table, first, line, LINE_ENTRIES)) {
		if (read_entries(port, table, index, pte, 1))
			return -1;
		remember(port, va >> CNNACC_PAGE_SHIFT, *pte);
		return 0;
	}
	for (uint32_t i = 0; i < LINE_ENTRIES; i++)
		remember(port, page + i, line[i]);
	*pte = line[index - first];
	return 0;
}

static int walk(struct cm_port *port, uint32_t va, uint32_t *pte, struct core_fault *fault)
{
	uint32_t page = va >> CNNACC_PAGE_SHIFT;
	const struct cm_tlb_entry *entry = &port->tlb[page % CM_TLB_ENTRIES];

	if (entry->tag == page + 1) {
		*pte = entry->pte;
		return 0;
	}
	if (walk_dir(port, va, fault))
		return -1;
	if (read_page(port, va, pte))
		return refuse(fault, CNNACC_STATUS_BUS_ERROR, CNNACC_FAULT_PAGE);
	if (!(*pte & CNNACC_PTE_VALID))
		return refuse(fault, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_PAGE);
	return 0;
}

int cm_port_translate(struct cm_port *port, uint64_t va, enum cnnacc_access access,
		       uint64_t *bus, struct core_fault *fault)
{
	static const uint32_t needs[] = {
		[CNNACC_ACCESS_READ] = CNNACC_PTE_READ,
		[CNNACC_ACCESS_WRITE] = CNNACC_PTE_WRITE,
		[CNNACC_ACCESS_EXEC] = CNNACC_PTE_EXEC,
	};
	uint32_t pte;

	fault->access = access;
	fault->va = va;
	if (va >= VA_LIMIT)
		return refuse(fault, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_BEYOND);
	if (walk(port, (uint32_t)va, &pte, fault))
		return -1;
	if (!(pte & needs[access]))
		return refuse(fault, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_PERM);
	*bus = CNNACC_PTE_BUS(pte) | (va & (CNNACC_PAGE_SIZE - 1));
	return 0;
}

/* Bytes from @va on that are contiguous on the bus, from 1 line to @max bytes. */
static size_t contiguous(struct cm_port *port, uint64_t va, uint64_t bus, size_t max,
			 enum cnnacc_access access)
{
	size_t len = CNNACC_PAGE_SIZE - (va & (CNNACC_PAGE_SIZE - 1));
	struct core_fault ignored;
	uint64_t next;

	while (len < max) {
		if (cm_port_translate(port, va + len, access, &next, &ignored) ||
		    next != bus + len)
			break;
		len += CNNACC_PAGE_SIZE;
	}
	return len < max ? len : max;
}

/* ---- copies ---- */

/*
 * A part of one move, or some of the moves: so that the same threads move and
 * compute the same channels, if all share alike.
 */
static void move_part(void *opaque, unsigned int part, unsigned int seat)
{
	const struct cm_port *port = opaque;
	const struct cm_move *m = port->moves;
	unsigned int parts = port->move_parts;
	size_t lines = m->len / CNNACC_LINE_SIZE;
	size_t first = lines * part / parts * CNNACC_LINE_SIZE;
	size_t end = lines * (part + 1) / parts * CNNACC_LINE_SIZE;

	(void)seat;
	if (port->move_count == 1) {
		memcpy(m->to + first, m->from + first, end - first);
		return;
	}
	for (unsigned int i = port->cut[part]; i < port->cut[part + 1]; i++)
		memcpy(m[i].to, m[i].from, m[i].len);
}

static void cut_moves(struct cm_port *port)
{
	unsigned int parts = port->move_parts;
	size_t moved = 0;

	for (unsigned int i = 0, part = 0; part <= parts; part++) {
		while (i < port->move_count && moved < port->moving * part / parts)
			moved += port->moves[i++].len;
		port->cut[part] = i;
	}
}

void cm_port_settle(struct cm_port *port)
{
	size_t parts = port->moving / MOVE_SHARE;

	if (!port->move_count)
		return;
	parts = parts < port->threads ? parts : port->threads;
	port->move_parts = parts ? (unsigned int)parts : 1;
	cut_moves(port);
	cm_workers_run(port->workers, move_part, port, port->move_parts);
	for (unsigned int i = 0; i < port->move_count; i++)
		port->ops->dma_unmap(port->opaque, port->mappings[i].ptr, port->mappings[i].len,
				     port->writing);
	port->move_count = 0;
	port->moving = 0;
}

/* Leaves a copy for later, if it is short. */
static void queue(struct cm_port *port, struct cm_move move, struct cm_mapping mapping,
		  bool write)
{
	const struct cm_move *last = &port->moves[port->move_count ? port->move_count - 1 : 0];

	if (port->move_count && (port->move_count == CM_PORT_MOVES || port->writing != write ||
				 move.len >= MOVE_LONG || move.to < last->to + last->len))
		cm_port_settle(port);
	port->writing = write;
	port->moving += move.len;
	port->mappings[port->move_count] = mapping;
	port->moves[port->move_count++] = move;
	if (port->threads < 2 || move.len >= MOVE_LONG)
		cm_port_settle(port);
}

/* Moves what can be mapped at once; 0 if nothing can. */
static size_t move_mapped(struct cm_port *port, uint64_t bus, uint8_t *buf, size_t len,
			  bool write)
{
	struct cm_mapping mapping = { .bus = bus, .len = len };
	struct cm_move move;

	mapping.ptr = port->ops->dma_map(port->opaque, bus, &mapping.len, write);
	if (!mapping.ptr)
		return 0;
	move.len = (mapping.len < len ? mapping.len : len) & ~(size_t)(CNNACC_LINE_SIZE - 1);
	move.to = write ? mapping.ptr : buf;
	move.from = write ? buf : mapping.ptr;
	if (move.len)
		queue(port, move, mapping, write);
	else
		port->ops->dma_unmap(port->opaque, mapping.ptr, mapping.len, write);
	return move.len;
}

/* One line through the host, which refuses it as a whole or moves it. */
static size_t move_line(struct cm_port *port, uint64_t bus, uint8_t *buf, bool write)
{
	int ret;

	cm_port_settle(port);
	if (write)
		ret = port->ops->dma_write(port->opaque, bus, buf, CNNACC_LINE_SIZE);
	else
		ret = port->ops->dma_read(port->opaque, bus, buf, CNNACC_LINE_SIZE);
	return ret ? 0 : CNNACC_LINE_SIZE;
}

int cm_port_queue(struct cm_port *port, uint64_t va, void *buf, uint64_t lines,
		   enum cnnacc_access access, struct core_fault *fault)
{
	bool write = access == CNNACC_ACCESS_WRITE;
	size_t left = lines * CNNACC_LINE_SIZE;
	uint8_t *local = buf;

	while (left) {
		uint64_t bus;
		size_t len;

		if (cm_port_translate(port, va, access, &bus, fault))
			return -1;
		len = contiguous(port, va, bus, left, access);
		len = move_mapped(port, bus, local, len, write);
		if (!len)
			len = move_line(port, bus, local, write);
		if (!len)
			return refuse(fault, CNNACC_STATUS_BUS_ERROR, CNNACC_FAULT_NONE);
		va += len;
		local += len;
		left -= len;
	}
	return 0;
}

int cm_port_lines(struct cm_port *port, uint64_t va, void *buf, uint64_t lines,
		   enum cnnacc_access access, struct core_fault *fault)
{
	int ret = cm_port_queue(port, va, buf, lines, access, fault);

	cm_port_settle(port);
	return ret;
}

/* ---- bytes ---- */

static void unmap_page(struct cm_port *port, struct cm_page *page, bool write)
{
	if (page->tag)
		port->ops->dma_unmap(port->opaque, page->ptr, CNNACC_PAGE_SIZE, write);
	page->tag = 0;
}

void cm_port_release(struct cm_port *port)
{
	for (unsigned int i = 0; port->paged && i < CM_PORT_PAGES; i++) {
		unmap_page(port, &port->pages[0][i], false);
		unmap_page(port, &port->pages[1][i], true);
	}
	port->paged = false;
}

/* Maps the page of @va, which is at @bus; NULL if the host cannot map all of it. */
static uint8_t *map_page(struct cm_port *port, uint64_t va, uint64_t bus, bool write)
{
	uint32_t number = (uint32_t)(va >> CNNACC_PAGE_SHIFT);
	struct cm_page *page = &port->pages[write][number % CM_PORT_PAGES];
	size_t len = CNNACC_PAGE_SIZE;
	uint8_t *ptr = port->ops->dma_map(port->opaque, bus & ~(uint64_t)(CNNACC_PAGE_SIZE - 1),
					  &len, write);

	if (ptr && len < CNNACC_PAGE_SIZE) {
		port->ops->dma_unmap(port->opaque, ptr, len, write);
		return NULL;
	}
	if (!ptr)
		return NULL;
	unmap_page(port, page, write);
	*page = (struct cm_page){ .ptr = ptr, .tag = number + 1 };
	port->paged = true;
	return ptr;
}

/* Bytes of one page, line by line through the host. */
static int move_lines(struct cm_port *port, uint64_t va, uint64_t bus, uint8_t *buf, size_t len,
		      bool write, struct core_fault *fault)
{
	while (len) {
		size_t part = CNNACC_LINE_SIZE - va % CNNACC_LINE_SIZE;
		int ret;

		part = part < len ? part : len;
		if (write)
			ret = port->ops->dma_write(port->opaque, bus, buf, part);
		else
			ret = port->ops->dma_read(port->opaque, bus, buf, part);
		if (ret) {
			fault->va = va & ~(uint64_t)(CNNACC_LINE_SIZE - 1);
			return refuse(fault, CNNACC_STATUS_BUS_ERROR, CNNACC_FAULT_NONE);
		}
		va += part;
		bus += part;
		buf += part;
		len -= part;
	}
	return 0;
}

/* Results of a core are few bytes, for which a copy of any length takes long to begin. */
static void copy_result(void *to, const void *from, size_t len)
{
	if (len == 16)
		memcpy(to, from, 16);
	else if (len == 64)
		memcpy(to, from, 64);
	else
		memcpy(to, from, len);
}

static int move_in_page(struct cm_port *port, uint64_t va, uint8_t *buf, size_t len,
			enum cnnacc_access access, struct core_fault *fault)
{
	bool write = access == CNNACC_ACCESS_WRITE;
	const struct cm_page *page =
		&port->pages[write][(va >> CNNACC_PAGE_SHIFT) % CM_PORT_PAGES];
	uint8_t *ptr = page->tag == (va >> CNNACC_PAGE_SHIFT) + 1 ? page->ptr : NULL;
	uint64_t bus;

	if (!ptr) {
		if (cm_port_translate(port, va, access, &bus, fault)) {
			fault->va = va & ~(uint64_t)(CNNACC_LINE_SIZE - 1);
			return -1;
		}
		ptr = map_page(port, va, bus, write);
		if (!ptr)
			return move_lines(port, va, bus, buf, len, write, fault);
	}
	ptr += va % CNNACC_PAGE_SIZE;
	copy_result(write ? ptr : buf, write ? buf : ptr, len);
	return 0;
}

int cm_port_bytes(struct cm_port *port, uint64_t va, void *buf, size_t len,
		   enum cnnacc_access access, struct core_fault *fault)
{
	size_t lines = va % CNNACC_LINE_SIZE || len < MOVE_LONG ? 0 : len / CNNACC_LINE_SIZE;
	uint8_t *local = buf;

	/* Several threads share what is much. */
	if (lines && cm_port_lines(port, va, buf, lines, access, fault))
		return -1;
	va += lines * CNNACC_LINE_SIZE;
	local += lines * CNNACC_LINE_SIZE;
	len -= lines * CNNACC_LINE_SIZE;
	while (len) {
		size_t part = CNNACC_PAGE_SIZE - va % CNNACC_PAGE_SIZE;

		part = part < len ? part : len;
		if (move_in_page(port, va, local, part, access, fault))
			return -1;
		va += part;
		local += part;
		len -= part;
	}
	return 0;
}
