#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Devices that are broken, go away or sleep under the driver.

CNNACC_ROUNDS: how often each kind of removal is done (default 3; 200 for a full run).
"""
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'lib')]
from qmp import Failure, Qemu, complaints, prepare
from tap import Tap

tap = Tap()
work = tempfile.TemporaryDirectory(prefix='cnnacc-lifecycle.')
ROUNDS = int(os.environ.get('CNNACC_ROUNDS', '3'))

# Defect of the device: what the driver says, and what to look at.
DEFECTS = {
    'bar': 'BAR 0 has 32768 bytes, not 65536: check its assignment, pci=realloc',
    'msix': "no 2 MSI-X vectors: check pci=nomsi and the platform's MSI",
    'magic': 'no cnnacc here: magic 0x0',
    'version': 'hardware version 0x20000 not supported',
    'cores': '0 cores',
    'entry': 'core 0: bad discovery entry',
    'window': 'core 0: bad discovery entry',
    'reset': 'the device does not reset',
    'register': 'self-test: global register INV_SEQ is 0xdead after a reset, not 0',
    'scratch': 'self-test: register SCRATCH keeps 0x0 instead of 0x55555555',
    'queue': 'ccp.0: the queue does not start',
    'irq': 'does not arrive: check MSI-X, pci=nomsi',
    'dma-read': 'self-test: ccp.0 cannot read memory at',
    'dma-write': 'self-test: ccp.0 cannot write memory at',
}
FIRST_SLOT = 8


def run(*args):
    """Runs a command in a guest; returns (status, stdout, the kernel's log)."""
    log = os.path.join(work.name, 'log')
    done = subprocess.run([os.path.join(HERE, 'run'), '--timeout', '1200', '--log', log, *args],
                          capture_output=True, text=True)
    for line in (done.stdout + done.stderr).splitlines():
        print('# ' + line)
    with open(log, errors='replace') as f:
        return done.returncode, done.stdout, f.read()


def check_defects():
    """All broken devices in one guest, beside one that works."""
    devices = ['--device', '']
    for slot, defect in enumerate(DEFECTS, FIRST_SLOT):
        devices += ['--device', f'addr={slot:#x},probe-fault={defect}']
    status, out, log = run(*devices, '--', 'sh', '-c',
                           'ls /sys/class/accel; kmd_smoke; for i in $(seq 600); do '
                           'rmmod cnnacc && break; sleep 0.2; done; dmesg -c >/dev/null; '
                           'modprobe cnnacc; dmesg | grep -c "error -"; ls /sys/class/accel')
    tap.ok(status == 0 and 'not ok' not in out, 'a device works beside broken ones')
    tap.equal(out.split().count('accel0'), 2, 'and is the only one, also after a reload')
    for slot, (defect, message) in enumerate(DEFECTS.items(), FIRST_SLOT):
        lines = [line for line in log.splitlines()
                 if f'cnnacc 0000:00:{slot:02x}.0: ' in line and message in line]
        tap.ok(lines, f'defect {defect}: the driver says what to look at')


def check_no_msi():
    status, _, log = run('--append', 'pci=nomsi', '--', 'sh', '-c', '! ls /sys/class/accel/accel0')
    tap.ok(status == 0 and DEFECTS['msix'] in log, 'without MSI the driver says so')


def start(name, script, *args):
    """A guest with a monitor; returns it and a function that reads its output."""
    path = os.path.join(work.name, name)
    os.makedirs(path)
    qemu = Qemu(prepare(path, '--memory', '512', *args, '--', 'sh', '-c', script), path)

    def output():
        try:
            with open(os.path.join(path, 'out'), errors='replace') as f:
                return f.read()
        except FileNotFoundError:
            return ''
    return qemu, output


def finish(qemu, output, name, plans):
    """So many programs came to their plan, none failed, and the kernel did not complain."""
    path = os.path.dirname(qemu.errors)
    lines = output().splitlines() + complaints(path).splitlines()
    with open(os.path.join(path, 'console'), errors='replace') as f:
        lines += [line for line in f if 'DMAR: [DMA' in line]
    bad = [line for line in lines if not re.match(r'(ok|#|1\.\.[1-9]|done|the end)', line)]
    print('# ' + '\n# '.join(lines))
    tap.equal((bad, sum(line.startswith('1..') for line in lines)), ([], plans), name)


# A serial line wakes the machine up from idle: q35's clock cannot, and not every kernel has a
# keyboard.  The log says where a machine stands that does not come back.
SLEEP = r'''
echo 8 >/proc/sys/kernel/printk
echo 1 >/sys/power/pm_print_times
echo enabled >/sys/class/tty/ttyS1/power/wakeup
exec 3</dev/ttyS1
echo "# goes to sleep"
for state in freeze mem; do
	kmd_power $state || echo "not ok - kmd_power $state: $?"
done
echo the end
'''


def check_sleep():
    """Suspend to idle and S3 with jobs queued; the machine is woken up from outside.

    One of some hundred machines has been seen not to come back from S3, as one of some hundred does
    not boot (tests/vm/run): to freeze tasks the kernel patches itself.  Then a second one has to,
    unless the first stands in the driver.
    """
    for name in ('sleep', 'sleep once more'):
        try:
            return sleep(name)
        except Failure as e:
            told = '\n# '.join([str(e), *processors()])
            if name != 'sleep' or not stands_elsewhere(name):
                raise Failure(told) from e
            print('\n# '.join([f'# {told}', *tail(name, 'console').splitlines()]))


def sleep(name):
    """The host may keep a job of seconds from progress for longer than the watchdog waits."""
    path = os.path.join(work.name, name + '.line')
    qemu, output = start(name, SLEEP, '--append', 'no_console_suspend nokaslr',
                         '--module-param', 'watchdog_ms=30000', '--qemu-arg', '-chardev',
                         '--qemu-arg', f'socket,id=line,path={path},server=on,wait=off',
                         '--qemu-arg', '-device', '--qemu-arg', 'isa-serial,chardev=line')
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        qemu.until('start', lambda: 'goes to sleep' in output())
        qemu.until('the end', lambda: not wake(qemu, line) and '\nthe end' in output())
    # QEMU may not power off after S3.
    qemu.kill()
    finish(qemu, output, 'suspend to idle and to RAM with jobs queued', 2)


def stands_elsewhere(name):
    """Did the machine begin to sleep, and not come back, outside of the driver's callbacks?"""
    with open(os.path.join(work.name, name, 'console'), errors='replace') as f:
        log = f.read()
    ours = re.findall(r'cnnacc \S+: PM: (calling|\w+ returned)', log)
    return (log.rfind('PM: suspend entry') > log.rfind('PM: suspend exit') and
            ours and ours[-1] != 'calling')


def processors():
    """Where those of the last guest are: in the kernel, in its firmware, halted."""
    qemu = Qemu.started[-1]
    if qemu.process.poll() is not None:
        return []
    return re.findall(r'(?m)^[RE]IP=.*', qemu.human('info registers -a'))


def wake(qemu, line):
    """Wakes a machine that sleeps; returns whether it was in S3."""
    sleeps = qemu.command('query-status')['status'] == 'suspended'
    if sleeps:
        qemu.command('system_wakeup')
    elif qemu.queue_state() is None and idle(qemu):
        # The device sleeps with the machine, or for want of use: then a byte does no harm.
        line.send(b'\n')
    return sleeps


def idle(qemu):
    """Do all processors stand still for half a second?  On its way to sleep a machine does not."""
    for _ in range(10):
        if 'HLT=0' in qemu.human('info registers -a'):
            return False
        time.sleep(0.05)
    return True


# Uses the device from all sides until it goes, again and again.  A node is there a moment before
# it can be opened.
USERS = r'''
# A loader that finds no device to open ends with 1.
loader_ended()
{
	wait $1
	status=$?
	[ $status -le 1 ] || echo "not ok - load: $status"
}
round=0
while [ $round -lt ROUNDS ]; do
	until (: </dev/accel/accel0) 2>/dev/null; do sleep 0.1; done
	kmd_lifecycle load & first=$!
	kmd_lifecycle load & second=$!
	kmd_lifecycle hold HOW || echo "not ok - hold: $?"
	loader_ended $first
	loader_ended $second
	round=$((round + 1))
	echo "done $round"
done
'''


def present(qemu):
    return any(entry['name'] == 'acc' for entry in
               qemu.command('qom-list', path='/machine/peripheral'))


def check_removal(name, pulled, *args):
    """The device goes while everything of it is in use, and another comes.

    It is unplugged, which the firmware announces to the guest; or it is pulled out: the slot
    loses power, and its port tells the guest afterwards.
    """
    users = USERS.replace('ROUNDS', str(ROUNDS)).replace('HOW', 'pull' if pulled else '')
    if pulled:
        args += ('--qemu-arg', '-global',
                 '--qemu-arg', 'ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off')
    qemu, output = start(name, users, '--device', 'id=acc,bus=rp', '--qemu-arg', '-device',
                         '--qemu-arg', 'pcie-root-port,id=rp,chassis=1,hotplug=on', *args)
    for n in range(1, ROUNDS + 1):
        qemu.until('users', lambda: output().count('# holding') == n)
        if not pulled:
            qemu.command('device_del', id='acc')
        qemu.until('unplug', lambda: not present(qemu))
        qemu.until('end of the users', lambda: f'done {n}\n' in output())
        if n < ROUNDS:
            qemu.command('device_add', driver='cnnacc', id='acc', bus='rp')
    tap.equal(qemu.wait(), 0, f'{name}: the guest comes to its end')
    finish(qemu, output, f'{name}: {ROUNDS} times while it is in use', ROUNDS)


IOMMU = ['--qemu-arg', '-device', '--qemu-arg', 'intel-iommu,intremap=on',
         '--append', 'intel_iommu=on iommu.strict=1']
REMOVALS = [
    ('unplugged', False, IOMMU),
    ('pulled out', True, []),
    ('unplugged without an IOMMU', False, []),
    ('pulled out behind an IOMMU', True, IOMMU),
]


def attempt(name, check, *args):
    """A check with guests of its own: whatever keeps it from its end fails it, not the others."""
    try:
        check(*args)
    except (Failure, OSError, subprocess.SubprocessError) as e:
        tap.ok(False, f'{name}: {e}', '\n'.join(tail(name, file) for file in ('out', 'console')))
    for emulator in Qemu.started:
        emulator.kill()


def tail(name, file):
    """The end of what a guest said."""
    try:
        with open(os.path.join(work.name, name, file), errors='replace') as f:
            return f'{file}:\n' + ''.join(f.readlines()[-14:])
    except FileNotFoundError:
        return f'no {file}'


def main():
    attempt('defects', check_defects)
    attempt('no MSI', check_no_msi)
    attempt('sleep', check_sleep)
    for name, pulled, args in REMOVALS if ROUNDS > 10 else REMOVALS[:2]:
        attempt(name, check_removal, name, pulled, *args)
    return tap.done()


if __name__ == '__main__':
    try:
        sys.exit(main())
    finally:
        for emulator in Qemu.started:
            emulator.kill()
        work.cleanup()
