// SPDX-License-Identifier: GPL-2.0-only
#include <linux/devcoredump.h>
#include <linux/highmem.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>

#include <drm/drm_managed.h>

#include <cnnacc_dump.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_gem.h"

/**
 * DOC: coredump
 *
 * A failed job is dumped before its core is reset and before its fence is signalled, so its context
 * and page tables exist.  User space may unmap buffers meanwhile; &cnnacc_vm.dump_lock keeps their
 * memory.  Fences wait for the dump to be taken, so it allocates no memory, and takes no lock under
 * which memory is allocated: a device has room for one dump, which a work item copies to a device
 * coredump later.
 *
 * At most one dump is taken in dump_interval_ms, so that a process that fails on purpose does not
 * delay the recovery of others.
 */

static unsigned int cnnacc_dump_interval_ms = 1000;
module_param_named(dump_interval_ms, cnnacc_dump_interval_ms, uint, 0644);
MODULE_PARM_DESC(dump_interval_ms, "minimum time between two coredumps in ms (default 1000)");

#define CNNACC_DUMP_SIZE	(CNNACC_DUMP_PROGRAM_MAX + SZ_256K)

/**
 * struct cnnacc_dump - room for a dump.
 * @taken: it is complete and not yet published
 * @full: there was not enough room; nothing more is added
 * @size: bytes written
 * @program_remaining: remaining budget for programs, in bytes
 * @data: contents
 */
struct cnnacc_dump {
	bool taken;
	bool full;
	size_t size;
	size_t program_remaining;
	u8 data[CNNACC_DUMP_SIZE];
};

static const struct cnnacc_reg_info cnnacc_dump_global_regs[] = CNNACC_GLOBAL_REGS;
static const struct cnnacc_reg_info cnnacc_dump_queue_regs[] = CNNACC_QUEUE_REGS;

/* Writes at offset @at, which is at most the current size. */
static void cnnacc_dump_put(struct cnnacc_dump *dump, size_t at, const void *data, size_t len)
{
	if (len > sizeof(dump->data) - at)
		dump->full = true;
	else
		memcpy(dump->data + at, data, len);
}

static void cnnacc_dump_add(struct cnnacc_dump *dump, const void *data, size_t len)
{
	if (!dump->full)
		cnnacc_dump_put(dump, dump->size, data, len);
	if (!dump->full)
		dump->size += len;
}

/* Begins a section with an empty header; returns the offset of the header. */
static size_t cnnacc_dump_open(struct cnnacc_dump *dump)
{
	static const struct cnnacc_dump_section none;
	size_t at = dump->size;

	cnnacc_dump_add(dump, &none, sizeof(none));
	return at;
}

/* Ends a section and fills in its header.  A section that did not fit is removed. */
static void cnnacc_dump_close(struct cnnacc_dump *dump, size_t at, u32 type, u64 va)
{
	size_t size = dump->size - at - sizeof(struct cnnacc_dump_section);
	struct cnnacc_dump_section section = {
		.type = cpu_to_le32(type),
		.va = cpu_to_le64(va),
		.size = cpu_to_le64(size),
	};
	static const u64 padding;

	cnnacc_dump_add(dump, &padding, ALIGN(size, 8) - size);
	if (dump->full)
		dump->size = at;
	else
		cnnacc_dump_put(dump, at, &section, sizeof(section));
}

static void cnnacc_dump_section(struct cnnacc_dump *dump, u32 type, const void *data, size_t len)
{
	size_t at = cnnacc_dump_open(dump);

	cnnacc_dump_add(dump, data, len);
	cnnacc_dump_close(dump, at, type, 0);
}

static void cnnacc_dump_job(struct cnnacc_dump *dump, struct cnnacc_core *core,
			    const struct cnnacc_failure *failure, u32 task)
{
	const struct cnnacc_job *job = failure->job;
	struct cnnacc_dump_job out = {
		.reason = cpu_to_le32(failure->end == CNNACC_END_HANG ?
				      CNNACC_DUMP_HANG : CNNACC_DUMP_FAILED),
		.flags = cpu_to_le32(failure->has_record ? CNNACC_DUMP_HAS_RECORD : 0),
		.time_ns = cpu_to_le64(ktime_get_real_ns()),
		.seqno = cpu_to_le64(job->seqno),
		.ctx_id = cpu_to_le32(job->ctx->vm->hw_id),
		.task = cpu_to_le32(task),
		.task_count = cpu_to_le32(job->task_count),
		.core = cpu_to_le32(core->index),
		.hw_version = cpu_to_le32(core->cdev->hw_version),
		.clock_hz = cpu_to_le32(core->cdev->clock_hz),
		.ring_tail = cpu_to_le32(core->tail),
		.records_head = cpu_to_le32(core->head),
		.entry = core->entry,
	};

	cnnacc_core_make_packet(job, task, &out.packet);
	if (failure->has_record)
		out.record = failure->record;
	cnnacc_dump_section(dump, CNNACC_DUMP_JOB, &out, sizeof(out));
}

