#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Messages aimed at slots, at configuration space and at the device itself.

A message is a write of 4 bytes, and a guest chooses its address and data: it can power off a slot,
that of the sender included, and reset, move or switch off any function.

--count N: messages of each kind (24); --seed N
"""
import argparse
import os
import random
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'lib')]
import bare
from bare import Device, Machine, packet, store_programs
from qmp import Failure, run_test
from tap import Tap

CORES = 'cores=ccp+hwpe+ccp'.split('=')[1]
QUIET = 0.3                     # seconds after which a message has arrived or never will

tap = Tap()
work = tempfile.TemporaryDirectory(prefix='cnnacc-messages.')


class Target:
    """A machine with a device that works while it sends messages."""

    def __init__(self, name, seed):
        path = os.path.join(work.name, name)
        os.makedirs(path)
        self.rng = random.Random(seed)
        self.machine = Machine(path)
        self.machine.setup()
        self.machine.map_memory()
        self.device = Device(self.machine, 1, CORES)
        self.programs = None
        self.recover()

    def recover(self):
        self.device.threads = self.rng.choice((1, 2))
        self.machine.quiet()
        self.device.recover()
        if not self.programs:
            self.programs = store_programs(self.machine, self.device.names)

    def work(self, address, data):
        """Aims all messages at an address and has all cores work; the first ends soon."""
        device = self.device
        device.aim(address, data)
        for core, name in enumerate(device.names):
            device.start(core)
            if core:
                device.submit(core, packet(*self.programs[(name, *bare.ENDLESS)]))
        self.machine.qtest(device.arm(), 2)
        what = self.rng.choice((bare.NOP, bare.SHORT, bare.LONG))
        device.submit(0, packet(*self.programs[(device.names[0], *what)], bare.PACKET_IRQ))

    def check(self):
        self.device.check(self.programs)

    def end(self, name):
        tap.equal(self.machine.quit(), 0, f'{name}: QEMU quits')


def remove_by_message(target):
    """A worker's message at the end of a job, or in the doorbell."""


def remove_in_write(target):
    """A message in a register access, while other cores work."""
    target.device.write(bare.IRQ_RAISE, 1)


def remove_by_host(target):
    """The host removes the device at that moment, too, if it is still there."""
    try:
        target.machine.command('device_del', id=target.device.name)
    except Failure as failure:
        if 'not found' not in str(failure):
            raise


def remove_by_port(target):
    """And its slot is powered off by the processor, too."""
    target.machine.write(target.device.slot_control, bare.POWER_OFF, 2)


def check_slots(count, seed):
    """A message powers off the slot of its sender."""
    target = Target('slots', seed)
    for way in (remove_by_message, remove_in_write, remove_by_host, remove_by_port):
        for _ in range(count):
            target.work(target.device.slot_control, bare.POWER_OFF)
            way(target)
            # What the host asked for ends when the guest powers the slot off, as the message did.
            target.machine.until('removal', lambda: not target.device.there())
            target.recover()
            target.check()
        tap.ok(True, f'{count} messages to the own slot: {way.__name__}')
    target.end('slots')


def reset_slot(target):
    """FLR during a message: the slot may lose its power before or not at all."""
    device = target.device
    target.work(device.slot_control, bare.POWER_OFF)
    target.machine.write(device.control, bare.FLR, 2)


def other_places(target):
    """Registers of configuration space, of the function and of its port, and their values."""
    device, machine = target.device, target.machine

    def port(offset):
        return machine.port(1, offset)

    return [
        ('FLR', device.control, bare.FLR | 0x2810), ('D3hot', device.power, bare.D3HOT),
        ('no memory, no bus master', device.function + bare.COMMAND, 0),
        ('no bus master', device.function + bare.COMMAND, 2),
        ('BAR 0 moves', device.function + bare.BAR0, 0xe0800000),
        ('BAR 0 at the APIC', device.function + bare.BAR0, 0xfee00000),
        ('BAR 4 over BAR 0', device.function + bare.BAR4, device.regs),
        ('MSI-X off', device.msix - bare.MSIX_CONTROL, 0),
        ('MSI-X masked', device.msix - bare.MSIX_CONTROL, 0xc0000000),
        ('reset of the bus', port(bare.BRIDGE_CONTROL - 2), bare.SECONDARY_RESET << 16),
        ('the port decodes nothing', port(bare.COMMAND), 0),
        ('another bus', port(0x18), 0x00050500),
        ('host bridge: no configuration space', machine.config(0, 0, 0x60), 0),
    ]


