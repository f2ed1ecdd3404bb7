// SPDX-License-Identifier: MIT
/*
 * A layer that does not fit the DTCMs: slabs of its output, which come from memory and go back
 * there.  While one is computed in one half of the DTCMs, the next is loaded into the other half.
 * If the weights do not fit either, there is a round for each part of the output channels.
 */
#include <stdlib.h>

#include "enpu.h"

struct slabs {
	struct enpuc_emitter *e;
	const struct enpuc_node *n;
	int first, pieces;		/* of this round */
	struct enpuc_code weights;	/* of this round */
	int64_t va;			/* of the weights */
	bool loaded;
	struct enpuc_code code[ENPUC_BANKS];
	struct enpuc_binding bind[ENPUC_BANKS];
	int ret;
};

static struct enpuc_place work_at(int64_t word)
{
	return (struct enpuc_place){ .memory = CNNACC_ENPU_WORK, .word = word };
}

static struct enpuc_place skip_at(int64_t word)
{
	return (struct enpuc_place){ .memory = CNNACC_ENPU_SKIP, .word = word };
}

/* Where the maps of a slab are in a buffer. */
static void bind_slab(struct slabs *s, const struct enpuc_slab *slab, uint32_t buffer)
{
	const struct enpuc_layer *l = &s->n->layer;
	const struct enpuc_hw *hw = &s->e->core->hw;
	int64_t work = hw->words[CNNACC_ENPU_WORK] / s->n->plan.buffers * buffer;
	int64_t skip = hw->words[CNNACC_ENPU_SKIP] / s->n->plan.buffers * buffer, begin = skip;
	int64_t out = enpuc_out_words(l, slab);
	struct enpuc_binding *b = &s->bind[buffer];
	int last = l->stages - 1;

	*b = (struct enpuc_binding){ .in = work_at(work) };
	work += enpuc_in_words(l, slab);
	for (int i = 0; i <= last; i++) {
		if (l->stage[i].b >= 0) {
			bool own = enpuc_needs_second(l, i);

			b->b[i] = own ? skip_at(skip) : b->in;
			skip += own ? slab->h * slab->w *
					      enpuc_groups(enpuc_second_channels(l, i)) : 0;
		}
		if (l->stage[i].stored && i < last) {
			b->has_skip[i] = true;
			b->skip[i] = skip_at(skip);
			skip += out;
		}
	}
	b->has_out = skip > begin;
	b->has_skip[last] = skip == begin;
	b->out = work_at(work);
	b->skip[last] = skip_at(skip);
}

/* A rectangle of a map of @width pixels of @pixel bytes, to or from a DTCM. */
struct window {
	int value;
	int64_t image, width, pixel, y, x, h, w;
	const int64_t *step;		/* by axis, from one of its pixels to the next */
	struct enpuc_place at;
	bool store;
};

static void move_window(struct slabs *s, const struct window *w)
{
	struct seqc_copy c = {
		.memory = w->at.memory, .local = w->at.word * ENPUC_WORD, .store = w->store,
		.va = enpuc_address(s->e, w->value) + w->image +
		      (w->y * w->width + w->x) * w->pixel,
		.rows = w->h, .row_bytes = w->w * w->pixel,
		.va_pitch = w->step[ENPUC_ROWS] * w->width * w->pixel,
		.local_pitch = w->w * w->pixel,
	};
	int64_t down = c.va_pitch, count = 1;

	if (w->step[ENPUC_COLUMNS] > 1) {
		count = w->h;
		c.rows = w->w;
		c.row_bytes = c.local_pitch = w->pixel;
		c.va_pitch = w->step[ENPUC_COLUMNS] * w->pixel;
	} else if (w->w == w->width && w->step[ENPUC_ROWS] == 1) {
		c.row_bytes *= c.rows;
		c.rows = 1;
		c.va_pitch = c.local_pitch = 0;
	}
	enpuc_move(s->e, &c, count, down, w->w * w->pixel);
}

/* Output rows of a slab whose input row for a row of the kernel is inside the map. */
static struct enpuc_range inside(const struct enpuc_layer *l, const struct enpuc_slab *slab,
				 int64_t top)
{
	int64_t stride = l->gather.in[ENPUC_ROWS];
	int64_t from = top < 0 ? cnn_div_up(-top, stride) : 0;
	int64_t to = top < l->hi ? (l->hi - 1 - top) / stride + 1 : 0;

	from = cnn_min(from, slab->h);
	return (struct enpuc_range){ from, cnn_max(from, cnn_min(to, slab->h)) };
}

