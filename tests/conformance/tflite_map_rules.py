# SPDX-License-Identifier: MIT
"""What TensorFlow Lite's operators compute that move the elements of tensors or resize maps."""
import itertools
import math

from tflite_build import FLOAT32
from tflite_rules import RANGE, Tensor, f32, half_away, pad, places, requantise, size, strides


def pick(x, y, shape, at):
    """y has that shape; at gives for each place of it the place in x."""
    steps = strides(x.shape)
    y.shape = list(shape)
    y.data = [x.data[sum(i * s for i, s in zip(at(p), steps))] for p in places(shape)]
    return y


# ---- other sizes -------------------------------------------------------------------------------

def bilinear_axis(length, out, corners, centers):
    """(lower index, upper index, weight of the upper one) of each output along an axis."""
    corner = int(corners and out != 1)
    scale = f32((length - corner) / (out - corner))
    taps = []
    for i in range(out):
        v = f32(i * scale)
        if centers:
            v = f32(v + f32(f32(0.5 * scale) - 0.5))
        v = min(max(v, 0), length - 1)
        taps.append((int(v), min(int(v) + 1, length - 1), f32(v - int(v))))
    return taps


def resize_bilinear(x, y, corners, centers):
    """RESIZE_BILINEAR; quantised: XNNPACK's weights of 11 bits, rounded once, halves up."""
    n, height, width, c = x.shape
    rows = bilinear_axis(height, y.shape[1], corners, centers)
    columns = bilinear_axis(width, y.shape[2], corners, centers)
    one = 1 if x.dtype == FLOAT32 else 2048
    y.data = []
    for b, (top, bottom, v), (left, right, h), i in itertools.product(range(n), rows, columns,
                                                                      range(c)):
        if one > 1:
            v, h = round(one * v), round(one * h)
        a, b, d, e = (x.data[((b * height + row) * width + column) * c + i]
                      for row in (top, bottom) for column in (left, right))
        above, below = a * one + (b - a) * h, d * one + (e - d) * h
        total = above * one + (below - above) * v
        y.data.append(total if one == 1 else (total + one * one // 2) >> 22)
    return y


def resize_nearest(x, y, corners, centers):
    """RESIZE_NEAREST_NEIGHBOR."""
    def source(i, length, out):
        corner = int(corners and out > 1)
        v = f32((i + 0.5 * centers) * f32((length - corner) / (out - corner)))
        return min(half_away(v) if corners else math.floor(v), length - 1)

    return pick(x, y, y.shape, lambda p: (p[0], source(p[1], x.shape[1], y.shape[1]),
                                          source(p[2], x.shape[2], y.shape[2]), p[3]))


def depth_to_space(x, y, block):
    """DEPTH_TO_SPACE."""
    n, h, w, c = x.shape
    c //= block * block
    return pick(x, y, [n, h * block, w * block, c], lambda p: (
        p[0], p[1] // block, p[2] // block, (p[1] % block * block + p[2] % block) * c + p[3]))


def space_to_depth(x, y, block):
    """SPACE_TO_DEPTH."""
    n, h, w, c = x.shape
    return pick(x, y, [n, h // block, w // block, c * block * block], lambda p: (
        p[0], p[1] * block + p[3] // c // block, p[2] * block + p[3] // c % block, p[3] % c))


def mirror_pad(x, y, pads, symmetric):
    """MIRROR_PAD: with the elements at the edge twice, or not."""
    def source(i, before, length):
        i -= before
        if i < 0:
            return -i - symmetric
        return i if i < length else 2 * length - 2 + symmetric - i

    return pick(x, y, [d + a + b for d, (a, b) in zip(x.shape, pads)], lambda p: [
        source(i, before, d) for i, (before, _), d in zip(p, pads, x.shape)])


def space_to_batch(x, y, block, borders):
    """SPACE_TO_BATCH_ND of maps: borders are (before, after) of height and width."""
    n, h, w, c = x.shape
    padded = Tensor([], x.dtype, [], x.scale, x.zero)
    pad(x, padded, [(0, 0), *borders, (0, 0)])
    (high, wide), (_, h, w, _) = block, padded.shape
    return pick(padded, y, [n * high * wide, h // high, w // wide, c], lambda p: (
        p[0] % n, p[1] * high + p[0] // n // wide, p[2] * wide + p[0] // n % wide, p[3]))


def batch_to_space(x, y, block, borders):
    """BATCH_TO_SPACE_ND of maps: borders are cut off."""
    n, h, w, c = x.shape
    (high, wide), ((top, bottom), (left, right)) = block, borders
    images = n // (high * wide)
    return pick(x, y, [images, h * high - top - bottom, w * wide - left - right, c], lambda p: (
        ((p[1] + top) % high * wide + (p[2] + left) % wide) * images + p[0],
        (p[1] + top) // high, (p[2] + left) // wide, p[3]))


# ---- slices, parts and choices -----------------------------------------------------------------

def strided_slice(x, y, begin, end, step, masks=(0, 0, 0)):
    """STRIDED_SLICE; masks: begin, end, dimensions of which one element remains."""
    ranges = []
    for i, d in enumerate(x.shape):
        if masks[2] >> i & 1:
            ranges.append(range(d)[begin[i]:][:1])
            continue
        ranges.append(range(d)[slice(None if masks[0] >> i & 1 else begin[i],
                                     None if masks[1] >> i & 1 else end[i], step[i])])
    pick(x, y, [len(r) for r in ranges], lambda p: [r[i] for r, i in zip(ranges, p)])
    y.shape = [d for i, d in enumerate(y.shape) if not masks[2] >> i & 1]
    return y


def split(x, ys, axis):
    """SPLIT and SPLIT_V into tensors with shapes."""
    first = 0
    for y in ys:
        pick(x, y, y.shape, lambda p, f=first: [i + f * (a == axis) for a, i in enumerate(p)])
        first += y.shape[axis]


def unpack(x, ys, axis):
    """UNPACK."""
    for i, y in enumerate(ys):
        pick(x, y, x.shape[:axis] + x.shape[axis + 1:],
             lambda p, i=i: [*p[:axis], i, *p[axis:]])


def pack(parts, y, axis):
    """PACK."""
    shape = parts[0].shape
    y.shape = [*shape[:axis], len(parts), *shape[axis:]]
    steps = strides(shape)
    y.data = [parts[p[axis]].data[sum(i * s for i, s in zip(p[:axis] + p[axis + 1:], steps))]
              for p in places(y.shape)]
    return y


def gather(x, indices, y, axis):
    """GATHER."""
    rank = len(indices.shape)
    steps = strides(indices.shape)
    shape = [*x.shape[:axis], *indices.shape, *x.shape[axis + 1:]]
    return pick(x, y, shape, lambda p: [
        *p[:axis], indices.data[sum(i * s for i, s in zip(p[axis:axis + rank], steps))],
        *p[axis + rank:]])


def gather_nd(x, indices, y):
    """GATHER_ND: rows of indices are places."""
    *outer, depth = indices.shape
    rows = [indices.data[i:i + depth] for i in range(0, len(indices.data), depth)]
    steps = strides(outer)
    return pick(x, y, [*outer, *x.shape[depth:]], lambda p: [
        *rows[sum(i * s for i, s in zip(p, steps))], *p[len(outer):]])


def transpose(x, y, perm):
    """TRANSPOSE."""
    return pick(x, y, [x.shape[i] for i in perm], lambda p: [p[perm.index(i)]
                                                             for i in range(len(perm))])


def tile(x, y, times):
    """TILE."""
    return pick(x, y, [d * t for d, t in zip(x.shape, times)],
                lambda p: [i % d for i, d in zip(p, x.shape)])


def arg_max(x, y, axis, least=False):
    """ARG_MAX and ARG_MIN: the first of equal ones."""
    y.shape = x.shape[:axis] + x.shape[axis + 1:]
    step = size(x.shape[axis + 1:])
    y.data = []
    for p in places(y.shape):
        first = sum(i * s for i, s in zip((*p[:axis], 0, *p[axis:]), strides(x.shape)))
        row = x.data[first:first + step * x.shape[axis]:step]
        y.data.append(row.index(min(row) if least else max(row)))
    return y


REDUCE = {'SUM': sum, 'REDUCE_MAX': max, 'REDUCE_MIN': min, 'REDUCE_PROD': math.prod,
          'MEAN': lambda v: sum(v) / len(v)}


def reduce(name, x, y, axes, keep):
    """SUM and its like along axes; MEAN of bytes cuts off the fraction if the scale stays."""
    def mean(row):
        if (x.scale, x.zero) == (y.scale, y.zero):
            return int(sum(row) / len(row))
        return requantise(y, sum(row) - x.zero * len(row),
                          f32(f32(x.scale) / f32(f32(y.scale) * len(row))))

    rows = {}
    for p, v in zip(places(x.shape), x.data):
        rows.setdefault(tuple(0 if i in axes else at for i, at in enumerate(p)), []).append(v)
    rule = mean if name == 'MEAN' and x.dtype in RANGE else REDUCE[name]
    y.data = [rule(row) for row in rows.values()]
    y.shape = [1 if i in axes else d for i, d in enumerate(x.shape) if keep or i not in axes]
    return y
