#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cnnrun --compare on a healthy device and on networks with a planted fault.

A fault is a damaged weight, or a missing program, in a compiled network whose checksum is made
to fit: its constants, from which the CPU computes, stay as they were.
"""
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

import onnx
from onnx import TensorProto, helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
from tap import Tap

BUILD = os.environ.get('CNNACC_BUILD', os.path.join(HERE, '..', '..', 'build'))
CNNRUN = os.path.join(BUILD, 'runtime', 'tools', 'cnnrun')
MODELS = os.path.join(BUILD, 'tests', 'unit', 'rt')
SHAPES = {'digits': (1, 1, 28, 28), 'mixed': (1, 3, 48, 64)}
POSITIONS = 24
tap = Tap()


def cnnrun(*args):
    run = subprocess.run([CNNRUN, *args, '--device', 'sim'], capture_output=True, text=True,
                         timeout=120, check=False)
    return run.returncode, run.stdout + run.stderr


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def write(path, data):
    with open(path, 'wb') as f:
        f.write(data)


def floats(path):
    data = read(path)
    start = 10 + struct.unpack('<H', data[8:10])[0]
    return struct.unpack(f'<{(len(data) - start) // 4}f', data[start:])


def write_input(path, shape):
    """A tensor without zeros, so that every weight counts."""
    count = 1
    for n in shape:
        count *= n
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    data = struct.pack(f'<{count}f', *(0.25 + (i * 7 % 61) / 61 for i in range(count)))
    write(path, b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header + data)


def sections(data):
    """Offset and size of description, constants, weights, programs."""
    at, out = 64, []
    for size in struct.unpack('<4Q', data[32:64]):
        out.append((at, size))
        at += (size + 63) // 64 * 64
    return out


def sealed(data):
    """With the checksum of what it has become."""
    data[24:28] = bytes(4)
    data[24:28] = struct.pack('<I', zlib.crc32(data))
    return bytes(data)


def layers(text):
    return re.findall(r'^ *(\d+) (\w+) .* elements, largest error .*$', text, re.M)


def within(text):
    """Does every layer's line print an error within the bound that it prints?"""
    printed = re.findall(r' elements, largest error (\S+) of (\S+)$', text, re.M)
    return bool(printed) and all(float(error) <= float(bound) for error, bound in printed)


def check_relative(name, *options):
    """Where the relative tolerance allows what the absolute one does not, it is in the bound."""
    code, text = cnnrun(os.path.join(MODELS, f'{name}.onnx'), '--compare', '--input', '0=in.npy',
                        *options)
    tap.ok(code == 0 and within(text), f'{name}: bounds with {" ".join(options)}', text)


def check_healthy(name):
    code, text = cnnrun(os.path.join(MODELS, f'{name}.onnx'), '--compare', '--input', '0=in.npy')
    explained = cnnrun(os.path.join(MODELS, f'{name}.onnx'), '--explain')[1]
    ops = len(re.findall(r' MACs  ', explained))
    tap.ok(code == 0 and len(layers(text)) == ops and f'{ops} layers' in text and
           'none beyond' in text and 'the outputs agree' in text and within(text),
           f'{name}: every layer of a healthy device agrees', text)
    code, text = cnnrun(os.path.join(MODELS, f'{name}.onnx'), '--compare', '--input', '0=in.npy',
                        '--atol', '1e-12', '--rtol', '1e-12')
    tap.ok(code == 1 and 'first divergence: operator' in text,
           f'{name}: a bound that rounding exceeds', text)
    code, text = cnnrun('--compile', '--compare', os.path.join(MODELS, f'{name}.onnx'), '-o',
                        'net.cnn', '--core', '0')
    tap.ok(code == 0, f'{name}: compiled for comparing', text)
    code, text = cnnrun('net.cnn', '--compare', '--input', '0=in.npy')
    tap.ok(code == 0 and 'none beyond' in text, f'{name}: the compiled network agrees', text)


def damage(name, word):
    """The exponent of a weight; what the whole network answers, and what --compare says."""
    data = bytearray(read('net.cnn'))
    at = sections(data)[2][0] + 4 * word
    data[at + 3] ^= 0x06
    write('bad.cnn', sealed(data))
    cnnrun('bad.cnn', '--input', '0=in.npy', '--output', f'0={name}.npy')
    return floats(f'{name}.npy'), *cnnrun('bad.cnn', '--compare', '--input', '0=in.npy')


def check_weights(name, ops):
    """A damaged weight is one layer's: that one is named and no other."""
    cnnrun('net.cnn', '--input', '0=in.npy', '--output', '0=good.npy')
    good = floats('good.npy')
    words = sections(read('net.cnn'))[2][1] // 4
    seen = set()
    last = None
    for i in range(POSITIONS):
        word = words * i // POSITIONS
        bad, code, text = damage('damaged', word)
        if max(abs(a - b) for a, b in zip(good, bad)) < 1e-3:
            continue		# padding, or a weight that hardly counts
        found = re.search(r'^first divergence: operator (\d+), (\w+) ', text, re.M)
        one = code == 1 and '1 beyond the bound' in text and found
        if not one:
            tap.ok(False, f'{name}: weight {word} is found', text)
            continue
        seen.add(int(found[1]))
        last = (bad, text) if int(found[1]) == ops - 1 else last
    tap.ok(len(seen) > 1, f'{name}: damaged weights of operators {sorted(seen)} are found')
    return good, last


