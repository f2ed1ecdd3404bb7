#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cnnrun --report --core all: its figures are those of plain runs of the same networks, and follow
from each other; its views agree; and what it says of bad input."""
import html.parser
import json
import math
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

import numpy as np
import onnx
from onnx import helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
import cores
from tap import Tap

BUILD = os.environ.get('CNNACC_BUILD', os.path.join(TOP, 'build'))
SAMPLES, LEAST_DB = 13, 10
MOVED = ('read_program_bytes', 'read_weights_bytes', 'read_data_bytes', 'written_bytes')
tap = Tap()
os.environ.pop('CNNRT_DEVICE', None)


def run(tool, *args):
    return subprocess.run([os.path.join(BUILD, 'runtime', 'tools', tool), *args],
                          capture_output=True, text=True, errors='replace', timeout=120, check=False)


def check(name, test, *args):
    """A TAP line for a function that asserts."""
    try:
        test(*args)
        tap.ok(True, name)
    except (AssertionError, ValueError, KeyError, StopIteration, ET.ParseError) as error:
        tap.ok(False, name, repr(error))


def equal(got, want, what):
    assert got == want, f'{what}: {got}, not {want}'


def close(got, want, what):
    assert math.isclose(got, want, rel_tol=1e-6, abs_tol=1e-9), f'{what}: {got}, not {want}'


# ---- networks and samples -----------------------------------------------------------------

def build(path, start):
    """Convolutions, one of them depthwise, what few cores run, and scores; start names the first."""
    random = np.random.default_rng(18)
    nodes, tensors, value = [], [], ['x']

    def node(op, name, *shapes, **attributes):
        names = []
        for shape in shapes:
            names.append(f'w{len(tensors)}')
            scale = np.float32(np.sqrt(2 / max(1, np.prod(shape[1:]))))
            tensors.append(numpy_helper.from_array(
                random.standard_normal(shape).astype(np.float32) * scale, names[-1]))
        nodes.append(helper.make_node(op, [value[0], *names], [f'v{len(nodes)}'], name=name,
                                      **attributes))
        value[0] = nodes[-1].output[0]

    node('Conv', start, (16, 3, 3, 3), (16,), pads=[1, 1, 1, 1])
    node('Relu', 'relu')
    node('Conv', 'depthwise', (16, 1, 3, 3), (16,), group=16, strides=[2, 2], pads=[1, 1, 1, 1])
    node('HardSwish', 'swish')
    node('Conv', 'pointwise', (32, 16, 1, 1), (32,))
    node('GlobalAveragePool', 'mean')
    node('Flatten', 'flat')
    node('Gemm', 'scores', (10, 32), (10,), transB=1)
    graph = helper.make_graph(nodes, 'net', [helper.make_tensor_value_info('x', 1, [1, 3, 16, 16])],
                              [helper.make_tensor_value_info(value[0], 1, [1, 10])], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 14)])
    model.ir_version = 7
    onnx.save(model, path)


def write_samples(work):
    random = np.random.default_rng(5)
    samples = random.standard_normal((SAMPLES, 3, 16, 16)).astype(np.float32)
    for name, data in (('samples', samples), ('calibrate', samples[::2]), ('test', samples[1::2])):
        np.save(os.path.join(work, name + '.npy'), data)


# ---- figures ------------------------------------------------------------------------------

def report(work, model, *options):
    """The JSON of a report of all cores."""
    path = os.path.join(work, 'report.json')
    said = run('cnnrun', model, '--report', path, '--core', 'all', *options)
    assert said.returncode == 0 and not said.stderr, said.stderr
    with open(path, encoding='utf-8') as file:
        return json.load(file)


def rows_of(data):
    return [row for row in data['rows'] if row['core'] != 'all' and 'reason' not in row]


def network_of(work, model, row):
    """The row's network in a file, quantised by cnnquant itself."""
    if 'quantised' not in row:
        return model
    path = os.path.join(work, row['quantised'] + '.onnx')
    if not os.path.exists(path):
        said = run('cnnquant', model, '-o', path, '--format', row['quantised'],
                   '--samples', os.path.join(work, 'calibrate.npy'))
        assert said.returncode == 0, said.stderr
    return path


