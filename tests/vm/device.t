#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The emulated function without its driver: PCI, reset, DMA rules, unplug."""
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from qmp import HERE, Qemu, prepare, run_test, until
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
from tap import Tap

tap = Tap()
work = tempfile.TemporaryDirectory(prefix='cnnacc-device.')

# Prints lines "name value" about the function.
LOOK = r'''
for d in /sys/bus/pci/devices/*; do
	[ "$(cat $d/vendor):$(cat $d/device)" = 0x1234:0xcacc ] && break
done
bar=$(head -n 1 $d/resource | cut -d ' ' -f 1)
echo 1 >$d/enable
echo class $(cat $d/class)
echo bar0 $(head -n 1 $d/resource | awk '{ print $2 - $1 + 1, $3 }')
echo msix $(hexdump -s 64 -n 12 -e '3/4 "%x "' $d/config)
echo methods $(cat $d/reset_method)
echo magic $(devmem $bar 32)
echo half $(devmem $((bar + 2)) 16) byte $(devmem $bar 8) quad $(devmem $bar 64)
devmem $((bar + 0x1c)) 32 0x12345678
devmem $((bar + 0x1c)) 8 0xff
devmem $((bar + 0x1d)) 32 0xffffffff
echo scratch $(devmem $((bar + 0x1c)) 32)
# A busy host may delay one reset, but not five.
for try in 1 2 3 4 5; do
	devmem $((bar + 0x1c)) 32 0x12345678
	rawjob 1000000000 >/tmp/out 2>&1 &
	until grep -q started /tmp/out; do sleep 0.1; done
	sleep 0.3
	queue=$(devmem $((bar + 0x202c)) 32)
	took=$(time -f %e sh -c "echo 1 >$d/reset" 2>&1)
	after="$(devmem $((bar + 0x1c)) 32) $(devmem $((bar + 0x202c)) 32) $(devmem $bar 32)"
	kill $!
	[ ${took%.*} -ge 2 ] || break
done
echo queue $queue
echo reset $took
echo after $after
rawjob 200 2>/dev/null | sed 's/^/again /'
'''


def directory(name):
    path = os.path.join(work.name, name)
    os.makedirs(path, exist_ok=True)
    return path


def run(*args):
    """Runs a command in a guest; returns (status, stdout)."""
    done = subprocess.run([os.path.join(HERE, 'run'), '--no-module', '--timeout', '900', *args],
                          capture_output=True, text=True)
    for line in done.stderr.splitlines():
        print('# ' + line)
    return done.returncode, done.stdout


def check_function():
    """Identity, access rules and FLR, the last in the middle of a job."""
    script = os.path.join(directory('look'), 'look')
    with open(script, 'w') as f:
        f.write(LOOK)
    # The job limit is so high that the job does not end while the script runs.
    status, out = run('--one-thread', '--device', 'cores=ccp:job-cycles-max=1000000000000',
                      '--program', script, '--', 'sh', '/usr/local/bin/look')
    tap.equal(status, 0, 'the script that inspects the function succeeds')
    print('# ' + out.replace('\n', '\n# '))
    seen = dict(line.split(' ', 1) for line in out.splitlines() if ' ' in line)
    tap.equal(seen.get('class'), '0x120000', 'class: processing accelerator')
    tap.equal(seen.get('bar0'), '65536 0x0000000000140204', 'BAR 0: 64 KiB, 64-bit')
    tap.equal(int(seen.get('msix', '0').split(' ')[0], 16) >> 16 & 0x7ff, 1,
              'MSI-X: a vector per core and one')
    tap.equal(seen.get('methods', '').split(' ')[0], 'flr', 'FLR')
    tap.equal(seen.get('magic'), '0x434E4E41', 'MAGIC')
    tap.equal(seen.get('half'), '0x0000 byte 0x00 quad 0x0000000000000000',
              'accesses of other sizes read zero')
    tap.equal(seen.get('scratch'), '0x12345678', 'accesses of other sizes write nothing')
    tap.equal(seen.get('queue'), '0x00000002', 'a job runs')
    tap.ok(float(seen.get('reset', 99)) < 2, 'FLR of a running function takes less than 2 s')
    tap.equal(seen.get('after'), '0x00000000 0x00000000 0x434E4E41', 'FLR resets the registers')
    tap.ok('again shell error 0' in out and ' class 0 ' in out, 'the function works after FLR')
    return out


