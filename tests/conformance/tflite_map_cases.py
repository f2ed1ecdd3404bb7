# SPDX-License-Identifier: MIT
"""TensorFlow Lite files of operators that move elements or resize maps, with their answers."""
import itertools
import struct

import tflite_map_rules as rules
from tflite_build import FLOAT32, INT8, INT32
from tflite_net import NAMES, TYPES, Net, version
from tflite_rules import Tensor, pad

PLAIN, CORNERS, CENTERS = (0, 0), (1, 0), (0, 1)


def resizes(dtype):
    """RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: up, down, by whole factors and not, to one."""
    for i, ((h, w), (to_h, to_w), (corners, centers)) in enumerate(itertools.product(
            ((4, 5), (7, 3), (1, 6)), ((8, 10), (5, 7), (3, 2), (1, 1)),
            (PLAIN, CORNERS, CENTERS))):
        options = {'align_corners': corners, 'half_pixel_centers': centers}
        for name, rule in (('RESIZE_BILINEAR', rules.resize_bilinear),
                           ('RESIZE_NEAREST_NEIGHBOR', rules.resize_nearest)):
            net = Net(3000 + i)
            x = net.input([1 + i % 2, h, w, 3], dtype)
            y = rule(x, net.result([1 + i % 2, to_h, to_w, 3], dtype, like=x), corners, centers)
            net.op(name, [x, net.constant([to_h, to_w])], y, version=3, **options)
            yield net.case(f'{name} {i}', y)


def blocks(dtype):
    """DEPTH_TO_SPACE and SPACE_TO_DEPTH."""
    for name, shape, block in (('DEPTH_TO_SPACE', [1, 2, 3, 8], 2),
                               ('DEPTH_TO_SPACE', [2, 3, 2, 27], 3),
                               ('SPACE_TO_DEPTH', [1, 4, 6, 3], 2),
                               ('SPACE_TO_DEPTH', [2, 6, 3, 2], 3)):
        net = Net(3100 + block)
        x = net.input(shape, dtype)
        y = net.result([1], dtype, like=x)
        (rules.depth_to_space if name == 'DEPTH_TO_SPACE' else rules.space_to_depth)(x, y, block)
        net.reshape(y)
        net.op(name, [x], y, version=version(dtype), block_size=block)
        yield net.case(f'{name} {block}', y)


def slices(dtype):
    """STRIDED_SLICE with masks, steps and places from the end; SLICE."""
    for i, (shape, begin, end, step, masks) in enumerate((
            ([1, 6, 8, 3], [0, 1, 2, 0], [1, 5, 8, 3], [1, 1, 2, 1], (0, 0, 0)),
            ([1, 6, 8, 3], [0, 3, -1, 1], [0, 0, 0, 0], [1, -2, -1, 1], (1, 15, 0)),
            ([1, 6, 8, 3], [0, 0, 0, -1], [1, 6, 8, 0], [1, 1, 1, 1], (0, 7, 8)),
            ([5, 4], [3, -3], [4, 9], [1, 1], (0, 0, 1)), ([7], [2], [3], [1], (0, 0, 1)),
            ([7], [-9], [5], [3], (0, 0, 0)))):
        net = Net(3200 + i)
        x = net.input(shape, dtype)
        y = net.result([1], dtype, like=x)
        rules.strided_slice(x, y, begin, end, step, masks)
        net.reshape(y)
        net.op('STRIDED_SLICE', [x, net.constant(begin), net.constant(end), net.constant(step)], y,
               version=version(dtype), begin_mask=masks[0], end_mask=masks[1], ellipsis_mask=0,
               new_axis_mask=0, shrink_axis_mask=masks[2])
        yield net.case(f'STRIDED_SLICE {i}', y)
    for i, (begin, end, step, ellipsis, axis, shape) in enumerate((
            ([1, 1], [2, 4], [1, 1], 0, 0, [1, 2, 4, 5]),
            ([0, 1], [0, 4], [1, 2], 1, 0, [2, 3, 4, 2]),
            ([1, 0, 0, 1], [2, 0, 0, 3], [1, 1, 1, 1], 4, 2, [1, 1, 3, 4, 2]))):
        net = Net(3220 + i)
        x = net.input([2, 3, 4, 5], dtype)
        y = net.result(shape, dtype, like=x)
        plain = {0: ([1, 1, 0, 0], [2, 4, 4, 5]), 1: ([0, 0, 0, 1], [2, 3, 4, 4]),
                 2: ([1, 0, 0, 1], [2, 3, 4, 3])}[i]
        rules.strided_slice(x, y, *plain, [1, 1, 1, step[-1]])
        y.shape = shape
        net.op('STRIDED_SLICE', [x, *(net.constant(v) for v in (begin, end, step))], y,
               version=version(dtype), begin_mask=0, end_mask=0, ellipsis_mask=ellipsis,
               new_axis_mask=axis, shrink_axis_mask=0)
        yield net.case(f'STRIDED_SLICE of dimensions {i}', y)
    net = Net(3210)
    x = net.input([2, 4, 5, 3], dtype)
    y = net.result([1, 2, 5, 2], dtype, like=x)
    rules.strided_slice(x, y, [1, 0, 0, 1], [2, 2, 5, 3], [1, 1, 1, 1])
    net.op('SLICE', [x, net.constant([1, 0, 0, 1]), net.constant([1, 2, -1, 2])], y,
           version=version(dtype))
    yield net.case('SLICE', y)


