/* SPDX-License-Identifier: MIT */
/* The inputs of a network: their shapes, what is read for them, and how many images that is. */
#include "cnnrun_network.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

unsigned int io_count(const struct network *n, enum cnnrt_direction dir)
{
	return n->model ? cnnrt_model_io_count(n->model, dir) :
			  cnnrt_program_io_count(n->program, dir);
}

int get_io(const struct network *n, enum cnnrt_direction dir, unsigned int index,
	   struct cnnrt_tensor_info *info, struct cnnrt_error *err)
{
	return n->model ? cnnrt_model_io(n->model, dir, index, info, err) :
			  cnnrt_program_io(n->program, dir, index, info, err);
}

int find_io(const struct network *n, enum cnnrt_direction dir, const char *name)
{
	unsigned int count = io_count(n, dir);
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	uint64_t index;

	for (unsigned int i = 0; i < count; i++)
		if (!get_io(n, dir, i, &info, NULL) && !strcmp(info.name, name))
			return (int)i;
	if (parse_u64(name, &index) && index < count)
		return (int)index;
	complain(0, "the network has no %s \"%s\"; it has:", dir ? "output" : "input", name);
	for (unsigned int i = 0; i < count; i++)
		if (!get_io(n, dir, i, &info, NULL))
			complain(0, "  %u: %s", i, info.name);
	return -1;
}

int set_shapes(struct network *n)
{
	const struct run_options *o = n->s->opt;
	struct cnnrt_error err;

	for (unsigned int i = 0; i < o->shape.count; i++) {
		int index = find_io(n, CNNRT_INPUT, o->shape.at[i].name), rank = 0;
		const char *p = o->shape.at[i].file;
		int64_t dims[CNNRT_MAX_RANK];

		if (index < 0)
			return EXIT_USAGE;
		for (; *p && rank < CNNRT_MAX_RANK; p += *p == ',') {
			char *end;

			dims[rank++] = strtoll(p, &end, 10);
			if (end == p || (*end && *end != ',') || !strcmp(end, ","))
				return complain(EXIT_USAGE, "--shape %s: \"%s\" is no list of "
						"numbers", o->shape.at[i].name, o->shape.at[i].file);
			p = end;
		}
		if (*p)
			return complain(EXIT_USAGE, "--shape %s: more than %d dimensions",
					o->shape.at[i].name, CNNRT_MAX_RANK);
		if (cnnrt_model_set_input_shape(n->model, (unsigned int)index, rank, dims, &err))
			return complain_error(&err);
	}
	return EXIT_DONE;
}

/* Gives an input the shape of its file, of which an image has a first dimension of 1. */
static int set_shape_of(struct network *n, unsigned int index, const struct cnn_tensor *t)
{
	struct cnnrt_error err;
	int64_t dims[CNNRT_MAX_RANK];

	memcpy(dims, t->dims, sizeof(dims));
	if (n->s->opt->batch && t->rank)
		dims[0] = 1;
	return checked(cnnrt_model_set_input_shape(n->model, index, t->rank, dims, &err), &err);
}

int check_image(const struct cnnrt_tensor_info *info, const char *what)
{
	if (!info->rank)
		return complain(EXIT_FAILED, "--batch: %s %s has no dimension 0 to count images",
				what, info->name);
	if (info->rank > 0 && info->dims[0] >= 0 && info->dims[0] != 1)
		return complain(EXIT_FAILED, "--batch: %s %s: dimension 0 is %" PRId64 ", it must be "
				"1%s", what, info->name, info->dims[0], *what == 'i' ? " or free" : "");
	return EXIT_DONE;
}

static int check_inputs(const struct network *n)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	unsigned int count = io_count(n, CNNRT_INPUT);
	struct cnnrt_error err;
	int ret = EXIT_DONE;

	for (unsigned int i = 0; i < count && !ret; i++)
		ret = checked(get_io(n, CNNRT_INPUT, i, &info, &err), &err) ?:
		      check_image(&info, "input");
	return ret;
}

static int count_images(struct network *n)
{
	const struct named_files *files = &n->s->opt->input;

	if (!files->count)
		return complain(EXIT_USAGE, "--batch: no --input is given, whose dimension 0 counts "
				"the images");
	for (unsigned int i = 0; i < files->count; i++) {
		const struct cnn_tensor *t = &n->input[i], *first = &n->input[0];

		if (t->rank < 1 || cnn_tensor_bytes(t) < 1)
			return complain(EXIT_FAILED, "--batch: input %s: %s holds no images",
					files->at[i].name, files->at[i].file);
		if (t->dims[0] != first->dims[0])
			return complain(EXIT_FAILED, "--batch: input %s: dimension 0 is %" PRId64
					", that of input %s is %" PRId64, files->at[i].name,
					t->dims[0], files->at[0].name, first->dims[0]);
	}
	n->images = (uint64_t)n->input[0].dims[0];
	return EXIT_DONE;
}

int read_inputs(struct network *n)
{
	const struct run_options *o = n->s->opt;
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_error err;
	int ret = o->batch ? check_inputs(n) : EXIT_DONE;

	for (unsigned int i = 0; i < o->input.count && !ret; i++) {
		struct cnn_tensor *t = &n->input[i];
		int index = find_io(n, CNNRT_INPUT, o->input.at[i].name);

		if (index < 0)
			return EXIT_USAGE;
		n->input_index[i] = index;
		if (get_io(n, CNNRT_INPUT, (unsigned int)index, &info, &err))
			return complain_error(&err);
		ret = tensor_read(o->input.at[i].file, &info, &o->picture, t);
		if (!ret && n->model)
			ret = set_shape_of(n, (unsigned int)index, t);
	}
	return !ret && o->batch ? count_images(n) : ret;
}

static int complain_shape(const struct cnnrt_tensor_info *info, const struct cnn_tensor *have)
{
	struct cnn_tensor want = tensor_of(info, NULL);
	char a[128], b[128];

	return complain(EXIT_FAILED, "input %s: %s wanted, the file has %s", info->name,
			cnn_tensor_describe(&want, a, sizeof(a)),
			cnn_tensor_describe(have, b, sizeof(b)));
}

int fill_inputs(const struct network *n, struct cnnrt_job *job, uint64_t image)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_error err;
	void *mem;

	for (unsigned int i = 0; i < n->s->opt->input.count; i++) {
		unsigned int index = (unsigned int)n->input_index[i];
		const struct cnn_tensor *t = &n->input[i];

		if (cnnrt_job_map(job, CNNRT_INPUT, index, &info, &mem, &err))
			return complain_error(&err);
		if (info.type != (enum cnnrt_type)t->dtype ||
		    info.size != (size_t)cnn_tensor_bytes(t) / n->images)
			return complain_shape(&info, t);
		memcpy(mem, (const char *)t->data + image * info.size, info.size);
	}
	return EXIT_DONE;
}

void name_zeros(const struct network *n)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	uint64_t given = 0;

	for (unsigned int i = 0; i < n->s->opt->input.count; i++)
		given |= n->input_index[i] < 64 ? 1ull << n->input_index[i] : 0;
	for (unsigned int i = 0; i < io_count(n, CNNRT_INPUT) && i < 64; i++)
		if (!(given & 1ull << i) && !get_io(n, CNNRT_INPUT, i, &info, NULL))
			complain(0, "input %s is not given: zeros", info.name);
}
