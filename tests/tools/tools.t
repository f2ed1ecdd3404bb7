#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What cnnctl and cnnrun make of odd arguments, on the in-process device."""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
import cores

BUILD = os.environ.get('CNNACC_BUILD', os.path.join(HERE, '..', '..', 'build'))
MODEL = os.path.join(BUILD, 'tests', 'unit', 'rt', 'digits.onnx')
DONE, FAILED, USAGE, NO_DEVICE = range(4)
number = failed = 0

LINE = bytes(range(64))


def core_program(*args):
    """Lists the cores, or makes a program of one."""
    return subprocess.run([os.path.join(BUILD, 'tests', 'lib', 'core_program'), *args],
                          stdout=subprocess.PIPE, timeout=120, check=True).stdout


# The first is the one of a device that names none, and the networks of these tests run on it.
CORES = core_program().decode().split()
CORE, OTHER = CORES[:2]
NOP = core_program(CORE, 'nop')
# One line from VA 0x1000 to VA 0x2000.
COPY = core_program(CORE, 'copy', '0x1000', '0x2000', '1')


def array(version=1, descr="'<f4'", shape='1, 1, 28, 28', order='False', size=28 * 28 * 4):
    """A .npy file."""
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': ({shape}), }}\n".encode()
    return (b'\x93NUMPY' + bytes([version, 0]) +
            struct.pack('<H' if version == 1 else '<I', len(header)) + header + bytes(size))


ARRAYS = {
    'good': (DONE, array()),
    'version2': (DONE, array(version=2)),
    'version9': (FAILED, array(version=9)),
    'type': (FAILED, array(descr="'>f4'")),
    'longer-type': (FAILED, array(descr="'<f4x'")),
    'order': (FAILED, array(order='True')),
    'overflow': (FAILED, array(shape='4611686018427387905, 4')),
    'negative': (FAILED, array(shape='-1, 1, 28, 28')),
    'short': (FAILED, array(size=100)),
    'header': (FAILED, array()[:8] + b'\xff\xff' + array()[10:]),
}


def report(good, name):
    """One TAP line."""
    global number, failed
    number += 1
    failed += not good
    print(f'{"" if good else "not "}ok {number} - {name}')


def expect(status, words, command, env=None):
    """Runs a tool: its exit status, and what its output must say."""
    tool = os.path.join(BUILD, 'runtime', 'tools', command[0])
    run = subprocess.run([tool, *command[1:]], capture_output=True, text=True, timeout=120,
                         env={**os.environ, **(env or {})}, check=False)
    good = run.returncode == status and words in run.stderr + run.stdout
    report(good, ' '.join([command[0], *(os.path.basename(a) for a in command[1:])]))
    if not good:
        print(f'# status {run.returncode}, {status} and "{words}" wanted')
        print('\n'.join('# ' + line for line in (run.stdout + run.stderr).splitlines()[-20:]))


def execute(status, words, *args):
    expect(status, words, ['cnnctl', 'exec', '--device', 'sim', '--core', CORE, *args])


def network(status, words, *args):
    expect(status, words, ['cnnrun', MODEL, '--device', 'sim', *args])


def program_max():
    """Bytes of the longest program of the first core."""
    run = subprocess.run([os.path.join(BUILD, 'runtime', 'tools', 'cnnctl'), 'info', '--json',
                          '--device', 'sim'], stdout=subprocess.PIPE, timeout=120, check=True)
    return json.loads(run.stdout)[0]['cores'][0]['program_max']


def programs():
    for name, data in (('nop', NOP), ('copy', COPY), ('long', bytes(program_max() + 4)),
                       ('line', LINE), ('odd', bytes(3)), ('empty', b'')):
        with open(name, 'wb') as f:
            f.write(data)


