#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cnnquant: what it writes has nearest codes and scales that are powers of two, and runs on the
device as on the CPU; and what it says of bad input, as built with the sanitizers."""
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
ASAN_EXIT = 99


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


def checked(*args):
    """cnnquant under the sanitizers, whose exit status is none of the tool's."""
    return subprocess.run([os.path.join(BUILD, 'tests', 'fuzz', 'cnnquant_asan'), *args],
                          env={**os.environ, 'ASAN_OPTIONS': f'exitcode={ASAN_EXIT}'},
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

    def node(self, op, *inputs, name=None, **attributes):
        out = f'v{len(self.nodes)}'
        self.nodes.append(helper.make_node(op, [self.value, *inputs], [out],
                                           name=name or f'{op}_{len(self.nodes)}', **attributes))
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
    """The file's answers on the device are the CPU's; all of its multiply-adds are there."""
    for place in ('0', 'cpu'):
        done = run('cnnrun', path(name), '--device', 'sim:cores=hwpe', '--core', place, '--input',
                   f'0={path("sample.npy")}', '--output', f'0={path(place + ".npy")}')
        if done.returncode:
            return done.stdout + done.stderr
        if place == '0' and '(100.00 %)' not in done.stdout:
            return done.stdout
    same = np.load(path('0.npy')).tobytes() == np.load(path('cpu.npy')).tobytes()
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
    done = checked(*args)
    name = ' '.join(os.path.basename(a) for a in args)
    report(done.returncode == status and words in done.stderr, f'"{words}": cnnquant {name}',
           f'status {done.returncode}, {status} wanted\n{done.stdout}{done.stderr}')


def check_messages():
    maps(1).write('net.onnx')
    good = {'-o': path('out.onnx'), '--format': 'EXP4', '--samples': path('samples.npy')}

    def call(*more, model='net.onnx', **change):
        args = {**good, **{f'-{k}' if k == 'o' else f'--{k}': v for k, v in change.items()}}
        return [path(model), *itertools.chain(*args.items()), *more]

    samples = np.load(path('samples.npy'))
    odd = samples.copy()
    odd[3, 0, 0, 0] = np.nan
    for name, data in (('whole', samples.astype(np.int32)), ('nan', odd), ('flat', samples[:, 0]),
                       ('none', samples[:0]), ('high', np.arange(12)), ('few', np.arange(5)),
                       ('low', np.arange(12) - 1), ('wide', np.tile(samples, 2))):
        np.save(path(f'{name}.npy'), data)
    os.symlink(path('net.onnx'), path('link.onnx'))
    test = ('--test', path('samples.npy'))
    with open(path('cut.npy'), 'wb') as file:
        file.write(open(path('samples.npy'), 'rb').read()[:500])
    for status, words, args in (
            (USAGE, 'no MODEL is given', []),
            (USAGE, '--format FORMAT is missing', [path('net.onnx'), '-o', 'x', '--samples', 'y']),
            (USAGE, '--samples FILE.npy is missing', [path('net.onnx'), '-o', 'x']),
            (USAGE, '--format: bad value "EXP5"; it must be EXP4, TER2, INT8, FLOAT32 or POT8',
             call(format='EXP5')),
            (USAGE, 'POT8 has no formats of single layers', call('--last', 'INT8', format='POT8')),
            (USAGE, '--last: bad value ""; it must be EXP4', call('--last', '')),
            (USAGE, '--layer: bad value "TER2"; it must be NAME=EXP4', call('--layer', 'TER2')),
            (USAGE, '--layer: bad value "x=y"; it must be NAME=EXP4', call('--layer', 'x=y')),
            (USAGE, 'more than 64 times', call(*['--layer', 'Conv_0=INT8'] * 65)),
            (USAGE, '--count: bad value "0"; it must be 1 to 1000000', call('--count', '0')),
            (USAGE, '--count: bad value "-1"; it must be 1 to', call('--count', '-1')),
            (USAGE, '-o: its value is missing', [path('net.onnx'), '-o', '--format', 'EXP4']),
            (USAGE, '--test: its value is missing', call('--test')),
            (USAGE, '-o FILE.onnx is missing', [path('net.onnx'), '--format', 'EXP4']),
            (USAGE, 'unknown option --fast', call('--fast')),
            (USAGE, '--format is given twice', call('--format', 'TER2')),
            (USAGE, 'one MODEL is quantised', call(path('net.onnx'))),
            (USAGE, '--labels is for --test', call('--labels', 'x')),
            (USAGE, 'net.onnx: it is also an input', call(o=path('net.onnx'))),
            (USAGE, 'link.onnx: it is also an input', call(o=path('link.onnx'))),
            (USAGE, 'samples.npy: it is also an input', call(*test, '--answers', test[1])),
            (USAGE, 'x: -o is the same file', call(*test, '--answers', 'x', o='x')),
            (USAGE, 'has no such layer', call('--layer', 'Conv_77=TER2')),
            (FAILED, 'No such file', call(model='absent.onnx')),
            (FAILED, 'No such file', call(samples=path('absent.npy'))),
            (FAILED, 'as many bytes as its shape says', call(samples=path('cut.npy'))),
            (FAILED, 'float32 samples', call(samples=path('whole.npy'))),
            (FAILED, 'none.npy: there are no samples', call(samples=path('none.npy'))),
            (FAILED, 'is not finite', call(samples=path('nan.npy'))),
            (FAILED, 'flat.npy: one sample: input x is', call(samples=path('flat.npy'))),
            (FAILED, 'wide.npy: one sample: input x', call('--test', path('wide.npy'))),
            (FAILED, 'not a .npy file', call(samples=path('net.onnx'))),
            (FAILED, 'samples.npy', call(model='samples.npy')),
            (FAILED, 'a list of 12 integers', call('--test', path('samples.npy'), '--labels',
                                                   path('few.npy'))),
            (FAILED, 'element 7 is 7, limits 0 to 6', call(*test, '--labels', path('high.npy'))),
            (FAILED, 'element 0 is -1, limits', call(*test, '--labels', path('low.npy'))),
            (USAGE, 'has no core "1"', call(*test, '--core', '1')),
            (3, 'no such accelerator', call(*test, '--device', 'absent')),
            (FAILED, 'a.npy: No such file', call(*test, '--answers', path('absent/a.npy'))),
            (FAILED, 'full: No space left', call(o='/dev/full')),
            (FAILED, 'x.onnx: No such file', call(o=path('absent/x.onnx'))),
            (FAILED, 'x.onnx: No such file', call(o=path('absent/x.onnx'),
                                                   samples=path('absent.npy')))):
        expect(status, words, *args)
    check_models(call)


def check_models(call):
    """Networks that are read, but have nothing for the tool, or what it cannot write."""
    shape = (1, 3, 14, 11)

    def odd(*ops, opset=13, change=None):
        n = Network(1, shape)
        for op in ops:
            n.node(op, *([n.const(4, 3, 1, 1)] if op == 'Conv' else []))
        n.write('odd.onnx', opset)
        model = onnx.load(path('odd.onnx'))
        if change:
            change(model.graph)
            onnx.save(model, path('odd.onnx'))
        return call('--test', path('samples.npy'), model='odd.onnx')

    def batch(graph):
        graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4

    def whole(graph):
        graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.INT32
        graph.node[0].attribute.append(helper.make_attribute('to', 1))

    def places(graph):
        graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT64

    def inputs(graph):
        graph.input.append(helper.make_tensor_value_info('other', 1, [1]))

    expect(FAILED, 'has no Conv, Gemm or MatMul', *odd('Relu'))
    expect(FAILED, 'operator set 6, 7 or newer', *odd('Conv', opset=6))
    expect(FAILED, 'it has 2 inputs, limit 1', *odd('Conv', change=inputs))
    expect(FAILED, 'its input is 4 samples at once, limit 1', *odd('Conv', change=batch))
    expect(FAILED, 'its input is int32, float32 wanted', *odd('Cast', 'Conv', change=whole))
    expect(FAILED, 'is int64 of', *odd('Conv', 'ArgMax', change=places))


# ---- unusual networks --------------------------------------------------------------------

def scaled(first, factors, names=('one', 'two')):
    """Two convolutions, the first with its channels scaled."""
    n = Network(5, (1, 3, 8, 9))
    n.node('Conv', n.const(len(factors), 3, 3, 3), name=names[0])
    n.node('Relu')
    n.node('Conv', n.const(6, len(factors), 1, 1), name=names[1])
    n.write('scaled.onnx')
    model = onnx.load(path('scaled.onnx'))
    weights = numpy_helper.to_array(model.graph.initializer[0])
    with np.errstate(over='ignore'):
        weights = (first * weights * np.reshape(factors, (-1, 1, 1, 1))).astype(np.float32)
    model.graph.initializer[0].raw_data = weights.tobytes()
    onnx.save(model, path('scaled.onnx'))


def check_unusual(name, said, layers, *args, model=None):
    """One that is quantised but for what is told, runs, and whose constants are numbers."""
    model = model or path('scaled.onnx')
    done = checked(model, '-o', path('out.onnx'), '--format', 'EXP4', '--samples',
                   path('samples.npy'), '--test', path('samples.npy'), *args)
    wrong = done.stdout + done.stderr
    if not done.returncode and said in done.stdout:
        graph = onnx.load(path('out.onnx')).graph
        wrong = check_file(onnx.load(path('out.onnx')), [None] * layers, ['EXP4'] * layers)
        for t in graph.initializer:
            if said == 'dB' and not np.isfinite(numpy_helper.to_array(t)).all():
                wrong = f'{t.name} is not finite'
    report(not wrong, name, wrong or '')
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(path('out.onnx')).graph.initializer}


