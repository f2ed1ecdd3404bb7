# SPDX-License-Identifier: MIT
"""Starts the QEMU that tests/vm/run prepared and talks to its monitor."""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 300  # seconds that a step may take without output from the guest


def keep_counts(directory):
    """Unpacks gcov's counters to a new directory, as tests/vm/run does."""
    counts, to = os.path.join(directory, 'counts'), os.environ.get('CNNACC_COVERAGE')
    if to and os.path.exists(counts) and os.path.getsize(counts):
        to = tempfile.mkdtemp(prefix=os.path.basename(to) + '.', dir=os.path.dirname(to))
        subprocess.run(['tar', '-C', to, '-xf', counts], check=True)


class Failure(Exception):
    """A step of the test failed."""


def prepare(directory, *args):
    """Lets tests/vm/run prepare a guest; returns QEMU's argument list."""
    subprocess.run([os.path.join(HERE, 'run'), '--prepare', directory, *args], check=True)
    with open(os.path.join(directory, 'command'), 'rb') as f:
        return [arg.decode() for arg in f.read().split(b'\0')[:-1]]


def emulator():
    """The command of QEMU with the device: $CNNACC_QEMU, or the distribution's."""
    if os.environ.get('CNNACC_QEMU'):
        return [os.environ['CNNACC_QEMU']]
    done = subprocess.run(['bash', '-c', f'. {HERE}/lib.sh; vm_device_so; echo "$vm_so"'],
                          stdout=subprocess.PIPE, text=True, check=True)
    return ['env', 'LD_PRELOAD=' + done.stdout.strip(), 'qemu-system-x86_64']


# Linux 6.12's PCIe hot-plug driver nests its own lock in the lock of removals, for any device.
# lockdep reports that once.  A report that involves cnnacc is not ignored.
PCIEHP_REPORT = re.compile(r'^.*WARNING: possible circular locking .*\n(?:.*\n){3}'
                           r'.*&ctrl->reset_lock.*pciehp_unconfigure_device(?:.*\n)*?'
                           r'.*</TASK>', re.M)


def complaints(directory):
    """Messages of the guest's kernel that a healthy one never prints, with context."""
    text = ''
    for name in ('console', 'dmesg'):
        path = os.path.join(directory, name)
        if os.path.exists(path):
            with open(path, errors='replace') as f:
                text += f.read()
    text = PCIEHP_REPORT.sub(lambda m: m[0] if '[cnnacc]' in m[0] else '', text)
    found = subprocess.run(['bash', '-c', f'. {HERE}/lib.sh; grep -E -A 30 "$vm_splat"'],
                           input=text, capture_output=True, text=True)
    return found.stdout


def until(what, condition, progress=lambda: None):
    """Waits until condition() is true; returns its value.  Progress restarts the time limit."""
    seen, end = progress(), time.monotonic() + LIMIT
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
        if progress() != seen:
            seen, end = progress(), time.monotonic() + LIMIT
    raise Failure(f'{what}: not within {LIMIT} s')


