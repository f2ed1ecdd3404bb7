#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What cnnrun --report and --profile write: figures that agree, files that others can read."""
import collections
import html.parser
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
import cores
from tap import Tap
from tflite_build import FLOAT32, INT8, INT32, Model

BUILD = os.environ.get('CNNACC_BUILD', os.path.join(HERE, '..', '..', 'build'))
CNNRUN = os.path.join(BUILD, 'runtime', 'tools', 'cnnrun')
MODELS = os.path.join(BUILD, 'tests', 'unit', 'rt')
TWO = 'sim:cores=ccp+hwpe'
SMALL = 'sim:cores=ccp:data-bank=32768:weight-bank=4096:lob=16:icache=1024'
CORE = ('compute', 'stall', 'control')
DMA = {'load program': 'dma_program_cycles', 'load weights': 'dma_weights_cycles',
       'load data': 'dma_data_cycles', 'store data': 'dma_data_cycles'}
BOUNDS = {'compute', 'weight load', 'data load', 'control'}
# Names of the same length as those that the generator gives.
HOSTILE = {b'globalaveragepool': b'</title><script>"', b'conv': b'&\'\\<',
           b'hardswish': b'\xff\x01"\xef\xbf\xbe<&\x7f',
           b'batchnorm': b'\xf0\x9f\x90\x8e\n\\\xc3\xbc>'}
tap = Tap()
FACTS = cores.facts()
# The cores of TWO.
FLOATS, INTEGERS = TWO.partition('=')[2].split('+')


def check(name, test, *args):
    """A TAP line for a function that asserts."""
    try:
        test(*args)
        tap.ok(True, name)
    except (AssertionError, ValueError, KeyError, ET.ParseError) as error:
        tap.ok(False, name, repr(error))


def cnnrun(*args):
    """Runs cnnrun on the in-process device unless args name another."""
    device = [] if '--device' in args else ['--device', 'sim']
    return subprocess.run([CNNRUN, *args, *device], capture_output=True, text=True, timeout=120,
                          check=False)


def equal(got, want, what):
    assert got == want, f'{what}: {got}, not {want}'


# ---- the report as JSON -------------------------------------------------------------------

