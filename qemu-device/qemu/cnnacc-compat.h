/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Differences between QEMU 7.2 (Debian 12) and 10.0 (Debian 13)
 */
#ifndef HW_CNNACC_COMPAT_H
#define HW_CNNACC_COMPAT_H

#define CNNACC_QEMU_VERSION (QEMU_VERSION_MAJOR * 100 + QEMU_VERSION_MINOR)

#if CNNACC_QEMU_VERSION >= 1000
#include "exec/memory.h"
#include "system/arch_init.h"
#include "system/cpu-timers.h"
#include "system/device_tree.h"
#include "system/runstate.h"
#define cnnacc_arch_is(arch) qemu_arch_available(arch)
#else
#include "sysemu/arch_init.h"
#include "sysemu/cpu-timers.h"
#include "sysemu/device_tree.h"
#include "sysemu/runstate.h"
#define cnnacc_arch_is(arch) (arch_type & (arch))
#endif
#if CNNACC_QEMU_VERSION >= 800
#include "hw/pci/pci_device.h"
#endif

/* The tables of a VMStateDescription are const since 9.0 */
#if CNNACC_QEMU_VERSION >= 900
#define CNNACC_VMSTATE_CONST const
#else
#define CNNACC_VMSTATE_CONST
#endif

/* Property tables are const and have no terminator since 10.0 */
#if CNNACC_QEMU_VERSION >= 1000
#define CNNACC_PROP_CONST const
#define CNNACC_PROP_END
#else
#define CNNACC_PROP_CONST
#define CNNACC_PROP_END DEFINE_PROP_END_OF_LIST(),
#endif

/* The data argument of class_init is const since 10.1 */
#if CNNACC_QEMU_VERSION >= 1001
typedef const void *CnnaccClassData;
#else
typedef void *CnnaccClassData;
#endif

#if CNNACC_QEMU_VERSION >= 902
#define cnnacc_set_reset(dc, fn) device_class_set_legacy_reset(dc, fn)
#else
#define cnnacc_set_reset(dc, fn) ((dc)->reset = (fn))
#endif

/* Since 8.0 riscv's virt completes its device tree after init */
#define CNNACC_TREE_IS_COMPLETE \
    (CNNACC_QEMU_VERSION < 800 || cnnacc_arch_is(QEMU_ARCH_ARM))

/* The iothread lock is called big QEMU lock (BQL) since 9.0 */
#if CNNACC_QEMU_VERSION < 900
#define bql_lock() qemu_mutex_lock_iothread()
#define bql_locked() qemu_mutex_iothread_locked()
#define bql_unlock() qemu_mutex_unlock_iothread()
#define qemu_cond_wait_bql(cond) qemu_cond_wait_iothread(cond)
#endif

#endif
