/* SPDX-License-Identifier: MIT */
/*
 * Segments of one run at the same time: what waits for what, by the memory that each uses, and that
 * random networks give the same bytes as when no two values share memory.
 */
#include "onnx_build.h"
#include "rt.h"

#include "exec/job.h"

#define CHANNELS	8
#define SIDE		12
#define NODES		24
#define NETWORKS	20
#define RUNS		6

static const int64_t map[] = { 1, CHANNELS, SIDE, SIDE };

static void add_conv(struct onnx_build *b, const char *from, const char *to, unsigned int seed,
		     int64_t side)
{
	const int64_t pad = side / 2, pads[] = { pad, pad, pad, pad };
	char weight[32], inputs[80];

	snprintf(weight, sizeof(weight), "w%u", seed);
	snprintf(inputs, sizeof(inputs), "%s %s", from, weight);
	ob_random(b, weight, seed, 4, (const int64_t[]){ CHANNELS, CHANNELS, side, side });
	ob_attr_ints(ob_node(b, "Conv", inputs, to), "pads", 4, pads);
}

/* A layer of a random kind: of a core, or one that only the CPU has, of one or two values. */
static void add_layer(struct onnx_build *b, uint32_t *random, int index)
{
	char from[16], other[16], to[16], inputs[40];

	snprintf(from, sizeof(from), "v%u", ob_rand(random) % (unsigned int)index);
	snprintf(other, sizeof(other), "v%u", ob_rand(random) % (unsigned int)index);
	snprintf(to, sizeof(to), "v%d", index);
	snprintf(inputs, sizeof(inputs), "%s %s", from, other);
	switch (ob_rand(random) % 5) {
	case 0:
	case 1:
		add_conv(b, from, to, ob_rand(random) | 1, 3);
		return;
	case 2:
		add_conv(b, from, to, ob_rand(random) | 1, 1);
		return;
	case 3:
		ob_node(b, "Sin", from, to);
		return;
	}
	ob_node(b, "Add", inputs, to);
}

/* A network of random branches, whose last values are summed up: values are of one shape. */
static void *random_net(uint32_t seed, size_t *size)
{
	struct onnx_build *b = ob_new(13);
	char sum[32], inputs[80];
	void *file;

	ob_input(b, "v0", 1, 4, map);
	for (int i = 1; i <= NODES; i++)
		add_layer(b, &seed, i);
	ob_node(b, "Identity", "v1", "s1");
	for (int i = 2; i <= NODES; i++) {
		snprintf(inputs, sizeof(inputs), "s%d v%d", i - 1, i);
		snprintf(sum, sizeof(sum), "s%d", i);
		ob_node(b, "Add", inputs, sum);
	}
	ob_output(b, sum);
	file = ob_pack(b, size);
	ob_free(b);
	return file;
}

/* Everything on the first core that it can run, and those that are equal. */
static void open_net(struct rt_net *n, const char *device, const void *file, size_t size)
{
	struct cnnrt_compile_options opt = { .struct_size = sizeof(opt) };

	memset(n, 0, sizeof(*n));
	OK(cnnrt_device_open(device, 0, &n->dev, &rt_err));
	opt.core = n->dev->core[0].name;
	OK(cnnrt_model_load_buffer(file, size, NULL, &n->model, &rt_err));
	OK(cnnrt_compile(n->model, n->dev, &opt, &n->program, &rt_err));
	OK(cnnrt_context_create(n->dev, CNNRT_PRIORITY_NORMAL, &n->ctx, &rt_err));
}

static void run_job(struct cnnrt_job *job, float *out)
{
	const size_t count = CHANNELS * SIDE * SIDE;
	float *in;
	void *result;

	OK(cnnrt_job_map(job, CNNRT_INPUT, 0, NULL, (void **)&in, &rt_err));
	for (size_t i = 0; i < count; i++)
		in[i] = (float)(i % 37) / 37 - 0.5f;
	OK(cnnrt_job_submit(job, -1, NULL, &rt_err));
	OK(cnnrt_job_wait(job, -1, &rt_err));
	OK(cnnrt_job_map(job, CNNRT_OUTPUT, 0, NULL, &result, &rt_err));
	memcpy(out, result, count * sizeof(float));
}

