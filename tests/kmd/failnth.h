/* SPDX-License-Identifier: MIT */
/*
 * Lets the Nth allocation or copy of user memory that the kernel does for this thread fail; see
 * Documentation/fault-injection/fault-injection.rst of the kernel.
 */
#ifndef FAILNTH_H
#define FAILNTH_H

#include <stdbool.h>

/* Enables all kinds of failures; false if the kernel has no FAULT_INJECTION. */
bool failnth_prepare(void);
void failnth_arm(unsigned int n);
/* Disarms; returns how many more calls would have been needed, 0 if the Nth has failed. */
unsigned int failnth_left(void);

static inline bool failnth_fired(void)
{
	return !failnth_left();
}

#endif
