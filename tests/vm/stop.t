#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The host stops, saves or migrates the machine while a message powers off another slot.

QEMU tells the devices one after the other, and saves them one after the other.  A message of a
device that is told must not remove the one whose turn is next: it is held until the machine runs.

--tries N: of each kind (40); --seed N; --only stop|savevm|migrate|iommu
"""
import argparse
import os
import random
import struct
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'lib')]
import bare
from bare import Device, Machine, packet, program, store_programs
from qmp import Failure, run_test, until
from tap import Tap

CORES = 'cores=ccp+ccp+ccp+ccp+ccp+ccp'.split('=')[1]
PROGRAM = bare.PROGRAMS + 0x80000       # of the job that ends with the message
TARGET, MARK = bare.DATA, 0x5ca1ab1e
ENOUGH = 40                             # tries that find the moment of the stop

tap = Tap()
work = tempfile.TemporaryDirectory(prefix='cnnacc-stop.')


def directory(name):
    path = os.path.join(work.name, name)
    os.makedirs(path, exist_ok=True)
    return path


class Pair:
    """A machine with two devices, and programs for them."""

    def __init__(self, name, *args):
        self.path = directory(name)
        trace = os.path.join(self.path, 'trace')
        self.machine = Machine(self.path, '-trace', 'vm_state_notify', '-trace',
                               'cnnacc_irq_message', '-D', trace, *args)
        self.trace = open(trace, errors='replace')
        self.machine.setup()
        self.machine.map_memory()
        # The machine's list of devices is walked from its end, where the newest is.
        self.victim, self.sender = [Device(self.machine, slot, CORES) for slot in Machine.SLOTS]
        self.victim.plug()
        self.sender.plug()
        self.sender.reset()
        self.programs = store_programs(self.machine, self.sender.names)
        self.speed = self.measure()

    def measure(self):
        """Loops that the first core does in a second."""
        sender = self.sender
        sender.start(0)
        start = time.monotonic()
        sender.submit(0, packet(*self.programs[(sender.names[0], *bare.LONG)]))
        self.machine.until('a job', lambda: sender.read(sender.queue(0) + bare.RING_HEAD) == 1)
        return bare.LONG[1] / (time.monotonic() - start)

    def work(self, seconds):
        """Work for all cores; the first one's ends after some seconds, with the message."""
        sender = self.sender
        sender.reset()
        sender.aim(self.victim.slot_control, bare.POWER_OFF)
        for core, name in enumerate(sender.names):
            sender.start(core)
            if core > 1:
                sender.submit(core, packet(*self.programs[(name, *bare.ENDLESS)]))
        code = program(sender.names[0], 'delay', max(1, int(self.speed * seconds)))
        self.machine.store(PROGRAM, code)
        self.machine.qtest(sender.arm(), 2)
        self.trace.seek(0, os.SEEK_END)
        sender.submit(0, packet(PROGRAM, len(code), bare.PACKET_IRQ))
        # QEMU does a write to read-only memory under its lock.
        sender.submit(1, packet(PROGRAM, len(code), bare.PACKET_STATS, stats=bare.READ_ONLY))

    def settle(self):
        """The message arrives once the machine runs; plugs another device in the empty slot.

        Returns whether the message arrived after the machine had stopped.
        """
        self.machine.until('the message', lambda: not self.victim.there())
        first = self.trace.readline()
        self.sender.reset()
        self.victim.plug()
        self.victim, self.sender = self.sender, self.victim
        return 'vm_state_notify' in first

    def stop(self):
        self.machine.command('stop')
        self.machine.command('cont')

    def savevm(self):
        message = self.machine.human('savevm middle')
        if message:
            raise Failure('savevm: ' + message)

    def migrate(self):
        """The machine stops towards the end of a migration."""
        self.machine.command('migrate', uri='exec:cat >/dev/null')
        until('migration', lambda: self.machine.migration() == 'completed')
        until('its end', lambda: self.machine.command('query-status')['status'] == 'postmigrate')
        self.machine.command('cont')


