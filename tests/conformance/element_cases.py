# SPDX-License-Identifier: MIT
"""Networks of one operator: functions, norms, integers, shapes, reductions, and of float16."""
import numpy as np
from onnx import TensorProto, helper
from operators import Case, F, I32, I64, floats, one

H, D = np.float16, np.float64
U8, I8, U16, I16, U32, U64 = np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.uint64


def function_cases(rng):
    """Functions of one number"""
    wide, unit = floats(rng, 500) * 5, rng.uniform(-1, 1, 500).astype(F)
    huge = (rng.uniform(-1, 1, 500) * 10.0 ** rng.integers(0, 30, 500)).astype(F)
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1], F)
    for op in ('Sin', 'Cos', 'Tan'):
        for x in (wide, unit / 1000, huge):
            yield one('', op, {'x': x})
    for op in ('Atan', 'Sinh', 'Cosh', 'Asinh', 'Floor', 'Ceil', 'Round', 'Sign', 'Softsign',
               'Softplus', 'Erf', 'Exp', 'Selu', 'Celu', 'Elu', 'ThresholdedRelu', 'Shrink',
               'HardSigmoid', 'IsNaN', 'IsInf', 'Abs', 'Neg'):
        for x in (wide, unit / 1000):
            yield one('', op, {'x': x})
    for op in ('Atan', 'Floor', 'Ceil', 'Round', 'IsNaN', 'IsInf', 'Abs', 'Neg', 'Cosh', 'Erf'):
        yield one('of special numbers', op, {'x': special})
    for op in ('Asin', 'Acos', 'Atanh'):
        yield one('', op, {'x': unit})
    yield one('', 'Acosh', {'x': abs(wide) + 1})
    yield one('', 'Mish', {'x': wide}, opset=18)
    for a in ('none', 'tanh'):
        yield one(a, 'Gelu', {'x': wide}, opset=20, approximate=a)
    yield one('', 'Selu', {'x': wide}, alpha=2.0, gamma=0.5)
    yield one('', 'Celu', {'x': wide}, alpha=0.3)
    yield one('', 'Shrink', {'x': wide}, lambd=2.0, bias=0.7)
    for n, p in ((0, 1), (1, 0)):
        yield one(f'{n}{p}', 'IsInf', {'x': special}, detect_negative=n, detect_positive=p)


def norm_cases(rng):
    """LayerNormalization, InstanceNormalization, GroupNormalization, LRN, Softmax and their like"""
    x = floats(rng, 2, 6, 5, 4)
    for axis in range(-4, 4):
        shape = x.shape[axis:]
        yield one(f'axis {axis}', 'LayerNormalization', {'x': x},
                  {'s': floats(rng, *shape), 'b': floats(rng, *shape)}, axis=axis, epsilon=1e-3)
    yield one('without a bias', 'LayerNormalization', {'x': x}, {'s': floats(rng, 4)})
    for shape in (x.shape, (3, 4, 7), (1, 2, 3, 4, 5)):
        yield one(f'{shape}', 'InstanceNormalization', {'x': floats(rng, *shape)},
                  {'s': floats(rng, shape[1]), 'b': floats(rng, shape[1])})
    for groups in (1, 2, 3, 6):
        yield one(f'{groups} groups', 'GroupNormalization', {'x': x},
                  {'s': floats(rng, 6), 'b': floats(rng, 6)}, opset=21, num_groups=groups)
    yield one('by group', 'GroupNormalization', {'x': x},
              {'s': floats(rng, 3), 'b': floats(rng, 3)}, opset=18, num_groups=3)
    for size in (1, 3, 5, 11):
        yield one(f'size {size}', 'LRN', {'x': x}, size=size, alpha=0.3, beta=0.6, bias=1.5)
    yield one('', 'MeanVarianceNormalization', {'x': x})
    yield one('', 'MeanVarianceNormalization', {'x': x}, axes=[1, 2, 3])
    for axis in (1, -1):
        shape = x.shape[axis:]
        yield one(f'axis {axis}', 'RMSNormalization', {'x': x}, {'s': floats(rng, *shape)},
                  opset=23, axis=axis, epsilon=1e-2)
        for p in (1, 2):
            yield one(f'{p} axis {axis}', 'LpNormalization', {'x': x}, axis=axis, p=p)
    for p in (1, 2, 3):
        yield one(f'{p}', 'GlobalLpPool', {'x': x}, p=p)
        yield one(f'{p}', 'LpPool', {'x': x}, p=p, kernel_shape=[3, 2], strides=[2, 1],
                  pads=[1, 0, 1, 1])
    yield one('of lines', 'LpPool', {'x': floats(rng, 1, 2, 9)}, kernel_shape=[4])
    for op in ('Hardmax', 'Softmax', 'LogSoftmax'):
        for axis in (0, 1, -1):
            yield one(f'axis {axis}', op, {'x': x}, opset=13, axis=axis)
            yield one(f'axis {axis} before 13', op, {'x': x}, opset=11, axis=axis)