def check_exec():
    execute(USAGE, 'multiple of 64', '--program', '0x1001=nop')
    execute(USAGE, 'program of 3 bytes', '--program', 'odd')
    execute(USAGE, f'up to {program_max()}', '--program', 'long')
    execute(USAGE, 'exec: empty: the file is empty', '--program', 'empty')
    execute(USAGE, '4 GiB', '--program', 'nop', '--zero', '0xfffff000:0x1001')
    execute(USAGE, 'VA:LEN=FILE', '--program', 'nop', '--dump', '0:64')
    execute(USAGE, 'cycle', '--program', 'nop', '--cycles', '0')
    execute(USAGE, 'takes at most', '--program', 'nop', '--cycles', '0xffffffffffffffff')
    execute(USAGE, '--load', '--program', 'nop', '--load')
    execute(USAGE, 'Is a directory', '--program', '.')
    execute(USAGE, 'null: not a regular file', '--program', '/dev/null')
    execute(FAILED, '/nowhere/x', '--program', 'nop', '--dump', '0:64=/nowhere/x')


def check_events():
    """Each core's program computes; of one core at least it raises events."""
    raised = 0
    for core in CORES:
        with open('compute', 'wb') as f:
            f.write(core_program(core, 'compute', '0x10000000', '0x10010000'))
        run = subprocess.run(
            [os.path.join(BUILD, 'runtime', 'tools', 'cnnctl'), 'events', '--device',
             f'sim:cores={core}', '--core', core, '--program', 'compute', '--zero',
             '0x10000000:0x20000'], capture_output=True, text=True, timeout=120, check=False)
        last = re.fullmatch(rf'{core}: (\d+) events; OK', run.stdout.splitlines()[-1])
        seen = [int(n) for n in re.findall(rf' ms  {core}: (\d+) events?, ', run.stdout)]
        report(run.returncode == DONE and last and int(last[1]) == sum(seen),
               f'cnnctl events prints those of {core}')
        raised += sum(seen)
    report(raised > 0, 'a core raises events')
    expect(USAGE, 'events: --core is missing', ['cnnctl', 'events', '--program', 'nop'])
    expect(FAILED, f'{CORE}: 0 events; ', ['cnnctl', 'events', '--device', 'sim', '--core', CORE,
                                          '--program', 'copy'])


def check_cores():
    """--core NAME[.INDEX] as cnnctl info prints it; a number alone is an index."""
    two = ['--device', f'sim:cores={OTHER}+{CORE}', '--program', 'nop']
    expect(DONE, f'core {OTHER}.0: version', ['cnnctl', 'info', *two[:2]])
    expect(DONE, f'core {CORE}.1: version', ['cnnctl', 'info', *two[:2]])
    for name in (CORE, f'{CORE}.1', '1'):
        expect(DONE, f'"core": "{CORE}"', ['cnnctl', 'exec', *two, '--core', name])
    for name in (f'{CORE}.0', 'npu', '2', ''):
        expect(USAGE, f'has no core "{name}": it has {OTHER}.0, {CORE}.1',
               ['cnnctl', 'exec', *two, '--core', name])
    expect(USAGE, 'the kernel does not know', ['cnnctl', 'reset', *two[:2], '--core', CORE])


def check_dumps():
    """A dump over pages of every kind, and beyond them."""
    args = ['--program', 'copy', '--load-ro', '0x1000=line']
    execute(DONE, '"OK"', *args, '--dump', '0x1000:0x2000=across')
    execute(DONE, '"OK"', *args, '--zero', '0x2000:64', '--dump', '0x1000:0x2000=across2')
    execute(DONE, '"OK"', '--program', '0x3000=copy', '--load-ro', '0x1000=line',
            '--dump', '0xfff:0x2100=across3', '--dump', '0x2001:3=part')
    want = LINE + bytes(0xfc0)
    for name, content in (('across', want + want), ('across2', want + want),
                          ('across3', (b'\0' + want + want + COPY + bytes(256))[:0x2100]),
                          ('part', LINE[1:4])):
        with open(name, 'rb') as f:
            report(f.read() == content, f'dump {name} holds what it should')


def check_unknown_core():
    """A core without a description: its name and numbers."""
    expect(DONE, '', ['cnnctl', 'info', '--device', 'sim', '--caps', 'npu.caps'])
    with open('npu.caps', encoding='ascii') as f:
        text = f.read()
    with open('npu.caps', 'w', encoding='ascii') as f:
        f.write(re.sub('param15=.*', 'param15=0x1f', text.replace(f'name={CORE}', 'name=npu')))
    expect(DONE, 'core npu.0: version 1.1', ['cnnctl', 'info', '--device', 'caps:npu.caps'])
    expect(DONE, 'unknown core, parameters 0x100000 0x10000 ', ['cnnctl', 'info', '--device',
                                                               'caps:npu.caps'])
    expect(DONE, ' 0x1f\n', ['cnnctl', 'info', '--device', 'caps:npu.caps'])


