// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Two-level table walk and line transfers. */
#include <string.h>

#include "mmu.h"
#include "workers.h"

#define VA_LIMIT	((uint64_t)1 << CNNACC_VA_BITS)
#define COPY_SHARE	((size_t)64 << 10)	/* bytes that are worth a thread */
#define LINE_ENTRIES	((uint32_t)CNNACC_LINE_SIZE / 4)

void cnn_port_flush(struct cnn_port *port)
{
	port->dir_tag = 0;
	memset(port->tlb, 0, sizeof(port->tlb));
}

void cnn_port_select(struct cnn_port *port, uint32_t ctx_id, uint64_t root)
{
	if (port->ctx_id == ctx_id && port->root == root)
		return;
	cnn_port_flush(port);
	port->ctx_id = ctx_id;
	port->root = root;
}

static int refuse(struct core_fault *fault, uint32_t status_class, uint32_t level)
{
	fault->status_class = status_class;
	fault->detail = level;
	return -1;
}

static int read_entry(struct cnn_port *port, uint64_t table, uint32_t index, uint32_t *entry)
{
	return port->ops->dma_read(port->opaque, table + 4 * index, entry, sizeof(*entry));
}

static int walk_dir(struct cnn_port *port, uint32_t va, struct core_fault *fault)
{
	uint32_t index = CNNACC_PT_DIR_INDEX(va), pte;

	if (port->dir_tag == index + 1)
		return 0;
	if (read_entry(port, port->root, index, &pte))
		return refuse(fault, CNNACC_STATUS_BUS_ERROR, CNNACC_FAULT_DIR);
	if ((pte & CNNACC_PTE_FLAGS) != CNNACC_PTE_VALID)
		return refuse(fault, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_DIR);
	port->dir_tag = index + 1;
	port->dir_pte = pte;
	return 0;
}

static void remember(struct cnn_port *port, uint32_t page, uint32_t pte)
{
	struct cnn_tlb_entry *entry = &port->tlb[page % CNN_TLB_ENTRIES];

	if (!(pte & CNNACC_PTE_VALID))
		return;
	entry->tag = page + 1;
	entry->pte = pte;
}

/* Reads the entry of a page and, where all of it is memory, the line that it is in. */
static int read_page(struct cnn_port *port, uint32_t va, uint32_t *pte)
{
	uint64_t table = CNNACC_PTE_BUS(port->dir_pte);
	uint32_t index = CNNACC_PT_PAGE_INDEX(va), first = index & ~(LINE_ENTRIES - 1);
	uint32_t page = (va >> CNNACC_PAGE_SHIFT) - index + first, line[LINE_ENTRIES];

	if (port->ops->dma_read(port->opaque, table + 4 * first, line, sizeof(line))) {
		if (read_entry(port, table, index, pte))
			return -1;
		remember(port, va >> CNNACC_PAGE_SHIFT, *pte);
		return 0;
	}
	for (uint32_t i = 0; i < LINE_ENTRIES; i++)
		remember(port, page + i, line[i]);
	*pte = line[index - first];
	return 0;
}

static int walk(struct cnn_port *port, uint32_t va, uint32_t *pte, struct core_fault *fault)
{
	uint32_t page = va >> CNNACC_PAGE_SHIFT;
	const struct cnn_tlb_entry *entry = &port->tlb[page % CNN_TLB_ENTRIES];

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

int cnn_port_translate(struct cnn_port *port, uint64_t va, enum cnnacc_access access,
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
static size_t contiguous(struct cnn_port *port, uint64_t va, uint64_t bus, size_t max,
			 enum cnnacc_access access)
{
	size_t len = CNNACC_PAGE_SIZE - (va & (CNNACC_PAGE_SIZE - 1));
	struct core_fault ignored;
	uint64_t next;

	while (len < max) {
		if (cnn_port_translate(port, va + len, access, &next, &ignored) ||
		    next != bus + len)
			break;
		len += CNNACC_PAGE_SIZE;
	}
	return len < max ? len : max;
}

struct copy {
	uint8_t *to;
	const uint8_t *from;
	size_t len;
	unsigned int parts;
};

static void copy_part(void *opaque, unsigned int part, unsigned int seat)
{
	const struct copy *copy = opaque;
	size_t step = copy->len / copy->parts & ~(size_t)(CNNACC_PAGE_SIZE - 1);
	size_t first = part * step;
	size_t len = part + 1 < copy->parts ? step : copy->len - first;

	(void)seat;
	memcpy(copy->to + first, copy->from + first, len);
}

/* One core cannot move what a memory gives. */
static void copy(struct cnn_port *port, void *to, const void *from, size_t len)
{
	struct copy copy = { .to = to, .from = from, .len = len };
	size_t parts = len / COPY_SHARE;

	copy.parts = parts < port->threads ? (unsigned int)parts : port->threads;
	if (copy.parts < 2)
		memcpy(to, from, len);
	else
		cnn_workers_run(port->workers, copy_part, &copy, copy.parts);
}

/* Moves what can be mapped at once; 0 if nothing can. */
static size_t move_mapped(struct cnn_port *port, uint64_t bus, uint8_t *buf, size_t len,
			  bool write)
{
	size_t mapped = len, moved = 0;
	void *ptr = port->ops->dma_map(port->opaque, bus, &mapped, write);

	if (!ptr)
		return 0;
	if (mapped >= CNNACC_LINE_SIZE) {
		moved = (mapped < len ? mapped : len) & ~(size_t)(CNNACC_LINE_SIZE - 1);
		if (write)
			copy(port, ptr, buf, moved);
		else
			copy(port, buf, ptr, moved);
	}
	port->ops->dma_unmap(port->opaque, ptr, mapped, write);
	return moved;
}

/* One line through the host, which refuses it as a whole or moves it. */
static size_t move_line(struct cnn_port *port, uint64_t bus, uint8_t *buf, bool write)
{
	int ret;

	if (write)
		ret = port->ops->dma_write(port->opaque, bus, buf, CNNACC_LINE_SIZE);
	else
		ret = port->ops->dma_read(port->opaque, bus, buf, CNNACC_LINE_SIZE);
	return ret ? 0 : CNNACC_LINE_SIZE;
}

int cnn_port_lines(struct cnn_port *port, uint64_t va, void *buf, uint64_t lines,
		   enum cnnacc_access access, struct core_fault *fault)
{
	bool write = access == CNNACC_ACCESS_WRITE;
	size_t left = lines * CNNACC_LINE_SIZE;
	uint8_t *local = buf;

	while (left) {
		uint64_t bus;
		size_t len;

		if (cnn_port_translate(port, va, access, &bus, fault))
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
