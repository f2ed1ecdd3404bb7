/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: fault injection at run time
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "cnnacc-compat.h"
#include "cnnacc-internal.h"

#define CNNACC_FAULT_TICK_NS SCALE_MS
#define CNNACC_FAULT_LATE_WRITES 4
#define CNNACC_FAULT_STALE_TICKS 200

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
} cnnacc_fault_modes[] = {
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

static uint32_t cnnacc_random(CnnaccFaults *f)
{
    f->random ^= f->random << 13;
    f->random ^= f->random >> 17;
    f->random ^= f->random << 5;
    return f->random;
}

/*
 * Decides whether to inject a fault of @mode at this access.  With odds of 1
 * in 4 some jobs still succeed; reg-garbage affects every register access, so
 * its odds are 1 in 32.
 */
static bool cnnacc_fault_inject(CnnaccFaults *f, uint32_t mode)
{
    uint32_t odds = mode == REG_GARBAGE ? 32 : 4;

    return (f->modes & mode) && cnnacc_random(f) % odds == 0;
}

/* lookup of queues and rings */

static uint32_t cnnacc_queue_reg(CnnaccState *s, unsigned int core,
                                 uint32_t reg)
{
    uint32_t entry = CNNACC_CORE_TABLE_OFFSET + core * CNNACC_CORE_ENTRY_SIZE;

    entry += offsetof(struct cnnacc_core_entry, queue_offset);
    return cm_device_read(s->model, entry) + reg;
}

/* Returns the core whose queue register @reg is at @addr, -1 if none */
static int cnnacc_core_of(CnnaccState *s, uint64_t addr, uint32_t reg)
{
    for (unsigned int i = 0; i < cm_device_core_count(s->model); i++) {
        if (addr == cnnacc_queue_reg(s, i, reg)) {
            return i;
        }
    }
    return -1;
}

static uint64_t cnnacc_ring_reg(CnnaccState *s, unsigned int core,
                                uint32_t reg)
{
    return cm_device_read(s->model, cnnacc_queue_reg(s, core, reg));
}

/*
 * Returns the address of the completion record that follows the one at @addr in
 * its ring, 0 if @addr is in no completion ring.
 */
static uint64_t cnnacc_next_record(CnnaccState *s, uint64_t addr)
{
    const uint32_t size = sizeof(struct cnnacc_completion);

    for (unsigned int i = 0; i < cm_device_core_count(s->model); i++) {
        uint64_t base = cnnacc_ring_reg(s, i, CNNACC_QREG_COMPL_BASE_LO) |
            cnnacc_ring_reg(s, i, CNNACC_QREG_COMPL_BASE_HI) << 32;
        uint64_t len = cnnacc_ring_reg(s, i, CNNACC_QREG_COMPL_SIZE) * size;

        if (addr >= base && addr < base + len) {
            return base + (addr - base + size) % len;
        }
    }
    return 0;
}

/* faults injected by the timer */

static void cnnacc_fault_rearm(CnnaccState *s)
{
    CnnaccFaults *f = &s->faults;

    if (f->timer && (f->late || f->last.writes || f->stale_ticks ||
                     (f->modes & IRQ_SPURIOUS))) {
        timer_mod(f->timer, cnnacc_now(s) + CNNACC_FAULT_TICK_NS);
    }
}

static void cnnacc_fault_tick(void *opaque)
{
    CnnaccState *s = opaque;
    CnnaccFaults *f = &s->faults;

    if (s->quit || !s->model) {
        return;
    }
    if (f->last.writes) {
        f->last.writes--;
        cnnacc_dma(s, f->last.addr, &f->last.record,
                   sizeof(f->last.record), true);
    }
    if (f->stale_ticks && !--f->stale_ticks) {
        cnnacc_dma(s, qatomic_read_u64(&f->stored), &f->last.record,
                   sizeof(f->last.record), true);
    }
    s->messages |= f->late;
    f->late = 0;
    if (f->modes & IRQ_SPURIOUS) {
        s->messages |= 1u << cnnacc_random(f) % cm_device_vectors(s->model);
    }
    cnnacc_fault_rearm(s);
    cnnacc_deliver(s);
}

/* faults injected into interrupts, registers and DMA */

uint32_t cnnacc_fault_messages(CnnaccState *s, unsigned int vector)
{
    CnnaccFaults *f = &s->faults;
    uint32_t now = 1u << vector;

    if (cnnacc_fault_inject(f, IRQ_LOST)) {
        return 0;
    }
    if (f->modes & (IRQ_LATE | IRQ_DUPLICATE)) {
        f->late |= now;
        cnnacc_fault_rearm(s);
    }
    return f->modes & IRQ_LATE ? 0 : now;
}

/* Returns an index beyond the ring, or one of an old record */
static uint32_t cnnacc_wrong_tail(CnnaccFaults *f, uint32_t size)
{
    static const uint32_t beyond[] = { 0, 1, 4095, 0x80000000u, 0xffffffffu };
    uint32_t pick = cnnacc_random(f) % (2 * ARRAY_SIZE(beyond));

    if (pick >= ARRAY_SIZE(beyond)) {
        return cnnacc_random(f) % (size ? size : 1);
    }
    return pick < 2 ? size + beyond[pick] : beyond[pick];
}

static uint32_t cnnacc_fault_tail(CnnaccState *s, unsigned int core,
                                  uint32_t val)
{
    uint32_t size = cnnacc_ring_reg(s, core, CNNACC_QREG_COMPL_SIZE);
    CnnaccFaults *f = &s->faults;

    if (cnnacc_fault_inject(f, RECORD_RANGE)) {
        return cnnacc_wrong_tail(f, size);
    }
    if (cnnacc_fault_inject(f, RECORD_REPEAT) && size) {
        return (val + 1) % size;
    }
    return val;
}

static uint32_t cnnacc_garbage(CnnaccFaults *f, uint32_t val)
{
    switch (cnnacc_random(f) % 4) {
    case 0:
        return 0;
    case 1:
        return 0xffffffffu;
    case 2:
        return val ^ 1u << cnnacc_random(f) % 32;
    default:
        return cnnacc_random(f);
    }
}

uint32_t cnnacc_fault_read(CnnaccState *s, uint64_t addr, uint32_t val)
{
    CnnaccFaults *f = &s->faults;
    int core;

    if (f->modes & REG_ONES) {
        return 0xffffffffu;
    }
    if (cnnacc_fault_inject(f, REG_GARBAGE)) {
        return cnnacc_garbage(f, val);
    }
    core = cnnacc_core_of(s, addr, CNNACC_QREG_COMPL_TAIL);
    if (core >= 0) {
        return cnnacc_fault_tail(s, core, val);
    }
    core = cnnacc_core_of(s, addr, CNNACC_QREG_PROGRESS);
    if (core >= 0 && (f->modes & PROGRESS) && (f->hung & 1u << core)) {
        return ++f->progress;
    }
    core = cnnacc_core_of(s, addr, CNNACC_QREG_RESET);
    if (core >= 0 && (f->hung_reset & 1u << core)) {
        return 1;
    }
    return val;
}

bool cnnacc_fault_write(CnnaccState *s, uint64_t addr, uint32_t val)
{
    int core = cnnacc_core_of(s, addr, CNNACC_QREG_RESET);
    CnnaccFaults *f = &s->faults;

    if (cnnacc_core_of(s, addr, CNNACC_QREG_EVENT_ACK) >= 0 &&
        cnnacc_fault_inject(f, ACK_LOST)) {
        return false;
    }
    if (addr == CNNACC_REG_RESET) {
        cnnacc_fault_reset(s);
    } else if (addr == CNNACC_REG_INVALIDATE) {
        f->stale_ticks = qatomic_read_u64(&f->stored) ?
                         CNNACC_FAULT_STALE_TICKS : 0;
        cnnacc_fault_rearm(s);
    } else if (core >= 0) {
        f->hung &= ~(1u << core);
        f->hung_reset |= f->modes & RESET ? 1u << core : 0;
        if ((f->modes & DMA_LATE) && f->last.addr) {
            f->last.writes = CNNACC_FAULT_LATE_WRITES;
            cnnacc_fault_rearm(s);
        }
    }
    return true;
}

static void cnnacc_corrupt_record(CnnaccFaults *f,
                                  struct cnnacc_completion *record)
{
    uint32_t *words = (uint32_t *)record;

    switch (cnnacc_random(f) % 6) {
    case 0:
        record->fence += (int32_t)(cnnacc_random(f) % 5) - 2;
        break;
    case 1:
        record->seq--;
        break;
    case 2:
        record->ctx_id ^= 1;
        break;
    case 3:
        record->status_class = cnnacc_random(f) % 10;
        break;
    case 4:
        record->start_ns = 0;
        record->end_ns = UINT64_MAX;
        record->cycles = UINT64_MAX;
        break;
    default:
        for (size_t i = 0; i < sizeof(*record) / sizeof(*words); i++) {
            words[i] = cnnacc_random(f);
        }
    }
}

const void *cnnacc_fault_record(CnnaccState *s, uint64_t addr, const void *buf,
                                size_t len, struct cnnacc_completion *record)
{
    CnnaccFaults *f = &s->faults;
    uint64_t next;

    /* The model writes records with the BQL held, a program's data without */
    if (len != sizeof(*record) || !bql_locked()) {
        return buf;
    }
    next = cnnacc_next_record(s, addr);
    if (!next) {
        return buf;
    }
    memcpy(record, buf, len);
    f->last.addr = addr;
    f->last.record = *record;
    if (cnnacc_fault_inject(f, RECORD_WRONG)) {
        cnnacc_corrupt_record(f, record);
    }
    if (f->modes & RECORD_REPEAT) {
        cnnacc_dma(s, next, record, len, true);
    }
    return record;
}

void cnnacc_fault_store(CnnaccState *s, uint64_t addr)
{
    if (s->faults.modes & DMA_STALE) {
        qatomic_set_u64(&s->faults.stored, addr);
    }
}

bool cnnacc_fault_hang(CnnaccState *s, unsigned int core)
{
    CnnaccFaults *f = &s->faults;

    if (cnnacc_fault_inject(f, HANG | PROGRESS)) {
        f->hung |= 1u << core;
    }
    return f->hung & 1u << core;
}

/* the property */

static uint32_t cnnacc_fault_mode(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(cnnacc_fault_modes); i++) {
        if (!strcmp(name, cnnacc_fault_modes[i].name)) {
            return cnnacc_fault_modes[i].mode;
        }
    }
    return 0;
}

