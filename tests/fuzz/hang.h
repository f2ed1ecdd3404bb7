/* SPDX-License-Identifier: MIT */
/* A case that alarm() ends is a failure that names the case. */
#ifndef FUZZ_HANG_H
#define FUZZ_HANG_H

/* The case at hand, one line. */
extern char fuzz_where[128];

void fuzz_name_hangs(void);

#endif
