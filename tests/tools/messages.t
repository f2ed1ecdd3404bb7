#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What cnnrun says of a network that it cannot run, or not as its user may think."""
import os
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'tests', 'lib'))
sys.dont_write_bytecode = True
from load import load_script
from tap import Tap

BUILD = os.environ.get('CNNACC_BUILD', os.path.join(TOP, 'build'))
CNNRUN = os.path.join(BUILD, 'runtime/tools/cnnrun')
FREE = -1
make = load_script('demo/make-model')
tap = Tap()


def run(work, model, *options):
    path = os.path.join(work, 'net.onnx')
    with open(path, 'wb') as f:
        f.write(model.bytes('net', []))
    return subprocess.run([CNNRUN, path, '--device', 'sim', *options], capture_output=True, text=True,
                          timeout=120, check=False)


def test_missing(work):
    """Every operator that is missing is told, with its number."""
    model = make.Model([1, 4])
    for op in ('Nothing', 'Relu', 'Void', 'Nothing', 'Naught'):
        model.node(op)
    done = run(work, model)
    tap.equal(done.returncode, 1, 'a network of unknown operators is refused')
    tap.ok('operator Nothing (nothing1) is not supported (2 nodes), nor are Void (1), Naught (1)'
           in done.stderr, 'all of them are named', done.stderr)
    model = make.Model([1, 4])
    for i in range(40):
        model.node(f'Unknown{i % 20}')
    done = run(work, model)
    tap.ok('Unknown0 (unknown01) is not supported (2 nodes), nor are Unknown1 (2), ' in done.stderr
           and ' and others (' in done.stderr, 'as far as there is room', done.stderr)


def test_free(work):
    """A free dimension is 1 unless its size is given; that is said where it may matter."""
    model = make.Model([FREE, 3, FREE, 8])
    model.node('Relu')
    said = ('input input: each N of N,3,N,8 is free and was taken as 1; give the size that is '
            'wanted, as in --shape input=1,3,224,8\n')
    done = run(work, model)
    tap.ok(done.returncode == 0 and said in done.stderr, 'free height', done.stderr)
    done = run(work, model, '--shape', 'input=1,3,8,8')
    tap.ok(done.returncode == 0 and 'is free' not in done.stderr, 'its size is given', done.stderr)
    model = make.Model([FREE, 3, 8, 8])
    model.node('Relu')
    done = run(work, model)
    tap.ok(done.returncode == 0 and 'is free' not in done.stderr, 'free batch', done.stderr)
    model = make.Model([FREE, 3, FREE, FREE])
    model.node('MaxPool', kernel_shape=[2, 2])
    done = run(work, model)
    tap.ok(done.returncode == 1 and done.stderr.index('MaxPool') < done.stderr.index('N,3,N,N'),
           'a network that cannot be compiled with 1', done.stderr)
    tap.ok('free dimensions of input input were taken as 1' in done.stderr,
           'the library says so, too', done.stderr)


def test_idle(work):
    """A device that gets nothing of the work is told, unless the reasons are printed or it was asked."""
    hint = 'no MAC runs on the device: --explain says why'
    model = make.Model([1, 4, 8, 8])
    model.node('GlobalAveragePool')
    done = run(work, model)
    tap.ok(done.returncode == 0 and done.stderr.count(hint) == 1 and
           'MACs on device: 0 of ' in done.stdout, 'all work is left to the CPU', done.stderr)
    for options in (['--core', 'cpu'], ['--explain']):
        done = run(work, model, *options)
        tap.ok(done.returncode == 0 and hint not in done.stderr, f'not with {options}', done.stderr)
    model = make.Model([1, 16, 32, 32])
    model.conv(16, 16, 3)
    model.node('GlobalAveragePool')
    done = run(work, model)
    tap.ok(done.returncode == 0 and 'MACs on device: 0 of' not in done.stdout and hint not in
           done.stderr, 'part of it is left', done.stdout)
    model = make.Model([1, 4])
    model.node('Softmax')
    done = run(work, model)
    tap.ok(done.returncode == 0 and hint not in done.stderr, 'no MACs', done.stderr)


with tempfile.TemporaryDirectory(prefix='cnnacc-messages.') as folder:
    test_missing(folder)
    test_free(folder)
    test_idle(folder)
sys.exit(tap.done())
