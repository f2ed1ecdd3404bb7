#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Networks whose weights are in other files: what is read, and what is refused."""
import os
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'tests', 'lib'))
sys.dont_write_bytecode = True
from load import load_script
from tap import Tap

BUILD = os.environ.get('CNNACC_BUILD', os.path.join(TOP, 'build'))
CNNRUN = os.path.join(BUILD, 'runtime/tools/cnnrun')
CNNQUANT = os.path.join(BUILD, 'runtime/tools/cnnquant')
TIMEOUT = 120
make = load_script('demo/make-model')
tap = Tap()


def fields(data):
    """(number, wire type, value, its bytes) of each field of a message."""
    at = 0

    def number():
        nonlocal at
        value, shift = 0, 0
        while True:
            value |= (data[at] & 0x7f) << shift
            shift, at = shift + 7, at + 1
            if not data[at - 1] & 0x80:
                return value

    while at < len(data):
        start, key = at, number()
        if key & 7 == 0:
            value = number()
        else:
            size = {1: 8, 2: None, 5: 4}[key & 7]
            size = number() if size is None else size
            value, at = data[at:at + size], at + size
        yield key >> 3, value, data[start:at]


def entry(key, value):
    return make.field(13, make.field(1, key) + make.field(2, str(value)))


def moved(tensor, place):
    """A TensorProto whose raw_data is elsewhere; place(name, bytes) gives its entries."""
    parts = list(fields(tensor))
    name = next(value.decode() for key, value, _ in parts if key == 8)
    kept = b''.join(raw for key, _, raw in parts if key != 9)
    data = next(value for key, value, _ in parts if key == 9)
    return kept + b''.join(entry(*pair) for pair in place(name, data)) + make.field(14, 1)


def changed(message, number, change):
    """The message with each field of that number replaced by what change makes of it."""
    return b''.join(make.field(number, change(value)) if key == number else raw
                    for key, value, raw in fields(message))


def split(model, place):
    return changed(model, 7, lambda graph: changed(graph, 5, lambda t: moved(t, place)))


def write(path, data):
    with open(path, 'wb') as f:
        f.write(data)


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)


def answer(model, out):
    done = run(CNNRUN, model, '--device', 'sim', '--output', f'0={out}')
    return read(out) if done.returncode == 0 else done.stderr


class Store:
    """One file that all tensors go to, one behind the other."""

    def __init__(self, location):
        self.location, self.data = location, b''

    def place(self, _name, data):
        offset = len(self.data)
        self.data += data
        return [('location', self.location), ('offset', offset), ('length', len(data))]


def test_good(work, model, want):
    for what, location in (('beside it', 'net.data'), ('in a folder', 'sub/net.data'),
                           ('by a detour', 'sub/../net.data')):
        store = Store(location)
        write(f'{work}/net.onnx', split(model, store.place))
        write(f'{work}/{location}', store.data)
        tap.equal(answer(f'{work}/net.onnx', f'{work}/out.npy'), want, f'weights in a file {what}')
    os.rename(f'{work}/net.data', f'{work}/sub/real')
    os.symlink('sub/real', f'{work}/net.data')
    tap.equal(answer(f'{work}/net.onnx', f'{work}/out.npy'), want, 'through a symbolic link')
    done = run(CNNRUN, '--compile', f'{work}/net.onnx', '-o', f'{work}/net.cnn', '--device', 'sim')
    os.remove(f'{work}/sub/real')
    tap.equal(done.stderr + str(answer(f'{work}/net.cnn', f'{work}/out.npy')), str(want),
              'a compiled network needs them no more')
    os.remove(f'{work}/net.data')


def test_file_each(work, model, want):
    def place(name, data):
        write(f'{work}/{name}', data)
        return [('location', name), ('checksum', '0' * 40)]

    write(f'{work}/net.onnx', split(model, place))
    tap.equal(answer(f'{work}/net.onnx', f'{work}/out.npy'), want,
              'a file for each tensor, neither offset nor length')