def check_numbers():
    """Weights of all sizes."""
    scaled(1, np.ones(8))
    plain = check_unusual('weights as they come', 'dB', 2)
    factors = 2.0 ** np.arange(-40, 40, 10)
    scaled(1, factors)
    apart = check_unusual('channels apart by powers of two', 'dB', 2)
    same = (plain['one/codes'] == apart['one/codes']).all() and \
        (plain['one/scale'].ravel() * factors == apart['one/scale'].ravel()).all()
    report(same, 'their codes are the same, their scales as much apart')
    for name, factor, said, layers in (
            ('all weights 0', 0, 'exact', 2), ('denormal weights', 1e-42, 'dB', 2),
            ('weights that are no numbers', np.nan, 'a weight or bias is not finite', 0),
            ('infinite weights', np.inf, 'a weight or bias is not finite', 0),
            ('results beyond all numbers', 2e38, 'outputs for the samples are not finite', 0)):
        scaled(factor, np.ones(8))
        check_unusual(name, said, layers)


def check_names():
    """Layers of one name, of names that differ late, and values that are called as new ones are."""
    for what, names in (('one', ('same', 'same')), ('long', ('n' * 200 + 'a', 'n' * 200 + 'b'))):
        scaled(1, np.ones(8), names)
        check_unusual(f'{what} name', 'dB', 2)
    scaled(1, np.ones(8), ('same', 'same'))
    done = checked(path('scaled.onnx'), '-o', path('out.onnx'), '--format', 'EXP4', '--samples',
                   path('samples.npy'), '--layer', 'same=TER2')
    report(done.stdout.count(' TER2 ') == 2, '--layer is for all layers of a name', done.stdout)
    scaled(1, np.ones(8))
    model = onnx.load(path('scaled.onnx'))
    model.graph.node[1].input[0] = model.graph.node[0].output[0] = 'one/x'
    onnx.save(model, path('scaled.onnx'))
    check_unusual('a name that is taken', 'dB', 2)
    samples = np.random.default_rng(1).standard_normal((4, 4, 4, 2)).astype(np.float32)
    np.save(path('samples.npy'), samples)
    check_unusual('a file of TensorFlow Lite', 'dB', 2,
                  model=os.path.join(BUILD, 'tests', 'fuzz', 'float32.tflite'))


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
        done = checked(path('broken.onnx'), '-o', path('out.onnx'), '--format',
                       ('EXP4', 'TER2', 'INT8')[i % 3], '--samples', path('samples.npy'),
                       '--count', '2')
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
        check_numbers()
        check_names()
        check_damage()
    print(f'1..{number}')
    return bool(failed)


sys.exit(main())
