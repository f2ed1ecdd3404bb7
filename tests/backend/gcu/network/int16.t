#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Networks of int16 elements on core gcu, a TensorFlow Lite file of 16x8 and ONNX files with
QuantizeLinear and DequantizeLinear: the CPU's bytes, those of the rules of TensorFlow Lite, and
the share of the multiply-adds on gcu."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.dont_write_bytecode = True
TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
sys.path[:0] = [os.path.join(TESTS, folder) for folder in ('conformance', 'lib')]
import tap
import tflite_int16_cases as tflite
import tflite_int16_rules as rules
from macs import share
from tflite_net import Net
from tflite_rules import NONE, RELU, RELU6, windows

BUILD = os.environ.get('CNNACC_BUILD', os.path.join(TESTS, '..', 'build'))
CNNRUN = os.path.join(BUILD, 'runtime', 'tools', 'cnnrun')
BUILDS = ('gcu', 'gcu:atomic-c=32:atomic-k=32', 'gcu:atomic-c=4:atomic-k=16:cbuf-banks=4:bus=8')
FLOOR = 99
LEAST = 200     # different numbers in an answer


def layer(net, x, channels, kernel, stride, act, depthwise=False):
    """CONV_2D or DEPTHWISE_CONV_2D of a map, padded to its size, and its answer."""
    n, height, width, deep = x.shape
    shape = [1, kernel, kernel, deep] if depthwise else [channels, kernel, kernel, deep]
    w, b = tflite.constants(net, shape, shape[3] if depthwise else channels, x, True)
    terms = kernel * kernel * (1 if depthwise else deep)
    y = tflite.result(net, [n, len(windows(height, kernel, stride, 1, True)),
                            len(windows(width, kernel, stride, 1, True)), channels],
                      x.scale * 0.5 * terms ** 0.5)
    rules.conv(x, w, b.data, y, stride, True, act, depthwise)
    more = {'depth_multiplier': 1} if depthwise else {}
    net.op('DEPTHWISE_CONV_2D' if depthwise else 'CONV_2D', [x, w, b], y,
           version=5 if depthwise else 4, padding=0, stride_h=stride, stride_w=stride,
           dilation_h=1, dilation_w=1, activation=act, **more)
    return y


def tflite_network():
    """Convolutions, depthwise ones among them."""
    net = Net(16)
    x = tflite.elements(net, [1, 14, 12, 5])
    x = layer(net, x, 24, 3, 1, RELU)
    x = layer(net, x, 24, 3, 2, RELU6, depthwise=True)
    x = layer(net, x, 40, 1, 1, RELU)
    x = layer(net, x, 40, 3, 1, NONE, depthwise=True)
    return net.case('16x8', layer(net, x, 17, 1, 1, NONE))


class Qdq:
    """A network of convolutions between QuantizeLinear and DequantizeLinear of int16."""

    def __init__(self, path, dtype, by_channel):
        self.random, self.dtype, self.by_channel = np.random.default_rng(8), dtype, by_channel
        self.nodes, self.constants = [], []
        self.x, self.channels, self.scale = 'x', 12, np.float32(3e-4)
        self.quantise(self.scale)
        for channels, kernel, group, relu in ((24, 3, 1, True), (24, 3, 24, True), (32, 1, 1, True),
                                              (16, 3, 4, False)):
            self.conv(channels, kernel, group, relu)
        self.write(path)

    def constant(self, a):
        """Its name."""
        self.constants.append(numpy_helper.from_array(np.asarray(a), f'c{len(self.constants)}'))
        return self.constants[-1].name

    def node(self, op, *inputs, **attributes):
        """Its result."""
        self.nodes.append(helper.make_node(op, inputs, [f'v{len(self.nodes)}'], **attributes))
        return self.nodes[-1].output[0]

    def quantise(self, scale):
        """The current value to int16 and back."""
        names = self.constant(np.float32(scale)), self.constant(np.int16(0))
        self.x = self.node('DequantizeLinear', self.node('QuantizeLinear', self.x, *names), *names)
        self.scale = np.float32(scale)

    def stored(self, a, scale):
        """A constant that is stored as integers, by its channels."""
        zero = np.zeros(np.shape(scale), a.dtype)
        more = {'axis': 0} if np.ndim(scale) else {}
        return self.node('DequantizeLinear', self.constant(a),
                         self.constant(np.asarray(scale, np.float32)), self.constant(zero), **more)

    def conv(self, channels, kernel, group, relu):
        """Its result has about the size of its input."""
        shape = (channels, self.channels // group, kernel, kernel)
        most = 127 if self.dtype == np.int8 else 400
        w = self.random.integers(-most, most + 1, shape).astype(self.dtype)
        near = 1.7 / (most * np.sqrt(np.prod(shape[1:])))
        scale = self.random.uniform(0.7 * near, 1.4 * near, channels if self.by_channel else None)
        scale = np.float32(scale)
        bias = self.random.integers(-1000, 1001, channels).astype(np.int32)
        self.x = self.node('Conv', self.x, self.stored(w, scale),
                           self.stored(bias, np.float32(self.scale * scale)), group=group,
                           pads=[kernel // 2] * 4)
        self.channels = channels
        if relu:
            self.x = self.node('Relu', self.x)
        self.quantise(self.scale * np.float32(1.1))

    def write(self, path):
        """The file."""
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                  for name, shape in (('x', [1, 12, 13, 11]), (self.x, None))]
        graph = helper.make_graph(self.nodes, 'int16', values[:1], values[1:], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 21)],
                                    ir_version=10), path)


def run(path, work, *options):
    """The answer, and what cnnrun says."""
    done = subprocess.run([CNNRUN, path, '--input', f'0={work}/in.npy', '--output',
                           f'0={work}/out.npy', '--explain', *options], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        return np.array([]), done.stdout
    return np.load(f'{work}/out.npy'), done.stdout


def check(result, what, path, work, wanted=None):
    """On each build of the core."""
    answer, said = run(path, work, '--device', 'sim', '--core', 'cpu')
    result.ok(len(set(answer.ravel().tolist())) >= LEAST, f'{what}: an answer of the CPU', said)
    if wanted is not None:
        result.ok(answer.ravel().tolist() == wanted, f'{what}: the CPU follows the rules', said)
    for build in BUILDS:
        got, said = run(path, work, '--device', f'sim:cores={build}', '--core', 'gcu')
        part = share(said)
        result.ok(got.tobytes() == answer.tobytes() and got.size,
                  f'{what}: the same bytes on {build}', said)
        result.ok(part >= FLOOR, f'{what}: {part:.2f} % of the MACs on {build}, floor {FLOOR} %',
                  said)


def main():
    """All results."""
    result = tap.Tap()
    with tempfile.TemporaryDirectory() as work:
        case = tflite_network()
        path = os.path.join(work, 'net.tflite')
        with open(path, 'wb') as f:
            f.write(case.file)
        x, y = case.inputs[0], case.outputs[0]
        np.save(f'{work}/in.npy', np.array(x.data, np.int16).reshape(x.shape))
        check(result, 'TensorFlow Lite 16x8', path, work, y.data)
        np.save(f'{work}/in.npy', np.random.default_rng(4).uniform(
            -9, 9, (1, 12, 13, 11)).astype(np.float32))
        path = os.path.join(work, 'net.onnx')
        for dtype in (np.int8, np.int16):
            for by_channel in (False, True):
                Qdq(path, dtype, by_channel)
                check(result, f'QDQ, weights of {dtype.__name__} with '
                      f'{"a scale for each channel" if by_channel else "one scale"}', path, work)
    return result.done()


sys.exit(main())
