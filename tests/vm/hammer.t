#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random actions of a hostile guest and of a busy host on two devices: the emulator survives.

Accesses of any size and place, jobs, messages to registers, slots and configuration space, resets,
power states, removal, stops and migrations.  After every ROUND actions each device works, or the
one that takes its place.  An action depends on the seed and its number only; when a worker's
message arrives depends on the host.

--count N: actions (3000); --seed N; --first N: the first action's number, to go on from there;
--iommu: behind an IOMMU
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
from qmp import Failure, run_test, until
from tap import Tap

CORES = ['cores=ccp+hwpe+ccp'.split('=')[1], '']
ROUND = 50
MESSAGES = 4096                 # bytes that QEMU may print in all
SHOWN = 25                      # actions before a failure

tap = Tap()
work = tempfile.TemporaryDirectory(prefix='cnnacc-hammer.')


class Hammer:
    """Two devices and what happens to them."""

    def __init__(self, *args):
        self.args = args
        self.machine, self.devices, self.programs = None, [], {}
        self.rng, self.history, self.moves = None, [], 0
        self.boot()
        self.machine.setup()
        self.devices = [Device(self.machine, slot, cores)
                        for slot, cores in zip(Machine.SLOTS, CORES)]
        self.recover()

    def boot(self, *args):
        path = os.path.join(work.name, str(self.moves))
        os.makedirs(path)
        self.machine = Machine(path, *self.args, *args)

    # numbers

    def value(self):
        rng = self.rng
        return rng.choice((0, 1, 2, 3, 7, 8, 0x700, 0x8000, 0x80000000, bare.ALL,
                           rng.getrandbits(32), 1 << rng.randrange(32), self.place()[0] & bare.ALL))

    def register(self, device):
        """The offset of a register, or of nothing, in BAR 0."""
        rng = self.rng
        queue = device.queue(rng.randrange(4))
        return rng.choice((rng.randrange(0, 0x60, 4), queue + rng.randrange(0, 256, 4),
                           queue + rng.choice((bare.CTRL, bare.RING_TAIL, bare.CORE_RESET)),
                           0x4000 + rng.randrange(0, 0x3000, 4), rng.randrange(0, 0x10000, 4)))

    def place(self):
        """Where a message may go, and what it writes there."""
        rng = self.rng
        device, other = rng.choice((self.devices, self.devices[::-1]))
        port = self.machine.port(device.slot, 0)
        return rng.choice((
            (device.slot_control, rng.choice((bare.POWER_OFF, bare.POWER_ON, 0x500, 0x300))),
            (other.slot_control, bare.POWER_OFF),
            (device.regs + self.register(device), rng.choice((1, 3, rng.getrandbits(32)))),
            (device.regs + bare.IRQ_RAISE, bare.ALL), (device.regs + bare.IRQ_ENABLE, bare.ALL),
            (device.regs + bare.MSIX_TABLE + rng.randrange(0, 0x1000, 4), rng.getrandbits(32)),
            (other.regs + bare.IRQ_RAISE, bare.ALL), (other.regs + bare.RESET, 1),
            (device.control, bare.FLR), (device.power, rng.randrange(4)),
            (device.function + rng.randrange(0, 256, 4), rng.getrandbits(32)),
            (device.function + bare.COMMAND, rng.randrange(8)),
            (device.msix - bare.MSIX_CONTROL, rng.choice((0, 0x80000000, 0xc0000000))),
            (port + rng.randrange(0x40, 256, 4), rng.getrandbits(32)),
            (port + bare.BRIDGE_CONTROL - 2, bare.SECONDARY_RESET << 16),
            (self.machine.config(0, 0, 0x60), rng.choice((0, bare.ECAM | 1))),
            (0xfee00000, rng.getrandbits(8)), (0xfec00000, rng.getrandbits(8)),
            (bare.DATA + rng.randrange(0, 0x1000, 4), rng.getrandbits(32)),
            (rng.getrandbits(40) & ~3, rng.getrandbits(32))))

    # actions of the guest

    def access(self, device):
        size = self.rng.choice((1, 2, 4, 4, 8))
        at = self.rng.choice((self.register(device), bare.MSIX_TABLE + self.rng.randrange(0x1004)))
        at = device.regs + at + self.rng.choice((0, 0, 0, 1, 2, 3))
        if self.rng.randrange(2):
            self.machine.write(at, self.value() & ((1 << 8 * size) - 1), size)
        else:
            self.machine.read(at, size)

    def write_register(self, device):
        device.write(self.register(device), self.value())

    def some_packet(self, name):
        what = self.rng.choice(bare.PROGRAMS_OF_A_CORE)
        fields = bytearray(packet(*self.programs[(name, *what)], self.rng.randrange(8),
                                  1 << self.rng.choice((4, 12, 20, 26, 28)), self.rng.randrange(3)))
        if self.rng.randrange(8) == 0:
            at = self.rng.randrange(0, len(fields), 4)
            fields[at:at + 4] = self.value().to_bytes(4, 'little')
        return bytes(fields)

    def queue_jobs(self, device):
        """Starts a queue if none of its words was changed since, and gives it jobs."""
        core = self.rng.randrange(8) % len(device.names)
        packets = [self.some_packet(device.names[core]) for _ in range(self.rng.choice((1, 1, 4)))]
        if self.rng.randrange(3):
            queue, ring = device.queue(core), device.ring(core)
            for at, value in ((bare.CORE_RESET, 1), (bare.RING_BASE, ring), (bare.RING_SIZE, 64),
                              (bare.COMPL_BASE, ring + bare.RING), (bare.COMPL_SIZE, 64),
                              (bare.CTRL, 1)):
                device.write(queue + at, value)
            device.tails[core] = 0
        device.submit(core, *packets)

    def aim(self, device):
        vectors = [self.rng.randrange(len(CORES[0]))] if self.rng.randrange(2) else None
        device.aim(*self.place(), vectors)
        if self.rng.randrange(4):
            self.machine.qtest(device.arm(), 2)

    def interrupt(self, device):
        device.write(self.rng.choice((bare.IRQ_RAISE, bare.IRQ_ENABLE, bare.IRQ_STATUS)),
                     self.rng.choice((bare.ALL, 1 << self.rng.randrange(32))))

    def configure(self, device):
        """A write to configuration space, that of a message."""
        places = ((device.control, bare.FLR, 2), (device.control, bare.FLR, 2),
                  (device.power, self.rng.randrange(4), 2),
                  (device.function + bare.COMMAND, self.rng.choice((0, 2, 4, 6, 6, 6)), 2),
                  (device.msix, self.rng.choice((0, 0x8000, 0x8000, 0xc000)), 2),
                  (device.function + self.rng.randrange(256), self.rng.getrandbits(8), 1),
                  (self.machine.port(device.slot, bare.BRIDGE_CONTROL), bare.SECONDARY_RESET, 2),
                  (self.machine.port(device.slot, bare.BRIDGE_CONTROL), 0, 2))
        self.machine.write(*self.rng.choice(places))

    def repair(self, device):
        """What a driver does after a reset."""
        self.machine.write(device.power, 0, 2)
        device.enable()

    def slot_power(self, device):
        self.machine.write(device.slot_control, self.rng.choice((bare.POWER_OFF, bare.POWER_ON)), 2)

    # actions of the host

    def remove(self, device):
        """Not if the guest was faster, or has locked the slot."""
        try:
            self.machine.command('device_del', id=device.name)
        except Failure as failure:
            if not str(failure).startswith('device_del: '):
                raise

    def wait(self, _device):
        time.sleep(self.rng.choice((0, 0.0005, 0.002)))

    def stop(self, _device):
        """A stopped machine goes on at the next recovery, if not at once."""
        self.machine.command('stop')
        if self.rng.randrange(2):
            self.machine.command('cont')

    def system_reset(self, _device):
        self.machine.command('system_reset')

    def migrate(self, _device):
        """To a new process.  QEMU refuses the state of a root port whose slot is locked."""
        state = os.path.join(work.name, 'state')
        self.machine.command('stop')
        for slot in Machine.SLOTS:
            self.machine.unlock(slot)
        devices = [f'cnnacc,bus=port{d.slot},id={d.name}' +
                   ''.join(f',{key}={value}' for key, value in d.properties.items())
                   for d in self.devices if d.there()]
        self.machine.save_to(state)
        self.end()
        self.moves += 1
        self.boot(*(arg for device in devices for arg in ('-device', device)),
                  '-incoming', f'exec:cat {state}')
        until('incoming state', lambda: self.machine.migration() == 'completed')
        self.machine.command('cont')
        for device in self.devices:
            device.machine = self.machine

    def end(self):
        """Ends this process; it has printed next to nothing."""
        status, said = self.machine.quit(), self.machine.messages()
        if status or len(said) > MESSAGES:
            raise Failure(f'QEMU ended with {status} and printed {len(said)} bytes: {said[:500]}')

    ACTIONS = ([access] * 30 + [write_register] * 30 + [queue_jobs] * 30 + [aim] * 20 +
               [interrupt] * 12 + [configure] * 12 + [repair] * 8 + [slot_power] * 2 +
               [remove] * 2 + [wait] * 4 + [stop] * 4)
    # These take longer.
    RARE = [system_reset, migrate, migrate]

    def act(self, seed, number):
        self.rng = random.Random(f'{seed}:{number}')
        action = self.rng.choice(self.RARE if self.rng.randrange(400) == 0 else self.ACTIONS)
        device = self.rng.choice(self.devices)
        self.history.append(f'{number} {action.__name__} {device.name}')
        action(self, device)

    def recover(self):
        self.machine.quiet()
        for device in self.devices:
            device.recover()
        # A device wrote wherever it was told to.
        self.machine.map_memory()
        self.programs = store_programs(self.machine, sum((d.names for d in self.devices), []))
        for device in self.devices:
            device.check(self.programs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--count', type=int, default=3000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--first', type=int, default=0)
    parser.add_argument('--iommu', action='store_true')
    options = parser.parse_args()
    hammer = Hammer(*['-device', 'intel-iommu'] if options.iommu else [])
    try:
        for number in range(options.first, options.first + options.count):
            hammer.act(options.seed, number)
            if number % ROUND == ROUND - 1:
                hammer.recover()
        hammer.recover()
        hammer.end()
        why = ''
    except Failure as failure:
        why = '\n'.join(hammer.history[-SHOWN:]) + f'\nseed {options.seed}: {failure}'
    tap.ok(not why, f'{options.count} actions, {hammer.moves} of them migrations', why)
    return tap.done()


if __name__ == '__main__':
    run_test(main, work)