def integers(rng, dtype, *shape):
    """Any numbers of a type, small ones and its extremes among them."""
    info = np.iinfo(dtype)
    some = rng.integers(max(info.min, -9), 10, shape).astype(dtype)
    many = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    return np.where(rng.random(shape) < 0.5, some, many)


def integer_cases(rng):
    """Mod, BitShift, bitwise operators, comparisons, signs"""
    for t in (U8, I8, U16, I16, U32, I32, U64, I64):
        a, b = integers(rng, t, 3, 4, 5), integers(rng, t, 4, 1)
        divisor = np.where(b == 0, 3, b).astype(t)
        name = np.dtype(t).name
        if t not in (U16, U32, U64, I16):       # those the peer's interface does not take
            yield one(name, 'Mod', {'a': a, 'b': divisor})
            if t != I64:                        # of which the peer makes doubles
                yield one(f'{name} fmod', 'Mod', {'a': a, 'b': divisor}, fmod=1)
            for op in ('BitwiseAnd', 'BitwiseOr', 'BitwiseXor'):
                yield one(name, op, {'a': a, 'b': b}, opset=18)
            yield one(name, 'BitwiseNot', {'a': a}, opset=18)
            yield one(name, 'Sign', {'a': a})
            yield one(name, 'Abs', {'a': a})
    for d in ('LEFT', 'RIGHT'):
        yield one(d, 'BitShift', {'a': integers(rng, U8, 50), 'b': rng.integers(0, 8, 50).astype(U8)},
                  direction=d)
    for t in (I32, I64, F, D):
        a, b = (rng.integers(-3, 4, s).astype(t) for s in ((3, 4, 5), (4, 1)))
        for op in ('Equal', 'Greater', 'Less', 'GreaterOrEqual', 'LessOrEqual'):
            yield one(np.dtype(t).name, op, {'a': a, 'b': b}, opset=16)
    yield one('floats', 'Mod', {'a': floats(rng, 3, 50), 'b': floats(rng, 50)}, fmod=1)
    for op in ('Mean', 'Sum', 'Max', 'Min'):
        yield one('of three', op, {'a': floats(rng, 3, 4), 'b': floats(rng, 4),
                                   'c': floats(rng, 2, 1, 1)})


