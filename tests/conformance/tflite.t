#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""TensorFlow Lite files of every operator and type against their rules, and the rules against
TensorFlow Lite itself if its npm package can be had; files that must be refused."""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'lib')]
import tap
import tflite_cases
import tflite_element_cases
import tflite_int16_cases
import tflite_map_cases
import tflite_networks
from macs import share
from tflite_build import BOOL, FLOAT16, FLOAT32, INT8, INT16, INT32, INT64, UINT8, Model
from tflite_net import NAMES, Case
from tflite_rules import Tensor

BUILD = os.environ.get('CNNACC_BUILD', os.path.join(TOP, 'build'))
CNNRUN = os.path.join(BUILD, 'runtime', 'tools', 'cnnrun')
NPY = {FLOAT32: '<f4', INT8: '|i1', UINT8: '|u1', INT16: '<i2', INT32: '<i4', BOOL: '|b1'}
# Cases that the peer refuses: it has no convolution without a bias.
REFUSED = {'CONV_2D 3'}
ALL_CORES = 'sim:cores=ccp+hwpe'


def write(path, data):
    """A file of these bytes."""
    with open(path, 'wb') as f:
        f.write(data)
    return path


def npy(t):
    """A tensor as the bytes of a .npy file."""
    shape = ''.join(f'{d}, ' for d in t.shape)
    head = f"{{'descr': '{NPY[t.dtype]}', 'fortran_order': False, 'shape': ({shape}), }}"
    head += ' ' * (-(11 + len(head)) % 64) + '\n'
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + t.bytes()


def differences(t, raw):
    """What is wrong with the elements of raw bytes, None if nothing is."""
    got = t.take(raw)
    near = (lambda a, b: abs(a - b) <= 1e-5 * max(1, abs(b))) if t.dtype == FLOAT32 else \
        lambda a, b: a == b
    bad = [i for i, (a, b) in enumerate(zip(got, t.data)) if not near(a, b)]
    if len(got) != len(t.data):
        return f'{len(got)} elements, {len(t.data)} wanted'
    return f'{len(bad)} elements, first {bad[0]}: {got[bad[0]]}, {t.data[bad[0]]} wanted' \
        if bad else None


def cnnrun(model, *options, device='sim'):
    """Runs it; (exit status, what it said)."""
    done = subprocess.run([CNNRUN, model, '--device', device, *options], capture_output=True,
                          text=True, timeout=120)
    return done.returncode, done.stderr + done.stdout


def run(case, work, *chosen, device='sim'):
    """What is wrong with our answer to a case, None if nothing is."""
    options = []
    for i, t in enumerate(case.inputs):
        options += ['--input', f'{i}=' + write(f'{work}/in{i}.npy', npy(t))]
    for i, _ in enumerate(case.outputs):
        options += ['--output', f'{i}={work}/out{i}.npy']
    status, said = cnnrun(write(f'{work}/model.tflite', case.file), *options, *chosen,
                           device=device)
    if status:
        return said
    for i, t in enumerate(case.outputs):
        with open(f'{work}/out{i}.npy', 'rb') as f:
            data = f.read()
        head = 10 + struct.unpack_from('<H', data, 8)[0]
        shape = f"'shape': ({', '.join(map(str, t.shape))}"
        if shape not in data[:head].decode('latin1'):
            return f'output {i} is {data[10:head]}, wanted {shape}'
        wrong = differences(t, data[head:])
        if wrong:
            return f'output {i}: {wrong}'
    return None


def check_ours(result, cases, work):
    """One result per type: every case."""
    for dtype in (*NAMES.values(), 'int16'):
        mine = [c for name, c in cases if name == dtype]
        wrong = [f'{c.name}: {w}' for c in mine if (w := run(c, work))]
        result.ok(not wrong, f'{len(mine)} networks of {dtype}', '\n'.join(wrong))


def check_shifted(result, cases, work):
    """What the device requantises: all but an int8 result that is no product's operand."""
    for dtype, c in ((dtype, c) for dtype, c in cases if c.name == tflite_cases.SHIFTED):
        wrong = run(c, work, '--core', '0', device='sim:cores=hwpe')
        _, said = cnnrun(f'{work}/model.tflite', '--explain', '--core', '0',
                         device='sim:cores=hwpe')
        result.ok(not wrong and said.count('shifted out by 6') == 1 + (dtype == 'uint8'),
                  f'{c.name} of {dtype}, which the core requantises', wrong or said)