/* The answer where each value has memory of its own. */
static void run_observed(struct rt_net *n, float *out)
{
	struct cnnrt_compile_options opt = {
		.struct_size = sizeof(opt), .core = n->dev->core[0].name, .observe = true,
	};
	struct cnnrt_program *program;
	struct cnnrt_job *job;

	OK(cnnrt_compile(n->model, n->dev, &opt, &program, &rt_err));
	OK(cnnrt_job_create(n->ctx, program, &job, &rt_err));
	run_job(job, out);
	cnnrt_job_free(job);
	cnnrt_program_free(program);
}

/* Does unit b wait for unit a, maybe through others? */
static bool waits_for(const struct rt_order *order, int b, int a, bool *seen)
{
	if (a == b)
		return true;
	seen[a] = true;
	for (int i = order->first[a]; i < order->first[a + 1]; i++)
		if (order->next[i] <= b && !seen[order->next[i]] &&
		    waits_for(order, b, order->next[i], seen))
			return true;
	return false;
}

struct access {
	uintptr_t start, end;
	bool write;
};

static int add_access(struct access *list, int n, const void *start, int64_t size, bool write)
{
	if (start && size > 0)
		list[n++] = (struct access){ (uintptr_t)start, (uintptr_t)start + (uintptr_t)size,
					     write };
	return n;
}

static int add_node(const struct cnnrt_job *job, int index, struct access *list, int n)
{
	const struct cnnrt_program *p = job->program;
	const struct cnn_node *node = &p->graph->nodes[index];

	for (int k = 0; k < node->n_in + node->n_out; k++) {
		int v = k < node->n_in ? node->in[k] : node->out[k - node->n_in];
		const struct cnn_slot *slot = v < 0 ? NULL : &p->low->slots[v];
		bool write = k >= node->n_in;

		if (slot && slot->used)
			n = add_access(list, n, (char *)job->arena.map + slot->offset,
				       slot->bytes, write);
		if (slot && job->values[v].location == RT_AT_HOST)
			n = add_access(list, n, job->values[v].t.data,
				       cnn_tensor_bytes(&job->values[v].t), write);
	}
	return n;
}

/* All memory that a unit uses. */
static int accesses(const struct cnnrt_job *job, int index, struct access *list)
{
	const struct rt_unit *unit = &job->order.units[index];
	const struct cnn_segment *seg = &job->program->low->segments[unit->segment];
	int n = 0;

	if (unit->node >= 0)
		return add_node(job, unit->node, list, 0);
	for (int i = 0; i < seg->n_nodes; i++)
		n = add_node(job, seg->nodes[i], list, n);
	return n;
}

static bool conflict(const struct access *a, int n, const struct access *b, int m)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < m; k++)
			if ((a[i].write || b[k].write) && a[i].start < b[k].end &&
			    b[k].start < a[i].end)
				return true;
	return false;
}

/* Every conflict is ordered, and no pair of units without a conflict is ordered directly. */
static void check_order(const struct cnnrt_job *job)
{
	int units = job->order.count;
	struct access *a = calloc(1000, sizeof(*a)), *b = calloc(1000, sizeof(*b));
	bool *seen = calloc((size_t)units + 1, sizeof(*seen));

	assert_true(a && b && seen);
	for (int i = 0; i < units; i++) {
		int n = accesses(job, i, a);

		for (int k = i + 1; k < units; k++) {
			bool conflicts = conflict(a, n, b, accesses(job, k, b)), direct = false;

			for (int e = job->order.first[i]; e < job->order.first[i + 1]; e++)
				direct |= job->order.next[e] == k;
			memset(seen, 0, (size_t)units + 1);
			if (conflicts)
				assert_true(waits_for(&job->order, k, i, seen));
			else
				assert_false(direct);
		}
	}
	free(a);
	free(b);
	free(seen);
}

