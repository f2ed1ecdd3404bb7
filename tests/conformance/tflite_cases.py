# SPDX-License-Identifier: MIT
"""TensorFlow Lite files for every operator and type, with inputs and the answers they must give."""
import itertools
import struct

import tflite_rules as rules
from tflite_build import FLOAT16, FLOAT32, INT8, INT32, UINT8
from tflite_net import NAMES, TYPES, Net, check, version
from tflite_rules import NONE, RANGE, RELU, RELU6, RELU_N1_TO_1, Tensor

RELUS = {'RELU': RELU, 'RELU6': RELU6, 'RELU_N1_TO_1': RELU_N1_TO_1}


def convolutions(dtype):
    """CONV_2D: odd sizes, strides, dilations, padding, activations, no bias, scales of channels."""
    for i, (stride, dilation, same, act, biased, channels) in enumerate((
            ((1, 1), (1, 1), True, NONE, True, 0), ((2, 1), (1, 1), True, RELU, True, 5),
            ((1, 2), (1, 1), False, RELU6, True, 5), ((1, 1), (2, 1), True, NONE, False, 0),
            ((1, 1), (1, 1), False, RELU_N1_TO_1, True, 5), ((2, 2), (1, 1), True, NONE, True, 0))):
        net = Net(100 + i)
        x = net.input([2, 5, 6, 3], dtype)
        w = net.weights([5, 3, 2, 3], dtype, channels)
        data, bias = net.bias(x, w, 5) if biased else (None, None)
        rows, columns = (len(rules.windows(d, k, s, l, same)) for d, k, s, l in
                         zip((5, 6), (3, 2), stride, dilation))
        y = net.result([2, rows, columns, 5], dtype, near=0.4)
        check(y, lambda: rules.conv(x, w, data, y, stride, dilation, same, act))
        net.op('CONV_2D', [x, w, bias], y, version=3 if dtype == INT8 else 1,
               padding=int(not same), stride_h=stride[0], stride_w=stride[1],
               dilation_h=dilation[0], dilation_w=dilation[1], activation=act)
        yield net.case(f'CONV_2D {i}', y)


SHIFTED = 'two CONV_2D by powers of two'


def shifted(dtype):
    """Two convolutions by 2^-7 whose sums are never halves: weights are even and biases odd."""
    if dtype == FLOAT32:
        return
    net = Net(150)
    x = first = net.input([1, 6, 5, 10], dtype, 2.0 ** -4, net.random.randint(*RANGE[dtype]))
    for i in range(2):
        zero = 128 if dtype == UINT8 else 0
        w = Tensor([10, 3, 3, 10], dtype, [zero + 2 * net.random.randint(-25, 25)
                                           for _ in range(900)], 2.0 ** -6, zero)
        b = Tensor([10], INT32, [2 * net.random.randint(-4999, 4999) + 1 for _ in range(10)],
                   [x.scale * w.scale])
        net.register(w, w.bytes())
        net.register(b, struct.pack('<10i', *b.data))
        y = net.register(Tensor(first.shape, dtype, [], x.scale * w.scale * 2 ** 7,
                                net.random.randint(*RANGE[dtype])))
        check(y, lambda x=x, w=w, b=b, y=y: rules.conv(x, w, b.data, y))
        net.op('CONV_2D', [x, w, b], y, version=3 if dtype == INT8 else 1, padding=0,
               stride_h=1, stride_w=1)
        x = y
    yield net.case(SHIFTED, y)


def depthwise_convolutions(dtype):
    """DEPTHWISE_CONV_2D with one and two filters per channel."""
    for i, (stride, same, act, many) in enumerate((
            ((1, 1), True, NONE, 1), ((2, 2), True, RELU6, 1), ((1, 1), False, RELU, 2))):
        net = Net(200 + i)
        x = net.input([1, 7, 6, 3], dtype)
        w = net.weights([1, 3, 3, 3 * many], dtype, 3 * many if i else 0)
        data, bias = net.bias(x, w, 3 * many)
        rows, columns = (len(rules.windows(d, 3, s, 1, same)) for d, s in zip((7, 6), stride))
        y = net.result([1, rows, columns, 3 * many], dtype, near=0.3)
        check(y, lambda: rules.conv(x, w, data, y, stride, (1, 1), same, act, depthwise=True))
        net.op('DEPTHWISE_CONV_2D', [x, w, bias], y, version=3 if dtype == INT8 else 1,
               padding=int(not same), stride_h=stride[0], stride_w=stride[1],
               depth_multiplier=many, activation=act)
        yield net.case(f'DEPTHWISE_CONV_2D {i}', y)


