// SPDX-License-Identifier: MIT
/* The threads that share the work of operators: every part once, and all before run returns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "exec/thread_pool.h"

#define PARTS	40
#define CALLS	2000
#define SLEEP	100	/* calls; then long enough for the threads to give up looking out */

struct call {
	int done[PARTS];	/* each the business of one thread */
	atomic_int slow;	/* part that takes its time */
};

static void part(void *arg, int i)
{
	struct call *c = arg;

	if (i == atomic_load(&c->slow))
		usleep(50);
	c->done[i]++;
}

static void call(struct rt_thread_pool *pool, int number)
{
	struct cnn_workers *w = rt_thread_pool_workers(pool);
	int parts = 1 + number % PARTS;
	struct call c = { .slow = number % 7 ? -1 : number % parts };

	w->run(w, parts, part, &c);
	for (int i = 0; i < PARTS; i++)
		assert_int_equal(c.done[i], i < parts);
}

static void test_calls(void **state)
{
	struct rt_thread_pool *pool = rt_thread_pool_create();

	(void)state;
	assert_non_null(pool);
	rt_thread_pool_wake(pool);
	for (int i = 0; i < CALLS; i++) {
		if (i % 5 == 0)
			rt_thread_pool_wake(pool);
		call(pool, i);
		if (i % 3 == 0)
			rt_thread_pool_idle(pool);
		if (i % SLEEP == 0)
			usleep(5000);
	}
	rt_thread_pool_free(pool);
}

/* Whatever its threads are about. */
static void test_ends(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct rt_thread_pool *pool = rt_thread_pool_create();

		assert_non_null(pool);
		if (i % 2)
			call(pool, PARTS - 1);
		if (i % 4 > 1)
			rt_thread_pool_wake(pool);
		if (i % 8 > 3)
			usleep(1000);
		rt_thread_pool_free(pool);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
