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

/* Longest step; a machine that stops waits for its end */
#define CNNACC_STEP_NS (2 * SCALE_MS)
/* The same with the BQL locked, and how long others may take the BQL then */
#define CNNACC_LOCKED_STEP_NS (200 * SCALE_US)
#define CNNACC_UNLOCKED_US 50
/* About how long a doorbell may occupy the CPU of the guest that wrote it */
#define CNNACC_AT_ONCE_NS (20 * SCALE_US)

static bool cnnacc_may_run(CnnaccState *s)
{
    return cnnacc_live(s) && !s->quit;
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
    trace_cnnacc_begin(cnnacc_id(s), w->core);
    return true;
}

static void cnnacc_end(CnnaccWorker *w)
{
    CnnaccState *s = w->s;

    cm_device_end(s->model, w->core);
    trace_cnnacc_end(cnnacc_id(s), w->core);
    w->busy = false;
    w->computed = false;
    if (!s->quit) {
        qatomic_set(&s->revoked, s->revoked && cnnacc_busy(s));
    }
}

static void cnnacc_run(CnnaccWorker *w, uint32_t ns)
{
    cm_device_run(w->s->model, w->core, ns);
    cnnacc_end(w);
    cnnacc_deliver(w->s);
}

/*
 * An IOMMU that refuses an access sends a message, for which it needs the BQL.
 * If the step took the BQL for that, cnnacc_end_steps() would have to drop it.
 */
static void cnnacc_step_locked(CnnaccWorker *w)
{
    cnnacc_run(w, CNNACC_LOCKED_STEP_NS);
    bql_unlock();
    g_usleep(CNNACC_UNLOCKED_US);
    bql_lock();
}

/* While this waits for the BQL, cnnacc_end_steps() may end the step */
static void cnnacc_step(CnnaccWorker *w)
{
    CnnaccState *s = w->s;

    qemu_mutex_lock(&s->lock);
    s->computing++;
    qemu_mutex_unlock(&s->lock);
    bql_unlock();
    cm_device_run(s->model, w->core, CNNACC_STEP_NS);
    qemu_mutex_lock(&s->lock);
    w->computed = true;
    if (!--s->computing) {
        qemu_cond_broadcast(&s->idle);
    }
    qemu_mutex_unlock(&s->lock);
    bql_lock();
    if (w->computed) {
        cnnacc_end(w);
    }
    cnnacc_deliver(s);
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
        cnnacc_run(w, CNNACC_STEP_NS);
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
        cnnacc_run(w, CNNACC_AT_ONCE_NS);
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
        qemu_mutex_destroy(&s->lock);
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
            if (s->bus->behind_iommu && s->bus->behind_iommu(s)) {
                cnnacc_step_locked(w);
            } else {
                cnnacc_step(w);
            }
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

void cnnacc_end_steps(CnnaccState *s)
{
    trace_cnnacc_quiesce(cnnacc_id(s));
    qemu_mutex_lock(&s->lock);
    while (s->computing) {
        qemu_cond_wait(&s->idle, &s->lock);
    }
    qemu_mutex_unlock(&s->lock);
    for (unsigned int i = 0; i < cm_device_core_count(s->model); i++) {
        if (s->worker[i].computed) {
            cnnacc_end(&s->worker[i]);
        }
    }
}

void cnnacc_resume(CnnaccState *s)
{
    if (!cnnacc_may_run(s)) {
        return;
    }
    cm_device_wake_workers(s->model);
    if (s->messages) {
        cnnacc_wake(&s->worker[0]);
    }
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
    s->computing = 0;
    qemu_mutex_init(&s->lock);
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
