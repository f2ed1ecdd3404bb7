#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A detector of the shape of Ultraface slim on core gcu in FP16: the detections are those of FP32,
boxes within 1 pixel, scores within 0.01. Its weights are made, so what it detects means nothing.

detector.t MODEL.onnx PICTURE.npy: of a file of that shape, with 1 x 3 x 240 x 320 floats."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.dont_write_bytecode = True
TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
sys.path.insert(0, os.path.join(TESTS, 'lib'))
import tap
from macs import share

BUILD = os.environ.get('CNNACC_BUILD', os.path.join(TESTS, '..', 'build'))
CNNRUN = os.path.join(BUILD, 'runtime', 'tools', 'cnnrun')
HALF = ('--device', 'sim:cores=gcu', '--core', 'gcu', '--precision', 'fp16')
FULL = ('--device', 'sim', '--core', 'cpu')
HEIGHT, WIDTH = 240, 320
STEPS = (8, 16, 32, 64)                  # pixels from one anchor to the next, of four maps
SIDES = ((10, 16, 24), (32, 48), (64, 96), (128, 192, 256))     # of a map's anchors
FOUND, OVERLAP = 0.7, 0.3               # score of a detection; of which less certain ones are none
PIXEL, SCORE, LEAST = 1, 0.01, 10
SPREAD, DOUBT = 4.0, 4.0                 # of made scores: few anchors find anything


class Net:
    """A network in the making; x is the current value, channels its channels."""

    def __init__(self):
        self.nodes, self.constants, self.random = [], [], np.random.default_rng(26)
        self.x, self.channels = 'picture', 3

    def constant(self, a, dtype=np.float32):
        """Its name."""
        name = f'c{len(self.constants)}'
        self.constants.append(numpy_helper.from_array(np.asarray(a, dtype), name))
        return name

    def node(self, op, *more, out=None, **attributes):
        """Of the current value and others."""
        y = out or f'v{len(self.nodes)}'
        self.nodes.append(helper.make_node(op, [self.x, *more], [y], **attributes))
        self.x = y

    def conv(self, channels, kernel=3, stride=1, group=1, relu=True, gain=1.4):
        """Sums of about the size of the values."""
        shape = (channels, self.channels // group, kernel, kernel)
        w = self.random.normal(0, gain / np.sqrt(np.prod(shape[1:])), shape)
        b = self.constant(self.random.normal(0, 0.1, channels))
        self.node('Conv', self.constant(w), b, group=group, pads=[kernel // 2] * 4,
                  strides=[stride] * 2)
        self.channels = channels
        if relu:
            self.node('Relu')

    def separable(self, channels, stride=1, relu=True):
        """A depthwise convolution and one of single pixels."""
        self.conv(self.channels, 3, stride, self.channels)
        self.conv(channels, 1, relu=relu)

    def head(self, per_anchor, anchors, last):
        """Rows of that many numbers, by anchor."""
        x, channels = self.x, self.channels
        if last:
            self.conv(per_anchor * anchors, relu=False)
        else:
            self.separable(per_anchor * anchors, relu=False)
        self.node('Transpose', perm=[0, 2, 3, 1])
        self.node('Reshape', self.constant([1, -1, per_anchor], np.int64))
        if per_anchor == 2:
            self.node('Mul', self.constant(SPREAD))
            self.node('Add', self.constant([DOUBT, 0]))
        rows, self.x, self.channels = self.x, x, channels
        return rows


def heads(net, scores, boxes):
    """Of the current map."""
    anchors, last = len(SIDES[len(scores)]), len(scores) == 3
    scores.append(net.head(2, anchors, last))
    boxes.append(net.head(4, anchors, last))


def build(path):
    """Writes the network."""
    net, scores, boxes = Net(), [], []
    net.conv(16, stride=2)
    for channels, stride in ((32, 1), (32, 2), (32, 1), (64, 2), (64, 1), (64, 1)):
        net.separable(channels, stride)
    heads(net, scores, boxes)
    for channels, stride in ((128, 2), (128, 1), (128, 1)):
        net.separable(channels, stride)
    heads(net, scores, boxes)
    for channels, stride in ((256, 2), (256, 1)):
        net.separable(channels, stride)
    heads(net, scores, boxes)
    net.conv(64, 1)
    net.conv(256, stride=2)
    heads(net, scores, boxes)
    net.x = scores[0]
    net.node('Concat', *scores[1:], axis=1)
    net.node('Softmax', axis=2, out='scores')
    net.x = boxes[0]
    net.node('Concat', *boxes[1:], axis=1, out='boxes')
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
              for name, shape in (('picture', [1, 3, HEIGHT, WIDTH]), ('scores', None),
                                  ('boxes', None))]
    graph = helper.make_graph(net.nodes, 'detector', values[:1], values[1:], net.constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8),
              path)


