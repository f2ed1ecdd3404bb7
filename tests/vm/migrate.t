#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Saves a guest in the middle of a convolution and continues it in a new process."""
import os
import random
import struct
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from qmp import HERE, Failure, Qemu, prepare, run_test, until
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
from tap import Tap

ITERATIONS = 20000      # seconds of convolutions
RUNNING = 2             # CNNACC_QSTATE_RUNNING
MUTATIONS = 60
TRIES = 5
MEMORY = '256'

MACHINE = os.environ.get('CNNACC_MACHINE', 'q35')
# QEMU 7.2 does not save the timers of riscv64's processors: one that idles wakes up only when a
# device interrupts it.  So there is one processor, which the end of the job wakes.
PROCESSORS = ('--smp', '1' if MACHINE == 'virt-riscv64' else '2')

DRIVER_JOB = f'''
rawjob {ITERATIONS} write /tmp
echo started
cnnctl exec --core 0 --program 0x5000=/tmp/program --load-ro 0x10000=/tmp/input \\
	--load-ro 0x40000=/tmp/weights --zero 0x20000:0x8000 --dump 0x20000:0x8000=/tmp/output \\
	--timeout 600000
echo status $?
md5sum /tmp/output
'''

# The model's state: magic, version, size, checksum, then the data that the checksum covers.
STATE_MAGIC = b'CNNS'
STATE_SUMMED = 24
# The head ends with the discovery entries of CM_MAX_CORES cores.
STATE_ENTRIES, ENTRY, ENTRY_PARAM = 32, 128, 64
STATE_HEAD = STATE_ENTRIES + 8 * ENTRY

tap = Tap()
work = tempfile.TemporaryDirectory(prefix='cnnacc-migrate.')


def directory(name):
    path = os.path.join(work.name, name)
    os.makedirs(path, exist_ok=True)
    return path


def raw(path):
    """A guest that runs the job without the driver."""
    return prepare(path, '--no-module', '--memory', MEMORY, '--', 'rawjob', str(ITERATIONS))


def driver(path):
    """A guest that runs the same job through cnnacc.ko."""
    script = os.path.join(path, 'job')
    with open(script, 'w') as f:
        f.write(DRIVER_JOB)
    return prepare(path, '--memory', MEMORY, *PROCESSORS, '--program', script, '--',
                   'sh', '/usr/local/bin/job')


def forget(path):
    """Removes the output of the guest that ran in this directory."""
    for stream in ('out', 'status'):
        if os.path.exists(os.path.join(path, stream)):
            os.unlink(os.path.join(path, stream))


def start_job(guest, path):
    """Boots a guest and stops it in the middle of its job; tries again if the job has ended."""
    for last in [False] * (TRIES - 1) + [True]:
        forget(path)
        qemu = Qemu(guest(path), path)
        try:
            qemu.until('start of the job', lambda: 'started' in qemu.output())
            qemu.until('running queue', lambda: qemu.queue_state() == RUNNING)
            time.sleep(0.3)
            qemu.command('stop')
            if last or qemu.queue_state() == RUNNING:
                return qemu
        except Failure:
            # The job's end ends QEMU, too, but then well.
            if last or qemu.process.poll() != 0:
                raise
        qemu.kill()


def finish(qemu, path):
    """Lets a guest run to its end; returns what its command printed."""
    if qemu.wait():
        raise Failure('QEMU failed: ' + qemu.messages())
    with open(os.path.join(path, 'status')) as f:
        return f.read().strip() + '\n' + qemu.output()


def check_migration(guest, reference):
    """Migrates to a file and from it; returns the file."""
    name = guest.__name__
    path = directory(f'migrate-{name}')
    state = os.path.join(path, 'state')
    qemu = start_job(guest, path)
    qemu.save_to(state)
    tap.equal(qemu.queue_state(), RUNNING, f'{name}: the job runs when the guest is saved')
    qemu.quit()

    qemu = Qemu([*guest(path), '-incoming', f'exec:cat {state}'], path)
    until('incoming state', lambda: qemu.migration() == 'completed')
    tap.equal(qemu.queue_state(), RUNNING, f'{name}: the job runs when the guest is loaded')
    qemu.command('cont')
    tap.equal(finish(qemu, path), reference,
              f'{name}: same result after migration to a new process')
    return state


def check_snapshot(guest, reference):
    """savevm, then loadvm in a new process."""
    name = guest.__name__
    path = directory(f'snapshot-{name}')
    disk = os.path.join(path, 'disk')
    qemu = start_job(guest, path)
    qemu.add_disk(disk)
    qemu.job('snapshot-save', tag='middle', vmstate='disk', devices=['disk'])
    tap.equal(qemu.queue_state(), RUNNING, f'{name}: the job runs after savevm')
    qemu.command('cont')
    tap.equal(finish(qemu, path), reference,
              f'{name}: same result after savevm in the same process')

    forget(path)
    qemu = Qemu([*guest(path), '-S'], path)
    qemu.add_disk(disk)
    qemu.job('snapshot-load', tag='middle', vmstate='disk', devices=['disk'])
    tap.equal(qemu.queue_state(), RUNNING, f'{name}: the job runs after loadvm')
    qemu.command('cont')
    # The first process received what the guest printed before savevm.
    tap.equal(finish(qemu, path), reference.replace('started\n', ''),
              f'{name}: same result after loadvm in a new process')


