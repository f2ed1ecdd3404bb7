# SPDX-License-Identifier: MIT
"""Networks of one operator on random tensors, for operators that ONNX's own cases hardly test."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

F, I64, I32 = np.float32, np.int64, np.int32


class Case:
    """A file, the arrays for its inputs, and how many outputs it has.

    files: {name: bytes} of others beside it; peer: what ONNX Runtime is given in its place.
    """

    def __init__(self, name, nodes, inputs, constants=(), outputs=1, opset=17):
        self.name, self.feeds, self.outputs = name, inputs, outputs
        self.files, self.peer = {}, None
        values = [helper.make_tensor_value_info(
            k, helper.np_dtype_to_tensor_dtype(v.dtype) if hasattr(
                helper, 'np_dtype_to_tensor_dtype') else numpy_helper.from_array(v).data_type,
            v.shape) for k, v in inputs.items()]
        graph = helper.make_graph(
            nodes, 'g', values,
            [helper.make_tensor_value_info(f'y{i}', TensorProto.UNDEFINED, None)
             for i in range(outputs)],
            [numpy_helper.from_array(v, k) for k, v in dict(constants).items()])
        for out in graph.output:
            out.ClearField('type')
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)])
        model.ir_version = 8
        self.file = model.SerializeToString()


def one(name, op, inputs, constants=(), outputs=1, opset=17, order=None, **attrs):
    """One node, whose inputs are the tensors and then the constants, or as order says."""
    names = order or [*inputs, *dict(constants)]
    node = helper.make_node(op, names, [f'y{i}' for i in range(outputs)], **attrs)
    return Case(f'{op} {name}', [node], inputs, constants, outputs, opset)


def indices(rng, shape, dim):
    """Indices into dim elements, from either end."""
    return rng.integers(-dim, dim, shape).astype(I64)


def floats(rng, *shape):
    """Numbers from -4 to 4."""
    return rng.uniform(-4, 4, shape).astype(F)


def gather_cases(rng):
    """GatherElements, GatherND, ScatterElements, ScatterND"""
    x = floats(rng, 4, 5, 6)
    for axis in (0, 1, -1):
        dim = x.shape[axis]
        at = indices(rng, (4, 5, 6), dim)
        yield one(f'axis {axis}', 'GatherElements', {'x': x, 'i': at}, axis=axis)
        yield one(f'axis {axis}', 'ScatterElements',
                  {'x': x, 'i': np.argsort(rng.random(x.shape), axis), 'u': floats(rng, 4, 5, 6)},
                  axis=axis)
        for r in ('add', 'mul', 'max', 'min'):
            yield one(f'{r} axis {axis}', 'ScatterElements',
                      {'x': x, 'i': at[:2, :3, :2], 'u': floats(rng, 2, 3, 2)}, opset=18,
                      axis=axis, reduction=r)
            yield one(f'{r} int64', 'ScatterElements',
                      {'x': x.astype(I64), 'i': at[:2, :3, :2],
                       'u': rng.integers(-9, 9, (2, 3, 2))}, opset=18, axis=axis, reduction=r)
    for depth in (1, 2, 3):
        at = np.stack([indices(rng, (3, 2), d) for d in x.shape[:depth]], -1)
        yield one(f'{depth} axes', 'GatherND', {'x': x, 'i': at})
        for r in ('none', 'add', 'mul', 'max', 'min'):
            at = np.stack([rng.permutation(d)[:3] for d in x.shape[:depth]], -1)
            yield one(f'{r} {depth} axes', 'ScatterND',
                      {'x': x, 'i': at, 'u': floats(rng, 3, *x.shape[depth:])}, opset=18,
                      reduction=r)
    yield one('batches', 'GatherND', {'x': x, 'i': indices(rng, (4, 3, 1), 5)}, batch_dims=1)
    yield one('two batches', 'GatherND', {'x': x, 'i': indices(rng, (4, 5, 1), 6)}, batch_dims=2)


def sort_cases(rng):
    """TopK, Unique"""
    for dtype in (F, np.float64, I64, I32):
        x = rng.integers(-5, 5, (3, 7, 4)).astype(dtype)
        for axis, largest in ((0, 1), (1, 0), (-1, 1)):
            k = np.array([min(3, x.shape[axis])], I64)
            yield one(f'{np.dtype(dtype)} axis {axis}', 'TopK', {'x': x}, {'k': k}, outputs=2,
                      axis=axis, largest=largest)
    yield one('of a run-time k', 'TopK', {'x': floats(rng, 9), 'k': np.array([4], I64)}, outputs=2)
    for dtype in (F, I64, np.int8):
        x = rng.integers(-3, 3, (6, 2, 3)).astype(dtype)
        for s in (0, 1):
            yield one(f'{np.dtype(dtype)} sorted {s}', 'Unique', {'x': x}, outputs=4, sorted=s)
            for axis in (0, 1, -1):
                yield one(f'axis {axis} sorted {s}', 'Unique', {'x': x // 3}, outputs=4, sorted=s,
                          axis=axis)


def select_cases(rng):
    """NonZero, Compress, NonMaxSuppression"""
    for dtype in (F, I64, np.bool_, np.uint8):
        yield one(f'{np.dtype(dtype)}', 'NonZero',
                  {'x': rng.integers(0, 2, (3, 4, 2)).astype(dtype)})
    yield one('nothing', 'NonZero', {'x': np.zeros((3, 4), F)})
    x = floats(rng, 3, 4, 5)
    for axis in (0, 1, -1):
        yield one(f'axis {axis}', 'Compress', {'x': x, 'c': rng.random(3) < 0.6}, axis=axis)
        yield one(f'constant, axis {axis}', 'Compress', {'x': x}, {'c': rng.random(3) < 0.6},
                  axis=axis)
    yield one('of all', 'Compress', {'x': x, 'c': rng.random(40) < 0.6})
    for i in range(12):
        n, classes = int(rng.integers(1, 60)), int(rng.integers(1, 4))
        boxes = rng.uniform(0, 1, (2, n, 4)).astype(F)
        if i % 2:
            boxes = (boxes * 8).round() / 8     # equal boxes, empty ones
        scores = rng.uniform(0, 1, (2, classes, n)).astype(F)
        if i % 3 == 0:
            scores = (scores * 4).round() / 4   # equal scores
        yield one(f'{n} boxes, {i}', 'NonMaxSuppression', {'b': boxes, 's': scores},
                  {'m': np.array([rng.integers(0, n + 2)], I64),
                   'i': np.array([rng.uniform(0, 0.8)], F),
                   't': np.array([rng.uniform(0, 0.5)], F)}, center_point_box=i % 2)
    yield one('without limits', 'NonMaxSuppression', {'b': boxes, 's': scores},
              {'m': np.array([99], I64)})
    yield one('no boxes', 'NonMaxSuppression', {'b': boxes, 's': scores})


def sum_cases(rng):
    """CumSum, Einsum, Det, ReverseSequence"""
    for dtype in (F, np.float64, I64, I32):
        x = rng.integers(-5, 5, (3, 4, 5)).astype(dtype)
        for axis in (0, 1, -1):
            for e, r in ((0, 0), (1, 0), (0, 1), (1, 1)):
                yield one(f'{np.dtype(dtype)} {axis} {e}{r}', 'CumSum', {'x': x},
                          {'a': np.array(axis, I64)}, exclusive=e, reverse=r)
    a, b, v = floats(rng, 2, 3, 4), floats(rng, 2, 4, 5), floats(rng, 4)
    q, k = floats(rng, 2, 2, 3, 4), floats(rng, 2, 2, 5, 4)
    for equation, *operands in (
            ('bij,bjk->bik', a, b), ('bij,bjk', a, b), ('bij->bji', a), ('bij->', a),
            ('bij->j', a), ('...ij,...jk->...ik', a, b), ('bij,j->bi', a, v), ('i,j->ij', v, v),
            ('i,i->', v, v), ('ii->i', q[0, 0, :, 1:]), ('ii', q[0, 0, :, 1:]),
            ('...ii->...i', q[..., 1:]), ('bij,bjk,bk->bi', a, b, b[:, 0]), ('b...->...b', a),
            (' b i j , b j k -> b i k ', a, b), ('...i,...i->...', a, a),
            ('bhid,bhjd->bhij', q, k), ('zA,Ab', a[0], b[0])):
        yield one(f'{equation}', 'Einsum', {f'x{i}': o for i, o in enumerate(operands)},
                  equation=equation)
    for n in (1, 2, 3, 6):
        yield one(f'{n} x {n}', 'Det', {'x': floats(rng, 3, n, n)})
    for batch in (0, 1):
        lens = rng.integers(0 if batch else 1, 5, 5 if batch else 4).astype(I64)
        yield one(f'batch axis {batch}', 'ReverseSequence', {'x': floats(rng, 4, 5, 3), 'l': lens},
                  batch_axis=batch, time_axis=1 - batch)


def recurrent_cases(rng):
    """RNN, GRU, LSTM"""
    seq, batch, width, hidden = 5, 3, 4, 6
    for op, gates in (('RNN', 1), ('GRU', 3), ('LSTM', 4)):
        for i in range(10):
            direction = ('forward', 'reverse', 'bidirectional')[i % 3]
            dirs = 1 + (i % 3 == 2)
            x = {'x': floats(rng, seq, batch, width)}
            c = {'w': floats(rng, dirs, gates * hidden, width) / 4,
                 'r': floats(rng, dirs, gates * hidden, hidden) / 4}
            order = ['x', 'w', 'r', '', '', '']
            if i % 2:
                c['b'] = floats(rng, dirs, 2 * gates * hidden) / 4
                order[3] = 'b'
            if i > 3:
                x['l'] = rng.integers(1, seq + 1, batch).astype(I32)
                order[4] = 'l'
            if i > 5:
                x['h'] = floats(rng, dirs, batch, hidden) / 4
                order[5] = 'h'
            if op == 'LSTM' and i > 6:
                x['c'] = floats(rng, dirs, batch, hidden) / 4
                c['p'] = floats(rng, dirs, 3 * hidden) / 4
                order += ['c', 'p']
            attrs = {'direction': direction, 'hidden_size': hidden}
            if op == 'GRU':
                attrs['linear_before_reset'] = i // 2 % 2
            if i == 9:
                attrs['clip'] = 0.5
            if i == 8:
                attrs['activations'] = {'RNN': ['Relu'], 'GRU': ['HardSigmoid', 'Relu'],
                                        'LSTM': ['HardSigmoid', 'Tanh', 'Softplus']}[op] * dirs
            while not order[-1]:
                order.pop()
            yield one(f'{direction} {i}', op, x, c, 3 if op == 'LSTM' else 2, order=order, **attrs)


def map_cases(rng):
    """GridSample, RoiAlign"""
    x = floats(rng, 2, 3, 7, 5)
    grid = rng.uniform(-1.6, 1.6, (2, 4, 6, 2)).astype(F)
    for mode in ('bilinear', 'nearest', 'bicubic'):
        for padding in ('zeros', 'border', 'reflection'):
            for align in (0, 1):
                yield one(f'{mode} {padding} {align}', 'GridSample', {'x': x, 'g': grid}, opset=16,
                          mode=mode, padding_mode=padding, align_corners=align)
    for mode in ('linear', 'nearest'):
        yield one(f'of volumes, {mode}', 'GridSample',
                  {'x': floats(rng, 1, 2, 3, 4, 5),
                   'g': rng.uniform(-1.2, 1.2, (1, 2, 3, 4, 3)).astype(F)}, opset=20, mode=mode)
    start = rng.uniform(-3, 12, (6, 2))
    rois = np.concatenate([start, start + rng.uniform(0, 14, (6, 2))], 1).astype(F)
    at = rng.integers(0, 2, 6)
    x = floats(rng, 2, 3, 10, 12)
    for opset, attrs in ((10, {}), (16, {}), (16, {'coordinate_transformation_mode': 'half_pixel'}),
                         (16, {'coordinate_transformation_mode': 'output_half_pixel'})):
        for ratio in (0, 2):
            for mode in ('avg', 'max'):
                yield one(f'{mode} {ratio} {opset} {attrs}', 'RoiAlign',
                          {'x': x, 'r': rois, 'b': at}, opset=opset, mode=mode, output_height=3,
                          output_width=2, sampling_ratio=ratio, spatial_scale=0.5, **attrs)


def move_cases(rng):
    """Pad, Slice, Split, DepthToSpace, ArgMax, ArgMin"""
    x = floats(rng, 3, 4, 5)
    pads = np.array([1, 0, 2, 2, 1, 3], I64)
    for mode in ('constant', 'reflect', 'edge', 'wrap'):
        yield one(mode, 'Pad', {'x': x}, {'p': pads}, opset=19, mode=mode)
        yield one(f'{mode} axes', 'Pad', {'x': x},
                  {'p': pads[[2, 1, 5, 4]], 'a': np.array([-1, 0], I64)}, opset=19,
                  order=['x', 'p', '', 'a'], mode=mode)
        yield one(f'{mode} int64', 'Pad', {'x': x.astype(I64)}, {'p': pads}, opset=19, mode=mode)
    yield one('value', 'Pad', {'x': x}, {'p': pads, 'v': np.array(7, F)})
    yield one('negative', 'Pad', {'x': x}, {'p': np.array([-1, 2, 0, 1, -2, -1], I64)})
    for start, end, axis, step in ((1, 3, 1, 1), (-1, -9, 0, -1), (0, 99, 2, 2), (4, 0, -1, -3)):
        yield one(f'{start} {end} {axis} {step}', 'Slice', {'x': x},
                  {k: np.array([v], I64) for k, v in zip('seat', (start, end, axis, step))})
    yield one('in 3', 'Split', {'x': x}, outputs=3, opset=18, axis=2, num_outputs=3)
    yield one('of sizes', 'Split', {'x': x}, {'s': np.array([1, 3], I64)}, outputs=2, axis=1)
    for mode in ('DCR', 'CRD'):
        yield one(mode, 'DepthToSpace', {'x': floats(rng, 2, 12, 2, 3)}, mode=mode, blocksize=2)
    for dtype in (F, I64, I32, np.int8, np.uint8):
        y = rng.integers(0, 4, (3, 4, 5)).astype(dtype)
        for op in ('ArgMax', 'ArgMin'):
            if op == 'ArgMin' and dtype is I64:
                continue        # the peer has none
            for last in (0, 1):
                yield one(f'{np.dtype(dtype)} last {last}', op, {'x': y}, axis=1, keepdims=last,
                          select_last_index=last)


def resize_cases(rng):
    """Resize"""
    x = floats(rng, 1, 2, 5, 6)
    none = np.array([], F)
    for mode in ('nearest', 'linear', 'cubic'):
        for where in ('half_pixel', 'asymmetric', 'align_corners', 'pytorch_half_pixel',
                      'half_pixel_symmetric'):
            # Whole sizes with align_corners: of others ONNX's own cases and the peer differ.
            for scale in ((1, 1, 2, 1.5),
                          (1, 1, 0.6, 0.5 if where == 'align_corners' else 0.8)):
                yield one(f'{mode} {where} {scale}', 'Resize', {'x': x},
                          {'s': np.array(scale, F)}, opset=19, order=['x', '', 's'], mode=mode,
                          coordinate_transformation_mode=where)
            yield one(f'{mode} {where} sizes', 'Resize', {'x': x},
                      {'z': np.array([7, 4], I64)}, opset=19, order=['x', '', '', 'z'], mode=mode,
                      coordinate_transformation_mode=where, axes=[2, 3])
        yield one(f'{mode} crop', 'Resize', {'x': x},
                  {'r': np.array([0, 0, 0.2, 0.1, 1, 1, 0.9, 1.3], F),
                   'z': np.array([1, 2, 4, 7], I64)}, order=['x', 'r', '', 'z'], mode=mode,
                  coordinate_transformation_mode='tf_crop_and_resize', extrapolation_value=9.0)
    for mode in ('linear', 'cubic'):
        for scale in ((1, 1, 0.5, 0.4), (1, 1, 1.5, 0.7), (1, 1, 2, 1.6)):
            for exclude in (0, 1):
                yield one(f'{mode} antialias {scale} {exclude}', 'Resize', {'x': x},
                          {'s': np.array(scale, F)}, opset=19, order=['x', '', 's'], mode=mode,
                          antialias=1, exclude_outside=exclude)
    for policy in ('not_larger', 'not_smaller'):
        yield one(policy, 'Resize', {'x': x}, {'z': np.array([9, 7], I64)}, opset=19,
                  order=['x', '', '', 'z'], mode='linear', axes=[2, 3],
                  keep_aspect_ratio_policy=policy)
    yield one('volumes', 'Resize', {'x': floats(rng, 1, 2, 3, 4, 5)},
              {'s': np.array([1, 1, 2, 1.5, 2], F)}, order=['x', '', 's'], mode='linear')


def pool_cases(rng):
    """Pools"""
    x = floats(rng, 2, 3, 7, 6)
    for p in (1, 2, 3):
        yield one(f'p {p}', 'LpPool', {'x': x}, opset=18, p=p, kernel_shape=[3, 2], strides=[2, 1],
                  pads=[1, 0, 1, 1])
        yield one(f'p {p}', 'GlobalLpPool', {'x': x}, p=p)
    yield one('dilations', 'LpPool', {'x': x}, opset=18, kernel_shape=[2, 2], dilations=[2, 2])
    yield one('dilations', 'AveragePool', {'x': x}, opset=19, kernel_shape=[2, 2],
              dilations=[2, 2])
    for ceil in (0, 1):
        yield one(f'indices, ceil {ceil}', 'MaxPool', {'x': x}, outputs=2, kernel_shape=[3, 2],
                  strides=[2, 2], ceil_mode=ceil)
        yield one(f'ceil {ceil}', 'AveragePool', {'x': x}, opset=19, kernel_shape=[3, 2],
                  strides=[2, 2], pads=[1, 0, 1, 1], ceil_mode=ceil, count_include_pad=1)
    yield one('of blocks', 'Col2Im', {'x': floats(rng, 2, 3 * 4, 12)},
              {'i': np.array([4, 5], I64), 'b': np.array([2, 2], I64)}, opset=18)
    yield one('of dilated blocks', 'Col2Im', {'x': floats(rng, 1, 2 * 4, 12)},
              {'i': np.array([6, 5], I64), 'b': np.array([2, 2], I64)}, opset=18,
              dilations=[2, 2], pads=[1, 0, 0, 1], strides=[2, 1])


def numbers(rng, dtype, *shape):
    """Bytes whose products the peer adds without saturation."""
    return rng.integers(0 if dtype == np.uint8 else -64, 255 if dtype == np.uint8 else 63,
                        shape).astype(dtype)


def matrix_cases(rng, a, b):
    """Products of matrices of two types."""
    name, zero = f'{np.dtype(a)} {np.dtype(b)}', {'az': np.array(3, a), 'bz': np.array(2, b)}
    yield one(name, 'MatMulInteger', {'a': numbers(rng, a, 2, 3, 4), 'b': numbers(rng, b, 4, 5)})
    yield one(f'{name} of a vector', 'MatMulInteger', {'a': numbers(rng, a, 4)},
              {'b': numbers(rng, b, 4, 5), **zero})
    yield one(f'{name} of batches', 'MatMulInteger',
              {'a': numbers(rng, a, 2, 3, 4), 'b': numbers(rng, b, 2, 4, 5)}, zero)
    yield one(f'{name} by column', 'MatMulInteger', {'a': numbers(rng, a, 3, 4)},
              {'b': numbers(rng, b, 4, 5), 'az': zero['az'], 'bz': numbers(rng, b, 5)})
    for by_column in (0, 1):
        yield one(f'{name} by column {by_column}', 'QLinearMatMul',
                  {'a': numbers(rng, a, 2, 3, 4)},
                  {'as': np.array(.03, F), 'az': zero['az'], 'b': numbers(rng, b, 4, 5),
                   'bs': rng.uniform(.01, .05, 5).astype(F) if by_column else np.array(.02, F),
                   'bz': numbers(rng, b, 5) if by_column else zero['bz'],
                   'ys': np.array(.05, F), 'yz': np.array(7, a)})


def integer_cases(rng):
    """MatMulInteger, QLinearMatMul, ConvInteger, QLinearConv"""
    for a, b in ((np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)):
        yield from matrix_cases(rng, a, b)
    for b in (np.uint8, np.int8):
        for axes in (1, 2, 3):
            x = {'x': numbers(rng, np.uint8, 1, 4, *(6, 7, 5)[:axes])}
            w = numbers(rng, b, 6, 2, *(3, 2, 2)[:axes])
            yield one(f'{np.dtype(b)} {axes}', 'ConvInteger', x,
                      {'w': w, 'xz': np.array(4, np.uint8)}, group=2, pads=[1] * 2 * axes)
            yield one(f'{np.dtype(b)} {axes}', 'QLinearConv', x,
                      {'xs': np.array(.02, F), 'xz': np.array(100, np.uint8), 'w': w,
                       'ws': rng.uniform(.01, .03, 6).astype(F), 'wz': np.zeros(6, b),
                       'ys': np.array(.1, F), 'yz': np.array(120, np.uint8),
                       'b': rng.integers(-999, 999, 6).astype(I32)},
                      group=2, auto_pad='SAME_UPPER')


def body(nodes, inputs, outputs, constants=()):
    """A graph within an operator; inputs: {name: type}."""
    return helper.make_graph(
        nodes, 'body', [helper.make_tensor_value_info(
            k, t, None if t == TensorProto.FLOAT else []) for k, t in inputs.items()],
        [helper.make_tensor_value_info(k, TensorProto.FLOAT if k != 'go' else TensorProto.BOOL,
                                       None) for k in outputs],
        [numpy_helper.from_array(v, k) for k, v in dict(constants).items()])


def branch(op, out):
    """A branch that reads x and a constant of its own."""
    return body([helper.make_node(op, ['x', 'k'], [out])], {}, [out], {'k': np.array([3], F)})


def loop_cases(rng, nested):
    """Loops whose count, or condition, is constant."""
    node = helper.make_node
    step = [node('Mul', ['v', 'x'], ['w0']), node('Cast', ['i'], ['j'], to=TensorProto.FLOAT),
            node('Add', ['w0', 'j'], ['w']), node('Less', ['i', 'most'], ['go']),
            node('Add', ['w', 'x'], ['each'])]
    if nested:
        step[-1] = node('If', ['go'], ['each'], then_branch=branch('Add', 'p'),
                        else_branch=branch('Sub', 'q'))
    loop = body(step, {'i': TensorProto.INT64, 'c': TensorProto.BOOL, 'v': TensorProto.FLOAT},
                ['go', 'w', 'each'], {'most': np.array(3, I64)})
    for count in (1, 3, 9):
        yield Case(f'Loop {count} {nested}',
                   [node('Loop', ['n', '', 'x'], ['y0', 'y1'], body=loop)],
                   {'x': floats(rng, 2, 3)}, {'n': np.array(count, I64)}, 2)
    yield Case(f'Loop by condition {nested}',
               [node('Loop', ['', 't', 'x'], ['y0', 'y1'], body=loop)],
               {'x': floats(rng, 2, 3)}, {'t': np.array(True)}, 2)


def control_cases(rng):
    """If, Loop, Scan of constant conditions and counts"""
    node = helper.make_node
    for good in (True, False):
        choose = node('If', ['c'], ['y0'], then_branch=branch('Add', 'p'),
                      else_branch=branch('Sub', 'q'))
        yield Case(f'If {good}', [choose], {'x': floats(rng, 2, 3)}, {'c': np.array(good)})
        shape = [node('Shape', ['x'], ['s']), node('Gather', ['s', 'one'], ['d']),
                 node('Equal', ['d', 'd3' if good else 'one'], ['c']), choose]
        yield Case(f'If of a shape, {good}', shape, {'x': floats(rng, 2, 3)},
                   {'one': np.array(1, I64), 'd3': np.array(3, I64)})
    yield from loop_cases(rng, False)
    yield from loop_cases(rng, True)
    scan = body([node('Add', ['s', 'a'], ['t']), node('Mul', ['t', 'k'], ['each'])],
                {'s': TensorProto.FLOAT, 'a': TensorProto.FLOAT}, ['t', 'each'],
                {'k': np.array([2, 3, 4], F)})
    for axis, out, back, front in ((0, 0, 0, 0), (1, 0, 1, 0), (-2, 1, 0, 1), (-1, -1, 1, 1)):
        yield Case(f'Scan {axis} {out} {back} {front}',
                   [node('Scan', ['s', 'x'], ['y0', 'y1'], body=scan, num_scan_inputs=1,
                         scan_input_axes=[axis], scan_output_axes=[out],
                         scan_input_directions=[back], scan_output_directions=[front])],
                   {'s': floats(rng, 3),
                    'x': floats(rng, 3, 4) if axis % 2 else floats(rng, 4, 3)}, (), 2)


GROUPS = (integer_cases, move_cases, resize_cases, pool_cases, control_cases, gather_cases,
          sort_cases, select_cases, sum_cases, recurrent_cases, map_cases)
