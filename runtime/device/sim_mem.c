/* SPDX-License-Identifier: MIT */
/* RAM of the in-process device's bus. */
#include "sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SIM_BUS_BITS	(sizeof(void *) > 4 ? 36 : 29)
#define SIM_BUS_BITS_MIN	26
#define SIM_BUS_FIRST	0x10000u /* bus address 0 is never RAM */

/* NULL: there are not so many addresses. */
static void *reserve(uint64_t size)
{
	void *base = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return base == MAP_FAILED ? NULL : base;
}

/* ulimit -v and valgrind leave a process fewer addresses: then half of what there is. */
static void *reserve_bus(uint64_t *size)
{
	void *base;

	*size = 1ull << SIM_BUS_BITS;
	base = reserve(*size);
	if (base)
		return base;
	while (!base && *size > 1ull << SIM_BUS_BITS_MIN) {
		*size /= 2;
		base = reserve(*size);
	}
	if (!base)
		return NULL;
	munmap(base, *size);
	*size /= 2;
	return reserve(*size);
}

int rt_sim_mem_init(struct rt_sim_mem *mem)
{
	memset(mem, 0, sizeof(*mem));
	mem->base = reserve_bus(&mem->size);
	if (!mem->base)
		return -ENOMEM;
	mem->ram = calloc(mem->size / CNNACC_PAGE_SIZE / 64, sizeof(*mem->ram));
	if (mem->ram)
		return 0;
	rt_sim_mem_fini(mem);
	return -ENOMEM;
}

void rt_sim_mem_fini(struct rt_sim_mem *mem)
{
	while (mem->used) {
		struct rt_sim_extent *e = mem->used;

		mem->used = e->next;
		free(e);
	}
	free(mem->ram);
	if (mem->base)
		munmap(mem->base, mem->size);
	memset(mem, 0, sizeof(*mem));
}

static void mark(struct rt_sim_mem *mem, uint64_t bus, uint64_t size, bool ram)
{
	for (uint64_t page = bus / CNNACC_PAGE_SIZE; size; page++, size -= CNNACC_PAGE_SIZE) {
		uint64_t bit = 1ull << (page % 64);

		if (ram)
			__atomic_fetch_or(&mem->ram[page / 64], bit, __ATOMIC_RELEASE);
		else
			__atomic_fetch_and(&mem->ram[page / 64], ~bit, __ATOMIC_RELEASE);
	}
}

void *rt_sim_mem_ram(const struct rt_sim_mem *mem, uint64_t bus, uint64_t len)
{
	uint64_t end = bus + len;

	if (len && (bus >= mem->size || len > mem->size - bus))
		return NULL;
	for (uint64_t page = bus / CNNACC_PAGE_SIZE; len && page * CNNACC_PAGE_SIZE < end; page++)
		if (!(__atomic_load_n(&mem->ram[page / 64], __ATOMIC_ACQUIRE) &
		      1ull << (page % 64)))
			return NULL;
	return mem->base + bus;
}

/* First fit; returns the link at which to insert the new extent, NULL if none is large enough. */
static struct rt_sim_extent **find_gap(struct rt_sim_mem *mem, uint64_t size, uint64_t *bus)
{
	struct rt_sim_extent **link;
	uint64_t start = SIM_BUS_FIRST;

	for (link = &mem->used; *link; link = &(*link)->next) {
		if ((*link)->bus - start >= size)
			break;
		start = (*link)->bus + (*link)->size;
	}
	*bus = start;
	return mem->size - start >= size ? link : NULL;
}

int rt_sim_mem_alloc(struct rt_sim_mem *mem, uint64_t size, int fd, uint64_t *bus)
{
	int flags = MAP_FIXED | (fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS);
	struct rt_sim_extent *e, **link = find_gap(mem, size, bus);

	if (!link)
		return -ENOMEM;
	e = malloc(sizeof(*e));
	if (!e)
		return -ENOMEM;
	if (mmap(mem->base + *bus, size, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0) ==
	    MAP_FAILED) {
		free(e);
		return -errno;
	}
	*e = (struct rt_sim_extent){ .bus = *bus, .size = size, .next = *link };
	*link = e;
	mark(mem, *bus, size, true);
	return 0;
}

void rt_sim_mem_free(struct rt_sim_mem *mem, uint64_t bus)
{
	struct rt_sim_extent **link = &mem->used, *e;

	while (*link && (*link)->bus != bus)
		link = &(*link)->next;
	e = *link;
	if (!e)
		return;
	mark(mem, e->bus, e->size, false);
	/* Reserve the addresses again. If that fails, the old pages stay until the next use. */
	mmap(mem->base + e->bus, e->size, PROT_NONE,
	     MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	*link = e->next;
	free(e);
}