def shape_cases(rng):
    """Range, Tile, Trilu, EyeLike, OneHot, SpaceToDepth, Size, CastLike, Pad, windows"""
    for t, args in ((F, (1, 9.5, 0.7)), (F, (3, -2, -0.1)), (D, (0, 1, 0.1)), (I64, (-3, 20, 4)),
                    (I32, (9, -9, -5)), (F, (5, 2, 1))):
        yield one(f'{args}', 'Range', {}, {k: np.array(v, t) for k, v in zip('abc', args)})
    yield one('of run-time numbers', 'Range', {k: np.array(v, F) for k, v in zip('abc', (1, 7, 2))})
    for shape, repeats in (((2, 3), (2, 2)), ((2, 1, 3), (1, 4, 1)), ((4,), (3,)), ((2, 3), (0, 2))):
        yield one(f'{repeats}', 'Tile', {'x': floats(rng, *shape)}, {'r': np.array(repeats, I64)})
    for upper in (0, 1):
        for k in (-7, -2, -1, 0, 1, 3, 9):
            yield one(f'{upper} {k}', 'Trilu', {'x': floats(rng, 2, 4, 6)}, {'k': np.array(k, I64)},
                      upper=upper)
        yield one(f'{upper}', 'Trilu', {'x': floats(rng, 5, 3)}, upper=upper)
    for k in (-3, -1, 0, 2, 9):
        yield one(f'{k}', 'EyeLike', {'x': floats(rng, 4, 6)}, k=k)
        yield one(f'{k} int64', 'EyeLike', {'x': floats(rng, 6, 4)}, k=k, dtype=7)
    for axis in (0, 1, -1):
        for t in (I64, I32, F):
            yield one(f'axis {axis}', 'OneHot', {'x': rng.integers(-6, 6, (3, 4)).astype(t)},
                      {'d': np.array(5, t), 'v': np.array([-1, 2.5], F)}, axis=axis)
    for block in (1, 2, 3):
        yield one(f'{block}', 'SpaceToDepth', {'x': floats(rng, 2, 3, 6, 12)}, blocksize=block)
    for mode in ('constant', 'reflect', 'edge', 'wrap'):
        yield one(mode, 'Pad', {'x': floats(rng, 3, 4, 5)},
                  {'p': np.array([0, 1, 2, 1, 2, 3], I64)}, opset=19, mode=mode)
        yield one(f'{mode} of axes', 'Pad', {'x': floats(rng, 3, 4, 5)},
                  {'p': np.array([2, 1, 0, 2], I64), 'v': np.array(1.5, F),
                   'a': np.array([-1, 0], I64)}, opset=19, mode=mode)
    for op in ('HannWindow', 'HammingWindow', 'BlackmanWindow'):
        for size in (2, 5, 16, 37):
            for periodic in (0, 1):
                yield one(f'{size} {periodic}', op, {}, {'n': np.array(size, I64)},
                          periodic=periodic)
    yield one('', 'Size', {'x': floats(rng, 2, 3, 4)})
    yield one('', 'CastLike', {'x': floats(rng, 20) * 30}, {'t': np.zeros(1, I32)})


def spectrum_cases(rng):
    """DFT, STFT, MelWeightMatrix"""
    for parts in (1, 2):
        x = floats(rng, 2, 12, 5, parts)
        for axis in (1, 2):
            for inverse in (0, 1):
                yield one(f'axis {axis} {inverse}', 'DFT', {'x': x}, axis=axis, inverse=inverse)
            for n in (4, 15):
                yield one(f'axis {axis} of {n}', 'DFT', {'x': x}, {'n': np.array(n, I64)},
                          opset=17, axis=axis)
            yield one(f'axis {axis} as an input', 'DFT', {'x': x}, {'a': np.array(axis, I64)},
                      order=['x', '', 'a'], opset=20)
        if parts == 1:
            for n in (7, 12):
                yield one(f'onesided of {n}', 'DFT', {'x': x}, {'n': np.array(n, I64)}, axis=1,
                          onesided=1)
    signal, w = floats(rng, 2, 50, 1), abs(floats(rng, 16))
    for onesided in (0, 1):
        yield one(f'{onesided}', 'STFT', {'x': signal},
                  {'s': np.array(7, I64), 'l': np.array(16, I64)}, order=['x', 's', '', 'l'],
                  onesided=onesided)
        yield one(f'{onesided} with a window', 'STFT', {'x': signal},
                  {'s': np.array(8, I64), 'w': w}, onesided=onesided)
    for bins, length, rate, low, high in ((8, 16, 8192, 0, 4096), (20, 512, 16000, 80, 7600)):
        yield one(f'{bins}', 'MelWeightMatrix', {},
                  {'b': np.array(bins, I64), 'n': np.array(length, I64), 'r': np.array(rate, I64),
                   'l': np.array(low, F), 'h': np.array(high, F)})


def reduction_cases(rng):
    """Reductions"""
    x = floats(rng, 3, 4, 5, 2)
    for op in ('L1', 'L2', 'LogSum', 'LogSumExp', 'SumSquare', 'Mean', 'Prod', 'Max', 'Min'):
        data = abs(x) if op == 'LogSum' else x
        for axes in ([0], [1, 2], [-1], [0, 3]):
            yield one(f'{axes}', f'Reduce{op}', {'x': data}, opset=13, axes=axes,
                      keepdims=len(axes) % 2)
            yield one(f'{axes} as an input', f'Reduce{op}', {'x': data}, {'a': np.array(axes, I64)},
                      opset=18)
        yield one('all', f'Reduce{op}', {'x': data}, opset=13)
    yield one('large', 'ReduceLogSumExp', {'x': x * 1000}, opset=13, axes=[1])
    for op in ('L1', 'SumSquare', 'Max', 'Min', 'Prod'):
        yield one('int32', f'Reduce{op}', {'x': rng.integers(-9, 9, (3, 4)).astype(I32)}, opset=13,
                  axes=[1])


