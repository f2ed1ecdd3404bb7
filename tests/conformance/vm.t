#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Cases whose work is on the device, through the kernel driver: the same bytes as in process."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import nodes

WANTED = re.compile(r'conv|pool|gemm|matmul|quantizelinear', re.I)
CORES = 'cores=ccp+hwpe'


def choose():
    """The listed kinds of cases that pass in process: {case: detail}."""
    names = [n for n in nodes.cases() if WANTED.search(n.split('/')[1])]
    result, _ = nodes.run(names, '--device', f'sim:{CORES}')
    return {n: d for n, (v, d) in result.items() if v == 'PASS'}


def in_guest(share):
    """The report lines of a run in the guest: {case: line}."""
    done = subprocess.run([os.path.join(nodes.TOP, 'tests', 'vm', 'run'), '--device', CORES,
                           '--share', share, '--', 'sh', '-c', 'cd /mnt && cnnrun --node-test */*'],
                          capture_output=True, text=True, timeout=1200)
    lines = {}
    for line in done.stdout.splitlines():
        m = re.match(r'(PASS|FAIL|UNSUPPORTED) (\S+): (.*)', line)
        if m:
            lines[m[2]] = (m[1], m[3])
    return lines, done


def main():
    if not os.path.isdir(nodes.DATA):
        print('1..0 # SKIP libonnx-testdata is not installed')
        return 0
    expected = choose()
    with tempfile.TemporaryDirectory() as share:
        for name in expected:
            shutil.copytree(os.path.join(nodes.DATA, name), os.path.join(share, name))
        got, done = in_guest(share)
    on_device = sum('MACs on device 0 ' not in d for d in expected.values())
    wrong = [f'{n}: {got.get(n)}, in process: {d}' for n, d in expected.items()
             if got.get(n) != ('PASS', d)]
    print(f'# {len(expected)} cases, {on_device} with work on the device')
    print(f'{"not " if wrong or done.returncode else ""}ok 1 - conv, pool, gemm, matmul, quantised '
          'cases: same results and bytes on /dev/accel/accel0')
    for line in wrong[:40] + (done.stderr.splitlines()[-20:] if wrong else []):
        print(f'# {line}')
    print(f'{"not " if on_device < 20 else ""}ok 2 - enough of them use the device')
    products = [n for n in expected if nodes.PRODUCTS.search(n)]
    left = [n for n in products if not nodes.whole(got.get(n, ('', ''))[1])]
    print(f'{"not " if left or not products else ""}ok 3 - quantised products run there')
    for name in left:
        print(f'# {name}: {got.get(name)}')
    print('1..3')
    return 0


sys.exit(main())