def transposed_convolutions(dtype):
    """TRANSPOSE_CONV: strides, padding, bias, scales of channels, gaps between the taps."""
    for i, (stride, kernel, same, biased, channels) in enumerate((
            ((2, 2), (3, 3), True, True, 0), ((2, 1), (2, 3), False, False, 0),
            ((1, 2), (3, 4), True, True, 4), ((3, 3), (2, 2), True, True, 0),
            ((2, 2), (2, 2), False, True, 4), ((2, 3), (5, 4), False, True, 0))):
        net = Net(250 + i)
        x = net.input([2, 5, 4, 3], dtype)
        w = net.weights([4, *kernel, 3], dtype, channels)
        data, bias = net.bias(x, w, 4) if biased else (None, None)
        out = [2, *(d * s if same else (d - 1) * s + k
                    for d, s, k in zip((5, 4), stride, kernel)), 4]
        y = rules.conv_transpose(x, w, data, net.result(out, dtype, near=0.2), stride, same)
        net.op('TRANSPOSE_CONV', [net.constant(out), w, x, bias], y, version=3 if biased else 2,
               padding=int(not same), stride_h=stride[0], stride_w=stride[1])
        yield net.case(f'TRANSPOSE_CONV {i}', y)


def products(dtype):
    """FULLY_CONNECTED: of a matrix, of a map, without a bias, and more terms than float32 adds."""
    for i, (shape, k, out, act, biased) in enumerate((
            ([3, 40], 40, [3, 6], NONE, True), ([2, 2, 2, 5], 20, [2, 6], RELU, True),
            ([1, 700], 700, [1, 6], RELU6, True), ([2, 3, 8], 8, [2, 3, 6], NONE, False))):
        net = Net(300 + i)
        x, w = net.input(shape, dtype), net.weights([6, k], dtype)
        data, bias = net.bias(x, w, 6) if biased else (None, None)
        y = rules.fully_connected(x, w, data, net.result(out, dtype, near=0.4 + k / 500), act)
        net.op('FULLY_CONNECTED', [x, w, bias], y, version=4 if dtype == INT8 else 1,
               activation=act, **({'keep_num_dims': 1} if len(out) == 3 else {}))
        yield net.case(f'FULLY_CONNECTED {i}', y)


def sums(dtype):
    """ADD with activations, broadcasting, and a constant."""
    for i, (shape, act) in enumerate(itertools.product(([1, 3, 4, 5], [1, 1, 1, 5], None),
                                                       (NONE, RELU6))):
        net = Net(400 + i)
        a = net.input([1, 3, 4, 5], dtype)
        b = net.input(shape, dtype) if shape else net.weights([1, 3, 4, 5], dtype)
        y = net.result([1, 3, 4, 5], dtype, near=0.09)
        rules.add(a, b, y, act)
        net.op('ADD', [a, b], y, version=version(dtype), activation=act)
        yield net.case(f'ADD {i}', y)


def pools(dtype):
    """AVERAGE_POOL_2D and MAX_POOL_2D."""
    for i, (name, same, act) in enumerate(itertools.product(
            ('AVERAGE_POOL_2D', 'MAX_POOL_2D'), (True, False), (NONE, RELU6, RELU_N1_TO_1))):
        net = Net(500 + i)
        x = net.input([1, 7, 6, 4], dtype)
        out = [len(rules.windows(d, k, s, 1, same)) for d, k, s in ((7, 3, 2), (6, 2, 1))]
        y = net.result([1, *out, 4], dtype, like=x)
        check(y, lambda: rules.pool(x, y, (3, 2), (2, 1), same, act, name == 'MAX_POOL_2D'))
        net.op(name, [x], y, version=version(dtype), padding=int(not same), stride_h=2, stride_w=1,
               filter_h=3, filter_w=2, activation=act)
        yield net.case(f'{name} {i}', y)