/* The padding value in the lanes of a copy, for rows of a slab. */
static void pad_rows(struct slabs *s, struct seqc_copy c, struct enpuc_range rows)
{
	c.local += rows.from * c.rows * c.local_pitch;
	c.rows *= rows.to - rows.from;
	if (c.rows)
		seqc_fill_rows(s->e->seq, &c, (uint8_t)s->n->layer.pad);
}

/* Row @r of the kernel becomes channels of each pixel of a slab. */
static void load_kernel_row(struct slabs *s, const struct enpuc_slab *slab, int64_t r,
			    const struct enpuc_place *at)
{
	const struct enpuc_layer *l = &s->n->layer;
	const struct enpuc_gather *g = &l->gather;
	int64_t channels = l->ci / g->kernel_rows, pixel = enpuc_groups(channels) * ENPUC_WORD;
	int64_t stride = g->in[ENPUC_ROWS], top = slab->y * stride + r * g->dilation - l->ph;
	struct enpuc_range rows = inside(l, slab, top);
	struct seqc_copy c = {
		.memory = at->memory, .local = at->word * ENPUC_WORD + r * channels,
		.rows = slab->in_w, .row_bytes = channels,
		.va_pitch = g->in[ENPUC_COLUMNS] * pixel,
		.local_pitch = enpuc_groups(l->ci) * ENPUC_WORD,
	};

	pad_rows(s, c, (struct enpuc_range){ 0, rows.from });
	pad_rows(s, c, (struct enpuc_range){ rows.to, slab->h });
	if (rows.from == rows.to)
		return;
	c.va = enpuc_address(s->e, l->in) + (slab->n * l->hi * l->wi + slab->in_x +
					     (top + rows.from * stride) * l->wi) * pixel;
	c.local += rows.from * c.rows * c.local_pitch;
	enpuc_move(s->e, &c, rows.to - rows.from, stride * l->wi * pixel, c.rows * c.local_pitch);
}

/* The part of a second map that a slab needs, which may be smaller than the slab. */
static void load_second(struct slabs *s, const struct enpuc_slab *slab, int i, uint32_t buffer)
{
	const struct enpuc_layer *l = &s->n->layer;
	const struct enpuc_stage *st = &l->stage[i];
	int64_t pixel = enpuc_groups(enpuc_second_channels(l, i)) * ENPUC_WORD, count = 1;
	bool rows = st->repeat == ENPUC_REPEAT_ROW || st->repeat == ENPUC_REPEAT_PIXEL;
	bool columns = st->repeat == ENPUC_REPEAT_COLUMN || st->repeat == ENPUC_REPEAT_PIXEL;
	int64_t width = columns ? 1 : l->wo, image = width * (rows ? 1 : l->ho) * pixel;
	const int64_t *step = l->gather.out;
	int64_t down = rows ? 0 : step[ENPUC_ROWS] * width * pixel;
	struct seqc_copy c = {
		.memory = s->bind[buffer].b[i].memory,
		.local = s->bind[buffer].b[i].word * ENPUC_WORD,
		.va = enpuc_address(s->e, st->b) + slab->n * image +
		      ((rows ? 0 : slab->y) * width + (columns ? 0 : slab->x)) * pixel,
	};

	if (columns || step[ENPUC_COLUMNS] > 1) {
		c.rows = slab->w;
		c.row_bytes = c.local_pitch = pixel;
		c.va_pitch = columns ? 0 : step[ENPUC_COLUMNS] * pixel;
		count = slab->h;
	} else {
		c.rows = slab->h;
		c.row_bytes = c.local_pitch = slab->w * pixel;
		c.va_pitch = down;
	}
	enpuc_move(s->e, &c, count, down, slab->w * pixel);
}

void enpuc_load_slice(struct enpuc_emitter *e, const struct enpuc_layer *l,
		      const struct enpuc_slab *slab, const struct enpuc_place *at)
{
	int64_t pixel = enpuc_groups(l->co) * ENPUC_WORD, count = slab->h;
	struct cnn_pixels in;
	struct seqc_copy c = {
		.memory = at->memory, .local = at->word * ENPUC_WORD, .rows = slab->w,
		.row_bytes = l->co, .local_pitch = pixel,
	};

	cnn_layout_pixels(&l->in_layout, &in);
	c.va = enpuc_address(e, l->in) + (slab->n + l->from[CNN_DIM_BATCH]) * in.image_pitch +
	       (slab->y + l->from[CNN_DIM_ROWS]) * in.row_pitch +
	       (slab->x + l->from[CNN_DIM_COLUMNS]) * in.column_pitch + l->from[CNN_DIM_CHANNELS];
	c.va_pitch = in.column_pitch;
	if (l->co == in.c) {
		c.rows = slab->h;
		c.row_bytes = c.local_pitch = slab->w * pixel;
		c.va_pitch = in.row_pitch;
		count = 1;
	} else if (slab->w == in.columns) {
		c.rows *= slab->h;
		count = 1;
	}
	enpuc_move(e, &c, count, in.row_pitch, slab->w * pixel);
}

