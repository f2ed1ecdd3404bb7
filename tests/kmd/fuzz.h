/* SPDX-License-Identifier: MIT */
/* What the parts of kmd_fuzz share: random numbers, the world of a sequence, its log. */
#ifndef FUZZ_H
#define FUZZ_H

#include "kmd.h"

#define FUZZ_LIFE	4	/* sequences that follow each other on the same files */
#define FUZZ_FILES	3	/* two of their own and one that all threads share */
#define FUZZ_SHARED	2	/* index of that one */
#define FUZZ_OBJECTS	16	/* of a kind in a life */
#define FUZZ_CALLS_MIN	8
#define FUZZ_CALLS_MAX	12
#define FUZZ_SETUP	6	/* calls that make a file ready for jobs */
#define FUZZ_DATA_SIZE	65536u

/* Programs in the page at KMD_PROGRAM_VA. */
enum fuzz_program {
	FUZZ_NOP, FUZZ_COPY, FUZZ_DELAY, FUZZ_ENDLESS, FUZZ_ILLEGAL, FUZZ_FAULT, FUZZ_PROGRAMS
};

/* Things that sequences made, with the file that knows them. */
struct fuzz_set {
	unsigned int count;
	struct {
		unsigned int file;
		uint32_t id;
	} at[FUZZ_OBJECTS];
};

struct fuzz_map {
	void *addr;
	size_t size;
};

/* One call as it was made: four numbers that say the most about it. */
struct fuzz_entry {
	const char *name;
	uint64_t arg[4];
	int ret;
};

/* What all sequences use: set up once, never changed but for the shared file's objects. */
struct fuzz_base {
	int fd;			/* keeps the buffers */
	int shared_fd;
	int program, data;	/* dma-bufs */
	uint32_t program_len[FUZZ_PROGRAMS];
	uint32_t core_count;
	uint32_t queue;		/* where the registers of the first core's queue are */
	uint64_t max_bo_size;
	bool verbose, admin;
};

struct fuzz_world {
	const struct fuzz_base *base;
	uint64_t seed;		/* what the sequence is made from */
	uint64_t first;		/* the same of the first sequence on these files */
	uint64_t random;
	uint32_t odd;		/* one field in so many of the call at hand is wrong; 0: none */
	int fd[FUZZ_FILES];
	unsigned int home;	/* the file that was set up, where most calls go */
	uint32_t signalled;	/* syncobj of the home file */
	struct fuzz_set ctxs, bos, syncobjs, fds;
	struct fuzz_map maps[FUZZ_OBJECTS];
	unsigned int map_count;
	struct fuzz_entry log[FUZZ_SETUP * (FUZZ_LIFE * FUZZ_CALLS_MAX + 1)];	/* of a life */
	unsigned int log_count;
	volatile double started;	/* when the call at hand was, 0 between lives */
	bool failed;
	uint64_t calls, good, submits, good_submits;	/* of all sequences of this world */
};

/* Random numbers: the same seed gives the same ones. */
uint64_t fuzz_next(struct fuzz_world *w);
uint32_t fuzz_below(struct fuzz_world *w, uint32_t limit);
bool fuzz_chance(struct fuzz_world *w, uint32_t in);	/* true one time in so many */
/* What is right; in some calls now and then a neighbour, a limit, a flipped bit or anything. */
uint64_t fuzz_odd(struct fuzz_world *w, uint64_t right);
/* The same of a pointer. */
uint64_t fuzz_pointer(struct fuzz_world *w, const void *right);

/* A file: mostly the one that was set up. */
unsigned int fuzz_file(struct fuzz_world *w);
/* An id for a file: mostly one of the set that belongs there. */
uint32_t fuzz_id(struct fuzz_world *w, const struct fuzz_set *set, unsigned int file);
/* What was destroyed; now and then it is named again nevertheless. */
void fuzz_forget(struct fuzz_world *w, struct fuzz_set *set, unsigned int file, uint32_t id);
bool fuzz_add(struct fuzz_set *set, unsigned int file, uint32_t id);
void fuzz_add_map(struct fuzz_world *w, void *addr, size_t size);

/* Notes a call before it is made, and how it ended; false if that may not be. */
void fuzz_begin(struct fuzz_world *w, const char *name, uint64_t a, uint64_t b, uint64_t c,
		uint64_t d);
int fuzz_end(struct fuzz_world *w, int ret);
int fuzz_ioctl(struct fuzz_world *w, const char *name, unsigned int file, unsigned long request,
	       void *arg);
void fuzz_print(const struct fuzz_world *w);

/* A context of a file that is ready for jobs. */
void fuzz_setup(struct fuzz_world *w, unsigned int file);
/* One random call. */
void fuzz_call(struct fuzz_world *w);
void fuzz_submit(struct fuzz_world *w);
/* The sequence that a seed stands for, on new files or on those of the sequence before. */
void fuzz_sequence(struct fuzz_world *w, uint64_t seed, bool new_files);
/* Closes the files. */
void fuzz_finish(struct fuzz_world *w);

#endif
