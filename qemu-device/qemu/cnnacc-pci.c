/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator as a PCI Express function
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/module.h"
#include "qemu/range.h"
#include "exec/address-spaces.h"
#include "hw/pci/pci.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "cnnacc-compat.h"
#include "cnnacc.h"
#include "cnnacc_hw.h"

#define TYPE_CNNACC_PCI "cnnacc"
OBJECT_DECLARE_SIMPLE_TYPE(CnnaccPCIState, CNNACC_PCI)

#define CNNACC_PCI_CLASS 0x1200 /* processing accelerator */
#define CNNACC_PCI_REVISION (CNNACC_HW_VERSION >> 16)
#define CNNACC_PCIE_CAP 0x80
#define CNNACC_PM_CAP 0xc0
#define CNNACC_PM_VERSION 3 /* PCI Power Management 1.2 */
#define CNNACC_D0 0
#define CNNACC_D3HOT 3

struct CnnaccPCIState {
    PCIDevice parent_obj;
    MSITriggerFunc *send;
    CnnaccState cnnacc;
};

static DeviceRealize cnnacc_pci_parent_realize;

static void cnnacc_pci_irq_message(CnnaccState *s, unsigned int vector)
{
    PCIDevice *d = PCI_DEVICE(s->owner);

    if (msix_enabled(d)) {
        msix_notify(d, vector);
    }
}

static bool cnnacc_pci_is_own(PCIDevice *d, uint64_t addr)
{
    for (unsigned int i = 0; i < PCI_NUM_REGIONS; i++) {
        const PCIIORegion *r = &d->io_regions[i];

        if (r->size && r->addr != PCI_BAR_UNMAPPED &&
            ranges_overlap(addr, sizeof(uint32_t), r->addr, r->size)) {
            return true;
        }
    }
    return false;
}

/* Vectors with equal messages are the same to who receives them */
static void cnnacc_pci_hold(PCIDevice *d, MSIMessage msg)
{
    CnnaccState *s = &CNNACC_PCI(d)->cnnacc;

    for (unsigned int i = 0; i < cm_device_vectors(s->model); i++) {
        MSIMessage entry = msix_get_message(d, i);

        if (entry.address == msg.address && entry.data == msg.data) {
            cnnacc_hold_message(s, i);
            return;
        }
    }
}

/*
 * QEMU sends all messages through this, also those that become unmasked: by a
 * processor while the machine is about to stop, or by a saved state that has a
 * vector both unmasked and pending.  QEMU warns of a device that accesses
 * itself.
 */
static void cnnacc_pci_send(PCIDevice *d, MSIMessage msg)
{
    CnnaccPCIState *pci = CNNACC_PCI(d);

    if (!cnnacc_live(&pci->cnnacc)) {
        cnnacc_pci_hold(d, msg);
    } else if (cnnacc_pci_is_own(d, msg.address)) {
        cnnacc_refuse_message(&pci->cnnacc, msg.address);
    } else {
        pci->send(d, msg);
    }
}

static bool cnnacc_pci_behind_iommu(CnnaccState *s)
{
    return pci_device_iommu_address_space(PCI_DEVICE(s->owner)) !=
           &address_space_memory;
}

static const CnnaccBusOps cnnacc_pci_ops = {
    .irq_message = cnnacc_pci_irq_message,
    .behind_iommu = cnnacc_pci_behind_iommu,
};

static bool cnnacc_pci_init_msix(CnnaccPCIState *pci, Error **errp)
{
    PCIDevice *d = PCI_DEVICE(pci);
    unsigned int vectors = cm_device_vectors(pci->cnnacc.model);

    if (cnnacc_probe_fault_is(&pci->cnnacc, "msix")) {
        return true;
    }
    if (msix_init_exclusive_bar(d, vectors, CNNACC_PCI_BAR_MSIX, errp) < 0) {
        return false;
    }
    for (unsigned int i = 0; i < vectors; i++) {
        msix_vector_use(d, i);
    }
    return true;
}

static bool cnnacc_pci_init_pcie(CnnaccPCIState *pci, Error **errp)
{
    PCIDevice *d = PCI_DEVICE(pci);

    if (pcie_endpoint_cap_init(d, CNNACC_PCIE_CAP) < 0) {
        error_setg(errp, "cannot add the PCI Express capability");
        return false;
    }
    pcie_cap_flr_init(d);
    return true;
}

static bool cnnacc_pci_init_pm(PCIDevice *d, Error **errp)
{
    if (pci_add_capability(d, PCI_CAP_ID_PM, CNNACC_PM_CAP, PCI_PM_SIZEOF,
                           errp) < 0) {
        return false;
    }
    pci_set_word(d->config + CNNACC_PM_CAP + PCI_PM_PMC, CNNACC_PM_VERSION);
    pci_set_word(d->wmask + CNNACC_PM_CAP + PCI_PM_CTRL,
                 PCI_PM_CTRL_STATE_MASK);
    return true;
}

static unsigned int cnnacc_pci_power(PCIDevice *d)
{
    return pci_get_word(d->config + CNNACC_PM_CAP + PCI_PM_CTRL) &
           PCI_PM_CTRL_STATE_MASK;
}