static bool cnnacc_fault_parse(const char *text, uint32_t *modes, Error **errp)
{
    g_auto(GStrv) names = g_strsplit(text, "+", -1);

    *modes = 0;
    if (!strcmp(text, "none")) {
        return true;
    }
    if (!*text) {
        error_setg(errp, "fault-injection: the value is empty: give modes "
                   "separated by '+', or 'none'");
        return false;
    }
    for (char **name = names; *name; name++) {
        uint32_t mode = cnnacc_fault_mode(*name);

        if (!**name || !strcmp(*name, "none")) {
            error_setg(errp, "fault-injection: '%s' has %s", text, **name ?
                       "'none' beside a mode" : "a '+' without a mode");
            return false;
        }
        if (!mode) {
            error_setg(errp, "fault-injection: unknown mode '%s'", *name);
            return false;
        }
        *modes |= mode;
    }
    return true;
}

static char *cnnacc_fault_format(uint32_t modes)
{
    GString *text = g_string_new("");

    for (size_t i = 0; i < ARRAY_SIZE(cnnacc_fault_modes); i++) {
        if (modes & cnnacc_fault_modes[i].mode) {
            g_string_append_printf(text, "%s%s", text->len ? "+" : "",
                                   cnnacc_fault_modes[i].name);
        }
    }
    if (!text->len) {
        g_string_append(text, "none");
    }
    return g_string_free(text, false);
}

