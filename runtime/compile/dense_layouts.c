// SPDX-License-Identifier: MIT
/*
 * Values that pass between the host and a core without a change of layout. A core may want planes
 * that begin at cache lines, and be able to work on adjacent planes, as the host has them, in some
 * more cycles. Its plans for both are compared with what the host takes to change the layout.
 */
#include "internal.h"

#define READERS_MAX	32	/* of a value that is to be dense, which bounds the plans */

bool cnn_layout_without_gaps(const struct cnn_layout *l, struct cnn_layout *dense)
{
	struct cnn_planes p;

	if (l->codes || cnn_layout_dense(l) || !cnn_layout_planes(l, &p))
		return false;
	p.plane_pitch = p.plane;
	p.image_pitch = p.c * p.plane;
	*dense = cnn_planes_layout(&p);
	return true;
}

bool cnn_match_again(struct cnn_compiler *cc, struct cnn_backend *core, int lead,
		     struct cnn_unit *again, char *why)
{
	const struct cnn_unit *u = &cc->units[lead];
	bool same;

	cnn_set_leads(cc, u, -1);
	cnn_unit_init(again, u->g, cc->lead, u->place, lead);
	again->alone = u->alone;
	same = core->ops->match(core, again, why) && again->n_nodes == u->n_nodes;
	cnn_set_leads(cc, u, lead);
	return same;
}

/* The core that is asked for plans which are not used, in place of the one that claims a unit. */
static struct cnn_backend *trial_core(struct cnn_compiler *cc, int core)
{
	if (!cc->trials[core]) {
		cc->trial_compile = cc->compile;
		cc->trials[core] = cc->cores[core]->ops->open(&cc->trial_compile,
							      cc->cores[core]->info);
		cc->no_memory |= !cc->trials[core];
	}
	return cc->trials[core];
}

/* Inputs have the layouts that were chosen for them, if they were; value has layout. */
static void set_layouts(const struct cnn_compiler *cc, const struct cnn_backend *core,
			struct cnn_unit *u, int value, const struct cnn_layout *layout)
{
	for (int i = 0; i < u->n_in; i++) {
		const struct cnn_slot *slot = &cc->compile.out->slots[u->in[i].value];

		if (slot->used)
			cnn_reads_layout(core, &slot->layout, &u->in[i].layout);
		if (layout && u->in[i].value == value)
			u->in[i].layout = *layout;
	}
	for (int i = 0; i < u->n_out; i++)
		if (layout && u->out[i].value == value)
			u->out[i].layout = *layout;
}

/* The time of a unit in which value has layout, or if that is NULL the one that the core wants. */
static int64_t unit_ns(struct cnn_compiler *cc, int lead, int value,
		       const struct cnn_layout *layout)
{
	int index = cc->claims[lead].core;
	struct cnn_backend *core = trial_core(cc, index);
	char why[CNN_REASON_LEN];
	int64_t ns = CNN_NEVER;
	struct cnn_unit u;

	if (!core)
		return CNN_NEVER;
	if (cnn_match_again(cc, core, lead, &u, why) &&
	    (!layout || core->ops->takes_dense(core, &u, value))) {
		set_layouts(cc, core, &u, value, layout);
		if (core->ops->plan(core, &u, why))
			ns = cnn_cycles_ns(cc->target, index, core->ops->cycles(core, lead));
	}
	cnn_unit_free(&u);
	return ns;
}

int64_t cnn_slower_ns(struct cnn_compiler *cc, int lead, int value, const struct cnn_layout *layout)
{
	int64_t with, without;

	if (!cc->cores[cc->claims[lead].core]->ops->takes_dense)
		return CNN_NEVER;
	without = unit_ns(cc, lead, value, NULL);
	with = without < CNN_NEVER ? unit_ns(cc, lead, value, layout) : CNN_NEVER;
	return with < CNN_NEVER ? cnn_max(with - without, 0) : CNN_NEVER;
}

