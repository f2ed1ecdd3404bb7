/* SPDX-License-Identifier: MIT */
/*
 * Parts are taken one by one, so that the caller has done all of a small operator before another
 * thread has woken up, and waits for no thread that came too late.
 *
 * To go to sleep and be woken takes longer than many an operator: the caller spins until the last
 * parts are done, and the other threads while operators follow one another.
 */
#include "thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SPINS		10000	/* tens to hundreds of microseconds */
#define PAUSE_EVERY	16	/* spins; a pause makes an emulated processor leave its fast path */

struct rt_thread_pool {
	struct cnn_workers workers;
	pthread_t threads[RT_THREAD_POOL_MAX - 1];
	int thread_count;
	bool started;

	/* Of a call, unchanged while it is open or a thread inside. */
	void (*fn)(void *arg, int part);
	void *arg;
	int parts;
	atomic_int next;		/* part that nobody has taken */
	atomic_bool open;		/* there may be one */
	atomic_int inside;		/* threads that may call fn, without the caller */

	atomic_bool soon;		/* a call will come */
	atomic_bool waiting;		/* the caller, for those inside */
	atomic_int sleepers;
	pthread_mutex_t lock;		/* what follows, and to sleep */
	pthread_cond_t wake, left;
	unsigned int alarms;
	bool quit;
};

static void relax(int spin)
{
	if (spin % PAUSE_EVERY)
		return;
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void work(struct rt_thread_pool *team)
{
	int part;

	while ((part = atomic_fetch_add(&team->next, 1)) < team->parts)
		team->fn(team->arg, part);
	atomic_store(&team->open, false);
}

static void help(struct rt_thread_pool *team)
{
	atomic_fetch_add(&team->inside, 1);
	if (atomic_load(&team->open))
		work(team);
	if (atomic_fetch_sub(&team->inside, 1) > 1 || !atomic_load(&team->waiting))
		return;
	pthread_mutex_lock(&team->lock);
	pthread_cond_signal(&team->left);
	pthread_mutex_unlock(&team->lock);
}

static bool look_out(struct rt_thread_pool *team)
{
	for (int i = 0; i < SPINS && atomic_load(&team->soon); i++) {
		if (atomic_load(&team->open))
			return true;
		relax(i);
	}
	return atomic_load(&team->open);
}

/* False: there will be no more calls. */
static bool rest(struct rt_thread_pool *team)
{
	unsigned int alarms;
	bool quit;

	pthread_mutex_lock(&team->lock);
	atomic_fetch_add(&team->sleepers, 1);
	alarms = team->alarms;
	while (!team->quit && !atomic_load(&team->open) && alarms == team->alarms)
		pthread_cond_wait(&team->wake, &team->lock);
	atomic_fetch_sub(&team->sleepers, 1);
	quit = team->quit;
	pthread_mutex_unlock(&team->lock);
	return !quit;
}

static void *member(void *opaque)
{
	struct rt_thread_pool *team = opaque;

	do {
		while (look_out(team))
			help(team);
	} while (rest(team));
	return NULL;
}

static int cpu_count(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return count < RT_THREAD_POOL_MAX ? count : RT_THREAD_POOL_MAX;
}

static void start(struct rt_thread_pool *team)
{
	int wanted = cpu_count() - 1;
	sigset_t all, old;

	/* Signals are the application's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (team->thread_count < wanted &&
	       !pthread_create(&team->threads[team->thread_count], NULL, member, team))
		team->thread_count++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	team->started = true;
}

static void wake(struct rt_thread_pool *team)
{
	if (!atomic_load(&team->sleepers))
		return;
	pthread_mutex_lock(&team->lock);
	team->alarms++;
	pthread_cond_broadcast(&team->wake);
	pthread_mutex_unlock(&team->lock);
}

static void wait_for_others(struct rt_thread_pool *team)
{
	for (int i = 0; i < SPINS; i++) {
		if (!atomic_load(&team->inside))
			return;
		relax(i);
	}
	pthread_mutex_lock(&team->lock);
	atomic_store(&team->waiting, true);
	while (atomic_load(&team->inside))
		pthread_cond_wait(&team->left, &team->lock);
	atomic_store(&team->waiting, false);
	pthread_mutex_unlock(&team->lock);
}

static void run(struct cnn_workers *workers, int parts, void (*fn)(void *arg, int part), void *arg)
{
	struct rt_thread_pool *team = (struct rt_thread_pool *)workers;

	if (!team->started)
		start(team);
	team->fn = fn;
	team->arg = arg;
	team->parts = parts;
	atomic_store(&team->next, 0);
	atomic_store(&team->open, true);
	wake(team);
	work(team);
	wait_for_others(team);
}

void rt_thread_pool_wake(struct rt_thread_pool *team)
{
	atomic_store(&team->soon, true);
	wake(team);
}

void rt_thread_pool_idle(struct rt_thread_pool *team)
{
	atomic_store(&team->soon, false);
}

struct rt_thread_pool *rt_thread_pool_create(void)
{
	struct rt_thread_pool *team = calloc(1, sizeof(*team));

	if (!team)
		return NULL;
	team->workers.run = run;
	pthread_mutex_init(&team->lock, NULL);
	pthread_cond_init(&team->wake, NULL);
	pthread_cond_init(&team->left, NULL);
	return team;
}

void rt_thread_pool_free(struct rt_thread_pool *team)
{
	if (!team)
		return;
	pthread_mutex_lock(&team->lock);
	team->quit = true;
	pthread_cond_broadcast(&team->wake);
	pthread_mutex_unlock(&team->lock);
	for (int i = 0; i < team->thread_count; i++)
		pthread_join(team->threads[i], NULL);
	pthread_cond_destroy(&team->left);
	pthread_cond_destroy(&team->wake);
	pthread_mutex_destroy(&team->lock);
	free(team);
}

struct cnn_workers *rt_thread_pool_workers(struct rt_thread_pool *team)
{
	return &team->workers;
}
