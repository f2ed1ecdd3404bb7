/* SPDX-License-Identifier: MIT */
/* cnnctl top: the load of the cores, and of each client. */
#include "cnnctl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "clients.h"

#define DEFAULT_INTERVAL_MS	1000

struct options {
	struct common common;
	uint64_t interval_ms;
	bool once;
};

struct sample {
	uint64_t ns;
	struct client_device device;
	struct clients clients;
};

static const struct opt_spec top_options[] = {
	OPTION_DEVICE(struct options, common.device),
	OPT_SETS_FLAG(struct options, common.json, "json", "print JSON, an object per line"),
	OPT_SETS_FLAG(struct options, once, "once", "print once, after one interval"),
	{ .name = "interval", .arg = "MS", .kind = OPT_NUMBER,
	  .field = offsetof(struct options, interval_ms), .min = 10, .max = 3600000,
	  .text = "milliseconds from one print to the next; default 1000" },
};

static const struct opt_command top_command = {
	.name = "top", .usage = { "[--once] [--interval MS] [--device D] [--json]" },
	.intro = "Prints again and again who uses the device's cores and memory: your processes, or "
		 "all as root.",
	.options = top_options, .count = ARRAY_SIZE(top_options),
};

static int take_sample(struct sample *s)
{
	int ret = clients_read_cores(&s->device);

	s->ns = now_ns();
	clients_read(&s->device, &s->clients);
	return ret;
}

/* Returns the busy share of the time between two samples; late accounting can make it exceed 1. */
static double load(uint64_t before, uint64_t after, uint64_t ns)
{
	double part = after > before && ns ? (double)(after - before) / (double)ns : 0;

	return part > 1 ? 1 : part;
}

static double client_load(const struct sample *a, const struct sample *b, const struct client *c,
			  unsigned int core)
{
	for (unsigned int i = 0; i < a->clients.count; i++)
		if (a->clients.at[i].id == c->id)
			return load(a->clients.at[i].core[core].busy_ns, c->core[core].busy_ns,
				    b->ns - a->ns);
	return load(0, c->core[core].busy_ns, b->ns - a->ns);
}

static double core_load(const struct sample *a, const struct sample *b, unsigned int core)
{
	return load(a->device.core_busy_ns[core], b->device.core_busy_ns[core], b->ns - a->ns);
}

static void print_text(const struct sample *a, const struct sample *b)
{
	const struct client_device *d = &b->device;

	printf("%s %s:", d->info.path, d->info.bus);
	for (unsigned int i = 0; i < d->info.core_count; i++)
		printf(" %s %.1f %%", d->core[i], 100 * core_load(a, b, i));
	printf(", %" PRIu64 " reset%s\n%8s %-16s", d->info.reset_count,
	       d->info.reset_count == 1 ? "" : "s", "PID", "COMMAND");
	for (unsigned int i = 0; i < d->info.core_count; i++)
		printf(" %7s%%", d->core[i]);
	printf(" %10s %12s %10s\n", "BUSY s", "JOBS", "MEMORY MiB");
	for (unsigned int n = 0; n < b->clients.count; n++) {
		const struct client *c = &b->clients.at[n];
		uint64_t busy = 0, jobs = 0;

		printf("%8ld %-16s", c->pid, c->comm);
		for (unsigned int i = 0; i < d->info.core_count; i++) {
			printf(" %8.1f", 100 * client_load(a, b, c, i));
			busy += c->core[i].busy_ns;
			jobs += c->core[i].jobs;
		}
		printf(" %10.2f %12" PRIu64 " %10.1f\n", (double)busy / 1e9, jobs,
		       (double)c->memory_kib / 1024);
	}
	if (b->clients.truncated)
		printf("and more: only %u clients are shown\n", b->clients.count);
}

static void json_client(struct json *j, const struct sample *a, const struct sample *b,
			const struct client *c)
{
	json_open(j, NULL, '{');
	JSON_MEMBERS(j, U64("pid", (uint64_t)c->pid), TEXT("command", c->comm),
		     U64("client_id", c->id), U64("memory_kib", c->memory_kib),
		     U64("resident_kib", c->resident_kib));
	json_open(j, "cores", '[');
	for (unsigned int i = 0; i < b->device.info.core_count; i++) {
		json_open(j, NULL, '{');
		json_string(j, "name", b->device.core[i]);
		json_double(j, "load", client_load(a, b, c, i));
		json_usage(j, &c->core[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void print_json(const struct sample *a, const struct sample *b)
{
	struct json j = { .out = stdout, .one_line = true };

	json_open(&j, NULL, '{');
	JSON_MEMBERS(&j, TEXT("path", b->device.info.path), TEXT("bus", b->device.info.bus),
		     U64("interval_ns", b->ns - a->ns),
		     U64("reset_count", b->device.info.reset_count));
	json_open(&j, "cores", '[');
	for (unsigned int i = 0; i < b->device.info.core_count; i++) {
		json_open(&j, NULL, '{');
		json_string(&j, "name", b->device.core[i]);
		json_double(&j, "load", core_load(a, b, i));
		json_u64(&j, "busy_ns", b->device.core_busy_ns[i]);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_open(&j, "clients", '[');
	for (unsigned int i = 0; i < b->clients.count; i++)
		json_client(&j, a, b, &b->clients.at[i]);
	json_close(&j, ']');
	json_bool(&j, "clients_truncated", b->clients.truncated);
	json_close(&j, '}');
}

static int watch(struct cnnrt_device *dev, const struct options *o, struct sample *a,
		 struct sample *b)
{
	bool live = !o->once && !o->common.json && isatty(STDOUT_FILENO);
	struct cnnrt_error err;
	int ret = clients_device(dev, &a->device) ?: take_sample(a);

	while (!ret) {
		struct sample *next = a;

		usleep((useconds_t)o->interval_ms * 1000);
		b->device = a->device;
		if (cnnrt_device_info(dev, &b->device.info, &err))
			return complain_error(&err);
		ret = take_sample(b);
		if (ret)
			break;
		if (live)
			fputs("\033[H\033[J", stdout);
		if (o->common.json)
			print_json(a, b);
		else
			print_text(a, b);
		if (o->once || fflush(stdout))
			break;
		a = b;
		b = next;
	}
	return ret;
}

int cmd_top(int argc, char **argv)
{
	struct sample *samples;
	struct cnnrt_device *dev;
	struct options o = { .interval_ms = DEFAULT_INTERVAL_MS };
	int ret = opt_parse(&top_command, argc, argv, &o, NULL) ?:
		  open_device(o.common.device, 0, &dev);

	if (ret)
		return ret;
	samples = calloc(2, sizeof(*samples));
	ret = samples ? watch(dev, &o, &samples[0], &samples[1]) :
			complain(EXIT_FAILED, "top: out of memory");
	free(samples);
	cnnrt_device_close(dev);
	return ret;
}
