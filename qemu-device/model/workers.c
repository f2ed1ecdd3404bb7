// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * A run is published as one word with a bit for each unclaimed part.  The thread with the part's
 * index or the caller claims the part by clearing its bit and then does it, so the run does not
 * wait for a thread that the host has not scheduled.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "cnnacc_model.h"
#include "workers.h"

#define SPINS		10000	/* 150 to 500 us: longer than a job's pause between two runs */

_Static_assert(CM_MAX_THREADS <= 64, "a bit for each part");

struct helper {
	struct cm_workers *workers;
	unsigned int index;
	pthread_t thread;
};

struct cm_workers {
	atomic_uint_fast64_t work;	/* mask of unclaimed parts */
	atomic_uint done;		/* number of completed parts */
	atomic_uint sleepers;
	atomic_bool waiting;		/* the caller sleeps until all parts are done */
	atomic_bool idle;		/* do not poll for the next run */
	bool quit;

	/* The run; unchanged while a claimed part is not done. */
	void (*fn)(void *opaque, unsigned int part, unsigned int thread);
	void *opaque;

	pthread_mutex_t caller;		/* held by the core that uses the threads */
	pthread_mutex_t lock;		/* protects quit and both conditions */
	pthread_cond_t wake, finished;
	unsigned int count;
	struct helper helper[];
};

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Claim one of the parts in @mask; false if none is unclaimed. */
static bool claim(struct cm_workers *w, uint64_t mask, unsigned int *part)
{
	uint_fast64_t work = atomic_load(&w->work);

	while (work & mask) {
		*part = (unsigned int)__builtin_ctzll(work & mask);
		if (atomic_compare_exchange_weak(&w->work, &work,
						 work & ~((uint64_t)1 << *part)))
			return true;
	}
	return false;
}

static void finish(struct cm_workers *w)
{
	atomic_fetch_add(&w->done, 1);
	if (!atomic_load(&w->waiting))
		return;
	pthread_mutex_lock(&w->lock);
	pthread_cond_signal(&w->finished);
	pthread_mutex_unlock(&w->lock);
}

static bool work_there(struct cm_workers *w, uint64_t mask)
{
	return atomic_load(&w->work) & mask;
}

/* Return false when the threads are to exit. */
static bool wait_for_work(struct cm_workers *w, uint64_t mask)
{
	bool quit;

	for (unsigned int i = 0; i < SPINS && !atomic_load(&w->idle); i++) {
		if (work_there(w, mask))
			return true;
		relax();
	}
	pthread_mutex_lock(&w->lock);
	atomic_fetch_add(&w->sleepers, 1);
	while (!w->quit && !work_there(w, mask))
		pthread_cond_wait(&w->wake, &w->lock);
	atomic_fetch_sub(&w->sleepers, 1);
	quit = w->quit;
	pthread_mutex_unlock(&w->lock);
	return !quit;
}

static void *helper_main(void *opaque)
{
	struct helper *helper = opaque;
	struct cm_workers *w = helper->workers;
	uint64_t mask = (uint64_t)1 << helper->index;
	unsigned int part;

	while (wait_for_work(w, mask))
		while (claim(w, mask, &part)) {
			w->fn(w->opaque, part, helper->index);
			finish(w);
		}
	return NULL;
}

/* The threads block all signals: handlers belong to the host's threads. */
static int start(struct helper *helper)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&helper->thread, NULL, helper_main, helper);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}

struct cm_workers *cm_workers_create(unsigned int threads)
{
	unsigned int helpers = threads - 1;
	struct cm_workers *w = calloc(1, sizeof(*w) + helpers * sizeof(w->helper[0]));

	if (!w)
		return NULL;
	pthread_mutex_init(&w->caller, NULL);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	pthread_cond_init(&w->finished, NULL);
	for (unsigned int i = 0; i < helpers; i++) {
		w->helper[i] = (struct helper){ .workers = w, .index = i + 1 };
		if (start(&w->helper[i]))
			break;
		w->count++;
	}
	return w;
}

void cm_workers_destroy(struct cm_workers *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->quit = true;
	pthread_cond_broadcast(&w->wake);
	pthread_mutex_unlock(&w->lock);
	for (unsigned int i = 0; i < w->count; i++)
		pthread_join(w->helper[i].thread, NULL);
	pthread_cond_destroy(&w->finished);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->caller);
	free(w);
}

/* Publish a run of the parts in @mask; false if there are no threads or another core uses them. */
static bool publish(struct cm_workers *w,
		    void (*fn)(void *opaque, unsigned int part, unsigned int thread),
		    void *opaque, uint64_t mask)
{
	if (!w->count || pthread_mutex_trylock(&w->caller))
		return false;
	w->fn = fn;
	w->opaque = opaque;
	atomic_store(&w->idle, false);
	atomic_store(&w->done, 0);
	atomic_store(&w->work, mask);
	if (!atomic_load(&w->sleepers))
		return true;
	pthread_mutex_lock(&w->lock);
	pthread_cond_broadcast(&w->wake);
	pthread_mutex_unlock(&w->lock);
	return true;
}

static void wait_for_parts(struct cm_workers *w, unsigned int parts)
{
	for (unsigned int i = 0; i < SPINS; i++) {
		if (atomic_load(&w->done) == parts)
			return;
		relax();
	}
	pthread_mutex_lock(&w->lock);
	atomic_store(&w->waiting, true);
	while (atomic_load(&w->done) < parts)
		pthread_cond_wait(&w->finished, &w->lock);
	atomic_store(&w->waiting, false);
	pthread_mutex_unlock(&w->lock);
}

void cm_workers_idle(struct cm_workers *w)
{
	atomic_store(&w->idle, true);
}

void cm_workers_run(struct cm_workers *w,
		    void (*fn)(void *opaque, unsigned int part, unsigned int thread),
		    void *opaque, unsigned int parts)
{
	unsigned int part;

	if (parts < 2 || !publish(w, fn, opaque, UINT64_MAX >> (64 - parts))) {
		for (part = 0; part < parts; part++)
			fn(opaque, part, 0);
		return;
	}
	while (claim(w, UINT64_MAX, &part)) {
		fn(opaque, part, 0);
		atomic_fetch_add(&w->done, 1);
	}
	wait_for_parts(w, parts);
	pthread_mutex_unlock(&w->caller);
}

/* Mask of the parts with the indices of the helper threads, 1.. */
static uint64_t helper_parts(const struct cm_workers *w)
{
	return (UINT64_MAX >> (63 - w->count)) & ~(uint64_t)1;
}

bool cm_workers_start(struct cm_workers *w,
		      void (*fn)(void *opaque, unsigned int part, unsigned int thread),
		      void *opaque)
{
	return publish(w, fn, opaque, helper_parts(w));
}

void cm_workers_stop(struct cm_workers *w)
{
	uint64_t begun = helper_parts(w) & ~(uint64_t)atomic_exchange(&w->work, 0);

	wait_for_parts(w, (unsigned int)__builtin_popcountll(begun));
	pthread_mutex_unlock(&w->caller);
}