static void cnnacc_fault_get(Object *obj, Visitor *v, const char *name,
                             void *opaque, Error **errp)
{
    CnnaccState *s = opaque;
    g_autofree char *text = cnnacc_fault_format(s->faults.modes);

    visit_type_str(v, name, &text, errp);
}

static void cnnacc_fault_set(Object *obj, Visitor *v, const char *name,
                             void *opaque, Error **errp)
{
    CnnaccState *s = opaque;
    CnnaccFaults *f = &s->faults;
    g_autofree char *text = NULL;
    uint32_t modes;

    if (!visit_type_str(v, name, &text, errp) ||
        !cnnacc_fault_parse(text, &modes, errp)) {
        return;
    }
    *f = (CnnaccFaults) { .modes = modes, .random = 1, .timer = f->timer };
    if (s->model && !s->quit) {
        cnnacc_fault_rearm(s);
        cm_device_wake_workers(s->model);
    }
}

void cnnacc_fault_add_property(CnnaccState *s)
{
    Object *obj = OBJECT(s->owner);

    object_property_add(obj, "fault-injection", "str", cnnacc_fault_get,
                        cnnacc_fault_set, NULL, s);
    object_property_set_description(obj, "fault-injection",
        "Faults to inject, modes separated by '+' (default none; can be set at "
        "any time)");
}

void cnnacc_fault_realize(CnnaccState *s)
{
    s->faults.timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, cnnacc_fault_tick, s);
    cnnacc_fault_rearm(s);
}

void cnnacc_fault_unrealize(CnnaccState *s)
{
    timer_free(s->faults.timer);
    s->faults.timer = NULL;
}

void cnnacc_fault_reset(CnnaccState *s)
{
    s->faults.hung = 0;
    s->faults.hung_reset = 0;
}
