#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Answers of the in-process device, and of the CPU alone, against those of ONNX Runtime, and the
share of the work that the device did."""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'bench')]
import networks
import programs
from text_boxes import boxes

ATOL, RTOL = 1e-4, 1e-3
# network: least share of the multiply-accumulates on the device, in per cent
FLOORS = {'det': 90, 'resnet50': 100, 'mobilenetv1': 100, 'mobilenetv2': 100, 'squeezenet': 100}

number = 0
failed = False


def check(good, name, detail):
    global number, failed
    number += 1
    failed |= not good
    print(f'{"ok" if good else "not ok"} {number} - {name}\n# {detail}', flush=True)


def run_ours(name, model, work, *options):
    """Output, and the share of the MACs that the device did, in per cent."""
    paths = [os.path.join(work, f'{name}.{what}.npy') for what in ('input', 'output')]
    shape = networks.SHAPES[name]
    np.save(paths[0], np.fromfile(networks.input_path(name), np.float32).reshape(shape))
    out = subprocess.run([os.path.join(programs.BUILD, 'runtime', 'tools', 'cnnrun'), model,
                          '--device', 'sim', '--shape', '0=' + ','.join(map(str, shape)),
                          '--input', '0=' + paths[0], '--output', '0=' + paths[1], *options],
                         check=True, stdout=subprocess.PIPE, text=True)
    done, total = re.search(r'MACs on device: (\d+) of (\d+)', out.stdout).groups()
    return np.load(paths[1]), 100 * int(done) / int(total)


def run_theirs(name, model, work):
    path = os.path.join(work, name + '.f32')
    with programs.onnxruntime(model, 1, networks.SHAPES[name], networks.input_path(name), path):
        pass
    return np.fromfile(path, np.float32)


def check_answer(name, got, want):
    same_size = got.size == want.size
    want = want.reshape(got.shape) if same_size else want
    error = np.abs(got - want) if same_size else np.float32(np.inf)
    bad = int((~(error <= ATOL + RTOL * np.abs(want))).sum())
    check(same_size and not bad, f'{name}: the answer is that of ONNX Runtime',
          f'{got.size} values, {bad} beyond the bound, largest difference {error.max():.3g}')
    if name.startswith('det') and same_size:
        ours, theirs = boxes(got[0, 0]), boxes(want[0, 0])
        check(ours == theirs and len(ours) >= 4, f'{name}: the same boxes of text',
              f'{len(theirs)} boxes: {theirs}; ours: {ours}')


def check_network(name, work):
    model = networks.model_path(name)
    got, share = run_ours(name, model, work, '--core', '0')
    want = run_theirs(name, model, work)
    check_answer(name, got, want)
    check(share >= FLOORS[name], f'{name}: share on the device',
          f'{share:.2f} % of the MACs, floor {FLOORS[name]} %')
    check_answer(f'{name} on the CPU', run_ours(name, model, work, '--core', 'cpu')[0], want)


def main():
    try:
        programs.fetch_onnxruntime()
        networks.model_path('det')
    except subprocess.CalledProcessError:
        print('1..0 # SKIP the npm registry does not answer')
        return 0
    with tempfile.TemporaryDirectory() as work:
        for name in FLOORS:
            check_network(name, work)
    print(f'1..{number}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
