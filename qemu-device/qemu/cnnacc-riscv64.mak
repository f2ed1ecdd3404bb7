# SPDX-License-Identifier: GPL-2.0-or-later
# The devices that tests/vm/run needs: configure --with-devices-riscv64=cnnacc
CONFIG_RISCV_VIRT=y
# QEMU 7.2's riscv does not link without it
CONFIG_ARM_COMPATIBLE_SEMIHOSTING=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_SERIAL=y
CONFIG_VIRTIO_9P=y
CONFIG_CNNACC_PCI=y
CONFIG_CNNACC_VIRT=y
