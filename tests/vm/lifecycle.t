#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Devices that are faulty, are removed or sleep while the driver uses them.

CNNACC_ROUNDS: removals of each kind (default 3; 200 for a full run).
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
from qmp import Failure, Qemu, complaints, prepare, run_test
from tap import Tap

tap = Tap()
work = tempfile.TemporaryDirectory(prefix='cnnacc-lifecycle.')
ROUNDS = int(os.environ.get('CNNACC_ROUNDS', '3'))

# The core of a device without cores=.
CNNCTL = os.path.join(os.environ.get('CNNACC_BUILD', os.path.join(HERE, '..', '..', 'build')),
                      'runtime', 'tools', 'cnnctl')
CORE = re.search(r'core (\w+\.0):', subprocess.run(
    [CNNCTL, 'info', '--device', 'sim'], capture_output=True, text=True, check=True).stdout)[1]

# Each fault that a probe must detect, and what the driver's message must contain.
PROBE_FAULTS = {
    'bar': 'BAR 0 has 32768 bytes, not 65536: check its assignment, pci=realloc',
    'msix': "no 2 MSI-X vectors: check pci=nomsi and the platform's MSI",
    'magic': 'not a cnnacc device: magic 0x0',
    'version': 'hardware version 0x20000 not supported',
    'cores': '0 cores',
    'name': 'core 0: bad discovery entry',
    'entry': 'core 0: bad discovery entry',
    'window': 'core 0: bad discovery entry',
    'reset': 'the device does not reset',
    'register': 'self-test: global register INV_SEQ is 0xdead after a reset, expected 0',
    'scratch': 'self-test: register SCRATCH reads 0x0 after a write of 0x55555555',
    'queue': f'{CORE}: the queue does not start',
    'irq': 'self-test: interrupt 0',
    'dma-read': f'self-test: {CORE} cannot read memory at',
    'dma-write': f'self-test: {CORE} cannot write memory at',
}
# Those that only the self-test detects.
SELFTEST_FAULTS = ('register', 'scratch', 'irq', 'dma-read', 'dma-write')
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


def check_probe_faults():
    """A device for each probe fault in one guest, beside a healthy one."""
    devices = ['--device', '']
    for slot, fault in enumerate(PROBE_FAULTS, FIRST_SLOT):
        devices += ['--device', f'addr={slot:#x},probe-fault={fault}']
    status, out, log = run(*devices, '--', 'sh', '-c',
                           'kmd_smoke; for i in $(seq 600); do '
                           'rmmod cnnacc && break; sleep 0.2; done; dmesg -c >/dev/null; '
                           'modprobe cnnacc; dmesg | grep -c "error -"; ls /sys/class/accel; '
                           'for d in /sys/kernel/debug/accel/*/selftest; do cat $d; done')
    tap.ok(status == 0 and 'not ok' not in out, 'a device works beside faulty ones')
    tap.equal(len(re.findall(r'^accel[0-9]+$', out, re.M)), 1 + len(SELFTEST_FAULTS),
              'only devices with another fault are refused, also after a reload')
    tap.equal(len(re.findall(r'^ok$', out, re.M)), 1, 'only the healthy device passes the self-test')
    for slot, (fault, message) in enumerate(PROBE_FAULTS.items(), FIRST_SLOT):
        lines = [line for line in log.splitlines()
                 if f'cnnacc 0000:00:{slot:02x}.0: ' in line and message in line]
        tap.ok(lines, f'probe-fault={fault}: the driver names the cause')


def check_no_msi():
    status, _, log = run('--append', 'pci=nomsi', '--', 'sh', '-c', '! ls /sys/class/accel/accel0')
    tap.ok(status == 0 and PROBE_FAULTS['msix'] in log, 'without MSI the driver names the cause')


def start(name, script, *args):
    """Starts a guest with a monitor."""
    path = os.path.join(work.name, name)
    os.makedirs(path)
    qemu = Qemu(prepare(path, '--memory', '512', '--one-thread', *args, '--', 'sh', '-c', script),
                path)
    return qemu


def finish(qemu, name, plans):
    """Checks that `plans` programs completed, none failed, and the kernel did not complain."""
    path = qemu.directory
    lines = qemu.output().splitlines() + complaints(path).splitlines()
    with open(os.path.join(path, 'console'), errors='replace') as f:
        lines += [line for line in f if 'DMAR: [DMA' in line]
    bad = [line for line in lines if not re.match(r'(ok|#|1\.\.[1-9]|done|the end)', line)]
    print('# ' + '\n# '.join(lines))
    tap.equal((bad, sum(line.startswith('1..') for line in lines)), ([], plans), name)


# The host raises two errors; the log shows when each has been handled.
BUS_ERRORS = r'''
for n in 1 2; do
	kmd_smoke
	echo "# ready $n"
	until [ $(dmesg | grep -c 'AER: device recovery') -ge $n ]; do sleep 0.1; done
done
kmd_smoke | sed -n 's/^# got \(-[0-9]*\).*/# jobs get \1/p' | sort -u
'''


