/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: worker threads and timers that run the cores
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "cnnacc-compat.h"
#include "cnnacc-internal.h"
#include "trace.h"

/* Longest step; reset and migration wait for its end */
#define CNNACC_STEP_NS (2 * SCALE_MS)
/* About how long a doorbell may occupy the CPU of the guest that wrote it */
#define CNNACC_AT_ONCE_NS (20 * SCALE_US)

static bool cnnacc_may_run(CnnaccState *s)
{
    return s->vm_running && !s->stopping && !s->quit;
}

bool cnnacc_busy(CnnaccState *s)
{
    for (unsigned int i = 0; i < CM_MAX_CORES; i++) {
        if (s->worker[i].busy) {
            return true;
        }
    }
    return false;
}

static bool cnnacc_begin(CnnaccWorker *w)
{
    CnnaccState *s = w->s;

    if (!cnnacc_may_run(s)) {
        return false;
    }
    if (unlikely(s->faults.modes) && cnnacc_fault_hang(s, w->core)) {
        return false;
    }
    if (!cm_device_begin(s->model, w->core)) {
        cm_device_idle(s->model);
        return false;
    }
    w->busy = true;
    qatomic_set(&s->translated,
                s->bus->behind_iommu && s->bus->behind_iommu(s));
    trace_cnnacc_begin(cnnacc_id(s), w->core);
    return true;
}

static void cnnacc_end(CnnaccWorker *w)
{
    CnnaccState *s = w->s;

    cm_device_end(s->model, w->core);
    trace_cnnacc_end(cnnacc_id(s), w->core);
    w->busy = false;
    if (!s->quit) {
        qatomic_set(&s->revoked, s->revoked && cnnacc_busy(s));
    }
    qemu_cond_broadcast(&s->idle);
    cnnacc_deliver(s);
}

static void cnnacc_step(CnnaccWorker *w)
{
    bql_unlock();
    cm_device_run(w->s->model, w->core, CNNACC_STEP_NS);
    bql_lock();
    cnnacc_end(w);
}

/*
 * Arms the timer for the modelled time of the waiting packet, if there is one
 */
static void cnnacc_set_timer(CnnaccWorker *w)
{
    uint64_t at;

    if (!w->timer) {
        return;
    }
    at = cm_device_wake_time(w->s->model, w->core);
    if (at && cnnacc_may_run(w->s)) {
        trace_cnnacc_wait(cnnacc_id(w->s), w->core, at);
        timer_mod(w->timer, at);
    } else {
        timer_del(w->timer);
    }
}

/*
 * Runs the core in the timer callback without dropping the BQL.  If the
 * virtual clock advanced meanwhile, the guest's timing would depend on the
 * host's speed.
 */
static void cnnacc_work_in_lockstep(CnnaccWorker *w)
{
    CnnaccState *s = w->s;

    object_ref(OBJECT(s->owner));
    while (cnnacc_begin(w)) {
        cm_device_run(s->model, w->core, CNNACC_STEP_NS);
        cnnacc_end(w);
    }
    /* Deliver the messages about a packet that begin refused */
    cnnacc_deliver(s);
    cnnacc_set_timer(w);
    object_unref(OBJECT(s->owner));
}

static void cnnacc_timer(void *opaque)
{
    CnnaccWorker *w = opaque;

    if (w->s->lockstep) {
        cnnacc_work_in_lockstep(w);
    } else {
        qemu_cond_signal(&w->wake);
    }
}

void cnnacc_wake(CnnaccWorker *w)
{
    if (w->s->lockstep) {
        timer_mod(w->timer, cnnacc_now(w->s));
    } else {
        qemu_cond_signal(&w->wake);
    }
}

/*
 * Runs a small job in the register access itself: waking the thread and waiting
 * for it takes longer than such a job.
 */
void cnnacc_work_at_once(CnnaccWorker *w)
{
    CnnaccState *s = w->s;
    int64_t end = get_clock() + CNNACC_AT_ONCE_NS;

    if (w->timer) {
        cnnacc_wake(w);
        return;
    }
    while (cnnacc_begin(w)) {
        cm_device_run(s->model, w->core, CNNACC_AT_ONCE_NS);
        cnnacc_end(w);
        if (get_clock() >= end) {
            cnnacc_wake(w);
            return;
        }
    }
    cnnacc_deliver(s);
}

/* The last worker to exit frees what all of them use */
static void cnnacc_leave(CnnaccWorker *w)
{
    CnnaccState *s = w->s;

    qemu_cond_destroy(&w->wake);
    if (!--s->workers) {
        cm_device_destroy(s->model);
        s->model = NULL;
        qemu_cond_destroy(&s->idle);
    }
    object_unref(OBJECT(s->owner));
}

static void *cnnacc_worker(void *opaque)
{
    CnnaccWorker *w = opaque;
    CnnaccState *s = w->s;

    rcu_register_thread();
    bql_lock();
    while (!s->quit) {
        if (!s->lockstep && cnnacc_begin(w)) {
            cnnacc_step(w);
        } else {
            cnnacc_deliver(s);
            cnnacc_set_timer(w);
            if (!s->quit) {
                qemu_cond_wait_bql(&w->wake);
            }
        }
    }
    cnnacc_leave(w);
    bql_unlock();
    rcu_unregister_thread();
    return NULL;
}

/*
 * Waits until every worker is at a step boundary.  This drops the BQL, which a
 * step may need, for example to report an IOMMU fault.
 */
void cnnacc_stop(CnnaccState *s)
{
    trace_cnnacc_quiesce(cnnacc_id(s));
    object_ref(OBJECT(s->owner));
    s->stopping++;
    while (cnnacc_busy(s)) {
        qemu_cond_wait_bql(&s->idle);
    }
}

void cnnacc_resume(CnnaccState *s)
{
    s->stopping--;
    if (s->model && cnnacc_may_run(s)) {
        cm_device_wake_workers(s->model);
    }
    object_unref(OBJECT(s->owner));
}

static void cnnacc_start_worker(CnnaccState *s, unsigned int core,
                                bool modelled)
{
    CnnaccWorker *w = &s->worker[core];
    g_autofree char *name = g_strdup_printf("cnnacc/%u", core);
    QemuThread thread;

    *w = (CnnaccWorker) { .s = s, .core = core };
    qemu_cond_init(&w->wake);
    if (modelled) {
        w->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, cnnacc_timer, w);
    }
    /* cnnacc_leave() drops the thread's reference */
    object_ref(OBJECT(s->owner));
    qemu_thread_create(&thread, name, cnnacc_worker, w, QEMU_THREAD_DETACHED);
}

void cnnacc_start_workers(CnnaccState *s, bool modelled)
{
    s->workers = cm_device_core_count(s->model);
    s->lockstep = modelled && icount_enabled();
    qemu_cond_init(&s->idle);
    for (unsigned int i = 0; i < s->workers; i++) {
        cnnacc_start_worker(s, i, modelled);
    }
}

void cnnacc_dismiss_workers(CnnaccState *s)
{
    for (unsigned int i = 0; i < cm_device_core_count(s->model); i++) {
        CnnaccWorker *w = &s->worker[i];

        qemu_cond_signal(&w->wake);
        if (w->timer) {
            timer_free(w->timer);
            w->timer = NULL;
        }
    }
}
