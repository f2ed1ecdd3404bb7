/* SPDX-License-Identifier: MIT */
/* Shared by the files of kmd_fuzz: random numbers, state of a sequence, its log. */
#ifndef FUZZ_H
#define FUZZ_H

#include "kmd.h"

#define FUZZ_LIFE	4	/* consecutive sequences on the same files */
#define FUZZ_FILES	3	/* two private files and one that all threads share */
#define FUZZ_SHARED	2	/* index of that one */
#define FUZZ_OBJECTS	16	/* objects of each kind in one life of the files */
#define FUZZ_CALLS_MIN	8
#define FUZZ_CALLS_MAX	12
#define FUZZ_SETUP	7	/* calls that prepare a file for jobs */
#define FUZZ_DATA_SIZE	65536u

/* Programs in the page at KMD_PROGRAM_VA. */
enum fuzz_program {
	FUZZ_NOP, FUZZ_COPY, FUZZ_DELAY, FUZZ_ENDLESS, FUZZ_ILLEGAL, FUZZ_FAULT, FUZZ_PROGRAMS
};

/* Objects created by sequences, with the file that owns them. */
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

/* Log entry of a call, with its four most important arguments. */
struct fuzz_entry {
	const char *name;
	uint64_t arg[4];
	int ret;
};

/* Used by all sequences: set up once, constant except for the objects of the shared file. */
struct fuzz_base {
	int fd;			/* file that owns the buffers */
	int shared_fd;
	int program, data;	/* dma-bufs */
	uint32_t program_len[FUZZ_PROGRAMS];
	uint32_t core_count;
	uint32_t queue;		/* offset of the queue registers of core 0 */
	uint64_t max_bo_size;
	bool verbose, admin;
};

struct fuzz_world {
	const struct fuzz_base *base;
	uint64_t seed;		/* seed of the sequence */
	uint64_t first;		/* seed of the first sequence on these files */
	uint64_t random;
	uint32_t odd;		/* one of this many fields of the current call is wrong; 0: none */
	int fd[FUZZ_FILES];
	unsigned int home;	/* prepared file, which most calls use */
	uint32_t signalled;	/* syncobj of the home file */
	struct fuzz_set vms, ctxs, bos, syncobjs, fds;
	struct fuzz_map maps[FUZZ_OBJECTS];
	unsigned int map_count;
	struct fuzz_entry log[FUZZ_SETUP * (FUZZ_LIFE * FUZZ_CALLS_MAX + 1)];	/* of a life */
	unsigned int log_count;
	volatile double started;	/* time of the current call, 0 between lives */
	bool failed;
	uint64_t calls, good, submits, good_submits;	/* totals of this thread */
};

/* Random numbers: the same seed gives the same ones. */
uint64_t fuzz_next(struct fuzz_world *w);
uint32_t fuzz_below(struct fuzz_world *w, uint32_t limit);
bool fuzz_chance(struct fuzz_world *w, uint32_t in);	/* true with a probability of 1 / in */
/* Returns the valid value, or sometimes a neighbour, a limit, a flipped bit or a random value. */
uint64_t fuzz_odd(struct fuzz_world *w, uint64_t right);
/* The same for a pointer. */
uint64_t fuzz_pointer(struct fuzz_world *w, const void *right);

/* A file, mostly the prepared one. */
unsigned int fuzz_file(struct fuzz_world *w);
/* An id for a file, mostly one of an object of that file. */
uint32_t fuzz_id(struct fuzz_world *w, const struct fuzz_set *set, unsigned int file);
/* Removes a destroyed object; sometimes its id is used again nevertheless. */
void fuzz_forget(struct fuzz_world *w, struct fuzz_set *set, unsigned int file, uint32_t id);
bool fuzz_add(struct fuzz_set *set, unsigned int file, uint32_t id);
void fuzz_add_map(struct fuzz_world *w, void *addr, size_t size);

/* Logs a call before it is made, and its result; false if that result is not allowed. */
void fuzz_begin(struct fuzz_world *w, const char *name, uint64_t a, uint64_t b, uint64_t c,
		uint64_t d);
int fuzz_end(struct fuzz_world *w, int ret);
int fuzz_ioctl(struct fuzz_world *w, const char *name, unsigned int file, unsigned long request,
	       void *arg);
void fuzz_print(const struct fuzz_world *w);

/* An address space and a context that are prepared for jobs. */
void fuzz_setup(struct fuzz_world *w, unsigned int file);
/* One random call. */
void fuzz_call(struct fuzz_world *w);
void fuzz_submit(struct fuzz_world *w);
/* Runs the sequence of a seed, on new files or on those of the previous sequence. */
void fuzz_sequence(struct fuzz_world *w, uint64_t seed, bool new_files);
/* Closes the files. */
void fuzz_finish(struct fuzz_world *w);

#endif
