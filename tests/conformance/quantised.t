#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Quantised operators and networks of them against ONNX Runtime, byte for byte."""
import itertools
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'lib')]
import tap
from onnx_compare import CNNRUN, ask, package_or_skip, write

# TensorProto.DataType, the struct format, numpy's name
FLOAT, UINT8, INT8, INT32 = 1, 2, 3, 6
FORMATS = {FLOAT: 'f', UINT8: 'B', INT8: 'b', INT32: 'i'}
NPY = {FLOAT: '<f4', UINT8: '|u1', INT8: '|i1', INT32: '<i4'}
NAMES = {FLOAT: 'float32', UINT8: 'uint8', INT8: 'int8'}
RANGE = {UINT8: (0, 255), INT8: (-128, 127)}


def peer_saturates():
    """Does ONNX Runtime add pairs of products in 16 bits here?  It does on x86 without VNNI."""
    with open('/proc/cpuinfo', encoding='ascii') as f:
        flags = {flag for line in f if line.startswith('flags') for flag in line.split()}
    return bool(flags) and not flags & {'avx512_vnni', 'avx_vnni'}


# int8 weights of 7 bits are what its documentation wants there: no pair then exceeds 16 bits.
WEIGHTS = {**RANGE, INT8: (-64, 63)} if peer_saturates() else RANGE


def varint(n):
    """A number as protobuf writes it."""
    out = bytearray()
    n &= (1 << 64) - 1
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def message(*fields):
    """Fields as (number, value): an integer, bytes, or text."""
    out = b''
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


