// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: tracepoints
 *
 * Events of the group "cnnacc", in the order in which they occur for a job:
 *
 * ==================== ==========================================================
 * cnnacc_job_queue     a job is passed to the scheduler
 * cnnacc_job_start     the packets of a job are written to the ring
 * cnnacc_fault         a job failed or hung: class, code, program counter, address
 * cnnacc_job_done      a job has ended and its fence is about to be signalled
 * cnnacc_reset         a core is reset, or the device (core=-1)
 * ==================== ==========================================================
 *
 * A job is identified by the hardware id of its context and its number there, and by its fence,
 * which the events of the DRM scheduler and of dma-fence contain too.
 */
#define CREATE_TRACE_POINTS
#include "cnnacc_trace.h"