def check_bus_errors():
    """Errors of the port that the device is behind; QEMU's port has no link after a fatal one."""
    qemu = start('bus errors', BUS_ERRORS, '--device', 'bus=rp', '--qemu-arg', '-device',
                 '--qemu-arg', 'pcie-root-port,id=rp,chassis=1')
    for n, error in enumerate(('POISON_TLP', 'SDN'), 1):
        qemu.until('jobs', lambda: f'# ready {n}\n' in qemu.output())
        qemu.human(f'pcie_aer_inject_error rp {error}')
    tap.equal(qemu.wait(), 0, 'bus errors: the guest ends')
    tap.equal(re.findall('jobs get .*', qemu.output()), ['jobs get -19'],
              'after a fatal error whose slot does not recover jobs fail at once')
    finish(qemu, 'the device works after an error that is not fatal', 2)


# Input on a serial line wakes the machine from suspend-to-idle: q35's real-time clock cannot, and
# not every kernel supports a keyboard.  The log shows where a machine stopped that does not resume.
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
    """Suspend to idle and S3 with jobs queued; the host wakes the machine.

    watchdog_ms is long because a busy host may stall a job for seconds.  The kernel must not compare
    the TSC with the ACPI timer, which reads as all ones while the machine suspends: on a slow host it
    would take that timer for its clock.
    """
    path = os.path.join(work.name, 'sleep.line')
    qemu = start('sleep', SLEEP, '--append', 'no_console_suspend tsc=nowatchdog',
                 '--module-param', 'watchdog_ms=30000', '--qemu-arg', '-chardev',
                 '--qemu-arg', f'socket,id=line,path={path},server=on,wait=off',
                 '--qemu-arg', '-device', '--qemu-arg', 'isa-serial,chardev=line')
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        qemu.until('start', lambda: 'goes to sleep' in qemu.output())
        qemu.until('the end', lambda: not wake(qemu, line) and '\nthe end' in qemu.output())
    # QEMU may fail to power off after S3.
    qemu.kill()
    finish(qemu, 'suspend to idle and to RAM with jobs queued', 2)


def wake(qemu, line):
    """Wakes a sleeping machine; returns whether it was in S3."""
    sleeps = qemu.command('query-status')['status'] == 'suspended'
    if sleeps:
        qemu.command('system_wakeup')
    elif qemu.queue_state() is None and idle(qemu):
        # If only the device is asleep, by runtime PM, the byte has no effect.
        line.send(b'\n')
    return sleeps


def idle(qemu):
    """True if all CPUs are halted for half a second, unlike those of a machine that suspends."""
    for _ in range(10):
        if 'HLT=0' in qemu.human('info registers -a'):
            return False
        time.sleep(0.05)
    return True


# Uses the device in several ways until it is removed, ROUNDS times.  The device node appears a
# moment before it can be opened.
USERS = r'''
# kmd_lifecycle load ends with 1 if it finds no device.
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


def check_removal(name, pulled, *args):
    """Removes the device while all parts of it are in use, and plugs another one.

    The firmware announces an unplug to the guest.  If the device is pulled out, the slot loses
    power and its port tells the guest afterwards.
    """
    users = USERS.replace('ROUNDS', str(ROUNDS)).replace('HOW', 'pull' if pulled else '')
    if pulled:
        args += ('--qemu-arg', '-global',
                 '--qemu-arg', 'ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off')
    qemu = start(name, users, '--device', 'id=acc,bus=rp', '--qemu-arg', '-device',
                         '--qemu-arg', 'pcie-root-port,id=rp,chassis=1,hotplug=on', *args)
    for n in range(1, ROUNDS + 1):
        qemu.until('users', lambda: qemu.output().count('# holding') == n)
        if not pulled:
            qemu.command('device_del', id='acc')
        qemu.until('unplug', lambda: not qemu.has_device('acc'))
        qemu.until('end of the users', lambda: f'done {n}\n' in qemu.output())
        if n < ROUNDS:
            qemu.command('device_add', driver='cnnacc', id='acc', bus='rp')
    tap.equal(qemu.wait(), 0, f'{name}: the guest ends')
    finish(qemu, f'{name}: {ROUNDS} times while it is in use', ROUNDS)


IOMMU = ['--qemu-arg', '-device', '--qemu-arg', 'intel-iommu,intremap=on',
         '--append', 'intel_iommu=on iommu.strict=1']
REMOVALS = [
    ('unplugged', False, IOMMU),
    ('pulled out', True, []),
    ('unplugged without an IOMMU', False, []),
    ('pulled out behind an IOMMU', True, IOMMU),
]


def attempt(name, check, *args):
    """Runs a check with guests of its own.  An exception fails this check only."""
    try:
        check(*args)
    except (Failure, OSError, subprocess.SubprocessError) as e:
        tap.ok(False, f'{name}: {e}', '\n'.join(tail(name, file) for file in ('out', 'console')))
    Qemu.kill_all()


def tail(name, file):
    """The last lines of an output file of a guest."""
    try:
        with open(os.path.join(work.name, name, file), errors='replace') as f:
            return f'{file}:\n' + ''.join(f.readlines()[-14:])
    except FileNotFoundError:
        return f'no {file}'


def main():
    attempt('probe faults', check_probe_faults)
    attempt('no MSI', check_no_msi)
    attempt('bus errors', check_bus_errors)
    attempt('sleep', check_sleep)
    for name, pulled, args in REMOVALS if ROUNDS > 10 else REMOVALS[:2]:
        attempt(name, check_removal, name, pulled, *args)
    return tap.done()


if __name__ == '__main__':
    run_test(main, work)
