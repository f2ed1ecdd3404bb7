// SPDX-License-Identifier: MIT
#include "hwpe.h"

#include <stdlib.h>
#include <string.h>

#include "../fields.h"
#include "../min_max.h"
#include "../words.h"

#define PES		CNNACC_HWPE_PES
#define ACCS		CNNACC_HWPE_ACCS
#define WORD		CNNACC_HWPE_OPERAND_BYTES
#define FMAP_SPACE	(2ull * CNNACC_HWPE_SRAM2)
#define ROUNDS_333	4
#define TAPS_333	27
#define DRAIN_BUSY	7	/* coverage.busy */

/* Words of the discovery table: the only geometry and limits that this model implements. */
#define GEOMETRY	(CNNACC_HWPE_PES | CNNACC_HWPE_ACCS << 8 | \
			 8 * CNNACC_HWPE_OPERAND_BYTES << 16)
#define LIMITS		(CNNACC_HWPE_KERNEL_MAX | CNNACC_HWPE_SHIFT_MAX << 8)

struct config {
	bool reserved_clear;
	int64_t kernel, ch_count, w_offset, k_count;
	enum cnnacc_hwpe_type type;
	bool input, special;	/* Layer_type, Kernel_333 */
	unsigned int shift;
};

/* The task and its current window. */
struct task {
	bool events;
	int64_t h_count, w_count, h_stride, w_stride;
	uint64_t window, windows;	/* @window counts from 0 */
	uint64_t seen;			/* windows that a WAIT has seen */
};

struct golden_hwpe {
	struct golden_seq seq;
	struct golden_hwpe_params params;
	uint8_t *fmap[2], *kernel;
	uint32_t base[ACCS], cfg[2], mac[2];
	int32_t acc[ACCS][PES];
	enum cnnacc_hwpe_state state;
	uint32_t sticky;
	struct task task;
	uint32_t funct;			/* of the last instruction */
	uint64_t useful;		/* products of an AccReg of the job's last window */
	bool fresh[ACCS][PES];		/* not drained since that window */
	struct golden_hwpe_coverage coverage;
};

static uint32_t bits(uint32_t word, unsigned int high, unsigned int low)
{
	return word >> low & (uint32_t)((1ull << (high - low + 1)) - 1);
}

static unsigned int bit_number(uint32_t funct)
{
	unsigned int n = 0;

	while (funct > 1u << n)
		n++;
	return n;
}

/* The table of CfgReg0 and CfgReg1 in Documentation/hardware/hwpe.rst, row by row. */
enum cfg_field {
	CONV_CH_COUNT, CONV_W_OFFSET, KERNEL_SIZE, DATA_TYPE, LAYER_TYPE, KERNEL_333,
	ACCREG_SHIFT, K_COUNT, CFG_FIELDS,
};

static const struct field cfg_field[CFG_FIELDS] = {
	{ 0, 0, 15, 0, false, CONV_CH_COUNT },
	{ 0, 0, 31, 16, false, CONV_W_OFFSET },
	{ 0, 1, 3, 0, false, KERNEL_SIZE },
	{ 0, 1, 5, 4, false, DATA_TYPE },
	{ 0, 1, 6, 6, false, LAYER_TYPE },
	{ 0, 1, 7, 7, false, KERNEL_333 },
	{ 0, 1, 12, 8, false, ACCREG_SHIFT },
	{ 0, 1, 22, 13, false, K_COUNT },
};

static const struct field_table cfg_fields = { cfg_field, CFG_FIELDS, 2 };

static struct config resolve(const uint32_t cfg[2])
{
	int64_t v[CFG_FIELDS];
	bool good = fields_decode(&cfg_fields, 0, cfg, v);

	return (struct config){
		.reserved_clear = good,
		.ch_count = v[CONV_CH_COUNT], .w_offset = v[CONV_W_OFFSET],
		.kernel = v[KERNEL_SIZE], .type = v[DATA_TYPE],
		.input = v[LAYER_TYPE], .special = v[KERNEL_333],
		.shift = v[ACCREG_SHIFT], .k_count = v[K_COUNT],
	};
}

static enum golden_hwpe_layer layer_of(const struct config *c)
{
	return c->special ? GOLDEN_HWPE_333 : c->input ? GOLDEN_HWPE_INPUT : GOLDEN_HWPE_INNER;
}

static int64_t rounds_of(const struct config *c)
{
	return c->special ? ROUNDS_333 : c->kernel * c->ch_count;
}

static bool bad(struct golden_hwpe *hwpe, uint16_t code, uint32_t detail)
{
	return golden_seq_fail(&hwpe->seq, CNNACC_STATUS_BAD_PROGRAM, code, detail);
}

/* ----------------------------------------------------------------- types */

