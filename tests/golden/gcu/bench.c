// SPDX-License-Identifier: MIT
#include "compare.h"
#include "gcu.h"

static void *create(const struct cnnacc_core_entry *entry, struct golden_core *core)
{
	struct golden_gcu_params params;
	struct golden_gcu *gcu;

	if (!golden_gcu_params_of(entry, &params))
		return NULL;
	gcu = golden_gcu_create(&params);
	if (gcu)
		golden_gcu_core(gcu, core);
	return gcu;
}

static void destroy(void *model)
{
	golden_gcu_destroy(model);
}

static bool compare_registers(struct host *host, uint32_t window,
			      const struct golden_gcu_regs *regs)
{
	const struct {
		const char *name;
		uint32_t offset, value;
	} list[] = {
		{ "window ID", CNNACC_GCU_REG_ID, CNNACC_GCU_ID },
		{ "window PC", CNNACC_GCU_REG_PC, regs->pc },
		{ "window STATE", CNNACC_GCU_REG_STATE, CNNACC_GCU_IDLE },
		{ "window STATUS", CNNACC_GCU_REG_STATUS, regs->status },
		{ "KERNEL_GROUP", CNNACC_GCU_REG_KERNEL_GROUP, regs->kernel_group },
		{ "OUT_ROW", CNNACC_GCU_REG_OUT_ROW, regs->out_row },
		{ "CHANNEL_GROUP", CNNACC_GCU_REG_CHANNEL_GROUP, regs->channel_group },
		{ "ROWS_VALID", CNNACC_GCU_REG_ROWS_VALID, regs->rows_valid },
		{ "FIFO_WRITE", CNNACC_GCU_REG_FIFO_WRITE, regs->fifo_write },
		{ "FIFO_OLDEST", CNNACC_GCU_REG_FIFO_OLDEST, regs->fifo_oldest },
		{ "OP4", CNNACC_GCU_REG_OP4, regs->op4 },
		{ "TRIGGER", CNNACC_GCU_REG_TRIGGER, regs->trigger },
		{ "ENTRY", CNNACC_GCU_REG_ENTRY, regs->entry },
		{ "RESIDENT", CNNACC_GCU_REG_RESIDENT, regs->resident },
		{ "RESIDENT_FIRST", CNNACC_GCU_REG_RESIDENT_FIRST, regs->resident_first },
		{ "SWAP_VALID", CNNACC_GCU_REG_SWAP_VALID, regs->swap_valid },
		{ "SWAP0", CNNACC_GCU_REG_SWAP(0), regs->swap[0] },
		{ "SWAP1", CNNACC_GCU_REG_SWAP(1), regs->swap[1] },
	};
	bool bad = false;

	for (unsigned int n = 0; n < sizeof(list) / sizeof(list[0]); n++)
		bad |= bench_differ(list[n].name, host_read(host, window + list[n].offset),
				    list[n].value);
	return bad;
}

static bool compare_counters(struct host *host, uint32_t window,
			     const struct golden_gcu_counters *c)
{
	const struct {
		const char *name;
		uint32_t offset;
		uint64_t value;
	} list[] = {
		{ "ROW_FILLS", CNNACC_GCU_REG_ROW_FILLS, c->row_fills },
		{ "ROW_BYTES", CNNACC_GCU_REG_ROW_BYTES, c->row_bytes },
		{ "ROW_REFILLS", CNNACC_GCU_REG_ROW_REFILLS, c->row_refills },
		{ "EVICTIONS", CNNACC_GCU_REG_EVICTIONS, c->evictions },
		{ "WEIGHT_BYTES", CNNACC_GCU_REG_WEIGHT_BYTES, c->weight_bytes },
		{ "WEIGHT_REFILLS", CNNACC_GCU_REG_WEIGHT_REFILLS, c->weight_refills },
		{ "TABLE_BYTES", CNNACC_GCU_REG_TABLE_BYTES, c->table_bytes },
		{ "STALL_ROW", CNNACC_GCU_REG_STALL_ROW, c->stall_row },
		{ "STALL_WEIGHT", CNNACC_GCU_REG_STALL_WEIGHT, c->stall_weight },
		{ "STALL_PSUM", CNNACC_GCU_REG_STALL_PSUM, c->stall_psum },
		{ "STALL_RBUF", CNNACC_GCU_REG_STALL_RBUF, c->stall_rbuf },
		{ "TAPS_MASKED", CNNACC_GCU_REG_TAPS_MASKED, c->taps_masked },
		{ "TAPS", CNNACC_GCU_REG_TAPS, c->taps },
	};
	bool bad = false;

	for (unsigned int n = 0; n < sizeof(list) / sizeof(list[0]); n++)
		bad |= bench_differ(list[n].name, host_read64(host, window + list[n].offset),
				    list[n].value);
	return bad;
}

static bool compare_window(struct host *host, uint32_t window, void *model)
{
	bool bad = compare_registers(host, window, golden_gcu_regs(model));

	bad |= compare_counters(host, window, golden_gcu_counters(model));
	return bad;
}

static const struct cnnacc_code_info codes[] = CNNACC_GCU_CODES;

const struct bench_kind gcu_bench = {
	.create = create, .destroy = destroy, .compare_window = compare_window,
	.codes = { { codes, sizeof(codes) / sizeof(codes[0]) } },
};
