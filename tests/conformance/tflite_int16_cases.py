# SPDX-License-Identifier: MIT
"""TensorFlow Lite files of int16 elements and weights of int8, and the answers they must give."""
import itertools
import struct

import tflite_int16_rules as rules
from tflite_build import FLOAT32, INT8, INT16, INT64
from tflite_net import Net
from tflite_rules import NONE, RELU, RELU6, RELU_N1_TO_1, Tensor, f32, size, windows

# TensorFlow Lite's faster kernels approximate these in another way.
REFERENCE_ONLY = {'LOGISTIC of 2^-12', 'TANH of 2^-12', 'TANH of 2^-11'}


def scale(net, near):
    """A scale about near."""
    return f32(near * net.random.uniform(0.7, 1.4))


def elements(net, shape, near=2e-4, exact=None):
    """An input."""
    t = Tensor(shape, INT16, [net.random.randint(-32768, 32767) for _ in range(size(shape))],
               exact or scale(net, near), 0)
    net.inputs.append(t)
    return net.register(t)


def result(net, shape, near, exact=None):
    """The tensor of a result."""
    return net.register(Tensor(shape, INT16, [], exact or scale(net, near), 0))


def constants(net, shape, outputs, x, channels):
    """Weights with one scale or one for each channel, and biases."""
    scales = [scale(net, 5e-3) for _ in range(outputs)] if channels else scale(net, 5e-3)
    w = Tensor(shape, INT8, [net.random.randint(-127, 127) for _ in range(size(shape))], scales, 0)
    net.register(w, w.bytes())
    b = Tensor([outputs], INT64, [net.random.randint(-10 ** 6, 10 ** 6) for _ in range(outputs)],
               [x.scale * s for s in scales] if channels else x.scale * scales)
    net.register(b, struct.pack(f'<{outputs}q', *b.data))
    return w, b


def products():
    """CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED."""
    for i, (depthwise, stride, same, act) in enumerate(itertools.product(
            (False, True), (1, 2), (False, True), (NONE, RELU, RELU6))):
        net, c, o = Net(900 + i), 4, 4 if depthwise else 3
        x = elements(net, [2, 6, 5, c])
        w, b = constants(net, [1, 3, 2, o] if depthwise else [o, 3, 2, c], o, x, True)
        y = result(net, [2, len(windows(6, 3, stride, 1, same)),
                         len(windows(5, 2, stride, 1, same)), o], 2e-3)
        rules.conv(x, w, b.data, y, stride, same, act, depthwise)
        more = {'depth_multiplier': 1} if depthwise else {}
        name = 'DEPTHWISE_CONV_2D' if depthwise else 'CONV_2D'
        net.op(name, [x, w, b], y, version=5 if depthwise else 4, padding=int(not same),
               stride_h=stride, stride_w=stride, dilation_h=1, dilation_w=1, activation=act, **more)
        yield net.case(f'{name} {i}', y)
    for i, act in enumerate((NONE, RELU, RELU6)):
        net = Net(950 + i)
        x = elements(net, [3, 40])
        w, b = constants(net, [7, 40], 7, x, False)
        y = result(net, [3, 7], 2e-3)
        rules.fully_connected(x, w, b.data, y, act)
        net.op('FULLY_CONNECTED', [x, w, b], y, version=7, activation=act, weights_format=0,
               keep_num_dims=0)
        yield net.case(f'FULLY_CONNECTED {i}', y)


def pairs():
    """ADD and MUL; of powers of two as such, and, if an option says so, as any other scale."""
    powers = (2.0 ** -12, 2.0 ** -14, 2.0 ** -12)
    for i, (exact, option, act) in enumerate((
            ((None,) * 3, None, NONE), ((None,) * 3, 1, RELU), ((None,) * 3, 0, RELU6),
            (powers, None, NONE), (powers, 1, RELU_N1_TO_1), (powers, 0, NONE),
            ((2.0 ** -13, 2.0 ** -12, 2.0 ** -12), None, NONE))):
        net = Net(1000 + i)
        a, b = elements(net, [2, 50], exact=exact[0]), elements(net, [2, 50], exact=exact[1])
        y = result(net, [2, 50], 4e-4, exact[2])
        rules.add(a, b, y, act, exact[0] is not None and option != 0)
        more = {} if option is None else {'pot_scale_int16': option}
        net.op('ADD', [a, b], y, version=2, activation=act, **more)
        yield net.case(f'ADD {i}', y)
    for i, act in enumerate((NONE, RELU, RELU6)):
        net = Net(1010 + i)
        a, b = elements(net, [2, 50]), elements(net, [2, 50])
        y = result(net, [2, 50], 2e-3)
        rules.mul(a, b, y, act)
        net.op('MUL', [a, b], y, version=4, activation=act)
        yield net.case(f'MUL {i}', y)


