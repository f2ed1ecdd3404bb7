/* SPDX-License-Identifier: MIT */
/* The network that is quantised: its file, and its graph for one sample. */
#include "import/import.h"
#include "passes/passes.h"
#include "cnnquant.h"
#include "pot8.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_model(struct quantizer *q)
{
	int fd, ret;

	if (!read_file(q->o->model, &q->file, &q->file_size))
		return complain(EXIT_FAILED, "%s: %s", q->o->model, strerror(errno));
	q->path = strdup(q->o->model);
	if (!q->path)
		return complain(EXIT_FAILED, "out of memory");
	q->folder = dirname(q->path);
	fd = open(q->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return complain(EXIT_FAILED, "folder %s: %s", q->folder, strerror(errno));
	ret = cnn_graph_import(q->file, q->file_size, fd, &q->g, &q->err);
	close(fd);
	return ret ? quant_fail(q) : EXIT_DONE;
}

/* Gives the input the shape of one sample. */
static int set_input(struct quantizer *q)
{
	const struct cnn_tensor *x;
	int64_t dims[CNN_MAX_RANK];

	if (q->g->n_inputs != 1)
		return complain(EXIT_FAILED, "%s: it has %d inputs, limit 1", q->o->model,
				q->g->n_inputs);
	x = &q->g->values[q->g->inputs[0]].t;
	if (x->dtype != CNN_FLOAT32)
		return complain(EXIT_FAILED, "%s: its input is %s, float32 wanted", q->o->model,
				cnn_dtype_name(x->dtype));
	if (x->rank > 0 && x->dims[0] > 1)
		return complain(EXIT_FAILED, "%s: its input is %" PRId64 " samples at once, limit 1",
				q->o->model, x->dims[0]);
	memcpy(dims, q->samples.dims, sizeof(dims));
	dims[0] = 1;
	if (cnn_graph_set_input_shape(q->g, 0, q->samples.rank, dims, &q->err))
		return complain(EXIT_FAILED, "%s: one sample: %s", q->o->samples, q->err.text);
	return EXIT_DONE;
}

int open_graph(struct quantizer *q)
{
	int ret = read_model(q) ?: set_input(q);

	if (ret)
		return ret;
	ret = cnn_graph_infer(q->g, &q->err) ?:
	      cnn_graph_fuse(q->g, CNN_FUSE_NOP | CNN_FUSE_BN | CNN_FUSE_BIAS, &q->err);
	return ret ? quant_fail(q) : EXIT_DONE;
}

int quantize_graph(struct quantizer *q, int64_t count, void (*show)(const struct quantizer *q))
{
	int ret;

	if (q->o->pot8)
		return pot8_quantize(q, count, !!show);
	ret = find_layers(q) ?: calibrate(q, count);
	if (!ret && show)
		show(q);
	return ret ?: rewrite(q);
}

void close_graph(struct quantizer *q)
{
	free_layers(q);
	cnn_graph_free(q->g);
	free(q->file);
	free(q->path);
}
