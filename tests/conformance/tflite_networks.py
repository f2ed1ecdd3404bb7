#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tflite_networks.py NAME OUT.tflite: writes a network of a size that is used, with pseudo-random
weights.  Its input is a picture of uint8, or floats from -1 to 1, its outputs are the answer and
the last map.

  resnet8     int8, scales per channel: 32x32x3, three residual stages, 12.5 M MACs
  ds-cnn      int8, scales per channel: 49x10x1, a 10x4 kernel, four depthwise separable
              convolutions of 64 channels, 2.7 M MACs
  mobile-u8   uint8, zero points of the weights, RELU6: 64x64x3, five depthwise separable
              convolutions, 1.7 M MACs
  shifted     uint8, scales that are powers of two, weights even and biases odd, so that the
              device requantises: 32x32x3, five convolutions, 12.0 M MACs
  segments-i8, segments-u8
              labels pixels: 32x32x3 to 40x48, with HARD_SWISH, LOGISTIC and MUL by channels,
              RESIZE_BILINEAR, SUB, LEAKY_RELU, TRANSPOSE_CONV and ARG_MAX
  ssd-i8, ssd-f32
              boxes and scores of 320 anchors: 64x64x3, depthwise separable convolutions, two maps,
              RESHAPE, CONCATENATION, LOGISTIC
  deeplab-i8, deeplab-f32
              labels pixels: 48x48x3, dilated convolutions side by side with the mean of the map,
              CONCATENATION, RESIZE_BILINEAR, ARG_MAX
