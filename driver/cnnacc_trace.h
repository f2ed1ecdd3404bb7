/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM cnnacc

#if !defined(CNNACC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CNNACC_TRACE_H

#include <linux/tracepoint.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"

DECLARE_EVENT_CLASS(cnnacc_job,
		    TP_PROTO(const struct cnnacc_job *job),
		    TP_ARGS(job),
		    TP_STRUCT__entry(__string(dev, dev_name(job->ctx->cdev->drm.dev))
				     __field(u32, core)
				     __field(u32, ctx)
				     __field(u64, seqno)
				     __field(u32, tasks)),
		    TP_fast_assign(__assign_str(dev);
				   __entry->core = job->core->index;
				   __entry->ctx = job->ctx->hw_id;
				   __entry->seqno = job->seqno;
				   __entry->tasks = job->task_count;),
		    TP_printk("dev=%s core=%u ctx=%u seqno=%llu tasks=%u", __get_str(dev),
			      __entry->core, __entry->ctx, __entry->seqno, __entry->tasks)
);

/* A SUBMIT has queued the job. */
DEFINE_EVENT(cnnacc_job, cnnacc_job_queue,
	     TP_PROTO(const struct cnnacc_job *job),
	     TP_ARGS(job)
);

/* Its packets are in the ring. */
DEFINE_EVENT(cnnacc_job, cnnacc_job_start,
	     TP_PROTO(const struct cnnacc_job *job),
	     TP_ARGS(job)
);

/* Its core is done with it. */
TRACE_EVENT(cnnacc_job_done,
	    TP_PROTO(const struct cnnacc_job *job, int error,
		     const struct cnnacc_completion *record),
	    TP_ARGS(job, error, record),
	    TP_STRUCT__entry(__string(dev, dev_name(job->ctx->cdev->drm.dev))
			     __field(u32, core)
			     __field(u32, ctx)
			     __field(u64, seqno)
			     __field(int, error)
			     __field(u16, class)
			     __field(u16, code)
			     __field(u64, cycles)
			     __field(u64, runtime_ns)
			     __field(u64, end_ns)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->core = job->core->index;
			   __entry->ctx = job->ctx->hw_id;
			   __entry->seqno = job->seqno;
			   __entry->error = error;
			   __entry->class = record ? record->status_class : 0;
			   __entry->code = record ? record->status_code : 0;
			   __entry->cycles = job->cycles;
			   __entry->runtime_ns = job->runtime_ns;
			   __entry->end_ns = record ? record->end_ns : 0;),
	    TP_printk("dev=%s core=%u ctx=%u seqno=%llu error=%d class=%u code=%u cycles=%llu runtime_ns=%llu end_ns=%llu",
		      __get_str(dev), __entry->core, __entry->ctx, __entry->seqno,
		      __entry->error, __entry->class, __entry->code, __entry->cycles,
		      __entry->runtime_ns, __entry->end_ns)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE cnnacc_trace
#include <trace/define_trace.h>
