/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_PCI_H
#define CNNACC_PCI_H

int cnnacc_pci_register(void);
void cnnacc_pci_unregister(void);

#endif
