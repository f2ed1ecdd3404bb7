/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator as a PCI Express function
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/module.h"
#include "exec/address-spaces.h"
#include "hw/pci/pci.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "cnnacc-compat.h"
#include "cnnacc.h"
#include "cnnacc_hw.h"

#define TYPE_CNNACC_PCI "cnnacc"
OBJECT_DECLARE_SIMPLE_TYPE(CnnaccPCI, CNNACC_PCI)

#define CNNACC_PCI_CLASS 0x1200 /* processing accelerator */
#define CNNACC_PCI_REVISION (CNNACC_HW_VERSION >> 16)
#define CNNACC_PCIE_CAP 0x80
#define CNNACC_PM_CAP 0xc0
#define CNNACC_PM_VERSION 3 /* PCI Power Management 1.2 */
#define CNNACC_D0 0
#define CNNACC_D3HOT 3

struct CnnaccPCI {
    PCIDevice parent_obj;
    CnnaccHost host;
};

static void cnnacc_pci_message(CnnaccHost *host, unsigned int vector)
{
    PCIDevice *d = PCI_DEVICE(host->owner);

    if (msix_enabled(d)) {
        msix_notify(d, vector);
    }
}

static bool cnnacc_pci_behind_iommu(CnnaccHost *host)
{
    return pci_device_iommu_address_space(PCI_DEVICE(host->owner)) !=
           &address_space_memory;
}

static bool cnnacc_pci_init_msix(CnnaccPCI *s, Error **errp)
{
    PCIDevice *d = PCI_DEVICE(s);
    unsigned int vectors = cm_device_vectors(s->host.model);

    if (cnnacc_defect_is(&s->host, "msix")) {
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

static bool cnnacc_pci_init_pcie(CnnaccPCI *s, Error **errp)
{
    PCIDevice *d = PCI_DEVICE(s);

    if (pcie_endpoint_cap_init(d, CNNACC_PCIE_CAP) < 0) {
        error_setg(errp, "no room for the PCI Express capability");
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

/* A write of a state that does not exist has no effect. */
static void cnnacc_pci_change_power(PCIDevice *d, unsigned int before)
{
    CnnaccPCI *s = CNNACC_PCI(d);
    unsigned int power = cnnacc_pci_power(d);

    if (power != CNNACC_D0 && power != CNNACC_D3HOT) {
        power = before;
        pci_set_word(d->config + CNNACC_PM_CAP + PCI_PM_CTRL, power);
    }
    s->host.asleep = power == CNNACC_D3HOT;
    if (power != before) {
        cnnacc_host_reset(&s->host);
    }
}

static void cnnacc_pci_realize(PCIDevice *d, Error **errp)
{
    CnnaccPCI *s = CNNACC_PCI(d);

    s->host.owner = DEVICE(d);
    s->host.as = pci_get_address_space(d);
    s->host.irq_message = cnnacc_pci_message;
    s->host.behind_iommu = cnnacc_pci_behind_iommu;
    if (!cnnacc_host_realize(&s->host, errp)) {
        return;
    }
    pci_register_bar(d, CNNACC_PCI_BAR_REGS, PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64, &s->host.mmio);
    if (!cnnacc_pci_init_pcie(s, errp)) {
        cnnacc_host_unrealize(&s->host);
        return;
    }
    if (!cnnacc_pci_init_pm(d, errp) || !cnnacc_pci_init_msix(s, errp)) {
        pcie_cap_exit(d);
        cnnacc_host_unrealize(&s->host);
    }
}

static void cnnacc_pci_exit(PCIDevice *d)
{
    CnnaccPCI *s = CNNACC_PCI(d);

    cnnacc_host_unrealize(&s->host);
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
    CnnaccPCI *s = CNNACC_PCI(dev);

    pci_set_word(PCI_DEVICE(s)->config + CNNACC_PM_CAP + PCI_PM_CTRL,
                 CNNACC_D0);
    s->host.asleep = false;
    cnnacc_host_reset(&s->host);
}

static char *cnnacc_pci_get_malice(Object *obj, Error **errp)
{
    return cnnacc_malice_get(&CNNACC_PCI(obj)->host);
}

static void cnnacc_pci_set_malice(Object *obj, const char *value, Error **errp)
{
    cnnacc_malice_set(&CNNACC_PCI(obj)->host, value, errp);
}

static void cnnacc_pci_instance_init(Object *obj)
{
    PCI_DEVICE(obj)->cap_present |= QEMU_PCI_CAP_EXPRESS;
}

static CNNACC_PROP_CONST Property cnnacc_pci_properties[] = {
    DEFINE_CNNACC_PROPERTIES(CnnaccPCI, host),
    CNNACC_PROP_END
};

static int cnnacc_pci_post_load(void *opaque, int version_id)
{
    CnnaccPCI *s = opaque;

    s->host.asleep = cnnacc_pci_power(PCI_DEVICE(s)) == CNNACC_D3HOT;
    return 0;
}

static const VMStateDescription vmstate_cnnacc_pci = {
    .name = TYPE_CNNACC_PCI,
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = cnnacc_pci_post_load,
    .fields = (CNNACC_VMSTATE_CONST VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, CnnaccPCI),
        VMSTATE_MSIX(parent_obj, CnnaccPCI),
        VMSTATE_STRUCT(host, CnnaccPCI, 1, vmstate_cnnacc_host, CnnaccHost),
        VMSTATE_END_OF_LIST()
    }
};

#ifdef CNNACC_PRELOADED
/*
 * Loaded into a QEMU that was built elsewhere, the headers may describe other
 * structures than the emulator has.
 */
static void cnnacc_pci_check_abi(void)
{
    static const struct {
        const char *type;
        size_t size;
    } types[] = {
        { TYPE_DEVICE, sizeof(DeviceState) },
        { TYPE_PCI_DEVICE, sizeof(PCIDevice) },
    };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        size_t size = object_type_get_instance_size(types[i].type);

        if (size != types[i].size) {
            error_report("cnnacc was built for QEMU " QEMU_VERSION ", whose "
                         "'%s' has %zu bytes, not %zu: build it again for this "
                         "QEMU", types[i].type, types[i].size, size);
            exit(1);
        }
    }
}
#else
static void cnnacc_pci_check_abi(void)
{
}
#endif

static void cnnacc_pci_class_init(ObjectClass *klass, CnnaccClassData data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);

    cnnacc_pci_check_abi();
    k->realize = cnnacc_pci_realize;
    k->exit = cnnacc_pci_exit;
    k->config_write = cnnacc_pci_config_write;
    k->vendor_id = CNNACC_PCI_VENDOR_ID;
    k->device_id = CNNACC_PCI_DEVICE_ID;
    k->revision = CNNACC_PCI_REVISION;
    k->class_id = CNNACC_PCI_CLASS;
    dc->vmsd = &vmstate_cnnacc_pci;
    dc->desc = "CNN accelerator";
    device_class_set_props(dc, cnnacc_pci_properties);
    object_class_property_add_str(klass, "malice", cnnacc_pci_get_malice,
                                  cnnacc_pci_set_malice);
    cnnacc_describe_properties(klass);
    cnnacc_set_reset(dc, cnnacc_pci_reset);
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
}

static const TypeInfo cnnacc_pci_info = {
    .name = TYPE_CNNACC_PCI,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(CnnaccPCI),
    .instance_init = cnnacc_pci_instance_init,
    .class_init = cnnacc_pci_class_init,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_PCIE_DEVICE },
        { },
    },
};

static void cnnacc_pci_register(void)
{
    type_register_static(&cnnacc_pci_info);
}

type_init(cnnacc_pci_register)
