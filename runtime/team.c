/* SPDX-License-Identifier: MIT */
/*
 * Parts are taken one by one, so that the caller has done all of a small operator before another
 * thread has woken up, and waits for no thread that came too late.
 */
#include "team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

struct rt_team {
	struct cnn_workers workers;
	pthread_t threads[RT_TEAM_MAX - 1];
	int thread_count;
	bool started;
	pthread_mutex_t lock;		/* what follows, but for next */
	pthread_cond_t begun, left;
	void (*fn)(void *arg, int part);	/* NULL: nothing to do */
	void *arg;
	int parts, inside;		/* inside: threads that may still call fn */
	bool quit;
	atomic_int next;		/* part that nobody has taken */
};

static void work(struct rt_team *team, void (*fn)(void *arg, int part), void *arg, int parts)
{
	int part;

	while ((part = atomic_fetch_add(&team->next, 1)) < parts)
		fn(arg, part);
}

/* With the lock held, which it gives up meanwhile. */
static void help(struct rt_team *team)
{
	void (*fn)(void *arg, int part) = team->fn;
	void *arg = team->arg;
	int parts = team->parts;

	team->inside++;
	pthread_mutex_unlock(&team->lock);
	work(team, fn, arg, parts);
	pthread_mutex_lock(&team->lock);
	if (!--team->inside)
		pthread_cond_signal(&team->left);
}

static void *member(void *opaque)
{
	struct rt_team *team = opaque;

	pthread_mutex_lock(&team->lock);
	while (!team->quit) {
		if (team->fn && atomic_load(&team->next) < team->parts)
			help(team);
		else
			pthread_cond_wait(&team->begun, &team->lock);
	}
	pthread_mutex_unlock(&team->lock);
	return NULL;
}

static int cpu_count(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return count < RT_TEAM_MAX ? count : RT_TEAM_MAX;
}

static void start(struct rt_team *team)
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

static void run(struct cnn_workers *workers, int parts, void (*fn)(void *arg, int part), void *arg)
{
	struct rt_team *team = (struct rt_team *)workers;

	if (!team->started)
		start(team);
	pthread_mutex_lock(&team->lock);
	team->fn = fn;
	team->arg = arg;
	team->parts = parts;
	atomic_store(&team->next, 0);
	pthread_cond_broadcast(&team->begun);
	pthread_mutex_unlock(&team->lock);
	work(team, fn, arg, parts);
	pthread_mutex_lock(&team->lock);
	team->fn = NULL;
	while (team->inside)
		pthread_cond_wait(&team->left, &team->lock);
	pthread_mutex_unlock(&team->lock);
}

struct rt_team *rt_team_create(void)
{
	struct rt_team *team = calloc(1, sizeof(*team));

	if (!team)
		return NULL;
	team->workers.run = run;
	pthread_mutex_init(&team->lock, NULL);
	pthread_cond_init(&team->begun, NULL);
	pthread_cond_init(&team->left, NULL);
	return team;
}

void rt_team_free(struct rt_team *team)
{
	if (!team)
		return;
	pthread_mutex_lock(&team->lock);
	team->quit = true;
	pthread_cond_broadcast(&team->begun);
	pthread_mutex_unlock(&team->lock);
	for (int i = 0; i < team->thread_count; i++)
		pthread_join(team->threads[i], NULL);
	pthread_cond_destroy(&team->left);
	pthread_cond_destroy(&team->begun);
	pthread_mutex_destroy(&team->lock);
	free(team);
}

struct cnn_workers *rt_team_workers(struct rt_team *team)
{
	return &team->workers;
}
