/* SPDX-License-Identifier: MIT */
/* The network that cnnrun runs, and the batch of jobs that --batch makes of it. */
#ifndef CNNRUN_NETWORK_H
#define CNNRUN_NETWORK_H

#include "cnnrun.h"

struct batch;

/* A network with its inputs, and one job of it or those of a batch. */
struct network {
	struct session *s;
	struct cnnrt_model *model;		/* NULL: the file is a compiled program */
	struct cnnrt_program *program;
	struct cnnrt_job *job;			/* NULL with --batch */
	struct batch *batch;			/* NULL without --batch */
	struct cnn_tensor input[MAX_FILES];	/* as s->opt->input */
	int input_index[MAX_FILES];
	uint64_t images;			/* in each input: 1 without --batch */
	void *first[MAX_FILES];			/* outputs of the first run of job */
};

/* cnnrun_inputs.c.  What returns int: an exit status, after a message unless it is EXIT_DONE. */
unsigned int io_count(const struct network *n, enum cnnrt_direction dir);
/* As cnnrt_model_io(). */
int get_io(const struct network *n, enum cnnrt_direction dir, unsigned int index,
	   struct cnnrt_tensor_info *info, struct cnnrt_error *err);
/* The index of what a user names, -1 after a message. */
int find_io(const struct network *n, enum cnnrt_direction dir, const char *name);
/* Applies --shape. */
int set_shapes(struct network *n);
/* Reads --input; with --batch, counts the images. */
int read_inputs(struct network *n);
/* Names the inputs that were not read. */
void name_zeros(const struct network *n);
/* Copies the inputs, of a batch those of one image, into a job. */
int fill_inputs(const struct network *n, struct cnnrt_job *job, uint64_t image);
/* --batch: can dimension 0 be 1?  One that is not known yet can.  what: "input" or "output" */
int check_image(const struct cnnrt_tensor_info *info, const char *what);

/*
 * cnnrun_network.c: names the inputs with free dimensions that were taken as 1. A free first one is
 * the batch, so that 1 is what most want, unless the network does not compile.
 */
void name_free_inputs(const struct cnnrt_model *model, bool compiled);

/* cnnrun_batch.c: --batch, a job for each image.  What returns int: as above. */
int batch_create(struct network *n);
void batch_free(struct batch *b);
/* Runs all images and keeps their outputs; in a later run they must be those of run 0. */
int batch_run(struct batch *b, uint64_t run);
/* An image's elements of an output, with their shape; those of the next image are behind them. */
void *batch_output(const struct batch *b, unsigned int index, uint64_t image,
		   struct cnnrt_tensor_info *info);
/* The job that ran the last image. */
struct cnnrt_job *batch_last_job(const struct batch *b);
/* Prints how many images of the last run were on each core. */
void batch_print(const struct batch *b);

#endif