def check_facts():
    """What cnnctl prints of each core, all of them on one device."""
    facts = cores.facts()
    device = ['--device', 'sim:cores=' + '+'.join(facts[name]['build'] for name in CORES)]
    for i, name in enumerate(CORES):
        fact = facts[name]
        expect(DONE, f'    {fact["info"]}\n', ['cnnctl', 'info', *device])
        expect(DONE, fact['info_json'], ['cnnctl', 'info', '--json', *device])
        expect(DONE, f'ok   core {i} ({name}): {fact["selftest"]}', ['cnnctl', 'selftest', *device])
        expect(DONE, f'{"ID":24} {0x4000 + 0x1000 * i:#x}  {fact["id"]}',
               ['cnnctl', 'regs', *device])
        expect(DONE, fact['regs_json'], ['cnnctl', 'regs', '--json', *device])


def check_devices():
    expect(DONE, 'in-process', ['cnnctl', 'info'], {'CNNRT_DEVICE': 'sim'})
    check_facts()
    check_unknown_core()
    expect(DONE, 'Usage: ', ['cnnctl', 'exec', '--help'])
    expect(NO_DEVICE, 'no such accelerator', ['cnnctl', 'info', '--device', '/nowhere'])
    expect(NO_DEVICE, 'simm: there is no such accelerator in this machine; device "sim" (--device sim '
           'or CNNRT_DEVICE=sim) runs one', ['cnnctl', 'info', '--device', 'simm'])
    expect(DONE, f'[{CORE}.0]\n', ['cnnctl', 'stats', '--device', f'sim:cores={CORE}'])
    expect(NO_DEVICE, 'not a cnnacc', ['cnnctl', 'info', '--device', '/dev/null'])
    for tool in (['cnnctl', 'selftest'], ['cnnrun', MODEL]):
        expect(USAGE, 'no property', [*tool, '--device', 'sim:nonsense=1'])
        expect(USAGE, 'threads" is given twice', [*tool, '--device', 'sim:threads=1,threads=2'])
        expect(USAGE, f'"{OTHER}" has no value: write KEY=VALUE, and cores=NAME+NAME for more than one',
               [*tool, '--device', f'sim:cores={CORE},{OTHER}'])
        expect(USAGE, 'no core type', [*tool, '--device', 'sim:cores=nonsense'])


def check_options():
    """What getopt_long() understands, what it refuses, and --help of every tool and command."""
    for form in (['--device=sim'], ['--device', 'sim'], ['--dev', 'sim'], ['--dev=sim']):
        expect(DONE, 'in-process', ['cnnctl', 'info', *form])
    expect(DONE, '786560 of 786560',
           ['cnnrun', '--device=sim', '--repe=1', f'--core={CORE}', '--', MODEL])
    expect(DONE, 'bound by', ['cnnrun', '--device=sim', '--report', MODEL])
    network(DONE, '786560 of 786560', '--report=page.html', '--output=0=y.npy')
    report(os.path.exists('page.html') and os.path.exists('y.npy'), 'files named after "=" are there')
    network(USAGE, '--report: bad value "page.txt"; it must be a file name that ends in .html',
            '--report=page.txt')
    network(USAGE, 'option --re is ambiguous: --report, --repeat; try cnnrun --help', '--re', '2')
    network(USAGE, '--explain takes no value', '--explain=yes')
    network(USAGE, '--repeat: bad value "0"; it must be 1 to 1000000', '--repeat', '0')
    network(USAGE, '--fit: bad value "tight"; it must be stretch, crop or pad', '--fit', 'tight')
    network(USAGE, '--labels: its value is missing: "--explain" follows', '--labels', '--explain')
    network(USAGE, 'unknown option -z', '-z')
    expect(USAGE, 'info: unknown option --fast; try cnnctl info --help',
           ['cnnctl', 'info', '--fast=1'])
    expect(USAGE, 'info: "more" is no option', ['cnnctl', 'info', 'more'])
    expect(USAGE, 'unknown command "look"; try cnnctl --help', ['cnnctl', 'look'])
    expect(USAGE, 'COMMAND is missing', ['cnnctl'])
    expect(USAGE, 'core: FILE is missing', ['cnnctl', 'core', '--json'])
    expect(USAGE, 'there is "a" and "b"', ['cnnctl', 'replay', 'a', 'b'])
    expect(USAGE, 'exec: --program is missing', ['cnnctl', 'exec', '--core', CORE])
    expect(USAGE, 'top: --interval: bad value "9"; it must be 10 to 3600000',
           ['cnnctl', 'top', '--interval', '9'])
    for command in ('info', 'regs', 'stats', 'top', 'selftest', 'reset', 'core', 'replay', 'exec',
                    'events'):
        expect(DONE, f'Usage: cnnctl {command} ', ['cnnctl', command, '--help'])
        expect(DONE, f'  {command}  ', ['cnnctl', '-h'])
    for tool in ('cnnctl', 'cnnrun', 'cnnquant'):
        expect(DONE, f'Usage: {tool} ', [tool, '--help'])
        expect(DONE, f'{tool} 0.', [tool, '--version'])
        check_width(tool)


