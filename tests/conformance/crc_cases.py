# SPDX-License-Identifier: MIT
"""Networks of one operator for the table of CRCs, beside operators.py and element_cases.py."""
import numpy as np
import onnx
from onnx import helper, numpy_helper
from operators import F, I32, I64, Case, floats, one

I8, U8 = np.int8, np.uint8
# Where a function is worth looking at, if not from -20 to 20.
RANGES = {'Asin': (-1, 1), 'Acos': (-1, 1), 'Atanh': (-1, 1), 'Acosh': (1, 41), 'Log': (0, 40),
          'Sqrt': (0, 40)}
# Functions of one float32: operator, operator set, attributes.
FUNCTIONS = (
    *((op, 17, {}) for op in (
        'Abs', 'Acos', 'Acosh', 'Asin', 'Asinh', 'Atan', 'Atanh', 'Ceil', 'Cos', 'Cosh', 'Erf',
        'Exp', 'Floor', 'HardSigmoid', 'HardSwish', 'IsInf', 'IsNaN', 'LeakyRelu', 'Log', 'Neg',
        'Reciprocal', 'Relu', 'Round', 'Sigmoid', 'Sign', 'Sin', 'Sinh', 'Softplus', 'Softsign',
        'Sqrt', 'Tan', 'Tanh')),
    *((op, 17, {'alpha': a}) for op in ('Elu', 'Celu', 'ThresholdedRelu') for a in (1.0, 0.3)),
    ('HardSigmoid', 17, {'alpha': 1 / 6}), ('LeakyRelu', 17, {'alpha': 0.25}), ('Selu', 17, {}),
    ('Selu', 17, {'alpha': 2.0, 'gamma': 0.5}), ('Shrink', 17, {'lambd': 2.0, 'bias': 0.7}),
    ('Mish', 18, {}), ('Gelu', 20, {'approximate': 'none'}), ('Gelu', 20, {'approximate': 'tanh'}))


