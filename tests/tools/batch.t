#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cnnrun --batch: the answers of single runs, on every one of equal cores, and what is refused."""
import os
import re
import struct
import subprocess
import sys
import tempfile

from onnx import TensorProto, helper, save

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
from tap import Tap

BUILD = os.environ.get('CNNACC_BUILD', os.path.join(HERE, '..', '..', 'build'))
CNNRUN = os.path.join(BUILD, 'runtime', 'tools', 'cnnrun')
CORE = subprocess.run([os.path.join(BUILD, 'tests', 'lib', 'core_program')], capture_output=True,
                      text=True, timeout=120, check=True).stdout.split()[0]
DONE, FAILED, USAGE = range(3)
IMAGES = 8
IMAGE = (16, 48, 48)
tap = Tap()


def cnnrun(*args, device='sim'):
    run = subprocess.run([CNNRUN, *args, '--device', device], capture_output=True, text=True,
                         timeout=120, check=False)
    return run.returncode, run.stdout + run.stderr


def expect(status, words, *args, **where):
    """The exit status, and what must be said."""
    code, text = cnnrun(*args, **where)
    tap.ok(code == status and words in text, ' '.join(['cnnrun', *args]),
           f'status {code}, {status} and "{words}" wanted\n{text}')
    return text


def count(shape):
    product = 1
    for n in shape:
        product *= n
    return product


