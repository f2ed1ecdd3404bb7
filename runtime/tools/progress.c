/* SPDX-License-Identifier: MIT */
/* Says how far a compilation is, once it takes over a second. */
#include "cnnrun.h"

#include <time.h>
#include <unistd.h>

#define FIRST_MS	1000
#define TTY_MS		100	/* from one line to the next, which takes its place */
#define FILE_MS		10000

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void progress_begin(struct progress *p)
{
	*p = (struct progress){ .next_ms = now_ms() + FIRST_MS, .tty = isatty(STDERR_FILENO) };
}

void progress_show(unsigned int done, unsigned int total, void *opaque)
{
	struct progress *p = opaque;
	int64_t now = now_ms();

	if (now < p->next_ms)
		return;
	fprintf(stderr, p->tty ? "\rcompiling: %u %%" : "compiling: %u %%\n",
		100 * done / (total ? total : 1));
	p->shown = true;
	p->next_ms = now + (p->tty ? TTY_MS : FILE_MS);
}

void progress_end(const struct progress *p)
{
	if (p->shown && p->tty)
		fputs("\r\033[K", stderr);
}