def check_width(tool):
    text = subprocess.run([os.path.join(BUILD, 'runtime', 'tools', tool), '--help'],
                          capture_output=True, text=True, timeout=120, check=True).stdout
    report(max(map(len, text.splitlines())) <= 79, f'{tool} --help fits a terminal')


def check_descriptors():
    """No accelerator is not the same as no descriptors to look for one."""
    tool = os.path.join(BUILD, 'runtime', 'tools', 'cnnctl')
    env = {k: v for k, v in os.environ.items() if k != 'CNNRT_DEVICE'}
    run = subprocess.run(['sh', '-c', 'ulimit -n 5; exec "$@"', 'sh', tool, 'info'], env=env,
                         capture_output=True, text=True, timeout=120, check=False)
    report(run.returncode == FAILED and 'Too many open files' in run.stderr,
           'cnnctl tells missing descriptors from a missing device')


def check_addresses():
    """The in-process device reserves as many addresses as there are."""
    tool = os.path.join(BUILD, 'runtime', 'tools', 'cnnrun')
    run = subprocess.run(['sh', '-c', 'ulimit -v 1000000; exec "$@"', 'sh', tool, MODEL, '--device',
                          'sim'], capture_output=True, text=True, timeout=120, check=False)
    report(run.returncode == DONE and '786560 of 786560' in run.stdout,
           'cnnrun runs in 1 GB of addresses')


