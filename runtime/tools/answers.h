/* SPDX-License-Identifier: MIT */
/* Samples of a network's input in .npy files, and the answers that a network gives for them. */
#ifndef ANSWERS_H
#define ANSWERS_H

#include "tensor.h"

/* What returns int: EXIT_DONE, or EXIT_FAILED after a message. */

/* Reads float32 inputs along the first axis; all of them are finite. */
int read_samples(const char *path, struct cnn_tensor *t);
/* Reads the index of the right element for each of so many samples. */
int read_labels(const char *path, int64_t samples, struct cnn_tensor *t);
/* Refuses labels that are no index of an element of an answer. */
int check_labels(const struct cnn_tensor *labels, const struct cnn_tensor *answers,
		 const char *path);

/* Runs every sample; all: [sample][element], float32, output 0 of each. model: for messages. */
int run_samples(struct cnnrt_job *job, const struct cnn_tensor *samples, const char *model,
		struct cnn_tensor *all);

/* How many answers have the largest element at the label; how many in one place in both. */
int64_t count_right(const struct cnn_tensor *answers, const struct cnn_tensor *labels);
int64_t count_same(const struct cnn_tensor *a, const struct cnn_tensor *b);

#endif