def numbers(low, high):
    """200001 floats: even steps from low to high, then floats of every sign and exponent."""
    even = np.linspace(low, high, 160001).astype(F)
    bits = np.arange(40000, dtype=np.uint64) * (2 ** 32 // 40000)
    bits[:8] = (0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 1, 0x80000001, 0x7f7fffff,
                0xff7fffff)
    return np.concatenate([even, bits.astype(np.uint32).view(F)])


def function_cases(rng):
    """Functions of one number, on 200001 numbers"""
    del rng
    for op, opset, attrs in FUNCTIONS:
        text = ' '.join(f'{k}={v:.3g}' if isinstance(v, float) else v for k, v in attrs.items())
        yield one(text, op, {'x': numbers(*RANGES.get(op, (-20, 20)))}, opset=opset, **attrs)
    x = numbers(-20, 20)
    yield one('', 'Clip', {'x': x}, {'a': np.array(-1.5, F), 'b': np.array(6, F)})
    yield one('', 'PRelu', {'x': x}, {'s': np.array([0.3], F)})
    yield swish(x)
    for to in (2, 3, 5, 6, 7, 9, 10, 11):
        yield one(f'to {to}', 'Cast', {'x': np.linspace(-20, 20, 20001).astype(F) if to != 2 else
                                       np.linspace(0, 200, 20001).astype(F)}, to=to)


def swish(x):
    """x Sigmoid(x), which a pass makes a Swish: x times a subnormal, far below 0, loses digits."""
    case = Case('Swish', [helper.make_node('Sigmoid', ['x'], ['s']),
                          helper.make_node('Mul', ['x', 's'], ['y0'])], {'x': x})
    case.most = 52      # steps of the least float
    return case


def pair_cases(rng):
    """Functions of two numbers"""
    a = np.concatenate([floats(rng, 20000), numbers(-20, 20)[-40000:]])
    b = np.concatenate([floats(rng, 20000), rng.permutation(a[20000:])])
    for op in ('Add', 'Sub', 'Mul', 'Div', 'Max', 'Min'):
        yield one('', op, {'a': a, 'b': b})
    for op in ('Equal', 'Greater', 'Less', 'GreaterOrEqual', 'LessOrEqual'):
        yield one('', op, {'a': a, 'b': b}, opset=16)
    yield one('', 'Mod', {'a': a[:20000], 'b': b[:20000]}, fmod=1)
    yield one('', 'Pow', {'a': abs(a[:20000]), 'b': b[:20000]})
    yield one('of wide results', 'Pow', {'a': abs(a[:20000]), 'b': b[:20000] * F(15)})
    for exponent in (2, 3, 0.5, -1, -2):
        yield one(f'{exponent}', 'Pow', {'a': a[:20000]}, {'b': np.array(exponent, F)})
    yield one('', 'Where', {'c': a > b, 'a': a, 'b': b})
    for op in ('And', 'Or', 'Xor'):
        yield one('', op, {'a': rng.random((3, 4)) < 0.5, 'b': rng.random(4) < 0.5})
    yield one('', 'Not', {'a': rng.random(40) < 0.5})


def product_cases(rng):
    """Convolutions and products of matrices"""
    x = floats(rng, 2, 6, 13, 11)
    for group, k, attrs in ((1, 3, {}), (1, 1, {}), (2, 3, {'pads': [1, 2, 0, 1]}),
                            (6, 3, {'strides': [2, 1]}), (3, 2, {'dilations': [2, 3]}),
                            (1, 5, {'auto_pad': 'SAME_LOWER', 'strides': [2, 2]})):
        yield one(f'{group} {k} {attrs}', 'Conv', {'x': x},
                  {'w': floats(rng, 12, 6 // group, k, k), 'b': floats(rng, 12)}, group=group,
                  **attrs)
        if 'auto_pad' not in attrs:
            yield one(f'{group} {k} {attrs}', 'ConvTranspose', {'x': x},
                      {'w': floats(rng, 6, 4, k, k), 'b': floats(rng, 4 * group)}, group=group,
                      **attrs)
    yield one('of lines', 'Conv', {'x': floats(rng, 1, 3, 40)}, {'w': floats(rng, 5, 3, 7)})
    yield one('of volumes', 'Conv', {'x': floats(rng, 1, 2, 5, 6, 7)},
              {'w': floats(rng, 3, 2, 2, 3, 2)})
    for ta in (0, 1):
        for tb in (0, 1):
            yield one(f'{ta}{tb}', 'Gemm', {'a': floats(rng, *((90, 7) if ta else (7, 90)))},
                      {'b': floats(rng, *((11, 90) if tb else (90, 11))), 'c': floats(rng, 11)},
                      transA=ta, transB=tb, alpha=0.7, beta=1.3)
    for p, q in (((5, 300), (300, 9)), ((2, 3, 4, 20), (3, 20, 6)), ((30,), (30, 4))):
        yield one(f'{p}', 'MatMul', {'a': floats(rng, *p), 'b': floats(rng, *q)})
    yield one('', 'ConvInteger', {'x': rng.integers(0, 256, (1, 5, 6, 7)).astype(U8)},
              {'w': rng.integers(0, 100, (3, 5, 2, 2)).astype(U8), 'z': np.array(7, U8)})
    yield one('', 'MatMulInteger', {'x': rng.integers(0, 256, (4, 300)).astype(U8)},
              {'w': rng.integers(-60, 60, (300, 5)).astype(I8), 'z': np.array(7, U8)})


def map_cases(rng):
    """Pools, Resize, Upsample, MaxUnpool, BatchNormalization, DepthToSpace"""
    x = floats(rng, 2, 4, 11, 13)
    for op in ('GlobalAveragePool', 'GlobalMaxPool'):
        yield one('', op, {'x': x})
    for attrs in ({}, {'strides': [2, 3]}, {'pads': [1, 1, 1, 1]}, {'auto_pad': 'SAME_UPPER'}):
        for op in ('AveragePool', 'MaxPool'):
            yield one(f'{attrs}', op, {'x': x}, kernel_shape=[3, 3], **attrs)
    sizes = {'r': np.array([], F), 's': np.array([1, 1, 1.7, 0.6], F)}
    for mode in ('nearest', 'linear', 'cubic'):
        for how in ('half_pixel', 'asymmetric', 'align_corners', 'pytorch_half_pixel'):
            if how == 'align_corners':      # see element_cases.newer_cases
                sizes['s'] = np.array([1, 1, 2, 2], F)
            yield one(f'{mode} {how}', 'Resize', {'x': x}, sizes, opset=13, mode=mode,
                      coordinate_transformation_mode=how)
            sizes['s'] = np.array([1, 1, 1.7, 0.6], F)
    for how in ('floor', 'ceil', 'round_prefer_ceil'):
        yield one(how, 'Resize', {'x': x}, sizes, opset=13, mode='nearest', nearest_mode=how)
    for mode in ('nearest', 'linear'):
        yield one(mode, 'Upsample', {'x': x}, {'s': np.array([1, 1, 2, 3], F)}, opset=9, mode=mode)
    pooled = Case('MaxUnpool', [
        helper.make_node('MaxPool', ['x'], ['p', 'i'], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node('MaxUnpool', ['p', 'i'], ['y0'], kernel_shape=[2, 2], strides=[2, 2])],
        {'x': floats(rng, 1, 2, 6, 8)})
    yield pooled
    yield one('', 'BatchNormalization', {'x': x},
              {k: abs(floats(rng, 4)) + F(0.1) for k in 'sbmv'}, opset=9)
    for mode in ('DCR', 'CRD'):
        yield one(mode, 'DepthToSpace', {'x': x}, blocksize=2, mode=mode)
    b = floats(rng, 2, 4, 3, 5)
    s = floats(rng, 2, 4, 1, 1)
    case = Case('ScaledAdd', [helper.make_node('ScaledAdd', ['x', 's', 'b'], ['y0'])],
                {'x': floats(rng, 2, 4, 6, 15), 's': s, 'b': b})
    case.peer = Case('', [helper.make_node('Mul', ['x', 's'], ['m']),
                          helper.make_node('Resize', ['b', '', 'k'], ['r'], mode='nearest',
                                           coordinate_transformation_mode='asymmetric',
                                           nearest_mode='floor'),
                          helper.make_node('Add', ['m', 'r'], ['y0'])], case.feeds,
                     {'k': np.array([1, 1, 2, 3], F)}).file
    yield case


def move_cases(rng):
    """What moves elements, and constants"""
    x = floats(rng, 3, 1, 4, 5)
    for select in (0, 1):
        for op in ('ArgMax', 'ArgMin'):
            yield one(f'{select}', op, {'x': x.round()}, axis=2, select_last_index=select)
    yield one('', 'Concat', {'x': x, 'y': floats(rng, 3, 1, 2, 5)}, axis=2)
    yield one('', 'Expand', {'x': x}, {'s': np.array([3, 2, 4, 5], I64)})
    for axis in (0, -2):
        yield one(f'{axis}', 'Flatten', {'x': x}, axis=axis)
        yield one(f'{axis}', 'Gather', {'x': x}, {'i': np.array([[1, -1], [0, 2]], I64)}, axis=axis)
    yield one('', 'Identity', {'x': x})
    yield one('', 'Dropout', {'x': x}, opset=12)
    yield one('', 'Scatter', {'x': x[:, 0, 0], 'i': rng.integers(0, 3, (1, 5)),
                              'u': floats(rng, 1, 5)}, opset=9)
    yield one('', 'Slice', {'x': x}, {'b': np.array([-1, 4], I64), 'e': np.array([0, -6], I64),
                                      'a': np.array([2, 3], I64), 's': np.array([-2, -1], I64)})
    yield one('', 'Squeeze', {'x': x}, {'a': np.array([1], I64)})
    yield one('', 'Unsqueeze', {'x': x}, {'a': np.array([0, -1], I64)})
    yield one('', 'Transpose', {'x': x}, perm=[2, 0, 3, 1])
    k = numpy_helper.from_array(floats(rng, 4, 5))
    yield Case('Constant', [helper.make_node('Constant', [], ['k'], value=k),
                            helper.make_node('Mul', ['x', 'k'], ['y0'])], {'x': x})
    fill = numpy_helper.from_array(np.array([2.5], F))
    yield one('', 'ConstantOfShape', {'s': np.array([2, 3], I64)}, value=fill)


def microsoft(case, **attrs):
    """An operator of ONNX Runtime's own domain, and attributes that only it wants."""
    model = onnx.load_from_string(case.file)
    node = model.graph.node[0]
    node.domain = 'com.microsoft'
    node.attribute.extend(helper.make_attribute(k, v) for k, v in attrs.items())
    model.opset_import.append(helper.make_opsetid('com.microsoft', 1))
    case.peer = model.SerializeToString()
    return case


def quantised_cases(rng):
    """Quantised operators"""
    def scale(v):
        return np.array(v, F)

    for t in (I8, U8):
        info = np.iinfo(t)
        zero = np.array(5 if t == I8 else 120, t)
        x = rng.integers(info.min, info.max, (2, 4, 6, 5), endpoint=True).astype(t)
        name = np.dtype(t).name
        yield one(name, 'DequantizeLinear', {'x': x}, {'s': scale(0.03), 'z': zero})
        yield one(name, 'QuantizeLinear', {'x': floats(rng, 4000)}, {'s': scale(0.03), 'z': zero})
        out = {'ys': scale(0.4), 'yz': zero}
        yield one(name, 'QLinearConv', {'x': x},
                  {'xs': scale(0.02), 'xz': zero, 'w': rng.integers(0, 60, (3, 4, 3, 3)).astype(t),
                   'ws': scale(0.01), 'wz': np.array(0, t), **out})
        yield one(name, 'QLinearMatMul', {'x': x},
                  {'xs': scale(0.02), 'xz': zero, 'w': rng.integers(0, 60, (5, 7)).astype(t),
                   'ws': scale(0.01), 'wz': zero, **out})
        yield microsoft(one(name, 'QGemm', {'x': x[0, 0]},
                            {'xs': scale(0.02), 'xz': zero,
                             'w': rng.integers(0, 60, (7, 5)).astype(t), 'ws': scale(0.01),
                             'wz': np.array(0, t),
                             'b': rng.integers(-999, 999, 7).astype(I32), **out}, transB=1))
    yield one('', 'DynamicQuantizeLinear', {'x': floats(rng, 4000)}, outputs=3)


GROUPS = (function_cases, pair_cases, product_cases, map_cases, move_cases, quantised_cases)

# Operators that only networks of TensorFlow Lite have, and its operators that become them.
TFLITE = {
    'DynamicLevels': 'CONV_2D dynamic', 'Lookup': 'LOGISTIC', 'QLinearAdd': 'ADD',
    'QLinearConvTranspose': 'TRANSPOSE_CONV', 'QLinearGlobalAveragePool': 'MEAN',
    'QLinearMul': 'MUL', 'QLinearResize': 'RESIZE_BILINEAR', 'QLinearSoftmax': 'SOFTMAX',
    'QLinearSub': 'SUB', 'Requantize': 'RELU',
}