def check_element(good, last):
    """The last layer's values are the network's answer: the element and both values."""
    if not last:
        tap.ok(False, 'a weight of the last layer was damaged')
        return
    bad, text = last
    found = re.search(r'element (\d+) \[0,(\d+)\] of \S+ is (\S+), (\S+) by the CPU; (\d+) of',
                      text)
    wrong = [i for i, (a, b) in enumerate(zip(good, bad)) if abs(a - b) > 1e-5 + 1e-4 * abs(a)]
    tap.ok(bool(found) and wrong and int(found[1]) == int(found[2]) == wrong[0] and
           int(found[5]) == len(wrong) and abs(float(found[3]) - bad[wrong[0]]) < 1e-6 and
           abs(float(found[4]) - good[wrong[0]]) < 1e-5, 'the element and both values', text)


def address_words(data):
    """Indices of the words of the programs with addresses: the longest list of ascending ones."""
    (at, size), words = sections(data)[0], sections(data)[3][1] // 4
    best = []
    for start in range(at, at + size - 4):
        count = struct.unpack_from('<I', data, start)[0]
        if not len(best) < count <= (at + size - start) // 4 - 1:
            continue
        entries = struct.unpack_from(f'<{count}I', data, start + 4)
        found = [entry & 0x3ffffff for entry in entries]
        if max(entries) < 1 << 29 and found == sorted(set(found)) and found[-1] < words:
            best = found
    return set(best)


def check_unwritten(name):
    """Without its programs a core writes nothing; loading checks their addresses, which stay."""
    data = bytearray(read('net.cnn'))
    at, size = sections(data)[3]
    keep = address_words(data)
    for word in set(range(size // 4)) - keep:
        struct.pack_into('<I', data, at + 4 * word, 0)
    write('empty.cnn', sealed(data))
    code, text = cnnrun('empty.cnn', '--compare', '--input', '0=in.npy')
    found = re.search(r'^first divergence: operator 0, Conv .* (\d+) of (\d+) elements were never '
                      r'written$', text, re.M)
    tap.ok(code == 1 and found and found[1] == found[2] and 'NEVER WRITTEN' in text,
           f'{name}: what was never written is called so', text)


def check_lowest(core, want):
    """A maximum of -infinity alone: the pooling unit compares with -FLT_MAX, which is no fault."""
    run = ['max.onnx', '--core', core, '--input', '0=low.npy']
    code, text = cnnrun(*run, '--compare')
    cnnrun(*run, '--output', '0=y.npy')
    tap.ok(code == 0 and 'none beyond' in text and floats('y.npy') == (want,),
           f'a maximum of -infinity on core {core} is {want:g}', text)


def check_maximum():
    shape = (1, 1, 2, 2)
    node = helper.make_node('MaxPool', ['x'], ['y'], kernel_shape=[2, 2])
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
              for name, dims in (('x', shape), ('y', (1, 1, 1, 1)))]
    model = helper.make_model(helper.make_graph([node], 'max', values[:1], values[1:]),
                              opset_imports=[helper.make_opsetid('', 13)])
    onnx.save(model, 'max.onnx')
    write_input('low.npy', shape)
    write('low.npy', read('low.npy')[:-16] + struct.pack('<4f', *[float('-inf')] * 4))
    check_lowest('cpu', float('-inf'))
    check_lowest('0', struct.unpack('<f', b'\xff\xff\x7f\xff')[0])


def check_renamed_input():
    """An input that the core reads under another name, in its own memory, keeps its elements."""
    node = helper.make_node
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
              for name, dims in (('x', (1, 4, 2, 2)), ('y', (1, 8)))]
    w = helper.make_tensor('w', TensorProto.FLOAT, (16, 8), [i % 7 - 3 for i in range(128)])
    model = helper.make_model(helper.make_graph(
        [node('Flatten', ['x'], ['f']), node('MatMul', ['f', 'w'], ['y'])], 'flat', values[:1],
        values[1:], [w]), opset_imports=[helper.make_opsetid('', 13)])
    onnx.save(model, 'flat.onnx')
    write_input('flat.npy', (1, 4, 2, 2))
    code, text = cnnrun('flat.onnx', '--explain', '--compare', '--input', '0=flat.npy', '--core',
                        '0')
    tap.ok(code == 0 and 'renames a value' in text and 'the outputs agree' in text,
           'an input under another name', text)


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for name, shape in SHAPES.items():
            write_input('in.npy', shape)
            check_healthy(name)
            check_relative(name, '--rtol', '0.01', '--atol', '1e-9')
            ops = len(layers(cnnrun('net.cnn', '--compare', '--input', '0=in.npy')[1]))
            good, last = check_weights(name, ops)
            if name == 'digits':
                check_element(good, last)
            check_unwritten(name)
        check_maximum()
        check_renamed_input()
        code, text = cnnrun('--compile', os.path.join(MODELS, 'digits.onnx'), '-o', 'plain.cnn')
        code, text = cnnrun('plain.cnn', '--compare')
        tap.ok(code == 1 and 'not compiled with observe' in text, 'a file without constants',
               text)
        code, text = cnnrun('plain.cnn', '--compare', '--atol', '0')
        tap.ok(code == 2 and '--atol' in text, 'a bound of 0', text)
        os.chdir('/')
    raise SystemExit(tap.done())


main()