static void check_net(const char *device, uint32_t seed)
{
	float *want = calloc(2, CHANNELS * SIDE * SIDE * sizeof(float));
	float *got = want + CHANNELS * SIDE * SIDE;
	struct cnnrt_job *job;
	struct rt_net n;
	size_t size;
	void *file = random_net(seed, &size);

	assert_non_null(want);
	open_net(&n, device, file, size);
	run_observed(&n, want);
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	check_order(job);
	for (int i = 0; i < RUNS; i++) {
		memset(got, 0, CHANNELS * SIDE * SIDE * sizeof(float));
		run_job(job, got);
		assert_memory_equal(got, want, CHANNELS * SIDE * SIDE * sizeof(float));
	}
	cnnrt_job_free(job);
	rt_close(&n);
	free(file);
	free(want);
}

static void test_random(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= NETWORKS; seed++)
		check_net(seed % 2 ? "sim:cores=ccp" : "sim:cores=ccp+ccp", seed * 7919);
}

/* The steps of the two branches. */
struct branches {
	uint64_t core_start, core_end, cpu_start, cpu_end;
	uint64_t last_start;
	bool ordered;
};

static void note_step(const struct cnnrt_step *step, void *opaque)
{
	struct branches *b = opaque;

	b->ordered &= step->start_ns >= b->last_start && step->submitted_ns >= step->start_ns &&
		      step->end_ns >= step->submitted_ns;
	b->last_start = step->start_ns;
	if (step->kind == CNNRT_STEP_TASKS) {
		b->core_start = step->start_ns;
		b->core_end = step->end_ns;
	} else if (step->kind == CNNRT_STEP_OP && !strcmp(step->name, "sine")) {
		b->cpu_start = step->start_ns;
		b->cpu_end = step->end_ns;
	}
}

/* The core runs one branch while the CPU runs the other, whichever comes first in the file. */
static void test_beside(void **state)
{
	struct branches b = { .ordered = true };
	struct onnx_build *build = ob_new(13);
	Onnx__NodeProto *sine;
	struct cnnrt_job *job;
	struct rt_net n;
	size_t size;
	void *file;
	float out[CHANNELS * SIDE * SIDE];

	(void)state;
	ob_input(build, "x", 1, 4, map);
	sine = ob_node(build, "Sin", "x", "a");
	sine->name = strdup("sine");
	add_conv(build, "x", "b", 5, 3);
	ob_output(build, "a b");
	file = ob_pack(build, &size);
	/* The convolution takes more than 50 ms. */
	open_net(&n, "sim:cores=ccp,timing=modelled,clock-hz=100000", file, size);
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	run_job(job, out);
	OK(cnnrt_job_profile(job, note_step, &b, &rt_err));
	assert_true(b.ordered);
	assert_true(b.core_start < b.cpu_start);
	assert_true(b.cpu_end < b.core_end);
	cnnrt_job_free(job);
	rt_close(&n);
	ob_free(build);
	free(file);
}

#define WIDE		64
#define WIDE_SIDE	28
#define BRANCHES	2
#define DEPTH		3

