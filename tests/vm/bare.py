# SPDX-License-Identifier: MIT
"""A machine whose processor does nothing: the test reads and writes memory in its place.

The two slots of the machine may have a cnnacc each, and can be powered off as a guest powers them
off, through the Slot Control register of their root ports.  Firmware that halts takes the place of
SeaBIOS, and QEMU's test protocol (-qtest) the place of the guest.
"""
import functools
import os
import socket
import struct
import subprocess
import time

from qmp import HERE, LIMIT, Failure, Qemu, emulator, until

BUILD = os.environ.get('CNNACC_BUILD', os.path.join(HERE, '..', '..', 'build'))

ECAM = 0xb0000000               # configuration space, a MiB a bus
WINDOW = 0xe0000000             # 32 MiB of memory behind each root port
MSIX_TABLE = 0x100000           # where BAR 4 goes in it

# Configuration space.
COMMAND, BAR0, BAR4, BRIDGE_CONTROL = 0x04, 0x10, 0x20, 0x3e
SECONDARY_RESET = 0x40
CAP_POWER, CAP_EXPRESS, CAP_MSIX = 0x01, 0x10, 0x11
POWER_CONTROL, DEVICE_CONTROL, SLOT_CONTROL, MSIX_CONTROL = 4, 8, 0x18, 2
FLR, D3HOT, MSIX_ENABLE = 0x8000, 3, 0x8000
POWER_ON, POWER_OFF, SLOT_LOCK = 0x100, 0x700, 0x800
SLOT_LOCKED = 0x80              # in Slot Status; SLOT_LOCK toggles it
PORT_SLOT = 0x6c                # Slot Control and Slot Status of QEMU's root port

# The LPC bridge.
PMBASE, ACPI_CONTROL, ACPI_ENABLE = 0x40, 0x44, 0x80
ACPI_PORTS, PM1_CONTROL, SLEEP_S3 = 0x600, 4, 1 << 13 | 1 << 10

# The registers of uapi/cnnacc_hw.h.
RESET, IRQ_STATUS, IRQ_ENABLE, IRQ_RAISE, MSG_REFUSED = 0x18, 0x20, 0x24, 0x28, 0x2c
CORE_COUNT, CORE_TABLE, CORE_ENTRY, CORE_NAME = 0x0c, 0x1000, 128, 32
QUEUES, QUEUE = 0x2000, 0x100
RING_BASE, RING_SIZE, RING_TAIL, RING_HEAD, COMPL_BASE, COMPL_SIZE = 0, 8, 0xc, 0x10, 0x14, 0x1c
CTRL, STATE, CORE_RESET = 0x28, 0x2c, 0x30
PACKET_STATS, PACKET_IRQ = 1, 2
ALL = 0xffffffff

# Memory, which programs see at the same addresses.  The last page is the firmware's.
MAPPED, MAPPED_SIZE = 0x1000000, 0x800000
PAGE, RING = 0x1000, 0x2000
FIRMWARE, READ_ONLY = 0xffff0000, MAPPED + MAPPED_SIZE - PAGE
RINGS, TABLES, PROGRAMS, DATA = MAPPED, MAPPED + 0x100000, MAPPED + 0x200000, MAPPED + 0x300000
RING_ENTRIES = 64
MEMORY = '32'                   # MiB
GONE = 0xffffffff
# As core_program has them.
NOP, ENDLESS, SHORT, LONG = ('nop',), ('endless',), ('delay', 1000), ('delay', 3000000)
PROGRAMS_OF_A_CORE = (NOP, ENDLESS, SHORT, LONG)


@functools.cache
def program(core, *what):
    """A program of a core for tests."""
    return subprocess.run([os.path.join(BUILD, 'tests', 'lib', 'core_program'), core,
                           *map(str, what)], capture_output=True, check=True).stdout


def packet(at, size, flags=0, limit=1 << 28, context=1, stats=0):
    return struct.pack('<IIQQQIII5I', flags, context, TABLES, 0, limit, at, size, stats, *[0] * 5)


