// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <liburing.h>

#include "bench.h"

#define BLOCK	4096u

void reads_open(struct reads *r, const char *path)
{
	off_t size;

	r->fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (r->fd < 0)
		bail("open %s", path);
	size = lseek(r->fd, 0, SEEK_END);
	if (size < (off_t)BLOCK)
		bail("%s: its size", path);
	r->size = (uint64_t)size;
	r->at = 0;
	r->buf = aligned_alloc(BLOCK, BLOCK);
	if (!r->buf)
		bail("memory");
}

static off_t next_block(struct reads *r)
{
	uint64_t at = r->at;

	r->at = (at + BLOCK) % (r->size / BLOCK * BLOCK);
	return (off_t)at;
}

void reads_round_trip(void *reads)
{
	struct reads *r = reads;

	if (pread(r->fd, r->buf, BLOCK, next_block(r)) != BLOCK)
		bail("a read");
}

/* Takes what is there; at least one after a wait. */
static uint64_t reap(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	uint64_t count = 0;
	unsigned int head;

	io_uring_for_each_cqe(ring, head, cqe) {
		if (cqe->res != (int)BLOCK) {
			errno = cqe->res < 0 ? -cqe->res : EIO;
			bail("a read by io_uring");
		}
		count++;
	}
	io_uring_cq_advance(ring, (unsigned int)count);
	return count;
}

double reads_rate(struct reads *r, uint32_t depth, uint64_t total)
{
	uint64_t submitted = 0, done = 0;
	struct io_uring ring;
	double start;

	if (io_uring_queue_init(depth, &ring, 0))
		bail("io_uring_queue_init");
	start = kmd_seconds();
	while (done < total) {
		for (; submitted - done < depth && submitted < total; submitted++)
			io_uring_prep_read(io_uring_get_sqe(&ring), r->fd, r->buf, BLOCK,
					   (uint64_t)next_block(r));
		if (io_uring_submit_and_wait(&ring, 1) < 0)
			bail("io_uring_submit_and_wait");
		done += reap(&ring);
	}
	io_uring_queue_exit(&ring);
	return (double)total / (kmd_seconds() - start);
}
