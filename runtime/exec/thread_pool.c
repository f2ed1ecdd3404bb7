/* SPDX-License-Identifier: MIT */
/*
 * A thread pool for one caller. Threads take the parts of a call one by one: the caller can finish
 * a small operator alone before another thread wakes up, and does not wait for late threads.
 *
 * Sleeping and waking take longer than many operators. So the caller spins until the last parts are
 * done, and the other threads spin between operators that follow one another.
 */
#include "thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SPINS		10000	/* tens to hundreds of microseconds */
#define PAUSE_EVERY	16	/* spins; an emulated CPU leaves its fast path at a pause */

struct rt_thread_pool {
	struct cnn_workers workers;
	pthread_t threads[RT_THREAD_POOL_MAX - 1];
	int thread_count;
	bool started;

	/* The current call; unchanged while it is open or a thread is active. */
	void (*fn)(void *arg, int part);
	void *arg;
	int parts;
	atomic_int next;   /* first part that no thread has taken */
	atomic_bool open;  /* false: all parts are taken */
	atomic_int active; /* threads that may call fn, without the caller */

	atomic_bool expect_calls; /* threads spin for the next call before they sleep */
	atomic_bool waiting;	  /* the caller sleeps until no thread is active */
	atomic_int sleepers;
	pthread_mutex_t lock; /* protects what follows; held to sleep and to wake */
	pthread_cond_t wake, all_left;
	unsigned int wakeups;
	bool quit;
};

static void cpu_relax(int spin)
{
	if (spin % PAUSE_EVERY)
		return;
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void do_parts(struct rt_thread_pool *pool)
{
	int part;

	while ((part = atomic_fetch_add(&pool->next, 1)) < pool->parts)
		pool->fn(pool->arg, part);
	atomic_store(&pool->open, false);
}

static void join_call(struct rt_thread_pool *pool)
{
	atomic_fetch_add(&pool->active, 1);
	if (atomic_load(&pool->open))
		do_parts(pool);
	if (atomic_fetch_sub(&pool->active, 1) > 1 || !atomic_load(&pool->waiting))
		return;
	pthread_mutex_lock(&pool->lock);
	pthread_cond_signal(&pool->all_left);
	pthread_mutex_unlock(&pool->lock);
}

static bool spin_for_work(struct rt_thread_pool *pool)
{
	for (int i = 0; i < SPINS && atomic_load(&pool->expect_calls); i++) {
		if (atomic_load(&pool->open))
			return true;
		cpu_relax(i);
	}
	return atomic_load(&pool->open);
}

/* False: the pool is being freed. */
static bool sleep_until_woken(struct rt_thread_pool *pool)
{
	unsigned int wakeups;
	bool quit;

	pthread_mutex_lock(&pool->lock);
	atomic_fetch_add(&pool->sleepers, 1);
	wakeups = pool->wakeups;
	while (!pool->quit && !atomic_load(&pool->open) && wakeups == pool->wakeups)
		pthread_cond_wait(&pool->wake, &pool->lock);
	atomic_fetch_sub(&pool->sleepers, 1);
	quit = pool->quit;
	pthread_mutex_unlock(&pool->lock);
	return !quit;
}

static void *thread_main(void *opaque)
{
	struct rt_thread_pool *pool = opaque;

	do {
		while (spin_for_work(pool))
			join_call(pool);
	} while (sleep_until_woken(pool));
	return NULL;
}

static int cpu_count(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return count < RT_THREAD_POOL_MAX ? count : RT_THREAD_POOL_MAX;
}

static void start(struct rt_thread_pool *pool)
{
	int wanted = cpu_count() - 1;
	sigset_t all, old;

	/* The application's threads handle its signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (pool->thread_count < wanted &&
	       !pthread_create(&pool->threads[pool->thread_count], NULL, thread_main, pool))
		pool->thread_count++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pool->started = true;
}

static void wake(struct rt_thread_pool *pool)
{
	if (!atomic_load(&pool->sleepers))
		return;
	pthread_mutex_lock(&pool->lock);
	pool->wakeups++;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
}

static void wait_for_others(struct rt_thread_pool *pool)
{
	for (int i = 0; i < SPINS; i++) {
		if (!atomic_load(&pool->active))
			return;
		cpu_relax(i);
	}
	pthread_mutex_lock(&pool->lock);
	atomic_store(&pool->waiting, true);
	while (atomic_load(&pool->active))
		pthread_cond_wait(&pool->all_left, &pool->lock);
	atomic_store(&pool->waiting, false);
	pthread_mutex_unlock(&pool->lock);
}

static void run(struct cnn_workers *workers, int parts, void (*fn)(void *arg, int part), void *arg)
{
	struct rt_thread_pool *pool = (struct rt_thread_pool *)workers;

	if (!pool->started)
		start(pool);
	pool->fn = fn;
	pool->arg = arg;
	pool->parts = parts;
	atomic_store(&pool->next, 0);
	atomic_store(&pool->open, true);
	wake(pool);
	do_parts(pool);
	wait_for_others(pool);
}

void rt_thread_pool_wake(struct rt_thread_pool *pool)
{
	atomic_store(&pool->expect_calls, true);
	wake(pool);
}

void rt_thread_pool_idle(struct rt_thread_pool *pool)
{
	atomic_store(&pool->expect_calls, false);
}

struct rt_thread_pool *rt_thread_pool_create(void)
{
	struct rt_thread_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->workers.run = run;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	pthread_cond_init(&pool->all_left, NULL);
	return pool;
}

void rt_thread_pool_free(struct rt_thread_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->quit = true;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	for (int i = 0; i < pool->thread_count; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->all_left);
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

struct cnn_workers *rt_thread_pool_workers(struct rt_thread_pool *pool)
{
	return &pool->workers;
}