static void cnnacc_dump_reg(struct cnnacc_dump *dump, struct cnnacc_core *core, u32 offset,
			    bool zero)
{
	struct cnnacc_dump_reg out = {
		.offset = cpu_to_le32(offset),
		.value = cpu_to_le32(cnnacc_device_read_any(core->cdev, offset)),
	};

	if (out.value || zero)
		cnnacc_dump_add(dump, &out, sizeof(out));
}

static void cnnacc_dump_regs(struct cnnacc_dump *dump, struct cnnacc_core *core)
{
	const struct drm_cnnacc_core_info *info = &core->info;
	size_t at = cnnacc_dump_open(dump);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cnnacc_dump_global_regs); i++)
		cnnacc_dump_reg(dump, core, cnnacc_dump_global_regs[i].offset, true);
	for (i = 0; i < ARRAY_SIZE(cnnacc_dump_queue_regs); i++)
		cnnacc_dump_reg(dump, core,
				info->queue_offset + cnnacc_dump_queue_regs[i].offset, true);
	for (i = 0; i < info->window_size; i += 4)
		cnnacc_dump_reg(dump, core, info->window_offset + i, false);
	cnnacc_dump_close(dump, at, CNNACC_DUMP_REGS, 0);
}

static void cnnacc_dump_range(struct cnnacc_dump *dump, u64 va, u64 size, u32 flags)
{
	struct cnnacc_dump_range out = {
		.va = cpu_to_le64(va),
		.size = cpu_to_le64(size),
		.flags = cpu_to_le32(flags),
	};

	cnnacc_dump_add(dump, &out, sizeof(out));
}

static void cnnacc_dump_map(struct cnnacc_dump *dump, struct cnnacc_vm *vm)
{
	u64 va = 0, start = 0, limit = 1ull << CNNACC_VA_BITS;
	size_t at = cnnacc_dump_open(dump);
	u32 flags = 0, now, count = 0;

	while (va <= limit && count < CNNACC_DUMP_RANGES_MAX) {
		now = va < limit ? cnnacc_vm_entry(vm, va) & CNNACC_PTE_FLAGS : 0;
		if (now != flags) {
			if (flags & CNNACC_PTE_VALID) {
				cnnacc_dump_range(dump, start, va - start, flags);
				count++;
			}
			start = va;
			flags = now;
		}
		if (va < limit && !cnnacc_vm_has_table(vm, va))
			va = ALIGN(va + 1, CNNACC_PT_ENTRIES << CNNACC_PAGE_SHIFT);
		else
			va += CNNACC_PAGE_SIZE;
	}
	cnnacc_dump_close(dump, at, CNNACC_DUMP_MAP, 0);
}

static void cnnacc_dump_walk(struct cnnacc_dump *dump, struct cnnacc_vm *vm, u64 va)
{
	struct cnnacc_dump_walk out = {
		.va = cpu_to_le64(va),
		.root = cpu_to_le64(vm->root_dma),
	};

	if (va < 1ull << CNNACC_VA_BITS) {
		out.dir_entry = READ_ONCE(vm->root[CNNACC_PT_DIR_INDEX(va)]);
		out.page_entry = cpu_to_le32(cnnacc_vm_entry(vm, va));
	}
	cnnacc_dump_section(dump, CNNACC_DUMP_WALK, &out, sizeof(out));
}

/* Program buffers are never imported, so their pages can be mapped by the CPU. */
static void cnnacc_dump_program(struct cnnacc_dump *dump, const struct cnnacc_mapping *program,
				u64 va, u64 end)
{
	u64 offset = program->offset + va - (program->node.start << CNNACC_PAGE_SHIFT);
	size_t at = cnnacc_dump_open(dump), remaining, part, skip = offset_in_page(offset);
	struct sg_page_iter page;
	void *from;

	remaining = min_t(u64, end - va, dump->program_remaining);
	dump->program_remaining -= remaining;
	for_each_sgtable_page(to_cnnacc_bo(program->obj)->base.sgt, &page, offset >> PAGE_SHIFT) {
		part = min_t(size_t, remaining, PAGE_SIZE - skip);
		if (!part)
			break;
		from = kmap_local_page(sg_page_iter_page(&page));
		cnnacc_dump_add(dump, from + skip, part);
		kunmap_local(from);
		remaining -= part;
		skip = 0;
	}
	cnnacc_dump_close(dump, at, CNNACC_DUMP_PROGRAM, va);
}

/* Dumps the programs from address @from to @to, which may span several mappings. */
static void cnnacc_dump_programs(struct cnnacc_dump *dump, struct cnnacc_vm *vm, u64 from, u64 to)
{
	const struct cnnacc_mapping *program;
	u64 end;

	guard(mutex)(&vm->dump_lock);
	for (; dump->program_remaining && !dump->full; from = end) {
		program = cnnacc_vm_program(vm, from);
		if (!program)
			break;
		from = max(from, program->node.start << CNNACC_PAGE_SHIFT);
		end = (program->node.start + program->node.size) << CNNACC_PAGE_SHIFT;
		if (from >= to)
			break;
		cnnacc_dump_program(dump, program, from, min(end, to));
	}
}