def parts(dtype):
    """SPLIT, SPLIT_V, UNPACK, PACK."""
    for i, (shape, axis, sizes, name) in enumerate((
            ([1, 4, 3, 6], 3, [2, 2, 2], 'SPLIT'), ([1, 4, 3, 6], 1, [2, 2], 'SPLIT'),
            ([6, 4], -1, [2, 2], 'SPLIT'), ([1, 4, 3, 6], 3, [1, 5], 'SPLIT_V'),
            ([5, 3], 0, [2, -1, 1], 'SPLIT_V'))):
        net = Net(3300 + i)
        x = net.input(shape, dtype)
        at = axis % len(shape)
        sizes = [s if s >= 0 else shape[at] - sum(sizes) - 1 for s in sizes]
        ys = [net.result([s if a == at else d for a, d in enumerate(shape)], dtype, like=x)
              for s in sizes]
        rules.split(x, ys, at)
        inputs = [net.constant([axis], []), x] if name == 'SPLIT' else \
            [x, net.constant(sizes), net.constant([axis], [])]
        net.ops(name, inputs, ys, version=2 if name == 'SPLIT' else version(dtype),
                num_splits=len(ys))
        yield net.case(f'{name} {i}', *ys)
    for i, (shape, axis) in enumerate((([3, 4, 5], 0), ([2, 3, 4, 5], 3), ([1, 4, 2], -2))):
        net = Net(3310 + i)
        x = net.input(shape, dtype)
        at = axis % len(shape)
        ys = [net.result(shape[:at] + shape[at + 1:], dtype, like=x) for _ in range(shape[at])]
        rules.unpack(x, ys, at)
        net.ops('UNPACK', [x], ys, version=version(dtype), num=len(ys), axis=axis)
        yield net.case(f'UNPACK {i}', *ys)
        net = Net(3320 + i)
        inputs = [net.input(shape, dtype)]
        inputs += [net.input(shape, dtype, inputs[0].scale, inputs[0].zero) for _ in range(2)]
        y = net.result([1], dtype, like=inputs[0])
        rules.pack(inputs, y, axis % (len(shape) + 1))
        net.reshape(y)
        net.op('PACK', inputs, y, version=version(dtype), values_count=3, axis=axis)
        yield net.case(f'PACK {i}', y)


