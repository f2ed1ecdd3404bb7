# SPDX-License-Identifier: MIT
"""TensorFlow Lite files of operators of elements, with inputs and the answers they must give."""
import math

import tflite_element_rules as rules
from tflite_build import BOOL, FLOAT32, INT32, UINT8
from tflite_net import NAMES, TYPES, Net, version
from tflite_rules import NONE, RANGE, RELU, RELU6, RELU_N1_TO_1, add, broadcast, f32

SHAPES = (([1, 3, 4, 5], [1, 3, 4, 5], NONE), ([1, 3, 4, 5], [1, 1, 1, 5], RELU6),
          ([2, 3, 4, 5], [1, 3, 1, 1], RELU), ([2, 3, 4, 5], [4, 1], NONE),
          ([2, 3, 4, 5], [], NONE), ([5], [2, 3, 4, 5], RELU_N1_TO_1), ([7, 6], [6], NONE))


FAR = ((0.05, 1e-9, 0.06), (1e-7, 0.05, 0.06), (0.05, 1e-5, 0.06), (30.0, 30.0, 0.1),
       (1e-6, 1e-4, 0.5))


def far_scales(dtype):
    """ADD, SUB and MUL with scales that XNNPACK leaves to TensorFlow Lite's own kernels."""
    for i, (left, right, out) in enumerate(FAR if dtype != FLOAT32 else ()):
        for name in ('ADD', 'SUB', 'MUL'):
            net = Net(2900 + i)
            a, b = net.input([16, 16], dtype), net.input([16, 16], dtype)
            y = net.result([16, 16], dtype)
            for t, scale in ((a, left), (b, right), (y, out)):
                net.rescale(t, f32(scale))
            if name == 'MUL':
                rules.mul(a, b, y)
            else:
                add(a, b, y, NONE, 1 if name == 'ADD' else -1)
            net.op(name, [a, b], y, version=version(dtype))
            yield net.case(f'{name} of far scales {i}', y)


def everything(dtype):
    """All elements of a quantised type; floats."""
    if dtype == FLOAT32:
        return [v / 16 for v in range(-128, 128)]
    return list(range(RANGE[dtype][0], RANGE[dtype][1] + 1))


def pairs(dtype):
    """SUB, MUL and, of floats, DIV: shapes, activations, constants, many scales."""
    names = ('SUB', 'MUL', 'DIV') if dtype == FLOAT32 else ('SUB', 'MUL')
    for name in names:
        for i, (left, right, act) in enumerate(SHAPES + ((([256, 4], [256, 4], NONE),) * 6)):
            net = Net(2000 + i)
            a = net.input(left, dtype)
            b = net.weights(right, dtype) if i % 3 == 1 else net.input(right, dtype)
            if name == 'DIV':
                b.data[:] = [v or 1.5 for v in b.data]
                if i % 3 == 1:
                    continue
            near = 0.09 if name == 'SUB' else 0.12 if name == 'MUL' else 1
            y = net.result([1], dtype, near=near * net.random.uniform(0.4, 3))
            {'SUB': lambda: add(a, b, y, act, -1), 'MUL': lambda: rules.mul(a, b, y, act),
             'DIV': lambda: rules.div(a, b, y, act)}[name]()
            net.reshape(y)
            net.op(name, [a, b], y, version=version(dtype), activation=act)
            yield net.case(f'{name} {i}', y)


def functions(dtype):
    """LOGISTIC, TANH, ELU, HARD_SWISH and LEAKY_RELU of every element, at many scales."""
    fixed = {'LOGISTIC': (1 / 256, 0), 'TANH': (1 / 128, 128)}
    for name in ('LOGISTIC', 'TANH', 'ELU', 'HARD_SWISH', 'LEAKY_RELU'):
        if name == 'ELU' and dtype == UINT8:
            continue
        for i in range(2 if dtype == FLOAT32 else 12):
            net = Net(2100 + i)
            x = net.input([1, 8, 8, 4] if i % 2 else [256], dtype)
            x.data = everything(dtype)
            if dtype != FLOAT32:
                net.rescale(x, f32(0.05 * 2 ** net.random.uniform(-3, 2)))
            y = net.result(x.shape, dtype, near=0.05 * 2 ** net.random.uniform(-2, 2))
            if name in fixed and dtype != FLOAT32:
                net.rescale(y, fixed[name][0], fixed[name][1] + RANGE[dtype][0])
            options = {}
            if name == 'LEAKY_RELU':
                options['alpha'] = f32((0.2, 1.5, -0.3, 0.01, 0.002)[i % 5])
                rules.leaky_relu(x, y, options['alpha'])
            elif name == 'HARD_SWISH':
                rules.hard_swish(x, y)
            else:
                rules.function(name, x, y)
            net.op(name, [x], y, version=2 if name in (*fixed, 'LEAKY_RELU') and
                   dtype != FLOAT32 else 1, **options)
            yield net.case(f'{name} {i}', y)


