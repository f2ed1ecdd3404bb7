#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ONNX's cases of convolutions and matrix products on core gcu: those of floats in FP16, each
output within what cnnrun computes from the core's arithmetic, those of integers exactly."""
import os
import sys

sys.dont_write_bytecode = True
TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
sys.path[:0] = [os.path.join(TESTS, 'conformance'), os.path.join(TESTS, 'lib')]
import nodes
import onnx
import tap

DEVICE = ('--device', 'sim:cores=gcu', '--core', 'gcu')
FP16 = ('--precision', 'fp16')
CONVOLUTIONS = {'Conv', 'ConvTranspose'}
MATRICES = {'Gemm', 'MatMul'}
INTEGERS = {'ConvInteger', 'MatMulInteger', 'QLinearConv', 'QLinearMatMul'}

# cnnrun knows no bounds: its second product reads what the core has rounded.
NO_BOUNDS = {'pytorch-operator/test_operator_addmm'}
# The CPU's: a transposed left operand, a matrix to add, batches of right operands.
ON_CPU = {'node/test_gemm_all_attributes', 'node/test_gemm_default_matrix_bias',
          'node/test_gemm_transposeA', 'node/test_matmul_3d', 'node/test_matmul_4d',
          'node/test_qlinearmatmul_3D'}


def cases_with(operators):
    """Names of the cases that have one of these operators."""
    for name in nodes.cases():
        model = onnx.load(os.path.join(nodes.DATA, name, 'model.onnx'))
        if operators & {n.op_type for n in model.graph.node}:
            yield name


def check(result, what, operators, *options):
    """Two results: all cases pass, and all multiply-adds are on the core."""
    names = sorted(set(cases_with(operators)) - NO_BOUNDS)
    got, status = nodes.run(names, *DEVICE, *options)
    wrong = [f'{n}: {got.get(n)}' for n in names if got.get(n, ' ')[0] != 'PASS']
    result.ok(names and not wrong and not status, f'{what}: {len(names)} cases pass',
              '\n'.join(wrong))
    left = {n for n, (_, detail) in got.items() if not nodes.whole(detail)}
    result.ok(left == ON_CPU.intersection(names),
              f'{what}: all multiply-adds of {len(names) - len(left)} on gcu',
              '\n'.join(f'{n}: {got[n]}' for n in left))


def main():
    """All results."""
    if not os.path.isdir(nodes.DATA):
        print('1..0 # SKIP libonnx-testdata is not installed')
        return 0
    result = tap.Tap()
    check(result, 'convolutions in FP16', CONVOLUTIONS, *FP16)
    check(result, 'matrix products in FP16', MATRICES, *FP16)
    check(result, 'quantised products', INTEGERS)
    return result.done()


sys.exit(main())
