/* SPDX-License-Identifier: MIT */
/* Counters of the events that programs raise on a core. */
#include "context.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct cnnrt_event {
	struct cnnrt_device *dev;
	unsigned int core;
	int fd;
};

/* Makes the device's contexts from now on count there. */
static int install(struct cnnrt_event *event, struct cnnrt_error *err)
{
	int *at = &event->dev->event_fd[event->core], ret = CNNRT_OK;

	pthread_mutex_lock(&event->dev->lock);
	if (*at >= 0)
		ret = rt_fail(err, CNNRT_EBUSY, "events: those of core %u are counted already",
			      event->core);
	else
		*at = event->fd;
	pthread_mutex_unlock(&event->dev->lock);
	return ret;
}

int cnnrt_event_create(struct cnnrt_device *dev, unsigned int core, struct cnnrt_event **out,
		       struct cnnrt_error *err)
{
	struct cnnrt_event *event;
	int ret = rt_check_runs(dev, err);

	if (ret)
		return ret;
	if (core >= dev->info.core_count)
		return rt_fail(err, CNNRT_EINVAL, "events: core %u: %s has %u cores", core,
			       dev->info.path, dev->info.core_count);
	event = calloc(1, sizeof(*event));
	if (!event)
		return rt_fail(err, CNNRT_ENOMEM, "events: out of memory");
	*event = (struct cnnrt_event){
		.dev = dev, .core = core, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};
	ret = event->fd < 0 ? rt_fail_errno(err, errno, "events: eventfd") : install(event, err);
	if (!ret) {
		*out = event;
		return CNNRT_OK;
	}
	if (event->fd >= 0)
		close(event->fd);
	free(event);
	return ret;
}

int cnnrt_event_fd(const struct cnnrt_event *event)
{
	return event->fd;
}

int cnnrt_event_read(struct cnnrt_event *event, int64_t timeout_ns, uint64_t *count,
		     struct cnnrt_error *err)
{
	int ret = rt_check_process(event->dev, err);

	if (ret)
		return ret;
	ret = rt_fence_wait(event->fd, timeout_ns);
	if (ret == -ETIMEDOUT || (!ret && eventfd_read(event->fd, count)))
		return rt_fail(err, CNNRT_ETIMEDOUT, "events: none on core %u within %lld ns",
			       event->core, (long long)timeout_ns);
	return ret ? rt_fail_errno(err, ret, "events: poll") : CNNRT_OK;
}

void cnnrt_event_destroy(struct cnnrt_event *event)
{
	if (!event || !rt_is_ours(event->dev))
		return;
	pthread_mutex_lock(&event->dev->lock);
	event->dev->event_fd[event->core] = -1;
	pthread_mutex_unlock(&event->dev->lock);
	close(event->fd);
	free(event);
}

/* With dev->lock held. */
static int count_events(struct cnnrt_device *dev, uint32_t ctx_id)
{
	int ret = 0;

	for (unsigned int i = 0; i < dev->info.core_count && !ret; i++)
		if (dev->event_fd[i] >= 0)
			ret = dev->ops->eventfd(dev, ctx_id, i, dev->event_fd[i]);
	return ret;
}

int rt_ctx_create(struct cnnrt_device *dev, uint32_t vm_id, uint32_t priority, uint32_t *id)
{
	int ret = dev->ops->ctx_create(dev, vm_id, priority, id);

	if (ret) {
		*id = 0;
		return ret;
	}
	pthread_mutex_lock(&dev->lock);
	ret = count_events(dev, *id);
	pthread_mutex_unlock(&dev->lock);
	if (ret) {
		dev->ops->ctx_destroy(dev, *id);
		*id = 0;
	}
	return ret;
}
