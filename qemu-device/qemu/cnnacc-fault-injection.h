/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A device that misbehaves on purpose, for tests of drivers
 *
 * The model stays right; what goes in and out at its pins is spoiled.  Which
 * of it is decided by a generator that starts anew with every setting, so that
 * a run can be repeated as far as the guest repeats itself.
 */
#ifndef HW_CNNACC_MALICE_H
#define HW_CNNACC_MALICE_H

#include "qemu/timer.h"
#include "cnnacc_hw.h"

typedef struct CnnaccHost CnnaccHost;

typedef struct CnnaccMalice {
    uint32_t modes; /* 0: none, and no cost */
    uint32_t random;
    QEMUTimer *timer;
    uint32_t late; /* messages that the timer sends */
    uint32_t stuck; /* cores that do nothing until they are reset */
    uint32_t stuck_reset; /* cores whose reset does not end */
    uint32_t progress; /* PROGRESS of a core that is stuck */
    struct {
        uint64_t addr;
        struct cnnacc_completion record;
        unsigned int writes; /* left to come late */
    } last; /* completion record */
    uint64_t stored; /* where a program stored last, 0: nowhere; atomic */
    uint32_t stale_ticks; /* until something is written there */
} CnnaccMalice;

/* Modes, separated by '+'; "none" for none */
bool cnnacc_malice_set(CnnaccHost *host, const char *text, Error **errp);
char *cnnacc_malice_get(CnnaccHost *host);
void cnnacc_malice_realize(CnnaccHost *host);
void cnnacc_malice_unrealize(CnnaccHost *host);
/* A reset of the device ends every hang */
void cnnacc_malice_reset(CnnaccHost *host);

/* Only called if there are modes */
uint32_t cnnacc_malice_read(CnnaccHost *host, uint64_t addr, uint32_t val);
/* False if the device does not get it */
bool cnnacc_malice_write(CnnaccHost *host, uint64_t addr, uint32_t val);
/* The messages to send now because of one on @vector */
uint32_t cnnacc_malice_messages(CnnaccHost *host, unsigned int vector);
/* What to write to memory instead of @buf; @line receives it */
const void *cnnacc_malice_line(CnnaccHost *host, uint64_t addr, const void *buf,
                               size_t len, struct cnnacc_completion *line);
/* A program is about to write at @addr */
void cnnacc_malice_mapped(CnnaccHost *host, uint64_t addr);
bool cnnacc_malice_stuck(CnnaccHost *host, unsigned int core);

#endif
