/* SPDX-License-Identifier: MIT */
/* cnnctl events: what a raw program raises, as it comes. */
#include "cnnctl.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define POLL_NS	50000000	/* how late the end may be seen */

struct event_watch {
	struct cnnrt_event *event;
	const char *core;
	pthread_t thread;
	atomic_bool stop;
	uint64_t start_ns, total;
};

static bool print_events(struct event_watch *w, int64_t timeout_ns)
{
	uint64_t count;

	if (cnnrt_event_read(w->event, timeout_ns, &count, NULL))
		return false;
	w->total += count;
	printf("%12.3f ms  %s: %" PRIu64 " event%s, %" PRIu64 " in all\n",
	       (double)(now_ns() - w->start_ns) / 1e6, w->core, count, count == 1 ? "" : "s",
	       w->total);
	fflush(stdout);
	return true;
}

static void *watch(void *arg)
{
	struct event_watch *w = arg;

	while (!atomic_load(&w->stop))
		print_events(w, POLL_NS);
	return NULL;
}

int start_events(struct cnnrt_device *dev, unsigned int core, const char *name,
		 struct event_watch **out)
{
	struct event_watch *w = calloc(1, sizeof(*w));
	struct cnnrt_error err;

	if (!w)
		return complain(EXIT_FAILED, "events: out of memory");
	w->core = name;
	w->start_ns = now_ns();
	if (cnnrt_event_create(dev, core, &w->event, &err)) {
		free(w);
		return complain_error(&err);
	}
	if (pthread_create(&w->thread, NULL, watch, w)) {
		cnnrt_event_destroy(w->event);
		free(w);
		return complain(EXIT_FAILED, "events: no memory for a thread");
	}
	*out = w;
	return EXIT_DONE;
}

uint64_t end_events(struct event_watch *w)
{
	uint64_t total;

	atomic_store(&w->stop, true);
	pthread_join(w->thread, NULL);
	print_events(w, 0);
	total = w->total;
	cnnrt_event_destroy(w->event);
	free(w);
	return total;
}
