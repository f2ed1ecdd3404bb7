/* SPDX-License-Identifier: MIT */
/* Expands If, Loop and Scan during inference. */
#ifndef CNN_EXPAND_H
#define CNN_EXPAND_H

#include "ir/graph_internal.h"

bool cnn_is_control(const struct cnn_node *n);
/*
 * Replaces node at, whose inputs have been inferred: by a branch of If, by one iteration of Loop or
 * Scan and the node for the others, or by its outputs when there is none. The new nodes begin at at
 * and are not inferred; the links of the graph are not renewed. CNN_EUNSUPPORTED if a condition or a count is no constant.
 */
int cnn_expand_control(struct cnn_graph *g, int at, struct cnn_err *err);

#endif
