# SPDX-License-Identifier: MIT
"""What the operators of TensorFlow Lite compute, element by element.

Quantised operators are those of XNNPACK, as TensorFlow Lite runs them; AVERAGE_POOL_2D, SOFTMAX,
the RELU family and QUANTIZE between int8 and uint8 are TensorFlow Lite's own kernels.  Floats are
computed in double.  A tensor is a Tensor: NHWC, elements in a flat list.
"""
import itertools
import math
import struct
from dataclasses import dataclass, field

from tflite_build import BOOL, FLOAT16, FLOAT32, INT8, INT16, INT32, INT64, UINT8

FORMATS = {FLOAT32: 'f', FLOAT16: 'e', INT8: 'b', UINT8: 'B', INT16: 'h', INT32: 'i', INT64: 'q', BOOL: '?'}
RANGE = {INT8: (-128, 127), UINT8: (0, 255)}
NONE, RELU, RELU_N1_TO_1, RELU6 = range(4)
BOUNDS = {RELU: (0, math.inf), RELU_N1_TO_1: (-1, 1), RELU6: (0, 6)}


@dataclass
class Tensor:
    """Elements with their shape, type and quantisation (scale: a number, or one per channel)."""
    shape: list
    dtype: int
    data: list = field(default_factory=list)
    scale: object = None
    zero: int = 0

    def bytes(self):
        """As a file or an application holds it."""
        return struct.pack(f'<{len(self.data)}{FORMATS[self.dtype]}', *self.data)

    def take(self, raw):
        """The elements of raw bytes."""
        return list(struct.unpack(f'<{len(raw) // struct.calcsize(FORMATS[self.dtype])}'
                                  f'{FORMATS[self.dtype]}', raw))


def f32(x):
    """Rounded to float32."""
    return struct.unpack('f', struct.pack('f', x))[0]


def size(shape):
    """Elements of a shape."""
    return math.prod(shape)


def clamp(dtype, v):
    """v in the range of an element."""
    low, high = RANGE[dtype]
    return max(low, min(high, v))


def half_away(x):
    """To the nearest integer, halves away from zero."""
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


def requantise(y, total, scale):
    """A sum of products as an element of y: float32 product, ties to even."""
    v = f32(f32(total) * f32(scale))
    return clamp(y.dtype, round(max(-1e6, min(1e6, v))) + y.zero)


def activation(y, act, v, own_kernel=False):
    """v, an element of y, after a fused activation."""
    if act == NONE:
        return v
    low, high = BOUNDS[act]
    if y.dtype not in RANGE:
        return max(low, min(high, v))

    def bound(b):
        if math.isinf(b):
            return RANGE[y.dtype][1]
        if own_kernel:
            return clamp(y.dtype, half_away(f32(b / f32(y.scale))) + y.zero)
        return clamp(y.dtype, round(f32(f32(b / f32(y.scale)) + y.zero)))
    return max(bound(low), min(bound(high), v))


