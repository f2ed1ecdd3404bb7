#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Operators on the CPU against ONNX Runtime: shapes, and values within 1e-4."""
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
from onnx_compare import difference, ours, peers


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
