#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Step mode of core imc through cnnctl exec, in process and in a guest: the signals, operands and
FIFO of each clock are those of the table in Documentation/hardware/imc.rst."""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))))
sys.path.insert(0, os.path.join(TOP, 'tests', 'lib'))
from load import load_script
from tap import Tap

clocks = load_script('tests/backend/imc/show-clocks')


def page():
    """The lines of the page's table."""
    with open(os.path.join(TOP, 'Documentation/hardware/imc.rst'), encoding='utf-8') as f:
        lines = f.read().splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith('clock  phase  product'))
    end = next(i for i in range(head + 2, len(lines)) if lines[i].startswith('==='))
    return lines[head + 2:end]


def run_in_guest(folder):
    """The trace that a guest leaves, or what it said."""
    clocks.write_files(folder)
    guest = subprocess.run(
        [os.path.join(TOP, 'tests', 'vm', 'run'), '--device', 'cores=imc', '--share', folder, '--',
         'sh', '-c', 'cd /mnt && cnnctl ' + ' '.join(clocks.arguments('step.trace'))],
        capture_output=True, text=True, check=False)
    if guest.returncode:
        return guest.stdout + guest.stderr
    with open(os.path.join(folder, 'step.trace'), 'rb') as f:
        return f.read()


def main():
    tap = Tap()
    wanted = page()
    tap.equal(clocks.table(clocks.run('sim:cores=imc')), wanted, "in process: the page's clocks")
    with tempfile.TemporaryDirectory() as folder:
        trace = run_in_guest(folder)
    good = isinstance(trace, bytes)
    tap.ok(good, 'the guest ran and the kernel did not complain', trace)
    tap.equal(clocks.table(trace) if good else [], wanted, "in the guest: the page's clocks")
    return tap.done()


sys.exit(main())