# The function of Pair, and arguments for QEMU.
KINDS = {'stop': ['stop'], 'savevm': ['savevm'], 'migrate': ['migrate'],
         'iommu': ['stop', '-device', 'intel-iommu']}


class Aim:
    """Looks for the time that a job must take to end when the machine stops."""

    def __init__(self, rng):
        self.rng, self.seconds, self.step, self.late = rng, 0.004, 2, None

    def sample(self):
        return self.seconds * self.rng.uniform(0.5, 1.5)

    def learn(self, late):
        """Was the last job's end too late?  Then the next ones are shorter."""
        if self.late not in (None, late):
            self.step = max(1.1, self.step ** 0.5)
        self.late = late
        self.seconds *= 1 / self.step if late else self.step


def check_kind(name, tries, seed):
    """Stops a machine in one way, again and again; it lives, and every message arrives."""
    kind, *args = KINDS[name]
    pair, aim, late = Pair(name, *args), Aim(random.Random(seed)), 0
    if kind == 'savevm':
        pair.machine.add_disk(os.path.join(pair.path, 'disk'))
    for n in range(tries):
        try:
            pair.work(aim.sample())
            getattr(pair, kind)()
            held = pair.settle()
        except Failure as failure:
            tap.ok(False, f'{name}: the emulator lives', f'try {n}: {failure}')
            return
        aim.learn(held)
        late += held
    print(f'# {name}: {tries} tries, {late} messages arrived after the stop, the job took '
          f'{1000 * aim.seconds:.1f} ms at last')
    tap.ok(True, f'{name}: the emulator lives')
    tap.ok(tries < ENOUGH or 0 < late < tries, f'{name}: some messages come before, others after')
    tap.equal(pair.machine.quit(), 0, f'{name}: and quits')


class Single:
    """A machine with a device whose messages go to memory, stopped by its operator."""

    def __init__(self, path, *args):
        self.machine = Machine(path, '-device', 'cnnacc,bus=port1,id=acc1', *args)
        self.device = None

    def setup(self):
        self.machine.setup()
        self.device = Device(self.machine, 1)
        self.device.plug()
        self.device.reset()

    def raise_while_stopped(self):
        """Raises an interrupt of every vector in the stopped machine."""
        self.setup()
        for vector in range(len(self.device.names) + 1):
            self.device.aim(TARGET + 4 * vector, MARK + vector, [vector])
        self.machine.command('stop')
        self.machine.qtest(self.device.arm(), 2)
        self.device.write(bare.IRQ_RAISE, bare.ALL)

    def raise_masked(self, address, data):
        """Raises an interrupt of the first vector while it is masked: the message is pending."""
        self.device.aim(address, data, [0])
        self.mask(1)
        self.machine.qtest(self.device.arm(), 2)
        self.device.write(bare.IRQ_RAISE, 1)

    def mask(self, masked):
        """Masks or unmasks the first vector."""
        self.machine.write(self.device.regs + bare.MSIX_TABLE + 12, masked)

    def marks(self):
        return [self.machine.read(TARGET + 4 * n) for n in range(2)]


ARRIVED, NOTHING = [MARK, MARK + 1], [0, 0]


def check_held():
    """A message of a stopped machine is held, saved, loaded and sent."""
    path = directory('held')
    state = os.path.join(path, 'state')
    single = Single(path)
    single.raise_while_stopped()
    time.sleep(0.1)
    tap.equal(single.marks(), NOTHING, 'no message leaves a stopped machine')
    single.machine.save_to(state)
    single.machine.command('cont')
    single.machine.until('messages', lambda: single.marks() == ARRIVED)
    tap.ok(True, 'held messages leave when the machine goes on')
    single.machine.quit()

    single = Single(path, '-incoming', f'exec:cat {state}')
    until('incoming state', lambda: single.machine.migration() == 'completed')
    tap.equal(single.marks(), NOTHING, 'held messages are not sent by loading them')
    single.machine.command('cont')
    single.machine.until('messages', lambda: single.marks() == ARRIVED)
    tap.ok(True, 'and leave when the loaded machine goes on')
    single.machine.quit()
    return state


