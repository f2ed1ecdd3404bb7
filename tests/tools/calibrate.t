#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What cnnctl calibrate writes: a description that loads, with costs of a real machine."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
from tap import Tap

BUILD = os.environ.get('CNNACC_BUILD', os.path.join(HERE, '..', '..', 'build'))
TOOLS = os.path.join(BUILD, 'runtime', 'tools')
MODEL = os.path.join(BUILD, 'tests', 'unit', 'rt', 'mixed.onnx')
TWO = 'sim:cores=ccp+hwpe'
DONE, FAILED, USAGE, NO_DEVICE = range(4)
# Every machine on which this runs is within these: fs of a multiply-add of a product, of a byte
# copied; ns of a submission; Hz of a core, in a simulation too.
BOUNDS = {'cpu.product.fs_per_step': (100, 10**8), 'cpu.integer.fs_per_step': (100, 10**8),
          'copy.fs_per_byte': (1000, 10**8), 'rearrange.fs_per_element': (1000, 10**9),
          'submit_ns': (0, 10**9), 'cpu.op_ns': (1, 10**7),
          'core0.hz': (10**4, 10**11), 'core1.hz': (10**4, 10**11)}
SLOWER = 1.1    # times the CPU's wall clock that places by time may take
ROUNDS = 5      # on a machine that does something else beside
tap = Tap()


def tool(name, *args):
    """Status and everything that it says."""
    run = subprocess.run([os.path.join(TOOLS, name), *args], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    return run.returncode, run.stdout


def expect(status, words, *command):
    code, text = tool(*command)
    tap.ok(code == status and words in text, ' '.join(os.path.basename(a) for a in command),
           f'status {code}, {status} and "{words}" wanted: {text}')
    return text


def costs(path):
    """The numbers of a file, by key, in its order."""
    with open(path, encoding='ascii') as f:
        lines = [line.strip().split('=') for line in f if not line.startswith('#')]
    return {line[0]: int(line[1], 0) for line in lines if not line[0].endswith('.name')}


def content(path):
    with open(path, 'rb') as f:
        return f.read()


def check_file(path):
    got, plain = costs(path), costs('plain.caps')
    tap.ok(list(got) == list(plain), 'the keys of cnnctl info --caps, in their order')
    device = [key for key in plain if not re.match(r'cpu|copy|rearr|submit|core\d.hz', key)]
    tap.ok(all(got[key] == plain[key] for key in device), 'it describes the same device')
    for key, (low, high) in BOUNDS.items():
        tap.ok(low <= got[key] <= high, f'{key} is within {low} and {high}', got[key])
    kinds = {key.split('.')[1] for key in got if key.startswith('cpu.') and key.count('.') == 2}
    for kind in sorted(kinds):
        rates = [got[f'cpu.{kind}.fs_per_{what}'] for what in ('step', 'element', 'byte')]
        tap.ok(any(rates) and rates != [plain[f'cpu.{kind}.fs_per_{what}']
                                        for what in ('step', 'element', 'byte')],
               f'{kind} was measured', rates)


def check_use(path, said):
    """It is used in both ways, which give the same bytes, and stands in what is compiled."""
    table = re.search(r'costs (0x\w{16})', said).group(1)
    expect(DONE, f'costs {table}', 'cnnctl', 'info', '--device', f'caps:{path}')
    expect(DONE, table, 'cnnrun', MODEL, '--compile', '-o', 'there.cnn', '--device-caps', path)
    expect(DONE, table, 'cnnrun', MODEL, '--compile', '-o', 'here.cnn', '--device', TWO,
           '--target', path)
    tap.ok(content('there.cnn') == content('here.cnn'), 'the same bytes')
    expect(DONE, 'time:', 'cnnrun', 'here.cnn', '--device', TWO, '--explain')
    text = expect(DONE, table, 'cnnrun', 'here.cnn', '--device', TWO)
    reference = expect(DONE, 'costs 0x', 'cnnrun', MODEL, '--device', TWO)
    tap.ok(table in text and table not in reference, 'the reference has other costs')
    expect(FAILED, 'its costs are for another device', 'cnnrun', MODEL, '--device',
           'sim:cores=hwpe+ccp', '--target', path)


def check_modelled():
    """A core whose end becomes visible at its modelled time is not faster than that."""
    expect(DONE, 'costs', 'cnnctl', 'calibrate', '-o', 'time.caps', '--device',
           f'{TWO},timing=modelled')
    got = costs('time.caps')
    for core in ('core0', 'core1'):
        tap.ok(0 < got[f'{core}.hz'] < 1.1 * got['clock_hz'], f'{core} runs in modelled time',
               got[f'{core}.hz'])


def least_time(*options):
    """The shortest of many runs of a quantised network, in ms."""
    text = expect(DONE, 'time:', 'cnnrun', 'mobile.tflite', '--device', TWO, '--repeat', '40',
                  *options)
    return float(re.search(r'time: .* ms median of \d+, ([\d.]+) \.\.', text)[1])


def check_wall_clock(path):
    """With the costs of this machine, on which cores are simulated, places by time are a gain."""
    subprocess.run([os.path.join(HERE, '..', 'conformance', 'tflite_networks.py'), 'mobile-u8',
                    'mobile.tflite'], timeout=120, check=True)
    ratios = []
    while len(ratios) < ROUNDS and (not ratios or min(ratios) > SLOWER):
        by_time = least_time('--prefer', 'time', '--target', path)
        ratios.append(by_time / least_time('--core', 'cpu'))
    tap.ok(min(ratios) <= SLOWER, f'--prefer time takes at most {SLOWER} times as long as the CPU',
           ratios)


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        expect(DONE, '', 'cnnctl', 'info', '--device', TWO, '--caps', 'plain.caps')
        said = expect(DONE, 'real.caps: costs 0x', 'cnnctl', 'calibrate', '-o', 'real.caps',
                      '--device', TWO)
        check_file('real.caps')
        check_use('real.caps', said)
        check_wall_clock('real.caps')
        check_modelled()
        expect(USAGE, '-o FILE is missing', 'cnnctl', 'calibrate', '--device', 'sim')
        expect(FAILED, '/nowhere/x', 'cnnctl', 'calibrate', '-o', '/nowhere/x', '--device', 'sim')
        expect(NO_DEVICE, 'not run', 'cnnctl', 'calibrate', '-o', 'x', '--device',
               'caps:plain.caps')
        os.chdir('/')
    raise SystemExit(tap.done())


main()
