#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Small networks of many kinds on the in-process device against ONNX Runtime, to 1e-4 of an
output's largest value, and the share of the work that the device did."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'lib')]
import kinds
import tap
from macs import share
from onnx_compare import difference, ours, package_or_skip, peers, run

CHOSEN = 1      # YOLO's output of as many rows as boxes were chosen


def check(result, case, floor, want, work):
    """One result for the answer and one for the share; the answer."""
    done = run(case, work, '--core', '0')
    got = ours(case, work, done)
    why = difference(got, want, largest=True)
    result.ok(not why, f'{case.name}: the answer is that of ONNX Runtime', why)
    part = share(done.stdout)
    result.ok(part >= floor, f'{case.name}: {part:.2f} % of the MACs on the device, floor {floor} %',
              done.stdout)
    return got


def check_chosen(result, answers):
    """The application sees how many boxes there are, which the values decide."""
    shapes = [a[CHOSEN].shape if isinstance(a, list) else a for name, a in answers.items()
              if name.startswith('YOLO')]
    result.ok(len(set(shapes)) == len(shapes) > 1 and all(s[0] for s in shapes),
              f'the number of boxes depends on the input: {shapes}')


def main():
    """All results."""
    result = tap.Tap()
    package = package_or_skip()
    cases = [make() for make, _ in kinds.KINDS]
    with tempfile.TemporaryDirectory() as work:
        wants = list(peers(cases, package, work))
        answers = {case.name: check(result, case, floor, want, work)
                   for case, (_, floor), want in zip(cases, kinds.KINDS, wants)}
    check_chosen(result, answers)
    return result.done()


sys.exit(main())