def peer_answers(cases, package, work):
    """What TensorFlow Lite says: a list of outputs, or a message, per case."""
    jobs = []
    for i, (_, c) in enumerate(cases):
        jobs.append({'model': write(f'{work}/p{i}.tflite', c.file),
                     'in': [write(f'{work}/p{i}.in{j}', t.bytes()) for j, t in enumerate(c.inputs)],
                     'out': [f'{work}/p{i}.out{j}' for j in range(len(c.outputs))]})
    done = subprocess.run(['node', os.path.join(HERE, 'tflite_peer.js'), package], text=True,
                          input=json.dumps(jobs), capture_output=True, timeout=300, check=True)
    answers = []
    for job, said in zip(jobs, json.loads(done.stdout)):
        answers.append(said or [open(path, 'rb').read() for path in job['out']])
    return answers


def network_case(name):
    """A whole network with an input; its outputs have no numbers yet."""
    net = tflite_networks.NETWORKS[name]()
    data = random.Random(1).randbytes(math.prod(net.shape))
    x = Tensor(net.shape, FLOAT32, [v / 128 - 1 for v in data]) if net.dtype == FLOAT32 else \
        Tensor(net.shape, UINT8, list(data))
    return Case(name, net.file, [x], [Tensor(*t) for t in zip(net.outputs, net.types)])


def network_faults(case, answer, work):
    """What is wrong with a network, its share of the work on the device, or its answer."""
    if isinstance(answer, str):
        yield answer
        return
    for t, raw in zip(case.outputs, answer):
        t.data = t.take(raw)
    core = ('--core', '0' if case.inputs[0].dtype == FLOAT32 else '1')
    yield run(case, work, *core, device=ALL_CORES)
    part = share(cnnrun(f'{work}/model.tflite', *core, device=ALL_CORES)[1])
    print(f'# {case.name}: {part:.2f} % of the MACs on the device')
    if part < (floor := tflite_networks.FLOORS.get(case.name, 90)):
        yield f'{part:.2f} % of the MACs on the device, floor {floor} %'
    if case.outputs[-1].dtype == INT32 and len(set(case.outputs[-1].data)) < 3:
        yield 'nearly all labels are the same'
    if len(set(case.outputs[1].data)) < 40:
        yield 'its last map is nearly constant'


def check_networks(result, package, work):
    """Whole networks with their products on cores against TensorFlow Lite."""
    cases = [('network', network_case(name)) for name in tflite_networks.NETWORKS]
    wrong = [f'{c.name}: {fault}'
             for (_, c), answer in zip(cases, peer_answers(cases, package, work))
             for fault in network_faults(c, answer, work) if fault]
    result.ok(not wrong, 'the bytes of networks are those of TensorFlow Lite', '\n'.join(wrong))
    model = write(f'{work}/shifted.tflite', tflite_networks.NETWORKS['shifted']().file)
    _, said = cnnrun(model, '--explain', '--core', '0', device='sim:cores=hwpe')
    result.ok(said.count('shifted out by') == 5 and 'interleaved input layer' in said,
              'the core requantises all of shifted, whose first layer is interleaved', said)


def check_rules(result, cases, package, work):
    """The rules against TensorFlow Lite."""
    wrong = []
    cases = [(dtype, c) for dtype, c in cases if c.name not in tflite_int16_cases.REFERENCE_ONLY]
    for (dtype, c), answer in zip(cases, peer_answers(cases, package, work)):
        if isinstance(answer, str):
            if c.name not in REFUSED:
                wrong.append(f'{dtype} {c.name}: {answer}')
            continue
        wrong += [f'{dtype} {c.name}: {w}' for t, raw in zip(c.outputs, answer)
                  if (w := differences(t, raw))]
    result.ok(not wrong, 'the rules are those of TensorFlow Lite', '\n'.join(wrong))


def check_with_peer(result, cases, work):
    """What takes TensorFlow Lite itself."""
    fetch = subprocess.run([os.path.join(TOP, 'scripts', 'fetch-tflite')], capture_output=True,
                           text=True)
    if fetch.returncode:
        result.ok(True, f'TensorFlow Lite # SKIP {fetch.stderr.strip()}')
        return
    package = fetch.stdout.strip()
    check_rules(result, cases, package, work)
    check_networks(result, package, work)


