/* SPDX-License-Identifier: MIT */
/* cnnctl stats: the cores' counters, and what each context used. */
#include "cnnctl.h"

#include <inttypes.h>
#include <stdlib.h>

#include <cnnacc_hw.h>

#include "clients.h"

static const char *const names[CLIENTS_COUNTERS] = CNNACC_STATS_NAMES;

/* Reads the counters of an in-process device, which has no driver to add them up. */
static int read_registers(struct cnnrt_device *dev, uint32_t base,
			  uint64_t counters[CLIENTS_COUNTERS])
{
	struct cnnrt_error err;
	uint32_t lo, hi;

	for (uint32_t i = 0; i < CLIENTS_COUNTERS; i++) {
		if (cnnrt_device_reg_read(dev, base + 8 * i, &lo, &err) ||
		    cnnrt_device_reg_read(dev, base + 8 * i + 4, &hi, &err))
			return complain_registers(&err);
		counters[i] = (uint64_t)hi << 32 | lo;
	}
	return EXIT_DONE;
}

static void print_counters(struct json *j, unsigned int index, const char *core,
			   const uint64_t counters[CLIENTS_COUNTERS])
{
	char section[48];

	snprintf(section, sizeof(section), "core%u.%s", index, core);
	if (j->out)
		json_open(j, section, '{');
	else
		printf("[%s.%u]\n", core, index);
	/* The last counter is reserved. */
	for (size_t i = 0; i < CLIENTS_COUNTERS - 1; i++) {
		if (j->out)
			json_u64(j, names[i], counters[i]);
		else
			printf("%-24s %" PRIu64 "\n", names[i], counters[i]);
	}
	if (j->out)
		json_close(j, '}');
}

static void show_context(const struct client_device *d, const struct context *c)
{
	for (unsigned int i = 0; i < d->info.core_count; i++) {
		const struct usage *u = &c->core[i];

		if (!u->jobs && !u->busy_ns)
			continue;
		printf("context %u of %s (%ld), %s: %" PRIu64 " jobs, %.3f s, %" PRIu64
		       " cycles\n",
		       c->hw_id, c->comm, c->pid, d->core[i], u->jobs, (double)u->busy_ns / 1e9,
		       u->cycles);
	}
}

static void json_context(struct json *j, const struct client_device *d, const struct context *c)
{
	json_open(j, NULL, '{');
	JSON_MEMBERS(j, U64("id", c->hw_id), U64("pid", (uint64_t)c->pid),
		     TEXT("command", c->comm), U64("state", c->state),
		     U64("submitted", c->submitted), U64("failed", c->failed),
		     U64("reset", c->reset));
	json_open(j, "cores", '[');
	for (unsigned int i = 0; i < d->info.core_count; i++) {
		json_open(j, NULL, '{');
		json_string(j, "name", d->core[i]);
		json_usage(j, &c->core[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void print_contexts(struct json *j, const struct client_device *d, const struct contexts *c)
{
	if (j->out)
		json_open(j, "contexts", '[');
	for (unsigned int i = 0; i < c->count; i++) {
		if (j->out)
			json_context(j, d, &c->at[i]);
		else
			show_context(d, &c->at[i]);
	}
	if (j->out) {
		json_close(j, ']');
		json_bool(j, "contexts_truncated", c->truncated);
	} else if (c->truncated) {
		printf("and more: only %u contexts are shown\n", c->count);
	}
}

struct stats {
	struct cnnrt_device *dev;
	struct client_device device;
	bool has_contexts;
	uint64_t counters[CNNRT_MAX_CORES][CLIENTS_COUNTERS];
	struct contexts contexts;
};

static int read_stats(struct stats *s)
{
	struct cnnrt_core_info core = { .struct_size = sizeof(core) };
	struct cnnrt_error err;
	int ret = EXIT_DONE;

	s->has_contexts = cnnrt_device_fd(s->dev) >= 0;
	if (s->has_contexts)
		return clients_device(s->dev, &s->device) ?:
		       clients_read_counters(&s->device, s->counters) ?:
		       clients_read_contexts(&s->device, &s->contexts);
	for (unsigned int i = 0; !ret && !cnnrt_device_core(s->dev, i, &core, &err); i++)
		ret = read_registers(s->dev, core.queue_offset + CNNACC_QREG_STATS, s->counters[i]);
	return ret;
}

static void print_stats(struct json *j, const struct stats *s)
{
	struct cnnrt_core_info core = { .struct_size = sizeof(core) };
	struct cnnrt_error err;

	if (j->out)
		json_open(j, NULL, '{');
	for (unsigned int i = 0; !cnnrt_device_core(s->dev, i, &core, &err); i++)
		print_counters(j, i, core.name, s->counters[i]);
	if (s->has_contexts)
		print_contexts(j, &s->device, &s->contexts);
	if (j->out)
		json_close(j, '}');
}

static const struct opt_command stats_command = {
	.name = "stats", .usage = { "[--device D] [--json]" },
	.intro = "Prints the statistics counters of the device's cores, and what each context used "
		 "(administrator).",
	DEVICE_AND_JSON,
};

static int stats(struct cnnrt_device *dev, const struct common *c)
{
	struct json j = { .out = c->json ? stdout : NULL };
	struct stats *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return complain(EXIT_FAILED, "stats: out of memory");
	s->dev = dev;
	ret = read_stats(s);
	if (!ret)
		print_stats(&j, s);
	free(s);
	return ret;
}

int cmd_stats(int argc, char **argv)
{
	return run_on_device(&stats_command, argc, argv, stats);
}