def check_dma_rules():
    """DMA must not reach memory without bus mastering, nor past an IOMMU."""
    status, out = run('--', 'rawjob', '10', 'nomaster')
    tap.ok(status == 0 and 'shell error 3' in out, 'no DMA without bus mastering')
    status, out = run('--qemu-arg', '-device', '--qemu-arg', 'intel-iommu', '--append',
                      'intel_iommu=on iommu.strict=1', '--', 'rawjob', '10')
    tap.ok(status == 0 and 'shell error 3' in out, 'no DMA to what an IOMMU does not map')


def check_random_writes():
    """Random register writes: the emulator survives and the function recovers."""
    status, out = run('--one-thread', '--device', 'cores=ccp+ccp', '--', 'sh', '-c',
                      'for seed in 1 2 3 4; do rawfuzz $seed 100000 || exit; done; rawjob 100')
    tap.equal((status, out.count('magic 0x434e4e41')), (0, 4), 'random values in every register')
    tap.ok(' class 0 code 0 ' in out, 'the function works after random writes')


def start(name, *args):
    """Starts a guest with a monitor that runs a job."""
    path = directory(name)
    qemu = Qemu(prepare(path, '--no-module', '--one-thread', '--memory', '256', *args), path)
    qemu.until('start of the job', lambda: 'started' in qemu.output())
    time.sleep(0.3)
    return qemu


def check_stop():
    """Stopping the machine suspends the job and does not change its result."""
    # The job lasts longer than all the stops.
    qemu = start('stop', '--', 'rawjob', '20000')
    for _ in range(20):
        qemu.command('stop')
        qemu.command('cont')
        time.sleep(0.01)
    qemu.command('stop')
    progress = qemu.register(qemu.register(0x1010) + 0x34)
    time.sleep(0.3)
    tap.equal(qemu.register(qemu.register(0x1010) + 0x34), progress,
              'PROGRESS does not change in a stopped machine')
    qemu.command('cont')
    tap.equal(qemu.wait(), 0, 'the job ends after many stops')
    uninterrupted = run('--', 'rawjob', '20000')[1]
    tap.equal(qemu.output(), uninterrupted, 'the result is that of an uninterrupted job')


def check_system_reset():
    """A machine reset in the middle of a job."""
    qemu = start('reset', '--', 'rawjob', '1000000000')
    qemu.command('set-action', reboot='reset')
    for n in range(2, 4):
        qemu.command('system_reset')
        qemu.until('job after reset', lambda: qemu.output().count('started') == n)
    tap.equal(qemu.quit(), 0, 'QEMU quits after two machine resets with a job running')


# The device continues the job when rawjob is killed.
PLUG = r'''
acc=/sys/bus/pci/devices/0000:01:00.0
while :; do
	rawjob 1000000000 &
	sleep 1
	kill $!
	echo 1 >$acc/remove
	echo removed
	until [ -e $acc ]; do
		sleep 3
		echo 1 >/sys/bus/pci/rescan
	done
done
'''


def check_unplug():
    """The function is unplugged while its job runs, and another one is plugged."""
    qemu = start('unplug', '--device', 'id=acc,bus=rp', '--qemu-arg', '-device',
                       '--qemu-arg', 'pcie-root-port,id=rp,chassis=1,hotplug=on',
                       '--', 'sh', '-c', PLUG)
    for n in range(1, 4):
        qemu.until('job', lambda: qemu.output().count('started') == n)
        qemu.until('removal', lambda: qemu.output().count('removed') == n)
        qemu.command('device_del', id='acc')
        until('unplug', lambda: not qemu.has_device('acc'))
        qemu.command('device_add', driver='cnnacc', id='acc', bus='rp',
                     cores='ccp+ccp:lob=64')
        tap.ok(qemu.has_device('acc'), 'unplugged and plugged again')
    qemu.until('last job', lambda: qemu.output().count('started') == 4)
    tap.equal(qemu.quit(), 0, 'QEMU quits after unplugging')


def main():
    check_function()
    check_dma_rules()
    check_random_writes()
    check_stop()
    check_system_reset()
    check_unplug()
    return tap.done()


if __name__ == '__main__':
    run_test(main, work)
