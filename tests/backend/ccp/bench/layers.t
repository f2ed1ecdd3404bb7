#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Layers and compulsory bytes of a small network, against numbers worked out by hand."""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.dont_write_bytecode = True
import layers

number = 0


def check(name, got, want):
    global number
    number += 1
    print(f'{"ok" if got == want else "not ok"} {number} - {name}: {got}, by hand {want}')


def residual_network(path):
    """conv, bn, hard-swish from its parts; conv, add, relu; mean, flatten, gemm."""
    constants = {'w1': (4, 3, 3, 3), 'w2': (4, 4, 1, 1), 'b2': (4,), 'w3': (5, 4), 'three': (),
                 'scale': (4,), 'shift': (4,), 'mean': (4,), 'var': (4,)}
    nodes = [
        ('Conv', 'x w1', 'c1', {'pads': [1] * 4}),
        ('BatchNormalization', 'c1 scale shift mean var', 'n1', {}),
        ('Add', 'n1 three', 'h1', {}), ('Relu', 'h1', 'h2', {}), ('Mul', 'n1 h2', 'a1', {}),
        ('Conv', 'a1 w2 b2', 'c2', {}), ('Add', 'c2 a1', 's', {}), ('Relu', 's', 'a2', {}),
        ('GlobalAveragePool', 'a2', 'g', {}), ('Flatten', 'g', 'f', {}),
        ('Gemm', 'f w3', 'y', {'transB': 1})]
    graph = helper.make_graph(
        [helper.make_node(op, i.split(), [o], o, **a) for op, i, o, a in nodes], 'g',
        [helper.make_tensor_value_info('x', TensorProto.FLOAT, [1, 3, 'h', 'w'])],
        [helper.make_tensor_value_info('y', TensorProto.FLOAT, [1, 5])],
        [numpy_helper.from_array(np.ones(s, np.float32), n) for n, s in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 14)]), path)


def main():
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, 'net.onnx')
        residual_network(path)
        net = layers.Network(path, (1, 3, 8, 8))
    check('layers', [l.name for l in net.layers], ['c1', 'c2', 'g', 'y'])
    check('what the added map belongs to', [n.name for n in net.layers[1].adds], ['s'])
    check('what the second layer reads', net.layers[1].inputs, ['a1', 'a1'])
    check('what others read of the first', net.layers[0].outputs, ['a1'])
    # w1 108 and its folded shift 4, w2 16 and b2 4, w3 20
    check('bytes of weights', net.weight_bytes(), 4 * 152)
    # maps: x 192; a1 256, a2 256 and g 4 once written and once read; y 5
    check('compulsory without a bank', net.compulsory_bytes(0), 4 * (152 + 192 + 512 + 512 + 8 + 5))
    check('compulsory, large bank', net.compulsory_bytes(1 << 20), 4 * (152 + 192 + 5))
    # a1 and a2 do not fit, g does
    check('compulsory, small bank', net.compulsory_bytes(512), 4 * (152 + 192 + 512 + 512 + 5))
    conv, groups = layers.conv_of(net, net.layers[0].node)
    check('the first convolution', (conv.ci, conv.co, conv.oh, conv.pads, groups), (3, 4, 8, True, 1))
    print(f'1..{number}')


if __name__ == '__main__':
    main()
