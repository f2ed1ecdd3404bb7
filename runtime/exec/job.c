/* SPDX-License-Identifier: MIT */
/*
 * The interface of jobs. A run that is just one device job is direct: the caller's thread submits
 * it, and its fence is the device's. The job's own thread does any other run, whose fence is an
 * eventfd.
 */
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static void init_sync(struct cnnrt_job *job)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&job->lock, NULL);
	pthread_cond_init(&job->changed, &attr);
	pthread_condattr_destroy(&attr);
}

static int new_job(struct cnnrt_context *ctx, const struct cnnrt_program *program,
		   struct cnnrt_job **out, struct cnnrt_error *err)
{
	struct cnnrt_job *job;
	int ret;

	if (program->core_count != ctx->dev->info.core_count ||
	    memcmp(program->core, ctx->dev->core, sizeof(program->core)))
		return rt_fail(err, CNNRT_EINVAL, "job: the program was compiled for a device "
			       "with other cores than %s", ctx->dev->info.path);
	job = calloc(1, sizeof(*job));
	if (!job)
		return rt_fail(err, CNNRT_ENOMEM, "job: out of memory");
	job->ctx = ctx;
	job->dev = ctx->dev;
	job->program = program;
	job->fence = job->in_fence = job->ended_fence = -1;
	job->status = (struct cnnrt_job_status){
		.core = -1, .class_name = "NONE", .code_name = "NONE",
	};
	init_sync(job);
	job->cancel = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (job->cancel < 0)
		ret = rt_fail_errno(err, errno, "job: eventfd");
	else
		ret = rt_job_memory(job, err);
	if (ret)
		cnnrt_job_free(job);
	else
		*out = job;
	return ret;
}

/* Jobs that cnnrt_run() keeps make room for those of the application. */
int cnnrt_job_create(struct cnnrt_context *ctx, const struct cnnrt_program *program,
		     struct cnnrt_job **out, struct cnnrt_error *err)
{
	int ret = rt_check_process(ctx->dev, err) ?: new_job(ctx, program, out, err);

	if (ret && ret != CNNRT_EINVAL &&
	    rt_kept_jobs_free(&(struct rt_job_owner){ .dev = ctx->dev }))
		ret = new_job(ctx, program, out, err);
	return ret;
}

static void stop_thread(struct cnnrt_job *job)
{
	if (!job->has_thread)
		return;
	(void)!eventfd_write(job->cancel, 1);
	atomic_store(&job->stop, true);
	pthread_mutex_lock(&job->lock);
	job->quit = true;
	pthread_cond_broadcast(&job->changed);
	pthread_mutex_unlock(&job->lock);
	pthread_join(job->thread, NULL);
}

/* Waits for a direct run: the device uses the job's memory. */
static void end_direct(struct cnnrt_job *job)
{
	pthread_mutex_lock(&job->lock);
	if (job->running && job->direct) {
		rt_fence_wait(job->fence, -1);
		job->running = false;
	}
	pthread_mutex_unlock(&job->lock);
}

void cnnrt_job_free(struct cnnrt_job *job)
{
	if (!job || !rt_is_ours(job->dev))
		return;
	end_direct(job);
	stop_thread(job);
	if (job->fence >= 0)
		close(job->fence);
	if (job->cancel >= 0)
		close(job->cancel);
	rt_job_memory_free(job);
	pthread_cond_destroy(&job->changed);
	pthread_mutex_destroy(&job->lock);
	free(job);
}

