# SPDX-License-Identifier: MIT
"""What TensorFlow Lite's reference kernels compute of int16 elements and weights of int8.

Zero points are 0.  A multiplier is (m, e): m of 31 bits, times 2^(e - 31).
"""
import itertools
import math

from tflite_build import INT16
from tflite_rules import BOUNDS, NONE, f32, half_away, size, windows

LOW, HIGH = -32768, 32767


def clamp(v):
    """An element."""
    return max(LOW, min(HIGH, v))


def bounded(y, act, v):
    """v after a fused activation."""
    if act == NONE:
        return v
    low, high = ((HIGH if b > 0 else LOW) if math.isinf(b) else
                 clamp(half_away(f32(b / f32(y.scale)))) for b in BOUNDS[act])
    return max(low, min(high, v))


def multiplier(ratio):
    """A ratio with 31 bits."""
    m, e = math.frexp(ratio)
    m = half_away(m * 2 ** 31)
    return (m // 2, e + 1) if m == 2 ** 31 else (m, e)


def short_product(total, ratio):
    """A sum of 64 bits times the 15 upper bits of a multiplier, halves up."""
    m, e = multiplier(ratio)
    m = (m + 2 ** 15) >> 16 if m < 0x7fff0000 else 0x7fff
    return (total * m + (1 << (14 - e))) >> (15 - e)


def product(v, ratio):
    """v times a multiplier, rounded twice: halves up, then away from zero."""
    m, e = multiplier(ratio)
    v = (v * 2 ** max(e, 0) * m + 2 ** 30) >> 31
    return half_away(v / 2 ** max(-e, 0))


def conv(x, w, bias, y, stride, same, act, depthwise):
    """CONV_2D with weights OHWI, and DEPTHWISE_CONV_2D with weights 1HWO."""
    n, height, width, c = x.shape
    rows, columns = windows(height, w.shape[1], stride, 1, same), windows(width, w.shape[2], stride,
                                                                         1, same)
    outputs = w.shape[3] if depthwise else w.shape[0]
    y.shape, y.data = [n, len(rows), len(columns), outputs], []
    for i, row, column, o in itertools.product(range(n), rows, columns, range(outputs)):
        total = bias[o]
        for (r, h), (s, v) in itertools.product(row, column):
            at = ((i * height + h) * width + v) * c
            if depthwise:
                total += x.data[at + o] * w.data[(r * w.shape[2] + s) * outputs + o]
            else:
                weights = ((o * w.shape[1] + r) * w.shape[2] + s) * c
                total += sum(x.data[at + k] * w.data[weights + k] for k in range(c))
        ratio = f32(x.scale) * f32(w.scale[o]) / f32(y.scale)
        y.data.append(bounded(y, act, clamp(short_product(total, ratio))))


def fully_connected(x, w, bias, y, act):
    """Rows of x with rows of w."""
    n, k = w.shape
    y.shape = [len(x.data) // k, n]
    ratio = f32(f32(x.scale) * f32(w.scale)) / f32(y.scale)
    y.data = [bounded(y, act, clamp(short_product(
        bias[j] + sum(x.data[i * k + t] * w.data[j * k + t] for t in range(k)), ratio)))
        for i in range(y.shape[0]) for j in range(n)]


def add(a, b, y, act, shift_only):
    """ADD of one shape; shift_only: by scales that are powers of two."""
    if shift_only:
        terms = [[half_away(v * t.scale / y.scale) for v in t.data] for t in (a, b)]
        y.data = [bounded(y, act, clamp(p + q)) for p, q in zip(*terms)]
        return
    twice = 2 * max(f32(a.scale), f32(b.scale))
    terms = [[product(v * 2 ** 15, f32(t.scale) / twice) for v in t.data] for t in (a, b)]
    y.data = [bounded(y, act, clamp(product(p + q, twice / (2 ** 15 * f32(y.scale)))))
              for p, q in zip(*terms)]


def mul(a, b, y, act):
    """MUL of one shape."""
    ratio = f32(f32(f32(a.scale) * f32(b.scale)) / f32(y.scale))
    y.data = [bounded(y, act, clamp(product(p * q, ratio))) for p, q in zip(a.data, b.data)]


def pool(x, y, kernel, stride, same, act, largest):
    """AVERAGE_POOL_2D and MAX_POOL_2D of square kernels."""
    n, height, width, c = x.shape
    rows, columns = (windows(d, kernel, stride, 1, same) for d in (height, width))
    y.shape, y.data = [n, len(rows), len(columns), c], []
    for i, row, column, o in itertools.product(range(n), rows, columns, range(c)):
        v = [x.data[((i * height + h) * width + w) * c + o] for _, h in row for _, w in column]
        y.data.append(bounded(y, act, max(v) if largest else half_away(sum(v) / len(v))))


def mean(x, y, axes, keep):
    """MEAN: its fraction cut off where the scale stays, else by floats."""
    groups = {}
    for at, v in zip(itertools.product(*map(range, x.shape)), x.data):
        groups.setdefault(tuple(0 if d in axes else i for d, i in enumerate(at)), []).append(v)
    y.shape = [1 if d in axes else n for d, n in enumerate(x.shape) if keep or d not in axes]
    ratio = f32(f32(x.scale) / f32(y.scale))
    y.data = [int(sum(v) / len(v)) if x.scale == y.scale else
              clamp(half_away(f32(f32(f32(sum(v)) / len(v)) * ratio))) for v in groups.values()]


def rescale(x, y, act=NONE):
    """The RELU family."""
    ratio = f32(f32(x.scale) / f32(y.scale))
    y.data = [bounded(y, act, clamp(product(v, ratio))) for v in x.data]


def quantise(x, y):
    """Floats."""
    y.data = [clamp(half_away(v / f32(y.scale))) for v in x.data]


def table(f, low, high):
    """512 steps of a function and its end with 15 bits, half of the middle's error taken off."""
    step, out = (high - low) / 512, []
    for i in range(512):
        start, end = half_away(f(low + i * step) * 32768), f(low + (i + 1) * step) * 32768
        middle = half_away(f(low + i * step + step / 2) * 32768)
        out.append(clamp(start - half_away((half_away((end + start) / 2) - middle) / 2)))
    return out + [clamp(half_away(f(high) * 32768))]


EXP, INVERSE = table(math.exp, -10, 0), table(lambda x: 1 / (1 + x), 0, 1)


def look_up(v, values):
    """Between two entries."""
    at = 256 + (clamp(v) >> 7)
    return values[at] + (((values[at + 1] - values[at]) * (clamp(v) & 127) + 64) >> 7)


def softmax(x, y, beta):
    """Along the last axis."""
    n, y.data = x.shape[-1], []
    ratio = f32(f32(x.scale) * f32(beta)) / (10 / 65535)
    for i in range(0, size(x.shape), n):
        row = x.data[i:i + n]
        exps = [look_up(product(v - max(row), ratio) + 32767, EXP) for v in row]
        zeros = 32 - sum(exps).bit_length()
        total = ((sum(exps) << (zeros - 1)) + (1 << 13)) >> 14
        scale = look_up(total - (1 << 15) - (1 << 16), INVERSE)
        y.data += [max(0, min(HIGH, (e * scale + (1 << (30 - zeros))) >> (31 - zeros)))
                   for e in exps]


def sigmoid(i):
    """Of i / 24, with 16 bits after the point."""
    return 65536 / (1 + math.exp(-i / 24))


SIGMOID = [half_away(sigmoid(i) + (sigmoid(i + .5) - (sigmoid(i) + sigmoid(i + 1)) / 2) / 2)
           for i in range(255)] + [65535]


def curve(x, y, tangent):
    """LOGISTIC and TANH: between entries of SIGMOID; scales that are powers of two stay exact."""
    log = round(math.log2(x.scale))
    if abs(math.log2(x.scale) - log) < 1e-3 and 0 <= log + 12 <= tangent:
        m, shift = 3 << log + 12, 0
    else:
        shift = max(0, math.ceil(math.log2(32767 / 2 / (f32(x.scale) * 4096 * 3))))
        shift += f32(x.scale) * 4096 * 3 * 2 ** shift <= 32767 / 2
        m = int(f32(x.scale) * 4096 * 3 * 2 ** shift)
    bits, most = (8, 0xffff << 8) if tangent else (9, 0x7fff << 10)
    y.data = []
    for e in x.data:
        v = (e * m + (1 << shift >> 1)) >> shift
        i, part = divmod(abs(v), 1 << bits)
        s = most if i >= 255 else (SIGMOID[i] << bits) + part * (SIGMOID[i + 1] - SIGMOID[i])
        if tangent:
            s = s - (1 << 23) + 128 if v >= 0 else -s + (1 << 23) + 127
        else:
            s = s + 512 if v >= 0 else (1 << 25) - s + 511
        y.data.append(s >> (8 if tangent else 10))
    assert y.dtype == INT16