/* A write of a power state that is not supported is ignored */
static void cnnacc_pci_change_power(PCIDevice *d, unsigned int before)
{
    CnnaccPCIState *pci = CNNACC_PCI(d);
    unsigned int power = cnnacc_pci_power(d);

    if (power != CNNACC_D0 && power != CNNACC_D3HOT) {
        power = before;
        pci_set_word(d->config + CNNACC_PM_CAP + PCI_PM_CTRL, power);
    }
    pci->cnnacc.asleep = power == CNNACC_D3HOT;
    if (power != before) {
        cnnacc_reset(&pci->cnnacc);
    }
}

static void cnnacc_pci_realize(PCIDevice *d, Error **errp)
{
    CnnaccPCIState *pci = CNNACC_PCI(d);

    pci->cnnacc.as = pci_get_address_space(d);
    if (!cnnacc_realize(&pci->cnnacc, errp)) {
        return;
    }
    pci_register_bar(d, CNNACC_PCI_BAR_REGS, PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64, &pci->cnnacc.mmio);
    if (!cnnacc_pci_init_pcie(pci, errp)) {
        cnnacc_unrealize(&pci->cnnacc);
        return;
    }
    if (!cnnacc_pci_init_pm(d, errp) || !cnnacc_pci_init_msix(pci, errp)) {
        pcie_cap_exit(d);
        cnnacc_unrealize(&pci->cnnacc);
    }
}

/* The parent sets msi_trigger after it has realized the device */
static void cnnacc_pci_dc_realize(DeviceState *dev, Error **errp)
{
    PCIDevice *d = PCI_DEVICE(dev);
    Error *err = NULL;

    cnnacc_pci_parent_realize(dev, &err);
    if (err) {
        error_propagate(errp, err);
        return;
    }
    CNNACC_PCI(d)->send = d->msi_trigger;
    d->msi_trigger = cnnacc_pci_send;
}

static void cnnacc_pci_exit(PCIDevice *d)
{
    CnnaccPCIState *pci = CNNACC_PCI(d);

    cnnacc_unrealize(&pci->cnnacc);
    msix_uninit_exclusive_bar(d);
    pcie_cap_exit(d);
}

static void cnnacc_pci_config_write(PCIDevice *d, uint32_t addr, uint32_t val,
                                    int len)
{
    unsigned int power = cnnacc_pci_power(d);

    pci_default_write_config(d, addr, val, len);
    cnnacc_pci_change_power(d, power);
    pcie_cap_flr_write_config(d, addr, val, len);
}

static void cnnacc_pci_reset(DeviceState *dev)
{
    CnnaccPCIState *pci = CNNACC_PCI(dev);

    pci_set_word(PCI_DEVICE(pci)->config + CNNACC_PM_CAP + PCI_PM_CTRL,
                 CNNACC_D0);
    pci->cnnacc.asleep = false;
    cnnacc_reset(&pci->cnnacc);
}

static void cnnacc_pci_instance_init(Object *obj)
{
    PCI_DEVICE(obj)->cap_present |= QEMU_PCI_CAP_EXPRESS;
    cnnacc_init(&CNNACC_PCI(obj)->cnnacc, DEVICE(obj), &cnnacc_pci_ops);
}

static CNNACC_PROP_CONST Property cnnacc_pci_properties[] = {
    DEFINE_CNNACC_PROPERTIES(CnnaccPCIState, cnnacc),
    CNNACC_PROP_END
};

static int cnnacc_pci_post_load(void *opaque, int version_id)
{
    CnnaccPCIState *pci = opaque;

    pci->cnnacc.asleep = cnnacc_pci_power(PCI_DEVICE(pci)) == CNNACC_D3HOT;
    return 0;
}

static const VMStateDescription vmstate_cnnacc_pci = {
    .name = TYPE_CNNACC_PCI,
    .version_id = 2,
    .minimum_version_id = 2,
    .post_load = cnnacc_pci_post_load,
    .fields = (CNNACC_VMSTATE_CONST VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, CnnaccPCIState),
        VMSTATE_MSIX(parent_obj, CnnaccPCIState),
        VMSTATE_STRUCT(cnnacc, CnnaccPCIState, 1, vmstate_cnnacc, CnnaccState),
        VMSTATE_END_OF_LIST()
    }
};

static void cnnacc_pci_class_init(ObjectClass *klass, CnnaccClassData data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);

    k->realize = cnnacc_pci_realize;
    k->exit = cnnacc_pci_exit;
    k->config_write = cnnacc_pci_config_write;
    k->vendor_id = CNNACC_PCI_VENDOR_ID;
    k->device_id = CNNACC_PCI_DEVICE_ID;
    k->revision = CNNACC_PCI_REVISION;
    k->class_id = CNNACC_PCI_CLASS;
    device_class_set_parent_realize(dc, cnnacc_pci_dc_realize,
                                    &cnnacc_pci_parent_realize);
    dc->vmsd = &vmstate_cnnacc_pci;
    device_class_set_props(dc, cnnacc_pci_properties);
    cnnacc_set_reset(dc, cnnacc_pci_reset);
    cnnacc_class_init(klass, TYPE_PCI_DEVICE, sizeof(PCIDevice));
}

static const TypeInfo cnnacc_pci_types[] = {
    {
        .name = TYPE_CNNACC_PCI,
        .parent = TYPE_PCI_DEVICE,
        .instance_size = sizeof(CnnaccPCIState),
        .instance_init = cnnacc_pci_instance_init,
        .class_init = cnnacc_pci_class_init,
        .interfaces = (InterfaceInfo[]) {
            { INTERFACE_PCIE_DEVICE },
            { },
        },
    },
};

DEFINE_TYPES(cnnacc_pci_types)
