# SPDX-License-Identifier: GPL-2.0-or-later
# The devices that tests/vm/run needs: configure --with-devices-x86_64=cnnacc
CONFIG_Q35=y
CONFIG_VTD=y
CONFIG_PCIE_PORT=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_SERIAL=y
CONFIG_VIRTIO_9P=y
CONFIG_CNNACC_PCI=y