def windows(length, kernel, stride, dilation, same):
    """For each output along an axis, the (tap, input index) pairs that lie in the input."""
    reach = (kernel - 1) * dilation + 1
    if same:
        out = -(-length // stride)
        before = max(0, (out - 1) * stride + reach - length) // 2
    else:
        out, before = (length - reach) // stride + 1, 0
    return [[(k, o * stride + k * dilation - before) for k in range(kernel)
             if 0 <= o * stride + k * dilation - before < length] for o in range(out)]


def finish(x, w, y, channel, total, bias):
    """The result of a convolution or product for its sum of products."""
    if x.dtype == FLOAT32:
        return total + (bias[channel] if bias else 0)
    scale = w.scale[channel] if isinstance(w.scale, list) else w.scale
    return requantise(y, total + (bias[channel] if bias else 0),
                      f32(f32(f32(x.scale) * f32(scale)) / f32(y.scale)))


def levels(row, symmetric):
    """Floats as TensorFlow Lite quantises them at run time for weights of int8."""
    low, high = min(0, *row), max(0, *row)
    if low == high:
        return [0.0] * len(row)
    if symmetric:
        most = max(-low, high)
        scale, inverse, zero, least = f32(most / 127), f32(127 / most), 0, -127
    else:
        scale, least = (high - low) / 255, -128
        zero = -128 - low / scale if 128 - low / scale < 127 + high / scale else 127 - high / scale
        zero, scale = half_away(max(-128, min(127, zero))), f32(scale)
        inverse = f32(1 / scale)
    return [(max(least, min(127, half_away(f32(zero + f32(v * inverse))))) - zero) * scale
            for v in row]


def dynamic(x, w, rows, symmetric):
    """x, of so many rows, and w as floats, for the products of floats with weights of int8."""
    n = len(x.data) // rows
    inner = size(w.shape[1:])
    scales = w.scale if isinstance(w.scale, list) else [w.scale]

    def channel(i):
        return (i % w.shape[-1] if w.shape[0] == 1 else i // inner) % len(scales)
    return (Tensor(x.shape, FLOAT32, [v for i in range(rows) for v in
                                      levels(x.data[i * n:(i + 1) * n], symmetric)]),
            Tensor(w.shape, FLOAT32, [v * f32(scales[channel(i)]) for i, v in enumerate(w.data)]))


def conv(x, w, bias, y, stride=(1, 1), dilation=(1, 1), same=True, act=NONE, depthwise=False):
    """CONV_2D with weights OHWI, and DEPTHWISE_CONV_2D with weights 1HWO."""
    n, height, width, c = x.shape
    rows = windows(height, w.shape[1], stride[0], dilation[0], same)
    columns = windows(width, w.shape[2], stride[1], dilation[1], same)
    outputs = w.shape[3] if depthwise else w.shape[0]
    channels = 1 if depthwise else w.shape[3]
    y.shape = [n, len(rows), len(columns), outputs]
    y.data = []
    for b, row, column, o in itertools.product(range(n), rows, columns, range(outputs)):
        first = o * c // outputs if depthwise else o // (outputs * channels // c) * channels
        total = 0
        for (kh, h), (kw, v), i in itertools.product(row, column, range(channels)):
            at = (kh * w.shape[2] + kw) * outputs + o if depthwise else \
                ((o * w.shape[1] + kh) * w.shape[2] + kw) * channels + i
            total += (x.data[((b * height + h) * width + v) * c + first + i] - x.zero) * \
                (w.data[at] - w.zero)
        y.data.append(activation(y, act, finish(x, w, y, o, total, bias)))
    return y


def conv_transpose(x, w, bias, y, stride, same=True):
    """TRANSPOSE_CONV with weights OHWI. Sums of weights with a scale for each channel, and where
    y is larger than what the taps reach, are requantised by TensorFlow Lite's own kernel."""
    n, height, width, c = x.shape
    o, kernel_h, kernel_w, _ = w.shape
    full = [(d - 1) * s + k for d, s, k in zip((height, width), stride, (kernel_h, kernel_w))]
    top, left = (max(f - d, 0) // 2 if same else 0 for f, d in zip(full, y.shape[1:3]))
    sums = [bias[i % o] if bias else 0 for i in range(size(y.shape))]
    for b, i, j, a, e, out in itertools.product(range(n), range(height), range(width),
                                                range(kernel_h), range(kernel_w), range(o)):
        row, column = i * stride[0] + a - top, j * stride[1] + e - left
        if 0 <= row < y.shape[1] and 0 <= column < y.shape[2]:
            at, tap = ((b * height + i) * width + j) * c, ((out * kernel_h + a) * kernel_w + e) * c
            sums[((b * y.shape[1] + row) * y.shape[2] + column) * o + out] += sum(
                (u - x.zero) * (v - w.zero)
                for u, v in zip(x.data[at:at + c], w.data[tap:tap + c]))
    y.data = []
    for i, total in enumerate(sums):
        scale = w.scale[i % o] if isinstance(w.scale, list) else w.scale
        if y.dtype == FLOAT32:
            y.data.append(total)
        elif isinstance(w.scale, list) or any(d > f for f, d in zip(full, y.shape[1:3])):
            y.data.append(clamp(y.dtype, fixed_point(
                total, f32(x.scale) * f32(scale) / f32(y.scale)) + y.zero))
        else:
            y.data.append(requantise(y, total, f32(f32(f32(x.scale) * f32(scale)) / f32(y.scale))))
    return y


def fully_connected(x, w, bias, y, act=NONE):
    """FULLY_CONNECTED: rows of w are the outputs."""
    outputs, k = w.shape
    y.data = []
    for row, o in itertools.product(range(len(x.data) // k), range(outputs)):
        total = sum((a - x.zero) * (b - w.zero) for a, b in
                    zip(x.data[row * k:(row + 1) * k], w.data[o * k:(o + 1) * k]))
        y.data.append(activation(y, act, finish(x, w, y, o, total, bias)))
    return y


def pool(x, y, kernel, stride, same, act=NONE, largest=False):
    """MAX_POOL_2D, or AVERAGE_POOL_2D of the elements inside the map, halves away from zero."""
    n, height, width, c = x.shape
    rows = windows(height, kernel[0], stride[0], 1, same)
    columns = windows(width, kernel[1], stride[1], 1, same)
    y.shape = [n, len(rows), len(columns), c]
    y.data = []
    for b, row, column, i in itertools.product(range(n), rows, columns, range(c)):
        taps = [x.data[((b * height + h) * width + v) * c + i] for _, h in row for _, v in column]
        if largest:
            v = max(taps)
        elif x.dtype == FLOAT32:
            v = sum(taps) / len(taps)
        else:
            v = (2 * abs(sum(taps)) + len(taps)) // (2 * len(taps)) * (1 if sum(taps) > 0 else -1)
        y.data.append(activation(y, act, v, own_kernel=not largest))
    return y


def mean(x, y):
    """MEAN over height and width."""
    n, height, width, c = x.shape
    plane = height * width
    y.data = []
    for b, i in itertools.product(range(n), range(c)):
        total = sum(x.data[(b * plane + p) * c + i] - x.zero for p in range(plane))
        if x.dtype == FLOAT32:
            y.data.append(total / plane)
        else:
            y.data.append(requantise(y, total, f32(f32(x.scale) / f32(f32(y.scale) * plane))))
    return y


def strides(shape):
    """Row-major strides in elements."""
    return [size(shape[i + 1:]) for i in range(len(shape))]


def places(shape):
    """All coordinates, in order."""
    return itertools.product(*(range(d) for d in shape))


def broadcast(a, b, y):
    """Sets y's shape; the pairs of elements of a and b that meet, in y's order."""
    rank = max(len(a.shape), len(b.shape))
    shapes = [[1] * (rank - len(t.shape)) + list(t.shape) for t in (a, b)]
    y.shape = [max(d) for d in zip(*shapes)]
    steps = [[s if d > 1 else 0 for s, d in zip(strides(shape), shape)] for shape in shapes]
    return [tuple(t.data[sum(i * s for i, s in zip(at, step))] for t, step in zip((a, b), steps))
            for at in places(y.shape)]


def add(a, b, y, act=NONE, sign=1):
    """ADD and SUB (sign -1); quantised: factors of 21 bits for the larger scale, rounded once;
    beyond XNNPACK's limits TensorFlow Lite's own kernel, which rounds both operands and the sum."""
    pairs = broadcast(a, b, y)
    if y.dtype not in RANGE:
        y.data = [activation(y, act, u + sign * v) for u, v in pairs]
        return y
    ratios = [f32(f32(t.scale) / f32(y.scale)) for t in (a, b)]
    if min(ratios) < 2 ** -10 or max(ratios) >= 2 ** 8:
        twice = 2 * max(f32(a.scale), f32(b.scale))
        left, right = f32(a.scale) / twice, f32(b.scale) / twice
        y.data = [activation(y, act, clamp(y.dtype, fixed_point(
            fixed_point((u - a.zero) << 20, left) + sign * fixed_point((v - b.zero) << 20, right),
            twice / (2 ** 20 * f32(y.scale))) + y.zero)) for u, v in pairs]
        return y
    shift = 21 - math.frexp(max(ratios))[1]
    left, right = (round(math.ldexp(r, shift)) for r in ratios)
    y.data = []
    for u, v in pairs:
        total = (u - a.zero) * left + sign * (v - b.zero) * right
        y.data.append(activation(y, act, clamp(
            y.dtype, ((total + (1 << (shift - 1))) >> shift) + y.zero)))
    return y


def pad(x, y, pads):
    """PAD with the zero point; pads: (before, after) of each axis."""
    y.shape = [d + a + b for d, (a, b) in zip(x.shape, pads)]
    steps = strides(x.shape)
    y.data = []
    for at in places(y.shape):
        inside = [i - a for i, (a, _) in zip(at, pads)]
        ok = all(0 <= i < d for i, d in zip(inside, x.shape))
        y.data.append(x.data[sum(i * s for i, s in zip(inside, steps))] if ok else x.zero)
    return y


def concat(parts, y, axis):
    """CONCATENATION of tensors quantised alike."""
    inner = [size(t.shape[axis:]) for t in parts]
    y.data = []
    for o in range(size(parts[0].shape[:axis])):
        for t, run in zip(parts, inner):
            y.data += t.data[o * run:(o + 1) * run]
    y.shape = list(parts[0].shape)
    y.shape[axis] = sum(t.shape[axis] for t in parts)
    return y


def softmax(x, y, beta=1.0):
    """SOFTMAX over the last axis; quantised: float32 sums of a table of exponentials."""
    n = x.shape[-1]
    y.data = []
    for at in range(0, len(x.data), n):
        row = x.data[at:at + n]
        below = [max(row) - v for v in row]
        if x.dtype == FLOAT32:
            total = sum(math.exp(-beta * d) for d in below)
            y.data += [math.exp(-beta * d) / total for d in below]
            continue
        scale = f32(f32(x.scale) * f32(beta))
        table = [f32(math.exp(f32(-scale * d))) for d in below]
        total = 0.0
        for e in table:
            total = f32(total + e)
        factor = f32(1 / f32(total * f32(y.scale)))
        y.data += [clamp(y.dtype, int(f32(e * factor) + 0.5) + y.zero) for e in table]
    return y


def fixed_point(v, ratio):
    """v * ratio with a factor of 31 bits: rounded to the factor's bits, then to an integer."""
    fraction, exponent = math.frexp(ratio)
    factor = round(fraction * 2 ** 31)
    v <<= max(exponent, 0)
    v = (v * factor + (1 << 30)) >> 31
    return half_away(v / 2 ** max(-exponent, 0))


def quantise(x, y):
    """QUANTIZE of floats: times the rounded reciprocal of the scale; of bytes: to other ones."""
    ratio = None if x.dtype == FLOAT32 else f32(f32(x.scale) / f32(y.scale))
    y.data = []
    for v in x.data:
        if x.dtype == FLOAT32:
            v = round(max(-1e6, min(1e6, f32(f32(v) * f32(1 / f32(y.scale))))))
        elif x.dtype == y.dtype and 2 ** -8 <= ratio <= 2 ** 7:
            v = ((v - x.zero) * round(256 * ratio) + 128) >> 8
        else:
            v = fixed_point(v - x.zero, ratio)
        y.data.append(clamp(y.dtype, v + y.zero))
    return y


def relu(x, y, act):
    """RELU, RELU6 and RELU_N1_TO_1 as operators."""
    y.data = [activation(y, act, v if y.dtype == FLOAT32 else clamp(
        y.dtype, fixed_point(v - x.zero, f32(f32(x.scale) / f32(y.scale))) + y.zero),
                         own_kernel=True) for v in x.data]
    return y


def dequantise(x, y):
    """DEQUANTIZE."""
    y.data = [f32((v - x.zero) * f32(x.scale)) for v in x.data]
    return y
