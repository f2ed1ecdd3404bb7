// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: tracepoints
 *
 * Events of the group "cnnacc", in the order of a job's life:
 *
 * ==================== ==========================================================
 * cnnacc_submit        a SUBMIT is accepted
 * cnnacc_job_queue     the scheduler gets a job of it
 * cnnacc_job_start     its packets are in the ring
 * cnnacc_fault         it failed by its own doing: class, code, address and so on
 * cnnacc_job_done      its core is done with it, its fence is about to be signalled
 * cnnacc_reset         a core is being reset, or the device (core -1)
 * ==================== ==========================================================
 *
 * A job is known by its context's hardware id and its number there, and by its fence,
 * which the events of the DRM scheduler and of dma-fence name too.
 */
#define CREATE_TRACE_POINTS
#include "cnnacc_trace.h"