def maps():
    """Pools, MEAN, and what moves elements."""
    for i, (largest, kernel, stride, same, act) in enumerate((
            (False, 2, 2, False, NONE), (False, 3, 1, True, RELU), (True, 3, 2, True, NONE),
            (True, 2, 1, False, RELU6))):
        net = Net(1100 + i)
        x = elements(net, [1, 6, 7, 3])
        y = result(net, [1] + [len(windows(d, kernel, stride, 1, same)) for d in (6, 7)] + [3], 0,
                   x.scale)
        rules.pool(x, y, kernel, stride, same, act, largest)
        name = 'MAX_POOL_2D' if largest else 'AVERAGE_POOL_2D'
        net.op(name, [x], y, version=3, padding=int(not same), stride_h=stride, stride_w=stride,
               filter_h=kernel, filter_w=kernel, activation=act)
        yield net.case(f'{name} {i}', y)
    for i, (axes, keep, same) in enumerate(itertools.product(
            ([1, 2], [3], [1, 2, 3]), (0, 1), (False, True))):
        net = Net(1110 + i)
        x = elements(net, [2, 5, 6, 3])
        y = Tensor([], INT16, [], x.scale if same else scale(net, 2e-4), 0)
        rules.mean(x, y, axes, keep)
        net.op('MEAN', [x, net.constant(axes)], net.register(y), version=3, keep_dims=keep)
        yield net.case(f'MEAN {i}', y)
    net = Net(1130)
    a = elements(net, [1, 2, 3, 2])
    b = elements(net, [1, 2, 3, 1], exact=a.scale)
    y = result(net, [1, 2, 3, 3], 0, a.scale)
    y.data = [v for i in range(6) for v in (*a.data[2 * i:2 * i + 2], b.data[i])]
    net.op('CONCATENATION', [a, b], y, version=3, axis=3, activation=NONE)
    yield net.case('CONCATENATION', y)
    net = Net(1131)
    x = elements(net, [2, 3])
    y = result(net, [3, 5], 0, x.scale)
    y.data = [0] * 5 + [0, *x.data[:3], 0] + [0, *x.data[3:], 0]
    net.op('PAD', [x, net.constant([1, 0, 1, 1], [2, 2])], y, version=3)
    yield net.case('PAD', y)
    net = Net(1132)
    x = elements(net, [2, 6])
    y = result(net, [3, 4], 0, x.scale)
    y.data = x.data
    net.op('RESHAPE', [x, net.constant([3, 4])], y)
    yield net.case('RESHAPE', y)


def curves():
    """LOGISTIC, TANH and SOFTMAX."""
    for code, exact in itertools.product(('LOGISTIC', 'TANH'), (
            (-12, 2.0 ** -12), (-11, 2.0 ** -11), ('3e-4', f32(3e-4)), ('2e-5', f32(2e-5)),
            ('0.05', f32(0.05)))):
        net = Net(1200)
        x = elements(net, [3000], exact=exact[1])
        y = result(net, [3000], 0, 2.0 ** -15)
        rules.curve(x, y, code == 'TANH')
        net.op(code, [x], y, version=3)
        yield net.case(f'{code} of {f"2^{exact[0]}" if exact[0] in (-11, -12) else exact[0]}', y)
    for i, (near, n, beta) in enumerate(((2e-4, 3, 1), (1e-3, 100, 1), (5e-3, 20, 0.5))):
        net = Net(1210 + i)
        x = elements(net, [4, n], near)
        y = result(net, [4, n], 0, 2.0 ** -15)
        rules.softmax(x, y, beta)
        net.op('SOFTMAX', [x], y, version=3, beta=beta)
        yield net.case(f'SOFTMAX {i}', y)


def scales():
    """The RELU family, QUANTIZE and DEQUANTIZE."""
    for i, (code, act) in enumerate((('RELU', RELU), ('RELU6', RELU6))):
        net = Net(1300 + i)
        x = elements(net, [2000])
        y = result(net, [2000], 3e-4)
        rules.rescale(x, y, act)
        net.op(code, [x], y, version=3)
        yield net.case(code, y)
    net = Net(1310)
    x = net.input([2000], FLOAT32)
    x.data = [f32(net.random.uniform(-8, 8)) for _ in x.data]
    y = result(net, [2000], 2e-4)
    rules.quantise(x, y)
    net.op('QUANTIZE', [x], y, version=3)
    yield net.case('QUANTIZE', y)
    net = Net(1311)
    x = elements(net, [2000])
    y = net.register(Tensor([2000], FLOAT32, [f32(v * f32(x.scale)) for v in x.data]))
    net.op('DEQUANTIZE', [x], y, version=3)
    yield net.case('DEQUANTIZE', y)


def cases():
    """('int16', case)"""
    for case in itertools.chain(products(), pairs(), maps(), curves(), scales()):
        yield 'int16', case
