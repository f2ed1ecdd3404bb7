// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * A plane without step mode: whole rows instead of clocks.
 *
 * A block is IMC_COLUMNS results of a row, of up to IMC_KERNELS output channels, with the input
 * channels of one pass.  A cell gets its row results in the order of the page: blocks of a pass
 * come after those of the pass before, and a block adds its kernel rows in ascending order.
 */
#include "imc.h"
#include "workers.h"

#define BLOCK_NS	200	/* estimated host time of a block, without its products */
#define PACK_PS		500	/* and to pack a weight */

/** struct batch - consecutive blocks that use the same weights. */
struct batch {
	const struct imc *h;
	const struct imc_plane *plane;
	uint32_t pass, channels, words;
	uint32_t kernel, kernels, lanes;	/* output channels; lanes: of the packed weights */
	uint64_t first, count;			/* of the blocks with these weights */
	unsigned int parts;
};

/** struct place - results of a block. */
struct place {
	uint32_t row, column, columns;
};

static uint32_t blocks_of_row(const struct imc_plane *p)
{
	return imc_ceil(p->wo, IMC_COLUMNS);
}

/* Blocks with the same weights. */
static uint64_t blocks_of_batch(const struct imc_plane *p)
{
	return (uint64_t)p->ho * blocks_of_row(p);
}

uint64_t imc_blocks(const struct imc_plane *p)
{
	return imc_ceil(p->cout, IMC_KERNELS) * p->passes * blocks_of_batch(p);
}

static bool is_float(const struct imc_plane *p)
{
	return p->format == CNNACC_IMC_FP32;
}

/* Are integers packed as bytes? */
static bool has_bytes(const struct imc *h, const struct imc_plane *p)
{
	return h->bytes && !is_float(p);
}

static struct batch batch_of(const struct imc *h, const struct imc_plane *p)
{
	uint64_t index = h->s->blocks / blocks_of_batch(p);
	struct batch b = {
		.h = h, .plane = p, .pass = (uint32_t)(index % p->passes),
		.kernel = (uint32_t)(index / p->passes) * IMC_KERNELS,
		.first = h->s->blocks % blocks_of_batch(p), .parts = 1,
	};

	b.channels = imc_channels(p, b.pass);
	b.words = is_float(p) ? b.channels : imc_ceil(b.channels, has_bytes(h, p) ? 4 : 2);
	b.kernels = imc_least(IMC_KERNELS, p->cout - b.kernel);
	b.lanes = imc_ceil(b.kernels, IMC_LANES) * IMC_LANES;
	return b;
}

static struct place place_of(const struct imc_plane *p, uint64_t block)
{
	uint32_t column = (uint32_t)(block % blocks_of_row(p)) * IMC_COLUMNS;

	return (struct place){
		.row = (uint32_t)(block / blocks_of_row(p)), .column = column,
		.columns = imc_least(IMC_COLUMNS, p->wo - column),
	};
}

/* ---- operands ---- */

static uint32_t float_word(const uint8_t *from, uint32_t word)
{
	uint32_t bits;

	memcpy(&bits, from + 4 * (size_t)word, sizeof(bits));
	return bits;
}

static uint32_t pair(int32_t low, int32_t high)
{
	return (low & 0xffff) | (uint32_t)high << 16;
}

static uint32_t signed_word(const uint8_t *from, uint32_t word, uint32_t channels)
{
	const int8_t *bytes = (const int8_t *)from + 2 * (size_t)word;

	return pair(bytes[0], 2 * word + 1 < channels ? bytes[1] : 0);
}

static uint32_t unsigned_word(const uint8_t *from, uint32_t word, uint32_t channels)
{
	from += 2 * (size_t)word;
	return pair(from[0], 2 * word + 1 < channels ? from[1] : 0);
}

/* The weights of an output channel in a pass, at @from, become lane @to of all taps. */
static void pack_kernel(const struct batch *b, const uint8_t *from, uint32_t *to)
{
	const struct imc_plane *p = b->plane;

	for (uint32_t tap = 0; tap < p->n * p->n; tap++, from += (size_t)p->cin * p->esz)
		for (uint32_t word = 0; word < b->words; word++, to += b->lanes)
			*to = is_float(p) ? float_word(from, word) :
			      signed_word(from, word, b->channels);
}

