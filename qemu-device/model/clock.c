// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Convert between cycles of a packet and device time, for timing=modelled. */
#include "device.h"

#define NS_PER_S	1000000000u

/* Cycles of the running packet that have passed by now; UINT64_MAX with timing=instant. */
uint64_t cm_clock_cycle(const struct cm_core *core)
{
	const struct cm_device *dev = core->dev;
	uint64_t now, ns, hz = dev->config.clock_hz, whole;

	if (!dev->config.modelled)
		return UINT64_MAX;
	now = dev->ops->now(dev->opaque);
	ns = core->job.start_ns + core->job.suspended_ns;
	ns = now > ns ? now - ns : 0;
	if (__builtin_mul_overflow(ns / NS_PER_S, hz, &whole))
		return UINT64_MAX;
	return whole + ns % NS_PER_S * hz / NS_PER_S;
}

/* Device time at which @cycle of the running packet has passed. */
uint64_t cm_clock_time(const struct cm_core *core, uint64_t cycle)
{
	uint64_t hz = core->dev->config.clock_hz, ns;

	if (__builtin_mul_overflow(cycle / hz, NS_PER_S, &ns))
		return INT64_MAX;
	ns += (cycle % hz * NS_PER_S + hz - 1) / hz;
	ns += core->job.start_ns + core->job.suspended_ns;
	return ns < INT64_MAX ? ns : INT64_MAX;
}
