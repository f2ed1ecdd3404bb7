/* SPDX-License-Identifier: MIT */
/*
 * The address spaces of an open device. Its jobs share one, so that they share mappings and the
 * device keeps what is in a core from one job to the next; a second one is made when it is full.
 */
#include "device.h"

#include <stdlib.h>

#define UNIT_SHIFT	CNN_BASE_SHIFT
#define UNITS		(1u << (CNNACC_VA_BITS - UNIT_SHIFT))
/* Not the first, so that a program's address that was never set is mapped nowhere. */
#define FIRST_UNIT	1u

struct rt_vm {
	uint32_t id;
	unsigned int users;
	bool used[UNITS];
	struct rt_vm *next;
};

static unsigned int units_of(uint64_t size)
{
	return (unsigned int)((size + CNN_BASE_ALIGN - 1) >> UNIT_SHIFT);
}

static void set_used(struct rt_vm *vm, unsigned int first, unsigned int units, bool used)
{
	for (unsigned int i = first; i < first + units; i++)
		vm->used[i] = used;
}

/* First fit, so that the same calls give the same addresses. */
bool rt_vm_reserve(struct rt_vm *vm, uint64_t size, uint32_t *va)
{
	unsigned int units = units_of(size), run = 0;

	*va = 0;
	if (size >> CNNACC_VA_BITS)
		return false;
	for (unsigned int i = FIRST_UNIT; i < UNITS && run < units; i++) {
		run = vm->used[i] ? 0 : run + 1;
		if (run == units)
			*va = (i + 1 - units) << UNIT_SHIFT;
	}
	if (run < units)
		return false;
	if (units)
		set_used(vm, *va >> UNIT_SHIFT, units, true);
	return true;
}

void rt_vm_release(struct rt_vm *vm, uint32_t va, uint64_t size)
{
	set_used(vm, va >> UNIT_SHIFT, units_of(size), false);
}

uint32_t rt_vm_id(const struct rt_vm *vm)
{
	return vm->id;
}

struct rt_vm *rt_vm_next(const struct cnnrt_device *dev, const struct rt_vm *vm)
{
	return vm ? vm->next : dev->vms;
}

int rt_vm_create(struct cnnrt_device *dev, struct rt_vm **out, struct cnnrt_error *err)
{
	struct rt_vm *vm = calloc(1, sizeof(*vm)), **link = &dev->vms;
	int ret;

	if (!vm)
		return rt_fail(err, CNNRT_ENOMEM, "address space: out of memory");
	ret = dev->ops->vm_create(dev, &vm->id);
	if (ret) {
		free(vm);
		return rt_fail_errno(err, ret, "creating a device address space of 4 GiB (an open "
				     "device has at most %u)", dev->max_vms);
	}
	while (*link)
		link = &(*link)->next;
	*link = vm;
	*out = vm;
	return CNNRT_OK;
}

void rt_vm_get(struct rt_vm *vm)
{
	vm->users++;
}

static void destroy(struct cnnrt_device *dev, struct rt_vm *vm)
{
	struct rt_vm **link = &dev->vms;

	while (*link != vm)
		link = &(*link)->next;
	*link = vm->next;
	dev->ops->vm_destroy(dev, vm->id);
	free(vm);
}

void rt_vm_put(struct cnnrt_device *dev, struct rt_vm *vm)
{
	if (!--vm->users && vm != dev->vms)
		destroy(dev, vm);
}

void rt_vm_destroy_all(struct cnnrt_device *dev)
{
	while (dev->vms)
		destroy(dev, dev->vms);
}
