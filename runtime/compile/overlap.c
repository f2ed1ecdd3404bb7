// SPDX-License-Identifier: MIT
/*
 * The modelled time of a run in which cores and the CPU work at the same time, as the executor lets
 * them. A piece is a segment on a core or an operator on the CPU, and is ready when those have ended
 * that make what it reads. The CPU copies the inputs of segments that are ready and submits them,
 * each to the equal core that is free first; then it runs an operator, one that a core waits for if
 * there is one; then it copies the outputs of the segments that have ended.
 */
#include <stdlib.h>

#include "internal.h"

struct piece {
	int segment, node;	/* node: -1: the whole segment, on a core */
	int waits;		/* for so many values */
	int64_t end;		/* once a core runs it */
	bool feeds_core;
};

struct run {
	const struct cnn_compiler *cc;
	struct piece *pieces;
	int *piece_of;		/* by node */
	int n_pieces;
	int *ready, n_ready;	/* ascending */
	int *running, n_running; /* on cores */
	bool *written;		/* by value: the host has copied it to its slot */
	int64_t idle[CNNRT_MAX_CORES];	/* by core: when it has done what was submitted */
	int64_t now;
};

static void make_pieces(struct run *r)
{
	const struct cnn_lowered *out = r->cc->compile.out;

	for (int s = 0; s < out->n_segments; s++) {
		const struct cnn_segment *seg = &out->segments[s];

		for (int i = 0; i < seg->n_nodes; i++) {
			if (!i || seg->core < 0)
				r->pieces[r->n_pieces++] = (struct piece){
					.segment = s, .node = seg->core < 0 ? seg->nodes[i] : -1,
				};
			r->piece_of[seg->nodes[i]] = r->n_pieces - 1;
		}
	}
}

static void find_waits(struct run *r)
{
	const struct cnn_graph *g = r->cc->compile.g;

	for (int v = 0; v < g->n_values; v++) {
		const struct cnn_value *val = &g->values[v];

		for (int i = 0; i < val->n_consumers && val->producer >= 0; i++) {
			struct piece *from = &r->pieces[r->piece_of[val->producer]];
			struct piece *to = &r->pieces[r->piece_of[val->consumers[i]]];

			to->waits += from != to;
			from->feeds_core |= from != to && to->node < 0;
		}
	}
}

static void add_ready(struct run *r, int piece)
{
	int at = r->n_ready++;

	for (; at && r->ready[at - 1] > piece; at--)
		r->ready[at] = r->ready[at - 1];
	r->ready[at] = piece;
}

static void end_node(struct run *r, int node)
{
	const struct cnn_graph *g = r->cc->compile.g;

	for (int k = 0; k < g->nodes[node].n_out; k++) {
		int v = g->nodes[node].out[k];

		for (int i = 0; v >= 0 && i < g->values[v].n_consumers; i++) {
			int to = r->piece_of[g->values[v].consumers[i]];

			if (to != r->piece_of[node] && !--r->pieces[to].waits)
				add_ready(r, to);
		}
	}
}

static const struct cnn_segment *segment_of(const struct run *r, const struct piece *u)
{
	return &r->cc->compile.out->segments[u->segment];
}

/* The CPU ends a piece, and does so now. */
static void end_piece(struct run *r, const struct piece *u)
{
	const struct cnn_segment *seg = segment_of(r, u);

	if (u->node >= 0) {
		end_node(r, u->node);
		return;
	}
	r->now = cnn_add_sat(r->now, cnn_copies_out_time(r->cc, seg));
	for (int i = 0; i < seg->n_nodes; i++)
		end_node(r, seg->nodes[i]);
}

/* Of the cores that are equal to one, that which is free first. */
static int free_core(const struct run *r, int core)
{
	const struct cnn_compiler *cc = r->cc;
	int best = core;

	for (int i = 0; i < cc->n_cores; i++)
		if (cc->cores[i] && r->idle[i] < r->idle[best] &&
		    cnn_cores_equal(cc->cores[i]->info, cc->cores[core]->info))
			best = i;
	return best;
}