def choices(dtype):
    """GATHER, ARG_MAX, ARG_MIN, TRANSPOSE."""
    for i, (shape, indices, axis) in enumerate((([5, 3], [4, 0, 4], 0), ([2, 3, 4, 5], [1], 3),
                                                ([1, 6, 2], [5, 5, 0, 1], 1))):
        net = Net(3400 + i)
        x = net.input(shape, dtype)
        at = net.constant(indices)
        y = net.result([1], dtype, like=x)
        rules.gather(x, at, y, axis)
        net.reshape(y)
        net.op('GATHER', [x, at], y, version=version(dtype), axis=axis)
        yield net.case(f'GATHER {i}', y)
    for i, (shape, axis, name) in enumerate((
            ([1, 4, 5, 7], 3, 'ARG_MAX'), ([2, 4, 5, 3], 1, 'ARG_MAX'), ([3, 40], -1, 'ARG_MIN'),
            ([2, 4, 5, 3], -1, 'ARG_MIN'))):
        net = Net(3410 + i)
        x = net.input(shape, dtype)
        y = net.result([1], INT32)
        rules.arg_max(x, y, axis % len(shape), name == 'ARG_MIN')
        net.reshape(y)
        net.op(name, [x, net.constant([axis], [])], y, version=version(dtype), output_type=INT32)
        yield net.case(f'{name} {i}', y)
    for i, (shape, perm) in enumerate((([2, 3, 4, 5], [0, 3, 1, 2]), ([2, 3, 4, 5], [3, 2, 1, 0]),
                                       ([4, 6], [1, 0]), ([2, 3, 4], [1, 2, 0]))):
        net = Net(3420 + i)
        x = net.input(shape, dtype)
        y = net.result([1], dtype, like=x)
        rules.transpose(x, y, perm)
        net.reshape(y)
        net.op('TRANSPOSE', [x, net.constant(perm)], y, version=version(dtype))
        yield net.case(f'TRANSPOSE {i}', y)