/* 0, or the fence's negative errno; -ECANCELED if the job is being freed. */
static int wait_in_fence(struct cnnrt_job *job)
{
	struct pollfd p[2] = {
		{ .fd = job->in_fence, .events = POLLIN },
		{ .fd = job->cancel, .events = POLLIN },
	};
	int n;

	do {
		n = poll(p, 2, -1);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (p[1].revents)
		return -ECANCELED;
	return p[0].revents & POLLNVAL ? -EBADF : rt_fence_status(job->in_fence);
}

static void run_in_thread(struct cnnrt_job *job)
{
	int ret = 0;

	if (job->in_fence >= 0) {
		ret = wait_in_fence(job);
		close(job->in_fence);
		job->in_fence = -1;
	}
	if (ret) {
		job->status = (struct cnnrt_job_status){
			.state = CNNRT_JOB_FAILED, .code = CNNRT_ECANCELED, .core = -1,
			.class_name = "CANCELED", .code_name = "NONE",
			.text = "the in-fence failed, or the job was freed before it signaled",
		};
		return;
	}
	rt_job_run(job);
}

static int fence_errno(const struct cnnrt_job_status *s)
{
	switch (s->code) {
	case CNNRT_OK:
		return 0;
	case CNNRT_ECANCELED:
		return -ECANCELED;
	case CNNRT_EGONE:
		return -ENODEV;
	}
	return s->status_class == CNNACC_STATUS_MMU_FAULT ||
	       s->status_class == CNNACC_STATUS_BUS_ERROR ? -EFAULT :
	       s->status_class == CNNACC_STATUS_TIME_LIMIT ? -ETIMEDOUT : -EINVAL;
}

static void *job_thread(void *arg)
{
	struct cnnrt_job *job = arg;

	pthread_mutex_lock(&job->lock);
	while (!job->quit || job->running) {
		if (!job->running || job->direct) {
			pthread_cond_wait(&job->changed, &job->lock);
			continue;
		}
		pthread_mutex_unlock(&job->lock);
		run_in_thread(job);
		pthread_mutex_lock(&job->lock);
		job->running = false;
		rt_fence_signal(job->fence, fence_errno(&job->status));
		pthread_cond_broadcast(&job->changed);
	}
	pthread_mutex_unlock(&job->lock);
	return NULL;
}

/* With the lock held. */
static int submit_to_thread(struct cnnrt_job *job, int in_fence, struct cnnrt_error *err)
{
	int ret;

	if (!job->has_thread) {
		ret = pthread_create(&job->thread, NULL, job_thread, job);
		if (ret)
			return rt_fail_errno(err, ret, "job: thread");
		job->has_thread = true;
	}
	job->fence = rt_fence_create();
	if (job->fence < 0) {
		ret = job->fence;
		job->fence = -1;
		return rt_fail_errno(err, ret, "job: fence");
	}
	if (in_fence >= 0) {
		job->in_fence = fcntl(in_fence, F_DUPFD_CLOEXEC, 0);
		if (job->in_fence < 0)
			return rt_fail_errno(err, errno, "job: in-fence %d", in_fence);
	}
	pthread_cond_broadcast(&job->changed);
	return CNNRT_OK;
}

/* With the lock held: false while the job runs. Finishes a direct run whose fence is signaled. */
static bool poll_direct(struct cnnrt_job *job)
{
	if (!job->running || !job->direct || rt_fence_wait(job->fence, 0))
		return !job->running;
	job->running = !rt_job_finish_direct(job);
	return !job->running;
}

static int submit_locked(struct cnnrt_job *job, int in_fence, int *out_fence,
			 struct cnnrt_error *err)
{
	int ret;

	if (!poll_direct(job))
		return rt_fail(err, CNNRT_EBUSY, "job: it still runs");
	if (job->fence >= 0)
		close(job->fence);
	job->fence = -1;
	job->direct = true;
	job->fence_shared = out_fence;
	ret = rt_job_submit_direct(job, in_fence, err);
	if (ret == CNNRT_EUNSUPPORTED) {
		job->direct = false;
		ret = submit_to_thread(job, in_fence, err);
	}
	if (ret)
		return ret;
	job->running = true;
	job->status.state = CNNRT_JOB_RUNNING;
	if (!out_fence)
		return CNNRT_OK;
	*out_fence = fcntl(job->fence, F_DUPFD_CLOEXEC, 0);
	return CNNRT_OK;
}

int cnnrt_job_submit(struct cnnrt_job *job, int in_fence, int *out_fence, struct cnnrt_error *err)
{
	int ret = rt_check_process(job->dev, err);

	if (ret)
		return ret;
	ret = in_fence >= 0 ? rt_fence_check(in_fence) : 0;
	if (ret)
		return rt_fail(err, CNNRT_EINVAL, "job: in-fence %d is not a fence: %s", in_fence,
			       ret == -EINVAL ? "it is neither a sync_file nor an eventfd" :
						strerror(-ret));
	pthread_mutex_lock(&job->lock);
	ret = submit_locked(job, in_fence, out_fence, err);
	pthread_mutex_unlock(&job->lock);
	if (!ret && out_fence && *out_fence < 0) {
		ret = rt_fail_errno(err, errno, "job: copying the fence");
		cnnrt_job_wait(job, -1, NULL);
	}
	return ret;
}

/* With the lock held, which is released while a thread's run is waited for. */
static int wait_locked(struct cnnrt_job *job, int64_t timeout_ns)
{
	uint64_t end = rt_now() + (uint64_t)timeout_ns;
	struct timespec ts = {
		.tv_sec = (time_t)(end / 1000000000u), .tv_nsec = (long)(end % 1000000000u),
	};
	int ret = 0;

	while (job->running && !job->direct && !ret) {
		if (timeout_ns < 0)
			ret = pthread_cond_wait(&job->changed, &job->lock);
		else
			ret = pthread_cond_timedwait(&job->changed, &job->lock, &ts);
	}
	if (!job->running || !job->direct)
		return job->running ? -ret : 0;
	do {
		uint64_t now = rt_now();

		ret = rt_fence_wait(job->fence, timeout_ns < 0 ? -1 :
				    now < end ? (int64_t)(end - now) : 0);
	} while (!ret && !poll_direct(job));
	return ret;
}

int cnnrt_job_wait(struct cnnrt_job *job, int64_t timeout_ns, struct cnnrt_error *err)
{
	int ret = rt_check_process(job->dev, err);

	if (ret)
		return ret;
	pthread_mutex_lock(&job->lock);
	ret = wait_locked(job, timeout_ns);
	pthread_mutex_unlock(&job->lock);
	if (ret == -ETIMEDOUT)
		return rt_fail(err, CNNRT_ETIMEDOUT, "job: it still runs after %lld ns",
			       (long long)timeout_ns);
	if (ret)
		return rt_fail_errno(err, ret, "job: wait");
	if (job->status.state == CNNRT_JOB_IDLE)
		return rt_fail(err, CNNRT_EINVAL, "job: it was never submitted");
	if (job->status.state == CNNRT_JOB_FAILED)
		return rt_fail(err, job->status.code, "%s", job->status.text);
	return CNNRT_OK;
}

int cnnrt_job_status(struct cnnrt_job *job, struct cnnrt_job_status *status,
		     struct cnnrt_error *err)
{
	static const struct cnnrt_job_status running = {
		.state = CNNRT_JOB_RUNNING, .core = -1, .class_name = "RUNNING", .code_name = "NONE",
	};
	int ret = rt_struct_check(RT_JOB_STATUS, status->struct_size, err) ?:
		  rt_check_process(job->dev, err);

	if (ret)
		return ret;
	pthread_mutex_lock(&job->lock);
	rt_struct_write(RT_JOB_STATUS, status, poll_direct(job) ? &job->status : &running);
	pthread_mutex_unlock(&job->lock);
	return CNNRT_OK;
}

int rt_job_idle(struct cnnrt_job *job, struct cnnrt_error *err)
{
	int ret = rt_check_process(job->dev, err);
	bool idle;

	if (ret)
		return ret;
	pthread_mutex_lock(&job->lock);
	idle = poll_direct(job);
	pthread_mutex_unlock(&job->lock);
	return idle ? CNNRT_OK : rt_fail(err, CNNRT_EBUSY, "job: it still runs");
}

int cnnrt_job_profile(struct cnnrt_job *job,
		      void (*report)(const struct cnnrt_step *step, void *opaque), void *opaque,
		      struct cnnrt_error *err)
{
	int ret = rt_job_idle(job, err);

	if (ret)
		return ret;
	for (int i = 0; i < job->step_count; i++)
		report(&job->steps[i], opaque);
	return CNNRT_OK;
}

static int check_io(struct cnnrt_job *job, enum cnnrt_direction dir, unsigned int index,
		    struct cnnrt_error *err)
{
	int ret = rt_job_idle(job, err);

	if (ret)
		return ret;
	return rt_check_index(index, dir, cnnrt_program_io_count(job->program, dir), err);
}

int cnnrt_job_map(struct cnnrt_job *job, enum cnnrt_direction dir, unsigned int index,
		  struct cnnrt_tensor_info *info, void **ptr, struct cnnrt_error *err)
{
	int v, ret = check_io(job, dir, index, err);

	if (ret)
		return ret;
	v = rt_io_value(job->program, dir, index);
	if (ptr && dir == CNNRT_INPUT && job->values[v].location == RT_AT_GRAPH)
		return rt_fail(err, CNNRT_EINVAL, "input %u: it is compiled as a constant", index);
	if (ptr && !job->values[v].t.data)
		return rt_fail(err, CNNRT_EINVAL, "output %u: its shape is only known after a run",
			       index);
	if (info)
		ret = rt_tensor_info(job->program->graph->values[v].name, &job->values[v].t, info,
				     err);
	if (!ret && ptr)
		*ptr = job->values[v].t.data;
	return ret;
}

/* Pages that can be mapped at a slot. */
struct pages {
	const struct rt_bo *bo;
	uint64_t offset;
};

static struct pages arena_pages(const struct cnnrt_job *job, int v)
{
	return (struct pages){ &job->arena, (uint64_t)job->program->low->slots[v].offset };
}

/* Maps other pages at the value's slot; restores the old mapping on failure. */
static int swap_pages(struct cnnrt_job *job, int v, struct pages from, struct pages to,
		      struct cnnrt_error *err)
{
	uint32_t rw = DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE;
	const struct cnn_slot *slot = &job->program->low->slots[v];
	uint64_t va = job->place.bases.va[CNN_ARENA] + (uint64_t)slot->offset;
	uint64_t size = rt_pages(job->dev, (uint64_t)slot->bytes);
	uint32_t vm = rt_vm_id(job->place.vm);
	int ret = rt_unbind(job->dev, vm, &(struct rt_mapped){ va, size }, 1, err);

	if (ret)
		return ret;
	ret = rt_bind(job->dev, vm,
		      &(struct rt_bind_range){ to.bo, to.offset, va, size, rw }, err);
	if (ret)
		rt_bind(job->dev, vm,
			&(struct rt_bind_range){ from.bo, from.offset, va, size, rw }, NULL);
	return ret;
}

static int unbind(struct cnnrt_job *job, int v, struct rt_binding *b, struct cnnrt_error *err)
{
	int ret = CNNRT_OK;

	if (b->mapped)
		ret = swap_pages(job, v, (struct pages){ &b->buf->bo, b->offset },
				 arena_pages(job, v), err);
	if (ret)
		return ret;
	job->values[v].location = job->values[v].unbound_location;
	job->values[v].t.data = job->values[v].unbound_data;
	*b = (struct rt_binding){ 0 };
	return CNNRT_OK;
}

/*
 * Is the value, or another one in its slot, input or output more than once? Then no buffer can take
 * the slot's place, and the data is copied.
 */
static bool is_shared(const struct cnnrt_job *job, int v)
{
	const struct cnn_slot *slots = job->program->low->slots;
	int uses = 0;

	for (int d = 0; d < 2; d++) {
		for (unsigned int i = 0; i < cnnrt_program_io_count(job->program, d); i++) {
			int o = rt_io_value(job->program, d, i);

			uses += o == v || (slots[o].used && slots[v].used &&
					   slots[o].offset == slots[v].offset);
		}
	}
	return uses > 1;
}

/* b is unbound; binds it to what to says. */
static int bind_buffer(struct cnnrt_job *job, enum cnnrt_direction dir, int v, struct rt_binding *b,
		       struct rt_binding to, struct cnnrt_error *err)
{
	const struct cnn_slot *slot = &job->program->low->slots[v];
	struct rt_value *val = &job->values[v];
	bool shared = is_shared(job, v);
	void *map;
	int ret = cnnrt_buffer_map(to.buf, &map, err);

	if (ret)
		return ret;
	if (val->location == RT_AT_ARENA && rt_has_own_pages(job, v) && !shared &&
	    rt_pages(job->dev, (uint64_t)slot->bytes) <= to.buf->bo.size - to.offset) {
		ret = swap_pages(job, v, arena_pages(job, v),
				 (struct pages){ &to.buf->bo, to.offset }, err);
		if (ret)
			return ret;
		to.mapped = true;
	}
	*b = to;
	if (b->mapped || (!shared && val->location == RT_AT_HOST) || dir == CNNRT_INPUT) {
		val->location = RT_AT_USER_BUFFER;
		val->t.data = (uint8_t *)map + to.offset;
	}
	return CNNRT_OK;
}

int cnnrt_job_bind(struct cnnrt_job *job, enum cnnrt_direction dir, unsigned int index,
		   struct cnnrt_buffer *buf, size_t offset, struct cnnrt_error *err)
{
	struct rt_binding *b;
	int64_t size;
	int v, ret = check_io(job, dir, index, err);

	if (ret)
		return ret;
	v = rt_io_value(job->program, dir, index);
	size = cnn_tensor_bytes(&job->values[v].t);
	if (dir == CNNRT_INPUT && job->values[v].location == RT_AT_GRAPH)
		return rt_fail(err, CNNRT_EINVAL, "input %u: it is compiled as a constant", index);
	if (buf->dev != job->dev || offset % job->dev->page_size || offset > buf->bo.size ||
	    (size > 0 && (uint64_t)size > buf->bo.size - offset))
		return rt_fail(err, CNNRT_EINVAL, "%s %u: a buffer of this device with %lld bytes "
			       "from an offset that is a multiple of %u wanted; it has %llu, "
			       "offset %zu", dir == CNNRT_INPUT ? "input" : "output", index,
			       (long long)size, job->dev->page_size,
			       (unsigned long long)buf->bo.size, offset);
	b = &job->bind[dir][index];
	if (b->buf)
		ret = unbind(job, v, b, err);
	if (ret)
		return ret;
	return bind_buffer(job, dir, v, b, (struct rt_binding){ .buf = buf, .offset = offset },
			   err);
}
