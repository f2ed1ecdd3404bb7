/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: a device that misbehaves on purpose
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "cnnacc-compat.h"
#include "cnnacc-internal.h"

#define CNNACC_MALICE_TICK_NS SCALE_MS
#define CNNACC_MALICE_LATE_WRITES 4
#define CNNACC_MALICE_STALE_TICKS 200

enum {
    IRQ_LATE = 1 << 0,
    IRQ_LOST = 1 << 1,
    IRQ_SPURIOUS = 1 << 2,
    IRQ_DUPLICATE = 1 << 3,
    RECORD_WRONG = 1 << 4,
    RECORD_REPEAT = 1 << 5,
    RECORD_RANGE = 1 << 6,
    REG_GARBAGE = 1 << 7,
    REG_ONES = 1 << 8,
    PROGRESS = 1 << 9,
    HANG = 1 << 10,
    RESET = 1 << 11,
    DMA_LATE = 1 << 12,
    DMA_STALE = 1 << 13,
    ACK_LOST = 1 << 14,
};

static const struct {
    const char *name;
    uint32_t mode;
} cnnacc_malice_modes[] = {
    { "irq-late", IRQ_LATE },
    { "irq-lost", IRQ_LOST },
    { "irq-spurious", IRQ_SPURIOUS },
    { "irq-duplicate", IRQ_DUPLICATE },
    { "record-wrong", RECORD_WRONG },
    { "record-repeat", RECORD_REPEAT },
    { "record-range", RECORD_RANGE },
    { "reg-garbage", REG_GARBAGE },
    { "reg-ones", REG_ONES },
    { "progress", PROGRESS },
    { "hang", HANG },
    { "reset", RESET },
    { "dma-late", DMA_LATE },
    { "dma-stale", DMA_STALE },
    { "ack-lost", ACK_LOST },
};

static uint32_t cnnacc_random(CnnaccMalice *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 17;
    m->random ^= m->random << 5;
    return m->random;
}

/* One time in four, or a job would hardly ever end well */
static bool cnnacc_strikes(CnnaccMalice *m, uint32_t mode)
{
    uint32_t odds = mode == REG_GARBAGE ? 32 : 4;

    return (m->modes & mode) && cnnacc_random(m) % odds == 0;
}

/* what is where */

static uint32_t cnnacc_queue_reg(CnnaccHost *host, unsigned int core,
                                 uint32_t reg)
{
    uint32_t entry = CNNACC_CORE_TABLE_OFFSET + core * CNNACC_CORE_ENTRY_SIZE;

    return cm_device_read(host->model,
                           entry + offsetof(struct cnnacc_core_entry,
                                            queue_offset)) + reg;
}

/* Core whose register @reg is at @addr, -1 if none */
static int cnnacc_core_of(CnnaccHost *host, uint64_t addr, uint32_t reg)
{
    for (unsigned int i = 0; i < cm_device_core_count(host->model); i++) {
        if (addr == cnnacc_queue_reg(host, i, reg)) {
            return i;
        }
    }
    return -1;
}

static uint64_t cnnacc_ring_reg(CnnaccHost *host, unsigned int core,
                                uint32_t reg)
{
    return cm_device_read(host->model, cnnacc_queue_reg(host, core, reg));
}

/* Where the record after the one at @addr goes, 0 if there is none there */
static uint64_t cnnacc_next_record(CnnaccHost *host, uint64_t addr)
{
    const uint32_t size = sizeof(struct cnnacc_completion);

    for (unsigned int i = 0; i < cm_device_core_count(host->model); i++) {
        uint64_t base = cnnacc_ring_reg(host, i, CNNACC_QREG_COMPL_BASE_LO) |
            cnnacc_ring_reg(host, i, CNNACC_QREG_COMPL_BASE_HI) << 32;
        uint64_t len = cnnacc_ring_reg(host, i, CNNACC_QREG_COMPL_SIZE) * size;

        if (addr >= base && addr < base + len) {
            return base + (addr - base + size) % len;
        }
    }
    return 0;
}

/* what goes wrong by itself */

static void cnnacc_malice_rearm(CnnaccHost *host)
{
    CnnaccMalice *m = &host->malice;

    if (m->timer && (m->late || m->last.writes || m->stale_ticks ||
                     (m->modes & IRQ_SPURIOUS))) {
        timer_mod(m->timer, cnnacc_now(host) + CNNACC_MALICE_TICK_NS);
    }
}

