/* SPDX-License-Identifier: MIT */
/* Report a case that runs into alarm() as a failure, by name. */
#ifndef FUZZ_HANG_H
#define FUZZ_HANG_H

/* The case at hand, one line. */
extern char fuzz_where[128];

void fuzz_name_hangs(void);

#endif
