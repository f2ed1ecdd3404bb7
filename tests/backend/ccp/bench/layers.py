# SPDX-License-Identifier: MIT
"""What a network has to compute and to move, read from its ONNX file.

A layer is an operator with what an exporter leaves apart: element-wise operators (scales and
shifts by constants, activations) that read nothing but this layer's values belong to it, and so
does the Add of another map to the result of a convolution that nobody else reads.
"""
import math
from collections import Counter

import onnx
from onnx import shape_inference

import tilings

FOLLOWS = {'BatchNormalization', 'Relu', 'LeakyRelu', 'Clip', 'HardSwish', 'HardSigmoid',
           'Sigmoid', 'Tanh', 'Exp', 'Sqrt', 'Add', 'Sub', 'Mul', 'Div'}
FREE = {'Constant', 'Flatten', 'Reshape', 'Squeeze', 'Unsqueeze', 'Identity', 'Dropout', 'Shape'}
SUMS = {'Conv', 'ConvTranspose'}
FLOAT = 4


class Layer:
    """One layer: its operator, all nodes in it, the maps it reads and those others read of it."""

    def __init__(self, node, inputs):
        self.node, self.nodes, self.inputs, self.outputs = node, [node], inputs, []
        self.adds = []      # nodes that add another map

    @property
    def name(self):
        return self.node.name or self.node.output[0]


class Network:
    """Shapes, constants and layers of a network whose first input has the given shape."""

    def __init__(self, path, shape):
        model = onnx.load(path)
        dims = model.graph.input[0].type.tensor_type.shape.dim
        for dim, size in zip(dims, shape):
            dim.dim_value = size
        graph = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
        self.constants = {t.name: t for t in graph.initializer}
        for node in graph.node:
            if node.op_type == 'Constant':
                tensors = [a.t for a in node.attribute if a.name == 'value']
                self.constants.update((node.output[0], t) for t in tensors)
        self.shapes = {name: list(t.dims) for name, t in self.constants.items()}
        for info in list(graph.value_info) + list(graph.input) + list(graph.output):
            self.shapes.setdefault(info.name,
                                   [d.dim_value for d in info.type.tensor_type.shape.dim])
        self.inputs = [i.name for i in graph.input if i.name not in self.constants]
        self.outputs = [o.name for o in graph.output]
        self.nodes = list(graph.node)
        self.alias = {}     # a reshaped map: the map it is
        self.layers = self._layers()

    def bytes(self, name):
        return FLOAT * math.prod(self.shapes[name])

    def maps(self, node):
        """The maps that a node reads, without constants."""
        return [self.alias.get(i, i) for i in node.input if i and i not in self.constants]

    def _joins(self, node, maker, readers):
        """The layer that this node belongs to, if it is one that has begun."""
        maps = self.maps(node)
        makers = [maker.get(m) for m in maps]
        if node.op_type in FOLLOWS and makers and makers[0] and makers.count(makers[0]) == len(maps):
            return makers[0]
        if node.op_type == 'Add' and self.bytes(maps[0]) == self.bytes(maps[1]):
            sums = [maker[m] for m in maps if m in maker and maker[m].node.op_type in SUMS and
                    readers[m] == 1 and not maker[m].adds]
            return sums[-1] if sums else None
        return None

    def _layers(self):
        """Nodes are in an order in which every value is made before it is read."""
        readers = Counter(name for node in self.nodes for name in node.input)
        layers, maker = [], {}
        for node in self.nodes:
            if node.op_type in FREE:
                if self.maps(node):
                    self.alias[node.output[0]] = self.maps(node)[0]
                continue
            layer = self._joins(node, maker, readers)
            if layer:
                others = [m for m in self.maps(node) if maker.get(m) is not layer]
                layer.nodes.append(node)
                layer.inputs += others
                layer.adds += [node] if others else []
            else:
                layer = Layer(node, self.maps(node))
                layers.append(layer)
            maker[node.output[0]] = layer
        self._set_outputs(layers, maker)
        return layers

    def _set_outputs(self, layers, maker):
        read = {self.alias.get(o, o) for o in self.outputs}
        for layer in layers:
            read.update(layer.inputs)
        for name, layer in maker.items():
            if name in read:
                layer.outputs.append(name)

    def weight_bytes(self):
        """All that the layers hold as constants, biases included, scales folded."""
        total = 0
        for layer in self.layers:
            sizes = [self.bytes(i) for i in layer.node.input if i in self.constants]
            total += sum(sizes)
            if layer.node.op_type in SUMS and len(sizes) < 2 and len(layer.nodes) > 1:
                total += FLOAT * self.shapes[layer.node.output[0]][1]
        return total

    def compulsory_bytes(self, bank):
        """Weights once, every layer's maps once, but no map within the network that fits a bank."""
        total = self.weight_bytes()
        ends = set(self.inputs) | {self.alias.get(o, o) for o in self.outputs}
        for layer in self.layers:
            for name in sorted(set(layer.inputs)) + layer.outputs:
                if self.bytes(name) > bank or name in ends:
                    total += self.bytes(name)
        return total


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def conv_of(net, node):
    """tilings.Conv of one group of a Conv, and the number of groups."""
    attr = attributes(node)
    _, ci, ih, iw = net.shapes[node.input[0]]
    _, co, oh, ow = net.shapes[node.output[0]]
    kh, kw = net.shapes[node.input[1]][2:]
    sy, sx = attr.get('strides', (1, 1))
    group = attr.get('group', 1)
    pads = any(attr.get('pads', [0])) or attr.get('auto_pad', b'NOTSET') not in (b'NOTSET',
                                                                                 b'VALID')
    return tilings.Conv(ci // group, co // group, ih, iw, oh, ow, kh, kw, sy, sx, pads, True), group


def transposed_of(net, node):
    """A ConvTranspose whose kernel is its stride, as a 1x1 convolution with the taps as outputs."""
    _, ci, ih, iw = net.shapes[node.input[0]]
    co, (kh, kw) = net.shapes[node.output[0]][1], net.shapes[node.input[1]][2:]
    assert attributes(node)['strides'] == [kh, kw]
    return tilings.Conv(ci, co * kh * kw, ih, iw, ih, iw, 1, 1, 1, 1, False, True)


def best_cycles(net, layer, add=False, core=tilings.DEFAULT):
    """The fewest cycles of a layer's operator on ccp, or None if ccp has no unit for it.

    add: with the map that is added to a convolution.
    """
    node, op = layer.node, layer.node.op_type
    shape = net.shapes[node.output[0]]
    if op == 'Conv':
        conv, times = conv_of(net, node)
        best = times * tilings.conv_cycles(conv, core)
        if times > 1:
            best = min(best, tilings.dense_cycles(conv, times, core))
        if add:
            best = min(best + tilings.add_cycles(math.prod(shape)),
                       times * tilings.conv_cycles(conv._replace(add=True), core))
        return best
    if op == 'ConvTranspose':
        return tilings.conv_cycles(transposed_of(net, node), core)
    if op == 'Add':
        return tilings.add_cycles(math.prod(shape))
    if op == 'Gemm':
        inputs = math.prod(net.shapes[node.input[0]][1:])
        return shape[0] * tilings.fc_cycles(inputs, shape[1], len(node.input) > 2, core)
    if op in ('MaxPool', 'AveragePool'):
        return tilings.pool_cycles(shape[1], shape[2], shape[3])
    if op == 'GlobalAveragePool':
        rows, columns = net.shapes[node.input[0]][2:]
        # A mean is one output of the fully connected unit over one plane.
        return shape[1] * tilings.fc_cycles(rows * columns, 1, False, core)
    return None