def bounds_on_halves(dtype):
    """Where the two kinds of kernels round the bound of an activation differently."""
    for i, (name, scale, zero) in enumerate(itertools.product(
            ('AVERAGE_POOL_2D', 'MAX_POOL_2D', 'ADD'), (4.0, 12 / 7), (100, 101))):
        net = Net(550 + i)
        x = net.input([1, 16, 16, 1], dtype, rules.f32(scale), zero)
        x.data = list(range(RANGE[dtype][0], RANGE[dtype][1] + 1))
        y = net.result([1, 16, 16, 1], dtype, like=x)
        if name == 'ADD':
            other = net.input([1, 16, 16, 1], dtype, rules.f32(scale), zero)
            rules.add(x, other, y, RELU6)
            net.op(name, [x, other], y, version=version(dtype), activation=RELU6)
        else:
            rules.pool(x, y, (1, 1), (1, 1), True, RELU6, name == 'MAX_POOL_2D')
            net.op(name, [x], y, version=version(dtype), padding=1, stride_h=1, stride_w=1,
                   filter_h=1, filter_w=1, activation=RELU6)
        yield net.case(f'{name} bounds {i}', y)


def movements(dtype):
    """PAD, RESHAPE, CONCATENATION."""
    net = Net(600)
    x = net.input([1, 3, 4, 2], dtype)
    pads = net.constant([0, 0, 1, 2, 0, 1, 0, 3], [4, 2])
    y = net.result([1, 6, 5, 5], dtype, like=x)
    check(y, lambda: rules.pad(x, y, ((0, 0), (1, 2), (0, 1), (0, 3))))
    net.op('PAD', [x, pads], y, version=version(dtype))
    yield net.case('PAD', y)
    for i, (before, after) in enumerate((([1, 3, 4, 2], [2, 12]), ([4, 6], [1, 2, 3, 4]),
                                         ([1, 2, 3, 4], [1, 4, 3, 2]))):
        net = Net(610 + i)
        x = net.input(before, dtype)
        y = net.result(after, dtype, like=x)
        y.data = x.data
        net.op('RESHAPE', [x, net.constant(after)], y)
        yield net.case(f'RESHAPE {i}', y)
    for i, (axis, rank) in enumerate(((3, 4), (1, 4), (-1, 4), (2, 4), (1, 3))):
        net = Net(620 + i)
        shapes = [[1, 2, 3, 4][-rank:] for _ in range(3)]
        shapes[1][axis] += 2
        parts = [net.input(shapes[0], dtype)]
        parts += [net.input(s, dtype, parts[0].scale, parts[0].zero) for s in shapes[1:]]
        y = net.result([sum(d) if j == axis % rank else d[0] for j, d in enumerate(zip(*shapes))],
                       dtype, like=parts[0])
        check(y, lambda: rules.concat(parts, y, axis % rank))
        net.op('CONCATENATION', parts, y, version=version(dtype), axis=axis, activation=NONE)
        yield net.case(f'CONCATENATION {i}', y)


def reductions(dtype):
    """MEAN over a map, with and without its axes; SOFTMAX."""
    for i, (shape, axes) in enumerate((([1, 1, 1, 6], [1, 2]), ([1, 6], [2, 1]),
                                       ([1, 6], [-3, -2]))):
        net = Net(700 + i)
        x = net.input([1, 5, 3, 6], dtype)
        y = rules.mean(x, net.result(shape, dtype, near=0.03))
        net.op('MEAN', [x, net.constant(axes)], y, version=version(dtype),
               keep_dims=int(len(shape) == 4))
        yield net.case(f'MEAN {i}', y)
    for i, (shape, beta, scale) in enumerate((([3, 11], 1, 0.2), ([1, 2, 3, 9], 1, 0.04),
                                              ([2, 300], 0.5, 0.1))):
        net = Net(710 + i)
        x = net.input(shape, dtype, None if dtype == FLOAT32 else rules.f32(scale), 7 if
                      dtype != FLOAT32 else 0)
        y = net.register(Tensor(shape, dtype, [], None if dtype == FLOAT32 else 1 / 256,
                                -128 if dtype == INT8 else 0))
        rules.softmax(x, y, beta)
        net.op('SOFTMAX', [x], y, version=version(dtype), beta=float(beta))
        yield net.case(f'SOFTMAX {i}', y)