def test_quantise(work, model):
    store = Store('net.data')
    write(f'{work}/plain.onnx', model)
    write(f'{work}/net.onnx', split(model, store.place))
    write(f'{work}/net.data', store.data)
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 28, 28), }"
    header += ' ' * (63 - (10 + len(header)) % 64) + '\n'
    write(f'{work}/samples.npy', b'\x93NUMPY\x01\x00' + len(header).to_bytes(2, 'little') +
          header.encode() + b''.join(b'\0\0' + bytes([i % 128, 62]) for i in range(2 * 784)))
    for name in ('plain', 'net'):
        done = run(CNNQUANT, f'{work}/{name}.onnx', '-o', f'{work}/{name}.q.onnx', '--format', 'int8',
                   '--samples', f'{work}/samples.npy', '--test', f'{work}/samples.npy',
                   '--device', 'sim')
        tap.equal((done.returncode, done.stderr), (0, ''), f'cnnquant {name}.onnx')
    tap.ok(read(f'{work}/plain.q.onnx') == read(f'{work}/net.q.onnx'), 'the same network comes out')


def refused(work, model, entries, want, what):
    """Every tensor gets these entries; the message has all parts of want."""
    write(f'{work}/net.onnx', split(model, lambda name, data: entries))
    done = run(CNNRUN, f'{work}/net.onnx', '--device', 'sim')
    good = done.returncode == 1 and all(part in done.stderr for part in want)
    tap.ok(good, what)
    if not good:
        print(f'# exit status {done.returncode}: {done.stderr}')


def test_bad_places(work, model):
    os.mkdir(f'{work}/net')
    inside = f'{work}/net'
    write(f'{work}/secret', bytes(1 << 20))
    write(f'{inside}/data', bytes(1 << 20))
    os.symlink('../secret', f'{inside}/link')
    os.symlink('/proc/self/exe', f'{inside}/magic')
    os.symlink('loop', f'{inside}/loop')
    os.mkfifo(f'{inside}/pipe')
    outside = "outside the model's folder"
    for location, want in (
            ('../secret', outside), (f'{work}/secret', outside), ('link', outside),
            ('magic', outside), ('loop', 'symbolic links'), ('pipe', 'not a regular file'),
            ('.', 'not a regular file'), ('none', 'No such file'), ('data/x', 'Not a directory'),
            ('d' * 5000, 'too long')):
        refused(inside, model, [('location', location)], ['external data', want],
                f'location {location[:20].replace(work, "")}')


def test_bad_numbers(work, model):
    write(f'{work}/data', bytes(16))
    here = ('location', 'data')
    for entries, want in (
            ([], 'without a location'), ([('location', '')], 'without a location'),
            ([here, ('offset', '-4')], 'offset is "-4"'),
            ([here, ('offset', '')], 'offset is ""'),
            ([here, ('offset', '0x10')], 'offset is "0x10"'),
            ([here, ('offset', ' 4')], 'offset is " 4"'),
            ([here, ('offset', '9' * 30)], 'offset is "999'),
            ([here, ('offset', 2 ** 63 - 1)], 'it has 16'),
            ([here, ('offset', 17)], 'it has 16'), ([here], 'it has 16'),
            ([here, ('length', 3)], 'length is 3'),
            ([here, ('size', 3)], 'unknown key size')):
        refused(work, model, entries, ['tensor t', 'external data', want], f'entries {entries[1:]}')


def main():
    model = make.lenet()
    with tempfile.TemporaryDirectory(prefix='cnnacc-external.') as work:
        os.mkdir(f'{work}/sub')
        write(f'{work}/net.onnx', model)
        want = answer(f'{work}/net.onnx', f'{work}/out.npy')
        tap.ok(isinstance(want, bytes), 'the network in one file')
        test_good(work, model, want)
        test_file_each(work, model, want)
        test_quantise(work, model)
        test_bad_places(work, model)
        test_bad_numbers(work, model)
    sys.exit(tap.done())


main()
