// SPDX-License-Identifier: MIT
/* Guards around protobuf-c, and TensorProto to and from tensors. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "pb.h"

#define MAX_DEPTH	64

/*
 * A structure of protobuf-c takes up to some 300 bytes for two bytes of file; honest files are
 * far below this factor, and the slack lets tiny ones in.
 */
#define EXPANSION	40
#define SLACK		65536

static void *arena_alloc(void *data, size_t size)
{
	struct cnn_pb_arena *a = data;

	if (size > a->left) {
		a->exhausted = true;
		return NULL;
	}
	a->left -= size;
	return malloc(size ? size : 1);
}

static void arena_free(void *data, void *p)
{
	(void)data;
	free(p);
}

void cnn_pb_arena_init(struct cnn_pb_arena *a, size_t file_len)
{
	a->base = (ProtobufCAllocator){ arena_alloc, arena_free, a };
	a->exhausted = false;
	if (__builtin_mul_overflow(file_len, (size_t)EXPANSION, &a->left) ||
	    __builtin_add_overflow(a->left, (size_t)SLACK, &a->left))
		a->left = SIZE_MAX;
}

static bool get_varint(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
	*v = 0;
	for (int shift = 0; shift < 64; shift += 7) {
		uint8_t b;

		if (*p == end)
			return false;
		b = *(*p)++;
		*v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return true;
	}
	return false;
}

/* Reads past one field that has no length prefix or a given one; false: it does not fit. */
static bool skip_field(unsigned int wire, const uint8_t **p, const uint8_t *end, uint64_t *len)
{
	switch (wire) {
	case 0:
		*len = 0;
		return get_varint(p, end, &(uint64_t){ 0 });
	case 1:
		*len = 8;
		break;
	case 2:
		if (!get_varint(p, end, len))
			return false;
		break;
	case 5:
		*len = 4;
		break;
	default:
		return false;
	}
	return *len <= (uint64_t)(end - *p);
}

/*
 * protobuf-c recurses without limit, and merges a message field that occurs twice; neither is
 * needed by an honest file, so both are refused before it sees them.
 */
static int check(const ProtobufCMessageDescriptor *desc, const uint8_t *p, const uint8_t *end,
		 int depth, struct cnn_err *err)
{
	uint64_t seen = 0;

	if (depth > MAX_DEPTH)
		return cnn_fail(err, CNN_ELIMIT, "messages are nested deeper than %d", MAX_DEPTH);
	while (p < end) {
		const ProtobufCFieldDescriptor *f = NULL;
		uint64_t tag, len;
		int ret;

		if (!get_varint(&p, end, &tag) || tag >> 32 || !skip_field(tag & 7, &p, end, &len))
			return cnn_fail(err, CNN_EINVAL, "not an ONNX file: malformed %s",
					desc->short_name);
		f = protobuf_c_message_descriptor_get_field(desc, tag >> 3);
		if (f && f->type == PROTOBUF_C_TYPE_MESSAGE && (tag & 7) == 2) {
			uint64_t bit = 1ull << ((f - desc->fields) & 63);

			if (f->label != PROTOBUF_C_LABEL_REPEATED && (seen & bit))
				return cnn_fail(err, CNN_EINVAL, "%s: field %s occurs twice",
						desc->short_name, f->name);
			seen |= bit;
			ret = check(f->descriptor, p, p + len, depth + 1, err);
			if (ret)
				return ret;
		}
		p += len;
	}
	return CNN_OK;
}

int cnn_pb_check(const ProtobufCMessageDescriptor *desc, const uint8_t *buf, size_t len,
		 struct cnn_err *err)
{
	if (!buf || !len)
		return cnn_fail(err, CNN_EINVAL, "the file is empty");
	return check(desc, buf, buf + len, 0, err);
}

#define TNAME(tp)	((tp)->name ? (tp)->name : "")

/* Where the elements are when raw_data is not used. */
struct typed_data {
	size_t n;
	const void *p;
	size_t elem;
};

static struct typed_data typed_data(const Onnx__TensorProto *tp)
{
	switch (tp->data_type) {
	case CNN_FLOAT32:
		return (struct typed_data){ tp->n_float_data, tp->float_data, 4 };
	case CNN_INT64:
		return (struct typed_data){ tp->n_int64_data, tp->int64_data, 8 };
	case CNN_FLOAT64:
		return (struct typed_data){ tp->n_double_data, tp->double_data, 8 };
	case CNN_UINT32:
	case CNN_UINT64:
		return (struct typed_data){ tp->n_uint64_data, tp->uint64_data, 8 };
	default:
		return (struct typed_data){ tp->n_int32_data, tp->int32_data, 4 };
	}
}

/* Elements are little-endian and never wider than their slot, so the low bytes are the value. */
static void narrow(void *dst, size_t size, const struct typed_data *src)
{
	if (size == src->elem) {
		memcpy(dst, src->p, src->n * size);
		return;
	}
	for (size_t i = 0; i < src->n; i++)
		memcpy((char *)dst + i * size, (const char *)src->p + i * src->elem, size);
}