static void pack_bytes(struct imc *h, const struct batch *b, const uint8_t *from)
{
	const struct imc_plane *p = b->plane;
	const struct imc_pack pack = {
		.from = from, .kernel = (size_t)p->n * p->n * p->cin, .tap = p->cin, .n = p->n,
		.channels = b->channels, .words = b->words, .kernels = b->kernels,
		.lanes = b->lanes, .is_signed = p->format == CNNACC_IMC_INT8,
		.to = h->weights, .start = h->start,
	};

	h->bytes->pack(&pack);
}

static void pack_words(struct imc *h, const struct batch *b, const uint8_t *from)
{
	const struct imc_plane *p = b->plane;
	size_t size = (size_t)p->n * p->n * p->cin * p->esz;

	if (b->kernels < b->lanes)
		memset(h->weights, 0, (size_t)p->n * p->n * b->words * b->lanes * 4);
	for (uint32_t lane = 0; lane < b->kernels; lane++)
		pack_kernel(b, from + lane * size, h->weights + lane);
}

static void pack_weights(struct imc *h, const struct batch *b)
{
	const struct imc_plane *p = b->plane;
	size_t size = (size_t)p->n * p->n * p->cin * p->esz;
	const uint8_t *from = p->weight + b->kernel * size + (size_t)b->pass * p->cin_max * p->esz;

	if (has_bytes(h, p))
		pack_bytes(h, b, from);
	else
		pack_words(h, b, from);
	h->packed = true;
}

static void unpack_element(const struct batch *b, const uint8_t *from, uint32_t *to)
{
	switch (b->plane->format) {
	case CNNACC_IMC_FP32:
		memcpy(to, from, (size_t)b->words * 4);
		break;
	case CNNACC_IMC_INT8:
		for (uint32_t word = 0; word < b->words; word++)
			to[word] = signed_word(from, word, b->channels);
		break;
	default:
		for (uint32_t word = 0; word < b->words; word++)
			to[word] = unsigned_word(from, word, b->channels);
	}
}

/* The elements of input row @row that @at needs, then zeros for the rest of @columns. */
static void unpack_row(const struct batch *b, const struct place *at, uint32_t row,
		       uint32_t columns, uint32_t *to)
{
	const struct imc_plane *p = b->plane;
	uint32_t elements = at->columns + p->n - 1;
	const uint8_t *from = p->in + row * p->in_row + at->column * p->in_column +
			      (size_t)b->pass * p->cin_max * p->esz;

	if (has_bytes(b->h, p)) {
		const struct imc_unpack unpack = {
			.from = from, .column = p->in_column, .elements = elements,
			.channels = b->channels, .words = b->words,
			.is_signed = p->format == CNNACC_IMC_INT8, .to = to,
		};

		b->h->bytes->unpack(&unpack);
		to += (size_t)elements * b->words;
	} else {
		for (uint32_t i = 0; i < elements; i++, from += p->in_column, to += b->words)
			unpack_element(b, from, to);
	}
	memset(to, 0, (size_t)(columns - at->columns) * b->words * 4);
}

/* ---- cells ---- */

static uint8_t *cells_at(const struct batch *b, const struct place *at)
{
	const struct imc_plane *p = b->plane;

	return p->result + at->row * p->result_row + at->column * p->result_column +
	       4 * (size_t)b->kernel;
}

static void load_cells(const struct batch *b, const struct place *at, uint32_t *cells)
{
	const uint8_t *from = cells_at(b, at);

	for (uint32_t i = 0; i < at->columns; i++, from += b->plane->result_column)
		memcpy(cells + (size_t)i * b->lanes, from, (size_t)b->kernels * 4);
}

static void store_cells(const struct batch *b, const struct place *at, const uint32_t *cells)
{
	uint8_t *to = cells_at(b, at);

	for (uint32_t i = 0; i < at->columns; i++, to += b->plane->result_column)
		memcpy(to, cells + (size_t)i * b->lanes, (size_t)b->kernels * 4);
}

