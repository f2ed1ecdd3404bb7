// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Results of a layer must not overlap what the layer still needs. */
#include "enpu.h"

#define COMPARE_NS	1	/* estimated host time to compare two ranges */

/** struct maps - ranges of a layer's maps B and results, in the order of stages. */
struct maps {
	struct enpu_range *b, *result;
	uint32_t bs, results;
};

static bool overlap(const struct enpu_range *a, const struct enpu_range *b)
{
	return a->memory == b->memory && a->first < b->first + b->count &&
	       b->first < a->first + a->count;
}

static bool same_words(const struct enpu_range *a, const struct enpu_range *b)
{
	return a->first == b->first && a->step == b->step;
}

static bool refuse(struct enpu_error *error, uint32_t detail, const struct enpu_range *result,
		   const struct enpu_range *other)
{
	*error = (struct enpu_error){
		.status_class = CNNACC_STATUS_BAD_PROGRAM, .code = CNNACC_ENPU_E_OVERLAP,
		.detail = detail, .insn = error->insn,
		.value = (uint32_t)result->first, .limit = (uint32_t)other->first,
	};
	return false;
}

/* Compare one result; the first @passed maps B are read before it is stored, or with it. */
static bool check_result(const struct enpu_layer *layer, const struct enpu_range *result,
			 const struct maps *maps, uint32_t passed, struct enpu_error *error)
{
	bool reshaped = layer->stage[error->insn - layer->stage->index].op->kind == ENPU_RESHAPE;
	bool pointwise = layer->stage->op->kind == ENPU_POINTWISE;
	struct enpu_range a;

	enpu_range(layer->stage, CNNACC_ENPU_RANGE_A, &a);
	if (overlap(result, &a) && !(pointwise && !reshaped && same_words(result, &a)))
		return refuse(error, CNNACC_ENPU_OVERLAP_A, result, &a);
	for (uint32_t i = 0; i < maps->bs; i++)
		if (overlap(result, &maps->b[i]) &&
		    !(i < passed && !reshaped && same_words(result, &maps->b[i])))
			return refuse(error, CNNACC_ENPU_OVERLAP_B, result, &maps->b[i]);
	for (uint32_t i = 0; i < maps->results; i++)
		if (overlap(result, &maps->result[i]))
			return refuse(error, CNNACC_ENPU_OVERLAP_RESULT, result, &maps->result[i]);
	return true;
}

bool enpu_check_overlap(struct enpu *h, const struct enpu_layer *layer, struct enpu_error *error)
{
	struct maps maps = { .b = h->range, .result = h->range + layer->count };
	uint32_t passed = 0;

	for (uint32_t i = 0; i < layer->count; i++)
		maps.bs += enpu_range(&layer->stage[i], CNNACC_ENPU_RANGE_B, &maps.b[maps.bs]);
	for (uint32_t i = 0; i < layer->count; i++) {
		passed += (layer->stage[i].op->uses & ENPU_MAP_B) != 0;
		error->insn = layer->stage[i].index;
		for (uint32_t which = CNNACC_ENPU_RANGE_SKIP; which <= CNNACC_ENPU_RANGE_OUT;
		     which++) {
			struct enpu_range *result = &maps.result[maps.results];

			if (!enpu_range(&layer->stage[i], which, result))
				continue;
			if (!check_result(layer, result, &maps, passed, error))
				return false;
			maps.results++;
			h->check_ns += (uint64_t)(maps.bs + maps.results) * COMPARE_NS;
		}
	}
	return true;
}