def write_firmware(path):
    """Halts at the reset vector."""
    image = bytearray(b'\xf4' * 0x10000)
    image[0xfff0:0xfff4] = b'\xfa\xf4\xeb\xfd'
    with open(path, 'wb') as f:
        f.write(image)


class Machine(Qemu):
    """A machine with a root port for each element of SLOTS and no device."""

    SLOTS = (1, 2)

    def __init__(self, directory, *args):
        firmware, path = os.path.join(directory, 'firmware'), os.path.join(directory, 'qtest')
        write_firmware(firmware)
        # By default the firmware, not Slot Control, would remove devices.
        argv = [*emulator(), '-nodefaults', '-no-user-config', '-display', 'none', '-M', 'q35',
                '-accel', 'tcg', '-m', MEMORY, '-bios', firmware, '-global',
                'ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off', '-qtest', f'unix:{path}',
                '-qtest-log', '/dev/null']
        for slot in self.SLOTS:
            argv += ['-device', f'pcie-root-port,id=port{slot},addr={slot + 2},chassis={slot},'
                                f'slot={slot},hotplug=on']
        if os.path.exists(path):
            os.unlink(path)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen(1)
            listener.settimeout(60)
            # Freed memory is overwritten, so that its use is seen.
            super().__init__([*argv, *args], directory, {**os.environ, 'MALLOC_PERTURB_': '165'})
            connection = listener.accept()[0]
        connection.settimeout(LIMIT)
        self.wire = connection.makefile('rw')

    def setup(self):
        """What firmware does: configuration space and the buses."""
        self.qtest(f'outl 0xcf8 0x80000060\noutl 0xcfc {ECAM | 1:#x}', 2)
        self.qtest('outl 0xcf8 0x80000064\noutl 0xcfc 0', 2)
        for slot in self.SLOTS:
            window = (WINDOW >> 16) + slot * 0x200 - 0x200
            self.write(self.port(slot, 0x18), slot << 8 | slot << 16)
            self.write(self.port(slot, 0x20), window | (window + 0x1f0) << 16)
            self.write(self.port(slot, 0x24), 0x0000fff0)
            self.write(self.port(slot, COMMAND), 7)

    def sleep(self):
        """Puts the machine to sleep in S3, as firmware tells a guest to."""
        bridge = self.config(0, 0x1f, 0)
        self.write(bridge + PMBASE, ACPI_PORTS | 1)
        self.write(bridge + ACPI_CONTROL, ACPI_ENABLE, 1)
        self.qtest(f'outw {ACPI_PORTS + PM1_CONTROL:#x} {SLEEP_S3:#x}')
        self.until('sleep', lambda: self.command('query-status')['status'] == 'suspended')

    def quiet(self):
        """Makes configuration space usable, and resets all functions there are.

        In a stopped machine, so that no message can change it again.  FLR drops messages that are
        held.
        """
        self.command('stop')
        self.setup()
        for slot in self.SLOTS:
            self.write(self.port(slot, BRIDGE_CONTROL), 0, 2)
            self.unlock(slot)
            function = self.config(slot, 0, 0)
            if self.read(function) != GONE:
                self.write(function + self.capability(function, CAP_EXPRESS) + DEVICE_CONTROL,
                           FLR, 2)
        self.command('cont')

    def unlock(self, slot):
        """Releases the interlock of a slot.

        Through ports, which no guest can switch off.
        """
        self.qtest(f'outl 0xcf8 {1 << 31 | slot + 2 << 11 | PORT_SLOT:#x}')
        slot_registers = int(self.qtest('inl 0xcfc')[1], 0)
        if slot_registers >> 16 & SLOT_LOCKED:
            self.qtest(f'outw 0xcfc {slot_registers & 0xffff | SLOT_LOCK:#x}')

    def qtest(self, commands, count=1):
        """Runs lines of the test protocol; returns the answer to the last."""
        try:
            self.wire.write(commands + '\n')
            self.wire.flush()
            for _ in range(count):
                line = self.wire.readline()
                while line.startswith('IRQ'):
                    line = self.wire.readline()
        except (ConnectionError, TimeoutError):
            line = ''
        if not line.startswith('OK'):
            raise Failure(f'{commands}: {line or self.death()}')
        return line.split()

    def death(self):
        try:
            return f'QEMU ended with {self.process.wait(30)}: {self.messages()}'
        except subprocess.TimeoutExpired:
            return f'QEMU does not answer: {self.messages()}'

    def receive(self):
        """As of Qemu; says how QEMU has ended, or that it hangs."""
        try:
            return super().receive()
        except (Failure, TimeoutError) as failure:
            raise Failure(f'{failure}; {self.death()}') from failure

    def write(self, address, value, size=4):
        self.qtest(f'write{dict(zip((1, 2, 4, 8), "bwlq"))[size]} {address:#x} {value:#x}')

    def read(self, address, size=4):
        return int(self.qtest(f'read{dict(zip((1, 2, 4, 8), "bwlq"))[size]} {address:#x}')[1], 0)

    def store(self, address, data):
        for at in range(0, len(data), PAGE):
            part = data[at:at + PAGE]
            self.qtest(f'write {address + at:#x} {len(part)} 0x{part.hex()}')

    def config(self, bus, device, offset):
        """Address of a register of configuration space."""
        return ECAM | bus << 20 | device << 15 | offset

    def port(self, slot, offset):
        return self.config(0, slot + 2, offset)

    def capability(self, function, wanted):
        """Offset of a capability of the function whose configuration space is at an address."""
        at, seen = self.read(function + 0x34, 1), 0
        while at and seen < 48:
            header = self.read(function + at, 2)
            if header & 0xff == wanted:
                return at
            at, seen = header >> 8, seen + 1
        raise Failure(f'the function at {function:#x} has no capability {wanted:#x}')

    def slot_control(self, slot):
        return self.port(slot, self.capability(self.port(slot, 0), CAP_EXPRESS) + SLOT_CONTROL)

    def map_memory(self):
        """Page tables for what programs use."""
        pages = MAPPED_SIZE // PAGE
        first = MAPPED >> 22
        tables = [0] * 1024
        for n in range(pages // 1024):
            tables[first + n] = (TABLES + (1 + n) * PAGE) >> 8 | 1
        self.store(TABLES, struct.pack('<1024I', *tables))
        entries = [(MAPPED + n * PAGE) >> 8 | 0xf for n in range(pages)]
        entries[-1] = FIRMWARE >> 8 | 0xf
        self.store(TABLES + PAGE, struct.pack(f'<{pages}I', *entries))


class Device:
    """A cnnacc in a slot."""

    def __init__(self, machine, slot, cores='', threads=1):
        self.machine, self.slot, self.threads = machine, slot, threads
        self.properties = {'cores': cores} if cores else {}
        self.name = f'acc{slot}'
        self.regs = WINDOW + (slot - 1) * 0x2000000
        self.function = machine.config(slot, 0, 0)
        self.slot_control = machine.slot_control(slot)
        self.tails, self.names = [], []

    def there(self):
        return self.machine.has_device(self.name)

    def plug(self):
        """Plugs a device if there is none, and makes it usable."""
        machine = self.machine
        if not self.there():
            machine.write(self.slot_control, 0, 2)
            machine.write(self.slot_control + 2, 0xffff, 2)
            machine.command('device_add', driver='cnnacc', bus=f'port{self.slot}', id=self.name,
                            threads=str(self.threads), **self.properties)
        machine.write(self.slot_control, POWER_ON, 2)
        machine.write(self.slot_control + 2, 0xffff, 2)
        machine.until('a function in the slot', lambda: machine.read(self.function) != GONE)
        self.find()
        machine.write(self.power, 0, 2)
        self.enable()

    def recover(self):
        """Whatever was written where, the device becomes usable, or another one in its place."""
        machine = self.machine
        # In a slot without power the device is there but does not answer.
        if self.there() and machine.read(self.function) == GONE:
            machine.write(self.slot_control, POWER_ON, 2)
        self.plug()
        self.reset()

    def find(self):
        """Looks for the capabilities."""
        def capability(wanted):
            return self.function + self.machine.capability(self.function, wanted)

        self.power = capability(CAP_POWER) + POWER_CONTROL
        self.control = capability(CAP_EXPRESS) + DEVICE_CONTROL
        self.msix = capability(CAP_MSIX) + MSIX_CONTROL

    def enable(self):
        machine = self.machine
        machine.write(self.function + BAR0, self.regs)
        machine.write(self.function + BAR0 + 4, 0)
        machine.write(self.function + BAR4, self.regs + MSIX_TABLE)
        machine.write(self.function + COMMAND, 6, 2)
        machine.write(self.msix, MSIX_ENABLE, 2)

    def write(self, offset, value):
        self.machine.write(self.regs + offset, value)

    def read(self, offset):
        return self.machine.read(self.regs + offset)

    def reset(self):
        """Resets the device and reads what cores it has."""
        self.write(RESET, 1)
        self.machine.until('end of the reset', lambda: self.read(RESET) == 0)
        self.names = [self.core_name(n) for n in range(self.read(CORE_COUNT))]
        self.tails = [0] * len(self.names)

    def core_name(self, core):
        at = self.regs + CORE_TABLE + core * CORE_ENTRY + CORE_NAME
        return struct.pack('<II', self.machine.read(at), self.machine.read(at + 4)) \
            .rstrip(b'\0').decode()

    def aim(self, address, data, vectors=None):
        """Has all vectors, or some, send a message with some data to an address."""
        table = self.regs + MSIX_TABLE
        for vector in vectors if vectors is not None else range(len(self.names) + 1):
            for n, word in enumerate((address & ALL, address >> 32, data, 0)):
                self.machine.write(table + 16 * vector + 4 * n, word)

    def arm(self):
        """The command lines that let the next interrupts send messages."""
        return '\n'.join(f'writel {self.regs + at:#x} {ALL:#x}' for at in (IRQ_STATUS, IRQ_ENABLE))

    def queue(self, core):
        """Address of a queue block in the register page."""
        return QUEUES + core * QUEUE

    def ring(self, core):
        return RINGS + (self.slot - 1) * 0x40000 + core * 2 * RING

    def start(self, core):
        """Starts an empty queue."""
        queue, ring = self.queue(core), self.ring(core)
        self.write(queue + CORE_RESET, 1)
        self.machine.until('end of the reset', lambda: self.read(queue + CORE_RESET) == 0)
        for at, value in ((RING_BASE, ring), (RING_BASE + 4, 0), (RING_SIZE, RING_ENTRIES),
                          (COMPL_BASE, ring + RING), (COMPL_BASE + 4, 0),
                          (COMPL_SIZE, RING_ENTRIES), (CTRL, 1)):
            self.write(queue + at, value)
        self.tails[core] = 0

    def submit(self, core, *packets):
        tail = self.tails[core]
        for one in packets:
            self.machine.store(self.ring(core) + tail * len(one), one)
            tail = (tail + 1) % RING_ENTRIES
        self.tails[core] = tail
        self.write(self.queue(core) + RING_TAIL, tail)

    def check(self, programs):
        """Every core must run a program."""
        for core, name in enumerate(self.names):
            self.start(core)
            self.submit(core, packet(*programs[(name, *NOP)]))
            self.machine.until(f'a job of core {core}', lambda core=core: self.read(
                self.queue(core) + RING_HEAD) == 1)


def store_programs(machine, names):
    """Writes programs of the cores to memory; returns their (address, length)."""
    found, at = {}, PROGRAMS
    for name in sorted(set(names)):
        for what in PROGRAMS_OF_A_CORE:
            code = program(name, *what)
            machine.store(at, code)
            found[(name, *what)] = at, len(code)
            at += PAGE
    return found
