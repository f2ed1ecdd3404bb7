/* SPDX-License-Identifier: MIT */
/* Prints where operators run, and outputs. */
#include "cnnrun.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void print_op(const struct cnnrt_op_report *op, void *opaque)
{
	const char *core = opaque;
	char type[64], name[61], reason[512], fused[512], next[48] = "";

	if (core && op->core >= 0)
		return;
	if (*op->next_place)
		snprintf(next, sizeof(next), " (%s: %.3f ms)", op->next_place,
			 (double)op->next_ns / 1e6);
	printf("%4u %-16s %-28s %-4s %13" PRIu64 " MACs  %.3f ms%s  %s%s%s%s\n", op->index,
	       clean(op->op, type, sizeof(type)), clean(op->name, name, sizeof(name)), op->place,
	       op->macs, (double)op->cost_ns / 1e6, next,
	       clean(op->reason, reason, sizeof(reason)), *op->fused ? " [with " : "",
	       clean(op->fused, fused, sizeof(fused)), *op->fused ? "]" : "");
}

static void print_removed(const char *op, const char *name, const char *why, void *opaque)
{
	char type[64], label[61], reason[512];

	(void)opaque;
	printf("   - %-16s %-28s -    %s\n", clean(op, type, sizeof(type)),
	       clean(name, label, sizeof(label)), clean(why, reason, sizeof(reason)));
}

void print_explain(const struct cnnrt_program *program, const char *core)
{
	cnnrt_program_explain(program, print_op, (void *)core);
	if (!core)
		cnnrt_program_removed(program, print_removed, NULL);
}

void print_macs(const struct cnnrt_program *program, const struct cnnrt_device *dev)
{
	struct cnnrt_estimate est = { .struct_size = sizeof(est) };
	struct cnnrt_core_info core = { .struct_size = sizeof(core) };
	struct cnnrt_error err;

	if (cnnrt_program_estimate(program, &est, &err)) {
		complain_error(&err);
		return;
	}
	printf("MACs on device: %" PRIu64 " of %" PRIu64 " (%.2f %%)", est.macs_device,
	       est.macs_total,
	       est.macs_total ? 100.0 * (double)est.macs_device / (double)est.macs_total : 0.0);
	for (unsigned int i = 0; !cnnrt_device_core(dev, i, &core, &err); i++)
		printf(", core %u (%s) %" PRIu64, i, core.name, est.macs_core[i]);
	printf("; operators: %u of %u, %u programs\n", est.ops_device, est.ops_total, est.tasks);
	printf("Changes of layout: %u, %" PRIu64 " bytes\n", est.conversions, est.conversion_bytes);
	printf("Modelled time of a run: %.3f ms with the costs 0x%016" PRIx64 "\n",
	       (double)est.ns / 1e6, est.target_hash);
}

#define TOP	5

static void print_top(const struct cnn_tensor *t, int64_t count, char *const *labels,
		      size_t label_count)
{
	int64_t top[TOP];
	int n = 0;

	for (int64_t i = 0; i < count; i++) {
		double value = cnn_tensor_element(t, i);
		int at = n;

		if (isnan(value))
			continue;
		while (at > 0 && cnn_tensor_element(t, top[at - 1]) < value)
			at--;
		if (at == TOP)
			continue;
		n = n < TOP ? n + 1 : n;
		memmove(&top[at + 1], &top[at], (size_t)(n - at - 1) * sizeof(*top));
		top[at] = i;
	}
	for (int i = 0; i < n; i++)
		printf("  %6" PRId64 "  %-12.6g %s\n", top[i], cnn_tensor_element(t, top[i]),
		       (uint64_t)top[i] < label_count ? labels[top[i]] : "");
}

static void print_range(const struct cnn_tensor *t, int64_t count)
{
	double low = INFINITY, high = -INFINITY;

	for (int64_t i = 0; i < count; i++) {
		double v = cnn_tensor_element(t, i);

		low = v < low ? v : low;
		high = v > high ? v : high;
	}
	if (count)
		printf("  %.6g .. %.6g, first", low, high);
	for (int64_t i = 0; i < count && i < 8; i++)
		printf(" %.6g", cnn_tensor_element(t, i));
	if (count)
		putchar('\n');
}

/* Is it a list of scores, one for each class? */
static bool is_scores(const struct cnn_tensor *t, int64_t count)
{
	bool type = t->dtype == CNN_FLOAT32 || t->dtype == CNN_INT8 || t->dtype == CNN_UINT8;

	return type && t->rank > 0 && count > 1 && count <= 100000 &&
	       t->dims[t->rank - 1] == count;
}

void print_output(const struct cnnrt_tensor_info *info, const void *data, char *const *labels,
		  size_t label_count)
{
	struct cnn_tensor t = tensor_of(info, (void *)data);
	int64_t count = cnn_tensor_count(&t);
	char text[128], name[256];

	printf("%s: %s\n", clean(info->name, name, sizeof(name)), cnn_tensor_describe(&t, text, sizeof(text)));
	if (is_scores(&t, count))
		print_top(&t, count, labels, label_count);
	else
		print_range(&t, count);
}