static unsigned int element_bits(enum cnnacc_hwpe_type type)
{
	return type == CNNACC_HWPE_TER2 ? 2 : type == CNNACC_HWPE_EXP4 ? 4 : 8;
}

static unsigned int elements(enum cnnacc_hwpe_type type)
{
	return 8 * WORD / element_bits(type);
}

static int exp4_value(unsigned int code)
{
	int magnitude = code & 7 ? 1 << ((code & 7) - 1) : 0;

	return code & 8 ? -magnitude : magnitude;
}

static int ter2_value(unsigned int code)
{
	return code >= 2 ? -1 : (int)code;
}

/* Element @n of an operand. */
static int element(const uint8_t operand[WORD], unsigned int n, enum cnnacc_hwpe_type type,
		   bool left)
{
	unsigned int width = element_bits(type), at = n * width;
	unsigned int code = operand[at / 8] >> at % 8 & ((1u << width) - 1);

	switch (type) {
	case CNNACC_HWPE_TER2:
		return ter2_value(code);
	case CNNACC_HWPE_EXP4:
		return exp4_value(code);
	case CNNACC_HWPE_UINT8:
		return left ? (int)code : (int8_t)code;
	default:
		return (int8_t)code;
	}
}

static void mark_bad_ter2(struct golden_hwpe *hwpe, const uint8_t operand[WORD])
{
	for (unsigned int n = 0; n < 4 * WORD; n++)
		if ((operand[n / 4] >> n % 4 * 2 & 3) == 2)
			hwpe->sticky |= CNNACC_HWPE_STATUS_BAD_TER2;
}

static int64_t dot(const uint8_t left[WORD], const uint8_t right[WORD], enum cnnacc_hwpe_type type)
{
	int64_t sum = 0;

	for (unsigned int n = 0; n < elements(type); n++)
		sum += element(left, n, type, true) * element(right, n, type, false);
	return sum;
}

static int32_t saturate(struct golden_hwpe *hwpe, int64_t value)
{
	if (value >= INT32_MIN && value <= INT32_MAX)
		return value;
	hwpe->coverage.saturated[value > 0]++;
	return value > 0 ? INT32_MAX : INT32_MIN;
}

/* ---------------------------------------------------------------- window */

static int64_t task_k(const struct task *task)
{
	return task->window / (task->w_count * task->h_count);
}

/* conv[] of base register @j. */
static int64_t row_start(const struct golden_hwpe *hwpe, const struct task *task, unsigned int j)
{
	int64_t cw = task->window / task->h_count % task->w_count;
	int64_t ch = task->window % task->h_count;

	return hwpe->base[j] + cw * task->w_stride + ch * task->h_stride;
}

static uint8_t fmap_byte(const struct golden_hwpe *hwpe, int64_t address)
{
	return hwpe->fmap[address >> 20][address & 0xfffff];
}

/* Left word @t of row @i, Kernel_333. */
static void left_special(const struct golden_hwpe *hwpe, const struct task *task,
			 const struct config *c, unsigned int i, int64_t t, uint8_t word[WORD])
{
	static const int first[ROUNDS_333 + 1] = { 0, 8, 16, 22, TAPS_333 };
	int64_t start = row_start(hwpe, task, i / 2);

	memset(word, 0, WORD);
	for (int e = first[t]; e < first[t + 1]; e++)
		word[e - first[t]] = fmap_byte(hwpe, start + e / 9 * c->w_offset +
					       (e % 9 / 3 * 3 + e % 3) * 2 + i % 2);
}

/* Left word @t of row @i; marks STATUS.ALIGN. */
static void left_word(struct golden_hwpe *hwpe, const struct task *task, const struct config *c,
		      unsigned int i, int64_t t, uint8_t word[WORD])
{
	int64_t address;

	if (c->special) {
		left_special(hwpe, task, c, i, t, word);
		return;
	}
	address = row_start(hwpe, task, i) + t / c->ch_count * c->w_offset + t % c->ch_count * WORD;
	if (!c->input && address % WORD) {
		hwpe->sticky |= CNNACC_HWPE_STATUS_ALIGN;
		address -= address % WORD;
	}
	for (int n = 0; n < WORD; n++)
		word[n] = fmap_byte(hwpe, address + n);
}

static void round_products(struct golden_hwpe *hwpe, const struct task *task,
			   const struct config *c, int64_t t)
{
	const uint8_t *right = hwpe->kernel + (task_k(task) * rounds_of(c) + t) *
					      CNNACC_HWPE_ROUND_BYTES;
	uint8_t left[WORD];

	for (unsigned int i = 0; i < ACCS; i++) {
		left_word(hwpe, task, c, i, t, left);
		if (c->type == CNNACC_HWPE_TER2)
			mark_bad_ter2(hwpe, left);
		for (unsigned int q = 0; q < PES; q++)
			hwpe->acc[i][q] = saturate(hwpe, hwpe->acc[i][q] +
							 dot(left, right + q * WORD, c->type));
	}
	for (unsigned int q = 0; q < PES && c->type == CNNACC_HWPE_TER2; q++)
		mark_bad_ter2(hwpe, right + q * WORD);
}