def check_damage(path):
    """A saved state with messages of vectors that the device lacks is refused."""
    with open(path, 'rb') as f:
        stream = f.read()
    name = b'cnnacc-state/messages'
    at = stream.index(name) + len(name) + 4     # after the version
    tap.equal(struct.unpack_from('>I', stream, at)[0], 3, 'the saved state has two messages')
    damaged = os.path.join(os.path.dirname(path), 'damaged')
    with open(damaged, 'wb') as f:
        f.write(stream[:at] + struct.pack('>I', 1 << 31 | 3) + stream[at + 4:])
    single = Machine(directory('damage'), '-device', 'cnnacc,bus=port1,id=acc1',
                     '-incoming', f'exec:cat {damaged}')
    status = single.wait()
    tap.ok(status == 1 and 'held messages 0x80000003, but there are 2 vectors'
           in single.messages(), 'one with a message more is refused', single.messages())


def check_unmasked():
    """A message that becomes unmasked in a stopped machine is held, too."""
    single = Single(directory('unmasked'))
    single.setup()
    single.raise_masked(TARGET, MARK)
    single.machine.command('stop')
    single.mask(0)
    tap.equal(single.marks(), NOTHING, 'an unmasked message does not leave a stopped machine')
    single.machine.command('cont')
    single.machine.until('the message', lambda: single.marks() == [MARK, 0])
    tap.equal(single.machine.quit(), 0, 'it leaves when the machine goes on')


def check_pending():
    """A saved state whose vector is pending though unmasked, as none is, sends nothing.

    QEMU sends the message of such a vector while it loads the state.  Here it would remove the
    device that is being loaded.
    """
    path = directory('pending')
    state, damaged = os.path.join(path, 'state'), os.path.join(path, 'damaged')
    single = Single(path)
    single.setup()
    slot = single.device.slot_control
    single.raise_masked(slot, bare.POWER_OFF)
    single.machine.save_to(state)
    single.machine.quit()
    with open(state, 'rb') as f:
        stream = f.read()
    entry = struct.pack('<III', slot, 0, bare.POWER_OFF)
    tap.equal(stream.count(entry + b'\1\0\0\0'), 1, 'the saved state has a masked vector')
    with open(damaged, 'wb') as f:
        f.write(stream.replace(entry + b'\1\0\0\0', entry + bytes(4)))
    single = Single(path, '-incoming', f'exec:cat {damaged}')
    until('incoming state', lambda: single.machine.migration() == 'completed')
    single.machine.command('cont')
    time.sleep(0.1)
    tap.ok(single.machine.has_device('acc1'), 'loading one that is pending removes no device')
    tap.equal(single.machine.quit(), 0, 'and QEMU lives')


def check_sleep():
    """A device that is plugged while the machine is in S3 works when it wakes up."""
    machine = Machine(directory('sleep'))
    machine.setup()
    machine.sleep()
    machine.command('device_add', driver='cnnacc', bus='port1', id='acc1')
    machine.command('system_wakeup')
    machine.until('wake', lambda: machine.command('query-status')['status'] == 'running')
    machine.setup()
    machine.map_memory()
    device = Device(machine, 1)
    device.plug()
    device.reset()
    device.check(store_programs(machine, device.names))
    tap.ok(True, 'a device that was plugged in S3 works')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--tries', type=int, default=40)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', choices=KINDS)
    options = parser.parse_args()
    for name in [options.only] if options.only else KINDS:
        check_kind(name, options.tries, options.seed)
    if not options.only:
        check_damage(check_held())
        check_unmasked()
        check_pending()
        check_sleep()
    return tap.done()


if __name__ == '__main__':
    run_test(main, work)