def half_cases(rng):
    """Operators of float16"""
    x = floats(rng, 2, 6, 5, 4).astype(H)
    w = (floats(rng, 3, 6, 3, 3) / 8).astype(H)
    for op in ('Relu', 'Sigmoid', 'Tanh', 'Exp', 'Softmax', 'Abs', 'Neg', 'Sqrt', 'Floor', 'IsNaN',
               'Identity', 'Flatten', 'ReduceMean', 'GlobalAveragePool'):
        yield one('', op, {'x': abs(x) if op == 'Sqrt' else x})
    yield one('', 'Conv', {'x': x}, {'w': w}, pads=[1, 1, 1, 1])
    yield one('', 'MaxPool', {'x': x}, kernel_shape=[2, 2])
    yield one('', 'AveragePool', {'x': x}, kernel_shape=[2, 2])
    for op in ('Add', 'Mul', 'Sub', 'Div', 'Max', 'Min', 'Greater'):
        yield one('', op, {'x': x, 'y': floats(rng, 6, 1, 1).astype(H)})
    yield one('', 'Gemm', {'x': floats(rng, 4, 5).astype(H)}, {'w': floats(rng, 5, 3).astype(H)})
    yield one('', 'LayerNormalization', {'x': x}, {'s': floats(rng, 4).astype(H)})
    yield one('', 'Clip', {'x': x}, {'a': np.array(-1, H), 'b': np.array(2, H)})
    yield one('', 'Concat', {'x': x, 'y': x}, axis=1)
    yield one('', 'Cast', {'x': x}, to=1)


def newer_cases(rng):
    """Older operators in operator sets 18 to 22"""
    x = floats(rng, 2, 3, 8, 9)
    for parts in (2, 3, 4):
        yield one(f'{parts} parts', 'Split', {'x': x}, outputs=parts, opset=18, axis=2,
                  num_outputs=parts)
    for ceil in (0, 1):
        yield one(f'dilated {ceil}', 'AveragePool', {'x': x}, opset=19, kernel_shape=[2, 3],
                  dilations=[2, 1], strides=[2, 2], ceil_mode=ceil)
        for pad in (0, 1):
            yield one(f'{ceil} {pad}', 'AveragePool', {'x': x}, opset=22, kernel_shape=[3, 3],
                      strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=ceil, count_include_pad=pad)
        yield one(f'{ceil}', 'MaxPool', {'x': x}, opset=22, outputs=2, kernel_shape=[3, 3],
                  strides=[3, 2], pads=[1, 0, 0, 1], ceil_mode=ceil)
    sizes, scales = np.array([5, 14], I64), np.array([0.6, 1.7], F)
    for mode in ('nearest', 'linear', 'cubic'):
        for how in ('half_pixel', 'asymmetric', 'pytorch_half_pixel', 'half_pixel_symmetric'):
            yield one(f'{mode} {how}', 'Resize', {'x': x}, {'s': scales}, opset=19,
                      order=['x', '', 's'], axes=[2, 3], mode=mode,
                      coordinate_transformation_mode=how)
        if mode != 'nearest':
            for outside in (0, 1):
                yield one(f'{mode} antialias {outside}', 'Resize', {'x': x}, {'s': sizes},
                          opset=18, order=['x', '', '', 's'], axes=[2, 3], mode=mode,
                          antialias=1, exclude_outside=outside)
            yield one(f'{mode} antialias of scales', 'Resize', {'x': x},
                      {'s': np.array([0.3, 0.7], F)}, opset=18, order=['x', '', 's'],
                      axes=[2, 3], mode=mode, antialias=1, cubic_coeff_a=-0.5)
        # Where the product is no whole number ONNX's own cases and the peer differ.
        yield one(f'{mode} align_corners', 'Resize', {'x': x}, {'s': np.array([0.5, 2], F)},
                  opset=19, order=['x', '', 's'], axes=[2, 3], mode=mode,
                  coordinate_transformation_mode='align_corners')
    for policy in ('not_larger', 'not_smaller'):
        yield one(policy, 'Resize', {'x': x}, {'s': sizes}, opset=18, order=['x', '', '', 's'],
                  axes=[2, 3], mode='linear', keep_aspect_ratio_policy=policy)
    for op in ('ReduceSum', 'ReduceMean', 'ReduceMax'):
        for noop in (0, 1):
            yield one(f'no axes {noop}', op, {'x': x}, opset=18, noop_with_empty_axes=noop)
    yield one('', 'Reshape', {'x': x}, {'s': np.array([0, -1, 9], I64)}, opset=21)
    yield one('of bounds', 'Shape', {'x': x}, opset=21, start=1, end=-1)
    q = rng.integers(-100, 100, (2, 3, 4)).astype(I8)
    yield one('per axis', 'DequantizeLinear', {'q': q},
              {'s': abs(floats(rng, 3)) + 0.1, 'z': np.zeros(3, I8)}, opset=21, axis=1)
    yield one('output_dtype', 'QuantizeLinear', {'x': x}, {'s': np.array(0.05, F)}, opset=21,
              output_dtype=3)
    for dims in ((4,), (3, 4), (2, 3, 4)):
        yield one(f'{dims}', 'PRelu', {'x': floats(rng, 2, 3, 4)}, {'s': floats(rng, *dims)},
                  opset=16)
    yield one('int32', 'Clip', {'x': rng.integers(-9, 9, (3, 4)).astype(I32)},
              {'a': np.array(-2, I32), 'b': np.array(5, I32)}, opset=13)
    yield one('', 'HardSwish', {'x': x}, opset=22)
    yield one('', 'BatchNormalization', {'x': x},
              {k: abs(floats(rng, 3)) + 0.1 for k in 'sbmv'}, opset=15)
    yield one('', 'ConvTranspose', {'x': x}, {'w': floats(rng, 3, 2, 3, 3)}, opset=22,
              strides=[2, 2], output_padding=[1, 0], pads=[1, 1, 0, 1])
    yield one('', 'Conv', {'x': x}, {'w': floats(rng, 6, 1, 3, 3), 'b': floats(rng, 6)}, opset=22,
              group=3, auto_pad='SAME_UPPER')