static void submit(struct run *r, struct piece *u)
{
	const struct cnn_segment *seg = segment_of(r, u);
	int core = free_core(r, seg->core);

	for (int i = 0; i < seg->n_in; i++) {
		if (!r->written[seg->in[i]])
			r->now = cnn_add_sat(r->now, cnn_copy_in_time(r->cc, seg->in[i]));
		r->written[seg->in[i]] = true;
	}
	if (seg->n_tasks)
		r->now = cnn_add_sat(r->now, r->cc->target->submit_ns);
	u->end = cnn_max(r->idle[core], r->now);
	for (int i = 0; i < seg->n_nodes; i++)
		u->end = cnn_add_sat(u->end, r->cc->compile.out->nodes[seg->nodes[i]].cost_ns);
	r->idle[core] = u->end;
	r->running[r->n_running++] = (int)(u - r->pieces);
}

static struct piece *take_ready(struct run *r, int i)
{
	struct piece *u = &r->pieces[r->ready[i]];

	for (r->n_ready--; i < r->n_ready; i++)
		r->ready[i] = r->ready[i + 1];
	return u;
}

static void submit_ready(struct run *r)
{
	for (int i = 0; i < r->n_ready;) {
		if (r->pieces[r->ready[i]].node < 0)
			submit(r, take_ready(r, i));
		else
			i++;
	}
}

static void run_operator(struct run *r)
{
	struct piece *u;
	int best = 0;

	for (int i = r->n_ready - 1; i >= 0; i--)
		if (r->pieces[r->ready[i]].feeds_core)
			best = i;
	u = take_ready(r, best);
	r->now = cnn_add_sat(r->now, r->cc->compile.out->nodes[u->node].cost_ns);
	end_piece(r, u);
}

/* The CPU waits for the core that ends first. */
static void wait_for_core(struct run *r)
{
	struct piece *u;
	int first = 0;

	for (int i = 1; i < r->n_running; i++)
		if (r->pieces[r->running[i]].end < r->pieces[r->running[first]].end)
			first = i;
	u = &r->pieces[r->running[first]];
	r->running[first] = r->running[--r->n_running];
	r->now = cnn_max(r->now, u->end);
	end_piece(r, u);
}

static bool core_ended(const struct run *r)
{
	for (int i = 0; i < r->n_running; i++)
		if (r->pieces[r->running[i]].end <= r->now)
			return true;
	return false;
}

static void run_pieces(struct run *r)
{
	for (int i = 0; i < r->n_pieces; i++)
		if (!r->pieces[i].waits)
			add_ready(r, i);
	while (r->n_ready || r->n_running) {
		submit_ready(r);
		if (r->n_ready)
			run_operator(r);
		else
			wait_for_core(r);
		while (core_ended(r))
			wait_for_core(r);
	}
}

int cnn_parallel_time(const struct cnn_compiler *cc, int64_t *ns)
{
	size_t nodes = (size_t)cc->compile.g->n_nodes + 1;
	size_t values = (size_t)cc->compile.g->n_values + 1;
	struct run r = {
		.cc = cc, .pieces = calloc(nodes, sizeof(*r.pieces)),
		.piece_of = calloc(nodes, sizeof(int)), .ready = calloc(nodes, sizeof(int)),
		.running = calloc(nodes, sizeof(int)), .written = calloc(values, sizeof(bool)),
	};
	bool ok = r.pieces && r.piece_of && r.ready && r.running && r.written;

	if (ok) {
		make_pieces(&r);
		find_waits(&r);
		run_pieces(&r);
	}
	*ns = r.now;
	free(r.pieces);
	free(r.piece_of);
	free(r.ready);
	free(r.running);
	free(r.written);
	return ok ? CNN_OK : cnn_fail(cc->compile.err, CNN_ENOMEM, "no memory for times");
}
