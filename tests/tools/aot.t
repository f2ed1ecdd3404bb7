#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cnnrun --compile, and what it writes: run, explained, refused."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
from tap import Tap

BUILD = os.environ.get('CNNACC_BUILD', os.path.join(HERE, '..', '..', 'build'))
TOOLS = os.path.join(BUILD, 'runtime', 'tools')
MODELS = os.path.join(BUILD, 'tests', 'unit', 'rt')
DONE, FAILED, USAGE, NO_DEVICE = range(4)
tap = Tap()


def tool(*command):
    """Runs a tool: its exit status and all that it prints."""
    run = subprocess.run([os.path.join(TOOLS, command[0]), *command[1:]], capture_output=True,
                         text=True, timeout=120, check=False)
    return run.returncode, run.stdout + run.stderr


def expect(status, words, *command):
    """Runs a tool: its exit status, and what it must say."""
    code, text = tool(*command)
    good = code == status and words in text
    tap.ok(good, ' '.join([command[0], *(os.path.basename(a) for a in command[1:])]))
    if not good:
        print(f'# status {code}, {status} and "{words}" wanted')
        print('\n'.join('# ' + line for line in text.splitlines()[-20:]))


def content(path):
    with open(path, 'rb') as f:
        return f.read()


def check_network(name):
    """The compiled network against the ONNX file: answers, reports, bytes."""
    model, net = os.path.join(MODELS, f'{name}.onnx'), f'{name}.cnn'
    expect(DONE, 'MACs on device', 'cnnrun', '--compile', model, '-o', net, '--device', 'sim')
    expect(DONE, '', 'cnnrun', '--compile', model, '-o', 'again.cnn', '--device', 'sim')
    tap.ok(content(net) == content('again.cnn'), f'{name}: compiled twice, the same bytes')
    expect(DONE, '', 'cnnrun', '--compile', model, '-o', 'caps.cnn', '--device-caps', 'sim.caps')
    tap.ok(content(net) == content('caps.cnn'), f'{name}: the same bytes for a device not there')
    expect(DONE, 'time:', 'cnnrun', model, '--device', 'sim', '--output', '0=want.npy')
    expect(DONE, 'time:', 'cnnrun', net, '--device', 'sim', '--output', '0=got.npy')
    tap.ok(content('want.npy') == content('got.npy'), f'{name}: the same answer')
    explained = [[line for line in tool('cnnrun', f, '--device', 'sim', '--explain')[1].splitlines()
                  if ' MACs  ' in line or line.startswith('   - ')] for f in (model, net)]
    tap.ok(explained[0] and explained[0] == explained[1], f'{name}: the same explanation')


def check_refusals():
    """What a compiled network cannot have any more, and files that are none."""
    model = os.path.join(MODELS, 'digits.onnx')
    expect(USAGE, 'go together', 'cnnrun', '--compile', model, '--device', 'sim')
    expect(USAGE, 'go together', 'cnnrun', model, '-o', 'x.cnn', '--device', 'sim')
    expect(USAGE, 'in place of --device', 'cnnrun', '--compile', model, '-o', 'x.cnn',
           '--device', 'sim', '--device-caps', 'sim.caps')
    expect(USAGE, 'too late', 'cnnrun', 'digits.cnn', '--device', 'sim', '--core', 'cpu')
    expect(USAGE, 'too late', 'cnnrun', 'digits.cnn', '--device', 'sim', '--shape', '0=1,1,28,28')
    expect(USAGE, 'too late', 'cnnrun', 'digits.cnn', '--device', 'sim', '--prefer', 'time')
    expect(USAGE, 'too late', 'cnnrun', 'digits.cnn', '--device', 'sim', '--precision', 'fp16')
    expect(USAGE, 'too late', 'cnnrun', 'digits.cnn', '--device', 'sim', '--target', 'sim.caps')
    expect(FAILED, '/nowhere/x', 'cnnrun', '--compile', model, '-o', '/nowhere/x',
           '--device', 'sim')
    expect(USAGE, 'line 3: no "="', 'cnnrun', '--compile', model, '-o', 'x.cnn',
           '--device-caps', os.path.join(HERE, 'aot.t'))
    expect(FAILED, 'lob) 0x100', 'cnnrun', 'digits.cnn', '--device', 'sim:cores=ccp:lob=16')
    expect(NO_DEVICE, 'not run', 'cnnrun', 'digits.cnn', '--device', 'caps:sim.caps')
    said = ('caps:sim.caps: a description of a device: programs can be compiled for it, not run '
            'on it')
    for command in ('regs', 'stats', 'selftest', 'reset'):
        expect(NO_DEVICE, said, 'cnnctl', command, '--device', 'caps:sim.caps')
    for command in ('exec', 'events'):
        expect(NO_DEVICE, said, 'cnnctl', command, '--core', '0', '--program', 'digits.cnn',
               '--device', 'caps:sim.caps')
    data = bytearray(content('digits.cnn'))
    data[len(data) // 2] ^= 1
    with open('bad.cnn', 'wb') as f:
        f.write(data)
    expect(FAILED, 'damaged', 'cnnrun', 'bad.cnn', '--device', 'sim')


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        expect(DONE, '', 'cnnctl', 'info', '--device', 'sim', '--caps', 'sim.caps')
        expect(DONE, 'driver none', 'cnnctl', 'info', '--device', 'caps:sim.caps')
        expect(USAGE, '--caps', 'cnnctl', 'stats', '--device', 'sim', '--caps', 'x')
        expect(FAILED, '/nowhere/x', 'cnnctl', 'info', '--device', 'sim', '--caps', '/nowhere/x')
        for name in ('digits', 'mixed'):
            check_network(name)
        check_refusals()
        os.chdir('/')
    raise SystemExit(tap.done())


main()
