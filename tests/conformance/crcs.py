# SPDX-License-Identifier: MIT
"""The table crcs.txt: CRCs of what every operator gives on the CPU, and how they were compared."""
import concurrent.futures
import os
import re
import tempfile
import zlib

import numpy as np
import onnx

import crc_cases
import element_cases
import onnx_compare
import operators
import tflite_cases
import tflite_element_cases
import tflite_map_cases
from tflite_build import BOOL, FLOAT32, INT8, INT32, UINT8

TABLE = os.path.join(onnx_compare.HERE, 'crcs.txt')
OPERATORS = os.path.join(onnx_compare.TOP, 'runtime', 'ir', 'ops.def')
TYPES = {FLOAT32: '<f4', INT8: '|i1', UINT8: '|u1', INT32: '<i4', BOOL: '|b1'}


class TfliteCase:
    """A case of tflite.t as operators.Case has it; wants: its outputs as they must be."""

    def __init__(self, dtype, case):
        def array(t, data):
            return np.frombuffer(data, TYPES[t.dtype]).reshape(t.shape)

        self.name, self.file, self.outputs = f'{case.name} {dtype}', case.file, len(case.outputs)
        self.files = {}
        self.feeds = {str(i): array(t, t.bytes()) for i, t in enumerate(case.inputs)}
        self.wants = [np.array(t.data, TYPES[t.dtype]).reshape(t.shape) for t in case.outputs]


def tflite():
    """The cases of the operators that only networks of TensorFlow Lite have."""
    prefixes = tuple(f'{p} ' for p in crc_cases.TFLITE.values())
    for room in (tflite_cases, tflite_element_cases, tflite_map_cases):
        for dtype, case in room.cases():
            if case.name.startswith(prefixes):
                yield TfliteCase(dtype, case)


def cases():
    """{name: case} of all cases; a group's random numbers do not depend on other groups."""
    named = {}
    for room in (operators, element_cases, crc_cases):
        for group in room.GROUPS:
            for case in group(np.random.default_rng(1)):
                add(named, room.__name__, case)
    for case in tflite():
        add(named, 'tflite', case)
    return named


def add(named, room, case):
    """Names that occur again get a number."""
    name = same = f'{room}: {case.name.strip()}'.replace('|', '/')
    number = 1
    while name in named:
        number += 1
        name = f'{same} #{number}'
    named[name] = case


def crc(arrays):
    """CRC-32 of types, shapes and elements."""
    value = 0
    for a in arrays:
        value = zlib.crc32(f'{a.dtype.str}{a.shape}'.encode(), value)
        value = zlib.crc32(np.ascontiguousarray(a).tobytes(), value)
    return f'{value:08x}'


def asked(case):
    """CRC-32 of a case itself: its file and its inputs."""
    return crc([np.frombuffer(case.file, np.uint8), *case.feeds.values(),
                *(np.frombuffer(data, np.uint8) for data in case.files.values())])


def file_operators(case):
    """The operators of an ONNX file, those within others, too."""
    def walk(graph):
        for node in graph.node:
            yield node.op_type
            for a in node.attribute:
                if a.type == onnx.AttributeProto.GRAPH:
                    yield from walk(a.g)

    return set() if hasattr(case, 'wants') else set(walk(onnx.load_from_string(case.file).graph))


def answer(case):
    """(Outputs on the CPU or what cnnrun said, operators that ran and those of the file)."""
    with tempfile.TemporaryDirectory() as work:
        done = onnx_compare.run(case, work, '--core', 'cpu', '--explain')
        got = onnx_compare.ours(case, work, done)
    ran = set(re.findall(r'^ *\d+ (\w+) ', done.stdout, re.M))
    return got, ran | file_operators(case)


def answers(named):
    """{name: answer} of all cases."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(named, pool.map(answer, named.values())))


def read_table():
    """{name: (CRC of the case, CRC of its outputs)}"""
    table = {}
    with open(TABLE) as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                name, case, outputs, _ = (part.strip() for part in line.split('|'))
                table[name] = case, outputs
    return table


def known_operators():
    """Names of the operators of ops.def."""
    with open(OPERATORS) as f:
        return re.findall(r'^OP\(\w+, "(\w+)"', f.read(), re.M)
