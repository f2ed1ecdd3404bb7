/* SPDX-License-Identifier: MIT */
/* cnnrun --compare: finds the first layer and element that the device computes wrongly. */
#include "cnnrun.h"

#include <inttypes.h>
#include <string.h>

struct finding {
	unsigned int values, bad;	/* compared, and beyond the bound */
	uint64_t elements, saturated;
	double worst;			/* largest error, and where */
	char worst_name[61];
	char first[512];		/* describes the first bad element */
};

/* "[0,3,17,20]": element i of a tensor, row-major. */
static void print_index(const struct cnnrt_tensor_info *info, uint64_t i, char *buf, size_t len)
{
	uint64_t at[CNNRT_MAX_RANK];
	size_t used;

	for (int d = info->rank - 1; d >= 0; d--) {
		at[d] = i % (uint64_t)info->dims[d];
		i /= (uint64_t)info->dims[d];
	}
	used = (size_t)snprintf(buf, len, "[");
	for (int d = 0; d < info->rank && used < len; d++)
		used += (size_t)snprintf(buf + used, len - used, "%s%" PRIu64, d ? "," : "", at[d]);
	if (used < len)
		snprintf(buf + used, len - used, "]");
}

static void describe(const struct cnnrt_layer *l, char *buf, size_t len)
{
	char type[64], name[61], value[61], index[128], saturated[80] = "";

	if (l->saturated)
		snprintf(saturated, sizeof(saturated), ", %" PRIu64 " of them saturated: beyond "
			 "float16's range", l->saturated);

	print_index(l->value, l->first, index, sizeof(index));
	clean(l->name, name, sizeof(name));
	clean(l->value->name, value, sizeof(value));
	snprintf(buf, len, "operator %u, %s %s on %s: element %" PRIu64 " %s of %s is %.9g, %.9g by "
		 "the CPU; %" PRIu64 " of %" PRIu64 " elements %s%s", l->index,
		 clean(l->op, type, sizeof(type)), name, l->place, l->first, index, value, l->got,
		 l->want, l->unwritten ? l->unwritten : l->beyond, l->count,
		 l->unwritten ? "were never written" : "are beyond the bound", saturated);
}

static void take_layer(const struct cnnrt_layer *l, void *opaque)
{
	struct finding *f = opaque;
	char type[64], name[61];

	clean(l->name, name, sizeof(name));
	printf("%4u %-16s %-28s %-4s %10" PRIu64 " elements, largest error %.3g of %.3g%s\n",
	       l->index, clean(l->op, type, sizeof(type)), name, l->place, l->count, l->error,
	       l->bound,
	       l->unwritten ? " NEVER WRITTEN" : l->saturated ? " SATURATED" :
						  l->beyond ? " BEYOND" : "");
	f->values++;
	f->elements += l->count;
	f->saturated += l->saturated;
	if (l->error > f->worst) {
		f->worst = l->error;
		memcpy(f->worst_name, name, sizeof(name));
	}
	if (l->beyond && !f->bad++)
		describe(l, f->first, sizeof(f->first));
}

int compare_layers(struct cnnrt_job *job, const struct run_options *o)
{
	struct cnnrt_compare_options opt = {
		.struct_size = sizeof(opt), .atol = o->atol, .rtol = o->rtol,
	};
	struct finding f = { 0 };
	struct cnnrt_error err;

	if (cnnrt_compare(job, &opt, take_layer, &f, &err) < 0)
		return complain_error(&err);
	if (!f.bad) {
		printf("compared: %u layers, %" PRIu64 " elements, none beyond the bound; largest "
		       "error %.3g%s%s\n", f.values, f.elements, f.worst, f.worst > 0 ? " in " : "",
		       f.worst_name);
		return EXIT_DONE;
	}
	printf("compared: %u layers, %u beyond the bound, %" PRIu64 " elements saturated\n"
	       "first divergence: %s\n", f.values, f.bad, f.saturated, f.first);
	return EXIT_FAILED;
}

static bool get_output(struct cnnrt_job *job, unsigned int i, struct cnnrt_tensor_info *info,
		       struct cnn_tensor *t, struct cnnrt_error *err)
{
	void *data;

	if (cnnrt_job_map(job, CNNRT_OUTPUT, i, info, &data, err))
		return false;
	*t = tensor_of(info, data);
	return true;
}

int compare_outputs(struct cnnrt_job *observed, struct cnnrt_job *plain, unsigned int count,
		    const struct run_options *o)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_error err;
	char text[256], name[256];

	for (unsigned int i = 0; i < count; i++) {
		struct cnn_tensor a, b;

		if (!get_output(observed, i, &info, &a, &err) ||
		    !get_output(plain, i, &info, &b, &err))
			return complain_error(&err);
		if (!tensor_differs(&b, &a, o->rtol, o->atol, text, sizeof(text)))
			continue;
		printf("compiled without --compare: output %s: %s as each layer alone gives it\n",
		       clean(info.name, name, sizeof(name)), text);
		return EXIT_FAILED;
	}
	printf("compiled without --compare: the outputs agree\n");
	return EXIT_DONE;
}