/* ---- blocks ---- */

static void compute_tile(const struct batch *b, const struct imc_tile *tile)
{
	if (is_float(b->plane))
		b->h->simd->floats(tile);
	else if (b->h->bytes)
		b->h->bytes->rows(tile);
	else
		b->h->simd->integers(tile);
}

static void compute_block(const struct batch *b, struct place at)
{
	uint32_t elements[IMC_ELEMENTS * CNNACC_IMC_CIN_MAX_MAX];
	uint32_t cells[IMC_COLUMNS * IMC_KERNELS] = { 0 };
	const struct imc_plane *p = b->plane;
	bool add = b->pass || p->accumulate;
	struct imc_tile tile = {
		.elements = elements, .weights = b->h->weights, .start = b->h->start, .n = p->n,
		.words = b->words,
		.columns = imc_ceil(at.columns, IMC_STEP) * IMC_STEP, .lanes = b->lanes,
		.cells = cells,
	};

	if (add)
		load_cells(b, &at, cells);
	for (uint32_t r = 0; r < p->n; r++) {
		unpack_row(b, &at, at.row + r, tile.columns, elements);
		tile.add = r || add;
		compute_tile(b, &tile);
		tile.weights += (size_t)p->n * b->words * b->lanes;
		tile.start += b->lanes;
	}
	store_cells(b, &at, cells);
}

static void compute_part(void *opaque, unsigned int part, unsigned int thread)
{
	const struct batch *b = opaque;
	uint64_t first = b->first + b->count * part / b->parts;
	uint64_t end = b->first + b->count * (part + 1) / b->parts;

	(void)thread;
	for (uint64_t block = first; block < end; block++)
		compute_block(b, place_of(b->plane, block));
}

static uint64_t products(const struct batch *b)
{
	return (uint64_t)b->plane->n * b->plane->n * b->channels * b->lanes;
}

static int64_t pack_ns(const struct batch *b)
{
	uint32_t ps = has_bytes(b->h, b->plane) ? b->h->bytes->pack_ps : PACK_PS;

	return (int64_t)(products(b) * ps / 1000);
}

static uint32_t product_ps(const struct batch *b)
{
	if (has_bytes(b->h, b->plane))
		return b->h->bytes->ps;
	return is_float(b->plane) ? b->h->simd->float_ps : b->h->simd->integer_ps;
}

static int64_t block_ns(const struct batch *b)
{
	uint64_t all = products(b) * imc_least(IMC_COLUMNS, b->plane->wo);

	return BLOCK_NS + (int64_t)(all * product_ps(b) / 1000);
}

/* Compute as many blocks with the same weights as the budget allows. */
static void run_batch(struct imc *h, struct batch *b, int64_t *budget)
{
	int64_t ns = block_ns(b), most = *budget / ns + 1, parts;
	uint64_t left = blocks_of_batch(b->plane) - b->first;

	b->count = left < (uint64_t)most ? left : (uint64_t)most;
	parts = (int64_t)b->count * ns / CM_MIN_PART_NS;
	if (parts > (int64_t)b->count)
		parts = (int64_t)b->count;
	if (parts > h->resources.threads)
		parts = h->resources.threads;
	b->parts = parts > 1 ? (unsigned int)parts : 1;
	cm_workers_run(h->resources.workers, compute_part, b, b->parts);
	*budget -= (int64_t)b->count * ns / b->parts;
	h->s->blocks += b->count;
	if (b->count == left)
		h->packed = false;
}

bool imc_compute(struct imc *h, int64_t *budget)
{
	struct imc_state *s = h->s;
	struct imc_plane p;

	imc_plane(h, &p);
	while (s->blocks < imc_blocks(&p)) {
		struct batch b = batch_of(h, &p);

		if (*budget <= 0)
			return false;
		if (!h->packed) {
			pack_weights(h, &b);
			*budget -= pack_ns(&b);
		}
		if (*budget > 0)
			run_batch(h, &b, budget);
	}
	s->blocks = 0;
	s->computing = 0;
	return true;
}