def comparisons(dtype):
    """EQUAL and its like, of tensors quantised differently and alike."""
    for i, name in enumerate(rules.COMPARE):
        for j, (left, right) in enumerate((([1, 8, 8, 4], [1, 8, 8, 4]), ([40, 6], [6]),
                                           ([2, 3, 4, 5], []))):
            net = Net(2200 + 10 * i + j)
            a = net.input(left, dtype)
            b = net.input(right, dtype, a.scale, a.zero) if j == 1 else net.input(right, dtype)
            y = net.result([1], BOOL)
            rules.compare(name, a, b, y)
            net.reshape(y)
            net.op(name, [a, b], y, version=version(dtype))
            yield net.case(f'{name} {j}', y)


def casts(dtype):
    """CAST to int32 and float32, which scales have no part in."""
    for to in (INT32, FLOAT32):
        net = Net(2300)
        x = net.input([1, 8, 8, 4], dtype)
        x.data = everything(dtype)
        y = net.result(x.shape, to)
        y.data = [int(v) if to == INT32 else v for v in x.data]
        net.op('CAST', [x], y, in_data_type=dtype, out_data_type=to)
        yield net.case(f'CAST {to}', y)


def of_floats(dtype):
    """Functions that TensorFlow Lite has for floats only, and PRELU."""
    if dtype != FLOAT32:
        return
    for name in rules.OF_FLOATS:
        net = Net(2400)
        x = net.input([1, 8, 8, 4], dtype)
        x.data = [abs(v) + 0.125 for v in x.data] if name in ('SQRT', 'RSQRT', 'LOG') else x.data
        y = rules.function(name, x, net.result(x.shape, dtype))
        net.op(name, [x], y)
        yield net.case(name, y)
    for i, (shape, slopes) in enumerate((([1, 4, 5, 6], [1, 1, 6]), ([3, 4], [4]),
                                         ([2, 4, 5, 6], [4, 5, 6]))):
        net = Net(2410 + i)
        x, slope = net.input(shape, dtype), net.weights(slopes, dtype)
        y = net.result([1], dtype)
        y.data = [u if u > 0 else u * v for u, v in broadcast(x, slope, y)]
        net.reshape(y)
        net.op('PRELU', [x, slope], y)
        yield net.case(f'PRELU {i}', y)


def of_numbers(dtype):
    """Operators of two operands for floats and, beside them, for int32."""
    for to in (FLOAT32, INT32) if dtype == FLOAT32 else ():
        for i, name in enumerate(rules.OF_PAIRS):
            if to == INT32 and name in ('POW', 'SQUARED_DIFFERENCE'):
                continue
            net = Net(2500 + i)
            a, b = net.input([2, 3, 4, 5], to), net.input([5], to)
            a.data = [net.random.randint(-40, 40) for _ in a.data]
            b.data = [3, -4, 5, -7, 2]
            if name == 'POW':
                a.data = [abs(v) / 8 + 0.5 for v in a.data]
            y = rules.pair(name, a, b, net.result([2, 3, 4, 5], to))
            net.op(name, [a, b], y)
            yield net.case(f'{name} of {NAMES.get(to, "int32")}', y)


