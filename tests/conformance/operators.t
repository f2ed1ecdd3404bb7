#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Operators on the CPU against ONNX Runtime: shapes, and values within 1e-4."""
import os
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'lib')]
import element_cases
import operators
import tap
from onnx_compare import difference, ours, package_or_skip, peers


def main():
    """One result for each group of cases."""
    result = tap.Tap()
    package = package_or_skip()
    rng = np.random.default_rng(1)
    for group in (*operators.GROUPS, *element_cases.GROUPS):
        cases = list(group(rng))
        with tempfile.TemporaryDirectory() as work:
            wants = peers(cases, package, work)
            wrong = [f'{case.name}: {why}' for case, want in zip(cases, wants)
                     if (why := difference(ours(case, work), want))]
        result.ok(not wrong, f'{group.__doc__}: {len(cases)} cases as in ONNX Runtime',
                  '\n'.join(wrong))
    return result.done()


sys.exit(main())