def check_sums(data):
    layers = [layer for layer in data['layers'] if layer['place'] != 'cpu']
    assert layers and data['total']['cycles'] > 0
    for key, total in data['total'].items():
        equal(sum(layer[key] for layer in layers), total, key)
    for layer in data['layers']:
        equal(layer['cost_ns'] if layer['place'] != 'cpu' else layer['cost_ns'] > 0,
              layer['cycles'] * 10**9 // data['clock_hz'] or layer['place'] == 'cpu', 'cost_ns')
        equal(layer['cycles'], sum(layer[part + '_cycles'] for part in CORE), layer['name'])
        if layer['place'] == 'cpu':
            equal(layer['cycles'], 0, layer['name'])
            continue
        assert layer['bound'] in BOUNDS and 0 <= layer['utilisation'] <= 1, layer
        assert layer['mac_useful'] <= layer['mac_slots'], layer
        peak = FACTS[layer['place']]['macs_a_cycle']
        equal(layer['mac_peak'], peak * layer['cycles'], layer['name'])
    assert data['target_ns'] > sum(layer['cost_ns'] for layer in data['layers']), 'submissions'
    equal(sum(layer['host_ns'] for layer in data['layers']), data['cpu_ns'], 'cpu_ns')
    assert 0 <= data['cpu_ns'] + data['copy_ns'] <= data['run_ns'] and data['compile_ns'] > 0
    assert data['copy_ns'] or not data['conversions'], 'copies take no time'


# ---- the trace ----------------------------------------------------------------------------

def nanoseconds(microseconds):
    return round(microseconds * 1000)


def check_nesting(slices):
    """On one row a slice lies in the one that is open, or behind it; returns the outer ones."""
    outer, stack = [], []
    for start, end, event in sorted(slices, key=lambda s: (s[0], -s[1])):
        while stack and stack[-1] <= start:
            stack.pop()
        assert not stack or end <= stack[-1], f'{event} ends in another slice'
        if not stack:
            outer.append(event)
        stack.append(end)
    return outer


def check_trace(trace, data):
    rows, names = collections.defaultdict(list), {}
    for event in trace['traceEvents']:
        if event['ph'] == 'M':
            names[event['name'], event['pid'], event['tid']] = event['args']['name']
            continue
        equal(event['ph'], 'X', 'phase')
        start = nanoseconds(event['ts'])
        assert start >= 0 and event['dur'] >= 0, event
        rows[event['pid'], event['tid']].append(
            (start, start + nanoseconds(event['dur']), event))
    for pid, tid in rows:
        assert ('process_name', pid, 0) in names and ('thread_name', pid, tid) in names
    host = [rows.pop(row) for row in sorted(rows) if row[0] == 1]
    for slices in host:
        check_nesting(slices)
    check_host(sum(host, []), data)
    layers, times = collections.Counter(), collections.Counter()
    for (pid, tid), slices in rows.items():
        outer = check_nesting(slices)
        if not names['thread_name', pid, tid].endswith('DMA'):
            check_core(slices, outer, layers)
        for _, _, event in slices:
            times[event['cat']] += event['args']['cycles']
    total = data['total']
    for layer in data['layers']:
        equal(layers[layer['index']], layer['cycles'], layer['name'])
    for part in CORE:
        equal(times[part], total[part + '_cycles'], part)
    for key in set(DMA.values()):
        equal(sum(times[part] for part in DMA if DMA[part] == key), total[key], key)


def check_core(slices, outer, layers):
    """Layers on the outside, what the core does inside them; time and cycles agree."""
    inner = [event for _, _, event in slices if event['cat'] != 'layer']
    equal({event['cat'] for event in outer}, {'layer'}, 'outer slices')
    equal(len(outer) + len(inner), len(slices), 'slices')
    for event in outer:
        layers[event['args']['index']] += event['args']['cycles']
        # 100 MHz: 10 ns a cycle.
        equal(nanoseconds(event['dur']), 10 * event['args']['cycles'], event['name'])
    equal(sum(event['args']['cycles'] for event in inner), sum(event['args']['cycles']
                                                               for event in outer), 'inside')


def check_host(slices, data):
    events = [event for _, _, event in slices]
    cats = collections.Counter(event['cat'] for event in events)
    operators = [layer for layer in data['layers'] if layer['place'] == 'cpu']
    equal(cats['operator'], len(operators), 'operators on the host')
    equal(cats['submit'], cats['wait'], 'submits and waits')
    equal(sum(nanoseconds(event['dur']) for event in events if event['cat'] == 'operator'),
          data['cpu_ns'], 'time of operators')
    counted = [event['args']['cycles counted by the device'] for event in events
               if event['cat'] == 'wait']
    equal(sum(counted), data['total']['cycles'], 'cycles that the device counted')
    equal(sum(event['args']['programs'] for event in events if event['cat'] == 'wait'),
          data['tasks'], 'programs')


# ---- the page and its pictures ------------------------------------------------------------

class Page(html.parser.HTMLParser):
    """Tags must close, and nothing may come from elsewhere or run."""
    void = {'meta', 'link', 'br'}

    def __init__(self):
        super().__init__()
        self.open, self.count, self.text = [], collections.Counter(), []

    def handle_starttag(self, tag, attrs):
        self.count[tag] += 1
        assert tag not in ('script', 'link', 'img', 'iframe', 'object'), tag
        for key, value in attrs:
            assert not key.startswith('on') and key not in ('src', 'href', 'xlink:href'), key
            assert key == 'title' or 'url(' not in (value or ''), value
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f'</{tag}>'

    def handle_data(self, data):
        self.text.append(data)


def used(data):
    """Per cent of what the cores could have done for the network."""
    macs, peak = data['total']['macs'], data['total']['mac_peak']
    return 100 * macs / peak if peak else 0


def dots(data):
    return sum(1 for layer in data['layers'] if layer['place'] != 'cpu' and layer['cycles'] and
               layer['macs'])


def check_page(text, data):
    page = Page()
    page.feed(text)
    page.close()
    equal(page.open, [], 'open tags')
    equal(page.count['svg'], 2, 'pictures')
    works = [layer for layer in data['layers'] if layer['place'] == 'cpu' or layer['cycles']]
    equal(page.count['tr'], len(works) + 2, 'rows of the table')
    # Four are the legend.
    equal(page.count['circle'], dots(data) + 4, 'dots')
    shown = ''.join(page.text)
    for layer in works:
        assert layer['name'] in shown, layer['name']
    assert f"{used(data):.1f} %of the cores' peak MACs" in shown, 'MACs by the peak'
    for term in ('cycles', 'MACs, % of peak', 'stall, %', 'of minimum', 'target, ms', 'bound by',
                 'roofline'):
        assert f'<dt>{term}</dt><dd>' in text, f'what {term} means'
    assert 'Made by libcnnrt 0.' in shown and 'cnnrun ' in shown, 'command and version'
    assert '--report' in shown.split('Made by', 1)[1], 'the command line'
    assert 'prefers-color-scheme' in text and '@import' not in text


def check_svg(path, data):
    root = ET.parse(path).getroot()
    space = '{http://www.w3.org/2000/svg}'
    equal(root.tag, space + 'svg', 'root')
    equal(len(root.findall(f'.//{space}circle')), dots(data) + 4, 'dots')
    for child in root.iter():
        assert child.tag.startswith(space), child.tag


def check_text(text, data):
    lines = [line for line in text.splitlines() if line]
    assert all(len(line) <= 120 for line in lines), max(lines, key=len)
    first = next(i for i, line in enumerate(lines) if line.startswith('By the cycle model'))
    last = next(i for i, line in enumerate(lines) if line.lstrip().startswith('all on cores'))
    assert str(data['total']['cycles']) in lines[last].split()
    assert f'{used(data):.1f}' in lines[last].split(), 'MACs by the peak'
    assert any(line.startswith(f"Changes of layout: {data['conversions']} of ") for line in lines)
    works = [layer for layer in data['layers'] if layer['place'] == 'cpu' or layer['cycles']]
    equal(last - first - 3, len(works), 'rows')
    costs = next(i for i, line in enumerate(lines) if line.startswith('Modelled time on the target'))
    assert lines[costs].endswith(f"costs {int(data['target_hash'], 16):#018x}: a run "
                                 f"{data['target_ns'] / 1e6:.3f} ms"), lines[costs]
    rows = lines[costs + 2:costs + 2 + len(works)]
    for row, layer in zip(rows, works):
        fields = row.split()
        at = fields.index(layer['place'], 3)
        equal([int(fields[0]), fields[at + 1]],
              [layer['index'], f"{layer['cost_ns'] / 1e6:.3f}"], 'cost')
        equal(fields[at + 2:], [layer['next_place'], f"{layer['next_ns'] / 1e6:.3f}"]
              if 'next_place' in layer else [], 'next best')
    # The last figure of every row ends in one column.
    ends = {len(line[:line.rindex('  ')].rstrip()) for line in lines[first + 3:last + 1]}
    equal(len(ends), 1, 'columns')


# ---- all of it ----------------------------------------------------------------------------

def hostile(work):
    """A network whose names are markup, quotes and bytes that are no text."""
    with open(os.path.join(MODELS, 'mixed.onnx'), 'rb') as model:
        data = model.read()
    for name, other in HOSTILE.items():
        assert len(name) == len(other) and name in data
        data = data.replace(name, other)
    path = os.path.join(work, 'a&b <i>.onnx')
    with open(path, 'wb') as model:
        model.write(data)
    return path


def check_model(work, name, model, *options):
    files = {kind: os.path.join(work, 'out.' + kind) for kind in ('json', 'html', 'svg', 'trace')}
    run = cnnrun(model, '--report', '--report', files['json'], '--profile', files['trace'],
                 *options)
    tap.ok(run.returncode == 0, f'{name}: report and profile', run.stderr)
    if run.returncode:
        return
    with open(files['json'], encoding='utf-8') as out:
        data = json.load(out)
    check(f'{name}: figures add up', check_sums, data)
    check(f'{name}: the table', check_text, run.stdout, data)
    with open(files['trace'], encoding='utf-8') as out:
        check(f'{name}: the trace is the report', check_trace, json.load(out), data)
    for kind in ('html', 'svg'):
        run = cnnrun(model, '--report', files[kind], *options)
        tap.ok(run.returncode == 0, f'{name}: {kind}', run.stderr)
    with open(files['html'], encoding='utf-8') as out:
        check(f'{name}: the page', check_page, out.read(), data)
    check(f'{name}: the picture', check_svg, files['svg'], data)


def check_compiled(work):
    """A network compiled before tells the same figures."""
    model = os.path.join(MODELS, 'mixed.onnx')
    program, first, second = (os.path.join(work, name) for name in ('p.cnn', '1.json', '2.json'))
    for args in ((model, '--compile', '-o', program), (model, '--report', first),
                 (program, '--report', second)):
        run = cnnrun(*args)
        assert run.returncode == 0, run.stderr
    data = []
    for path in (first, second):
        with open(path, encoding='utf-8') as out:
            data.append(json.load(out))
    equal(data[1]['compile_ns'], 0, 'compile_ns')
    equal(data[0]['total'], data[1]['total'], 'total')
    for a, b in zip(data[0]['layers'], data[1]['layers']):
        equal({**a, 'host_ns': 0}, {**b, 'host_ns': 0}, a['name'])


def check_minimum(work):
    """The least bytes of the digits network, by hand: weights, input, output of each layer."""
    maps = 4 * 8 * 28 * 28, 4 * 16 * 14 * 14
    weights = 4 * (8 * 25 + 8), 0, 4 * (16 * 8 * 25 + 16), 0, 0, 4 * (10 * 256 + 10)
    ends = {0: 4 * 28 * 28}, {5: 4 * 10}
    # The pooled maps of 6,272 and 1,024 bytes fit a bank of 8,192, the others do not.
    small = {0: ends[0][0], 1: maps[0], 3: maps[1]}, {0: maps[0], 2: maps[1], 5: ends[1][5]}
    for device, (inputs, outputs) in (('sim', ends), ('sim:cores=ccp:data-bank=8192', small)):
        path = os.path.join(work, 'least.json')
        run = cnnrun(os.path.join(MODELS, 'digits.onnx'), '--report', path, '--device', device)
        assert run.returncode == 0, run.stderr
        with open(path, encoding='utf-8') as out:
            layers = json.load(out)['layers']
        equal(len(layers), 6, 'layers')
        for i, layer in enumerate(layers):
            equal([layer[f'min_{what}_bytes'] for what in ('weights', 'input', 'output')],
                  [weights[i], inputs.get(i, 0), outputs.get(i, 0)], layer['name'])


def check_minimum_of_bytes(work):
    """Bytes and sums cannot stay on a core, floats of 4,096 bytes can."""
    path = os.path.join(work, 'least.json')
    run = cnnrun(two_cores(work), '--report', path, '--device', TWO)
    assert run.returncode == 0, run.stderr
    with open(path, encoding='utf-8') as out:
        least = {layer['op']: [layer[f'min_{what}_bytes'] for what in ('input', 'output')]
                 for layer in json.load(out)['layers']}
    equal(least['Conv'], [0, 0], 'Conv')
    equal(least['ConvInteger'], [64 * 16, 64 * 32 * 4], 'ConvInteger')


def two_cores(work):
    """A file: a convolution of floats, then one of bytes."""
    m = Model()
    x = m.tensor([1, 8, 8, 4], FLOAT32)
    f = m.tensor([1, 8, 8, 16], FLOAT32)
    q = m.tensor([1, 8, 8, 16], INT8, 0.5)
    y = m.tensor([1, 8, 8, 32], INT8, 8.0)
    out = m.tensor([1, 8, 8, 32], FLOAT32)
    w = m.tensor([16, 3, 3, 4], FLOAT32, data=struct.pack('<576f', *(i % 7 - 3 for i in range(576))))
    b = m.tensor([16], FLOAT32, data=bytes(64))
    qw = m.tensor([32, 3, 3, 16], INT8, 0.25, 0, bytes(i * 37 % 251 for i in range(4608)))
    qb = m.tensor([32], INT32, 0.125, 0, bytes(128))
    m.op('CONV_2D', [x, w, b], [f], padding=0, stride_w=1, stride_h=1)
    m.op('QUANTIZE', [f], [q])
    m.op('CONV_2D', [q, qw, qb], [y], 3, padding=0, stride_w=1, stride_h=1)
    m.op('DEQUANTIZE', [y], [out])
    path = os.path.join(work, 'two.tflite')
    with open(path, 'wb') as model:
        model.write(m.file([x], [out]))
    return path


def check_two_cores(work):
    """Who has which work; the 16 channels of bytes and 32 of sums change their order."""
    path = os.path.join(work, 'two.json')
    floats, integers, changes = 64 * 576, 64 * 4608, [2, 64 * (16 + 4 * 32)]
    for option, macs, conversions in (
            ([], {FLOATS: floats, INTEGERS: integers}, changes),
            (['--core', FLOATS], {FLOATS: floats, 'cpu': integers}, [0, 0]),
            (['--core', INTEGERS], {'cpu': floats, INTEGERS: integers}, changes)):
        run = cnnrun(two_cores(work), '--explain', '--report', path, '--device', TWO, *option)
        assert run.returncode == 0, run.stderr
        with open(path, encoding='utf-8') as out:
            data = json.load(out)
        got = collections.Counter()
        for layer in data['layers']:
            got[layer['place']] += layer['macs']
        equal(+got, collections.Counter(macs), f'MACs {option}')
        equal([data['conversions'], data['conversion_bytes']], conversions, f'changes {option}')
        explained = re.findall(r' MACs  (\d+\.\d{3}) ms(?: \((\w+): (\d+\.\d{3}) ms\))?  ',
                               run.stdout)
        equal(explained, [(f"{layer['cost_ns'] / 1e6:.3f}",
                           *((layer['next_place'], f"{layer['next_ns'] / 1e6:.3f}")
                             if 'next_place' in layer else ('', ''))) for layer in data['layers']],
              f'costs {option}')
        says = f'Changes of layout: {conversions[0]}, {conversions[1]} bytes'
        assert says in run.stdout, run.stdout


def check_usage(work):
    digits = os.path.join(MODELS, 'digits.onnx')
    for status, args in ((2, ('--report', os.path.join(work, 'out.pdf'))),
                         (2, ('--profile',)),
                         (2, ('--compile', '-o', os.path.join(work, 'p.cnn'), '--report')),
                         (1, ('--report', os.path.join(work, 'none', 'out.html'))),
                         (1, ('--profile', os.path.join(work, 'none', 'out.json'))),
                         (1, ('--profile', '/dev/full'))):
        run = subprocess.run([CNNRUN, '--device', 'sim', digits, *args], capture_output=True,
                             text=True, timeout=120, check=False)
        tap.ok(run.returncode == status and run.stderr, ' '.join(
            os.path.basename(arg) for arg in args) + f': status {status}', run.stderr)


def main():
    with tempfile.TemporaryDirectory() as work:
        digits, mixed = (os.path.join(MODELS, name + '.onnx') for name in ('digits', 'mixed'))
        check_model(work, 'device only', digits)
        check_model(work, 'device and CPU', mixed)
        check_model(work, 'small memories', mixed, '--device', SMALL)
        check_model(work, 'names that are markup', hostile(work))
        check_model(work, 'two cores', two_cores(work), '--device', TWO)
        check('who has what of two cores', check_two_cores, work)
        check('the least bytes', check_minimum, work)
        check('the least bytes of two cores', check_minimum_of_bytes, work)
        check('compiled before', check_compiled, work)
        check_usage(work)
    sys.exit(tap.done())


main()
