# SPDX-License-Identifier: GPL-2.0-or-later
# The devices that tests/vm/run needs: configure --with-devices-riscv64=cnnacc
CONFIG_RISCV_VIRT=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_SERIAL=y
CONFIG_VIRTIO_9P=y
CONFIG_CNNACC_PCI=y
CONFIG_CNNACC_VIRT=y
