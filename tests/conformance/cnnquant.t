#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cnnquant: what it writes has nearest codes and scales that are powers of two, and runs on core
hwpe as on the CPU; and what it says of bad input."""
import itertools
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get('CNNACC_BUILD', os.path.join(HERE, '..', '..', 'build'))
DONE, FAILED, USAGE = range(3)
VALUES = {
    'EXP4': sorted([0] + [s * 2 ** e for s in (1, -1) for e in range(7)]),
    'TER2': [-1, 0, 1],
    'INT8': list(range(-128, 128)),
}
number = failed = 0
work = None


def report(good, name, output=''):
    """One TAP line."""
    global number, failed
    number += 1
    failed += not good
    print(f'{"" if good else "not "}ok {number} - {name}')
    if not good:
        print('\n'.join('# ' + line for line in output.splitlines()[-20:]), flush=True)


def path(name):
    return os.path.join(work, name)


def run(tool, *args):
    return subprocess.run([os.path.join(BUILD, 'runtime', 'tools', tool), *args],
                          capture_output=True, text=True, timeout=300, check=False)


# ---- networks ----------------------------------------------------------------------------

class Network:
    """A chain of layers; constants follow from a seed."""

    def __init__(self, seed, shape):
        self.random = np.random.default_rng(seed)
        self.nodes, self.tensors = [], []
        self.shape, self.value = shape, 'x'

    def const(self, *shape, positive=False):
        data = self.random.standard_normal(shape).astype(np.float32)
        name = f'c{len(self.tensors)}'
        self.tensors.append(numpy_helper.from_array(abs(data) + 0.1 if positive else data, name))
        return name

    def node(self, op, *inputs, **attributes):
        out = f'v{len(self.nodes)}'
        self.nodes.append(helper.make_node(op, [self.value, *inputs], [out],
                                           name=f'{op}_{len(self.nodes)}', **attributes))
        self.value = out

    def write(self, name, opset=13, rank=None):
        graph = helper.make_graph(
            self.nodes, 'test', [helper.make_tensor_value_info('x', 1, ['n', *self.shape[1:]])],
            [helper.make_tensor_value_info(self.value, 1, [None] * (rank or len(self.shape)))],
            self.tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)])
        model.ir_version = 7
        onnx.save(model, path(name))
        np.save(path('samples.npy'),
                self.random.standard_normal((12, *self.shape[1:])).astype(np.float32))


def maps(seed):
    """Convolutions of each kind, BatchNormalization, pooling, and a Gemm with all it may have."""
    n = Network(seed, (1, 3, 14, 11))
    n.node('Conv', n.const(16, 3, 3, 3), n.const(16), pads=[1, 1, 1, 1])
    n.node('BatchNormalization', *(n.const(16) for _ in range(3)), n.const(16, positive=True))
    n.node('Relu')
    n.node('Conv', n.const(16, 1, 3, 5), group=16, pads=[1, 2, 1, 2], strides=[2, 1])
    n.node('Relu')
    n.node('MaxPool', kernel_shape=[2, 2], strides=[1, 1])
    n.node('Conv', n.const(24, 8, 2, 2), group=2, dilations=[1, 2])
    n.node('LeakyRelu', alpha=0.25)
    n.node('Conv', n.const(40, 24, 1, 1), n.const(40))
    n.node('Relu')
    n.node('Flatten')
    n.node('Gemm', n.const(7, 40 * 5 * 8), n.const(7), transB=1, alpha=0.5, beta=2.0)
    return n


def rows(seed):
    """Products of matrices, and a convolution with one spatial axis."""
    n = Network(seed, (1, 12, 33))
    n.node('MatMul', n.const(33, 48))
    n.node('Relu')
    n.node('Conv', n.const(20, 12, 3), n.const(20), pads=[1, 1])
    n.node('Relu')
    n.node('MatMul', n.const(48, 9))
    n.node('Add', n.const(9))
    return n


# ---- what was written --------------------------------------------------------------------

def nearest(values, real):
    """Is each value nearest to the real one, and of two equally near ones the one nearer to 0?"""
    allowed = np.array(sorted(set(values), key=lambda v: (abs(v), v)))
    distance = abs(real[..., None] - allowed)
    return allowed[distance.argmin(-1)]


def powers_of_two(scale):
    return (np.frexp(scale)[0] == 0.5).all()


def check_file(model, source, formats):
    """What is wrong with the quantised layers of a file, whose weights were those of source."""
    onnx.checker.check_model(model)
    tensor = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    maker = {o: n for n in model.graph.node for o in n.output}
    reader = {i: n for n in model.graph.node for i in n.input}
    products = [n for n in model.graph.node if n.op_type in ('ConvInteger', 'MatMulInteger')]
    if len(products) != len(formats):
        return f'{len(products)} layers are quantised, not {len(formats)}'
    for n, want, real in zip(products, formats, source):
        quantizer, codes = maker[n.input[0]], tensor[n.input[1]]
        mul = reader[reader[n.output[0]].output[0]]
        x_scale = tensor[quantizer.input[1]]
        scale = tensor[mul.input[1]] / x_scale
        own = [a.s.decode() for a in quantizer.attribute] or ['INT8']
        if own != [want] or not np.isin(codes, VALUES[want]).all():
            return f'{n.name}: not in {want}'
        if not powers_of_two(x_scale) or not powers_of_two(scale):
            return f'{n.name}: a scale is no power of two'
        if n.op_type == 'ConvInteger':
            scale = scale.reshape(-1, *[1] * (codes.ndim - 1))
        if real is not None and want != 'INT8' and \
                (nearest(VALUES[want], real / scale) != codes).any():
            return f'{n.name}: a code is not the nearest'
        if want != 'TER2' and len(n.input) > 2:
            return f'{n.name}: a zero point'
    return None


def weights_of(name):
    """Of each layer of a network, but for those that what follows goes into."""
    model = onnx.load(path(name))
    tensor = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    following = [n.op_type for n in model.graph.node[1:]] + ['']
    found = []
    for n, after in zip(model.graph.node, following):
        if n.op_type in ('Conv', 'MatMul', 'Gemm'):
            real = tensor[n.input[1]]
            found.append(None if after == 'BatchNormalization' else
                         real.T * 0.5 if n.op_type == 'Gemm' else real)
    return found


def same_on_cpu(name):
    """The file's answers on core hwpe are the CPU's; all of its multiply-adds are there."""
    for place in ('hwpe', 'cpu'):
        done = run('cnnrun', path(name), '--device', 'sim:cores=hwpe', '--core', place, '--input',
                   f'0={path("sample.npy")}', '--output', f'0={path(place + ".npy")}')
        if done.returncode:
            return done.stdout + done.stderr
        if place == 'hwpe' and '(100.00 %)' not in done.stdout:
            return done.stdout
    same = np.load(path('hwpe.npy')).tobytes() == np.load(path('cpu.npy')).tobytes()
    return None if same else 'answers differ'


def check_network(make, seed, fmt):
    source = make(seed)
    source.write('net.onnx')
    np.save(path('sample.npy'), np.load(path('samples.npy'))[:1])
    done = run('cnnquant', path('net.onnx'), '-o', path('out.onnx'), '--format', fmt, '--samples',
               path('samples.npy'))
    wrong = done.stdout + done.stderr
    if not done.returncode:
        real = weights_of('net.onnx')
        wrong = check_file(onnx.load(path('out.onnx')), real, [fmt] * len(real)) or \
            same_on_cpu('out.onnx')
    report(not wrong, f'{make.__name__} in {fmt}, seed {seed}', wrong or '')


def check_mixed():
    """Layers with formats of their own, from a file that asks for another operator set."""
    maps(9).write('net.onnx')
    done = run('cnnquant', path('net.onnx'), '-o', path('out.onnx'), '--format', 'exp4', '--first',
               'int8', '--last', 'FLOAT32', '--layer', 'Conv_6=TER2', '--samples',
               path('samples.npy'), '--test', path('samples.npy'))
    wrong = done.stdout + done.stderr
    if not done.returncode:
        wrong = check_file(onnx.load(path('out.onnx')), [None] * 4,
                           ['INT8', 'EXP4', 'TER2', 'EXP4'])
        if '12 samples' not in done.stdout or 'as asked for' not in done.stdout:
            wrong = done.stdout
    report(not wrong, 'a format for each layer', wrong or '')


# ---- bad input ---------------------------------------------------------------------------

def expect(status, words, *args):
    done = run('cnnquant', *args)
    name = ' '.join(os.path.basename(a) for a in args)
    report(done.returncode == status and words in done.stderr, f'"{words}": cnnquant {name}',
           f'status {done.returncode}, {status} wanted\n{done.stdout}{done.stderr}')


def check_messages():
    maps(1).write('net.onnx')
    good = {'-o': path('out.onnx'), '--format': 'EXP4', '--samples': path('samples.npy')}

    def call(*more, model='net.onnx', **change):
        args = {**good, **{f'--{k}': v for k, v in change.items()}}
        return [path(model), *itertools.chain(*args.items()), *more]

    samples = np.load(path('samples.npy'))
    odd = samples.copy()
    odd[3, 0, 0, 0] = np.nan
    for name, data in (('whole', samples.astype(np.int32)), ('nan', odd), ('flat', samples[:, 0]),
                       ('none', samples[:0]), ('labels', np.arange(12)), ('few', np.arange(5))):
        np.save(path(f'{name}.npy'), data)
    with open(path('cut.npy'), 'wb') as file:
        file.write(open(path('samples.npy'), 'rb').read()[:500])
    for status, words, args in (
            (USAGE, 'no MODEL is given', []),
            (USAGE, '--format FORMAT is missing', [path('net.onnx'), '-o', 'x', '--samples', 'y']),
            (USAGE, '--samples FILE.npy is missing', [path('net.onnx'), '-o', 'x']),
            (USAGE, '--format: missing or bad value', call(format='EXP5')),
            (USAGE, '--count: missing or bad value', call('--count', '0')),
            (USAGE, 'unknown option --fast', call('--fast')),
            (USAGE, '--format is given twice', call('--format', 'TER2')),
            (USAGE, 'one MODEL is quantised', call(path('net.onnx'))),
            (USAGE, '--labels is for --test', call('--labels', 'x')),
            (USAGE, 'has no such layer', call('--layer', 'Conv_77=TER2')),
            (FAILED, 'No such file', call(model='absent.onnx')),
            (FAILED, 'No such file', call(samples=path('absent.npy'))),
            (FAILED, 'as many bytes as its shape says', call(samples=path('cut.npy'))),
            (FAILED, 'float32 samples', call(samples=path('whole.npy'))),
            (FAILED, 'float32 samples', call(samples=path('none.npy'))),
            (FAILED, 'is not finite', call(samples=path('nan.npy'))),
            (FAILED, 'input x is', call(samples=path('flat.npy'))),
            (FAILED, 'not a .npy file', call(samples=path('net.onnx'))),
            (FAILED, 'samples.npy', call(model='samples.npy')),
            (FAILED, 'a list of 12 integers', call('--test', path('samples.npy'), '--labels',
                                                   path('few.npy'))),
            (USAGE, 'has no core "ccp"', call('--test', path('samples.npy'), '--core', 'ccp')),
            (FAILED, 'No such file', [path('net.onnx'), '--format', 'TER2', '--samples',
                                      path('samples.npy'), '-o', path('absent/x.onnx')])):
        expect(status, words, *args)
    check_models(call)


def check_models(call):
    """Networks that are read, but have nothing for the tool, or what it cannot write."""
    shape = (1, 3, 14, 11)
    for words, ops, opset in (('has no Conv, Gemm or MatMul', ['Relu'], 13),
                              ('operator set 6, 7 or newer', ['Conv'], 6)):
        n = Network(1, shape)
        for op in ops:
            n.node(op, *([n.const(4, 3, 1, 1)] if op == 'Conv' else []))
        n.write('odd.onnx', opset)
        expect(FAILED, words, *call(model='odd.onnx'))
    n = Network(1, shape)
    n.node('Conv', n.const(4, 3, 1, 1))
    n.tensors[0].raw_data = np.float32('inf').tobytes() * 12
    n.write('odd.onnx')
    done = run('cnnquant', *call(model='odd.onnx'))
    report(not done.returncode and 'not finite' in done.stdout,
           'a layer that stays as it was is told', done.stdout + done.stderr)
    n = maps(1)
    n.write('net.onnx')
    model = onnx.load(path('net.onnx'))
    model.graph.input.append(helper.make_tensor_value_info('other', 1, [1]))
    onnx.save(model, path('odd.onnx'))
    expect(FAILED, 'it has 2 inputs, limit 1', *call(model='odd.onnx'))


def check_damage():
    """A message or a network, whatever the file holds."""
    maps(2).write('net.onnx')
    data = open(path('net.onnx'), 'rb').read()
    rng, bad = random.Random(1), ''
    for i in range(60):
        broken = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            broken[rng.randrange(len(data) if i % 2 else 600)] = rng.randrange(256)
        with open(path('broken.onnx'), 'wb') as file:
            file.write(broken[:rng.randrange(len(data))] if not i % 10 else broken)
        done = run('cnnquant', path('broken.onnx'), '-o', path('out.onnx'), '--format',
                   ('EXP4', 'TER2', 'INT8')[i % 3], '--samples', path('samples.npy'), '--count',
                   '2')
        if done.returncode not in (DONE, FAILED) or bool(done.stderr) != bool(done.returncode):
            bad += f'case {i}: status {done.returncode} {done.stderr}\n'
    report(not bad, 'damaged networks: a message or a network', bad)


def main():
    global work
    with tempfile.TemporaryDirectory() as work:
        for fmt in VALUES:
            for seed in (1, 2):
                check_network(maps, seed, fmt)
                check_network(rows, seed, fmt)
        check_mixed()
        check_messages()
        check_damage()
    print(f'1..{number}')
    return bool(failed)


sys.exit(main())