static void load_input(struct slabs *s, const struct enpuc_slab *slab, uint32_t buffer)
{
	const struct enpuc_layer *l = &s->n->layer;
	int64_t pixel = enpuc_groups(l->ci) * ENPUC_WORD;

	if (l->slice)
		enpuc_load_slice(s->e, l, slab, &s->bind[buffer].in);
	else if (l->gather.kernel_rows > 1)
		for (int64_t r = 0; r < l->gather.kernel_rows; r++)
			load_kernel_row(s, slab, r, &s->bind[buffer].in);
	else
		move_window(s, &(struct window){
			l->in, slab->n * l->hi * l->wi * pixel, l->wi, pixel, slab->in_y,
			slab->in_x, slab->in_h, slab->in_w, l->gather.in, s->bind[buffer].in,
			false });
}

static int64_t entry_of(const struct slabs *s, uint32_t buffer)
{
	return s->e->core->hw.insns / ENPUC_BANKS * buffer;
}

static void make_code(struct slabs *s, const struct enpuc_slab *slab, uint32_t buffer)
{
	struct enpuc_code *c = &s->code[buffer];
	int64_t at = 0;

	enpuc_code_free(c);
	for (int i = s->first; i < s->first + s->pieces; i++) {
		const struct enpuc_part part = {
			.layer = &s->n->layer, .piece = &s->n->plan.piece[i], .slab = *slab,
			.bind = &s->bind[buffer], .weights = at,
		};

		enpuc_code_add(c, &s->e->core->hw, &part);
		at += part.piece->words;
	}
	enpuc_code_stop(c);
	if (!s->ret)
		s->ret = enpuc_load_code(s->e, c, entry_of(s, buffer));
}

static void begin(struct seqc *seq, void *opaque)
{
	struct slabs *s = opaque;

	(void)seq;
	enpuc_begin(s->e);
	s->loaded = false;
}

static void load_weights(struct slabs *s)
{
	const struct seqc_copy c = {
		.memory = CNNACC_ENPU_WEIGHT, .va = s->va, .rows = 1,
		.row_bytes = s->weights.words * ENPUC_WORD, .weights = true,
	};

	if (!s->loaded && s->weights.words)
		seqc_copy(s->e->seq, &c);
	s->loaded = true;
}

static void load(struct seqc *seq, int64_t tile, uint32_t buffer, void *opaque)
{
	struct slabs *s = opaque;
	const struct enpuc_layer *l = &s->n->layer;
	struct enpuc_slab slab = enpuc_slab_of(&s->n->layer, &s->n->plan, tile);

	(void)seq;
	bind_slab(s, &slab, buffer);
	load_weights(s);
	make_code(s, &slab, buffer);
	load_input(s, &slab, buffer);
	for (int i = 0; i < l->stages; i++)
		if (enpuc_needs_second(l, i))
			load_second(s, &slab, i, buffer);
}

static void run(struct seqc *seq, int64_t tile, uint32_t buffer, void *opaque)
{
	struct slabs *s = opaque;
	const struct enpuc_cost *c = &s->code[buffer].cost;

	(void)tile;
	enpuc_exec(s->e, entry_of(s, buffer));
	s->e->running = false;	/* seqc_tiles() waits for it */
	seqc_start(seq, c->cycles);
	seq->cost.mac_slots += c->slots;
	seq->cost.mac_useful += c->useful;
}

static void store_result(struct slabs *s, const struct enpuc_slab *slab, int i,
			 struct enpuc_place at)
{
	const struct enpuc_layer *l = &s->n->layer;
	int64_t pixel = enpuc_groups(l->co) * ENPUC_WORD;
	int64_t from = s->n->plan.piece[s->first].co0;
	const int64_t *step = l->gather.out;
	const struct enpuc_piece *end = &s->n->plan.piece[s->first + s->pieces - 1];
	int64_t bytes = (enpuc_groups(end->co0 + end->co) * ENPUC_WORD) - from;
	struct window w = {
		l->stage[i].result, slab->n * l->ho * l->wo * pixel, l->wo, pixel, slab->y, slab->x,
		slab->h, slab->w, step, at, true,
	};
	struct seqc_copy c = {
		.memory = at.memory, .local = at.word * ENPUC_WORD + from, .store = true,
		.va = enpuc_address(s->e, w.value) + w.image +
		      (w.y * w.width + w.x) * pixel + from,
		.rows = slab->w, .row_bytes = bytes, .va_pitch = step[ENPUC_COLUMNS] * pixel,
		.local_pitch = pixel,
	};