def checksum(data):
    """FNV-1a by words, as the model has it."""
    total = 0xcbf29ce484222325
    words = len(data) // 8
    for word in struct.unpack_from(f'<{words}Q', data):
        total = (total ^ word) * 0x100000001b3 & 0xffffffffffffffff
        total ^= total >> 32
    for byte in data[words * 8:]:
        total = (total ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return total


def find_state(stream):
    """Offset and length of the model's state in a migration stream."""
    start = stream.index(STATE_MAGIC)
    while True:
        length = struct.unpack_from('>Q', stream, start - 8)[0]
        if length == struct.unpack_from('<Q', stream, start + 8)[0]:
            return start, length
        start = stream.index(STATE_MAGIC, start + 1)


def mutations(state):
    """Damaged states: (name, bytes, whether it must be refused)."""
    rng = random.Random(1)

    def damaged(offset, value):
        data = bytearray(state)
        data[offset:offset + len(value)] = value
        return data

    yield 'magic', damaged(0, b'X'), True
    yield 'version', damaged(4, b'\xff'), True
    yield 'size', damaged(8, b'\xff'), True
    yield 'build parameter', damaged(STATE_ENTRIES + ENTRY_PARAM, b'\xff\xff'), True
    yield 'one bit of the data', damaged(len(state) // 2, bytes([state[len(state) // 2] ^ 1])), True
    # With a correct checksum, only the checks of single fields can refuse a state.  An accepted
    # state runs.
    for n in range(MUTATIONS):
        data = bytearray(state)
        for _ in range(rng.choice((1, 1, 2, 8))):
            span = rng.choice((600, 1200, len(state) - STATE_HEAD))
            at = STATE_HEAD + rng.randrange(min(span, len(state) - STATE_HEAD - 8))
            data[at:at + 4] = rng.choice((b'\xff' * 4, rng.randbytes(4), b'\0\0\0\x80',
                                          bytes([data[at] ^ 1 << rng.randrange(8)])
                                          + bytes(data[at + 1:at + 4])))
        struct.pack_into('<Q', data, 16, checksum(bytes(data[STATE_SUMMED:])))
        yield f'random {n}', data, False


def load(argv, stream, path):
    """Loads a stream; returns (accepted, message) or raises Failure on a crash."""
    with open(os.path.join(path, 'stream'), 'wb') as f:
        f.write(stream)
    qemu = Qemu([*argv, '-incoming', f'exec:cat {path}/stream'], path)
    try:
        accepted = False
        if qemu.stream:
            try:
                until('state', lambda: qemu.migration() == 'completed')
                accepted = True
                qemu.command('cont')
                time.sleep(0.1)
                status = qemu.quit()
            except (Failure, OSError):
                status = qemu.wait()
        else:
            status = qemu.wait()
        if status < 0 or (accepted and status):
            raise Failure(f'QEMU ended with {status}: {qemu.messages()}')
        return accepted, qemu.messages()
    finally:
        qemu.kill()


def check_mutations(state_file):
    """Loads damaged states into a small machine that has not booted."""
    path = directory('mutate')
    with open(state_file, 'rb') as f:
        stream = f.read()
    start, length = find_state(stream)
    state = stream[start:start + length]

    # The same emulator and device in a minimal machine.
    argv = raw(path)
    argv = [*argv[:argv.index('-nodefaults')], '-nodefaults', '-no-user-config', '-display',
            'none', '-M', 'q35', '-m', '16', '-S', '-device', 'cnnacc']
    qemu = Qemu(argv, path)
    qemu.save_to(os.path.join(path, 'empty'))
    qemu.quit()
    with open(os.path.join(path, 'empty'), 'rb') as f:
        empty = f.read()
    at, size = find_state(empty)
    tap.equal(size, length, 'the state has the same size in both machines')

    def with_state(data):
        return empty[:at] + bytes(data) + empty[at + size:]

    accepted, message = load(argv, with_state(state), path)
    tap.ok(accepted, 'an undamaged state is accepted')
    accepted, message = load(argv, empty[:at - 8] + b'\xff' * 8 + empty[at:], path)
    tap.ok(not accepted and 'bytes, but' in message, 'a wrong length is refused with a message')
    accepted, message = load(argv, empty[:at + size // 2], path)
    tap.ok(not accepted and 'cut short' in message, 'a short state is refused with a message')

    crashes, refused, silent = [], 0, []
    for name, data, must_refuse in mutations(state):
        try:
            accepted, message = load(argv, with_state(data), path)
        except Failure as failure:
            crashes.append(f'{name}: {failure}')
            continue
        refused += not accepted
        if must_refuse:
            tap.ok(not accepted, f'refused: {name}')
        if not accepted and 'saved state' not in message:
            silent.append(f'{name}: {message}')
    for line in crashes + silent:
        print('# ' + line.replace('\n', '\n# '))
    tap.equal(len(crashes), 0, f'no damaged state ends QEMU by a signal ({MUTATIONS} random)')
    tap.equal(len(silent), 0, f'every refusal has a message ({refused} refusals)')


def main():
    # On the boards of other processors the device is no PCI function, which the raw guest wants.
    board = MACHINE != 'q35'
    for guest, good in ((raw, ' class 0 code 0 '), (driver, 'status 0'))[board:]:
        path = directory(f'reference-{guest.__name__}')
        reference = finish(Qemu(guest(path), path), path)
        tap.ok(reference.startswith('0\n') and good in reference,
               f'{guest.__name__}: an uninterrupted job')
        state = check_migration(guest, reference)
        check_snapshot(guest, reference)
    if not board:
        check_mutations(state)
    return tap.done()


if __name__ == '__main__':
    run_test(main, work)
