# SPDX-License-Identifier: MIT
"""Small TensorFlow Lite networks that are built together with the answers they must give."""
import random
import struct
from dataclasses import dataclass

import tflite_rules as rules
from tflite_build import FLOAT32, INT8, INT32, UINT8, Model
from tflite_rules import RANGE, Tensor

NAMES = {INT8: 'int8', UINT8: 'uint8', FLOAT32: 'float32'}
TYPES = (INT8, UINT8, FLOAT32)


@dataclass
class Case:
    """A file, its inputs, and its outputs as they must come."""
    name: str
    file: bytes
    inputs: list
    outputs: list


class Net:
    """A model that is built together with its answers."""

    def __init__(self, seed):
        self.model, self.random = Model(), random.Random(seed)
        self.inputs, self.numbers = [], {}

    def quantisation(self, dtype, near=0.05):
        """A scale about near and a zero point."""
        if dtype not in RANGE:
            return None, 0
        return rules.f32(near * self.random.uniform(0.7, 1.4)), self.random.randint(*RANGE[dtype])

    def fill(self, shape, dtype):
        """Random elements."""
        n = rules.size(shape)
        if dtype in RANGE:
            return [self.random.randint(*RANGE[dtype]) for _ in range(n)]
        return [self.random.randint(-512, 512) / 64 for _ in range(n)]

    def register(self, t, data=None):
        """t as a tensor of the file; it has its quantisation already."""
        axis = 3 if len(t.shape) == 4 and t.shape[0] == 1 else 0
        self.numbers[id(t)] = self.model.tensor(t.shape, t.dtype, t.scale, t.zero, data,
                                                axis if isinstance(t.scale, list) else 0)
        return t

    def input(self, shape, dtype, scale=None, zero=None):
        """An input with random elements."""
        if scale is None:
            scale, zero = self.quantisation(dtype)
        t = self.register(Tensor(shape, dtype, self.fill(shape, dtype), scale, zero))
        self.inputs.append(t)
        return t

    def weights(self, shape, dtype, channels=0):
        """A constant; channels: that many scales, and zero points of 0."""
        scale, zero = self.quantisation(dtype, 0.02)
        if channels and dtype == INT8:
            scale, zero = [self.quantisation(dtype, 0.02)[0] for _ in range(channels)], 0
        t = Tensor(shape, dtype, self.fill(shape, dtype), scale, 0 if dtype == INT8 else zero)
        return self.register(t, t.bytes())

    def bias(self, x, w, n):
        """Numbers for n channels that are added to products of x and w, and their tensor."""
        if x.dtype == FLOAT32:
            t = Tensor([n], FLOAT32, self.fill([n], FLOAT32))
            return t.data, self.register(t, t.bytes())
        scales = w.scale if isinstance(w.scale, list) else [w.scale]
        t = Tensor([n], INT32, [self.random.randint(-9000, 9000) for _ in range(n)],
                   [x.scale * s for s in scales])
        return t.data, self.register(t, struct.pack(f'<{n}i', *t.data))

    def constant(self, data, shape=None):
        """A constant of int32."""
        t = Tensor([len(data)] if shape is None else shape, INT32, data)
        return self.register(t, struct.pack(f'<{len(data)}i', *data))

    def ops(self, name, inputs, outputs, version=1, **options):
        """An operator of several outputs; inputs that are None are left out."""
        self.model.op(name, [self.numbers[id(t)] for t in inputs if t is not None],
                      [self.numbers[id(t)] for t in outputs], version=version, **options)

    def op(self, name, inputs, y, **options):
        """An operator that gives y."""
        self.ops(name, inputs, [y], **options)
        return y

    def result(self, shape, dtype, like=None, near=0.05):
        """The tensor of a result."""
        scale, zero = (like.scale, like.zero) if like else self.quantisation(dtype, near)
        return self.register(Tensor(shape, dtype, [], scale, zero))

    def rescale(self, t, scale, zero=None):
        """Another quantisation of t, which no operator has yet."""
        t.scale, t.zero = scale, t.zero if zero is None else zero
        self.model.replace(self.numbers[id(t)], t.shape, t.dtype, t.scale, t.zero)

    def reshape(self, t):
        """t has another shape now."""
        self.model.replace(self.numbers[id(t)], t.shape, t.dtype, t.scale, t.zero)

    def case(self, name, *outputs):
        """The finished case."""
        return Case(name, self.model.file([self.numbers[id(t)] for t in self.inputs],
                                          [self.numbers[id(t)] for t in outputs]),
                    self.inputs, list(outputs))


def version(dtype):
    """Of operators that came to int8 with their version 2."""
    return 2 if dtype == INT8 else 1


def check(y, computed):
    """The rules' shape must be the file's."""
    declared = list(y.shape)
    computed()
    assert y.shape == declared, (y.shape, declared)