static bool is_read_by_host(const struct cnn_compiler *cc, int value)
{
	const struct cnn_value *v = &cc->compile.g->values[value];

	for (int k = 0; k < v->n_consumers; k++)
		if (cnn_claiming_core(cc, v->consumers[k]) < 0 &&
		    !cnn_is_renaming(cc, v->consumers[k]))
			return true;
	return v->is_output;
}

static int64_t change_ns(const struct cnn_compiler *cc, int value)
{
	const struct cnn_tensor *t = &cc->compile.g->values[value].t;

	return cnn_copy_cost_ns(cc->target, cnn_tensor_bytes(t), cnn_tensor_count(t), true);
}

static bool is_read_by_core(const struct cnn_compiler *cc, int value)
{
	const struct cnn_value *v = &cc->compile.g->values[value];

	for (int k = 0; k < v->n_consumers; k++)
		if (cnn_claiming_core(cc, v->consumers[k]) >= 0)
			return true;
	return false;
}

/* What the host takes for the output of a node that renames a value of this layout. */
static int64_t renamed_ns(const struct cnn_compiler *cc, int node, const struct cnn_layout *layout)
{
	int value = cc->compile.g->nodes[node].out[0];
	struct cnn_layout seen;

	if (cnn_layout_seen_as(&cc->compile.g->values[value].t, layout, &seen) ||
	    !is_read_by_core(cc, value))
		return is_read_by_host(cc, value) ? change_ns(cc, value) : 0;
	/* It moves the value between two segments. */
	return cnn_add_sat(change_ns(cc, value), cc->target->op_ns + cc->target->submit_ns);
}

/* What the host takes for a value that has gaps, and for what renames it. */
static int64_t host_ns(const struct cnn_compiler *cc, int value, const struct cnn_layout *layout)
{
	const struct cnn_value *v = &cc->compile.g->values[value];
	int64_t ns = is_read_by_host(cc, value) ? change_ns(cc, value) : 0;

	for (int k = 0; k < v->n_consumers; k++)
		if (cnn_is_renaming(cc, v->consumers[k]))
			ns = cnn_add_sat(ns, renamed_ns(cc, v->consumers[k], layout));
	return ns;
}

/* Is a value part of another one's memory, whose other parts decide where its planes are? */
static bool is_part(const struct cnn_compiler *cc, const struct cnn_value *v)
{
	for (int k = 0; k < v->n_consumers; k++)
		if (cnn_is_view_of_channels(cc->compile.g,
					    &cc->compile.g->nodes[v->consumers[k]]))
			return true;
	return false;
}

/* Has the unit of reader number k of a value been met among those before? */
static bool is_met(const struct cnn_compiler *cc, const struct cnn_value *v, int k)
{
	for (int i = 0; i < k; i++)
		if (cc->lead[v->consumers[i]] == cc->lead[v->consumers[k]])
			return true;
	return false;
}

/* Does an output of a unit cost less if it has the layout dense, which the host reads as it is? */
static bool is_cheaper(struct cnn_compiler *cc, int lead, const struct cnn_node_io *out,
		       const struct cnn_layout *dense)
{
	const struct cnn_value *v = &cc->compile.g->values[out->value];
	int64_t most = v->n_consumers > READERS_MAX || is_part(cc, v) ?
			       0 : host_ns(cc, out->value, &out->layout);
	int64_t ns = most ? cnn_slower_ns(cc, lead, out->value, dense) : CNN_NEVER;

	for (int k = 0; k < v->n_consumers && ns < most; k++)
		if (cnn_claiming_core(cc, v->consumers[k]) == cc->claims[lead].core &&
		    !is_met(cc, v, k))
			ns = cnn_add_sat(ns, cnn_slower_ns(cc, cc->lead[v->consumers[k]],
							   out->value, dense));
	return ns < most;
}

bool cnn_choose_dense_outputs(struct cnn_compiler *cc, int lead, struct cnn_node_io *out)
{
	struct cnn_layout dense;
	bool any = false;

	for (int i = 0; i < cc->units[lead].n_out; i++)
		if (!out[i].bytes && cnn_layout_without_gaps(&out[i].layout, &dense) &&
		    is_cheaper(cc, lead, &out[i], &dense)) {
			out[i].layout = dense;
			any = true;
		}
	return any;
}
