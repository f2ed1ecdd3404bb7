#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Operators on the CPU against ONNX Runtime: shapes, and values within 1e-4."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'lib')]
import element_cases
import operators
import tap

BUILD = os.environ.get('CNNACC_BUILD', os.path.join(TOP, 'build'))
CNNRUN = os.path.join(BUILD, 'runtime', 'tools', 'cnnrun')
TOLERANCE = {'float16': 2e-3}     # else 1e-4, relative or absolute


def write(path, data):
    """The path."""
    with open(path, 'wb') as f:
        f.write(data)
    return path


def ours(case, work):
    """All outputs as cnnrun gives them, or what it said."""
    args = [CNNRUN, write(f'{work}/model.onnx', case.file), '--device', 'sim']
    for i, (name, array) in enumerate(case.feeds.items()):
        np.save(f'{work}/in{i}.npy', array)
        args += ['--input', f'{name}={work}/in{i}.npy']
    for i in range(case.outputs):
        args += ['--output', f'y{i}={work}/out{i}.npy']
    done = subprocess.run(args, capture_output=True, text=True, timeout=60)
    if done.returncode:
        return done.stderr.strip() or f'status {done.returncode}'
    return [np.load(f'{work}/out{i}.npy') for i in range(case.outputs)]


def peers(cases, package, work):
    """The same of ONNX Runtime, for each case."""
    jobs = []
    for i, case in enumerate(cases):
        jobs.append({'model': write(f'{work}/{i}.onnx', case.file),
                     'outs': [f'{work}/{i}.out{k}' for k in range(case.outputs)],
                     'in': [[str(a.dtype), a.shape, write(f'{work}/{i}.{k}', a.tobytes())]
                            for k, a in case.feeds.items()]})
    done = subprocess.run(['node', os.path.join(HERE, 'onnx_peer.js'), package], text=True,
                          input=json.dumps(jobs), capture_output=True, timeout=300, check=True)
    for job, said in zip(jobs, json.loads(done.stdout.splitlines()[-1])):
        yield said if isinstance(said, str) else [
            np.fromfile(file, dtype).reshape(dims)
            for file, (dtype, dims) in zip(job['outs'], said)]


def difference(got, want):
    """What is wrong with the outputs; '' if nothing is."""
    if isinstance(want, str):
        return f'ONNX Runtime: {want[:200]}'
    if isinstance(got, str):
        return got
    for i, (a, b) in enumerate(zip(got, want)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f'output {i} is {a.dtype}{a.shape}, {b.dtype}{b.shape} wanted'
        tol = TOLERANCE.get(a.dtype.name, 1e-4)
        far = ~np.isclose(a, b, tol, tol, equal_nan=True) if a.dtype.kind == 'f' else a != b
        if far.any():
            at = tuple(np.argwhere(far)[0])
            return f'output {i}{list(at)}: {a[at]}, {b[at]} wanted; {far.sum()} of {far.size}'
    return ''


def main():
    """One result for each group of cases."""
    result = tap.Tap()
    fetch = subprocess.run([os.path.join(TOP, 'scripts', 'fetch-onnxruntime')],
                           capture_output=True, text=True)
    if fetch.returncode:
        print(f'1..0 # SKIP {fetch.stderr.strip()}')
        return 0
    rng = np.random.default_rng(1)
    for group in (*operators.GROUPS, *element_cases.GROUPS):
        cases = list(group(rng))
        with tempfile.TemporaryDirectory() as work:
            wants = peers(cases, fetch.stdout.strip(), work)
            wrong = [f'{case.name}: {why}' for case, want in zip(cases, wants)
                     if (why := difference(ours(case, work), want))]
        result.ok(not wrong, f'{group.__doc__}: {len(cases)} cases as in ONNX Runtime',
                  '\n'.join(wrong))
    return result.done()


sys.exit(main())