	if (bytes == pixel)
		move_window(s, &w);
	else
		enpuc_move(s->e, &c, slab->h, step[ENPUC_ROWS] * l->wo * pixel, slab->w * pixel);
}

static void store(struct seqc *seq, int64_t tile, uint32_t buffer, void *opaque)
{
	struct slabs *s = opaque;
	const struct enpuc_layer *l = &s->n->layer;
	struct enpuc_slab slab = enpuc_slab_of(&s->n->layer, &s->n->plan, tile);
	const struct enpuc_binding *b = &s->bind[buffer];

	(void)seq;
	for (int i = 0; i < l->stages; i++)
		if (l->stage[i].stored || i == l->stages - 1)
			store_result(s, &slab, i, b->has_skip[i] ? b->skip[i] : b->out);
}

/* Most cycles of a slab in a round. */
static uint64_t most_cycles(struct slabs *s)
{
	const struct enpuc_layer *l = &s->n->layer;
	struct enpuc_slab slab = enpuc_slab_of(&s->n->layer, &s->n->plan, 0);
	struct enpuc_code c = { .insns = 0 };
	uint64_t cycles;
	int64_t maps;

	bind_slab(s, &slab, 0);
	for (int i = s->first; i < s->first + s->pieces; i++)
		enpuc_code_add(&c, &s->e->core->hw, &(struct enpuc_part){
			.layer = l, .piece = &s->n->plan.piece[i], .slab = slab,
			.bind = &s->bind[0] });
	slab = enpuc_largest_slab(l, slab.h, slab.w);
	maps = enpuc_in_words(l, &slab) + (int64_t)l->stages * 2 * enpuc_out_words(l, &slab);
	cycles = c.cost.cycles + (uint64_t)(2 * maps + s->weights.words) + 2048 +
		 enpuc_gather_cycles(l, &slab);
	enpuc_code_free(&c);
	return cycles;
}

static int run_round(struct slabs *s)
{
	const struct enpuc_layer *l = &s->n->layer;
	const struct enpuc_plan *p = &s->n->plan;
	const struct seqc_stages stages = {
		.begin = begin, .load = load, .run = run, .store = store,
		.idle = CNNACC_ENPU_WAIT_IDLE, .commands = enpuc_slab_commands(l),
		.cycles = most_cycles(s),
	};

	s->loaded = false;
	s->va = s->weights.failed ? CNN_ENOMEM :
		s->weights.words ? enpuc_keep(s->e, s->weights.weights,
					      s->weights.words * ENPUC_WORD) : 0;
	if (s->va < 0)
		return cnn_fail(s->e->core->base.compile->err, CNN_ENOMEM, "no memory for weights");
	return seqc_tiles(s->e->seq, &stages, enpuc_count_slabs(l, p), (uint32_t)p->buffers, s);
}

/* Pieces of a round: those whose weights and instructions fit. */
static void fill_round(struct slabs *s)
{
	const struct enpuc_hw *hw = &s->e->core->hw;
	int64_t words = 0, insns = 1;

	enpuc_code_free(&s->weights);
	s->pieces = 0;
	for (int i = s->first; i < s->n->plan.pieces; i++) {
		const struct enpuc_piece *p = &s->n->plan.piece[i];

		insns += s->n->layer.concat ? 1 : s->n->layer.stages;
		if (s->pieces && (words + p->words > hw->words[CNNACC_ENPU_WEIGHT] ||
				  insns > hw->insns / ENPUC_BANKS))
			return;
		enpuc_code_pack(&s->weights, &(struct enpuc_part){
			.layer = &s->n->layer, .piece = p, .weights = words });
		words += p->words;
		s->pieces++;
	}
}

int enpuc_emit_slabs(struct enpuc_emitter *e, int node)
{
	struct slabs s = { .e = e, .n = &e->core->nodes[node] };
	int ret = CNN_OK;

	e->seq->node = node;
	for (; s.first < s.n->plan.pieces && !ret; s.first += s.pieces) {
		fill_round(&s);
		ret = run_round(&s);
		ret = ret ? ret : s.ret;
	}
	if (!ret && e->seq->count)
		ret = seqc_end(e->seq);
	enpuc_code_free(&s.weights);
	enpuc_code_free(&s.code[0]);
	enpuc_code_free(&s.code[1]);
	return ret;
}
