/* SPDX-License-Identifier: MIT */
/*
 * One allocation, or copy of user memory, of this thread fails: the Nth in the kernel from now
 * on (Documentation/fault-injection/fault-injection.rst of the kernel).
 */
#ifndef FAILNTH_H
#define FAILNTH_H

#include <stdbool.h>

/* Lets everything fail that can; false if the kernel has no FAULT_INJECTION. */
bool failnth_prepare(void);
void failnth_arm(unsigned int n);
/* Disarms; returns how many more there would have had to be, 0 if the Nth has failed. */
unsigned int failnth_left(void);

static inline bool failnth_fired(void)
{
	return !failnth_left();
}

#endif
