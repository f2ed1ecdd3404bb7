// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Two-level table walk; transfers of lines and bytes. */
#include <string.h>

#include "mmu.h"
#include "workers.h"

#define VA_LIMIT	((uint64_t)1 << CNNACC_VA_BITS)
#define COPY_PART	((size_t)8 << 10)	/* minimum bytes for each thread */
#define COPY_LONG	((size_t)16 << 10)	/* threads share a copy of this size */
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

static int refuse(struct cm_core_fault *fault, uint32_t status_class, uint32_t level)
{
	fault->status_class = status_class;
	fault->detail = level;
	return -1;
}

/* Read page-table entries; completes deferred writes first if they may be to them. */
static int read_entries(struct cm_port *port, uint64_t table, uint32_t index, uint32_t *entry,
			uint32_t count)
{
	uint64_t first = table + 4 * index, end = first + 4 * count;

	if (port->copy_count && port->copy_writes && first < port->copy_end &&
	    port->copy_first < end)
		cm_port_complete(port);
	return port->ops->dma_read(port->opaque, first, entry, 4 * count);
}

static int walk_dir(struct cm_port *port, uint32_t va, struct cm_core_fault *fault)
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

static void insert_tlb(struct cm_port *port, uint32_t page, uint32_t pte)
{
	struct cm_tlb_entry *entry = &port->tlb[page % CM_TLB_ENTRIES];

	if (!(pte & CNNACC_PTE_VALID))
		return;
	entry->tag = page + 1;
	entry->pte = pte;
}

/*
 * Read the page-table entry of @va.  Insert the whole line of entries around it into the TLB,
 * unless a part of that line is not RAM.
 */
static int read_page(struct cm_port *port, uint32_t va, uint32_t *pte)
{
	uint64_t table = CNNACC_PTE_BUS(port->dir_pte);
	uint32_t index = CNNACC_PT_PAGE_INDEX(va), first = index & ~(LINE_ENTRIES - 1);
	uint32_t page = (va >> CNNACC_PAGE_SHIFT) - index + first, line[LINE_ENTRIES];

	if (read_entries(port, table, first, line, LINE_ENTRIES)) {
		if (read_entries(port, table, index, pte, 1))
			return -1;
		insert_tlb(port, va >> CNNACC_PAGE_SHIFT, *pte);
		return 0;
	}
	for (uint32_t i = 0; i < LINE_ENTRIES; i++)
		insert_tlb(port, page + i, line[i]);
	*pte = line[index - first];
	return 0;
}

static int walk(struct cm_port *port, uint32_t va, uint32_t *pte, struct cm_core_fault *fault)
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
		      uint64_t *bus, struct cm_core_fault *fault)
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

