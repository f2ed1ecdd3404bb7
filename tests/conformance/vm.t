#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Cases and networks whose work is on the device, through the kernel driver: the same bytes as in
process."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kinds
import nodes
from onnx import numpy_helper
from onnx_compare import ours, write, write_model

WANTED = re.compile(r'conv|pool|gemm|matmul|quantizelinear', re.I)
CORES = 'cores=ccp+hwpe'
FLOATS, INTEGERS = 0, 1
# Whole networks, which kinds.t compares with ONNX Runtime.
MADE = (kinds.external_data, lambda: kinds.unet(False), lambda: kinds.yolo(1))


def core_of(name):
    """The index of the core that is to run what it can of a case."""
    return INTEGERS if nodes.QUANTISED.search(name) else FLOATS


def in_process(names):
    """What passes in process, on the core for each: {case: detail}."""
    passed = {}
    for core in (FLOATS, INTEGERS):
        result, _ = nodes.run([n for n in names if core_of(n) == core],
                              '--device', f'sim:{CORES}', '--core', str(core))
        passed.update({n: d for n, (v, d) in result.items() if v == 'PASS'})
    return passed


def choose():
    """The listed kinds of cases that pass in process: {case: detail}."""
    names = [n for n in nodes.cases() if WANTED.search(n.split('/')[1])]
    return in_process(names)


def make(share):
    """Networks as cases below share, which want the answers in process: {case: detail}."""
    for case in (network() for network in MADE):
        home = os.path.join(share, 'made', re.sub(r'\W+', '_', case.name))
        data = os.path.join(home, 'test_data_set_0')
        os.makedirs(data)
        write_model(os.path.join(home, 'model.onnx'), case.file, case)
        with tempfile.TemporaryDirectory() as work:
            answers = ours(case, work)
        if isinstance(answers, str):
            sys.exit(f'{case.name}: {answers}')
        for word, arrays in (('input', case.feeds.values()), ('output', answers)):
            for i, array in enumerate(arrays):
                write(f'{data}/{word}_{i}.pb', numpy_helper.from_array(array).SerializeToString())
    made = os.path.join(share, 'made')
    result = in_process([os.path.join(made, n) for n in sorted(os.listdir(made))])
    return {os.path.relpath(os.path.join(nodes.DATA, n), share): d for n, d in result.items()}


def in_guest(share):
    """The report lines of a run in the guest: {case: line}."""
    folders = sorted(os.listdir(share))
    for core in (FLOATS, INTEGERS):
        names = [f'{folder}/{n}' for folder in folders
                 for n in sorted(os.listdir(os.path.join(share, folder)))
                 if core_of(f'{folder}/{n}') == core]
        write(os.path.join(share, f'core{core}'), ' '.join(names).encode())
    run = ''.join(f'cnnrun --node-test $(cat core{core}) --core {core}; '
                  for core in (FLOATS, INTEGERS))
    done = subprocess.run([os.path.join(nodes.TOP, 'tests', 'vm', 'run'), '--device', CORES,
                           '--share', share, '--', 'sh', '-c', f'cd /mnt; {run}'],
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
        made = make(share)
        expected.update(made)
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
    whole = [n for n, d in made.items() if nodes.whole(d) and got.get(n) == ('PASS', d)]
    good = len(whole) == len(MADE)
    print(f'{"" if good else "not "}ok 4 - whole networks: all multiply-accumulates on the device, '
          'the same bytes')
    for name, detail in made.items():
        print(f'# {name}: {detail}')
    print('1..4')
    return 0


sys.exit(main())