static int proto_header(const Onnx__TensorProto *tp, struct cnn_tensor *t, struct cnn_err *err)
{
	memset(t, 0, sizeof(*t));
	t->rank = -1;
	if (tp->segment)
		return cnn_fail(err, CNN_EUNSUPPORTED, "tensor %.80s is a segment", TNAME(tp));
	if (!cnn_dtype_size(tp->data_type))
		return cnn_fail(err, CNN_EUNSUPPORTED, "tensor %.80s: type %s (%d)", TNAME(tp),
				cnn_dtype_name(tp->data_type), tp->data_type);
	if (tp->n_dims > CNN_MAX_RANK)
		return cnn_fail(err, CNN_ELIMIT, "tensor %.80s: %zu dimensions, limit %d",
				TNAME(tp), tp->n_dims, CNN_MAX_RANK);
	t->dtype = tp->data_type;
	t->rank = tp->n_dims;
	for (size_t i = 0; i < tp->n_dims; i++)
		t->dims[i] = tp->dims[i];
	if (cnn_tensor_bytes(t) < 0 || cnn_tensor_bytes(t) > CNN_MAX_TENSOR_BYTES)
		return cnn_fail(err, CNN_ELIMIT, "tensor %.80s: dimensions negative or over the "
				"limit of %lld bytes", TNAME(tp), (long long)CNN_MAX_TENSOR_BYTES);
	return CNN_OK;
}

int cnn_tensor_from_proto(Onnx__TensorProto *tp, struct cnn_external *external,
			  struct cnn_tensor *t, struct cnn_err *err)
{
	int ret = proto_header(tp, t, err);
	struct typed_data td;

	if (ret)
		return ret;
	if (tp->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
		return external ? cnn_external_read(external, tp, t, err) :
		       cnn_fail(err, CNN_EUNSUPPORTED, "tensor %.80s keeps its data in another "
				"file (external data)", TNAME(tp));
	if (tp->has_raw_data && tp->raw_data.len) {
		if (tp->raw_data.len != (size_t)cnn_tensor_bytes(t))
			return cnn_fail(err, CNN_EINVAL, "tensor %.80s: %zu bytes of raw_data, "
					"%lld expected", TNAME(tp), tp->raw_data.len,
					(long long)cnn_tensor_bytes(t));
		t->data = tp->raw_data.data;
		t->capacity = tp->raw_data.len;
		t->owned = true;
		tp->raw_data.data = NULL;
		tp->raw_data.len = 0;
		return CNN_OK;
	}
	td = typed_data(tp);
	if (td.n != (size_t)cnn_tensor_count(t))
		return cnn_fail(err, CNN_EINVAL,
				"tensor %.80s: %zu elements of data, %lld expected",
				TNAME(tp), td.n, (long long)cnn_tensor_count(t));
	ret = cnn_tensor_alloc(t, 0, err);
	if (!ret && td.n)
		narrow(t->data, cnn_dtype_size(t->dtype), &td);
	return ret;
}

int cnn_tensor_from_pb(const void *buf, size_t len, struct cnn_tensor *t, char **name,
		       struct cnn_err *err)
{
	struct cnn_pb_arena arena;
	Onnx__TensorProto *tp;
	int ret = cnn_pb_check(&onnx__tensor_proto__descriptor, buf, len, err);

	memset(t, 0, sizeof(*t));
	t->rank = -1;
	if (name)
		*name = NULL;
	if (ret)
		return ret;
	cnn_pb_arena_init(&arena, len);
	tp = onnx__tensor_proto__unpack(&arena.base, len, buf);
	if (!tp)
		return cnn_fail(err, arena.exhausted ? CNN_ELIMIT : CNN_EINVAL,
				"not a TensorProto file");
	ret = cnn_tensor_from_proto(tp, NULL, t, err);
	if (!ret && name && tp->name) {
		*name = strdup(tp->name);
		if (!*name) {
			cnn_tensor_release(t);
			ret = cnn_fail(err, CNN_ENOMEM, "no memory for a tensor's name");
		}
	}
	onnx__tensor_proto__free_unpacked(tp, &arena.base);
	return ret;
}

void cnn_tensor_to_proto(const struct cnn_tensor *t, const char *name, Onnx__TensorProto *tp)
{
	onnx__tensor_proto__init(tp);
	tp->n_dims = (size_t)t->rank;
	tp->dims = (int64_t *)t->dims;
	tp->has_data_type = true;
	tp->data_type = (int32_t)t->dtype;
	tp->name = (char *)name;
	tp->has_raw_data = true;
	tp->raw_data.len = (size_t)cnn_tensor_bytes(t);
	tp->raw_data.data = t->data;
}

int cnn_tensor_to_pb(const struct cnn_tensor *t, const char *name, void **buf, size_t *len,
		     struct cnn_err *err)
{
	Onnx__TensorProto tp;

	if (cnn_tensor_bytes(t) < 0 || !t->data)
		return cnn_fail(err, CNN_EINVAL, "a tensor without data cannot be written");
	cnn_tensor_to_proto(t, name, &tp);
	*len = onnx__tensor_proto__get_packed_size(&tp);
	*buf = malloc(*len);
	if (!*buf)
		return cnn_fail(err, CNN_ENOMEM, "no memory for a tensor file");
	onnx__tensor_proto__pack(&tp, *buf);
	return CNN_OK;
}