static void cnnacc_malice_tick(void *opaque)
{
    CnnaccHost *host = opaque;
    CnnaccMalice *m = &host->malice;

    if (host->quit || !host->model) {
        return;
    }
    if (m->last.writes) {
        m->last.writes--;
        cnnacc_dma(host, m->last.addr, &m->last.record,
                   sizeof(m->last.record), true);
    }
    if (m->stale_ticks && !--m->stale_ticks) {
        cnnacc_dma(host, qatomic_read_u64(&m->stored), &m->last.record,
                   sizeof(m->last.record), true);
    }
    host->messages |= m->late;
    m->late = 0;
    if (m->modes & IRQ_SPURIOUS) {
        host->messages |= 1u << cnnacc_random(m) %
                          cm_device_vectors(host->model);
    }
    cnnacc_malice_rearm(host);
    cnnacc_deliver(host);
}

/* pins */

uint32_t cnnacc_malice_messages(CnnaccHost *host, unsigned int vector)
{
    CnnaccMalice *m = &host->malice;
    uint32_t now = 1u << vector;

    if (cnnacc_strikes(m, IRQ_LOST)) {
        return 0;
    }
    if (m->modes & (IRQ_LATE | IRQ_DUPLICATE)) {
        m->late |= now;
        cnnacc_malice_rearm(host);
    }
    return m->modes & IRQ_LATE ? 0 : now;
}

/* An index where there is no record, or an old one */
static uint32_t cnnacc_wrong_tail(CnnaccMalice *m, uint32_t size)
{
    static const uint32_t beyond[] = { 0, 1, 4095, 0x80000000u, 0xffffffffu };
    uint32_t pick = cnnacc_random(m) % (2 * ARRAY_SIZE(beyond));

    if (pick >= ARRAY_SIZE(beyond)) {
        return cnnacc_random(m) % (size ? size : 1);
    }
    return pick < 2 ? size + beyond[pick] : beyond[pick];
}

static uint32_t cnnacc_malice_tail(CnnaccHost *host, unsigned int core,
                                   uint32_t val)
{
    uint32_t size = cnnacc_ring_reg(host, core, CNNACC_QREG_COMPL_SIZE);
    CnnaccMalice *m = &host->malice;

    if (cnnacc_strikes(m, RECORD_RANGE)) {
        return cnnacc_wrong_tail(m, size);
    }
    if (cnnacc_strikes(m, RECORD_REPEAT) && size) {
        return (val + 1) % size;
    }
    return val;
}

static uint32_t cnnacc_garbage(CnnaccMalice *m, uint32_t val)
{
    switch (cnnacc_random(m) % 4) {
    case 0:
        return 0;
    case 1:
        return 0xffffffffu;
    case 2:
        return val ^ 1u << cnnacc_random(m) % 32;
    default:
        return cnnacc_random(m);
    }
}

uint32_t cnnacc_malice_read(CnnaccHost *host, uint64_t addr, uint32_t val)
{
    CnnaccMalice *m = &host->malice;
    int core;

    if (m->modes & REG_ONES) {
        return 0xffffffffu;
    }
    if (cnnacc_strikes(m, REG_GARBAGE)) {
        return cnnacc_garbage(m, val);
    }
    core = cnnacc_core_of(host, addr, CNNACC_QREG_COMPL_TAIL);
    if (core >= 0) {
        return cnnacc_malice_tail(host, core, val);
    }
    core = cnnacc_core_of(host, addr, CNNACC_QREG_PROGRESS);
    if (core >= 0 && (m->modes & PROGRESS) && (m->stuck & 1u << core)) {
        return ++m->progress;
    }
    core = cnnacc_core_of(host, addr, CNNACC_QREG_RESET);
    if (core >= 0 && (m->stuck_reset & 1u << core)) {
        return 1;
    }
    return val;
}

bool cnnacc_malice_write(CnnaccHost *host, uint64_t addr, uint32_t val)
{
    int core = cnnacc_core_of(host, addr, CNNACC_QREG_RESET);
    CnnaccMalice *m = &host->malice;

    if (cnnacc_core_of(host, addr, CNNACC_QREG_EVENT_ACK) >= 0 &&
        cnnacc_strikes(m, ACK_LOST)) {
        return false;
    }
    if (addr == CNNACC_REG_RESET) {
        cnnacc_malice_reset(host);
    } else if (addr == CNNACC_REG_INVALIDATE) {
        m->stale_ticks = qatomic_read_u64(&m->stored) ?
                         CNNACC_MALICE_STALE_TICKS : 0;
        cnnacc_malice_rearm(host);
    } else if (core >= 0) {
        m->stuck &= ~(1u << core);
        m->stuck_reset |= m->modes & RESET ? 1u << core : 0;
        if ((m->modes & DMA_LATE) && m->last.addr) {
            m->last.writes = CNNACC_MALICE_LATE_WRITES;
            cnnacc_malice_rearm(host);
        }
    }
    return true;
}

