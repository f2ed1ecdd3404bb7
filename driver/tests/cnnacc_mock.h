/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_MOCK_H
#define CNNACC_MOCK_H

#include <linux/types.h>

#include <kunit/test.h>

#include <cnnacc_hw.h>

struct cnnacc_ctx;
struct cnnacc_device;
struct dma_fence;
struct drm_file;
struct task_struct;

/* The one core of a mock device. */
#define CNNACC_MOCK_TYPE	77	/* none of those that there are */
#define CNNACC_MOCK_QUEUE	0x2000
#define CNNACC_MOCK_CYCLES	100000
#define CNNACC_MOCK_HZ		4000000000u	/* so that the ring holds several jobs */
#define CNNACC_MOCK_PROGRAM	65536
/* Tasks of a job that has the ring alone. */
#define CNNACC_MOCK_RING_TASKS	(CNNACC_MOCK_HZ / 1000 * CNNACC_RING_MS / CNNACC_MOCK_CYCLES)

/**
 * enum cnnacc_mock_does - behaviour of the mock device for the next packets.
 * @CNNACC_MOCK_RUNS: completes them
 * @CNNACC_MOCK_WORKS: starts one, never completes it, but increments PROGRESS
 * @CNNACC_MOCK_HANGS: starts one and makes no progress
 * @CNNACC_MOCK_FAULTS: ends the next one with a fault, then completes the others
 */
enum cnnacc_mock_does {
	CNNACC_MOCK_RUNS,
	CNNACC_MOCK_WORKS,
	CNNACC_MOCK_HANGS,
	CNNACC_MOCK_FAULTS,
};

/**
 * struct cnnacc_mock - a mock device with one core, for tests with a misbehaving device.
 *
 * The registers are memory that a thread, the shell, polls, so a register write takes effect with
 * a short delay.
 *
 * @test: test
 * @regs: registers
 * @cdev: device
 * @thread: the shell
 * @irqs: Linux interrupts: that of the core and that of errors
 * @file: an open file of the device
 * @does: behaviour for the next packets
 * @spoil: modifies each completion record before the driver reads it, or NULL
 * @repeat: writes each completion record twice
 * @core_reset_stuck: core resets do not end
 * @reset_stuck: device resets do not end
 * @no_irq: interrupts are lost
 * @no_abort: an abort has no effect
 * @resets: number of device resets since the start
 * @core_resets: number of core resets
 * @stopped_dma: the driver has blocked DMA
 * @head: index of the next packet
 * @tail: index of the next completion record
 * @seq: number of the last completion record
 * @halted: the queue is halted at a packet that failed
 */
struct cnnacc_mock {
	struct kunit *test;
	u8 *regs;
	struct cnnacc_device *cdev;
	struct task_struct *thread;
	int irqs[2];
	struct file *file;

	enum cnnacc_mock_does does;
	void (*spoil)(struct cnnacc_mock *mock, struct cnnacc_completion *record);
	bool repeat;
	bool core_reset_stuck;
	bool reset_stuck;
	bool no_irq;
	bool no_abort;

	unsigned int resets;
	unsigned int core_resets;
	bool stopped_dma;
	u32 head;
	u32 tail;
	u32 seq;
	bool halted;
};

struct cnnacc_mock *cnnacc_mock_create(struct kunit *test);
u32 cnnacc_mock_read(struct cnnacc_mock *mock, u32 offset);
void cnnacc_mock_write(struct cnnacc_mock *mock, u32 offset, u32 value);
void cnnacc_mock_remove(struct cnnacc_mock *mock);
void cnnacc_mock_interrupt(struct cnnacc_mock *mock, unsigned int vector);
struct drm_file *cnnacc_mock_file(struct cnnacc_mock *mock);
struct cnnacc_ctx *cnnacc_mock_ctx(struct cnnacc_mock *mock);
struct dma_fence *cnnacc_mock_submit(struct cnnacc_mock *mock, struct cnnacc_ctx *ctx,
				     u32 tasks, u32 flags);
int cnnacc_mock_wait(struct cnnacc_mock *mock, struct dma_fence *fence);
int cnnacc_mock_run(struct cnnacc_mock *mock, struct cnnacc_ctx *ctx, u32 tasks);

#endif