def write_array(path, shape, first=0):
    """Elements that differ from image to image; first: of the whole batch."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}\n".encode()
    values = (((first + i) * 37 % 1009) / 1009 - 0.25 for i in range(count(shape)))
    with open(path, 'wb') as f:
        f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header +
                struct.pack(f'<{count(shape)}f', *values))


def array(path):
    """Shape and bytes."""
    with open(path, 'rb') as f:
        data = f.read()
    start = 10 + struct.unpack('<H', data[8:10])[0]
    shape = re.search(rb"'shape': \(([^)]*)\)", data)[1]
    return [int(n) for n in shape.split(b',') if n.strip()], data[start:]


def info(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def network(name, inputs, outputs, nodes, constants=()):
    graph = helper.make_graph(nodes, name, [info(*i) for i in inputs],
                              [info(*o) for o in outputs], list(constants))
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)]), name + '.onnx')


def networks():
    """A convolution with a second input, and networks that cannot be batches of images."""
    weights = [(i * 13 % 31 - 15) / 64 for i in range(16 * 16 * 9)]
    conv = (helper.make_tensor('w', TensorProto.FLOAT, (16, 16, 3, 3), weights),)
    nodes = [helper.make_node('Conv', ['x', 'w'], ['y'], pads=[1, 1, 1, 1])]
    for name, n in (('one', 1), ('free', 'N')):
        network(name, [('x', (n, *IMAGE))], [('y', (n, *IMAGE))], nodes, conv)
    network('four', [('x', (4, *IMAGE))], [('y', (4, *IMAGE))], nodes, conv)
    network('two', [('x', ('N', *IMAGE)), ('b', ('N', 16, 1, 1))],
            [('s', ('N', *IMAGE)), ('r', ('N', 16, 1, 1))],
            [*nodes, helper.make_node('Add', ['y', 'b'], ['s']),
             helper.make_node('Relu', ['b'], ['r'])], conv)
    network('scalar', [('x', (1, 4)), ('k', ())], [('y', (1, 4))],
            [helper.make_node('Mul', ['x', 'k'], ['y'])])
    network('flat', [('x', ('N', 4))], [('y', (4,))],
            [helper.make_node('Reshape', ['x', 'all'], ['y'])],
            [helper.make_tensor('all', TensorProto.INT64, (1,), [-1])])
    network('sum', [('x', ('N', 4))], [('y', ())],
            [helper.make_node('ReduceSum', ['x'], ['y'], keepdims=0)])
    network('ragged', [('x', ('N', 4))], [('y', (1, 'K'))],
            [helper.make_node('Relu', ['x'], ['r']),
             helper.make_node('Squeeze', ['r', 'axes'], ['v']),
             helper.make_node('NonZero', ['v'], ['i']),
             helper.make_node('Cast', ['i'], ['y'], to=TensorProto.FLOAT)],
            [helper.make_tensor('axes', TensorProto.INT64, (1,), [0])])
    network('rows', [('x', ('N', 4))], [('y', ('N', 4))],
            [helper.make_node('Mul', ['x', 'ten'], ['t']),
             helper.make_node('Cast', ['t'], ['i'], to=TensorProto.INT64),
             helper.make_node('Gather', ['table', 'i'], ['y'])],
            [helper.make_tensor('ten', TensorProto.FLOAT, (1,), [10]),
             helper.make_tensor('table', TensorProto.FLOAT, (4,), [1, 2, 3, 4])])


def check_answers(model, inputs, outputs, cores):
    """Each image alone, then all at once."""
    device = f'sim:cores={"+".join([CORE] * cores)}'
    alone = [b''] * len(outputs)
    for i in range(IMAGES):
        args = []
        for k, shape in enumerate(inputs):
            write_array(f'one{k}.npy', (1, *shape), i * count(shape))
            args += ['--input', f'{k}=one{k}.npy']
        for k in range(len(outputs)):
            args += ['--output', f'{k}=alone{k}.npy']
        code, text = cnnrun(model, *args, '--core', CORE, device=device)
        if code:
            tap.ok(False, f'{model} on {device}: image {i} alone', text)
            return
        for k in range(len(outputs)):
            alone[k] += array(f'alone{k}.npy')[1]
    args = []
    for k, shape in enumerate(inputs):
        write_array(f'all{k}.npy', (IMAGES, *shape))
        args += ['--input', f'{k}=all{k}.npy']
    for k in range(len(outputs)):
        args += ['--output', f'{k}=batch{k}.npy']
    code, text = cnnrun(model, '--batch', *args, '--core', CORE, '--repeat', '2', device=device)
    name = f'{model} on {cores} equal cores: the bytes of single runs'
    if code:
        tap.ok(False, name, text)
        return
    got = [array(f'batch{k}.npy') for k in range(len(outputs))]
    tap.ok(got == [([IMAGES, *shape], alone[k]) for k, shape in enumerate(outputs)], name, text)
    tap.equal(text.count('\nimage '), IMAGES, f'{model}: the answer of every image is printed')
    check_cores(text, cores)


def check_cores(text, cores):
    """Every image was on one core, and no core had all."""
    line = re.search(rf'^batch: {IMAGES} images, at most (\d+) at once(.*)$', text, re.M)
    ran = [int(n) for n in re.findall(rf'core \d \({CORE}\) (\d+)', line[2])] if line else []
    tap.ok(line and len(ran) == cores and sum(ran) == IMAGES and
           int(line[1]) == min(2 * cores, IMAGES) and (cores == 1 or max(ran) < IMAGES),
           f'{cores} equal cores: each ran images', text)


def check_forms():
    """A compiled network, CPU only, one image, and what the other options say about a batch."""
    write_array('one.npy', (1, *IMAGE))
    write_array('all.npy', (IMAGES, *IMAGE))
    given = ['--batch', '--input', '0=all.npy']
    expect(DONE, '', 'free.onnx', *given, '--output', '0=want.npy')
    expect(DONE, '', '--compile', 'free.onnx', '-o', 'free.cnn')
    expect(DONE, f'batch: {IMAGES} images', 'free.cnn', *given, '--output', 'y=got.npy')
    tap.ok(array('want.npy') == array('got.npy'), 'a compiled network gives the same')
    expect(DONE, f'({CORE}) 0', 'one.onnx', *given, '--core', 'cpu')
    expect(DONE, 'batch: 1 images, at most 1 at once', 'free.onnx', '--batch', '--input',
           '0=one.npy')
    text = expect(DONE, 'The report is of the last image.', 'free.onnx', *given, '--report',
                  '--explain', '--report', 'r.json', '--profile', 'p.json')
    tap.ok(text.count('Conv ') == 3 and os.path.exists('r.json') and os.path.exists('p.json'),
           'explained and reported once', text)
    expect(DONE, f'batch: {IMAGES} images', 'free.onnx', *given,
           '--shape', 'x=1,16,48,48')


def check_refusals():
    """Names, dimensions and values."""
    for name, shape in (('all', (8, *IMAGE)), ('three', (3, 16, 1, 1)), ('none', (0, *IMAGE)),
                        ('small', (8, 16, 9)), ('vectors', (8, 4))):
        write_array(name + '.npy', shape)
    expect(USAGE, '--batch: no --input is given', 'free.onnx', '--batch')
    expect(USAGE, '--batch is for a plain run, not for --compare', 'free.onnx', '--batch',
           '--compare')
    expect(USAGE, '--batch is for a plain run, not for --compile', '--compile', 'free.onnx',
           '-o', 'x.cnn', '--batch')
    expect(FAILED, '--batch: input b: dimension 0 is 3, that of input x is 8', 'two.onnx',
           '--batch', '--input', 'x=all.npy', '--input', 'b=three.npy')
    expect(FAILED, '--batch: input x: dimension 0 is 4, it must be 1 or free', 'four.onnx',
           '--batch', '--input', '0=all.npy')
    expect(FAILED, '--batch: input x: dimension 0 is 8, it must be 1 or free', 'free.onnx',
           '--batch', '--input', '0=all.npy', '--shape', 'x=8,16,48,48')
    expect(FAILED, '--batch: input k has no dimension 0 to count images', 'scalar.onnx',
           '--batch', '--input', '0=vectors.npy')
    expect(FAILED, '--batch: output y: dimension 0 is 4, it must be 1', 'flat.onnx', '--batch',
           '--input', '0=vectors.npy')
    expect(FAILED, '--batch: output y has no dimension 0 to count images', 'sum.onnx', '--batch',
           '--input', '0=vectors.npy')
    expect(FAILED, '--batch: output y: image 1 gives float32[1,1], image 0 gives float32[1,0]',
           'ragged.onnx', '--batch', '--input', '0=vectors.npy')
    expect(FAILED, 'cnnrun: image 4: ', 'rows.onnx', '--batch', '--input', '0=vectors.npy')
    expect(FAILED, '--batch: input x: none.npy holds no images', 'free.onnx', '--batch',
           '--input', 'x=none.npy')
    expect(FAILED, 'input x: rank 3 given, 4 wanted', 'free.onnx', '--batch', '--input',
           '0=small.npy')
    expect(DONE, '', '--compile', 'free.onnx', '-o', 'free.cnn')
    expect(FAILED, 'wanted, the file has', 'free.cnn', '--batch', '--input', '0=small.npy')
    expect(DONE, '', '--compile', 'free.onnx', '-o', 'eight.cnn', '--shape', '0=8,16,48,48')
    expect(FAILED, '--batch: input x: dimension 0 is 8', 'eight.cnn', '--batch', '--input',
           '0=all.npy')


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        networks()
        for cores in (1, 2, 4):
            check_answers('free.onnx', [IMAGE], [IMAGE], cores)
        check_answers('two.onnx', [IMAGE, (16, 1, 1)], [IMAGE, (16, 1, 1)], 2)
        check_forms()
        check_refusals()
        os.chdir('/')
    return tap.done()


sys.exit(main())
