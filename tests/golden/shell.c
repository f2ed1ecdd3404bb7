// SPDX-License-Identifier: MIT
#include "shell.h"

#include <endian.h>
#include <string.h>

#define BEYOND_VA	(1ull << CNNACC_VA_BITS)
#define BEYOND_BUS	(1ull << CNNACC_BUS_ADDR_BITS)

static enum cnnacc_packet_field check_packet(const struct golden_core *core,
					     const struct cnnacc_packet *p)
{
	if (p->flags & ~CNNACC_PACKET_FLAGS)
		return CNNACC_PACKET_BAD_FLAGS;
	if (p->ctx_id > 65535)
		return CNNACC_PACKET_BAD_CTX;
	if (p->root % CNNACC_PAGE_SIZE || p->root >= BEYOND_BUS)
		return CNNACC_PACKET_BAD_ROOT;
	if (!p->cycle_limit || p->cycle_limit > core->job_cycles_max)
		return CNNACC_PACKET_BAD_LIMIT;
	if (p->program_va % CNNACC_LINE_SIZE)
		return CNNACC_PACKET_BAD_PROGRAM_VA;
	if (!p->program_len || p->program_len % 4 || p->program_len > core->program_max)
		return CNNACC_PACKET_BAD_PROGRAM_LEN;
	if ((p->flags & CNNACC_PACKET_STATS) && p->stats_va % CNNACC_LINE_SIZE)
		return CNNACC_PACKET_BAD_STATS_VA;
	for (int i = 0; i < 5; i++)
		if (p->reserved[i])
			return CNNACC_PACKET_BAD_RESERVED;
	return 0;
}

static bool refuse(struct golden_fault *fault, enum cnnacc_status_class status_class,
		   enum cnnacc_fault_level level)
{
	fault->status_class = status_class;
	fault->level = level;
	return false;
}

static bool table_entry(const struct golden_shell *shell, uint64_t table, uint32_t index,
			enum cnnacc_fault_level level, uint32_t *entry, struct golden_fault *fault)
{
	if (!shell->bus.read(shell->bus.opaque, table + 4 * index, entry, sizeof(*entry)))
		return refuse(fault, CNNACC_STATUS_BUS_ERROR, level);
	*entry = le32toh(*entry);
	if (!(*entry & CNNACC_PTE_VALID))
		return refuse(fault, CNNACC_STATUS_MMU_FAULT, level);
	return true;
}

static bool translate(const struct golden_shell *shell, uint64_t va, uint32_t permission,
		      uint64_t *bus, struct golden_fault *fault)
{
	uint32_t entry;

	if (va >= BEYOND_VA)
		return refuse(fault, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_BEYOND);
	if (!table_entry(shell, shell->root, va >> 22, CNNACC_FAULT_DIR, &entry, fault))
		return false;
	if ((entry & CNNACC_PTE_FLAGS) != CNNACC_PTE_VALID)
		return refuse(fault, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_DIR);
	if (!table_entry(shell, CNNACC_PTE_BUS(entry), (va >> 12) & 1023, CNNACC_FAULT_PAGE, &entry,
			 fault))
		return false;
	if (!(entry & permission))
		return refuse(fault, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_PERM);
	*bus = CNNACC_PTE_BUS(entry) + va % CNNACC_PAGE_SIZE;
	return true;
}

static bool read_line(void *opaque, uint64_t va, enum cnnacc_access access,
		      uint8_t line[CNNACC_LINE_SIZE], struct golden_fault *fault)
{
	const struct golden_shell *shell = opaque;
	uint64_t bus;

	if (!translate(shell, va, access == CNNACC_ACCESS_EXEC ? CNNACC_PTE_EXEC : CNNACC_PTE_READ,
		       &bus, fault))
		return false;
	if (!shell->bus.read(shell->bus.opaque, bus, line, CNNACC_LINE_SIZE))
		return refuse(fault, CNNACC_STATUS_BUS_ERROR, CNNACC_FAULT_NONE);
	return true;
}

static bool write_bytes(void *opaque, uint64_t va, const uint8_t *bytes, size_t length,
			struct golden_fault *fault)
{
	const struct golden_shell *shell = opaque;
	uint64_t bus;

	if (!translate(shell, va, CNNACC_PTE_WRITE, &bus, fault))
		return false;
	if (!shell->bus.write(shell->bus.opaque, bus, bytes, length))
		return refuse(fault, CNNACC_STATUS_BUS_ERROR, CNNACC_FAULT_NONE);
	return true;
}

static void write_stats(struct golden_shell *shell, uint32_t stats_va,
			struct golden_result *result)
{
	struct golden_status *status = &result->status;
	uint64_t record[sizeof(struct cnnacc_stats) / 8];
	struct golden_fault fault;

	memcpy(record, &result->stats, sizeof(record));
	for (size_t i = 0; i < sizeof(record) / 8; i++)
		record[i] = htole64(record[i]);
	if (write_bytes(shell, stats_va, (uint8_t *)record, CNNACC_LINE_SIZE, &fault) &&
	    write_bytes(shell, (uint64_t)stats_va + CNNACC_LINE_SIZE,
			(uint8_t *)record + CNNACC_LINE_SIZE, CNNACC_LINE_SIZE, &fault))
		return;
	if (status->status_class != CNNACC_STATUS_OK)
		return;
	status->status_class = fault.status_class;
	status->status_code = CNNACC_CODE_STATS;
	status->detail = fault.level;
	status->access = CNNACC_ACCESS_WRITE;
	status->fault_va = stats_va;
}

/* Switch the core to the packet's context; return the cycles of clearing it. */
static uint64_t enter_context(struct golden_shell *shell, const struct cnnacc_packet *packet)
{
	uint64_t cycles = 0;

	if (shell->residue && (shell->retired || shell->ctx_id != packet->ctx_id ||
			       shell->root != packet->root)) {
		shell->core.clear(shell->core.priv);
		cycles = shell->core.scrub_cycles;
	}
	shell->residue = true;
	shell->retired = false;
	shell->ctx_id = packet->ctx_id;
	shell->root = packet->root;
	return cycles;
}

void golden_shell_run(struct golden_shell *shell, const struct cnnacc_packet *packet,
		      struct golden_result *result)
{
	struct golden_memory memory = { shell, read_line, write_bytes };
	struct golden_job job = { packet->program_va, packet->program_len, packet->cycle_limit };
	uint64_t scrub;

	memset(result, 0, sizeof(*result));
	result->status.detail = check_packet(&shell->core, packet);
	if (result->status.detail) {
		result->status.status_class = CNNACC_STATUS_CONFIG;
		result->status.status_code = CNNACC_CODE_PACKET;
		return;
	}
	scrub = enter_context(shell, packet);
	shell->core.run(shell->core.priv, &job, &memory, &result->status, &result->stats);
	result->stats.cycles += scrub;
	result->stats.cycles_serial += scrub;
	result->stats.scrub_cycles = scrub;
	result->cycles = result->stats.cycles;
	result->ran = true;
	if (packet->flags & CNNACC_PACKET_STATS)
		write_stats(shell, packet->stats_va, result);
}

void golden_shell_retire(struct golden_shell *shell, uint32_t ctx_id)
{
	if (shell->ctx_id == ctx_id)
		shell->retired = true;
}

void golden_shell_reset(struct golden_shell *shell)
{
	shell->core.clear(shell->core.priv);
	shell->residue = false;
	shell->retired = false;
}