def check_configuration(count, seed):
    """Messages reset, move and switch off functions, at the end of a job or beside one."""
    target = Target('configuration', seed)
    for n in range(count):
        reset_slot(target)
        time.sleep(target.rng.uniform(0, 0.01))
        target.recover()
        target.check()
    tap.ok(True, f'{count} messages to the own slot, with FLR')
    names = [name for name, _, _ in other_places(target)]
    for n, name in enumerate(names):
        for _ in range(max(1, count // 8)):
            target.work(*other_places(target)[n][1:])
            if target.rng.randrange(2):
                target.device.write(bare.IRQ_RAISE, 1)
            time.sleep(target.rng.uniform(0, 0.02))
            target.recover()
            target.check()
        tap.ok(True, f'a message to configuration space: {name}')
    target.end('configuration')


def own_places(device):
    """Registers of the device: global ones, a queue's, the MSI-X table and the pending bits."""
    return [bare.RESET, bare.IRQ_ENABLE, bare.IRQ_RAISE, device.queue(0) + bare.RING_TAIL,
            device.queue(0) + bare.CORE_RESET, bare.MSIX_TABLE, bare.MSIX_TABLE + 12,
            bare.MSIX_TABLE + 0x800, bare.MSIX_TABLE + 0xffc]


def check_own(count, seed):
    """Messages aimed at the device's own BARs are counted and not sent."""
    target = Target('own', seed)
    device = target.device
    for offset in own_places(device):
        device.reset()
        device.aim(device.regs + offset, 1)
        target.machine.qtest(device.arm(), 2)
        for _ in range(count):
            device.write(bare.IRQ_RAISE, bare.ALL)
            device.write(bare.IRQ_STATUS, bare.ALL)
        tap.equal(device.read(bare.MSG_REFUSED), count * (len(device.names) + 1),
                  f'messages to the own address {offset:#x} are refused')
    # The messages that wait in the pending bits until the guest unmasks their vectors.
    device.reset()
    device.aim(device.regs + bare.RESET, 1)
    target.machine.qtest(device.arm(), 2)
    control = device.regs + bare.MSIX_TABLE + 12
    for vector in range(len(device.names) + 1):
        target.machine.write(control + 16 * vector, 1)
    device.write(bare.IRQ_RAISE, bare.ALL)
    tap.equal(device.read(bare.MSG_REFUSED), 0, 'masked messages are neither sent nor refused')
    for vector in range(len(device.names) + 1):
        target.machine.write(control + 16 * vector, 0)
    tap.equal(device.read(bare.MSG_REFUSED), len(device.names) + 1,
              'and refused when they are unmasked')
    device.reset()
    target.work(device.regs + bare.RESET, 1)
    target.machine.until('a refused message of a job',
                         lambda: device.read(bare.MSG_REFUSED) == 1)
    tap.ok(True, 'a message of a job is refused')
    device.reset()
    device.aim(bare.DATA, 0x1234)
    target.machine.qtest(device.arm(), 2)
    device.write(bare.IRQ_RAISE, 1)
    tap.equal((target.machine.read(bare.DATA), device.read(bare.MSG_REFUSED)), (0x1234, 0),
              'a message to memory is sent')
    target.end('own')
    tap.equal(target.machine.messages(), '', 'QEMU prints nothing about them')


def attempt(check, *args):
    try:
        check(*args)
    except Failure as failure:
        tap.ok(False, f'{check.__name__}: {failure}')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--count', type=int, default=24)
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    for check in (check_slots, check_configuration, check_own):
        attempt(check, options.count, options.seed)
    return tap.done()


if __name__ == '__main__':
    run_test(main, work)