def relus(dtype):
    """RELU, RELU6, RELU_N1_TO_1, to another scale and to the same one."""
    for i, (name, same) in enumerate(itertools.product(RELUS, (False, True))):
        net = Net(800 + i)
        x = net.input([1, 4, 4, 16], dtype)
        y = net.result([1, 4, 4, 16], dtype, like=x if same else None, near=0.03)
        rules.relu(x, y, RELUS[name])
        net.op(name, [x], y, version=2 if dtype != FLOAT32 and name != 'RELU_N1_TO_1' else 1)
        yield net.case(f'{name} {"same" if same else "scaled"}', y)


def conversions(dtype):
    """QUANTIZE and DEQUANTIZE."""
    if dtype == FLOAT32:
        net = Net(910)
        half = Tensor([5, 1, 1, 3], FLOAT16, net.fill([5, 1, 1, 3], FLOAT32))
        net.register(half, half.bytes())
        x = net.input([1, 3, 3, 3], dtype)
        w = net.register(Tensor([5, 1, 1, 3], FLOAT32, half.data))
        y = net.result([1, 3, 3, 5], dtype)
        data, bias = net.bias(x, w, 5)
        rules.conv(x, w, data, y)
        net.op('DEQUANTIZE', [half], w, version=3)
        net.op('CONV_2D', [x, w, bias], y, padding=0, stride_h=1, stride_w=1)
        yield net.case('DEQUANTIZE float16', y)
        return
    net = Net(900)
    x = net.input([1, 8, 8, 16], FLOAT32)
    y = net.result(x.shape, dtype)
    x.data = [rules.f32(v / 4 * y.scale) for v in range(-512, 512)]
    rules.quantise(x, y)
    net.op('QUANTIZE', [x], y)
    yield net.case('QUANTIZE', y)
    for i, (to, near) in enumerate(itertools.product((INT8, UINT8), (0.03, 0.07))):
        net = Net(901 + i)
        x = net.input([2, 128], dtype)
        x.data = list(range(RANGE[dtype][0], RANGE[dtype][1] + 1))
        y = rules.quantise(x, net.result([2, 128], to, near=near))
        net.op('QUANTIZE', [x], y, version=2)
        yield net.case(f'QUANTIZE to {NAMES[to]} {i}', y)
    net = Net(909)
    x = net.input([1, 4, 4, 16], dtype)
    y = rules.dequantise(x, net.result(x.shape, FLOAT32))
    net.op('DEQUANTIZE', [x], y, version=2)
    yield net.case('DEQUANTIZE', y)


