// SPDX-License-Identifier: MIT
#include "spoil.h"

#include "words.h"

/* A hole in RAM over a line of data, a table entry or a whole page. */
static void make_hole(struct prng *prng, struct job *job, uint64_t address, uint64_t length)
{
	struct image *image = job->space.image;

	if (prng_chance(prng, 30)) {
		length = CNNACC_PAGE_SIZE;
		address -= address % length;
	}
	image->hole = address;
	image->hole_length = length;
}

static uint64_t bus_of(const struct job *job, const uint8_t *at)
{
	return IMAGE_BASE + (at - job->space.image->bytes);
}

static void spoil_page(struct prng *prng, struct job *job, uint64_t va, uint32_t permission)
{
	uint8_t *entry = space_page_entry(&job->space, va);
	uint32_t pte = word_get(entry, 0);

	switch (prng_range(prng, 0, 5)) {
	case 0:
		word_put(entry, 0, pte & ~CNNACC_PTE_VALID);
		break;
	case 1:
		word_put(entry, 0, 0);
		break;
	case 2:
		word_put(entry, 0, pte & ~permission);
		break;
	case 3:
		word_put(entry, 0, (pte & CNNACC_PTE_FLAGS) | CNNACC_PTE_ADDR(IMAGE_HOLE));
		break;
	case 4:
		make_hole(prng, job, bus_of(job, space_at(&job->space, va)), CNNACC_LINE_SIZE);
		break;
	default:
		make_hole(prng, job, bus_of(job, entry), 4);
		break;
	}
}

static void spoil_dir(struct prng *prng, struct job *job, uint64_t va)
{
	uint8_t *entry = space_dir_entry(&job->space, va);
	uint32_t dir = word_get(entry, 0);

	switch (prng_range(prng, 0, 4)) {
	case 0:
		word_put(entry, 0, dir & ~CNNACC_PTE_VALID);
		break;
	case 1:
		word_put(entry, 0, dir | 1u << prng_range(prng, 1, 3));
		break;
	case 2:
		word_put(entry, 0, CNNACC_PTE_ADDR(IMAGE_HOLE) | CNNACC_PTE_VALID);
		break;
	default:
		make_hole(prng, job, bus_of(job, entry), 4);
		break;
	}
}

/* Pick each kind of access equally often; the statistics record is the last region. */
static const struct job_region *pick_region(struct prng *prng, const struct job *job)
{
	static const uint32_t kinds[] = { CNNACC_PTE_READ, CNNACC_PTE_WRITE, CNNACC_PTE_EXEC };
	uint32_t kind = kinds[prng_range(prng, 0, 2)];

	if (prng_chance(prng, 15))
		return &job->region[job->regions - 1];
	for (;;) {
		const struct job_region *region =
			&job->region[prng_range(prng, 0, job->regions - 1)];

		if (region->permissions & kind)
			return region;
	}
}

void spoil_region(struct prng *prng, struct job *job, const struct job_region *region)
{
	uint64_t lines = region->length / CNNACC_LINE_SIZE;
	uint64_t va = region->va + prng_range(prng, 0, lines - 1) * CNNACC_LINE_SIZE;

	if (prng_chance(prng, 60))
		spoil_page(prng, job, va, region->permissions);
	else
		spoil_dir(prng, job, va);
}

void spoil_memory(struct prng *prng, struct job *job)
{
	spoil_region(prng, job, pick_region(prng, job));
}

void spoil_fault(struct prng *prng, struct job *job)
{
	if (prng_chance(prng, 85))
		spoil_memory(prng, job);
	if (prng_chance(prng, 3))
		job->packet.root = IMAGE_HOLE;
}

void spoil_program(struct prng *prng, struct program *program)
{
	for (int64_t n = prng_range(prng, 1, 3); n; n--)
		program->word[prng_range(prng, 0, program->length - 1)] ^=
			1u << prng_range(prng, 0, 31);
}

void spoil_packet(struct prng *prng, struct cnnacc_packet *p, uint32_t program_max,
		  uint64_t job_cycles_max)
{
	switch (prng_range(prng, CNNACC_PACKET_BAD_FLAGS, CNNACC_PACKET_BAD_RESERVED)) {
	case CNNACC_PACKET_BAD_FLAGS:
		p->flags |= 1u << prng_range(prng, 3, 31);
		break;
	case CNNACC_PACKET_BAD_CTX:
		p->ctx_id = prng_chance(prng, 50) ? 65536 : prng_range(prng, 65536, 0xffffffff);
		break;
	case CNNACC_PACKET_BAD_ROOT:
		if (prng_chance(prng, 20))
			p->root = 1ull << CNNACC_BUS_ADDR_BITS;
		else
			p->root |= 1ull << (prng_chance(prng, 50) ? prng_range(prng, 0, 11) :
								  prng_range(prng, 40, 63));
		break;
	case CNNACC_PACKET_BAD_LIMIT:
		p->cycle_limit = prng_chance(prng, 50) ? 0 : job_cycles_max + 1;
		break;
	case CNNACC_PACKET_BAD_PROGRAM_VA:
		p->program_va |= 1u << prng_range(prng, 0, 5);
		break;
	case CNNACC_PACKET_BAD_PROGRAM_LEN:
		p->program_len = prng_chance(prng, 30) ? 0 : prng_chance(prng, 50) ?
				 p->program_len | 1u << prng_range(prng, 0, 1) : program_max + 4;
		break;
	case CNNACC_PACKET_BAD_STATS_VA:
		p->stats_va |= 1u << prng_range(prng, 0, 5);
		break;
	default:
		p->reserved[prng_range(prng, 0, 4)] = 1u << prng_range(prng, 0, 31);
		break;
	}
	/* At times spoil a second field, to check which one is reported. */
	if (prng_chance(prng, 25))
		spoil_packet(prng, p, program_max, job_cycles_max);
}