/* Number of bytes from @va on that are contiguous on the bus; at most @max. */
static size_t contiguous(struct cm_port *port, uint64_t va, uint64_t bus, size_t max,
			 enum cnnacc_access access)
{
	size_t len = CNNACC_PAGE_SIZE - (va & (CNNACC_PAGE_SIZE - 1));
	struct cm_core_fault ignored;
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
 * Do part @part: a share of each long copy, or some of the short ones.  Parts are contiguous and
 * equal, so that a thread mostly copies the channels that it will compute.
 */
static void copy_part(void *opaque, unsigned int part, unsigned int thread)
{
	const struct cm_port *port = opaque;
	const struct cm_copy *m = port->copies;
	unsigned int parts = port->copy_parts;

	(void)thread;
	for (unsigned int i = 0; port->copy_long && i < port->copy_count; i++) {
		size_t lines = m[i].len / CNNACC_LINE_SIZE;
		size_t first = lines * part / parts * CNNACC_LINE_SIZE;
		size_t end = lines * (part + 1) / parts * CNNACC_LINE_SIZE;

		memcpy(m[i].to + first, m[i].from + first, end - first);
	}
	if (port->copy_long)
		return;
	for (unsigned int i = port->cut[part]; i < port->cut[part + 1]; i++)
		memcpy(m[i].to, m[i].from, m[i].len);
}

static void cut_copies(struct cm_port *port)
{
	unsigned int parts = port->copy_parts;
	size_t copied = 0;

	for (unsigned int i = 0, part = 0; part <= parts; part++) {
		while (i < port->copy_count && copied < port->copy_bytes * part / parts)
			copied += port->copies[i++].len;
		port->cut[part] = i;
	}
}

void cm_port_complete(struct cm_port *port)
{
	size_t parts = port->copy_bytes / COPY_PART;

	if (!port->copy_count)
		return;
	parts = parts < port->threads ? parts : port->threads;
	port->copy_parts = parts ? (unsigned int)parts : 1;
	cut_copies(port);
	cm_workers_run(port->workers, copy_part, port, port->copy_parts);
	for (unsigned int i = 0; i < port->copy_count; i++)
		port->ops->dma_unmap(port->opaque, port->mappings[i].ptr, port->mappings[i].len,
				     port->copy_writes);
	port->copy_count = 0;
	port->copy_bytes = 0;
}

/* Defer a copy, unless no other thread can help.  Long copies and short ones are not mixed. */
static void defer(struct cm_port *port, struct cm_copy copy, struct cm_mapping mapping,
		  bool write)
{
	const struct cm_copy *last = &port->copies[port->copy_count ? port->copy_count - 1 : 0];
	bool is_long = copy.len >= COPY_LONG;

	if (port->copy_count && (port->copy_count == CM_PORT_COPIES || port->copy_writes != write ||
				 port->copy_long != is_long || copy.to < last->to + last->len))
		cm_port_complete(port);
	port->copy_writes = write;
	port->copy_long = is_long;
	if (!port->copy_count || mapping.bus < port->copy_first)
		port->copy_first = mapping.bus;
	if (!port->copy_count || mapping.bus + mapping.len > port->copy_end)
		port->copy_end = mapping.bus + mapping.len;
	port->copy_bytes += copy.len;
	port->mappings[port->copy_count] = mapping;
	port->copies[port->copy_count++] = copy;
	if (port->threads < 2)
		cm_port_complete(port);
}

/* Copy what one mapping covers; return its length, 0 if nothing can be mapped. */
static size_t copy_mapped(struct cm_port *port, uint64_t bus, uint8_t *buf, size_t len,
			  bool write)
{
	struct cm_mapping mapping = { .bus = bus, .len = len };
	struct cm_copy copy;

	mapping.ptr = port->ops->dma_map(port->opaque, bus, &mapping.len, write);
	if (!mapping.ptr)
		return 0;
	copy.len = (mapping.len < len ? mapping.len : len) & ~(size_t)(CNNACC_LINE_SIZE - 1);
	copy.to = write ? mapping.ptr : buf;
	copy.from = write ? buf : mapping.ptr;
	if (copy.len)
		defer(port, copy, mapping, write);
	else
		port->ops->dma_unmap(port->opaque, mapping.ptr, mapping.len, write);
	return copy.len;
}

/* Transfer one line by the host's functions; return its length, 0 if the host refuses it. */
static size_t host_line(struct cm_port *port, uint64_t bus, uint8_t *buf, bool write)
{
	int ret;

	cm_port_complete(port);
	if (write)
		ret = port->ops->dma_write(port->opaque, bus, buf, CNNACC_LINE_SIZE);
	else
		ret = port->ops->dma_read(port->opaque, bus, buf, CNNACC_LINE_SIZE);
	return ret ? 0 : CNNACC_LINE_SIZE;
}

int cm_port_defer(struct cm_port *port, uint64_t va, void *buf, uint64_t lines,
		  enum cnnacc_access access, struct cm_core_fault *fault)
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
		len = copy_mapped(port, bus, local, len, write);
		if (!len)
			len = host_line(port, bus, local, write);
		if (!len)
			return refuse(fault, CNNACC_STATUS_BUS_ERROR, CNNACC_FAULT_NONE);
		va += len;
		local += len;
		left -= len;
	}
	return 0;
}

int cm_port_lines(struct cm_port *port, uint64_t va, void *buf, uint64_t lines,
		  enum cnnacc_access access, struct cm_core_fault *fault)
{
	int ret = cm_port_defer(port, va, buf, lines, access, fault);

