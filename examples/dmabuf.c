/* SPDX-License-Identifier: MIT */
/*
 * dmabuf MODEL [DEVICE]: the network reads and writes memory that another device allocated, such
 * as a camera or a GPU.  Here the memory is a memfd: udmabuf turns it into a dma-buf for a kernel
 * device, and the in-process device imports the memfd itself.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* memfd_create() */
#endif
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/dma-heap.h>
#include <linux/udmabuf.h>

#include <cnnrt.h>

#define PAGE	4096u

struct app {
	struct cnnrt_device *dev;
	struct cnnrt_model *model;
	struct cnnrt_program *program;
	struct cnnrt_context *ctx;
	struct cnnrt_job *job;
	struct cnnrt_buffer *buf[2];	/* by direction */
	float *mem[2];
	size_t size[2];
	struct cnnrt_error err;
};

/* A dma-buf of the size from the kernel's system heap, -1 if there is none. */
static int heap_buffer(size_t size)
{
	struct dma_heap_allocation_data data = { .len = size, .fd_flags = O_RDWR | O_CLOEXEC };
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
	int ret;

	if (heap < 0)
		return -1;
	ret = ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &data);
	close(heap);
	return ret ? -1 : (int)data.fd;
}

static int memfd_buffer(size_t size)
{
	int fd = memfd_create("frame", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int udmabuf_buffer(int memfd, size_t size)
{
	struct udmabuf_create create = { .memfd = (unsigned int)memfd, .size = size };
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), ret;

	if (dev < 0)
		return -1;
	ret = ioctl(dev, UDMABUF_CREATE, &create);
	close(dev);
	return ret;
}

/* Memory from outside, and a descriptor of it that the device can import. */
static int foreign_memory(const struct app *a, size_t size, void **mem)
{
	bool in_process = cnnrt_device_fd(a->dev) < 0;
	int memfd = memfd_buffer(size), fd = memfd;

	if (!in_process && memfd >= 0)
		fd = udmabuf_buffer(memfd, size);
	if (fd >= 0)
		*mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (fd != memfd && memfd >= 0)
		close(memfd);
	if (fd < 0 && !in_process) {
		fd = heap_buffer(size);
		if (fd >= 0)
			*mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	return fd >= 0 && *mem != MAP_FAILED ? fd : -1;
}

static int bind_memory(struct app *a, enum cnnrt_direction dir)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	void *mem = NULL;
	int fd, ret;

	if (cnnrt_program_io(a->program, dir, 0, &info, &a->err))
		return a->err.code;
	a->size[dir] = (info.size + PAGE - 1) / PAGE * PAGE;
	fd = foreign_memory(a, a->size[dir], &mem);
	if (fd < 0) {
		fprintf(stderr, "neither /dev/udmabuf nor /dev/dma_heap/system gives a buffer\n");
		return 77;
	}
	a->mem[dir] = mem;
	ret = cnnrt_buffer_import(a->ctx, fd, &a->buf[dir], &a->err);
	close(fd);
	return ret ? ret : cnnrt_job_bind(a->job, dir, 0, a->buf[dir], 0, &a->err);
}

static int run(struct app *a, const char *model, const char *device)
{
	struct cnnrt_tensor_info in = { .struct_size = sizeof(in) };
	struct cnnrt_tensor_info out = { .struct_size = sizeof(out) };
	struct cnnrt_error *err = &a->err;
	size_t best = 0;
	int ret;

	if (cnnrt_device_open(device, 0, &a->dev, err) ||
	    cnnrt_model_load(model, &a->model, err) ||
	    cnnrt_compile(a->model, a->dev, NULL, &a->program, err) ||
	    cnnrt_program_io(a->program, CNNRT_INPUT, 0, &in, err) ||
	    cnnrt_context_create(a->dev, CNNRT_PRIORITY_NORMAL, &a->ctx, err) ||
	    cnnrt_job_create(a->ctx, a->program, &a->job, err))
		return err->code;
	ret = bind_memory(a, CNNRT_INPUT);
	if (!ret)
		ret = bind_memory(a, CNNRT_OUTPUT);
	if (ret)
		return ret;
	for (size_t i = 0; i < in.size / sizeof(float); i++)
		a->mem[CNNRT_INPUT][i] = (float)(i % 64) / 64;
	if (cnnrt_buffer_sync(a->buf[CNNRT_INPUT], CNNRT_SYNC_FOR_DEVICE, err) ||
	    cnnrt_job_submit(a->job, -1, NULL, err) || cnnrt_job_wait(a->job, -1, err) ||
	    cnnrt_buffer_sync(a->buf[CNNRT_OUTPUT], CNNRT_SYNC_FOR_CPU, err) ||
	    cnnrt_job_map(a->job, CNNRT_OUTPUT, 0, &out, NULL, err))
		return err->code;
	for (size_t i = 1; i < out.size / sizeof(float); i++)
		best = a->mem[CNNRT_OUTPUT][i] > a->mem[CNNRT_OUTPUT][best] ? i : best;
	printf("class %zu, score %g\n", best, a->mem[CNNRT_OUTPUT][best]);
	return 0;
}

int main(int argc, char **argv)
{
	struct app a = { 0 };
	int ret;

	if (argc < 2) {
		fprintf(stderr, "usage: %s MODEL [DEVICE]\n", argv[0]);
		return 2;
	}
	ret = run(&a, argv[1], argc > 2 ? argv[2] : NULL);
	if (a.err.code)
		fprintf(stderr, "%s\n", a.err.text);
	cnnrt_job_free(a.job);
	for (int d = 0; d < 2; d++) {
		cnnrt_buffer_free(a.buf[d]);
		if (a.mem[d])
			munmap(a.mem[d], a.size[d]);
	}
	cnnrt_context_destroy(a.ctx);
	cnnrt_program_free(a.program);
	cnnrt_model_free(a.model);
	cnnrt_device_close(a.dev);
	return ret == 77 ? 77 : ret != 0;
}