def anchors():
    """x, y, width and height of each, of 1."""
    found = [((i + 0.5) * step / WIDTH, (j + 0.5) * step / HEIGHT, side / WIDTH, side / HEIGHT)
             for step, sides in zip(STEPS, SIDES) for j in range(-(-HEIGHT // step))
             for i in range(-(-WIDTH // step)) for side in sides]
    return np.clip(np.array(found), 0, 1)


def corners(regressions):
    """Left, top, right and bottom in pixels."""
    at = anchors()
    middle = regressions[:, :2] * 0.1 * at[:, 2:] + at[:, :2]
    size = np.exp(regressions[:, 2:] * 0.2) * at[:, 2:]
    return np.hstack([middle - size / 2, middle + size / 2]) * np.array([WIDTH, HEIGHT] * 2)


def overlap(a, b):
    """Common area of the whole."""
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    common = np.prod(np.clip(high - low, 0, None))
    return common / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common)


def detections(scores, boxes):
    """The anchors that find something."""
    found = []
    for i in np.argsort(-scores, kind='stable'):
        if scores[i] > FOUND and all(overlap(boxes[i], boxes[j]) <= OVERLAP for j in found):
            found.append(int(i))
    return set(found)


def picture():
    """Patches of noise."""
    random = np.random.default_rng(5)
    patches = sum(np.kron(random.uniform(-1, 1, (1, 3, HEIGHT // n, WIDTH // n)),
                          np.ones((1, 1, n, n))) for n in (1, 4, 20, 80))
    return (patches / np.abs(patches).max()).astype(np.float32)


def run(model, work, *options):
    """Score and box by anchor, and what cnnrun says."""
    done = subprocess.run([CNNRUN, model, '--input', f'0={work}/in.npy', '--output',
                           f'0={work}/scores.npy', '--output', f'1={work}/boxes.npy', *options],
                          stdout=subprocess.PIPE, text=True, check=True)
    return (np.load(f'{work}/scores.npy')[0, :, 1], corners(np.load(f'{work}/boxes.npy')[0]),
            done.stdout)


def main():
    """All results."""
    result = tap.Tap()
    with tempfile.TemporaryDirectory() as work:
        if len(sys.argv) > 2:
            model, least, x = sys.argv[1], 1, np.load(sys.argv[2])
        else:
            model, least, x = os.path.join(work, 'detector.onnx'), LEAST, picture()
            build(model)
        np.save(f'{work}/in.npy', x)
        half_scores, half_boxes, said = run(model, work, *HALF)
        scores, boxes, _ = run(model, work, *FULL)
        result.ok(share(said) == 100, 'every multiply-add is on gcu', said)
        off = np.abs(half_scores - scores).max()
        result.ok(off <= SCORE, f'{len(scores)} scores off by {off:.2g}, limit {SCORE}')
        off = np.abs(half_boxes - boxes).max()
        result.ok(off <= PIXEL, f'boxes off by {off:.2g} pixels, limit {PIXEL}')
        ours, theirs = detections(half_scores, half_boxes), detections(scores, boxes)
        result.ok(ours == theirs and len(theirs) >= least,
                  f'the {len(theirs)} detections of FP32', f'differ in anchors {ours ^ theirs}')
    return result.done()


sys.exit(main())