def wide_cases(rng):
    """Quantisation to 16 bits, alone and around a Conv: the peer takes such numbers as int32"""
    x = floats(rng, 2, 3, 8, 9)
    node = helper.make_node
    for t, zero in ((I16, 0), (I16, -700), (U16, 40000)):
        name, kind = f'{t.__name__} {zero}', helper.mapping.NP_TYPE_TO_TENSOR_TYPE[np.dtype(t)]
        narrow = node('Cast', ['q'], ['n'], to=kind)
        widen = node('Cast', ['w'], ['y0'], to=TensorProto.INT32)
        q = rng.integers(np.iinfo(t).min, np.iinfo(t).max, (2, 3, 8, 9)).astype(I32)
        s, z = np.array(2.0 ** -12, F), np.array(zero, t)
        for axes, scales, zeros in (('', s, z), (' per axis', abs(floats(rng, 3)) * F(1e-4) +
                                                 F(1e-5), np.full(3, zero, t))):
            yield Case(f'QuantizeLinear {name}{axes}',
                       [node('QuantizeLinear', ['x', 's', 'z'], ['w'], axis=1), widen], {'x': x},
                       {'s': scales, 'z': zeros}, opset=21)
            yield Case(f'DequantizeLinear {name}{axes}',
                       [narrow, node('DequantizeLinear', ['n', 's', 'z'], ['y0'], axis=1)],
                       {'q': q}, {'s': scales, 'z': zeros}, opset=21)
        # Sums of whole numbers times powers of two, which floats hold.
        yield Case(f'Conv of {name}', [
            narrow, node('DequantizeLinear', ['n', 's', 'xz'], ['a']),
            node('DequantizeLinear', ['k', 'ks'], ['b']), node('Conv', ['a', 'b'], ['c']),
            node('Relu', ['c'], ['d']), node('QuantizeLinear', ['d', 'ys', 'z'], ['w']), widen],
            {'q': q // 16}, {'s': s, 'z': z, 'xz': np.array(zero // 20, t),
                             'k': rng.integers(-100, 100, (4, 3, 3, 3)).astype(I8),
                             'ks': np.array(2.0 ** -6, F), 'ys': np.array(2.0 ** -8, F)}, opset=21)


GROUPS = (newer_cases, function_cases, norm_cases, integer_cases, shape_cases, spectrum_cases,
          reduction_cases, half_cases, wide_cases)
