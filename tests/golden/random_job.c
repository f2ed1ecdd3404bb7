// SPDX-License-Identifier: MIT
#include "random_job.h"

#include "min_max.h"

#define LINE		CNNACC_LINE_SIZE
#define LAST_LINE	0xffffffc0u
#define PARAM(memory)	((uint32_t)(memory) << CNNACC_SEQ_PARAM_SHIFT)
#define COPY_BYTES	2000	/* that a random COPY2D moves at most */

void random_job_begin(struct job *job, struct image *image, struct places *places,
		      struct prng *prng, bool fault)
{
	places_begin(places, prng, fault ? PLACES_NEAR : 3);
	job_begin(job, image, prng);
	job->packet.ctx_id = prng_chance(prng, 80) ? 7 : prng_chance(prng, 50) ? 0 : 65535;
}

struct random_region random_job_region(struct job *job, struct places *places, uint64_t bytes,
				       uint32_t permissions)
{
	uint64_t lines = (bytes + LINE - 1) / LINE;
	struct random_region r = { places_take(places, lines), lines * LINE };

	job_region(job, r.va, lines, permissions);
	return r;
}

void random_job_finish(struct job *job, struct places *places, bool fault)
{
	uint32_t length = 4 * job->program.length;
	uint32_t program_va = places_take(places, (length + LINE - 1) / LINE);
	uint32_t stats_va = places_take(places, 2);

	/* The rest is beyond 4 GiB; VA 0 is mapped, so that a wrap would not fault. */
	if (fault && prng_chance(places->prng, 6))
		program_va = LAST_LINE;
	if (fault && prng_chance(places->prng, 6))
		stats_va = LAST_LINE;
	job_finish(job, program_va, stats_va);
}

void random_job_flags(struct job *job, struct prng *prng)
{
	struct cnnacc_packet *packet = &job->packet;

	packet->flags = (prng_chance(prng, 95) ? CNNACC_PACKET_STATS : 0) |
			(prng_chance(prng, 30) ? CNNACC_PACKET_IRQ : 0) |
			(prng_chance(prng, 30) ? CNNACC_PACKET_EVENT_WAIT : 0);
	if (!(packet->flags & CNNACC_PACKET_STATS))
		packet->stats_va = prng_next(prng);
}

/* ---------------------------------------------------------- the sequencer */

struct cnnacc_seq_command random_copy(struct prng *prng, const struct random_bytes *local,
				      const struct random_region *region, bool out)
{
	int64_t rows = prng_range(prng, 1, 4), bytes, room;
	struct cnnacc_seq_command c = {
		.op = CNNACC_SEQ_COPY2D | (out ? CNNACC_SEQ_TO_MEMORY : 0) | PARAM(local->memory),
	};

	bytes = prng_range(prng, 1, min64(local->length, min64(region->length, COPY_BYTES)) / rows);
	c.arg[2] = prng_chance(prng, 3) ? 0 : rows;
	c.arg[3] = prng_chance(prng, 3) ? 0 : bytes;
	if (rows > 1) {
		c.arg[4] = prng_range(prng, 0, (region->length - bytes) / (rows - 1));
		c.arg[5] = prng_range(prng, 0, (local->length - bytes) / (rows - 1));
	}
	room = region->length - ((rows - 1) * c.arg[4] + bytes);
	c.arg[0] = region->va + prng_range(prng, 0, room);
	room = local->length - ((rows - 1) * c.arg[5] + bytes);
	c.arg[1] = local->first + (prng_chance(prng, 25) ? 0 : prng_chance(prng, 25) ? room :
				   prng_range(prng, 0, room));
	return c;
}

struct cnnacc_seq_command random_fill(struct prng *prng, const struct random_bytes *local)
{
	int64_t rows = prng_range(prng, 1, 4), room;
	int64_t bytes = prng_range(prng, 1, min64(local->length, 64) / 4);
	struct cnnacc_seq_command c = { .op = CNNACC_SEQ_FILL | PARAM(local->memory) };

	c.arg[0] = prng_range(prng, 0, 255);
	c.arg[2] = rows;
	c.arg[3] = prng_chance(prng, 5) ? 0 : bytes;
	c.arg[5] = rows > 1 ? prng_range(prng, 0, (local->length - bytes) / (rows - 1)) : 0;
	room = local->length - ((rows - 1) * c.arg[5] + bytes);
	c.arg[1] = local->first + prng_range(prng, 0, room);
	return c;
}

struct cnnacc_seq_command copy_all(const struct random_bytes *local, uint32_t va, bool out)
{
	return (struct cnnacc_seq_command){
		CNNACC_SEQ_COPY2D | (out ? CNNACC_SEQ_TO_MEMORY : 0) | PARAM(local->memory),
		{ va, local->first, 1, local->length },
	};
}
