/* SPDX-License-Identifier: MIT */
/* What operations and bytes take, in picojoules: a table that a file may replace. */
#ifndef ENERGY_H
#define ENERGY_H

#include "util.h"

#define ENERGY_MACS	5
#define ENERGY_SRAMS	16

struct energy_table {
	const char *path;		/* NULL: the defaults */
	double mac[ENERGY_MACS];	/* of a multiply-add, as energy_mac_names */
	double memory;			/* of a byte from or to memory */
	double cpu;			/* of a nanosecond of the CPU on the target */
	struct energy_sram {
		uint64_t bytes;		/* of a memory, ascending */
		double pj;		/* of a byte from or to it */
	} sram[ENERGY_SRAMS];
	unsigned int srams;
};

extern const char *const energy_mac_names[ENERGY_MACS];

/*
 * Fills in the defaults, and what the file says in their place; NULL: no file. EXIT_DONE, or
 * EXIT_FAILED after a message that names line, key and limit.
 */
int energy_read(const char *path, struct energy_table *t);
/* pJ of a multiply-add; false: the table has no such number format. */
bool energy_mac(const struct energy_table *t, const char *name, double *pj);
/* pJ of a byte from or to a memory of that size, between the sizes of the table on a log scale. */
double energy_sram(const struct energy_table *t, uint64_t bytes);

#endif