class Qemu:
    """A running emulator."""

    started = []

    def __init__(self, argv, directory, env=None):
        path = os.path.join(directory, 'qmp')
        self.directory = directory
        self.errors = os.path.join(directory, 'qemu.log')
        listener = socket.socket(socket.AF_UNIX)
        if os.path.exists(path):
            os.unlink(path)
        listener.bind(path)
        listener.listen(1)
        listener.settimeout(0.1)
        with open(self.errors, 'w') as log:
            self.process = subprocess.Popen([*argv, '-qmp', f'unix:{path}'], stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL, env=env)
        Qemu.started.append(self)
        self.stream = None
        until('monitor', lambda: self.accept(listener))
        listener.close()
        if self.stream:
            self.receive()
            self.command('qmp_capabilities')

    def accept(self, listener):
        """Accepts the monitor's connection.  True also if QEMU has ended and will not connect."""
        try:
            connection = listener.accept()[0]
        except TimeoutError:
            return self.process.poll() is not None
        connection.settimeout(LIMIT)
        self.stream = connection.makefile('rw')
        return True

    def receive(self):
        """The next message that is not an event."""
        while True:
            try:
                line = self.stream.readline()
            except ConnectionError:
                line = ''
            if not line:
                raise Failure('QEMU closed its monitor: ' + self.messages())
            message = json.loads(line)
            if 'event' not in message:
                return message

    def until(self, what, condition):
        """Waits until condition() is true; fails if QEMU ends."""
        def condition_or_end():
            if self.process.poll() is not None:
                raise Failure(f'{what}: QEMU has ended: {self.messages()}')
            return condition()
        return until(what, condition_or_end, self.progress)

    def progress(self):
        """Sizes of the guest's output files."""
        paths = [os.path.join(self.directory, name) for name in ('out', 'err', 'console', 'counts')]
        return [os.path.getsize(path) for path in paths if os.path.exists(path)]

    def command(self, execute, **arguments):
        """Runs a monitor command and returns its answer."""
        self.stream.write(json.dumps({'execute': execute, 'arguments': arguments}) + '\n')
        self.stream.flush()
        answer = self.receive()
        if 'error' in answer:
            raise Failure(f'{execute}: {answer["error"]["desc"]}')
        return answer['return']

    def human(self, line):
        return self.command('human-monitor-command', **{'command-line': line})

    def job(self, execute, **arguments):
        """Runs a monitor command that starts a job, and waits for the job."""
        self.command(execute, **{'job-id': 'job', **arguments})
        until(execute, lambda: self.job_state()['status'] == 'concluded')
        error = self.job_state().get('error')
        self.command('job-dismiss', id='job')
        if error:
            raise Failure(f'{execute}: {error}')

    def job_state(self):
        return self.command('query-jobs')[0]

    def registers(self):
        """Address of the registers of the first cnnacc device; -1 if they are not decoded."""
        for bus in self.command('query-pci'):
            for dev in bus['devices']:
                if (dev['id']['vendor'], dev['id']['device']) == (0x1234, 0xcacc):
                    # The address is -1 while the BAR is not decoded, for example after S3.
                    return dev['regions'][0]['address']
        mapped = re.search(r'([0-9a-f]+)-.*: cnnacc-regs', self.human('info mtree -f'))
        if mapped:
            return int(mapped[1], 16)
        raise Failure('QEMU shows no cnnacc device')

    def register(self, offset):
        """A 32-bit register of the first cnnacc device; all ones if it cannot be read."""
        base = self.registers()
        text = self.human(f'xp /1xw {base + offset:#x}') if base >= 0 else ''
        value = re.search(r': (0x\w+)', text)
        return int(value[1], 0) if value else 0xffffffff

    def queue_state(self):
        """State of the first core's queue; None while the device is asleep."""
        window = self.register(0x1010)
        return None if window == 0xffffffff else self.register(window + 0x2c)

    def add_disk(self, path):
        """Adds a disk for snapshots that is attached to no guest device."""
        if not os.path.exists(path):
            self.job('blockdev-create', options={'driver': 'file', 'filename': path, 'size': 0})
            self.command('blockdev-add', driver='file', **{'node-name': 'raw', 'filename': path})
            self.job('blockdev-create', options={'driver': 'qcow2', 'file': 'raw',
                                                 'size': 1 << 20})
        else:
            self.command('blockdev-add', driver='file', **{'node-name': 'raw', 'filename': path})
        self.command('blockdev-add', driver='qcow2', file='raw', **{'node-name': 'disk'})

    def save_to(self, path):
        """Stops the guest and writes its state to a file."""
        self.command('stop')
        self.command('migrate', uri=f'exec:cat >{path}')
        until('migration', lambda: self.migration() == 'completed')

    def migration(self):
        status = self.command('query-migrate').get('status')
        if status == 'failed':
            raise Failure('migration failed: ' + self.messages())
        return status

    def messages(self):
        with open(self.errors, errors='replace') as f:
            return f.read().strip()

    def wait(self):
        """Waits until QEMU ends; returns its exit status, negative for a signal."""
        until('end of QEMU', lambda: self.process.poll() is not None, self.progress)
        keep_counts(self.directory)
        return self.process.returncode

    def quit(self):
        """Tells QEMU to quit; returns its exit status."""
        try:
            self.stream.write('{"execute": "quit"}\n')
            self.stream.flush()
        except OSError:
            pass
        return self.wait()

    def output(self):
        """What the guest's command has printed so far."""
        try:
            with open(os.path.join(self.directory, 'out'), errors='replace') as f:
                return f.read()
        except FileNotFoundError:
            return ''

    def has_device(self, name):
        """Whether a device with this id is plugged."""
        return any(entry['name'] == name for entry in
                   self.command('qom-list', path='/machine/peripheral'))

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    @classmethod
    def kill_all(cls):
        for qemu in cls.started:
            qemu.kill()


def run_test(main, work=None):
    """Exits with the status of main(), without leaving an emulator or the directory work behind."""
    try:
        sys.exit(main())
    finally:
        Qemu.kill_all()
        if work:
            work.cleanup()