/* The program of the failed task first, as there may be no room for all. */
static void cnnacc_dump_all_programs(struct cnnacc_dump *dump, struct cnnacc_vm *vm,
				     const struct drm_cnnacc_task *task)
{
	u64 first = ALIGN_DOWN(task->program_va, CNNACC_PAGE_SIZE);
	u64 last = ALIGN((u64)task->program_va + task->program_len, CNNACC_PAGE_SIZE);

	cnnacc_dump_programs(dump, vm, first, last);
	cnnacc_dump_programs(dump, vm, 0, first);
	cnnacc_dump_programs(dump, vm, last, 1ull << CNNACC_VA_BITS);
}

static void cnnacc_dump_finish(struct cnnacc_dump *dump)
{
	struct cnnacc_dump_header header = {
		.magic = cpu_to_le32(CNNACC_DUMP_MAGIC),
		.version = cpu_to_le32(CNNACC_DUMP_VERSION),
		.size = cpu_to_le64(dump->size),
		.flags = cpu_to_le32(dump->full ? CNNACC_DUMP_TRUNCATED : 0),
	};

	cnnacc_dump_put(dump, 0, &header, sizeof(header));
}

static void cnnacc_dump_fill(struct cnnacc_dump *dump, struct cnnacc_core *core)
{
	static const struct cnnacc_dump_header none;
	const struct cnnacc_failure *failure = &core->failure;
	const struct cnnacc_job *job = failure->job;
	struct cnnacc_vm *vm = job->ctx->vm;
	/* With a record, tasks_done includes the failed task. */
	u32 task = min(job->tasks_done - failure->has_record, job->task_count - 1);

	cnnacc_dump_add(dump, &none, sizeof(none));
	cnnacc_dump_job(dump, core, failure, task);
	cnnacc_dump_regs(dump, core);
	cnnacc_dump_walk(dump, vm, failure->has_record && failure->record.access ?
			 le64_to_cpu(failure->record.fault_va) : job->tasks[task].program_va);
	cnnacc_dump_section(dump, CNNACC_DUMP_PACKETS, core->ring,
			    CNNACC_RING_ENTRIES * sizeof(*core->ring));
	cnnacc_dump_section(dump, CNNACC_DUMP_RECORDS, core->records,
			    CNNACC_RING_ENTRIES * sizeof(*core->records));
	cnnacc_dump_map(dump, vm);
	cnnacc_dump_all_programs(dump, vm, &job->tasks[task]);
	cnnacc_dump_finish(dump);
}

/**
 * cnnacc_dump_take() - Dump the failed job of a core, unless dump_interval_ms has not passed
 * @core: core with a failed job, disabled and not yet reset
 *
 * Runs on &cnnacc_device.reset_wq only.
 */
void cnnacc_dump_take(struct cnnacc_core *core)
{
	struct cnnacc_device *cdev = core->cdev;
	struct cnnacc_dump *dump = cdev->dump;

	/* Pairs with the release in cnnacc_dump_work(). */
	if (smp_load_acquire(&dump->taken) || time_before(jiffies, cdev->dump_next))
		return;
	cdev->dump_next = jiffies + msecs_to_jiffies(READ_ONCE(cnnacc_dump_interval_ms));
	dump->full = false;
	dump->size = 0;
	dump->program_remaining = CNNACC_DUMP_PROGRAM_MAX;
	cnnacc_dump_fill(dump, core);
	dump->taken = true;
	queue_work(cdev->report_wq, &cdev->dump_work);
}

static void cnnacc_dump_work(struct work_struct *work)
{
	struct cnnacc_device *cdev = container_of(work, struct cnnacc_device, dump_work);
	struct cnnacc_dump *dump = cdev->dump;
	void *copy = vmalloc(dump->size);

	/* dev_coredump takes ownership; it drops the dump if an earlier one is still pending. */
	if (copy)
		dev_coredumpv(cdev->drm.dev, memcpy(copy, dump->data, dump->size), dump->size,
			      GFP_KERNEL);
	/* From here on another dump may be taken. */
	smp_store_release(&dump->taken, false);
}

static void cnnacc_dump_free(struct drm_device *drm, void *dump)
{
	vfree(dump);
}

/**
 * cnnacc_dump_init() - Make room for a coredump
 * @cdev: device
 *
 * Return: 0 or a negative error code
 */
int cnnacc_dump_init(struct cnnacc_device *cdev)
{
	INIT_WORK(&cdev->dump_work, cnnacc_dump_work);
	cdev->dump_next = jiffies;
	cdev->dump = vzalloc(sizeof(*cdev->dump));
	if (!cdev->dump)
		return -ENOMEM;
	return drmm_add_action_or_reset(&cdev->drm, cnnacc_dump_free, cdev->dump);
}
