// SPDX-License-Identifier: MIT
#include "job.h"

#include <string.h>

void job_begin(struct job *job, struct image *image, struct prng *prng)
{
	image->hole_length = 0;
	job->space.image = image;
	space_reset(&job->space, prng);
	job->program.length = 0;
	job->segments = 0;
	job->regions = 0;
	memset(&job->packet, 0, sizeof(job->packet));
	job->packet.root = job->space.root;
	job->packet.flags = CNNACC_PACKET_STATS;
	job->packet.ctx_id = 1;
	job->packet.cycle_limit = 1u << 30;
}

void job_region(struct job *job, uint64_t va, uint64_t lines, uint32_t permissions)
{
	if (!lines)
		return;
	space_map(&job->space, va, lines * CNNACC_LINE_SIZE, permissions);
	if (job->regions < JOB_REGIONS)
		job->region[job->regions++] =
			(struct job_region){ va, lines * CNNACC_LINE_SIZE, permissions };
}

static uint64_t lines_of(uint64_t bytes)
{
	return (bytes + CNNACC_LINE_SIZE - 1) / CNNACC_LINE_SIZE;
}

static void write_code(struct job *job, uint32_t va, const struct program *code)
{
	uint8_t bytes[4 * PROGRAM_WORDS];

	program_bytes(code, bytes);
	job_region(job, va, lines_of(4 * code->length), CNNACC_PTE_EXEC);
	space_write(&job->space, va, bytes, 4 * code->length);
}

void job_finish(struct job *job, uint32_t program_va, uint32_t stats_va)
{
	for (unsigned int i = 0; i < job->segments; i++)
		write_code(job, job->segment[i].va, &job->segment[i].code);
	write_code(job, program_va, &job->program);
	job_region(job, stats_va, lines_of(sizeof(struct cnnacc_stats)), CNNACC_PTE_WRITE);
	job->packet.program_va = program_va;
	job->packet.program_len = 4 * job->program.length;
	job->packet.stats_va = stats_va;
}

void job_print(FILE *out, const struct job *job, job_print_code *print_code)
{
	const struct cnnacc_packet *p = &job->packet;

	fprintf(out, "packet: flags %x ctx %u root %llx limit %llu program %x+%x stats %x\n",
		p->flags, p->ctx_id, (unsigned long long)p->root,
		(unsigned long long)p->cycle_limit, p->program_va, p->program_len, p->stats_va);
	for (unsigned int i = 0; i < job->regions; i++) {
		const struct job_region *r = &job->region[i];

		fprintf(out, "region: %08llx+%llx %s%s%s\n", (unsigned long long)r->va,
			(unsigned long long)r->length, r->permissions & CNNACC_PTE_READ ? "r" : "-",
			r->permissions & CNNACC_PTE_WRITE ? "w" : "-",
			r->permissions & CNNACC_PTE_EXEC ? "x" : "-");
	}
	print_code(out, &job->program, 0);
	for (unsigned int i = 0; i < job->segments; i++) {
		fprintf(out, "code at %x for word %u\n", job->segment[i].va, job->segment[i].base);
		print_code(out, &job->segment[i].code, job->segment[i].base);
	}
}