class Net:
    """An ONNX network."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.nodes, self.constants, self.inputs, self.feeds = [], [], [], []

    def numbers(self, dtype, n):
        """n random elements."""
        if dtype == FLOAT:
            return [self.random.uniform(-4, 4) for _ in range(n)]
        return [self.random.randint(*RANGE[dtype]) for _ in range(n)]

    def weights(self, dtype, dims):
        """A constant whose products the peer adds without saturation."""
        return self.constant(dtype, dims, [self.random.randint(*WEIGHTS[dtype])
                                           for _ in range(math.prod(dims))])

    def value_info(self, name, dtype, dims):
        """A ValueInfoProto."""
        shape = message(*((1, message((1, d))) for d in dims))
        return message((1, name), (2, message((1, message((1, dtype), (2, shape))))))

    def input(self, dtype, dims):
        """A name; its elements go to feeds."""
        name = f'in{len(self.inputs)}'
        self.inputs.append((name, dtype, dims))
        data = self.numbers(dtype, math.prod(dims))
        self.feeds.append((dtype, dims, struct.pack(f'<{len(data)}{FORMATS[dtype]}', *data)))
        return name

    def constant(self, dtype, dims, data=None):
        """A name."""
        data = self.numbers(dtype, math.prod(dims)) if data is None else data
        name = f'c{len(self.constants)}'
        self.constants.append(message(*((1, d) for d in dims), (2, dtype), (8, name),
                                      (9, struct.pack(f'<{len(data)}{FORMATS[dtype]}', *data))))
        return name

    def scale(self, n=0, near=0.02):
        """One scale, or n, near a number; and their values as float32."""
        values = [struct.unpack('f', struct.pack('f', near * self.random.uniform(0.5, 2)))[0]
                  for _ in range(max(n, 1))]
        return self.constant(FLOAT, [n] if n else [], values), values

    def node(self, op, inputs, **attrs):
        """The name of its output; attributes are integers or lists of them."""
        name = f'n{len(self.nodes)}'
        made = [message((1, k), *((8, i) for i in v), (20, 7)) if isinstance(v, list) else
                message((1, k), (3, v), (20, 2)) for k, v in attrs.items()]
        self.nodes.append(message(*((1, i) for i in inputs), (2, name), (4, op),
                                  *((5, a) for a in made)))
        return name

    def file(self, output, dtype, rank):
        """The file."""
        dynamic = message(*((1, message((2, f'd{i}'))) for i in range(rank)))
        out = message((1, output), (2, message((1, message((1, dtype), (2, dynamic))))))
        graph = message(*((1, n) for n in self.nodes), (2, 'g'), *((5, c) for c in self.constants),
                        *((11, self.value_info(*i)) for i in self.inputs), (12, out))
        return message((1, 8), (7, graph), (8, message((2, 13))))


def convolution(net, x_type, w_type, y_type, spelt):
    """QLinearConv, or the same spelt out with Relu or without."""
    group = net.random.choice((1, 1, 2))
    dims = [group * net.random.randint(1, 3), net.random.randint(1, 30), *(
        net.random.randint(1, 3) for _ in range(2))]
    channels = dims[0] if w_type == INT8 and net.random.random() < 0.5 else 0
    x = net.input(x_type, [1, dims[1] * group, 7, 6])
    (xs, xv), (ws, wv), (ys, _) = net.scale(), net.scale(channels), \
        net.scale(near=0.03 * math.prod(dims[1:]) ** 0.5)
    zero = [net.constant(t, []) for t in (x_type, y_type)]
    wz = net.constant(w_type, [channels] if channels else [],
                      [0] * max(channels, 1) if w_type == INT8 else None)
    w = net.weights(w_type, dims)
    b = net.constant(INT32, dims[:1], [net.random.randint(-9999, 9999) for _ in range(dims[0])])
    attrs = {'pads': [1, 0, 1, 1], 'strides': [net.random.randint(1, 2), 1], 'group': group}
    if not spelt:
        return net.node('QLinearConv', [x, xs, zero[0], w, ws, wz, ys, zero[1], b], **attrs), 4
    bs = net.constant(FLOAT, [channels] if channels else [], [xv[0] * v for v in wv])
    parts = [net.node('DequantizeLinear', [x, xs, zero[0]]),
             net.node('DequantizeLinear', [w, ws, wz], axis=0),
             net.node('DequantizeLinear', [b, bs], axis=0)]
    y = net.node('Conv', parts, **attrs)
    if net.random.random() < 0.5:
        y = net.node('Relu', [y])
    return net.node('QuantizeLinear', [y, ys, zero[1]]), 4


def product(net, a_type, b_type, y_type, spelt):
    """QLinearMatMul, or the same spelt out."""
    k, n = net.random.randint(1, 400), net.random.randint(1, 9)
    a, b = net.input(a_type, [2, 3, k]), net.weights(b_type, [k, n])
    (a_s, _), (bs, _), (ys, _) = net.scale(), net.scale(), net.scale(near=0.03 * k ** 0.5)
    zero = [net.constant(t, []) for t in (a_type, b_type, y_type)]
    if not spelt:
        return net.node('QLinearMatMul', [a, a_s, zero[0], b, bs, zero[1], ys, zero[2]]), 3
    y = net.node('MatMul', [net.node('DequantizeLinear', [a, a_s, zero[0]]),
                            net.node('DequantizeLinear', [b, bs, zero[1]])])
    return net.node('QuantizeLinear', [y, ys, zero[2]]), 3


def quantisation(net, dtype):
    """QuantizeLinear, by channel or not."""
    n = net.random.choice((0, 3))
    x, (s, _) = net.input(FLOAT, [2, 3, 40]), net.scale(n)
    return net.node('QuantizeLinear', [x, s, net.constant(dtype, [n] if n else [])], axis=1), 3


def shifted_layer(net, x, dtype, zero, spelt):
    """A convolution by a scale of 2^-7, the values it takes and gives in steps of 2^-4 and 2^-3."""
    def number(kind, v):
        return net.constant(kind, [], [v])

    after = net.random.randint(*RANGE[dtype])
    w = net.constant(INT8, [10, 10, 3, 3], [2 * net.random.randint(-25, 25) for _ in range(900)])
    b = net.constant(INT32, [10], [2 * net.random.randint(-4999, 4999) + 1 for _ in range(10)])
    xs, ws, ys = (number(FLOAT, 2.0 ** -i) for i in (4, 6, 3))
    y_zero, nothing = number(dtype, after), number(INT8, 0)
    if not spelt:
        return net.node('QLinearConv', [x, xs, number(dtype, zero), w, ws, nothing, ys, y_zero, b],
                        pads=[1, 1, 1, 1]), after
    parts = [net.node('DequantizeLinear', [x, xs, number(dtype, zero)]),
             net.node('DequantizeLinear', [w, ws, nothing]),
             net.node('DequantizeLinear', [b, number(FLOAT, 2.0 ** -10)])]
    return net.node('QuantizeLinear', [net.node('Conv', parts, pads=[1, 1, 1, 1]), ys, y_zero]), after


def shifted(net, dtype, spelt):
    """Two convolutions that the core for integers requantises: even weights and odd biases."""
    zero = net.random.randint(*RANGE[dtype])
    y, zero = shifted_layer(net, net.input(dtype, [1, 10, 7, 6]), dtype, zero, spelt)
    return shifted_layer(net, y, dtype, zero, spelt)[0]


def sums(net, x_type, w_type, conv):
    """ConvInteger or MatMulInteger: int32, as floats."""
    x = net.input(x_type, [1, 5, 6, 7] if conv else [4, 300])
    w = net.weights(w_type, [3, 5, 2, 2] if conv else [300, 5])
    y = net.node('ConvInteger' if conv else 'MatMulInteger',
                 [x, w, net.constant(x_type, []), net.constant(w_type, [])])
    return net.node('Cast', [y], to=FLOAT), 4 if conv else 2


def cases():
    """(name, file, feeds)."""
    for seed, (make, x, w, y, spelt) in enumerate(itertools.product(
            (convolution, product), (UINT8, INT8), (UINT8, INT8), (UINT8, INT8),
            (False, True, False, True))):
        net = Net(seed)
        # ONNX Runtime has these products for equal types on both sides only.
        if y != x or (x, w) == (INT8, UINT8):
            continue
        name, rank = make(net, x, w, y, spelt)
        yield (f'{make.__name__} {seed}{" spelt out" * spelt}', net.file(name, y, rank), net.feeds)
    for seed, dtype in enumerate((UINT8, INT8) * 4):
        net = Net(1000 + seed)
        name, rank = quantisation(net, dtype)
        yield f'QuantizeLinear {seed}', net.file(name, dtype, rank), net.feeds
    for seed, (x, w, conv) in enumerate(((UINT8, UINT8, True), (UINT8, UINT8, False),
                                         (UINT8, INT8, False), (INT8, INT8, False))):
        net = Net(2000 + seed)
        name, rank = sums(net, x, w, conv)
        yield f'sums {seed}', net.file(name, FLOAT, rank), net.feeds
    for seed, (dtype, spelt) in enumerate(itertools.product((UINT8, INT8), (False, True))):
        net = Net(3000 + seed)
        yield (f'shifted {NAMES[dtype]}{" spelt out" * spelt}',
               net.file(shifted(net, dtype, spelt), dtype, 4), net.feeds)


def ours(file, feeds, work, device='sim'):
    """The output's bytes and what is said of the operators, or what was said."""
    options = []
    for i, (dtype, dims, data) in enumerate(feeds):
        head = f"{{'descr': '{NPY[dtype]}', 'fortran_order': False, 'shape': ({dims}), }}"
        head = head.replace('([', '(').replace('])', ',)')
        head += ' ' * (-(11 + len(head)) % 64) + '\n'
        options += ['--input', f'{i}=' + write(
            f'{work}/in.npy', b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) +
            head.encode() + data)]
    done = subprocess.run([CNNRUN, write(f'{work}/net.onnx', file), '--device', device, *options,
                           '--explain', '--output', f'0={work}/out.npy'], capture_output=True, text=True,
                          timeout=120)
    if done.returncode:
        return done.stderr, ''
    with open(f'{work}/out.npy', 'rb') as f:
        data = f.read()
    return data[10 + struct.unpack_from('<H', data, 8)[0]:], done.stdout