static bool addr_bad(struct golden_hwpe *hwpe, unsigned int row)
{
	hwpe->coverage.addr[row]++;
	return bad(hwpe, CNNACC_HWPE_E_ADDR, row);
}

static bool check_row(struct golden_hwpe *hwpe, const struct task *task, const struct config *c,
		      unsigned int j)
{
	int64_t lo = row_start(hwpe, task, j), hi, sram = j % 2;

	hi = lo + (c->kernel - 1) * c->w_offset + (c->ch_count - 1) * WORD;
	if (!c->input) {
		lo -= lo % WORD;
		hi -= hi % WORD;
	}
	hi += WORD - 1;
	if (c->special)
		hi = lo + 2 * c->w_offset + (3 * 2 + 2) * 2 + 1;
	if (hi >= (int64_t)FMAP_SPACE)
		return addr_bad(hwpe, j);
	if (lo / CNNACC_HWPE_SRAM2 != sram || hi / CNNACC_HWPE_SRAM2 != sram) {
		hwpe->coverage.two_addr[j]++;
		return bad(hwpe, CNNACC_HWPE_E_FMAP_2ADDR, j);
	}
	if (hi % CNNACC_HWPE_SRAM2 >= hwpe->params.fmap)
		return addr_bad(hwpe, j);
	return true;
}

/* Check the current window of @task. */
static bool check_window(struct golden_hwpe *hwpe, const struct task *task)
{
	struct config c = resolve(hwpe->cfg);

	for (unsigned int j = 0; j < (c.special ? ACCS / 2 : ACCS); j++)
		if (!check_row(hwpe, task, &c, j))
			return false;
	if ((task_k(task) + 1) * rounds_of(&c) * CNNACC_HWPE_ROUND_BYTES > hwpe->params.kernel)
		return addr_bad(hwpe, GOLDEN_HWPE_ADDR_KERNEL);
	return true;
}

static uint64_t useful_products(const struct config *c)
{
	if (c->special)
		return TAPS_333;
	if (c->input)
		return c->kernel * min64(3 * c->kernel, 8 * c->ch_count);
	return rounds_of(c) * elements(c->type);
}

static void cover_window(struct golden_hwpe *hwpe, const struct config *c)
{
	struct golden_hwpe_coverage *coverage = &hwpe->coverage;
	const struct task *task = &hwpe->task;

	coverage->window[c->type][layer_of(c)]++;
	coverage->kernel[c->kernel]++;
	coverage->k_group += task_k(task) != 0;
	coverage->w_step += task->window / task->h_count % task->w_count != 0;
	coverage->h_step += task->window % task->h_count != 0;
	coverage->started_late += hwpe->seq.d > hwpe->seq.t;
}

static unsigned int window_overhead(const struct golden_hwpe *hwpe, const struct config *c)
{
	static const unsigned int resumed[GOLDEN_HWPE_LAYERS] = {
		[GOLDEN_HWPE_INNER] = 8, [GOLDEN_HWPE_INPUT] = 9, [GOLDEN_HWPE_333] = 11,
	};

	return hwpe->task.window ? resumed[layer_of(c)] : 12;
}

/* Start the task's current window, after the command's own cost has been charged. */
static void start_window(struct golden_hwpe *hwpe)
{
	struct config c = resolve(hwpe->cfg);
	int64_t rounds = rounds_of(&c);
	uint64_t cycles = 8 * rounds + window_overhead(hwpe, &c);
	uint32_t sticky = hwpe->sticky;
	struct cnnacc_stats *stats = hwpe->seq.stats;

	cover_window(hwpe, &c);
	hwpe->sticky = 0;
	for (int64_t t = 0; t < rounds; t++)
		round_products(hwpe, &hwpe->task, &c, t);
	hwpe->coverage.bad_ter2 += (hwpe->sticky & CNNACC_HWPE_STATUS_BAD_TER2) != 0;
	hwpe->coverage.unaligned += (hwpe->sticky & CNNACC_HWPE_STATUS_ALIGN) != 0;
	hwpe->sticky |= sticky;
	hwpe->state = CNNACC_HWPE_RUNNING;
	hwpe->useful = useful_products(&c);
	memset(hwpe->fresh, true, sizeof(hwpe->fresh));
	hwpe->seq.d = max_u64(hwpe->seq.t, hwpe->seq.d) + cycles;
	stats->cycles_serial += cycles;
	stats->compute_cycles += cycles;
	stats->mac_slots += 128ull * rounds * elements(c.type);
	stats->local_read_bytes += 192ull * rounds;
}

