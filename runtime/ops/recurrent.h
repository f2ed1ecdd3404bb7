/* SPDX-License-Identifier: MIT */
/* What RNN, GRU and LSTM share: one direction of them, and a step of each. */
#ifndef CNN_OPS_RECURRENT_H
#define CNN_OPS_RECURRENT_H

#include "ops.h"

/* Inputs of all three; LSTM has initial_c and peephole weights besides. */
enum { IN_X, IN_W, IN_R, IN_B, IN_LENS, IN_H, IN_C, IN_P };

/* An activation function and its parameters. */
struct cell_fn {
	cnn_unary_fn *fn;
	float a, b;
};

struct recurrent {
	const struct cnn_call *c;
	int64_t gates, seq, batch, input, hidden, dirs;
	float clip;		/* 0: none */
	/* Of the current direction. Weights have a row of hidden numbers for each gate. */
	const float *w, *r, *wb, *rb, *peephole;	/* biases, peephole: NULL if left out */
	bool reverse;
	struct cell_fn fn[3];	/* f, g and h of the definition */
	/* Scratch, a row for each of batch. */
	float *x;		/* inputs of this step */
	float *wx, *rh;		/* gates: what the weights make of them, and of the state */
	float *h, *cell;	/* the state; of GRU, what the reset gate lets through of it */
	float *gemm;
};

/* All of wx. */
void cnn_recurrent_inputs(const struct recurrent *r);
/* Gates first.. of rh: the product of state, a row for each of batch, and their weights, and bias. */
void cnn_recurrent_product(const struct recurrent *r, const float *state, int64_t first,
			   int64_t gates);
/*
 * Without linear_before_reset, the gate of the new state is of the state that the reset gate lets
 * through; it becomes that in rh, and the reset gate is computed in wx.
 */
void cnn_gru_reset(const struct recurrent *r);
/* The next state of row b, once wx and rh are there. */
void cnn_rnn_step(const struct recurrent *r, int64_t b);
void cnn_gru_step(const struct recurrent *r, int64_t b);
void cnn_lstm_step(const struct recurrent *r, int64_t b);

#endif
