# SPDX-License-Identifier: MIT
"""What TensorFlow Lite computes element by element, beside what tflite_rules.py has.

Of quantised operators MUL and LEAKY_RELU are those of XNNPACK, the others TensorFlow Lite's own
kernels.
"""
import math

from tflite_build import FLOAT32
from tflite_rules import NONE, RANGE, activation, broadcast, clamp, f32, fixed_point, half_away

COMPARE = {
    'EQUAL': lambda u, v: u == v, 'NOT_EQUAL': lambda u, v: u != v,
    'LESS': lambda u, v: u < v, 'LESS_EQUAL': lambda u, v: u <= v,
    'GREATER': lambda u, v: u > v, 'GREATER_EQUAL': lambda u, v: u >= v,
}
FUNCTIONS = {
    'LOGISTIC': lambda v: 1 / f32(1 + f32(math.exp(min(-v, 88)))),
    'TANH': math.tanh,
    'ELU': lambda v: v if v > 0 else math.expm1(v),
    'HARD_SWISH': lambda v: v * max(0, min(6, v + 3)) / 6,
}
OF_FLOATS = {
    'SQRT': math.sqrt, 'RSQRT': lambda v: 1 / math.sqrt(v), 'EXP': math.exp, 'LOG': math.log,
    'ABS': abs, 'NEG': lambda v: -v, 'SQUARE': lambda v: v * v, 'FLOOR': math.floor,
    'CEIL': math.ceil, 'ROUND': round, 'SIN': math.sin, 'COS': math.cos,
}
OF_PAIRS = {
    'FLOOR_DIV': lambda u, v: u // v, 'FLOOR_MOD': lambda u, v: u % v, 'MAXIMUM': max,
    'MINIMUM': min, 'SQUARED_DIFFERENCE': lambda u, v: (u - v) ** 2, 'POW': pow,
}


def mul(a, b, y, act=NONE):
    """MUL; quantised: times the scales as one float32, ties to even; beyond XNNPACK's limits
    TensorFlow Lite's own kernel with a factor of 31 bits."""
    pairs = broadcast(a, b, y)
    if y.dtype not in RANGE:
        y.data = [activation(y, act, u * v) for u, v in pairs]
        return y
    scale = f32(f32(f32(a.scale) * f32(b.scale)) / f32(y.scale))
    if scale < 2 ** -16 or scale >= 2 ** 8:
        y.data = [activation(y, act, clamp(y.dtype, fixed_point(
            (u - a.zero) * (v - b.zero), f32(a.scale) * f32(b.scale) / f32(y.scale)) + y.zero))
                  for u, v in pairs]
        return y
    y.data = [activation(y, act, clamp(
        y.dtype, round(f32(f32((u - a.zero) * (v - b.zero)) * scale)) + y.zero)) for u, v in pairs]
    return y


def div(a, b, y, act=NONE):
    """DIV of floats."""
    y.data = [activation(y, act, u / v) for u, v in broadcast(a, b, y)]
    return y


def pair(name, a, b, y):
    """An operator of numbers or, for the larger and the smaller, of bytes."""
    y.data = [OF_PAIRS[name](u, v) for u, v in broadcast(a, b, y)]
    return y


def compare(name, a, b, y):
    """Comparisons; of quantised tensors after both are 256 times their numbers, as integers."""
    pairs = broadcast(a, b, y)
    if a.dtype in RANGE:
        pairs = [(fixed_point((u - a.zero) << 8, f32(a.scale)),
                  fixed_point((v - b.zero) << 8, f32(b.scale))) for u, v in pairs]
    y.data = [COMPARE[name](u, v) for u, v in pairs]
    return y


def function(name, x, y):
    """A function of one number; quantised: of the number in float32, halves away from zero."""
    if y.dtype == FLOAT32:
        y.data = [(FUNCTIONS.get(name) or OF_FLOATS[name])(v) for v in x.data]
        return y
    y.data = [clamp(y.dtype, half_away(f32(f32(FUNCTIONS[name](f32(f32(x.scale) * (v - x.zero)))) *
                                           f32(1 / f32(y.scale)))) + y.zero) for v in x.data]
    return y


def leaky_relu(x, y, alpha):
    """LEAKY_RELU; quantised: factors of 8 bits after the point, of 31 bits beyond their range."""
    if y.dtype == FLOAT32:
        y.data = [v if v > 0 else v * alpha for v in x.data]
        return y
    above = f32(f32(x.scale) / f32(y.scale))
    below = f32(above * f32(alpha))
    y.data = []
    for v in x.data:
        v -= x.zero
        if 2 ** -8 <= above <= 2 ** 7 and abs(below) >= 2 ** -8 and -127.99609375 <= below <= 128:
            v = (v * round(256 * (below if v < 0 else above)) + 128) >> 8
        else:
            v = fixed_point(v, x.scale * (f32(alpha) if v < 0 else 1) / y.scale)
        y.data.append(clamp(y.dtype, v + y.zero))
    return y


def short(v):
    """v in the range of 16 bits."""
    return max(-2 ** 15, min(2 ** 15 - 1, v))


def short_factor(ratio):
    """The 16 upper bits of a factor of 31 bits, and its exponent."""
    fraction, exponent = math.frexp(ratio)
    return short((half_away(fraction * 2 ** 31) + 2 ** 15) >> 16), exponent


def hard_swish(x, y):
    """HARD_SWISH; quantised: x / 3 between -1 and 1 in 16 bits, which saturate, times x."""
    if y.dtype == FLOAT32:
        return function('HARD_SWISH', x, y)
    fine = f32(f32(x.scale) / 128)
    out, out_exponent = short_factor(f32(fine / f32(y.scale)))
    third, exponent = short_factor(f32(fine / f32(3 / 32768)))
    y.data = []
    for v in x.data:
        wide = (v - x.zero) * 128
        part = short(wide << (exponent - 1)) if exponent > 0 else wide
        part = short((part * third + 2 ** 14) >> 15)
        part = short(2 * part) if exponent > 0 else half_away(part / 2 ** -exponent)
        part = (part + 2 ** 15) >> 1
        v = int(part * short((wide * out + 2 ** 14) >> 15) / 2 ** 15)
        y.data.append(clamp(y.dtype, half_away(short(v) / 2 ** -out_exponent) + y.zero))
    return y