/* Branches of convolutions between one convolution and another that reads all of them. */
static void *branching_net(size_t *size)
{
	const int64_t pads[] = { 1, 1, 1, 1 };
	struct onnx_build *b = ob_new(13);
	char from[16], to[16], weight[16], inputs[40];
	void *file;

	ob_input(b, "x", 1, OB_DIMS(1, WIDE, WIDE_SIDE, WIDE_SIDE));
	ob_random(b, "w", 99, OB_DIMS(WIDE, WIDE, 1, 1));
	ob_node(b, "Conv", "x w", "v0");
	for (int i = 0; i < BRANCHES * DEPTH; i++) {
		snprintf(weight, sizeof(weight), "w%d", i);
		snprintf(from, sizeof(from), "v%d", i % DEPTH ? i : 0);
		snprintf(to, sizeof(to), "v%d", i + 1);
		snprintf(inputs, sizeof(inputs), "%s %s", from, weight);
		ob_random(b, weight, 7 + (unsigned int)i, OB_DIMS(WIDE, WIDE, 3, 3));
		ob_attr_ints(ob_node(b, "Conv", inputs, to), "pads", 4, pads);
	}
	ob_attr_int(ob_node(b, "Concat", "v3 v6", "both"), "axis", 1);
	ob_random(b, "last", 98, OB_DIMS(1, WIDE * BRANCHES, 1, 1));
	ob_node(b, "Conv", "both last", "y");
	ob_output(b, "y");
	file = ob_pack(b, size);
	ob_free(b);
	return file;
}

/* What ran on cores: the greatest number of steps at a time, and cores. */
struct lanes {
	uint64_t start[32], end[32];
	uint32_t cores;
	int count;
};

static void note_lane(const struct cnnrt_step *step, void *opaque)
{
	struct lanes *l = opaque;

	if (step->kind != CNNRT_STEP_TASKS || l->count == 32)
		return;
	l->start[l->count] = step->start_ns;
	l->end[l->count++] = step->end_ns;
	l->cores |= 1u << step->core;
}

static int overlaps(const struct lanes *l)
{
	int count = 0;

	for (int i = 0; i < l->count; i++)
		for (int k = 0; k < i; k++)
			count += l->start[i] < l->end[k] && l->start[k] < l->end[i];
	return count;
}

static struct lanes run_branches(const char *device, bool pin, float *out)
{
	struct cnnrt_compile_options opt = { .struct_size = sizeof(opt) };
	struct lanes lanes = { 0 };
	struct cnnrt_job *job;
	struct rt_net n;
	void *in, *result;
	size_t size;
	void *file = branching_net(&size);

	open_net(&n, device, file, size);
	opt.core = "1";
	if (pin) {
		cnnrt_program_free(n.program);
		OK(cnnrt_compile(n.model, n.dev, &opt, &n.program, &rt_err));
	}
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	OK(cnnrt_job_map(job, CNNRT_INPUT, 0, NULL, &in, &rt_err));
	for (int i = 0; i < WIDE * WIDE_SIDE * WIDE_SIDE; i++)
		((float *)in)[i] = (float)(i % 29) / 29;
	OK(cnnrt_job_submit(job, -1, NULL, &rt_err));
	OK(cnnrt_job_wait(job, -1, &rt_err));
	OK(cnnrt_job_map(job, CNNRT_OUTPUT, 0, NULL, &result, &rt_err));
	memcpy(out, result, WIDE_SIDE * WIDE_SIDE * sizeof(float));
	OK(cnnrt_job_profile(job, note_lane, &lanes, &rt_err));
	cnnrt_job_free(job);
	rt_close(&n);
	free(file);
	return lanes;
}

/* Branches run on equal cores at the same time; one core, or one that is named, runs one program. */
static void test_lanes(void **state)
{
	float one[WIDE_SIDE * WIDE_SIDE], two[WIDE_SIDE * WIDE_SIDE];
	struct lanes lanes = run_branches("sim:cores=ccp", false, one);

	(void)state;
	assert_int_equal(lanes.count, 1);
	/* A branch takes more than 100 ms. */
	lanes = run_branches("sim:cores=ccp+ccp,timing=modelled,clock-hz=3000000", false, two);
	assert_memory_equal(one, two, sizeof(one));
	assert_int_equal(lanes.cores, 3);
	assert_int_equal(overlaps(&lanes), 1);
	lanes = run_branches("sim:cores=ccp+ccp", true, two);
	assert_memory_equal(one, two, sizeof(one));
	assert_int_equal(lanes.count, 1);
	assert_int_equal(lanes.cores, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_beside),
		cmocka_unit_test(test_lanes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