static void cnnacc_spoil(CnnaccMalice *m, struct cnnacc_completion *record)
{
    uint32_t *words = (uint32_t *)record;

    switch (cnnacc_random(m) % 6) {
    case 0:
        record->fence += (int32_t)(cnnacc_random(m) % 5) - 2;
        break;
    case 1:
        record->seq--;
        break;
    case 2:
        record->ctx_id ^= 1;
        break;
    case 3:
        record->status_class = cnnacc_random(m) % 10;
        break;
    case 4:
        record->start_ns = 0;
        record->end_ns = UINT64_MAX;
        record->cycles = UINT64_MAX;
        break;
    default:
        for (size_t i = 0; i < sizeof(*record) / sizeof(*words); i++) {
            words[i] = cnnacc_random(m);
        }
    }
}

const void *cnnacc_malice_line(CnnaccHost *host, uint64_t addr, const void *buf,
                               size_t len, struct cnnacc_completion *line)
{
    CnnaccMalice *m = &host->malice;
    uint64_t next;

    /* Without the lock it is a program's */
    if (len != sizeof(*line) || !bql_locked()) {
        return buf;
    }
    next = cnnacc_next_record(host, addr);
    if (!next) {
        return buf;
    }
    memcpy(line, buf, len);
    m->last.addr = addr;
    m->last.record = *line;
    if (cnnacc_strikes(m, RECORD_WRONG)) {
        cnnacc_spoil(m, line);
    }
    if (m->modes & RECORD_REPEAT) {
        cnnacc_dma(host, next, line, len, true);
    }
    return line;
}

void cnnacc_malice_mapped(CnnaccHost *host, uint64_t addr)
{
    if (host->malice.modes & DMA_STALE) {
        qatomic_set_u64(&host->malice.stored, addr);
    }
}

bool cnnacc_malice_stuck(CnnaccHost *host, unsigned int core)
{
    CnnaccMalice *m = &host->malice;

    if (cnnacc_strikes(m, HANG | PROGRESS)) {
        m->stuck |= 1u << core;
    }
    return m->stuck & 1u << core;
}

/* settings */

static bool cnnacc_malice_parse(const char *text, uint32_t *modes, Error **errp)
{
    g_auto(GStrv) names = g_strsplit(text, "+", -1);

    *modes = 0;
    if (!strcmp(text, "none")) {
        return true;
    }
    if (!*text) {
        error_setg(errp, "malice: empty: modes joined by '+' wanted, or none");
        return false;
    }
    for (char **name = names; *name; name++) {
        size_t i = 0;

        if (!**name || !strcmp(*name, "none")) {
            error_setg(errp, "malice: '%s' has %s", text,
                       **name ? "none beside a mode" : "a '+' without a mode");
            return false;
        }
        while (i < ARRAY_SIZE(cnnacc_malice_modes) &&
               strcmp(*name, cnnacc_malice_modes[i].name)) {
            i++;
        }
        if (i == ARRAY_SIZE(cnnacc_malice_modes)) {
            error_setg(errp, "malice: no mode '%s'", *name);
            return false;
        }
        *modes |= cnnacc_malice_modes[i].mode;
    }
    return true;
}

bool cnnacc_malice_set(CnnaccHost *host, const char *text, Error **errp)
{
    CnnaccMalice *m = &host->malice;
    uint32_t modes;

    if (!cnnacc_malice_parse(text, &modes, errp)) {
        return false;
    }
    *m = (CnnaccMalice) { .modes = modes, .random = 1, .timer = m->timer };
    if (host->model && !host->quit) {
        cnnacc_malice_rearm(host);
        cm_device_wake_workers(host->model);
    }
    return true;
}

char *cnnacc_malice_get(CnnaccHost *host)
{
    GString *text = g_string_new("");

    for (size_t i = 0; i < ARRAY_SIZE(cnnacc_malice_modes); i++) {
        if (host->malice.modes & cnnacc_malice_modes[i].mode) {
            g_string_append_printf(text, "%s%s", text->len ? "+" : "",
                                   cnnacc_malice_modes[i].name);
        }
    }
    if (!text->len) {
        g_string_append(text, "none");
    }
    return g_string_free(text, false);
}

void cnnacc_malice_realize(CnnaccHost *host)
{
    host->malice.timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, cnnacc_malice_tick,
                                      host);
    cnnacc_malice_rearm(host);
}

void cnnacc_malice_unrealize(CnnaccHost *host)
{
    timer_free(host->malice.timer);
    host->malice.timer = NULL;
}

void cnnacc_malice_reset(CnnaccHost *host)
{
    host->malice.stuck = 0;
    host->malice.stuck_reset = 0;
}