/* -------------------------------------------------------------- draining */

/* Read and clear an AccReg; add its useful products to @useful. */
static int32_t take(struct golden_hwpe *hwpe, unsigned int acc, unsigned int pe, uint64_t *useful)
{
	int32_t value = hwpe->acc[acc][pe];

	hwpe->acc[acc][pe] = 0;
	if (hwpe->fresh[acc][pe])
		*useful += hwpe->useful;
	else
		hwpe->coverage.drained_again++;
	hwpe->fresh[acc][pe] = false;
	return value;
}

/* The enable flag needs a SUSPENDED core. */
static bool check_enable(struct golden_hwpe *hwpe, bool enable, enum golden_hwpe_drain how)
{
	if (!enable || hwpe->state == CNNACC_HWPE_SUSPENDED)
		return true;
	hwpe->coverage.enable_idle[how]++;
	return bad(hwpe, CNNACC_HWPE_E_ENABLE_IDLE, 0);
}

/* Check the window that the enable flag starts. */
static bool check_next(struct golden_hwpe *hwpe, bool enable, enum golden_hwpe_drain how)
{
	struct task next = hwpe->task;

	next.window++;
	if (!enable || next.window == next.windows || check_window(hwpe, &next))
		return true;
	hwpe->coverage.refused_resuming[how]++;
	return false;
}

/* Resume the task, at the end of the command with the enable flag. */
static void resume(struct golden_hwpe *hwpe, enum golden_hwpe_drain how)
{
	hwpe->seq.stats->stall_cycles += hwpe->seq.t - hwpe->seq.d;
	hwpe->coverage.stalled += hwpe->seq.t > hwpe->seq.d;
	hwpe->task.window++;
	if (hwpe->task.window == hwpe->task.windows) {
		hwpe->state = CNNACC_HWPE_IDLE;
		hwpe->coverage.ended[how]++;
	} else {
		start_window(hwpe);
		hwpe->coverage.resumed[how]++;
	}
}

static bool store_failed(struct golden_hwpe *hwpe, enum golden_hwpe_drain how, uint64_t va,
			 bool earlier)
{
	hwpe->coverage.fault[how][earlier || hwpe->seq.status->fault_va > va]++;
	return false;
}

/* ---------------------------------------------------------- instructions */

struct insn {
	uint32_t word;
	uint32_t funct, rd, rs1, rs2;
	const struct cnnacc_seq_command *command;
	uint32_t op0, op1;
	bool enable;
};

static struct insn decode(const struct cnnacc_seq_command *c)
{
	struct insn insn = {
		.word = c->arg[0], .funct = bits(c->arg[0], 31, 25), .rd = bits(c->arg[0], 11, 7),
		.rs1 = bits(c->arg[0], 19, 15), .rs2 = bits(c->arg[0], 24, 20), .command = c,
		.op0 = c->arg[4], .op1 = c->arg[5],
	};

	if (insn.funct == CNNACC_HWPE_READ_ACC)
		insn.enable = bits(insn.rs1, 4, 4);
	if (insn.funct == CNNACC_HWPE_RELU_WRITE)
		insn.enable = bits(insn.rs2, 4, 4);
	return insn;
}

/* xd, xs1 and xs2 of an instruction; -1: no such instruction. */
static int64_t insn_flags(uint32_t funct)
{
	switch (funct) {
	case CNNACC_HWPE_WRITE_FMAP_ADDR:
	case CNNACC_HWPE_WRITE_CFG:
	case CNNACC_HWPE_MATRIX_MAC:
		return CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2;
	case CNNACC_HWPE_WRITE_ACC:
	case CNNACC_HWPE_RELU_WRITE:
		return CNNACC_HWPE_XS1;
	case CNNACC_HWPE_READ_ACC:
		return CNNACC_HWPE_XD;
	case CNNACC_HWPE_RESET:
		return 0;
	default:
		return -1;
	}
}

static uint32_t acc_field(const struct insn *insn)
{
	switch (insn->funct) {
	case CNNACC_HWPE_WRITE_ACC:
		return insn->rd;
	case CNNACC_HWPE_READ_ACC:
		return bits(insn->rs1, 3, 0);
	case CNNACC_HWPE_RELU_WRITE:
		return bits(insn->rs2, 3, 0);
	default:
		return 0;
	}
}

static uint32_t pe_field(const struct insn *insn)
{
	bool has_pe = insn->funct == CNNACC_HWPE_WRITE_ACC || insn->funct == CNNACC_HWPE_READ_ACC;

	return has_pe ? insn->rs2 : 0;
}