"""
import math
import os
import random
import struct
import sys
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from tflite_build import FLOAT32, INT8, INT32, UINT8, Model

NONE, RELU, RELU6 = 0, 1, 3
LOW = {INT8: -128, UINT8: 0}
DEVIATION = 73.6    # of uniform numbers of eight bits
POOLED = 0.32       # square of the mean of rectified normal numbers, by their mean square


@dataclass
class Value:
    """A tensor of the file; power: about the mean square of its numbers."""
    at: int
    shape: list
    scale: float
    zero: int
    power: float


def version(dtype):
    """Of operators that came to int8 with their version 2."""
    return 2 if dtype == INT8 else 1


class Net:
    """A network in the making; scales are such that values fill their range, as calibrated."""

    def __init__(self, dtype, shape, seed, powers=False):
        self.model, self.dtype, self.random = Model(), dtype, random.Random(seed)
        self.shape, self.outputs, self.types, self.file = shape, [], [], b''
        self.powers = powers
        if dtype == FLOAT32:
            self.input = self.model.tensor(shape, FLOAT32)
            self.x = Value(self.input, shape, None, 0, 0.3)
            return
        step = self.rounded(2 / 255)
        self.input = self.model.tensor(shape, UINT8, step, 128)
        self.x = Value(self.input, shape, step, 128, 0.3)
        if dtype == INT8:
            self.x = Value(self.model.tensor(shape, INT8, 2 / 255, 0), shape, 2 / 255, 0, 0.3)
            self.op('QUANTIZE', [self.input], self.x)

    def rounded(self, scale):
        """A power of two not below it if that is wanted."""
        return 2.0 ** math.ceil(math.log2(scale)) if self.powers else scale

    def op(self, name, inputs, y, version=1, **options):
        """An operator; y is the current value from here on."""
        self.model.op(name, inputs, [y.at], version=version, **options)
        self.x = y

    def value(self, shape, power, positive):
        """The tensor of a result that is not negative, or as often as not."""
        if self.dtype == FLOAT32:
            return Value(self.model.tensor(shape, FLOAT32), shape, None, 0, power)
        zero = LOW[self.dtype] + (0 if positive else 128)
        scale = self.rounded((6 if positive else 10) * math.sqrt(power) / 255)
        return Value(self.model.tensor(shape, self.dtype, scale, zero), shape, scale, zero, power)

    def same(self, shape):
        """A tensor that is quantised as the current value."""
        return self.like(self.x, shape)

    def like(self, x, shape):
        """A tensor that is quantised as x."""
        return Value(self.model.tensor(shape, self.dtype, x.scale, x.zero), shape, x.scale, x.zero,
                     x.power)

    def numbers(self, shape, draw):
        """A constant of floats."""
        return self.model.tensor(shape, FLOAT32, data=struct.pack(
            f'<{math.prod(shape)}f', *(draw() for _ in range(math.prod(shape)))))

    def weights(self, shape, terms, channels, axis=0):
        """Constants whose sums of so many products are about 1, and a bias."""
        near = 1 / math.sqrt(terms * self.x.power)
        if self.dtype == FLOAT32:
            return [self.numbers(shape, lambda: self.random.gauss(0, near)),
                    self.numbers([channels], lambda: self.random.uniform(-0.2, 0.2))]
        near /= DEVIATION
        raw, zero = self.random.randbytes(math.prod(shape)), 0
        if self.dtype == INT8:
            raw = raw.replace(b'\x80', b'\x81')
            scale = [near * self.random.uniform(0.7, 1.4) for _ in range(channels)]
        else:
            scale, zero, axis = [self.rounded(near)], self.random.randint(118, 138), 0
        if self.powers:
            raw, zero = bytes(v & 254 for v in raw), 128
        w = self.model.tensor(shape, self.dtype, scale, zero, raw, axis)
        units = [self.x.scale * s for s in scale]
        bias = [round(self.random.uniform(-0.2, 0.2) / units[i % len(units)]) | self.powers
                for i in range(channels)]
        return [w, self.model.tensor([channels], INT32, units, 0,
                                     struct.pack(f'<{channels}i', *bias))]

    def conv(self, channels, kernel, stride=1, act=RELU, dilation=1, like=None):
        """CONV_2D with SAME padding; channels 0: DEPTHWISE_CONV_2D; like: quantised as that."""
        x, deep = self.x, self.x.shape[3]
        out = [1, *(-(-d // stride) for d in x.shape[1:3]), channels or deep]
        if channels:
            w = self.weights([channels, *kernel, deep], math.prod(kernel) * deep, channels)
        else:
            w = self.weights([1, *kernel, deep], math.prod(kernel), deep, axis=3)
        y = self.like(like, out) if like else self.value(out, 1 if act == NONE else 0.5, act != NONE)
        self.op('CONV_2D' if channels else 'DEPTHWISE_CONV_2D', [x.at, *w], y,
                3 if self.dtype == INT8 else 1, padding=0, stride_w=stride, stride_h=stride,
                dilation_w=dilation, dilation_h=dilation, activation=act, **({} if channels else {'depth_multiplier': 1}))

    def residual(self, channels, stride):
        """Two convolutions beside what goes past them, through a third if the shape changes."""
        start = self.x
        self.conv(channels, (3, 3), stride)
        self.conv(channels, (3, 3), act=NONE)
        inner, self.x = self.x, start
        if stride > 1:
            self.conv(channels, (1, 1), stride, NONE)
        y = self.value(inner.shape, (inner.power + self.x.power) / 2, True)
        self.op('ADD', [inner.at, self.x.at], y, 2, activation=RELU)

    def element(self, name, power, **options):
        """A function of each element, which changes its mean square by that factor."""
        y = self.value(self.x.shape, self.x.power * power, False)
        self.op(name, [self.x.at], y, 2 if name == 'LEAKY_RELU' else 1, **options)

    def mean(self):
        """MEAN of each channel of a map that is not negative."""
        x = self.x
        axes = self.model.tensor([2], INT32, data=struct.pack('<2i', 1, 2))
        self.op('MEAN', [x.at, axes], self.value([1, 1, 1, x.shape[3]], x.power * POOLED, True),
                version(self.dtype), keep_dims=1)

    def logistic(self):
        """LOGISTIC, whose result has the quantisation that it must have."""
        scale, zero = (None, 0) if self.dtype == FLOAT32 else (1 / 256, LOW[self.dtype])
        y = Value(self.model.tensor(self.x.shape, self.dtype, scale, zero), self.x.shape, scale,
                  zero, 0.3)
        self.op('LOGISTIC', [self.x.at], y, version(self.dtype))

    def concat(self, parts, axis):
        """CONCATENATION of values that are quantised alike."""
        shape = list(parts[0].shape)
        shape[axis] = sum(p.shape[axis] for p in parts)
        self.op('CONCATENATION', [p.at for p in parts], self.like(parts[0], shape),
                version(self.dtype), axis=axis)

    def rows(self, width):
        """RESHAPE to rows of that many numbers."""
        shape = [1, math.prod(self.x.shape) // width, width]
        at = self.model.tensor([3], INT32, data=struct.pack('<3i', *shape))
        self.op('RESHAPE', [self.x.at, at], self.same(shape))
        return self.x

    def labels(self):
        """ARG_MAX over channels: no current value, but its number."""
        shape = self.x.shape[:3]
        labels = self.model.tensor(shape, INT32)
        axis = self.model.tensor([], INT32, data=struct.pack('<i', 3))
        self.model.op('ARG_MAX', [self.x.at, axis], [labels], version=version(self.dtype),
                      output_type=INT32)
        return Value(labels, shape, None, 0, 0)

    def excite(self, channels):
        """Channels are scaled by numbers from 0 to 1, which their means give."""
        x = self.x
        self.mean()
        self.conv(channels, (1, 1))
        self.conv(x.shape[3], (1, 1), act=NONE)
        self.logistic()
        self.op('MUL', [x.at, self.x.at], self.value(x.shape, x.power * 0.3, True),
                version(self.dtype))

    def resize(self, size, **options):
        """RESIZE_BILINEAR."""
        at = self.model.tensor([2], INT32, data=struct.pack('<2i', *size))
        y = self.same([1, *size, self.x.shape[3]])
        self.op('RESIZE_BILINEAR', [self.x.at, at], y, 3, **options)

    def transposed(self, channels):
        """TRANSPOSE_CONV of 2x2 pixels with stride 2."""
        n, h, w, deep = self.x.shape
        near = 1 / math.sqrt(deep * self.x.power) / DEVIATION
        raw = self.random.randbytes(4 * channels * deep)
        if self.dtype == INT8:
            raw = raw.replace(b'\x80', b'\x81')
        weights = self.model.tensor([channels, 2, 2, deep], self.dtype, near,
                                    LOW[self.dtype] + 128, raw)
        shape = self.model.tensor([4], INT32, data=struct.pack('<4i', n, 2 * h, 2 * w, channels))
        y = self.value([n, 2 * h, 2 * w, channels], 1, False)
        self.op('TRANSPOSE_CONV', [shape, weights, self.x.at], y, 2, padding=0, stride_w=2,
                stride_h=2)

    def separable(self, channels, stride, act):
        """A depthwise and a pointwise convolution."""
        self.conv(0, (3, 3), stride, act)
        self.conv(channels, (1, 1), act=act)

    def pool(self):
        """The mean of the map."""
        last, y = self.x, self.same([1, 1, 1, self.x.shape[3]])
        y.power *= POOLED
        self.op('AVERAGE_POOL_2D', [last.at], y, 2, padding=1, stride_w=1, stride_h=1,
                filter_w=last.shape[2], filter_h=last.shape[1])
        return last

    def flatten(self):
        """As a vector."""
        n = self.x.shape[3]
        shape = self.model.tensor([2], INT32, data=struct.pack('<2i', 1, n))
        self.op('RESHAPE', [self.x.at, shape], self.same([1, n]))

    def dense(self, n):
        """FULLY_CONNECTED."""
        x, k = self.x, self.x.shape[1]
        near = 1 / math.sqrt(k * x.power) / DEVIATION
        w = self.model.tensor([n, k], INT8, near, 0,
                              self.random.randbytes(n * k).replace(b'\x80', b'\x81'))
        b = self.model.tensor([n], INT32, x.scale * near, 0, bytes(4 * n))
        self.op('FULLY_CONNECTED', [x.at, w, b], self.value([1, n], 1, False), 4)

    def finish(self, *outputs):
        """The file with these outputs, the last of which may be labels."""
        self.outputs = [y.shape for y in outputs]
        self.types = [INT32 if y.power == 0 else self.dtype for y in outputs]
        self.file = self.model.file([self.input], [y.at for y in outputs])
        return self

    def end(self, last):
        """SOFTMAX; file, and the shapes of the outputs."""
        shape = self.x.shape
        answer = self.model.tensor(shape, self.dtype, 1 / 256, LOW[self.dtype])
        self.model.op('SOFTMAX', [self.x.at], [answer], version=2, beta=1.0)
        self.outputs, self.types = [shape, last.shape], [self.dtype] * 2
        self.file = self.model.file([self.input], [answer, last.at])
        return self


def resnet8():
    """As MLPerf Tiny has it for CIFAR-10."""
    net = Net(INT8, [1, 32, 32, 3], 8)
    net.conv(16, (3, 3))
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        net.residual(channels, stride)
    last = net.pool()
    net.flatten()
    net.dense(10)
    return net.end(last)


def ds_cnn():
    """As MLPerf Tiny has it for keywords."""
    net = Net(INT8, [1, 49, 10, 1], 5)
    net.conv(64, (10, 4), 2)
    for _ in range(4):
        net.separable(64, 1, RELU)
    last = net.pool()
    net.flatten()
    net.dense(12)
    return net.end(last)


def mobile_u8():
    """A small MobileNet."""
    net = Net(UINT8, [1, 64, 64, 3], 3)
    net.conv(8, (3, 3), 2, RELU6)
    for channels, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        net.separable(channels, stride, RELU6)
    last = net.pool()
    net.conv(100, (1, 1), act=NONE)
    net.flatten()
    return net.end(last)


def shifted():
    """The core for integers computes each product alone, the first one with interleaved rows."""
    net = Net(UINT8, [1, 32, 32, 3], 7, powers=True)
    net.conv(64, (3, 3))
    net.conv(64, (3, 3), 2)
    net.conv(0, (3, 3))
    net.conv(40, (1, 1))
    last = net.pool()
    net.conv(10, (1, 1), act=NONE)
    net.flatten()
    return net.end(last)


def segments(dtype):
    """A small network that labels pixels, with the operators of mobile ones."""
    net = Net(dtype, [1, 32, 32, 3], 9)
    net.conv(16, (3, 3), 2, NONE)
    net.element('HARD_SWISH', 0.5)
    skip = net.x
    net.separable(24, 2, RELU6)
    net.excite(8)
    net.resize(skip.shape[1:3], half_pixel_centers=1)
    net.conv(16, (1, 1), act=NONE)
    y = net.value(skip.shape, (net.x.power + skip.power) / 2, False)
    net.op('SUB', [net.x.at, skip.at], y, version(dtype))
    net.element('LEAKY_RELU', 0.6, alpha=0.1)
    net.transposed(8)
    last = net.x
    net.conv(6, (1, 1), act=NONE)
    net.resize([40, 48], align_corners=1)
    return net.finish(net.x, last, net.labels())


def ssd(dtype):
    """A small detector: boxes and scores of the anchors of two maps."""
    net = Net(dtype, [1, 64, 64, 3], 11)
    net.conv(12, (3, 3), 2, RELU6)
    for channels, stride in ((24, 2), (32, 2), (32, 1)):
        net.separable(channels, stride, RELU6)
    maps = [net.x]
    net.separable(48, 2, RELU6)
    maps.append(net.x)
    found = []
    for width in (4, 6):
        parts, first = [], None
        for net.x in maps:
            net.conv(4 * width, (3, 3), act=NONE, like=first)
            first = first or net.x
            parts.append(net.rows(width))
        net.concat(parts, 1)
        found.append(net.x)
    net.logistic()
    return net.finish(net.x, found[0])


def deeplab(dtype):
    """A small network that labels pixels by what it sees at several distances."""
    net = Net(dtype, [1, 48, 48, 3], 29)
    net.conv(16, (3, 3), 2, RELU6)
    net.separable(24, 2, RELU6)
    net.conv(0, (3, 3), act=RELU6, dilation=2)
    net.conv(32, (1, 1), act=RELU6)
    start, parts = net.x, []
    for kernel, dilation in ((1, 1), (3, 2), (3, 4)):
        net.x = start
        net.conv(16, (kernel, kernel), dilation=dilation, like=parts[0] if parts else None)
        parts.append(net.x)
    net.x = start
    net.mean()
    net.conv(16, (1, 1), like=parts[0])
    net.resize(start.shape[1:3], align_corners=1)
    net.concat([*parts, net.x], 3)
    net.conv(24, (1, 1))
    net.conv(5, (1, 1), act=NONE)
    last = net.x
    net.resize([48, 48], half_pixel_centers=1)
    return net.finish(net.x, last, net.labels())


# The least share of the multiply-accumulates on a device with all cores, in per cent; 90 of others.
# Of segments a TRANSPOSE_CONV of bytes is the CPU's.
FLOORS = {'segments-i8': 65, 'segments-u8': 65, 'ssd-i8': 100, 'ssd-f32': 100, 'deeplab-i8': 99,
          'deeplab-f32': 100}
NETWORKS = {'resnet8': resnet8, 'ds-cnn': ds_cnn, 'mobile-u8': mobile_u8, 'shifted': shifted,
            'segments-i8': lambda: segments(INT8), 'segments-u8': lambda: segments(UINT8),
            'ssd-i8': lambda: ssd(INT8), 'ssd-f32': lambda: ssd(FLOAT32),
            'deeplab-i8': lambda: deeplab(INT8), 'deeplab-f32': lambda: deeplab(FLOAT32)}


def main():
    """Writes the one that is asked for."""
    if len(sys.argv) != 3 or sys.argv[1] not in NETWORKS:
        sys.exit(f'usage: tflite_networks.py NAME OUT.tflite\nNAME is one of: {", ".join(NETWORKS)}')
    with open(sys.argv[2], 'wb') as f:
        f.write(NETWORKS[sys.argv[1]]().file)


if __name__ == '__main__':
    main()
