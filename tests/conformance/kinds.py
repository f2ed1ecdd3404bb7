# SPDX-License-Identifier: MIT
"""Small networks of the kinds that people bring, with pseudo-random weights: how their files are
made, and which blocks they are made of."""
import math

import numpy as np
import onnx
from onnx import TensorProto, external_data_helper, helper
from operators import F, I64, Case

H = np.float16


class Net:
    """A network in the making, whose current value is x; weights keep the size of values.

    weights: their type in the file, if a Cast makes them what is computed with.
    """

    def __init__(self, seed, shape, dtype=F, weights=None):
        self.rng = np.random.default_rng(seed)
        self.dtype, self.weights, self.nodes, self.constants = dtype, weights or dtype, [], {}
        self.feeds = {'x': self.rng.normal(0, 1, shape).astype(dtype)}
        self.x, self.channels = 'x', shape[1]

    def constant(self, value):
        """The name of a constant."""
        name = f'c{len(self.constants)}'
        self.constants[name] = np.asarray(value)
        return name

    def normal(self, scale, *shape, mean=0.0):
        """The name of a constant of normal numbers."""
        name = self.constant(self.rng.normal(mean, scale, shape).astype(self.weights))
        if self.weights != self.dtype:
            self.nodes.append(helper.make_node('Cast', [name], [f'{name}c'], to=TensorProto.FLOAT))
            name += 'c'
        return name

    def op(self, op, *inputs, out=None, **attributes):
        """Adds a node, which gives the current value from here on; its name."""
        self.x = out or f'v{len(self.nodes)}'
        self.nodes.append(helper.make_node(op, inputs, [self.x], **attributes))
        return self.x

    def then(self, op, *constants, out=None, **attributes):
        """The same, of the current value and constants."""
        return self.op(op, self.x, *(self.constant(c) for c in constants), out=out, **attributes)

    def conv(self, channels, kernel, stride=1, group=1, bias=True, **attributes):
        """Conv with the padding that keeps the size; He's weights."""
        depth = self.channels // group
        attributes = {'pads': [kernel // 2] * 4, 'strides': [stride] * 2, **attributes}
        weights = self.normal(math.sqrt(2 / (depth * kernel ** 2)), channels, depth, kernel, kernel)
        more = [self.normal(0.1, channels)] if bias else []
        self.channels = channels
        return self.op('Conv', self.x, weights, *more, kernel_shape=[kernel] * 2, group=group,
                       **attributes)

    def transposed(self, channels):
        """ConvTranspose that doubles the size."""
        weights = self.normal(math.sqrt(2 / self.channels), self.channels, channels, 2, 2)
        self.channels = channels
        return self.op('ConvTranspose', self.x, weights, self.normal(0.1, channels), strides=[2, 2])

    def scaled(self, op, *more, width=None, **attributes):
        """A normalization with a factor and a term of each channel, and constants behind them."""
        width = width or self.channels
        return self.op(op, self.x, self.normal(0.1, width, mean=1), self.normal(0.1, width),
                       *(self.constant(c) for c in more), **attributes)

    def batch_norm(self):
        """BatchNormalization."""
        deviation = self.rng.uniform(0.5, 1.5, self.channels).astype(self.dtype)
        mean = self.rng.normal(0, 0.1, self.channels).astype(self.dtype)
        return self.scaled('BatchNormalization', mean, deviation)

    def dense(self, width, out, bias=True):
        """MatMul by constants, and Add."""
        self.op('MatMul', self.x, self.normal(math.sqrt(1 / width), width, out))
        return self.op('Add', self.x, self.normal(0.1, out)) if bias else self.x

    def pool(self, kernel=3, stride=2, op='MaxPool'):
        """A pool without padding."""
        return self.then(op, kernel_shape=[kernel] * 2, strides=[stride] * 2)

    def classify(self, classes):
        """The mean of the map, a product, and probabilities as the output."""
        self.then('GlobalAveragePool')
        self.then('Flatten')
        self.op('Gemm', self.x, self.normal(math.sqrt(1 / self.channels), classes, self.channels),
                self.normal(0.1, classes), transB=1)
        self.then('Softmax', axis=1, out='y0')

    def case(self, name, opset=17, ir_version=8, outputs=1):
        """The finished network."""
        case = Case(name, self.nodes, self.feeds, self.constants, outputs, opset)
        if ir_version != 8:
            model = onnx.load_from_string(case.file)
            model.ir_version = ir_version
            case.file = model.SerializeToString()
        return case


def activate(net, name):
    """An operator of one input; SiLU: as Sigmoid and Mul."""
    x = net.x
    net.then('Sigmoid' if name == 'SiLU' else name)
    if name == 'SiLU':
        net.op('Mul', x, net.x)


def residual(net, channels, stride=1, activation='Relu'):
    """A residual block of two convolutions."""
    start, wide = net.x, net.channels
    net.conv(channels, 3, stride, bias=False)
    net.batch_norm()
    activate(net, activation)
    net.conv(channels, 3, bias=False)
    inner = net.batch_norm()
    net.x, net.channels = start, wide
    if stride > 1 or wide != channels:
        net.conv(channels, 1, stride)
    net.op('Add', inner, net.x)
    activate(net, activation)


def small_resnet(seed, dtype=F, activation='Relu', weights=None, batch=1):
    """A stem and three residual blocks; not classified yet."""
    net = Net(seed, (batch, 3, 32, 32), dtype, weights)
    net.conv(16, 3)
    activate(net, activation)
    for channels, stride in ((16, 1), (32, 2), (48, 2)):
        residual(net, channels, stride, activation)
    return net


def external_data():
    """The weights of 1 KiB and more are in a second file, each from a page's beginning."""
    net = small_resnet(1)
    net.classify(10)
    case = net.case('external data')
    model, data = onnx.load_from_string(case.file), b''
    for tensor in model.graph.initializer:
        raw = tensor.raw_data
        if len(raw) < 1024:
            continue
        data += bytes(-len(data) % 4096)
        external_data_helper.set_external_data(tensor, 'weights.bin', len(data), len(raw))
        tensor.ClearField('raw_data')
        data += raw
    case.file, case.files = model.SerializeToString(), {'weights.bin': data}
    return case


def open_batch():
    """The input says how many pictures there are, and reshapes follow from the shape."""
    net = small_resnet(11, batch=3)
    net.op('GlobalAveragePool', x := net.x)
    mean = net.x
    net.op('Shape', x)
    net.then('Gather', np.array([0], I64))
    net.then('Concat', np.array([-1], I64), axis=0)
    net.op('Reshape', mean, net.x)
    net.dense(net.channels, 10)
    net.then('Softmax', axis=1, out='y0')
    case = net.case('open batch')
    model = onnx.load_from_string(case.file)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = 'N'
    case.file = model.SerializeToString()
    return case


def operator_set_23():
    """Operator set 23, with its RMSNormalization, across channels that come last."""
    net = small_resnet(2)
    net.then('Transpose', perm=[0, 2, 3, 1])
    net.op('RMSNormalization', net.x, net.normal(0.1, net.channels, mean=1), axis=-1)
    net.then('Transpose', perm=[0, 3, 1, 2])
    net.classify(10)
    return net.case('operator set 23', 23, 11)


def operator_set_25():
    """Operator set 25, with the Swish that came with 24 and that ONNX Runtime has no kernel for."""
    def net(activation):
        net = small_resnet(3, activation=activation)
        net.then('Reshape', np.array([0, net.channels, -1, 1], I64))
        net.classify(10)
        return net.case('operator set 25', 25, 13)

    case = net('Swish')
    case.peer = net('SiLU').file
    return case


def half_floats():
    """All of float16, from the input to the output."""
    net = small_resnet(4, H)
    net.classify(10)
    return net.case('float16')


def half_weights():
    """Weights of float16 in the file, of which Casts make float32."""
    net = small_resnet(4, weights=H)
    net.classify(10)
    return net.case('weights of float16')


def alexnet():
    """LRN, overlapping pools, grouped convolutions, and three products."""
    net = Net(5, (1, 3, 67, 67))
    net.conv(24, 11, 4, pads=[0] * 4)
    for channels, kernel, group, pooled in ((64, 5, 2, True), (96, 3, 1, False), (96, 3, 2, False),
                                            (64, 3, 2, True)):
        net.then('Relu')
        if kernel == 5 or channels == 96 and group == 1:
            net.then('LRN', size=5, alpha=1e-4, beta=0.75, bias=1.0)
            net.pool()
        net.conv(channels, kernel, group=group)
    net.then('Relu')
    net.then('Flatten')
    for width, out in ((64 * 9, 128), (128, 64)):
        net.dense(width, out)
        net.then('Relu')
        net.then('Dropout')
    net.dense(64, 20)
    net.then('Softmax', axis=1, out='y0')
    return net.case('AlexNet')


def densenet():
    """Two dense blocks, normalized before each convolution, and a transition between them."""
    net = Net(6, (1, 3, 32, 32))
    net.conv(24, 3, 2, bias=False)
    for block in range(2):
        for _ in range(4):
            start, wide = net.x, net.channels
            net.batch_norm()
            net.then('Relu')
            net.conv(48, 1, bias=False)
            net.batch_norm()
            net.then('Relu')
            net.conv(12, 3, bias=False)
            net.op('Concat', start, net.x, axis=1)
            net.channels += wide
        net.batch_norm()
        net.then('Relu')
        if block == 0:
            net.conv(net.channels // 2, 1, bias=False)
            net.pool(2, 2, 'AveragePool')
    net.classify(10)
    return net.case('DenseNet')


def shuffle(net, groups, size):
    """Channels of each group in turns."""
    net.then('Reshape', np.array([1, groups, net.channels // groups, size, size], I64))
    net.then('Transpose', perm=[0, 2, 1, 3, 4])
    net.then('Reshape', np.array([1, net.channels, size, size], I64))


def shufflenet():
    """Units with grouped pointwise and depthwise convolutions, and shuffled channels between."""
    net = Net(7, (1, 3, 32, 32))
    net.conv(24, 3, 2)
    net.then('Relu')
    size = 16
    for stride, groups in ((2, 1), (1, 3), (1, 3)):
        start, wide = net.x, net.channels
        out = 60 - wide if stride > 1 else 60
        net.conv(36, 1, group=groups)
        net.then('Relu')
        size //= stride
        if groups > 1:
            shuffle(net, groups, size)
        net.conv(36, 3, stride, group=36)
        net.conv(out, 1, group=3)
        if stride > 1:
            inner = net.x
            net.x = start
            net.then('AveragePool', kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
            net.op('Concat', net.x, inner, axis=1)
            net.channels = 60
        else:
            net.op('Add', start, net.x)
        net.then('Relu')
    net.classify(10)
    return net.case('ShuffleNet')


def unet(upsample):
    """Two steps down and up again, with InstanceNormalization and what goes past them."""
    net = Net(8, (1, 3, 48, 40))

    def double(channels):
        for _ in range(2):
            net.conv(channels, 3)
            net.scaled('InstanceNormalization')
            net.then('LeakyRelu', alpha=0.1)

    skips = []
    for channels in (12, 24):
        double(channels)
        skips.append((net.x, channels))
        net.pool(2, 2)
    double(32)
    for skip, channels in reversed(skips):
        if upsample:
            net.op('Resize', net.x, '', net.constant(np.array([1, 1, 2, 2], F)), mode='linear')
            net.conv(channels, 3)
        else:
            net.transposed(channels)
        net.op('Concat', skip, net.x, axis=1)
        net.channels = 2 * channels
        double(channels)
    net.conv(2, 1)
    net.then('Softmax', axis=1, out='y0')
    return net.case('U-Net with ' + ('Resize' if upsample else 'ConvTranspose'))


def gelu(net, spelled):
    """Gelu as one operator, or as it was before there was one."""
    if not spelled:
        net.then('Gelu')
        return
    x = net.x
    net.then('Div', F(math.sqrt(2)))
    net.then('Erf')
    net.then('Add', F(1))
    net.op('Mul', x, net.x)
    net.then('Mul', F(0.5))


def convnext(spelled):
    """Blocks of a depthwise 7x7 convolution, LayerNormalization, two products, Gelu."""
    net = Net(9, (1, 3, 48, 48))
    net.conv(32, 4, 4, pads=[0] * 4)
    for _ in range(2):
        start = net.x
        net.conv(32, 7, group=32)
        net.then('Transpose', perm=[0, 2, 3, 1])
        net.scaled('LayerNormalization', epsilon=1e-6)
        net.dense(32, 128)
        gelu(net, spelled)
        net.dense(128, 32)
        net.op('Mul', net.x, net.normal(0.3, 32))
        net.then('Transpose', perm=[0, 3, 1, 2])
        net.op('Add', start, net.x)
    net.classify(10)
    return net.case('ConvNeXt' + (' of set 17' if spelled else ''), 17 if spelled else 20)


def yolo_boxes(net, size, classes, stride):
    """Boxes and scores of 3 anchors a cell, from the map of their numbers."""
    cells = 3 * size * size
    net.then('Reshape', np.array([1, 3, 5 + classes, size, size], I64))
    net.then('Transpose', perm=[0, 1, 3, 4, 2])
    net.then('Sigmoid')
    net.then('Reshape', np.array([1, cells, 5 + classes], I64))
    parts = [f'part{i}' for i in range(4)]
    net.nodes.append(helper.make_node(
        'Split', [net.x, net.constant(np.array([2, 2, 1, classes], I64))], parts, axis=2))
    y, x = np.mgrid[:size, :size]
    grid = np.tile(np.stack([x, y], -1).reshape(1, -1, 2), (1, 3, 1)).astype(F)
    anchors = np.repeat(np.array([[8, 10], [14, 12], [24, 20]], F), size * size, 0)[None]
    net.op('Mul', parts[0], net.constant(F(2)))
    net.op('Add', net.x, net.constant(grid - F(0.5)))
    centre = net.op('Mul', net.x, net.constant(F(stride)))
    net.op('Mul', parts[1], net.constant(F(2)))
    net.op('Pow', net.x, net.constant(F(2)))
    extent = net.op('Mul', net.x, net.constant(anchors))
    boxes = net.op('Concat', centre, extent, axis=2, out='y0')
    net.op('Mul', parts[2], parts[3])
    return boxes, net.then('Transpose', perm=[0, 2, 1])


def yolo(seed):
    """A backbone, its head, and NonMaxSuppression, whose answer is as long as it happens to be."""
    net = Net(10, (1, 3, 64, 64))
    for channels in (16, 24, 40):
        net.conv(channels, 3, 2)
        activate(net, 'SiLU')
    net.conv(3 * 9, 1)
    boxes, scores = yolo_boxes(net, 8, 4, 8)
    limits = [net.constant(v) for v in (np.array([20], I64), np.array([0.45], F),
                                        np.array([0.5], F))]
    net.op('NonMaxSuppression', boxes, scores, *limits, center_point_box=1, out='y1')
    net.then('Gather', np.array(2, I64), axis=1)
    net.op('Gather', boxes, net.x, axis=1, out='y2')
    net.feeds['x'] = np.random.default_rng(seed).normal(0, 1, (1, 3, 64, 64)).astype(F)
    return net.case(f'YOLO, input {seed}', outputs=3)


# How a network is made, and the least share of its multiply-accumulates on the device, in per cent.
KINDS = ((external_data, 100), (open_batch, 100), (operator_set_23, 100), (operator_set_25, 100),
         (half_floats, 0), (half_weights, 100), (alexnet, 100), (densenet, 100), (shufflenet, 100),
         (lambda: unet(False), 100), (lambda: unet(True), 100), (lambda: convnext(True), 100),
         (lambda: convnext(False), 100), (lambda: yolo(1), 100), (lambda: yolo(2), 100))