def far_apart(dtype):
    """FLOOR_MOD of floats whose quotients are no floats, or are nearly whole."""
    if dtype == FLOAT32:
        net = Net(2550)
        a, b = net.input([9], FLOAT32), net.input([9], FLOAT32)
        a.data = [1e10, -1e10, 2.0 ** 99, -2.0 ** 99, 1e10, -5.5, f32(0.7), f32(0.3), -2.0 ** -30]
        b.data = [3, 3, 7, 7, -3, 2, f32(0.1), f32(0.1), 3]
        y = rules.pair('FLOOR_MOD', a, b, net.result([9], FLOAT32))
        net.op('FLOOR_MOD', [a, b], y)
        yield net.case('FLOOR_MOD of numbers far apart', y)


def orders(dtype):
    """MAXIMUM and MINIMUM of tensors quantised alike."""
    for name in ('MAXIMUM', 'MINIMUM'):
        net = Net(2600)
        a = net.input([2, 3, 4, 5], dtype)
        b = net.input([4, 5], dtype, a.scale, a.zero)
        y = rules.pair(name, a, b, net.result([2, 3, 4, 5], dtype, like=a))
        net.op(name, [a, b], y, version=version(dtype))
        yield net.case(name, y)


def conditions(dtype):
    """SELECT and SELECT_V2 by a comparison, which LOGICAL_AND, _OR and _NOT change."""
    for i, (name, shape) in enumerate((('SELECT', [2, 3, 4, 5]), ('SELECT_V2', [4, 5]))):
        net = Net(2700 + i)
        a = net.input([2, 3, 4, 5], dtype)
        b = net.input(shape, dtype, a.scale, a.zero)
        bools = [net.result([2, 3, 4, 5], BOOL) for _ in range(5)]
        for name2, y in (('LESS', bools[0]), ('GREATER', bools[1])):
            rules.compare(name2, a, b, y)
            net.op(name2, [a, b], y, version=version(dtype))
        net.op('LOGICAL_OR', bools[:2], bools[2])
        net.op('LOGICAL_NOT', [bools[0]], bools[3])
        net.op('LOGICAL_AND', [bools[2], bools[3]], bools[4])
        y = net.result([2, 3, 4, 5], dtype, like=a)
        y.data = [u if u > v else v for u, v in broadcast(a, b, y)]
        net.op(name, [bools[4], a, b], y)
        yield net.case(name, y)


def norms(dtype):
    """L2_NORMALIZATION, LOG_SOFTMAX and BATCH_MATMUL of floats."""
    if dtype != FLOAT32:
        return
    for i, shape in enumerate(([2, 3, 4, 5], [3, 7])):
        net = Net(2800 + i)
        x = net.input(shape, dtype)
        y = net.result(shape, dtype)
        rows = [x.data[j:j + shape[-1]] for j in range(0, len(x.data), shape[-1])]
        y.data = [v / math.sqrt(sum(u * u for u in row)) for row in rows for v in row]
        net.op('L2_NORMALIZATION', [x], y)
        yield net.case(f'L2_NORMALIZATION {i}', y)
        net = Net(2800 + i)
        x = net.input(shape, dtype)
        y = net.result(shape, dtype)
        y.data = [v - math.log(sum(map(math.exp, row))) for row in rows for v in row]
        net.op('LOG_SOFTMAX', [x], y)
        yield net.case(f'LOG_SOFTMAX {i}', y)
    for i, (x_turns, y_turns) in enumerate(((0, 0), (0, 1), (1, 0))):
        net = Net(2810 + i)
        a = net.input([2, 4, 3] if x_turns else [2, 3, 4], dtype)
        b = net.input([2, 5, 4] if y_turns else [2, 4, 5], dtype)
        y = net.result([2, 3, 5], dtype)
        y.data = [sum(a.data[12 * n + (3 * k + r if x_turns else 4 * r + k)] *
                      b.data[20 * n + (4 * c + k if y_turns else 5 * k + c)] for k in range(4))
                  for n in range(2) for r in range(3) for c in range(5)]
        net.op('BATCH_MATMUL', [a, b], y, adj_x=x_turns, adj_y=y_turns)
        yield net.case(f'BATCH_MATMUL {i}', y)


def cases():
    """(type, case) of all."""
    for dtype in TYPES:
        for make in (pairs, functions, comparisons, casts, of_floats, of_numbers, far_apart, orders,
                     conditions, norms, far_scales):
            for case in make(dtype):
                yield NAMES[dtype], case
