# SPDX-License-Identifier: MIT
"""Answers of cnnrun and of ONNX Runtime to the cases of operators.py, and what differs."""
import json
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get('CNNACC_BUILD', os.path.join(TOP, 'build'))
CNNRUN = os.path.join(BUILD, 'runtime', 'tools', 'cnnrun')
TOLERANCE = {'float16': 2e-3}     # else 1e-4, relative or absolute


class NoPackage(Exception):
    """ONNX Runtime cannot be had; the text says why."""


def package():
    """The folder of ONNX Runtime's package."""
    fetch = subprocess.run([os.path.join(TOP, 'scripts', 'fetch-onnxruntime')],
                           capture_output=True, text=True)
    if fetch.returncode:
        raise NoPackage(fetch.stderr.strip())
    return fetch.stdout.strip()


def package_or_skip():
    """The same; without it the whole test is skipped."""
    try:
        return package()
    except NoPackage as e:
        print(f'1..0 # SKIP {e}')
        sys.exit(0)


def ask(jobs, folder):
    """What onnx_peer.js says of each job."""
    done = subprocess.run(['node', os.path.join(HERE, 'onnx_peer.js'), folder], text=True,
                          input=json.dumps(jobs), capture_output=True, timeout=300, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def write(path, data):
    """The path."""
    with open(path, 'wb') as f:
        f.write(data)
    return path


def write_model(path, file, case):
    """The path of a network's file, with those beside it that the case names."""
    for name, data in case.files.items():
        write(os.path.join(os.path.dirname(path), name), data)
    return write(path, file)


def run(case, work, *options):
    """cnnrun's end, with the outputs in files."""
    args = [CNNRUN, write_model(f'{work}/model.onnx', case.file, case), '--device', 'sim',
            *options]
    for i, (name, array) in enumerate(case.feeds.items()):
        np.save(f'{work}/in{i}.npy', array)
        args += ['--input', f'{name}={work}/in{i}.npy']
    for i in range(case.outputs):
        args += ['--output', f'{i}={work}/out{i}.npy']
    return subprocess.run(args, capture_output=True, text=True, timeout=60)


def ours(case, work, done=None):
    """All outputs as cnnrun gives them, or what it said; done: its end, if it ran already."""
    done = done or run(case, work)
    if done.returncode:
        return done.stderr.strip() or f'status {done.returncode}'
    return [np.load(f'{work}/out{i}.npy') for i in range(case.outputs)]


def peers(cases, folder, work):
    """The same of ONNX Runtime, for each case."""
    jobs = []
    for i, case in enumerate(cases):
        jobs.append({'model': write_model(f'{work}/{i}.onnx', case.peer or case.file, case),
                     'outs': [f'{work}/{i}.out{k}' for k in range(case.outputs)],
                     'in': [[str(a.dtype), a.shape, write(f'{work}/{i}.{k}', a.tobytes())]
                            for k, a in case.feeds.items()]})
    for job, said in zip(jobs, ask(jobs, folder)):
        yield said if isinstance(said, str) else [
            np.fromfile(file, dtype).reshape(dims)
            for file, (dtype, dims) in zip(job['outs'], said)]


def difference(got, want, largest=False):
    """What is wrong with the outputs; '' if nothing is.

    The tolerance is for each number; largest: for all, relative to an output's largest magnitude.
    """
    if isinstance(want, str):
        return f'ONNX Runtime: {want[:200]}'
    if isinstance(got, str):
        return got
    for i, (a, b) in enumerate(zip(got, want)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f'output {i} is {a.dtype}{a.shape}, {b.dtype}{b.shape} wanted'
        tol = TOLERANCE.get(a.dtype.name, 1e-4)
        if a.dtype.kind != 'f':
            far = a != b
        elif largest and a.size:
            finite = np.abs(b[np.isfinite(b)])
            far = ~np.isclose(a, b, 0, tol * finite.max(initial=0))
        else:
            far = ~np.isclose(a, b, tol, tol, equal_nan=True)
        if far.any():
            at = tuple(np.argwhere(far)[0])
            return f'output {i}{list(at)}: {a[at]}, {b[at]} wanted; {far.sum()} of {far.size}'
    return ''
