/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The board 'virt' with a CNN accelerator
 */
#ifndef HW_CNNACC_VIRT_H
#define HW_CNNACC_VIRT_H

#include "hw/boards.h"

/*
 * Adds the nodes to the device tree of a board virt-cnnacc, if it has none yet.
 * In QEMU 8 and later hw/riscv/virt.c calls it when its own nodes are there;
 * apply-qemu-overlay inserts the call.
 */
void cnnacc_virt_add_nodes(MachineState *ms);

#endif
