/* SPDX-License-Identifier: MIT */
/* Checks of a compiled network's costs; they return NULL, or what is wrong. */
#ifndef LOWER_COSTS_H
#define LOWER_COSTS_H

#include <cnnacc_hw.h>

#include "compile/compile.h"

/* Do the costs of all nodes on cores add up to the records of all tasks, to the cycle and byte? */
const char *lower_check_costs(const struct cnn_lowered *l, const struct cnnacc_stats *stats);
/* Does every task's time line lie in order, without gap on the core, and add up to the costs? */
const char *lower_check_spans(const struct cnn_lowered *l);

#endif