def unfit_files():
    """(what the message must say, file)."""
    def net(dtype=INT8, scale=0.5, shape=(1, 4, 4, 2)):
        m = Model()
        return m, m.tensor(list(shape), dtype, scale)

    def unary(name, *out, **options):
        m, x = net()
        y = m.tensor(*out)
        m.op(name, [x], [y], **options)
        return m.file([x], [y])

    def binary(name, dtype, scale, raw=None, shape=(1, 4, 4, 2), along=0, **options):
        m, x = net()
        w = m.tensor(list(shape), dtype, scale, data=raw, axis=along)
        y = m.tensor([1, 4, 4, 4] if name == 'CONCATENATION' else [1, 4, 4, 2], INT8, 0.5)
        m.op(name, [x, w], [y], **options)
        return m.file([x] if raw is not None else [x, w], [y])

    window = {'stride_w': 1, 'stride_h': 1}
    kernel = {**window, 'filter_w': 2, 'filter_h': 2, 'padding': 1}
    yield 'differently', unary('MAX_POOL_2D', [1, 3, 3, 2], INT8, 0.4, **kernel)
    yield 'its input is int8, its output uint8', unary('RELU', [1, 4, 4, 2], UINT8, 0.5)
    yield '0 scales', unary('RELU', [1, 4, 4, 2], INT8)
    yield 'scale -1', unary('RELU', [1, 4, 4, 2], INT8, -1.0)
    yield 'zero point 128', unary('RELU', [1, 4, 4, 2], INT8, 0.5, 128)
    yield 'limits', unary('RELU', [1, 4, 4, 2], INT8, 1e-20)
    yield 'activation 4', unary('AVERAGE_POOL_2D', [1, 3, 3, 2], INT8, 0.5, activation=4, **kernel)
    yield 'strides is 0', unary('AVERAGE_POOL_2D', [1, 3, 3, 2], INT8, 0.5, filter_w=2, filter_h=2)
    yield '3 dimensions, 4 wanted', unary('MAX_POOL_2D', [3, 3, 2], INT8, 0.5, **kernel)
    yield 'do not fit the shape', unary('RESHAPE', [5, 5], INT8, 0.5)
    yield 'differently', binary('CONCATENATION', INT8, 0.25, axis=3)
    yield 'axis 4 of 4', binary('CONCATENATION', INT8, 0.5, axis=4)
    yield 'limits 0 and 2^19', binary('ADD', INT8, 3e5)
    yield 'limits 0 and 2^14', binary('MUL', INT8, 3e4)
    yield 'input int8, weights uint8', binary('CONV_2D', UINT8, 0.5, bytes(64), (2, 4, 4, 2),
                                              **window)
    yield 'scales on axis 3, output channels are axis 0', binary(
        'CONV_2D', INT8, [0.5, 0.25], bytes(64), (2, 4, 4, 2), along=3, **window)
    yield 'by channels', unary('MAX_POOL_2D', [1, 3, 3, 2], INT8, [0.5, 0.25], 0, None, 3, **kernel)
    yield 'its output is int32, float32 wanted', unary('DEQUANTIZE', [1, 4, 4, 2], INT32)
    yield 'has 63 bytes, 64 wanted', binary('CONV_2D', INT8, 0.5, bytes(63), (2, 4, 4, 2), **window)
    yield 'weights for 3', binary('CONV_2D', INT8, 0.5, bytes(96), (2, 4, 4, 3), **window)
    yield 'axis 4 of 4', binary('MEAN', INT32, None, struct.pack('i', 4), (1,))
    yield 'constant integers', binary('MEAN', INT8, None, bytes(1), (1,))
    yield '2 paddings, 4 dimensions', binary('PAD', INT32, None, bytes(8), (1, 2))
    yield 'int8 with a scale', binary('DIV', INT8, 0.5)
    yield 'int8 with a scale', binary('FLOOR_DIV', INT8, 0.5)
    yield 'int8 with a scale', binary('PRELU', INT8, 0.5)
    m, x = net(FLOAT16, None)
    yield 'nothing gives tensor t1', m.file([x], [m.tensor([1], FLOAT32)])
    m, x = net()
    yield 'no output', m.file([x], [])
    file = unary('RELU', [1, 4, 4, 2], INT8, 0.5)
    yield 'damaged or cut off', file[:len(file) // 2]
    yield 'LSTM_0: operator LSTM (1)', file.replace(struct.pack('<i', 19), struct.pack('<i', 16), 1)
    yield 'operator number 210', file.replace(struct.pack('<i', 19), struct.pack('<i', 210), 1)
    m, x = net()
    y = [m.tensor([1, 4, 4, 2], INT8, 0.5) for _ in range(4)]
    for name, i in (('RELU', 0), ('SVDF', 1), ('LSTM', 2), ('SVDF', 3)):
        m.op(name, [x], [y[i]])
    yield 'SVDF_1: operator SVDF (2) is not supported, nor are LSTM (1)', m.file([x], y)


def unfit_options():
    """The same of options and constants that only some operators have."""
    def net(name, others, out, shape=(1, 4, 4, 2), dtype=INT8, out_type=None, **options):
        m = Model()
        scale = 0.5 if dtype in (INT8, UINT8) else None
        out_type = dtype if out_type is None else out_type
        x = m.tensor(list(shape), dtype, scale)
        inputs = [x] + [m.tensor([len(v)] if isinstance(v, list) else [], INT32, data=struct.pack(
            f'<{len(v)}i', *v) if isinstance(v, list) else struct.pack('<i', v)) for v in others]
        scale = 0.5 if out_type in (INT8, UINT8) else None
        outs = [m.tensor(list(s), out_type, scale) for s in out]
        if name.startswith('SPLIT') and name != 'SPLIT_V':
            inputs = inputs[::-1]
        m.op(name, inputs, outs, **options)
        return m.file([x], outs)

    same = (1, 4, 4, 2)
    for says, size, kernel, stride in (('size 0', 0, 2, 1), ('kernel 0', 4, 0, 1),
                                       ('stride 0', 4, 2, 0), ('stride -1', 4, 2, -1)):
        m = Model()
        x, y = m.tensor([1, 4, 4, 2], FLOAT32), m.tensor([1, 4, 4, 2], FLOAT32)
        w = m.tensor([2, kernel, 2, 2], FLOAT32, data=bytes(16 * kernel))
        out = m.tensor([4], INT32, data=struct.pack('<4i', 1, size, 4, 2))
        m.op('TRANSPOSE_CONV', [out, w, x], [y], stride_w=1, stride_h=stride)
        yield says, m.file([x], [y])
    yield 'both align_corners', net('RESIZE_BILINEAR', [[8, 8]], [(1, 8, 8, 2)], align_corners=1,
                                    half_pixel_centers=1)
    yield '2 above 0 wanted', net('RESIZE_BILINEAR', [[8, 0]], [(1, 8, 8, 2)])
    yield '2 above 0 wanted', net('RESIZE_NEAREST_NEIGHBOR', [[8]], [(1, 8, 8, 2)])
    yield 'blocksize 3', net('DEPTH_TO_SPACE', [], [same], block_size=3)
    yield 'blocksize 0', net('SPACE_TO_DEPTH', [], [same])
    yield 'limit 3', net('MIRROR_PAD', [[0, 0, 4, 0, 0, 0, 0, 0]], [same], mode=0)
    yield 'mode 2', net('MIRROR_PAD', [[0] * 8], [same], mode=2)
    yield 'places in 5 dimensions of 4', net('STRIDED_SLICE', [[0] * 5, [1] * 5, [1] * 5], [same])
    yield '3 begins, 4 ends', net('STRIDED_SLICE', [[0] * 3, [1] * 4, [1] * 4], [same])
    yield '3 numbers for 4 dimensions', net('SLICE', [[0] * 3, [1] * 3], [same])
    yield 'step', net('STRIDED_SLICE', [[0] * 4, [1] * 4, [0] * 4], [same])
    yield '-2 elements from 0', net('SLICE', [[0] * 4, [1, 1, 1, -2]], [same])
    yield 'axis 4 of 4', net('SPLIT', [4], [same, same])
    yield '4 elements in 3 equal parts', net('SPLIT', [1], [same] * 3)
    yield 'size 5 of output 1, limits 0 to 3', net('SPLIT_V', [[1, 5], 1], [same] * 2)
    yield '3 outputs', net('UNPACK', [], [(1, 4, 2)] * 3, axis=1)
    yield 'axis -6 of 5', net('PACK', [], [(1, 1, 4, 4, 2)], axis=-6)
    yield 'batch_dims 1', net('GATHER', [[0]], [same], batch_dims=1)
    yield 'axis 9 of 4', net('GATHER', [[0]], [same], axis=9)
    yield 'axis 4 of 4', net('ARG_MAX', [4], [(1, 4, 4)], out_type=INT32)
    yield 'perm', net('TRANSPOSE', [[0, 1, 2, 2]], [same])
    yield 'axis 7 of 4', net('SUM', [[7]], [same], dtype=FLOAT32)
    yield 'int8 with a scale', net('SUM', [[1]], [(1, 4, 2)])
    yield 'int8 with a scale', net('SQRT', [], [same])
    yield 'int8 with a scale', net('SQUARE', [], [same])
    yield 'int8 with a scale', net('LOG_SOFTMAX', [], [same])
    yield 'int8 with a scale', net('L2_NORMALIZATION', [], [same])
    yield 'bool wanted', net('LESS', [1], [same], dtype=INT32)
    yield 'type string', net('CAST', [], [same], out_type=5)


def unfit_int16():
    """The same for int16: operators and types that there are no rules for."""
    def net(name, types=(INT16, INT16), shape=(1, 4, 4, 2), zero=0, **options):
        m = Model()
        x = m.tensor(list(shape), INT16, 1e-3, zero)
        others = [m.tensor(list(shape), t, 1e-3, data=bytes(256 if t == INT64 else 64))
                  for t in types[:-1] if name != 'TANH']
        y = m.tensor(list(shape), types[-1], 2.0 ** -15)
        m.op(name, [x, *others], [y], **options)
        return m.file([x], [y])

    for name in ('HARD_SWISH', 'ELU', 'LEAKY_RELU'):
        yield f'{name}_0: type int16', net(name, (INT16,))
    yield 'int16', net('SUB')
    yield 'BATCH_MATMUL_0: type int16', net('BATCH_MATMUL')
    yield 'input int16, weights int16', net('CONV_2D', padding=1, stride_w=1, stride_h=1)
    yield 'zero point 5', net('TANH', zero=5)
    m = Model()
    x = m.tensor([1, 4], INT16, 1e-3)
    w = m.tensor([2, 4], INT8, 1e-2, data=bytes(8))
    b = m.tensor([2], INT32, 1e-5, data=bytes(8))
    y = m.tensor([1, 2], INT16, 1e-3)
    m.op('FULLY_CONNECTED', [x, w, b], [y])
    yield 'input int16, weights int8, bias int32', m.file([x], [y])
    m = Model()
    x, y = m.tensor([1, 4], INT16, 1e-3), m.tensor([1, 4], INT16, 1e-3)
    m.op('LOGISTIC', [x], [y])
    yield 'int16 of 2^-15 wanted', m.file([x], [y])


def check_refusals(result, work):
    """Each unfit file gets a message that says what is wrong."""
    wrong, count = [], 0
    for says, file in (*unfit_files(), *unfit_options(), *unfit_int16()):
        status, said = cnnrun(write(f'{work}/unfit.tflite', file))
        count += 1
        if status != 1 or says not in said:
            wrong.append(f'status {status}, {says!r} wanted: {said.strip()}')
    result.ok(not wrong, f'{count} files are refused with a reason', '\n'.join(wrong))


def check_picture(result, work):
    """A picture fills an input of uint8 whose channels come last."""
    m = Model()
    x = m.tensor([1, 4, 5, 3], UINT8, 0.5)
    y = m.tensor([60], UINT8, 0.5)
    m.op('RESHAPE', [x], [y])
    pixels = bytes(i * 7 % 251 for i in range(60))
    picture = write(f'{work}/picture.ppm', b'P6\n5 4\n255\n' + pixels)
    status, said = cnnrun(write(f'{work}/pixels.tflite', m.file([x], [y])), '--input',
                          f'0={picture}', '--output', f'0={work}/pixels.npy')
    with open(f'{work}/pixels.npy', 'rb') as f:
        result.ok(not status and f.read()[-60:] == pixels, 'a picture for NHWC', said)


def main():
    """All results."""
    result = tap.Tap()
    cases = [*tflite_cases.cases(), *tflite_element_cases.cases(), *tflite_map_cases.cases(),
             *tflite_int16_cases.cases()]
    with tempfile.TemporaryDirectory() as work:
        check_ours(result, cases, work)
        check_shifted(result, cases, work)
        check_refusals(result, work)
        check_picture(result, work)
        check_with_peer(result, cases, work)
    return result.done()


sys.exit(main())
