/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: the threads and timers that make the cores work
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "cnnacc-compat.h"
#include "cnnacc-internal.h"
#include "trace.h"

/* A step is short enough for reset and migration not to be felt */
#define CNNACC_STEP_NS (2 * SCALE_MS)
/* What a processor of the guest may be held up by a doorbell, about */
#define CNNACC_AT_ONCE_NS (20 * SCALE_US)

static bool cnnacc_may_run(CnnaccHost *host)
{
    return host->vm_running && !host->stopping && !host->quit;
}

bool cnnacc_busy(CnnaccHost *host)
{
    for (unsigned int i = 0; i < CM_MAX_CORES; i++) {
        if (host->worker[i].busy) {
            return true;
        }
    }
    return false;
}

static bool cnnacc_begin(CnnaccWorker *w)
{
    CnnaccHost *host = w->host;

    if (!cnnacc_may_run(host)) {
        return false;
    }
    if (unlikely(host->malice.modes) && cnnacc_malice_stuck(host, w->core)) {
        return false;
    }
    if (!cm_device_begin(host->model, w->core)) {
        cm_device_idle(host->model);
        return false;
    }
    w->busy = true;
    qatomic_set(&host->translated, host->behind_iommu(host));
    trace_cnnacc_begin(cnnacc_id(host), w->core);
    return true;
}

static void cnnacc_end(CnnaccWorker *w)
{
    CnnaccHost *host = w->host;

    cm_device_end(host->model, w->core);
    trace_cnnacc_end(cnnacc_id(host), w->core);
    w->busy = false;
    if (!host->quit) {
        qatomic_set(&host->revoked, host->revoked && cnnacc_busy(host));
    }
    qemu_cond_broadcast(&host->idle);
    cnnacc_deliver(host);
}

static void cnnacc_step(CnnaccWorker *w)
{
    bql_unlock();
    cm_device_run(w->host->model, w->core, CNNACC_STEP_NS);
    bql_lock();
    cnnacc_end(w);
}

/* Sets the timer for the packet that waits for its time, if there is one */
static void cnnacc_set_timer(CnnaccWorker *w)
{
    uint64_t at;

    if (!w->timer) {
        return;
    }
    at = cm_device_wake_time(w->host->model, w->core);
    if (at && cnnacc_may_run(w->host)) {
        trace_cnnacc_wait(cnnacc_id(w->host), w->core, at);
        timer_mod(w->timer, at);
    } else {
        timer_del(w->timer);
    }
}

/*
 * The lock stays taken: to let the clock go on would be to let the guest see
 * how fast the host is.
 */
static void cnnacc_work_in_lockstep(CnnaccWorker *w)
{
    CnnaccHost *host = w->host;

    object_ref(OBJECT(host->owner));
    while (cnnacc_begin(w)) {
        cm_device_run(host->model, w->core, CNNACC_STEP_NS);
        cnnacc_end(w);
    }
    /* What begin had to say of a packet that it did not take */
    cnnacc_deliver(host);
    cnnacc_set_timer(w);
    object_unref(OBJECT(host->owner));
}

static void cnnacc_timer(void *opaque)
{
    CnnaccWorker *w = opaque;

    if (w->host->lockstep) {
        cnnacc_work_in_lockstep(w);
    } else {
        qemu_cond_signal(&w->wake);
    }
}

void cnnacc_wake(CnnaccWorker *w)
{
    if (w->host->lockstep) {
        timer_mod(w->timer, cnnacc_now(w->host));
    } else {
        qemu_cond_signal(&w->wake);
    }
}

/*
 * In the middle of a register access: to wake the thread up and to wait for it
 * takes longer than a small job does.
 */
void cnnacc_work_at_once(CnnaccWorker *w)
{
    CnnaccHost *host = w->host;
    int64_t end = get_clock() + CNNACC_AT_ONCE_NS;

    if (w->timer) {
        cnnacc_wake(w);
        return;
    }
    while (cnnacc_begin(w)) {
        cm_device_run(host->model, w->core, CNNACC_AT_ONCE_NS);
        cnnacc_end(w);
        if (get_clock() >= end) {
            cnnacc_wake(w);
            return;
        }
    }
    cnnacc_deliver(host);
}

/* The last worker out frees what all of them use */
static void cnnacc_leave(CnnaccWorker *w)
{
    CnnaccHost *host = w->host;

    qemu_cond_destroy(&w->wake);
    if (!--host->workers) {
        cm_device_destroy(host->model);
        host->model = NULL;
        qemu_cond_destroy(&host->idle);
    }
    object_unref(OBJECT(host->owner));
}

static void *cnnacc_worker(void *opaque)
{
    CnnaccWorker *w = opaque;
    CnnaccHost *host = w->host;

    rcu_register_thread();
    bql_lock();
    while (!host->quit) {
        if (!host->lockstep && cnnacc_begin(w)) {
            cnnacc_step(w);
        } else {
            cnnacc_deliver(host);
            cnnacc_set_timer(w);
            if (!host->quit) {
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
 * Waits until every worker stands at a step boundary.  The lock is dropped
 * meanwhile: a step may need it, for an IOMMU fault for example.
 */
void cnnacc_stop(CnnaccHost *host)
{
    trace_cnnacc_quiesce(cnnacc_id(host));
    object_ref(OBJECT(host->owner));
    host->stopping++;
    while (cnnacc_busy(host)) {
        qemu_cond_wait_bql(&host->idle);
    }
}

void cnnacc_resume(CnnaccHost *host)
{
    host->stopping--;
    if (host->model && cnnacc_may_run(host)) {
        cm_device_wake_workers(host->model);
    }
    object_unref(OBJECT(host->owner));
}

static void cnnacc_start_worker(CnnaccHost *host, unsigned int core,
                                bool modelled)
{
    CnnaccWorker *w = &host->worker[core];
    g_autofree char *name = g_strdup_printf("cnnacc/%u", core);
    QemuThread thread;

    *w = (CnnaccWorker) { .host = host, .core = core };
    qemu_cond_init(&w->wake);
    if (modelled) {
        w->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, cnnacc_timer, w);
    }
    /* The thread's */
    object_ref(OBJECT(host->owner));
    qemu_thread_create(&thread, name, cnnacc_worker, w, QEMU_THREAD_DETACHED);
}

void cnnacc_start_workers(CnnaccHost *host, bool modelled)
{
    host->workers = cm_device_core_count(host->model);
    host->lockstep = modelled && icount_enabled();
    qemu_cond_init(&host->idle);
    for (unsigned int i = 0; i < host->workers; i++) {
        cnnacc_start_worker(host, i, modelled);
    }
}

void cnnacc_dismiss_workers(CnnaccHost *host)
{
    for (unsigned int i = 0; i < cm_device_core_count(host->model); i++) {
        CnnaccWorker *w = &host->worker[i];

        qemu_cond_signal(&w->wake);
        if (w->timer) {
            timer_free(w->timer);
            w->timer = NULL;
        }
    }
}
