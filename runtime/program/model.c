/* SPDX-License-Identifier: MIT */
#include "import/import.h"
#include "model.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int import(struct cnnrt_model *m, struct cnnrt_error *err)
{
	struct cnn_err e = { 0 };

	if (cnn_graph_import(m->bytes, m->size, m->folder, &m->graph, &e))
		return rt_graph_error(err, &e);
	m->inputs = calloc((size_t)m->graph->n_inputs + 1, sizeof(*m->inputs));
	return m->inputs ? CNNRT_OK : rt_fail(err, CNNRT_ENOMEM, "model: out of memory");
}

/* Takes bytes and folder over, also on failure. */
static int load(void *bytes, size_t size, int folder, struct cnnrt_model **out,
		struct cnnrt_error *err)
{
	struct cnnrt_model *m = calloc(1, sizeof(*m));
	int ret;

	if (!m) {
		free(bytes);
		if (folder >= 0)
			close(folder);
		return rt_fail(err, CNNRT_ENOMEM, "model: out of memory");
	}
	m->bytes = bytes;
	m->size = size;
	m->folder = folder;
	ret = import(m, err);
	if (ret)
		cnnrt_model_free(m);
	else
		*out = m;
	return ret;
}

static int read_whole(const char *path, void **bytes, size_t *size, struct cnnrt_error *err)
{
	FILE *f;
	int ret = rt_open_file(path, &f, size, err);

	if (ret)
		return ret;
	*bytes = malloc(*size + 1);
	if (!*bytes)
		ret = rt_fail(err, CNNRT_ENOMEM, "%.200s: no memory for %zu bytes", path, *size);
	else if (fread(*bytes, 1, *size, f) != *size)
		ret = rt_fail(err, CNNRT_EFILE, "%.200s: read error", path);
	fclose(f);
	if (ret)
		free(*bytes);
	return ret;
}

int cnnrt_model_load(const char *path, struct cnnrt_model **model, struct cnnrt_error *err)
{
	size_t size = 0;
	void *bytes = NULL;
	int folder, ret = read_whole(path, &bytes, &size, err);

	if (ret)
		return ret;
	ret = rt_open_folder_of(path, &folder, err);
	if (!ret)
		return load(bytes, size, folder, model, err);
	free(bytes);
	return ret;
}

int cnnrt_model_load_buffer(const void *data, size_t size, const char *folder,
			    struct cnnrt_model **model, struct cnnrt_error *err)
{
	int fd = -1, ret = folder ? rt_open_folder(folder, &fd, err) : CNNRT_OK;
	void *bytes;

	if (ret)
		return ret;
	bytes = malloc(size + 1);
	if (!bytes) {
		if (fd >= 0)
			close(fd);
		return rt_fail(err, CNNRT_ENOMEM, "model: no memory for %zu bytes", size);
	}
	if (size)
		memcpy(bytes, data, size);
	return load(bytes, size, fd, model, err);
}

void cnnrt_model_free(struct cnnrt_model *m)
{
	if (!m)
		return;
	for (int i = 0; m->inputs && i < m->graph->n_inputs; i++)
		cnn_tensor_release(&m->inputs[i].data);
	free(m->inputs);
	cnn_graph_free(m->graph);
	if (m->folder >= 0)
		close(m->folder);
	free(m->bytes);
	free(m);
}

unsigned int cnnrt_model_io_count(const struct cnnrt_model *m, enum cnnrt_direction dir)
{
	return (unsigned int)(dir == CNNRT_INPUT ? m->graph->n_inputs : m->graph->n_outputs);
}

int cnnrt_model_io(const struct cnnrt_model *m, enum cnnrt_direction dir, unsigned int index,
		   struct cnnrt_tensor_info *info, struct cnnrt_error *err)
{
	const struct cnn_value *v;
	struct cnn_tensor t;
	int ret = rt_check_index(index, dir, cnnrt_model_io_count(m, dir), err);

	if (ret)
		return ret;
	v = &m->graph->values[dir == CNNRT_INPUT ? m->graph->inputs[index] :
			      m->graph->outputs[index]];
	t = v->t;
	if (dir == CNNRT_INPUT && m->inputs[index].has_shape) {
		t.rank = m->inputs[index].rank;
		memcpy(t.dims, m->inputs[index].dims, sizeof(t.dims));
	}
	return rt_tensor_info(v->name, &t, info, err);
}

static int check_shape(const struct cnnrt_model *m, unsigned int index, int rank,
		       const int64_t *dims, struct cnnrt_error *err)
{
	const struct cnn_value *v;
	int ret = rt_check_index(index, CNNRT_INPUT, (unsigned int)m->graph->n_inputs, err);

	if (ret)
		return ret;
	v = &m->graph->values[m->graph->inputs[index]];
	if (rank < 0 || rank > CNNRT_MAX_RANK || (v->t.rank >= 0 && v->t.rank != rank))
		return rt_fail(err, CNNRT_EINVAL, "input %.80s: rank %d given, %d wanted", v->name,
			       rank, v->t.rank);
	for (int i = 0; i < rank; i++) {
		int64_t fixed = v->t.rank < 0 ? -1 : v->t.dims[i];

		if (dims[i] < 0)
			return rt_fail(err, CNNRT_EINVAL, "input %.80s: dimension %d: %lld given, "
				       "0 or more wanted", v->name, i, (long long)dims[i]);
		if (fixed >= 0 && dims[i] != fixed)
			return rt_fail(err, CNNRT_EINVAL, "input %.80s: dimension %d is %lld, %lld "
				       "given", v->name, i, (long long)fixed, (long long)dims[i]);
	}
	return CNNRT_OK;
}

int cnnrt_model_set_input_shape(struct cnnrt_model *m, unsigned int index, int rank,
				const int64_t *dims, struct cnnrt_error *err)
{
	int ret = check_shape(m, index, rank, dims, err);

	if (ret)
		return ret;
	m->inputs[index].has_shape = true;
	m->inputs[index].rank = rank;
	memset(m->inputs[index].dims, 0, sizeof(m->inputs[index].dims));
	for (int i = 0; i < rank; i++)
		m->inputs[index].dims[i] = dims[i];
	return CNNRT_OK;
}

int cnnrt_model_set_input_data(struct cnnrt_model *m, unsigned int index, int rank,
			       const int64_t *dims, const void *data, size_t size,
			       struct cnnrt_error *err)
{
	struct cnn_tensor t = { .rank = rank };
	struct cnn_err e = { 0 };
	int ret = cnnrt_model_set_input_shape(m, index, rank, dims, err);

	if (ret)
		return ret;
	t.dtype = m->graph->values[m->graph->inputs[index]].t.dtype;
	for (int i = 0; i < rank; i++)
		t.dims[i] = dims[i];
	if (cnn_tensor_bytes(&t) < 0 || (uint64_t)cnn_tensor_bytes(&t) != size)
		return rt_fail(err, CNNRT_EINVAL, "input %u: %zu bytes given, %lld wanted", index,
			       size, (long long)cnn_tensor_bytes(&t));
	if (cnn_tensor_alloc(&t, 0, &e))
		return rt_graph_error(err, &e);
	if (size)
		memcpy(t.data, data, size);
	cnn_tensor_release(&m->inputs[index].data);
	m->inputs[index].data = t;
	return CNNRT_OK;
}