def dynamic_ranges(dtype):
    """Floats with weights of int8: of one scale, of one per channel; rows with a zero point."""
    if dtype != FLOAT32:
        return
    for i, (name, channels, asymmetric) in enumerate((
            ('CONV_2D', 0, False), ('CONV_2D', 5, True), ('DEPTHWISE_CONV_2D', 4, True),
            ('FULLY_CONNECTED', 0, False), ('FULLY_CONNECTED', 0, True))):
        net = Net(950 + i)
        product = name == 'FULLY_CONNECTED'
        x = net.input([3, 2, 40] if product else [2, 5, 6, 4], dtype)
        x.data = [net.random.uniform(-2, 3) for _ in x.data]
        w = net.weights({'CONV_2D': [5, 3, 2, 4], 'DEPTHWISE_CONV_2D': [1, 3, 2, 4],
                         'FULLY_CONNECTED': [6, 40]}[name], INT8, channels)
        outputs = w.shape[0] if w.shape[0] > 1 else w.shape[3]
        data, bias = net.bias(x, Tensor([], FLOAT32, []), outputs)
        y = net.result([6, 6] if product else [2, 5, 6, outputs], dtype)
        floats, weights = rules.dynamic(x, w, 6 if product else 2, not asymmetric)
        if product:
            rules.fully_connected(floats, weights, data, y)
            net.op(name, [x, w, bias], y, version=9, asymmetric_quantize_inputs=int(asymmetric))
        else:
            rules.conv(floats, weights, data, y, depthwise=name != 'CONV_2D')
            options = {} if name == 'CONV_2D' else {'depth_multiplier': 1}
            net.op(name, [x, w, bias], y, version=5 if name == 'CONV_2D' else 6, padding=0,
                   stride_h=1, stride_w=1, **options)
        yield net.case(f'{name} dynamic {i}', y)


def network(dtype, seed=1000):
    """Operators one after the other, and an output in the middle."""
    net = Net(seed)
    x = net.input([1, 6, 6, 3], dtype)
    w = net.weights([4, 3, 3, 3], dtype, 4)
    data, bias = net.bias(x, w, 4)
    a = net.result([1, 6, 6, 4], dtype, near=0.3)
    check(a, lambda: rules.conv(x, w, data, a, act=RELU))
    net.op('CONV_2D', [x, w, bias], a, version=3 if dtype == INT8 else 1, padding=0, stride_h=1,
           stride_w=1, activation=RELU)
    v = net.weights([1, 3, 3, 4], dtype, 4)
    data2, bias2 = net.bias(a, v, 4)
    b = net.result([1, 6, 6, 4], dtype, near=1)
    check(b, lambda: rules.conv(a, v, data2, b, depthwise=True))
    net.op('DEPTHWISE_CONV_2D', [a, v, bias2], b, version=3 if dtype == INT8 else 1, padding=0,
           stride_h=1, stride_w=1, depth_multiplier=1)
    c = rules.add(a, b, net.result([1, 6, 6, 4], dtype, near=1), RELU6)
    net.op('ADD', [a, b], c, version=version(dtype), activation=RELU6)
    d = net.result([1, 3, 3, 4], dtype, like=c)
    check(d, lambda: rules.pool(c, d, (2, 2), (2, 2), False, largest=True))
    net.op('MAX_POOL_2D', [c], d, version=version(dtype), padding=1, stride_h=2, stride_w=2,
           filter_h=2, filter_w=2)
    e = rules.concat([d, d], net.result([1, 3, 3, 8], dtype, like=c), 3)
    net.op('CONCATENATION', [d, d], e, version=version(dtype), axis=3)
    f = net.result([1, 1, 1, 8], dtype, like=c)
    check(f, lambda: rules.pool(e, f, (3, 3), (3, 3), False))
    net.op('AVERAGE_POOL_2D', [e], f, version=version(dtype), padding=1, stride_h=3, stride_w=3,
           filter_h=3, filter_w=3)
    g = net.result([1, 8], dtype, like=c)
    g.data = f.data
    net.op('RESHAPE', [f, net.constant([1, 8])], g)
    m = net.weights([5, 8], dtype)
    data3, bias3 = net.bias(g, m, 5)
    h = rules.fully_connected(g, m, data3, net.result([1, 5], dtype, near=0.5))
    net.op('FULLY_CONNECTED', [g, m, bias3], h, version=4 if dtype == INT8 else 1)
    return net.case('network', h, d)


def cases():
    """(type, case) of all."""
    makers = (convolutions, shifted, depthwise_convolutions, transposed_convolutions, products,
              sums, pools, movements, reductions, relus, conversions, dynamic_ranges)
    for dtype in TYPES:
        for make in makers:
            for case in make(dtype):
                yield NAMES[dtype], case
        if dtype != FLOAT32:
            for case in bounds_on_halves(dtype):
                yield NAMES[dtype], case
        yield NAMES[dtype], network(dtype)
