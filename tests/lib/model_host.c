// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_host.h"

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "model host: %s\n", what);
	abort();
}

static bool is_ram(const struct model_host *h, uint64_t addr, size_t len)
{
	if (addr < MH_RAM_BASE || len > h->ram_size || addr - MH_RAM_BASE > h->ram_size - len)
		return false;
	return addr + len <= h->hole || addr >= h->hole + h->hole_size;
}

static int dma_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	struct model_host *h = opaque;

	if (!is_ram(h, addr, len))
		return -1;
	memcpy(buf, h->ram + (addr - MH_RAM_BASE), len);
	return 0;
}

static int dma_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	struct model_host *h = opaque;

	if (!is_ram(h, addr, len))
		return -1;
	memcpy(h->ram + (addr - MH_RAM_BASE), buf, len);
	return 0;
}

static void *dma_map(void *opaque, uint64_t addr, size_t *len, bool write)
{
	struct model_host *h = opaque;

	(void)write;
	check(h->running, "dma_map outside a run");
	if (h->no_map)
		return NULL;
	while (*len && !is_ram(h, addr, *len))
		*len = *len > 64 ? *len / 2 : 0;
	if (!*len)
		return NULL;
	h->mapped++;
	return h->ram + (addr - MH_RAM_BASE);
}

static void dma_unmap(void *opaque, void *ptr, size_t len, bool write)
{
	struct model_host *h = opaque;

	(void)ptr;
	(void)len;
	(void)write;
	h->mapped--;
}

static void irq_message(void *opaque, unsigned int vector)
{
	struct model_host *h = opaque;

	check(!h->running && vector < cm_device_vectors(h->dev), "message");
	h->messages[vector]++;
}

static void irq_wires(void *opaque, uint32_t wires)
{
	struct model_host *h = opaque;

	check(!h->running && wires != h->wires, "level wires");
	h->wires = wires;
}

static uint64_t host_now(void *opaque)
{
	struct model_host *h = opaque;

	check(!h->running, "time asked for in a run");
	if (!h->clock_stands)
		h->now += 10;
	return h->now;
}

static void kick(void *opaque, unsigned int core)
{
	struct model_host *h = opaque;

	check(!h->running && core < CM_MAX_CORES, "kick");
	h->kicks[core]++;
}

static void host_log(void *opaque, const char *text)
{
	struct model_host *h = opaque;

	check(!strchr(text, '\n'), "log of one line");
	snprintf(h->log, sizeof(h->log), "%s", text);
}

static const struct cm_host_ops ops = {
	.dma_read = dma_read,
	.dma_write = dma_write,
	.dma_map = dma_map,
	.dma_unmap = dma_unmap,
	.irq_message = irq_message,
	.irq_wires = irq_wires,
	.now = host_now,
	.wake_worker = kick,
	.log = host_log,
};

static struct cm_device *create(struct model_host *h, const struct cm_config *config)
{
	char err[CM_ERR_LEN] = "";
	struct cm_device *dev = cm_device_create(config, &ops, h, err);

	check(dev, err);
	return dev;
}

static struct cm_config config_of(const char *cores)
{
	struct cm_config config = { 0 };
	char err[CM_ERR_LEN] = "";

	if (cores)
		check(!cm_config_set(&config, "cores", cores, err), err);
	return config;
}

struct model_host *mh_new_config(const struct cm_config *config, size_t ram_size)
{
	struct model_host *h = calloc(1, sizeof(*h));

	check(h, "no memory");
	h->ram_size = ram_size;
	h->ram = calloc(1, ram_size);
	check(h->ram, "no memory");
	h->budget_ns = MH_BUDGET_NS;
	h->dev = create(h, config);
	return h;
}

struct model_host *mh_new(const char *cores, size_t ram_size)
{
	const struct cm_config config = config_of(cores);

	return mh_new_config(&config, ram_size);
}

void mh_replace_device(struct model_host *h, const char *cores)
{
	const struct cm_config config = config_of(cores);

	cm_device_destroy(h->dev);
	h->wires = 0;
	h->dev = create(h, &config);
}

void mh_free(struct model_host *h)
{
	cm_device_destroy(h->dev);
	free(h->ram);
	free(h);
}

uint32_t mh_read(struct model_host *h, uint32_t offset)
{
	return cm_device_read(h->dev, offset);
}

