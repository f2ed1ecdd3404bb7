// SPDX-License-Identifier: MIT
/* Nodes of any kind on core ccp: weights, code, trials, descriptions. */
#include <stdio.h>

#include "ccp.h"

int ccpc_node_weights(struct ccpc_code *c, struct ccpc_node *n)
{
	return n->kind->weights ? n->kind->weights(c, n) : CNN_OK;
}

int ccpc_node_emit(struct ccpc_code *c, struct ccpc_node *n)
{
	return n->kind->emit(c, n);
}

/* Memory lines that operands are assumed at in a trial, far from each other and from weights. */
#define TRIAL_IN  0x10000000
#define TRIAL_ADD 0x20000000
#define TRIAL_OUT 0x40000000

/* Makes n's code without keeping it, in smaller and smaller sections until each one fits a task. */
static enum ccpc_trial_result try_sizes(struct ccpc_core *core, struct ccpc_node *n,
					struct ccpc_code *c)
{
	uint64_t *tried = &core->base.compile->tried;
	int ret = CCPC_TOO_BIG, attempt = 0;

	n->in.line = TRIAL_IN;
	n->add.line = TRIAL_ADD;
	n->out.line = TRIAL_OUT;
	for (; ret == CCPC_TOO_BIG && *tried < CCPC_ALL_TRIAL_INSNS_MAX; attempt++) {
		if (!n->kind->plan(&core->hw, n, attempt))
			return attempt ? CCPC_NO_TASK : CCPC_NO_MEMORY;
		if (ccpc_code_flush(c))
			return CCPC_NO_MEMORY;
		c->trial = (struct ccpc_trial){ .words = 0 };
		ret = ccpc_node_weights(c, n) ?: ccpc_node_emit(c, n);
		*tried += c->trial.insns_run;
	}
	return ret || ccpc_code_flush(c) ? CCPC_NO_CAPACITY : CCPC_FITS;
}

enum ccpc_trial_result ccpc_node_try(struct ccpc_core *core, struct ccpc_node *n,
				     struct ccpc_trial *t)
{
	struct ccpc_code c;
	enum ccpc_trial_result result;

	if (ccpc_code_init(&c, &core->hw, NULL))
		return CCPC_NO_MEMORY;
	result = try_sizes(core, n, &c);
	*t = c.trial;
	ccpc_code_free(&c);
	return result;
}

static void describe_conv(const struct ccpc_conv *v, char *buf, size_t size)
{
	int len = snprintf(buf, size, ", %lld of %lld rows", (long long)v->rows, (long long)v->oh);

	if (v->columns)
		len += snprintf(buf + len, size - (size_t)len, ", %lld of %lld columns",
				(long long)v->columns, (long long)v->ow);
	snprintf(buf + len, size - (size_t)len, ", %lld of %lld %s at a time%s",
		 (long long)(v->block ? v->block : v->out_co),
		 (long long)(v->block ? v->groups : v->co), v->block ? "groups" : "channels",
		 v->slice ? ", input channels in slices" : "");
}

void ccpc_node_describe(const struct ccpc_node *n, const char *op, char *reason)
{
	static const char *const places[] = {
		"", ", input on chip", ", output stays on chip", ", input and output on chip",
	};
	int len = snprintf(reason, CNN_REASON_LEN, "%s: %s%s", op, n->kind->text,
			   places[n->in.bind.resident + 2 * n->out.bind.resident]);

	if (n->kind == &ccpc_conv)
		describe_conv(&n->conv, reason + len, CNN_REASON_LEN - (size_t)len);
}