static enum cnnacc_hwpe_illegal illegal(const struct insn *insn)
{
	if (bits(insn->word, 6, 0) != CNNACC_HWPE_OPCODE)
		return CNNACC_HWPE_BAD_OPCODE;
	if (insn_flags(insn->funct) < 0)
		return CNNACC_HWPE_BAD_FUNCT;
	if ((insn->word & (CNNACC_HWPE_XD | CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2)) !=
	    insn_flags(insn->funct))
		return CNNACC_HWPE_BAD_FLAGS;
	if (pe_field(insn) >= PES)
		return CNNACC_HWPE_BAD_PE;
	if (acc_field(insn) >= ACCS)
		return CNNACC_HWPE_BAD_ACC;
	if (insn->funct == CNNACC_HWPE_WRITE_FMAP_ADDR && insn->rd >= ACCS)
		return CNNACC_HWPE_BAD_BASE;
	return 0;
}

/* Index of the first word that the instruction does not allow; -1: none. */
static int bad_word(const struct insn *insn)
{
	int64_t flags = insn_flags(insn->funct);

	if ((insn->command->op & CNNACC_SEQ_RESULT) && insn->funct != CNNACC_HWPE_READ_ACC)
		return 0;
	if ((insn->command->op & CNNACC_SEQ_EVENTS) && insn->funct != CNNACC_HWPE_MATRIX_MAC)
		return 0;
	if (!(flags & CNNACC_HWPE_XS1) && insn->op0)
		return 5;
	if (insn->funct == CNNACC_HWPE_RELU_WRITE && insn->op0 % 4)
		return 5;
	if (!(flags & CNNACC_HWPE_XS2) && insn->op1)
		return 6;
	return -1;
}

static bool state_good(const struct golden_hwpe *hwpe, uint32_t funct)
{
	switch (funct) {
	case CNNACC_HWPE_WRITE_FMAP_ADDR:
	case CNNACC_HWPE_WRITE_CFG:
	case CNNACC_HWPE_MATRIX_MAC:
		return hwpe->state == CNNACC_HWPE_IDLE;
	case CNNACC_HWPE_RESET:
		return true;
	default:
		return hwpe->state != CNNACC_HWPE_RUNNING;
	}
}

static bool is_busy(struct golden_hwpe *hwpe, unsigned int what)
{
	hwpe->coverage.busy[what][hwpe->state]++;
	return bad(hwpe, CNNACC_HWPE_E_BUSY, hwpe->state);
}

/* Checks 1 to 4 of an EXEC. */
static bool check_insn(struct golden_hwpe *hwpe, const struct insn *insn)
{
	enum cnnacc_hwpe_illegal detail = illegal(insn);
	int word;

	if (detail) {
		hwpe->coverage.illegal[detail]++;
		return bad(hwpe, CNNACC_HWPE_E_ILLEGAL, detail);
	}
	word = bad_word(insn);
	if (word >= 0)
		return bad(hwpe, CNNACC_SEQ_E_COMMAND, word);
	if (!state_good(hwpe, insn->funct))
		return is_busy(hwpe, bit_number(insn->funct));
	return check_enable(hwpe, insn->enable, insn->funct == CNNACC_HWPE_READ_ACC ?
						GOLDEN_HWPE_READ : GOLDEN_HWPE_RELU);
}

static enum cnnacc_hwpe_cfg bad_config(const uint32_t cfg[2])
{
	struct config c = resolve(cfg);
	bool bytes = c.type == CNNACC_HWPE_INT8 || c.type == CNNACC_HWPE_UINT8;

	if (!c.reserved_clear)
		return CNNACC_HWPE_BAD_RESERVED;
	if (!c.kernel || c.kernel > CNNACC_HWPE_KERNEL_MAX || (c.special && c.kernel != 3))
		return CNNACC_HWPE_BAD_KERNEL;
	if ((c.input || c.special) && !bytes)
		return CNNACC_HWPE_BAD_TYPE;
	if (c.special && !c.input)
		return CNNACC_HWPE_BAD_LAYER;
	if (c.shift > CNNACC_HWPE_SHIFT_MAX)
		return CNNACC_HWPE_BAD_SHIFT;
	if (!c.special && !c.ch_count)
		return CNNACC_HWPE_BAD_CH_COUNT;
	return 0;
}

static bool cfg_bad(struct golden_hwpe *hwpe, enum cnnacc_hwpe_cfg detail)
{
	return golden_seq_fail(&hwpe->seq, CNNACC_STATUS_CONFIG, CNNACC_HWPE_E_CFG, detail);
}

static bool write_cfg(struct golden_hwpe *hwpe, const struct insn *insn)
{
	uint32_t cfg[2] = { insn->op0, insn->op1 };
	enum cnnacc_hwpe_cfg detail = bad_config(cfg);

	if (detail) {
		hwpe->coverage.cfg[detail]++;
		return cfg_bad(hwpe, detail);
	}
	memcpy(hwpe->cfg, cfg, sizeof(cfg));
	golden_seq_spend(&hwpe->seq, 1);
	return true;
}