def check_output():
    """What cannot be printed is not done."""
    for command in (['cnnctl', 'info'], ['cnnrun', MODEL]):
        tool = os.path.join(BUILD, 'runtime', 'tools', command[0])
        with open('/dev/full', 'w', encoding='ascii') as full:
            run = subprocess.run([tool, *command[1:], '--device', 'sim'], stdout=full,
                                 stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        report(run.returncode == FAILED and 'standard output' in run.stderr,
               f'{command[0]} notices that its output is lost')


def check_cnnrun():
    network(DONE, '786560 of 786560', '--core', '0')
    network(DONE, '786560 of 786560', '--core', f'{CORE}.0')
    network(USAGE, f'no core "1": it has {CORE}.0', '--core', '1')
    network(USAGE, f'no core "{CORE}.1": it has {CORE}.0', '--core', f'{CORE}.1')
    for name in ('1', f'{CORE}.1'):
        expect(DONE, f'core 0 ({CORE}) 0, core 1 ({CORE}) 786560',
               ['cnnrun', MODEL, '--device', f'sim:cores={CORE}+{CORE}', '--core', name])
    expect(DONE, f'core 0 ({OTHER}) 0, core 1 ({CORE}) 786560',
           ['cnnrun', MODEL, '--device', f'sim:cores={OTHER}+{CORE}', '--core', CORE])
    network(DONE, 'fused into Conv conv3', '--explain')
    for what in ('device', 'time'):
        network(DONE, 'Modelled time of a run: ', '--prefer', what)
    network(USAGE, '--prefer: bad value "speed"; it must be device or time', '--prefer', 'speed')
    network(DONE, '786560 of 786560', '--precision', 'fp32')
    network(FAILED, f'precision fp16: no core of sim has float16: it has {CORE}.0', '--precision',
            'fp16')
    for core in (CORE, 'cpu'):
        network(FAILED, f'precision fp16: core {core} has no float16; sim has {CORE}.0',
                '--precision', 'fp16', '--core', core)
    network(USAGE, '--precision: bad value "int8"; it must be fp32 or fp16', '--precision', 'int8')
    network(FAILED, '/nowhere/x', '--target', '/nowhere/x')
    network(FAILED, 'line 3: no "="', '--target', os.path.join(HERE, 'tools.t'))
    network(USAGE, 'unknown option', '--nonsense')
    network(USAGE, '--output', '--output')
    for name, (status, content) in ARRAYS.items():
        with open(name + '.npy', 'wb') as f:
            f.write(content)
        network(status, '' if status == DONE else f'{name}.npy: ', '--input', f'0={name}.npy')
    network(FAILED, '0 or more', '--shape', '0=-1,1,28,28')
    network(USAGE, '--scale', '--scale', '1,2,3')
    network(USAGE, 'no output "nonsense"', '--output', 'nonsense=x.npy')
    network(USAGE, 'no input "nonsense"', '--input', 'nonsense=x.npy')
    network(FAILED, '/nowhere/x', '--output', '0=/nowhere/x')
    for late in ('--output=0=/nowhere/x', '--profile=/nowhere/x', '--report=/nowhere/x.html'):
        network(FAILED, '/nowhere/x', late, '--input', '0=absent.npy')
    network(USAGE, f'"{MODEL}" and "out.txt" (a report', '--report', 'out.txt')
    network(USAGE, f'"{MODEL}" and ""', '--report', '')
    network(USAGE, f'"{MODEL}" and "more"', 'more')
    expect(USAGE, 'no MODEL', ['cnnrun', '--explain'])
    expect(USAGE, '--node-test: no directory', ['cnnrun', '--node-test'])
    network(USAGE, '--report is given twice', '--report', 'a.html', '--report', 'b.html')
    network(USAGE, '--labels is given twice', '--labels', 'a', '--labels', 'b')
    network(USAGE, '--repeat is for a plain run, not for --compile', '--compile', '-o', 'x.cnn',
            '--repeat', '2')
    network(USAGE, '--rtol is for --compare, not for a plain run', '--rtol', '1')
    network(USAGE, '--output is for a plain run, not for --compare', '--compare',
            '--output', '0=y.npy')
    network(USAGE, 'no list of numbers', '--shape', '0=1,1,28,28,')
    network(USAGE, 'more than 8 dimensions', '--shape', '0=1,1,1,1,1,1,1,1,1')
    os.mkfifo('fifo')
    expect(FAILED, 'fifo: not a regular file', ['cnnrun', 'fifo', '--device', 'sim'])
    expect(FAILED, 'fifo: not a regular file',
           ['cnnrun', '--compile', MODEL, '-o', 'x.cnn', '--device-caps', 'fifo'])
    expect(FAILED, '/dev/zero: not a regular file',
           ['cnnrun', '--compile', MODEL, '-o', 'x.cnn', '--device-caps', '/dev/zero'])
    zeros = subprocess.run([os.path.join(BUILD, 'runtime', 'tools', 'cnnrun'), MODEL, '--device',
                            'sim', '--compare'], capture_output=True, text=True, timeout=120,
                           check=False)
    report(zeros.stderr.count('is not given: zeros') == 1, 'an input of zeros is named once')
    expect(FAILED, 'line: neither an ONNX nor a TensorFlow Lite network', ['cnnrun', 'line', '--device', 'sim'])
    expect(FAILED, 'empty: the file is empty', ['cnnrun', 'empty', '--device', 'sim'])


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        programs()
        check_exec()
        check_events()
        check_cores()
        check_dumps()
        check_devices()
        check_options()
        check_cnnrun()
        check_output()
        check_descriptors()
        check_addresses()
        os.chdir('/')
    print(f'1..{number}')
    raise SystemExit(bool(failed))


main()