void mh_write(struct model_host *h, uint32_t offset, uint32_t value)
{
	cm_device_write(h->dev, offset, value);
}

/* A word of the core's entry in the discovery table. */
static uint32_t entry_word(struct model_host *h, unsigned int core, size_t offset)
{
	return mh_read(h, mh_read(h, CNNACC_REG_CORE_TABLE) + core * CNNACC_CORE_ENTRY_SIZE +
		       (uint32_t)offset);
}

static uint32_t queue_offset(struct model_host *h, unsigned int core)
{
	return entry_word(h, core, offsetof(struct cnnacc_core_entry, queue_offset));
}

uint32_t mh_qread(struct model_host *h, unsigned int core, uint32_t reg)
{
	return mh_read(h, queue_offset(h, core) + reg);
}

void mh_qwrite(struct model_host *h, unsigned int core, uint32_t reg, uint32_t value)
{
	mh_write(h, queue_offset(h, core) + reg, value);
}

uint32_t mh_wread(struct model_host *h, unsigned int core, uint32_t reg)
{
	return mh_read(h, entry_word(h, core, offsetof(struct cnnacc_core_entry, window_offset)) +
		       reg);
}

void *mh_ptr(struct model_host *h, uint64_t bus)
{
	check(bus >= MH_RAM_BASE && bus - MH_RAM_BASE < h->ram_size, "not RAM");
	return h->ram + (bus - MH_RAM_BASE);
}

uint64_t mh_alloc(struct model_host *h, size_t bytes)
{
	uint64_t bus = MH_RAM_BASE + h->ram_used;

	bytes = (bytes + CNNACC_PAGE_SIZE - 1) & ~(size_t)(CNNACC_PAGE_SIZE - 1);
	check(bytes <= h->ram_size - h->ram_used, "RAM used up");
	h->ram_used += bytes;
	memset(mh_ptr(h, bus), 0, bytes);
	return bus;
}

void mh_release(struct model_host *h, size_t used)
{
	h->ram_used = used;
}

struct mh_space mh_space_new(struct model_host *h, uint32_t ctx_id)
{
	return (struct mh_space){ ctx_id, mh_alloc(h, CNNACC_PAGE_SIZE) };
}

uint32_t *mh_pte(struct model_host *h, const struct mh_space *s, uint32_t va)
{
	uint32_t *dir = mh_ptr(h, s->root), *entry = &dir[CNNACC_PT_DIR_INDEX(va)], *table;

	if (!*entry)
		*entry = CNNACC_PTE_ADDR(mh_alloc(h, CNNACC_PAGE_SIZE)) | CNNACC_PTE_VALID;
	table = mh_ptr(h, CNNACC_PTE_BUS(*entry));
	return &table[CNNACC_PT_PAGE_INDEX(va)];
}

void mh_map(struct model_host *h, const struct mh_space *s, uint32_t va, uint64_t bus,
	    size_t bytes, uint32_t flags)
{
	for (size_t pos = 0; pos < bytes; pos += CNNACC_PAGE_SIZE)
		*mh_pte(h, s, va + (uint32_t)pos) =
			CNNACC_PTE_ADDR(bus + pos) | flags | CNNACC_PTE_VALID;
}

void *mh_map_new(struct model_host *h, const struct mh_space *s, uint32_t va, size_t bytes,
		 uint32_t flags)
{
	uint64_t bus = mh_alloc(h, bytes);

	mh_map(h, s, va, bus, bytes, flags);
	return mh_ptr(h, bus);
}

void mh_queue_init(struct model_host *h, unsigned int core, uint32_t size, uint32_t compl_size)
{
	struct mh_ring *r = &h->ring[core];

	*r = (struct mh_ring){
		.packets = mh_alloc(h, size * sizeof(struct cnnacc_packet)),
		.records = mh_alloc(h, compl_size * sizeof(struct cnnacc_completion)),
		.size = size,
		.compl_size = compl_size,
	};
	mh_core_reset(h, core);
}

