#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Jobs on a device that injects faults: every job ends, the kernel does not complain, and
the device works afterwards.

CNNACC_FAULT_INJECTION_JOBS: jobs for each mode (20)
CNNACC_FAULT_INJECTION_MODES: modes to test, separated by spaces (all)
CNNACC_FAULT_INJECTION_IOMMU: if set, the device is behind an IOMMU
"""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from qmp import HERE, Failure, Qemu, complaints, prepare, run_test
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
from tap import Tap

IOMMU = ['--qemu-arg', '-device', '--qemu-arg', 'intel-iommu,intremap=on',
         '--append', 'intel_iommu=on iommu.strict=1']
IOMMU = IOMMU if 'CNNACC_FAULT_INJECTION_IOMMU' in os.environ else []
JOBS = int(os.environ.get('CNNACC_FAULT_INJECTION_JOBS', 20))
MODES = ('irq-late', 'irq-lost', 'irq-spurious', 'irq-duplicate', 'record-wrong', 'record-repeat',
         'record-range', 'progress', 'hang', 'hang+dma-late', 'hang+reset',
         'reg-garbage', 'reg-ones')
MODES = os.environ.get('CNNACC_FAULT_INJECTION_MODES', '').split() or MODES
DEVICE = '/machine/peripheral/acc'
# Register reads may tell the driver that the device is gone: it gives up, until the next probe.
GIVEN_UP = ('reg-garbage', 'reg-ones')
# job_limit_ms; the long one where a job must not time out even on a busy host.
LIMIT_MS, PATIENT_MS = 200, 120000
# These modes must not change how a job ends.
HARMLESS = ('irq-late', 'irq-lost', 'irq-spurious', 'irq-duplicate', 'record-repeat')
# Core resets fail here, so the jobs of killed owners end by a reset of the device.
ORPHANS = 'hang+reset'
# Argument of kmd_events for this mode.
EVENTS = {'irq-lost': 'lost'}

# The host sets the mode that the file "want.N" names and answers with the file "have.N".
GUEST = f'''
cd /mnt
n=0
ask()
{{
	n=$((n + 1))
	echo $1 >want.tmp
	mv want.tmp want.$n
	until [ -e have.$n ]; do sleep 0.05; done
}}
works()
{{
	kmd_smoke >$1.after 2>&1 && echo at once >>$1.after && return
	device=$(basename /sys/bus/pci/drivers/cnnacc/0*)
	echo $device >/sys/bus/pci/drivers/cnnacc/unbind
	echo $device >/sys/bus/pci/drivers/cnnacc/bind
	kmd_smoke >$1.after 2>&1 && echo after a probe >>$1.after
}}
for mode in {' '.join(MODES)}; do
	case $mode in
	{'|'.join(HARMLESS)}) echo {PATIENT_MS} ;;
	*) echo {LIMIT_MS} ;;
	esac >/sys/module/cnnacc/parameters/job_limit_ms
	ask $mode
	timeout {300 + 3 * JOBS} kmd_fault_injection {JOBS} >$mode.jobs 2>&1
	echo $? >$mode.status
	case $mode in
	{' '.join(f'{mode}) kmd_events {what} >{mode}.events 2>&1 ;;' for mode, what in EVENTS.items())}
	esac
	[ $mode != {ORPHANS} ] || kmd_fault_injection 8 orphans >$mode.orphans 2>&1
	ask none
	works $mode
done
'''

tap = Tap()


def read(*parts):
    try:
        with open(os.path.join(*parts), errors='replace') as f:
            return f.read()
    except FileNotFoundError:
        return ''


def serve(qemu, share):
    """Sets the modes that the guest asks for, until the guest ends."""
    n = 1

    def asked():
        return qemu.process.poll() is not None or os.path.exists(os.path.join(share, f'want.{n}'))

    while True:
        while not asked():
            try:
                qemu.process.wait(0.05)
            except subprocess.TimeoutExpired:
                pass
        mode = read(share, f'want.{n}').strip()
        if not mode:
            return
        qemu.command('qom-set', path=DEVICE, property='fault-injection', value=mode)
        if qemu.command('qom-get', path=DEVICE, property='fault-injection') != mode:
            raise Failure(f'{mode} is not in effect')
        with open(os.path.join(share, f'have.{n}'), 'w'):
            n += 1


def planned():
    """The counts that kmd_fault_injection reports if no fault changes how a job ends."""
    kinds = [(job + worker) % 8 for worker in range(2) for job in range((JOBS + 1) // 2)]
    invalid, faulted = kinds.count(5), kinds.count(7)
    return [str(n) for n in (len(kinds) - invalid - faulted, 0, faulted, invalid, 0, 0)]


def check_mode(share, mode):
    jobs, after = read(share, f'{mode}.jobs'), read(share, f'{mode}.after')
    print(f'# {mode}:', *(line for line in jobs.splitlines() if line.startswith('#')))
    tap.ok(read(share, f'{mode}.status').strip() == '0', f'{mode}: {JOBS} jobs end', jobs)
    if mode in HARMLESS:
        tap.equal(re.findall(r'\d+(?= [a-z])', jobs.partition(';')[0]), planned(),
                  f'{mode}: every job ends as its program specifies')
    if mode == ORPHANS:
        orphans = read(share, f'{mode}.orphans')
        tap.ok(re.search(r'^1\.\.8', orphans, re.M) and not re.search('not ok|SKIP', orphans),
               f'{mode}: killed processes leave nothing behind', orphans)
    if mode in EVENTS:
        events = read(share, f'{mode}.events')
        print(f'# {mode}:', *(line for line in events.splitlines() if line.startswith('#')))
        tap.ok(re.search(r'^1\.\.', events, re.M) and not re.search('not ok|SKIP', events),
               f'{mode}: events of rounds', events)
    tap.ok('at once' in after or (mode in GIVEN_UP and 'after a probe' in after),
           f'{mode}: the device works afterwards', after)


def main():
    with tempfile.TemporaryDirectory(prefix='cnnacc-fault-injection.') as work:
        share, path = os.path.join(work, 'share'), os.path.join(work, 'vm')
        os.mkdir(share)
        with open(os.path.join(share, 'guest'), 'w') as f:
            f.write(GUEST)
        argv = prepare(path, *IOMMU, '--device', 'id=acc,cores=ccp+hwpe', '--share', share,
                       '--module-param', 'watchdog_ms=400', '--', 'sh', '/mnt/guest')
        qemu = Qemu(argv, path)
        try:
            qemu.command('qom-set', path=DEVICE, property='fault-injection', value='no-such-mode')
            tap.ok(False, 'an unknown mode is refused')
        except Failure as e:
            tap.ok("unknown mode 'no-such-mode'" in str(e), 'an unknown mode is refused', e)
        serve(qemu, share)
        tap.ok(qemu.wait() == 0 and read(path, 'status').strip() == '0',
               'the guest ends', qemu.messages() + read(path, 'console'))
        for mode in MODES:
            check_mode(share, mode)
        tap.equal(complaints(path), '', 'the kernel does not complain')
    return tap.done()


if __name__ == '__main__':
    run_test(main)
