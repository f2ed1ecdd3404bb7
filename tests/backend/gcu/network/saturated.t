#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cnnrun --compare where float16 ends: core gcu gives 65504 for what is beyond, and reads
infinities and NaNs as numbers. Every such element is counted as saturated, and none passes."""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.dont_write_bytecode = True
TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
sys.path.insert(0, os.path.join(TESTS, 'lib'))
import tap

BUILD = os.environ.get('CNNACC_BUILD', os.path.join(TESTS, '..', 'build'))
CNNRUN = os.path.join(BUILD, 'runtime', 'tools', 'cnnrun')
INF, NAN, MOST = float('inf'), float('nan'), 65504.0


def save(weights, dtype, relu, columns):
    """One row of as many channels as weights, to one channel."""
    w = np.array(weights, dtype).reshape(1, -1, 1, 1)
    nodes = [helper.make_node('Conv', ['x', 'w'], ['c' if relu else 'y'])]
    if relu:
        nodes.append(helper.make_node('Clip', ['c', 'low', 'high'], ['y']))
    kind = TensorProto.FLOAT if dtype == np.float32 else TensorProto.FLOAT16
    values = [helper.make_tensor_value_info(name, kind, [1, channels, 1, columns])
              for name, channels in (('x', len(weights)), ('y', 1))]
    constants = [numpy_helper.from_array(w, 'w')] + [
        numpy_helper.from_array(np.array(v, dtype), name) for v, name in ((0, 'low'), (6, 'high'))]
    graph = helper.make_graph(nodes, 'saturated', values[:1], values[1:],
                              constants if relu else constants[:1])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8),
              'net.onnx')


def cnnrun(*options):
    """Exit status and what it prints."""
    done = subprocess.run([CNNRUN, 'net.onnx', '--input', '0=x.npy', '--device', 'sim:cores=gcu',
                           '--core', 'gcu', '--precision', 'fp16', *options],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def check(result, what, x, wanted, saturated, weights=(1,), dtype=np.float32, relu=False):
    """x: a row for each weight; saturated: how many elements do not pass."""
    x = np.array(x, dtype).reshape(1, len(weights), 1, -1)
    save(weights, dtype, relu, x.shape[3])
    np.save('x.npy', x)
    code, said = cnnrun('--output', '0=y.npy')
    got = np.load('y.npy').ravel().tolist() if code == 0 else []
    result.ok(got == list(wanted), f'{what}: what the core gives', f'{got}, not {wanted}\n{said}')
    code, said = cnnrun('--compare')
    if saturated:
        right = re.search(f' {saturated} of {x.shape[3]} elements are beyond the bound, '
                          f"{saturated} of them saturated: beyond float16's range\n", said) and \
            re.search(r' SATURATED$', said, re.M) and f', {saturated} elements saturated' in said
    else:
        right = 'none beyond the bound' in said
    result.ok(right and code == bool(saturated), f'{what}: {saturated} saturated', said)


def main():
    """All results."""
    result = tap.Tap()
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        check(result, 'sums', [60000, -60000, 32000, 1] * 2, [MOST, -MOST, 64000, 2], 2,
              weights=(1, 1))
        check(result, 'inputs', [1, 70000, -70000, 1e9, INF, -INF, NAN],
              [1, MOST, -MOST, MOST, MOST, -MOST, MOST], 6)
        check(result, 'inputs that a weight makes small', [4, 70000, INF], [1, 16384, 16384], 2,
              weights=(0.25,))
        check(result, 'inputs that no weight counts', [3, 70000, 1e9, 5, 6, 7], [5, 6, 7], 0,
              weights=(0, 1))
        check(result, 'infinities that no weight counts', [3, INF, NAN, 5, 6, 7], [5, 6, 7], 2,
              weights=(0, 1))
        check(result, 'what a limit hides', [60000, INF, -INF, 2], [6, 6, 0, 2], 0, relu=True)
        check(result, 'the largest number', [65504, 65519, 65520], [65504, 65504, 65504], 1)
        check(result, 'sums in float16', [60000, -60000, 32000, 1] * 2, [MOST, -MOST, 64000, 2], 2,
              weights=(1, 1), dtype=np.float16)
        check(result, 'inputs of float16', [1, INF, -INF, NAN], [1, MOST, -MOST, MOST], 3,
              dtype=np.float16)
        os.chdir('/')
    return result.done()


sys.exit(main())