/* Resets a core and enables its queue with the rings it has. */
void mh_core_reset(struct model_host *h, unsigned int core)
{
	struct mh_ring *r = &h->ring[core];

	mh_qwrite(h, core, CNNACC_QREG_RESET, 1);
	r->tail = 0;
	r->compl_head = 0;
	mh_qwrite(h, core, CNNACC_QREG_RING_BASE_LO, (uint32_t)r->packets);
	mh_qwrite(h, core, CNNACC_QREG_RING_BASE_HI, r->packets >> 32);
	mh_qwrite(h, core, CNNACC_QREG_RING_SIZE, r->size);
	mh_qwrite(h, core, CNNACC_QREG_COMPL_BASE_LO, (uint32_t)r->records);
	mh_qwrite(h, core, CNNACC_QREG_COMPL_BASE_HI, r->records >> 32);
	mh_qwrite(h, core, CNNACC_QREG_COMPL_SIZE, r->compl_size);
	mh_qwrite(h, core, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE);
}

void mh_submit(struct model_host *h, unsigned int core, const struct cnnacc_packet *packet)
{
	struct mh_ring *r = &h->ring[core];

	memcpy(mh_ptr(h, r->packets + r->tail * sizeof(*packet)), packet, sizeof(*packet));
	r->tail = (r->tail + 1) % r->size;
	mh_qwrite(h, core, CNNACC_QREG_RING_TAIL, r->tail);
}

bool mh_work_once(struct model_host *h, unsigned int core, uint32_t budget_ns)
{
	if (!cm_device_begin(h->dev, core))
		return false;
	h->running = true;
	cm_device_run(h->dev, core, budget_ns);
	h->running = false;
	h->runs++;
	check(!h->mapped, "a mapping outlives the run");
	cm_device_end(h->dev, core);
	return true;
}

void mh_work(struct model_host *h, unsigned int core)
{
	while (mh_work_once(h, core, h->budget_ns))
		;
}

bool mh_completion(struct model_host *h, unsigned int core, struct cnnacc_completion *record)
{
	struct mh_ring *r = &h->ring[core];

	if (r->compl_head == mh_qread(h, core, CNNACC_QREG_COMPL_TAIL))
		return false;
	memcpy(record, mh_ptr(h, r->records + r->compl_head * sizeof(*record)), sizeof(*record));
	r->compl_head = (r->compl_head + 1) % r->compl_size;
	mh_qwrite(h, core, CNNACC_QREG_COMPL_HEAD, r->compl_head);
	return true;
}

void mh_map_job(struct model_host *h, const struct mh_space *s)
{
	mh_map_new(h, s, MH_PROGRAM_VA, 2 * CNNACC_PAGE_SIZE, CNNACC_PTE_EXEC);
	mh_map_new(h, s, MH_STATS_VA, CNNACC_PAGE_SIZE, CNNACC_PTE_WRITE);
}

static void *job_ptr(struct model_host *h, const struct mh_space *s, uint32_t va)
{
	return mh_ptr(h, CNNACC_PTE_BUS(*mh_pte(h, s, va)));
}

struct cnnacc_packet mh_packet(struct model_host *h, const struct mh_space *s,
			       const uint32_t *program, size_t words)
{
	struct cnnacc_packet packet = {
		.flags = CNNACC_PACKET_STATS | CNNACC_PACKET_IRQ,
		.ctx_id = s->ctx_id,
		.root = s->root,
		.fence = h->now + 0x100000000ull,
		.cycle_limit = 1 << 24,
		.program_va = MH_PROGRAM_VA,
		.program_len = (uint32_t)(words * sizeof(*program)),
		.stats_va = MH_STATS_VA,
	};

	memcpy(job_ptr(h, s, MH_PROGRAM_VA), program, words * sizeof(*program));
	return packet;
}

struct cnnacc_completion mh_exec(struct model_host *h, const struct mh_space *s,
				 const uint32_t *program, size_t words,
				 struct cnnacc_stats *stats)
{
	struct cnnacc_packet packet = mh_packet(h, s, program, words);
	struct cnnacc_completion record;

	if (mh_qread(h, 0, CNNACC_QREG_STATE) == CNNACC_QSTATE_HALTED)
		mh_core_reset(h, 0);
	mh_submit(h, 0, &packet);
	mh_work(h, 0);
	check(mh_completion(h, 0, &record), "no completion");
	if (stats)
		memcpy(stats, job_ptr(h, s, MH_STATS_VA), sizeof(*stats));
	return record;
}

uint32_t mh_crc32(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint32_t crc = 0xffffffff;

	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

uint32_t mh_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 32);
}