static bool matrix_mac(struct golden_hwpe *hwpe, const struct insn *insn)
{
	struct config c = resolve(hwpe->cfg);
	struct task task = {
		.events = insn->command->op & CNNACC_SEQ_EVENTS,
		.h_count = bits(insn->op0, 15, 0), .w_count = bits(insn->op0, 31, 16),
		.h_stride = bits(insn->op1, 15, 0), .w_stride = bits(insn->op1, 31, 16),
	};

	if (!c.kernel) {
		hwpe->coverage.mac_unconfigured++;
		return cfg_bad(hwpe, CNNACC_HWPE_BAD_KERNEL);
	}
	task.windows = (uint64_t)task.h_count * task.w_count * c.k_count;
	if (!task.windows) {
		hwpe->coverage.zero_count++;
		golden_seq_spend(&hwpe->seq, 1);
		return true;
	}
	if (!check_window(hwpe, &task))
		return false;
	hwpe->task = task;
	hwpe->mac[0] = insn->op0;
	hwpe->mac[1] = insn->op1;
	golden_seq_spend(&hwpe->seq, 1);
	start_window(hwpe);
	return true;
}

static bool read_acc(struct golden_hwpe *hwpe, const struct insn *insn)
{
	uint64_t useful = 0, va = insn->command->arg[6];
	uint32_t result = htole32(take(hwpe, acc_field(insn), pe_field(insn), &useful));
	bool stored = insn->command->op & CNNACC_SEQ_RESULT;

	if (stored && !golden_seq_store(&hwpe->seq, va, &result, sizeof(result)))
		return store_failed(hwpe, GOLDEN_HWPE_READ, va, false);
	if (!check_next(hwpe, insn->enable, GOLDEN_HWPE_READ))
		return false;
	golden_seq_spend(&hwpe->seq, stored ? 2 : 1);
	hwpe->seq.stats->mem_write_bytes += stored ? sizeof(result) : 0;
	hwpe->seq.stats->mac_useful += useful;
	hwpe->coverage.result += stored;
	if (insn->enable)
		resume(hwpe, GOLDEN_HWPE_READ);
	return true;
}

static uint8_t relu8(struct golden_hwpe *hwpe, int32_t value, unsigned int shift)
{
	int32_t shifted = value < 0 ? 0 : value >> shift;

	hwpe->coverage.relu_cut[value < 0 ? 0 : shifted > 255 ? 2 : 1]++;
	return shifted > 255 ? 255 : shifted;
}

static bool relu_write(struct golden_hwpe *hwpe, const struct insn *insn)
{
	struct config c = resolve(hwpe->cfg);
	uint64_t useful = 0;
	uint8_t bytes[PES];

	for (unsigned int q = 0; q < PES; q++)
		bytes[q] = relu8(hwpe, take(hwpe, acc_field(insn), q, &useful), c.shift);
	if (!golden_seq_store(&hwpe->seq, insn->op0, bytes, sizeof(bytes)))
		return store_failed(hwpe, GOLDEN_HWPE_RELU, insn->op0, false);
	if (!check_next(hwpe, insn->enable, GOLDEN_HWPE_RELU))
		return false;
	golden_seq_spend(&hwpe->seq, 6);
	hwpe->seq.stats->mem_write_bytes += sizeof(bytes);
	hwpe->seq.stats->mac_useful += useful;
	hwpe->coverage.shift[c.shift]++;
	hwpe->coverage.stored_in_two_lines += golden_seq_lines(insn->op0, sizeof(bytes)) == 2;
	if (insn->enable)
		resume(hwpe, GOLDEN_HWPE_RELU);
	return true;
}

/* Reset all but the AccRegs and their counts for this job. */
static void reset_registers(struct golden_hwpe *hwpe)
{
	memset(hwpe->base, 0, sizeof(hwpe->base));
	memset(hwpe->cfg, 0, sizeof(hwpe->cfg));
	memset(hwpe->mac, 0, sizeof(hwpe->mac));
	memset(&hwpe->task, 0, sizeof(hwpe->task));
	hwpe->state = CNNACC_HWPE_IDLE;
	hwpe->sticky = 0;
}