def plain(work, model, row, device):
    """Report and answers of a plain run of what the row says."""
    paths = [os.path.join(work, name) for name in ('plain.json', 'answers.npy')]
    said = run('cnnrun', network_of(work, model, row), '--device', device, '--core', row['core'],
               '--batch', '--input', '0=' + os.path.join(work, 'test.npy'),
               '--output', '0=' + paths[1], '--report', paths[0],
               *(['--precision', 'fp16'] if row['half'] else []))
    assert said.returncode == 0, said.stderr
    with open(paths[0], encoding='utf-8') as file:
        return json.load(file), np.load(paths[1]).reshape(SAMPLES // 2, -1)


def check_row(work, model, row, device, floats):
    """A row is what plain runs say."""
    data, answers = plain(work, model, row, device)
    on_cpu = [layer for layer in data['layers'] if layer['place'] == 'cpu']
    equal(row['cycles'], data['total']['cycles'], 'cycles')
    equal(row['macs'], data['total']['macs'], 'MACs')
    equal(row['memory_bytes'], sum(data['total'][k] for k in MOVED), 'bytes')
    equal(row['run_ns'], data['target_ns'], 'time of a run')
    equal(row['cpu_ns'], sum(layer['cost_ns'] for layer in on_cpu), 'time on the CPU')
    equal(row['cpu_ops'], len(on_cpu), 'operators on the CPU')
    equal(sum(why['count'] for why in row['on_cpu']), len(on_cpu), 'reasons')
    assert all(why['reason'] and why['op'] for why in row['on_cpu']), 'a reason is empty'
    equal(row['samples'], SAMPLES // 2, 'samples')
    equal(row['same'], int((answers.argmax(1) == floats.argmax(1)).sum()), 'top-1')
    noise = float(((answers.astype(float) - floats) ** 2).sum())
    if noise:
        signal = floats.astype(float) - floats.astype(float).mean(0)
        close(row['snr_db'], 10 * math.log10(float((signal ** 2).sum()) / noise), 'SNR')
    equal(row['exact'], not noise, 'exact')


def check_shares(row):
    """Ratios follow from the counts."""
    close(row['clocks_per_mac'], row['cycles'] / row['macs'] if row['macs'] else 0, 'clocks')
    close(row['utilisation'], row['macs'] / row['mac_peak'] if row['mac_peak'] else 0, 'utilisation')
    close(row['cpu_macs'], 1 - row['macs'] / row['macs_total'], 'MACs on the CPU')
    close(row['cpu_time'], row['cpu_ns'] / row['ops_ns'], 'time on the CPU')
    for key in ('cycles', 'macs', 'mac_peak'):
        equal(sum(core[key] for core in row['cores']), row[key], f'{key} by core')
    for core in row['cores']:
        moved = sum(memory.get('moved_bytes', 0) for memory in core['memories'])
        equal(moved, sum(core[k] for k in MOVED), 'bytes of on-chip memories')
        assert core['on_chip_bytes'] >= moved, 'the device counted less than programs moved'


def sram(table, size):
    """pJ of a byte in a memory of that size, by the rule of the documentation."""
    known = sorted((int(key[5:]), pj) for key, pj in table.items() if key.startswith('sram.'))
    if size <= known[0][0]:
        return known[0][1]
    for (low, a), (high, b) in zip(known, known[1:]):
        if size <= high:
            return a * (b / a) ** (math.log(size / low) / math.log(high / low))
    return known[-1][1]


def check_energy(row, table):
    """The energy follows from the figures and the table."""
    energy, local = row['energy_pj'], 0
    close(energy['macs'], sum(core['mac_useful'] * table['mac.' + core['mac']]
                              for core in row['cores']), 'MACs')
    close(energy['memory'], table['memory'] * (row['memory_bytes'] + row['cpu_bytes'] +
                                               2 * row['conversion_bytes']), 'memory')
    close(energy['cpu'], table['cpu'] * row['cpu_ns'], 'CPU')
    for core in row['cores']:
        units = [sram(table, m['bank_bytes']) for m in core['memories'] if not m['program']]
        moved = sum(m.get('moved_bytes', 0) for m in core['memories'])
        local += sum(m.get('moved_bytes', 0) * sram(table, m['bank_bytes'])
                     for m in core['memories'])
        local += (core['on_chip_bytes'] - moved) * sum(units) / len(units)
    close(energy['on_chip'], local, 'on chip')
    close(energy['all'], sum(energy[k] for k in ('macs', 'on_chip', 'memory', 'cpu')), 'all')


def db(row):
    return math.inf if row['exact'] else row.get('snr_db', -math.inf)


def check_best(data):
    """The shortest run of each core with little noise, and a row for all cores no longer than any."""
    rows = rows_of(data)
    for core in {row['core'] for row in rows}:
        own = [row for row in rows if row['core'] == core]
        good = [row for row in own if db(row) >= LEAST_DB]
        want = min(good, key=lambda row: row['run_ns']) if good else max(own, key=db)
        equal([row['format'] for row in own if row['best']], [want['format']], f'best of {core}')
    everywhere = [row for row in data['rows'] if row['core'] == 'all']
    equal(len(everywhere), 1, 'rows of all cores')
    best = min(row['run_ns'] for row in rows if db(row) >= LEAST_DB)
    assert everywhere[0]['run_ns'] <= best, f"all cores: {everywhere[0]['run_ns']}, one: {best}"


def check_cores(data):
    """Each core of the device has a row."""
    listed = data['device'].split('cores=', 1)[1].split('+')
    equal({row['core'] for row in data['rows']}, {*listed, 'all'}, 'cores')
    for name, facts in cores.facts().items():
        if name in listed and facts['elements'] != 'integer':
            assert any(row['core'] == name and row['macs'] for row in rows_of(data)), name


def check_figures(work, model):
    data = report(work, model, '--samples', os.path.join(work, 'samples.npy'))
    device = data['device']
    run('cnnrun', model, '--device', device, '--core', 'cpu', '--batch',
        '--input', '0=' + os.path.join(work, 'test.npy'),
        '--output', '0=' + os.path.join(work, 'floats.npy'))
    floats = np.load(os.path.join(work, 'floats.npy')).reshape(SAMPLES // 2, -1)
    check('every core has a row', check_cores, data)
    for row in rows_of(data):
        check(f"{row['core']} {row['format']}: as a plain run", check_row, work, model, row, device,
              floats)
    for row in data['rows']:
        if 'reason' in row:
            continue
        check(f"{row['core']} {row['format']}: shares", check_shares, row)
        check(f"{row['core']} {row['format']}: energy", check_energy, row, data['energy_table'])
    check('the best of each core', check_best, data)
    return data


def check_table(work, model):
    """A file replaces what it names of the table, and nothing else."""
    path = os.path.join(work, 'energy.txt')
    with open(path, 'w', encoding='ascii') as file:
        file.write('# of another process\n\n mac.FP32 = 1.5 \nmemory=2\nsram.65536=4\nsram.1024=1\n')
    data = report(work, model, '--energy', path)
    table = data['energy_table']
    equal([table[k] for k in ('mac.FP32', 'memory', 'sram.1024', 'sram.65536', 'mac.FP16', 'cpu')],
          [1.5, 2, 1, 4, 2, 84], 'table')
    equal(sum(key.startswith('sram.') for key in table), 2, 'sizes')
    for row in rows_of(data):
        check_energy(row, table)


def check_without_samples(work, model):
    """Float formats run; the others say what they need."""
    for row in report(work, model)['rows']:
        if 'quantised' in row:
            assert '--samples' in row['reason'], row
        else:
            assert row['run_ns'] and 'samples' not in row, row


def check_classes(work, model):
    """Right answers are counted by the classes given."""
    floats = np.load(os.path.join(work, 'floats.npy')).reshape(SAMPLES // 2, -1).argmax(1)
    labels = np.zeros(SAMPLES, np.int64)
    labels[1::2] = floats
    labels[1] = (floats[0] + 1) % 10
    path = os.path.join(work, 'classes.npy')
    np.save(path, labels)
    data = report(work, model, '--samples', os.path.join(work, 'samples.npy'), '--classes', path)
    exact = max(rows_of(data), key=db)
    equal(exact['same'], SAMPLES // 2, 'same of the most accurate')
    equal(exact['right'], SAMPLES // 2 - 1, 'right of the most accurate')


def build_free(path):
    """A convolution over an input of which only the channels are known: 1 is too small."""
    weights = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), 'w')
    graph = helper.make_graph([helper.make_node('Conv', ['x', 'w'], ['y'])], 'free',
                              [helper.make_tensor_value_info('x', 1, ['n', 3, 'h', 'w'])],
                              [helper.make_tensor_value_info('y', 1, None)], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 14)])
    model.ir_version = 7
    onnx.save(model, path)


def check_shapes(work):
    """--shape, --samples or both give the sizes that a network leaves free."""
    path = os.path.join(work, 'free.onnx')
    samples = ('--samples', os.path.join(work, 'samples.npy'))
    build_free(path)
    for options, side in ((('--shape', 'x=1,3,16,16'), 16), (('--shape', '0=1,3,12,12'), 12),
                          (samples, 16), ((*samples, '--shape', 'x=1,3,16,16'), 16)):
        rows = rows_of(report(work, path, *options))
        assert rows, 'no core ran it'
        for row in rows:
            equal(row['macs_total'], 4 * 3 * 9 * (side - 2) ** 2, f'MACs with {options}')
    for options, status, wanted in (
            ((), 1, ('were taken as 1', 'as in --shape x=1,3,224,224')),
            (('--shape', 'z=1,3,16,16'), 2, ('no input "z"',)),
            (('--shape', 'x=1,4,16,16'), 1, ('dimension 1 is 3, 4 given',)),
            ((*samples, '--shape', 'x=1,3,12,12'), 1, ('one sample is', '--shape gives input x'))):
        said = run('cnnrun', path, '--report', '--core', 'all', *options)
        equal(said.returncode, status, f'status with {options}')
        assert all(text in said.stderr for text in wanted), said.stderr


# ---- views --------------------------------------------------------------------------------

class Page(html.parser.HTMLParser):
    """Tags must close, and nothing may come from elsewhere or run."""

    def __init__(self):
        super().__init__()
        self.open, self.rows, self.text = [], 0, []

    def handle_starttag(self, tag, attrs):
        self.rows += tag == 'tr'
        assert tag not in ('script', 'link', 'img', 'iframe', 'object'), tag
        for key, value in attrs:
            assert not key.startswith('on') and key not in ('src', 'href', 'xlink:href'), key
            assert 'url(' not in (value or ''), value
        if tag != 'meta':
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f'</{tag}>'

    def handle_data(self, data):
        self.text.append(data)


def check_views(work, data):
    """A network with markup for names, in the page, the picture and the text."""
    hostile = '</td><script>alert("&amp;")</script>\x01\n'
    model = os.path.join(work, 'a&b <i>.onnx')
    build(model, hostile)
    paths = [os.path.join(work, 'out.' + kind) for kind in ('html', 'svg')]
    options = ('--core', 'all', '--samples', os.path.join(work, 'samples.npy'))
    said = run('cnnrun', model, '--report', *(word for path in paths for word in ('--report', path)),
               *options)
    assert said.returncode == 0 and '\x01' not in said.stdout, said.stderr
    page = Page()
    with open(paths[0], encoding='utf-8') as file:
        page.feed(file.read())
    page.close()
    equal(page.open, [], 'open tags')
    shown = ''.join(page.text)
    space = '{http://www.w3.org/2000/svg}'
    drawn = [text.text for text in ET.parse(paths[1]).getroot().iter(space + 'text')]
    for row in data['rows']:
        name = f"{row['core']} {row['format']}"
        line = next(line for line in said.stdout.splitlines()
                    if line.split()[:2] == [row['core'], row['format']])
        assert str(row['cycles']) in line.split() and str(row['cycles']) in shown, name
        assert any(text.startswith(name) for text in drawn), name
        for why in row['on_cpu']:
            assert why['op'] in shown, why['op']


# ---- bad input ----------------------------------------------------------------------------

TABLES = {
    'mac.FP8=1': 'line 1: mac.FP8: there is no such key',
    '\nmemory=12 pJ': 'line 2: memory: its value is no number of pJ from 0 to 1000000',
    'memory=-1': 'line 1: memory: its value',
    'memory=nan': 'line 1: memory: its value',
    'memory=1e7': 'line 1: memory: its value',
    'memory=': 'line 1: memory: its value',
    'cpu=1\ncpu=1': 'line 2: cpu: it is there twice',
    'sram.0=1': 'line 1: sram.0: the size is no number from 1 to 1073741824',
    'sram.x=1': 'line 1: sram.x: the size',
    'sram.2000000000=1': 'line 1: sram.2000000000: the size',
    'sram.64=1\nsram.0x40=1': 'line 2: sram.0x40: it is there twice',
    '\n'.join(f'sram.{i}=1' for i in range(1, 18)): 'line 17: sram.17: there are 16 sizes already',
    'memory': 'line 1: memory: key=value is wanted',
    '=1': 'line 1: : there is no such key',
    'cpu=1\0': 'it is no text',
    '\x1b[31m=1': 'line 1: ?[31m: there is no such key',
}


def test_tables(work, model):
    path = os.path.join(work, 'bad.txt')
    for text, wanted in TABLES.items():
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        said = run('cnnrun', model, '--report', '--core', 'all', '--energy', path)
        tap.ok(said.returncode == 1 and wanted in said.stderr, f'energy table: {wanted}',
               said.stderr)


def test_usage(work, model):
    def saved(name, data):
        np.save(os.path.join(work, name), data)
        return os.path.join(work, name)

    samples = os.path.join(work, 'samples.npy')
    x = np.load(samples)
    two = os.path.join(work, 'none.npy')
    everywhere = ('--report', '--core', 'all')
    for status, args, wanted in (
            (2, ('--samples', samples), '--samples is for --report --core all'),
            (2, ('--report', '--energy', samples), '--energy is for --report --core all'),
            (2, ('--compare', *everywhere[1:], '--samples', samples), '--samples is for'),
            (2, (*everywhere, '--classes', samples), '--classes is for --samples'),
            (2, (*everywhere, '--repeat', '2'), '--repeat is for a plain run'),
            (2, (*everywhere, '--input', '0=' + samples), '--input is for a plain run'),
            (2, ('--report', 'x.pdf', '--core', 'all'), 'x.pdf'),
            (1, (*everywhere, '--samples', two), 'No such file'),
            (1, (*everywhere, '--energy', work), 'Is a directory'),
            (1, (*everywhere, '--samples', saved('1.npy', x[:3])), 'samples: 3, at least 4 are wanted'),
            (1, (*everywhere, '--samples', saved('2.npy', x.astype(np.float64))), 'float32 samples'),
            (1, (*everywhere, '--samples', saved('3.npy', x[:, :2])), 'one sample'),
            (1, (*everywhere, '--samples', samples, '--classes', saved('4.npy', np.zeros(3, int))),
             'a list of 13 integers is wanted'),
            (1, (*everywhere, '--samples', samples,
                 '--classes', saved('5.npy', np.full(SAMPLES, 10))), 'limits 0 to 9'),
            (1, ('--report', os.path.join(work, 'none', 'x.html'), '--core', 'all'), 'No such file'),
            (2, (*everywhere, '--device', 'sim:cores=none'), 'no core type')):
        said = run('cnnrun', model, *args)
        tap.ok(said.returncode == status and wanted in said.stderr, f'status {status}: {wanted}',
               f'{said.returncode}: {said.stderr}')


def test_networks(work):
    """Networks that are no float networks of one input are refused where that matters."""
    x, y = (helper.make_tensor_value_info(name, 1, [1, 3, 16, 16]) for name in 'xy')
    b, z = (helper.make_tensor_value_info(name, 3, [1, 3]) for name in 'bz')
    options = ('--samples', os.path.join(work, 'samples.npy'))
    path = os.path.join(work, 'other.onnx')
    for inputs, out, op, args, wanted in (
            ([x, helper.make_tensor_value_info('b', 1, [1, 3, 16, 16])], y, 'Add', options,
             'it has 2 inputs'),
            ([b], z, 'Identity', (), 'input b is int8'),
            ([x], y, 'Relu', options, 'it has no Conv, Gemm or MatMul')):
        graph = helper.make_graph([helper.make_node(op, [i.name for i in inputs], [out.name])], 'n',
                                  inputs, [out])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 14)])
        model.ir_version = 7
        onnx.save(model, path)
        said = run('cnnrun', path, '--report', '--core', 'all', *args)
        tap.ok(said.returncode == 1 and wanted in said.stderr, wanted, said.stderr)


def main():
    with tempfile.TemporaryDirectory(prefix='cnnacc-cores.') as work:
        model = os.path.join(work, 'net.onnx')
        build(model, 'conv')
        write_samples(work)
        data = check_figures(work, model)
        check('a table of energies from a file', check_table, work, model)
        check('without samples', check_without_samples, work, model)
        check('sizes that are free', check_shapes, work)
        check('right by classes', check_classes, work, model)
        check('page, picture and text', check_views, work, data)
        test_tables(work, model)
        test_usage(work, model)
        test_networks(work)
    sys.exit(tap.done())


main()