def repeats(dtype):
    """MIRROR_PAD, TILE, GATHER_ND."""
    for i, (shape, pads, symmetric) in enumerate((
            ([1, 4, 5, 3], [0, 0, 3, 2, 1, 4, 0, 2], 0),
            ([1, 4, 5, 3], [1, 0, 4, 0, 0, 5, 3, 1], 1),
            ([3, 4], [2, 1, 0, 3], 0), ([1, 2, 2, 1], [0] * 8, 1))):
        net = Net(3500 + i)
        x = net.input(shape, dtype)
        y = net.result([1], dtype, like=x)
        rules.mirror_pad(x, y, list(zip(pads[::2], pads[1::2])), symmetric)
        net.reshape(y)
        net.op('MIRROR_PAD', [x, net.constant(pads, [len(shape), 2])], y, version=version(dtype),
               mode=symmetric)
        yield net.case(f'MIRROR_PAD {i}', y)
    for i, (shape, times) in enumerate((([2, 3], [2, 3]), ([1, 2, 3, 2], [2, 1, 3, 1]))):
        net = Net(3510 + i)
        x = net.input(shape, dtype)
        y = net.result([1], dtype, like=x)
        rules.tile(x, y, times)
        net.reshape(y)
        net.op('TILE', [x, net.constant(times)], y, version=version(dtype))
        yield net.case(f'TILE {i}', y)
    for i, (shape, indices, depth) in enumerate((([3, 4], [2, 3, 0, 0, 1, 2], 2),
                                                 ([2, 3, 4, 5], [1, 0, 1], 1))):
        net = Net(3520 + i)
        x = net.input(shape, dtype)
        at = net.constant(indices, [len(indices) // depth, depth])
        y = net.result([1], dtype, like=x)
        rules.gather_nd(x, at, y)
        net.reshape(y)
        net.op('GATHER_ND', [x, at], y, version=version(dtype))
        yield net.case(f'GATHER_ND {i}', y)


def batches(dtype):
    """SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND, PADV2, REVERSE_V2."""
    for i, (name, shape, block, borders) in enumerate((
            ('SPACE_TO_BATCH_ND', [1, 4, 6, 2], [2, 3], [0, 0, 0, 0]),
            ('SPACE_TO_BATCH_ND', [2, 3, 5, 2], [2, 4], [1, 0, 0, 3]),
            ('BATCH_TO_SPACE_ND', [6, 2, 2, 3], [2, 3], [0, 0, 0, 0]),
            ('BATCH_TO_SPACE_ND', [8, 3, 2, 2], [2, 2], [1, 2, 0, 1]))):
        net = Net(3700 + i)
        x = net.input(shape, dtype)
        y = net.result([1], dtype, like=x)
        rule = rules.space_to_batch if name[0] == 'S' else rules.batch_to_space
        rule(x, y, block, list(zip(borders[::2], borders[1::2])))
        net.reshape(y)
        net.op(name, [x, net.constant(block), net.constant(borders, [2, 2])], y,
               version=version(dtype))
        yield net.case(f'{name} {i}', y)
    net = Net(3710)
    x = net.input([1, 3, 4, 2], dtype)
    value = net.register(Tensor([1], dtype, [-3 if dtype == INT8 else 5], x.scale, x.zero),
                         struct.pack('<f', 5) if dtype == FLOAT32 else
                         bytes([253 if dtype == INT8 else 5]))
    y = net.result([1], dtype, like=x)
    around = Tensor(x.shape, dtype, x.data, x.scale, value.data[0])
    pad(around, y, ((0, 0), (1, 2), (0, 1), (0, 0)))
    net.reshape(y)
    net.op('PADV2', [x, net.constant([0, 0, 1, 2, 0, 1, 0, 0], [4, 2]), value], y,
           version=version(dtype))
    yield net.case('PADV2', y)
    net = Net(3711)
    x = net.input([3, 4, 5], dtype)
    y = net.result([3, 4, 5], dtype, like=x)
    rules.strided_slice(x, y, [0, -1, 0], [3, 0, 5], [1, -1, 1], (0, 2, 0))
    net.op('REVERSE_V2', [x, net.constant([1])], y, version=1)
    if dtype == FLOAT32:
        yield net.case('REVERSE_V2', y)


def means(dtype):
    """MEAN of bytes along axes that are not those of a map, to another scale and to the same."""
    for i, (shape, axes, keep, same) in enumerate((
            ([2, 3, 4, 30], [3], True, False), ([2, 30, 4, 5], [1], False, False),
            ([20, 30], [-1], False, False), ([2, 3, 30], [0, 2], True, False),
            ([2, 3, 4, 30], [3, 1], True, True), ([20, 30], [0], False, True))):
        if dtype == FLOAT32:
            break
        net = Net(3650 + i)
        x = net.input(shape, dtype)
        y = net.result([1], dtype, like=x if same else None, near=0.02)
        rules.reduce('MEAN', x, y, [a % len(shape) for a in axes], keep)
        net.reshape(y)
        net.op('MEAN', [x, net.constant(axes)], y, version=version(dtype), keep_dims=int(keep))
        yield net.case(f'MEAN of bytes {i}', y)


def shapes(dtype):
    """SHAPE, FILL and BROADCAST_TO."""
    net = Net(3800)
    x = net.input([2, 3, 4, 5], dtype)
    y = net.result([4], INT32)
    y.data = x.shape
    net.op('SHAPE', [x], y, out_type=INT32)
    yield net.case('SHAPE', y)
    if dtype != FLOAT32:
        return
    net = Net(3801)
    x = net.input([], dtype)
    y = net.result([2, 3], dtype)
    y.data = x.data * 6
    net.op('FILL', [net.constant([2, 3]), x], y)
    yield net.case('FILL', y)
    net = Net(3802)
    x = net.input([3, 1], dtype)
    y = net.result([2, 3, 4], dtype)
    y.data = [v for v in x.data for _ in range(4)] * 2
    net.op('BROADCAST_TO', [x, net.constant([2, 3, 4])], y, version=2)
    yield net.case('BROADCAST_TO', y)


def reductions(dtype):
    """SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, and MEAN along other axes."""
    shapes = (([2, 3, 4, 5], [3], True), ([2, 3, 4, 5], [1, -1], False), ([4, 6], [0], False))
    for name in rules.REDUCE if dtype == FLOAT32 else ('REDUCE_MAX', 'REDUCE_MIN'):
        for i, (shape, axes, keep) in enumerate(shapes):
            net = Net(3600 + i)
            x = net.input(shape, dtype)
            y = rules.reduce(name, x, net.result([1], dtype, like=x),
                             [a % len(shape) for a in axes], keep)
            net.reshape(y)
            net.op(name, [x, net.constant(axes)], y, version=version(dtype), keep_dims=int(keep))
            yield net.case(f'{name} {i}', y)


def cases():
    """(type, case) of all."""
    for dtype in TYPES:
        for make in (resizes, blocks, slices, parts, choices, repeats, batches, shapes, reductions, means):
            for case in make(dtype):
                yield NAMES[dtype], case