def peers(nets, package, work):
    """The outputs' bytes, or what was said."""
    jobs = []
    for i, (_, file, feeds) in enumerate(nets):
        jobs.append({'model': write(f'{work}/{i}.onnx', file), 'outs': [f'{work}/{i}.out'], 'in': [
            [NAMES[t], dims, write(f'{work}/{i}.in{j}', data)]
            for j, (t, dims, data) in enumerate(feeds)]})
    answers = []
    for job, said in zip(jobs, ask(jobs, package)):
        if not isinstance(said, str):
            with open(job['outs'][0], 'rb') as f:
                said = f.read()
        answers.append(said)
    return answers


def main():
    """One result per kind of network."""
    result = tap.Tap()
    package = package_or_skip()
    if WEIGHTS is not RANGE:
        print('# ONNX Runtime saturates here: int8 weights have 7 bits')
    nets = list(cases())
    with tempfile.TemporaryDirectory() as work:
        wrong = {}
        for (name, file, feeds), want in zip(nets, peers(nets, package, work)):
            got, explained = ours(file, feeds, work)
            kind = name.split()[0] + ' spelt out' * ('spelt' in name)
            bad = wrong.setdefault(kind, [])
            if isinstance(want, str) or got != want:
                bad.append(f'{name}: {got if isinstance(got, str) else len(got)}, '
                           f'{want if isinstance(want, str) else len(want)} bytes wanted; ' +
                           str([i for i, (a, b) in enumerate(zip(got, want)) if a != b][:9]))
            if not name.startswith('shifted'):
                continue
            # What is int8 at the end is a sum that the CPU finishes.
            got, explained = ours(file, feeds, work, 'sim:cores=hwpe')
            if got != want or explained.count('shifted out by 6') != 1 + ('uint8' in name):
                bad.append(f'{name}: other bytes on the core for integers, or not its own '
                           f'requantisation: {explained}')
        for kind, bad in wrong.items():
            result.ok(not bad, f'{kind}: the bytes of ONNX Runtime', '\n'.join(bad))
    return result.done()


sys.exit(main())
