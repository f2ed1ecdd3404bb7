// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Boot and the DMA engine: transfers of lines between memory and the caches. */
#include <string.h>

#include "ccp.h"

#define CHUNK_LINES	4096	/* maximum lines between budget checks */
#define LINE_NS		24

struct transfer {
	uint64_t va;
	uint64_t lines;
	uint64_t target_line;
	uint32_t target;
	bool store;
};

static struct transfer decode(const struct ccp *c)
{
	const struct ccp_state *s = c->s;

	return (struct transfer){
		.va = (uint64_t)s->gpr[ccp_bits(s->insn, 27, 25)] * CNNACC_LINE_SIZE,
		.lines = s->gpr[ccp_bits(s->insn, 24, 22)],
		.target_line = s->gpr[ccp_bits(s->insn, 21, 19)],
		.target = ccp_bits(s->insn, 18, 16),
		.store = s->insn >> CNNACC_CCP_OP_SHIFT == CNNACC_CCP_STORE,
	};
}

static void *target_memory(const struct ccp *c, uint32_t target, uint64_t *lines)
{
	if (target <= CNNACC_CCP_TGT_WRITE_BANK) {
		*lines = c->bank_floats / CCP_LINE_FLOATS;
		return c->data[c->s->sel ^ target];
	}
	if (target == CNNACC_CCP_TGT_ICACHE) {
		*lines = c->icache_words / CCP_LINE_FLOATS;
		return c->icache;
	}
	*lines = c->weight_floats / CCP_LINE_FLOATS;
	return c->weight + (size_t)(target - CNNACC_CCP_TGT_WEIGHT0) * c->weight_floats;
}

uint64_t ccp_dma_lines(const struct ccp *c)
{
	return decode(c).lines;
}

/* Check the current LOAD or STORE; return an error code and *field, or 0. */
uint32_t ccp_dma_check(const struct ccp *c, uint32_t *field)
{
	struct transfer x = decode(c);
	uint64_t lines;

	*field = 0;
	if (x.store ? x.target > CNNACC_CCP_TGT_WRITE_BANK :
		      x.target == CNNACC_CCP_TGT_RESERVED)
		return CNNACC_CCP_E_ILLEGAL;
	target_memory(c, x.target, &lines);
	if (x.lines && x.target_line + x.lines > lines) {
		*field = CNNACC_CCP_RANGE_DMA;
		return CNNACC_CCP_E_RANGE;
	}
	return 0;
}

static enum cnnacc_access access_of(const struct transfer *x)
{
	if (x->store)
		return CNNACC_ACCESS_WRITE;
	return x->target == CNNACC_CCP_TGT_ICACHE ? CNNACC_ACCESS_EXEC : CNNACC_ACCESS_READ;
}

/* Move lines from s->pos[0] on; return 1: done, 0: budget used up, -1: fault. */
int ccp_dma_run(struct ccp *c, struct cm_port *port, int64_t *budget, struct cm_core_fault *fault)
{
	struct transfer x = decode(c);
	uint64_t *done = &c->s->pos[0], lines;
	char *memory = target_memory(c, x.target, &lines);

	while (*done < x.lines) {
		uint64_t n = x.lines - *done;

		if (*budget <= 0)
			return 0;
		if (n > CHUNK_LINES)
			n = CHUNK_LINES;
		if (cm_port_defer(port, x.va + *done * CNNACC_LINE_SIZE,
				  memory + (x.target_line + *done) * CNNACC_LINE_SIZE, n,
				  access_of(&x), fault)) {
			fault->code = CNNACC_CCP_E_DMA;
			return -1;
		}
		*done += n;
		*budget -= (int64_t)n * LINE_NS;
	}
	if (x.target == CNNACC_CCP_TGT_ICACHE)
		cm_port_complete(port);
	return 1;
}

int ccp_boot(struct ccp *c, struct cm_port *port, struct cm_core_fault *fault)
{
	uint32_t len = c->s->program_len;
	uint64_t lines = ccp_div_up(len, CNNACC_LINE_SIZE);

	if (cm_port_lines(port, c->s->program_va, c->icache, lines, CNNACC_ACCESS_EXEC, fault)) {
		fault->code = CNNACC_CODE_FETCH;
		return -1;
	}
	memset((char *)c->icache + len, 0, (size_t)c->icache_words * 4 - len);
	return 0;
}
