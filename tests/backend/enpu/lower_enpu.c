// SPDX-License-Identifier: MIT
/*
 * Random networks on core enpu of several sizes against the operators on the CPU, bit for bit, as a
 * whole and layer by layer; the compiler's cycles against the device's; what is refused, and why.
 * Usage: lower_enpu [--count N] [--seed N]; TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_run.h"
#include "enpu_net.h"

/* On small devices, about one network in so many has nothing that fits the core. */
static const struct {
	const char *name;
	uint32_t refused;
} devices[] = {
	{ "sim:cores=enpu", 20 },
	{ "sim:cores=enpu:dtcm=20480:skip=20480:weight=24576:prefetch=off", 20 },
	{ "sim:cores=enpu:dtcm=1024:skip=1024:weight=8192:itcm=256:program=16384", 5 },
	{ "sim:cores=enpu:itcm=64", 5 },
	{ "sim:cores=enpu:dtcm=4096:skip=2048:weight=16384:psum-bits=24:job-cycles-max=400000", 5 },
};

static void *random_net(uint32_t seed, size_t *len)
{
	struct enpu_net n;

	random_state = seed * 2654435761u + 1;
	enpu_net_begin(&n, pick(0, 7) ? 1 : 2, pick(0, 2) ? pick(1, 40) : pick(1, 256),
		       pick(1, 24), pick(1, 24));
	enpu_net_random(&n, (int)pick(1, 8));
	if (pick(0, 5) == 0 && n.map[n.maps - 1].h * n.map[n.maps - 1].w == 1)
		enpu_net_matmul(&n, n.maps - 1, pick(1, 300));
	return enpu_net_end(&n, len);
}

static const char *run_random(struct bench *t, uint32_t seed)
{
	struct answer got;
	size_t len;
	void *file = random_net(seed, &len);
	const char *wrong = seed % 4 ? run_both(t, file, len, seed % 4 == 1, seed + 1, &got) :
				       run_compared(t, file, len, seed + 1, &got);

	free(file);
	return with_seed(wrong, seed);
}

static void check_random(uint32_t seed, uint32_t count)
{
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		struct bench t = { .core = "enpu" };
		const char *wrong = bench_open(&t, devices[i].name) ? t.err.text : NULL;

		t.refused = 1 + count / devices[i].refused;
		for (uint32_t k = 0; k < count && !wrong; k++)
			wrong = run_random(&t, seed + k);
		check(devices[i].name, wrong);
		bench_close(&t);
	}
}

int main(int argc, char **argv)
{
	uint32_t seed = 1, count = 100;

	read_options(argc, argv, &seed, &count);
	check_random(seed, count);
	return end_checks();
}
