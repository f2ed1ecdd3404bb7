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
				     __field(u64, fence_context)
				     __field(u64, fence_seqno)
				     __field(u32, tasks)),
		    TP_fast_assign(__assign_str(dev);
				   __entry->core = job->core->index;
				   __entry->ctx = job->ctx->vm->hw_id;
				   __entry->seqno = job->seqno;
				   __entry->fence_context = job->fence->base.context;
				   __entry->fence_seqno = job->fence->base.seqno;
				   __entry->tasks = job->task_count;),
		    TP_printk("dev=%s core=%u ctx=%u seqno=%llu fence=%llu:%llu tasks=%u",
			      __get_str(dev), __entry->core, __entry->ctx, __entry->seqno,
			      __entry->fence_context, __entry->fence_seqno, __entry->tasks)
);

/* A job is about to be passed to the scheduler. */
DEFINE_EVENT(cnnacc_job, cnnacc_job_queue,
	     TP_PROTO(const struct cnnacc_job *job),
	     TP_ARGS(job)
);

/* The packets of a job are in the ring. */
DEFINE_EVENT(cnnacc_job, cnnacc_job_start,
	     TP_PROTO(const struct cnnacc_job *job),
	     TP_ARGS(job)
);

/* A job has ended. */
TRACE_EVENT(cnnacc_job_done,
	    TP_PROTO(const struct cnnacc_job *job, int error,
		     const struct cnnacc_completion *record),
	    TP_ARGS(job, error, record),
	    TP_STRUCT__entry(__string(dev, dev_name(job->ctx->cdev->drm.dev))
			     __field(u32, core)
			     __field(u32, ctx)
			     __field(u64, seqno)
			     __field(u64, fence_context)
			     __field(u64, fence_seqno)
			     __field(int, error)
			     __field(u16, class)
			     __field(u16, code)
			     __field(u64, cycles)
			     __field(u64, runtime_ns)
			     __field(u64, end_ns)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->core = job->core->index;
			   __entry->ctx = job->ctx->vm->hw_id;
			   __entry->seqno = job->seqno;
			   __entry->fence_context = job->fence->base.context;
			   __entry->fence_seqno = job->fence->base.seqno;
			   __entry->error = error;
			   __entry->class = record ? le16_to_cpu(record->status_class) : 0;
			   __entry->code = record ? le16_to_cpu(record->status_code) : 0;
			   __entry->cycles = job->cycles;
			   __entry->runtime_ns = job->runtime_ns;
			   __entry->end_ns = record ? le64_to_cpu(record->end_ns) : 0;),
	    TP_printk("dev=%s core=%u ctx=%u seqno=%llu fence=%llu:%llu error=%d class=%u code=%u cycles=%llu runtime_ns=%llu end_ns=%llu",
		      __get_str(dev), __entry->core, __entry->ctx, __entry->seqno,
		      __entry->fence_context, __entry->fence_seqno, __entry->error,
		      __entry->class, __entry->code, __entry->cycles, __entry->runtime_ns,
		      __entry->end_ns)
);

/* A job failed or hung; status is what CTX_QUERY will return. */
TRACE_EVENT(cnnacc_fault,
	    TP_PROTO(const struct cnnacc_job *job, const struct drm_cnnacc_ctx_query *status),
	    TP_ARGS(job, status),
	    TP_STRUCT__entry(__string(dev, dev_name(job->ctx->cdev->drm.dev))
			     __field(u32, core)
			     __field(u32, ctx)
			     __field(u64, seqno)
			     __field(u32, task)
			     __field(u32, state)
			     __field(u16, class)
			     __field(u16, code)
			     __field(u32, detail)
			     __field(u32, pc)
			     __field(u32, access)
			     __field(u64, va)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->core = job->core->index;
			   __entry->ctx = job->ctx->vm->hw_id;
			   __entry->seqno = job->seqno;
			   __entry->task = status->task;
			   __entry->state = status->state;
			   __entry->class = status->status_class;
			   __entry->code = status->status_code;
			   __entry->detail = status->detail;
			   __entry->pc = status->pc;
			   __entry->access = status->access;
			   __entry->va = status->fault_va;),
	    TP_printk("dev=%s core=%u ctx=%u seqno=%llu task=%u state=%#x class=%u code=%u detail=%u pc=%u access=%u va=%#llx",
		      __get_str(dev), __entry->core, __entry->ctx, __entry->seqno,
		      __entry->task, __entry->state, __entry->class, __entry->code,
		      __entry->detail, __entry->pc, __entry->access, __entry->va)
);

/* A core is reset, or the device (core -1). */
TRACE_EVENT(cnnacc_reset,
	    TP_PROTO(const struct cnnacc_device *cdev, int core, u64 count),
	    TP_ARGS(cdev, core, count),
	    TP_STRUCT__entry(__string(dev, dev_name(cdev->drm.dev))
			     __field(int, core)
			     __field(u64, count)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->core = core;
			   __entry->count = count;),
	    TP_printk("dev=%s core=%d count=%llu", __get_str(dev), __entry->core,
		      __entry->count)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE cnnacc_trace
#include <trace/define_trace.h>