static bool run_insn(struct golden_hwpe *hwpe, const struct insn *insn)
{
	switch (insn->funct) {
	case CNNACC_HWPE_WRITE_FMAP_ADDR:
		hwpe->base[insn->rd & 6] = insn->op0;
		hwpe->base[insn->rd | 1] = insn->op1;
		break;
	case CNNACC_HWPE_WRITE_CFG:
		return write_cfg(hwpe, insn);
	case CNNACC_HWPE_MATRIX_MAC:
		return matrix_mac(hwpe, insn);
	case CNNACC_HWPE_WRITE_ACC:
		hwpe->acc[acc_field(insn)][pe_field(insn)] = insn->op0;
		break;
	case CNNACC_HWPE_READ_ACC:
		return read_acc(hwpe, insn);
	case CNNACC_HWPE_RELU_WRITE:
		return relu_write(hwpe, insn);
	default:
		hwpe->coverage.reset[hwpe->state]++;
		reset_registers(hwpe);
		break;
	}
	golden_seq_spend(&hwpe->seq, 1);
	return true;
}

/* ------------------------------------------------ callbacks of the sequencer */

static bool hwpe_exec(void *priv, const struct cnnacc_seq_command *command)
{
	struct golden_hwpe *hwpe = priv;
	struct insn insn = decode(command);

	hwpe->funct = insn.funct;
	if (!check_insn(hwpe, &insn) || !run_insn(hwpe, &insn))
		return false;
	hwpe->coverage.insn[bit_number(insn.funct)]++;
	return true;
}

/* Write one AccReg of all PEs to memory; add the cost to @cycles. */
static bool drain_acc(struct golden_hwpe *hwpe, const struct cnnacc_seq_command *command,
		      unsigned int n, uint64_t *cycles, uint64_t *useful)
{
	uint64_t va = golden_seq_drain_va(command, n);
	uint8_t bytes[4 * PES];

	for (unsigned int q = 0; q < PES; q++)
		word_put(bytes, q, take(hwpe, command->arg[1] + n, q, useful));
	if (!golden_seq_store(&hwpe->seq, va, bytes, sizeof(bytes)))
		return store_failed(hwpe, GOLDEN_HWPE_DRAIN, va, n);
	*cycles += 16 + golden_seq_lines(va, sizeof(bytes));
	hwpe->coverage.stored_in_two_lines += golden_seq_lines(va, sizeof(bytes)) == 2;
	return true;
}

static bool hwpe_drain(void *priv, const struct cnnacc_seq_command *command)
{
	struct golden_hwpe *hwpe = priv;
	unsigned int registers = command->op >> CNNACC_SEQ_PARAM_SHIFT;
	bool enable = command->op & CNNACC_SEQ_RESUME;
	uint64_t useful = 0, cycles = 1;

	if (hwpe->state == CNNACC_HWPE_RUNNING)
		return is_busy(hwpe, DRAIN_BUSY);
	if (!check_enable(hwpe, enable, GOLDEN_HWPE_DRAIN))
		return false;
	for (unsigned int n = 0; n < registers; n++)
		if (!drain_acc(hwpe, command, n, &cycles, &useful))
			return false;
	if (!check_next(hwpe, enable, GOLDEN_HWPE_DRAIN))
		return false;
	golden_seq_spend(&hwpe->seq, cycles);
	hwpe->seq.stats->mem_write_bytes += 4ull * PES * registers;
	hwpe->seq.stats->mac_useful += useful;
	if (enable)
		resume(hwpe, GOLDEN_HWPE_DRAIN);
	return true;
}

static bool hwpe_busy(void *priv)
{
	struct golden_hwpe *hwpe = priv;

	return hwpe->state == CNNACC_HWPE_RUNNING;
}

static bool hwpe_uses(void *priv, unsigned int memory, uint64_t first, uint64_t length)
{
	(void)memory;
	(void)first;
	(void)length;
	return hwpe_busy(priv);
}

static enum golden_seq_wait hwpe_wait(void *priv, uint32_t conditions)
{
	struct golden_hwpe *hwpe = priv;

	if (conditions & CNNACC_HWPE_WAIT_ROUND) {
		if (hwpe->state == CNNACC_HWPE_SUSPENDED)
			return GOLDEN_SEQ_HOLDS;
		if (hwpe->state == CNNACC_HWPE_RUNNING)
			return GOLDEN_SEQ_COMES;
	}
	if ((conditions & CNNACC_HWPE_WAIT_IDLE) && hwpe->state == CNNACC_HWPE_IDLE)
		return GOLDEN_SEQ_HOLDS;
	return GOLDEN_SEQ_NEVER;
}

static void hwpe_waited(void *priv)
{
	struct golden_hwpe *hwpe = priv;

	hwpe->state = CNNACC_HWPE_SUSPENDED;
	hwpe->task.seen++;
	hwpe->seq.stats->events++;
	hwpe->seq.event = hwpe->task.events;
	hwpe->coverage.events += hwpe->task.events;
}

static void hwpe_reset(void *priv)
{
	struct golden_hwpe *hwpe = priv;

	reset_registers(hwpe);
	memset(hwpe->fresh, false, sizeof(hwpe->fresh));
}