	cm_port_complete(port);
	return ret;
}

/* ---- bytes ---- */

static void unmap_page(struct cm_port *port, struct cm_page *page, bool write)
{
	if (page->tag)
		port->ops->dma_unmap(port->opaque, page->ptr, CNNACC_PAGE_SIZE, write);
	page->tag = 0;
}

void cm_port_unmap(struct cm_port *port)
{
	for (unsigned int i = 0; port->paged && i < CM_PORT_PAGES; i++) {
		unmap_page(port, &port->pages[0][i], false);
		unmap_page(port, &port->pages[1][i], true);
	}
	port->paged = false;
}

/* Map the page that contains @va, at @bus; return NULL unless the host can map all of it. */
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

/*
 * Transfer bytes within a page line by line by the host's functions.  Returns how many have moved
 * before the host refused a line.
 */
static size_t host_lines(struct cm_port *port, uint64_t bus, uint8_t *buf, size_t len, bool write)
{
	size_t done, part;
	int ret;

	for (done = 0; done < len; done += part) {
		part = CNNACC_LINE_SIZE - (bus + done) % CNNACC_LINE_SIZE;
		part = part < len - done ? part : len - done;
		if (write)
			ret = port->ops->dma_write(port->opaque, bus + done, buf + done, part);
		else
			ret = port->ops->dma_read(port->opaque, bus + done, buf + done, part);
		if (ret)
			break;
	}
	return done;
}

/* A core's results are 16 or 64 bytes; a memcpy() of constant size is inlined for those. */
static void copy_result(void *to, const void *from, size_t len)
{
	if (len == 16)
		memcpy(to, from, 16);
	else if (len == 64)
		memcpy(to, from, 64);
	else
		memcpy(to, from, len);
}

static int copy_in_page(struct cm_port *port, uint64_t va, uint8_t *buf, size_t len,
			enum cnnacc_access access, struct cm_core_fault *fault)
{
	bool write = access == CNNACC_ACCESS_WRITE;
	const struct cm_page *page =
		&port->pages[write][(va >> CNNACC_PAGE_SHIFT) % CM_PORT_PAGES];
	uint8_t *ptr = page->tag == (va >> CNNACC_PAGE_SHIFT) + 1 ? page->ptr : NULL;
	uint64_t bus;
	size_t done;

	if (!ptr) {
		if (cm_port_translate(port, va, access, &bus, fault)) {
			fault->va = va & ~(uint64_t)(CNNACC_LINE_SIZE - 1);
			return -1;
		}
		ptr = map_page(port, va, bus, write);
		if (!ptr) {
			done = host_lines(port, bus, buf, len, write);
			if (done == len)
				return 0;
			fault->va = (va + done) & ~(uint64_t)(CNNACC_LINE_SIZE - 1);
			return refuse(fault, CNNACC_STATUS_BUS_ERROR, CNNACC_FAULT_NONE);
		}
	}
	ptr += va % CNNACC_PAGE_SIZE;
	copy_result(write ? ptr : buf, write ? buf : ptr, len);
	return 0;
}

int cm_port_bytes(struct cm_port *port, uint64_t va, void *buf, size_t len,
		  enum cnnacc_access access, struct cm_core_fault *fault)
{
	size_t lines = va % CNNACC_LINE_SIZE || len < COPY_LONG ? 0 : len / CNNACC_LINE_SIZE;
	uint8_t *local = buf;

	/* Threads share a long transfer. */
	if (lines && cm_port_lines(port, va, buf, lines, access, fault))
		return -1;
	va += lines * CNNACC_LINE_SIZE;
	local += lines * CNNACC_LINE_SIZE;
	len -= lines * CNNACC_LINE_SIZE;
	while (len) {
		size_t part = CNNACC_PAGE_SIZE - va % CNNACC_PAGE_SIZE;

		part = part < len ? part : len;
		if (copy_in_page(port, va, local, part, access, fault))
			return -1;
		va += part;
		local += part;
		len -= part;
	}
	return 0;
}