static void hwpe_clear(void *priv)
{
	struct golden_hwpe *hwpe = priv;

	memset(hwpe->acc, 0, sizeof(hwpe->acc));
}

bool golden_hwpe_params_of(const struct cnnacc_core_entry *entry,
			   struct golden_hwpe_params *params)
{
	*params = (struct golden_hwpe_params){
		.program = entry->program_max,
		.fmap = entry->param[CNNACC_HWPE_PARAM_FMAP],
		.kernel = entry->param[CNNACC_HWPE_PARAM_KERNEL],
	};
	return entry->type == CNNACC_CORE_HWPE &&
	       entry->param[CNNACC_HWPE_PARAM_GEOMETRY] == GEOMETRY &&
	       entry->param[CNNACC_HWPE_PARAM_LIMITS] == LIMITS;
}

struct golden_hwpe *golden_hwpe_create(const struct golden_hwpe_params *params)
{
	struct golden_hwpe *hwpe = calloc(1, sizeof(*hwpe));

	if (!hwpe)
		return NULL;
	hwpe->params = *params;
	hwpe->fmap[0] = calloc(1, params->fmap);
	hwpe->fmap[1] = calloc(1, params->fmap);
	hwpe->kernel = calloc(1, params->kernel);
	hwpe->seq.core = (struct golden_seq_core){
		.priv = hwpe, .memories = CNNACC_HWPE_MEMORIES,
		.memory = {
			[CNNACC_HWPE_FMAP0] = { hwpe->fmap[0], params->fmap },
			[CNNACC_HWPE_FMAP1] = { hwpe->fmap[1], params->fmap },
			[CNNACC_HWPE_KERNEL] = { hwpe->kernel, params->kernel },
		},
		.insn_words = 1, .registers = ACCS,
		.conditions = CNNACC_HWPE_WAIT_ROUND | CNNACC_HWPE_WAIT_IDLE,
		.reset = hwpe_reset, .clear = hwpe_clear, .uses = hwpe_uses, .busy = hwpe_busy,
		.exec = hwpe_exec, .drain = hwpe_drain, .wait = hwpe_wait, .waited = hwpe_waited,
	};
	if (golden_seq_init(&hwpe->seq, params->program) && hwpe->fmap[0] && hwpe->fmap[1] &&
	    hwpe->kernel)
		return hwpe;
	golden_hwpe_destroy(hwpe);
	return NULL;
}

void golden_hwpe_destroy(struct golden_hwpe *hwpe)
{
	if (!hwpe)
		return;
	golden_seq_free(&hwpe->seq);
	free(hwpe->fmap[0]);
	free(hwpe->fmap[1]);
	free(hwpe->kernel);
	free(hwpe);
}

void golden_hwpe_core(struct golden_hwpe *hwpe, struct golden_core *core)
{
	golden_seq_shell(&hwpe->seq, core);
}

struct golden_hwpe_regs golden_hwpe_regs(const struct golden_hwpe *hwpe)
{
	const struct task *task = &hwpe->task;
	bool last = hwpe->state != CNNACC_HWPE_IDLE && task->window + 1 == task->windows;
	struct golden_hwpe_regs regs = {
		.status = hwpe->state | hwpe->sticky | (last ? CNNACC_HWPE_STATUS_LAST : 0),
		.round = task->seen, .rounds = task->windows,
	};

	memcpy(regs.cfg, hwpe->cfg, sizeof(regs.cfg));
	memcpy(regs.mac, hwpe->mac, sizeof(regs.mac));
	memcpy(regs.base, hwpe->base, sizeof(regs.base));
	memcpy(regs.acc, hwpe->acc, sizeof(regs.acc));
	return regs;
}

const struct golden_seq_regs *golden_hwpe_seq_regs(const struct golden_hwpe *hwpe)
{
	return &hwpe->seq.regs;
}

enum golden_hwpe_access golden_hwpe_failed_access(const struct golden_hwpe *hwpe)
{
	if (hwpe->seq.op == CNNACC_SEQ_COPY2D)
		return hwpe->seq.refused == CNNACC_ACCESS_READ ? GOLDEN_HWPE_COPY_IN :
								  GOLDEN_HWPE_COPY_OUT;
	if (hwpe->seq.op == CNNACC_SEQ_DRAIN)
		return GOLDEN_HWPE_DRAINED;
	return hwpe->funct == CNNACC_HWPE_READ_ACC ? GOLDEN_HWPE_RESULT : GOLDEN_HWPE_RELU_BYTES;
}

const struct golden_hwpe_coverage *golden_hwpe_coverage(const struct golden_hwpe *hwpe)
{
	return &hwpe->coverage;
}

const struct golden_seq_coverage *golden_hwpe_seq_coverage(const struct golden_hwpe *hwpe)
{
	return &hwpe->seq.coverage;
}
