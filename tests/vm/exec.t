#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Raw programs through cnnctl exec: the same results in process and in a guest."""
import json
import os
import struct
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get('CNNACC_BUILD', os.path.join(TOP, 'build'))
SRC, DST, NOWHERE = 0x1000, 0x8000, 0x40000000
READ, WRITE = 0, 1


def ldi(reg, value):
    """Loads a 32-bit constant: two instructions."""
    return [1 << 28 | reg << 25 | value & 0xffff, 2 << 28 | reg << 25 | value >> 16]


def move(op, line, target):
    """LOAD (4) or STORE (5) of R2 lines at VA line * 64, target line R7 = 0."""
    return ldi(1, line // 64) + [op << 28 | 1 << 25 | 2 << 22 | 7 << 19 | target << 16]


ONE_LINE = [1 << 28 | 2 << 25 | 1]
SWAP, NOP = [8 << 28], [0]
PROGRAMS = {
    'copy': ONE_LINE + move(4, SRC, READ) + move(5, DST, READ) + NOP,
    'swap': ONE_LINE + move(4, SRC, READ) + SWAP + move(5, DST, WRITE) + NOP,
    'swap2': ONE_LINE + move(4, SRC, READ) + SWAP + move(5, DST, READ) + NOP,
    'illegal': SWAP + [0xf << 28],
    'fault': ONE_LINE + move(4, NOWHERE, READ) + NOP,
    'readonly': ONE_LINE + move(5, SRC, READ) + NOP,
    'endless': ldi(1, 1) + [9 << 28 | 1 << 25 | 2],
}
# Expected class, code, program counter and fault address
ENDS = {
    'copy': ('OK', 'NONE', 0, 0), 'swap': ('OK', 'NONE', 0, 0), 'swap2': ('OK', 'NONE', 0, 0),
    'illegal': ('BAD_PROGRAM', 'E_ILLEGAL', 1, 0),
    'fault': ('MMU_FAULT', 'E_DMA', 3, NOWHERE),
    'readonly': ('MMU_FAULT', 'E_DMA', 3, SRC),
    'endless': ('TIME_LIMIT', 'TIME_LIMIT', 2, 0),
}
# Each failure is followed by a program that must succeed.
ORDER = ('copy', 'illegal', 'swap', 'fault', 'copy', 'readonly', 'swap', 'endless', 'copy', 'swap2')
LINE = struct.pack('<16f', *(i * 1.5 - 3 for i in range(16)))
number = 0


def check(name, good, detail=''):
    """One TAP line."""
    global number
    number += 1
    print(f'{"" if good else "not "}ok {number} - {name}')
    if not good:
        print('\n'.join('# ' + line for line in detail.splitlines()[-30:]))


def script(device):
    """Shell commands that run ORDER and leave N.json, N.bin and N.rc."""
    lines = []
    for n, name in enumerate(ORDER):
        lines.append(f'cnnctl exec --core 0 --program {name}.prog --load-ro {SRC:#x}=line '
                     f'--zero {DST:#x}:64 --dump {DST:#x}:64={device}{n}.bin --cycles 200000 '
                     f'{"--device sim" if device == "sim" else ""} >{device}{n}.json; '
                     f'echo $? >{device}{n}.rc')
    return '\n'.join(lines)


def read(work, name):
    """A result file, b'' if it is missing."""
    path = os.path.join(work, name)
    if not os.path.exists(path):
        return b''
    with open(path, 'rb') as f:
        return f.read()


def result(work, device, n):
    """The JSON of a run without scrub cycles: only the guest's core scrubs a previous program."""
    try:
        found = json.loads(read(work, f'{device}{n}.json'))
    except ValueError:
        return None
    scrub = found['stats'].pop('scrub_cycles')
    found['stats']['cycles'] -= scrub
    found['stats']['cycles_serial'] -= scrub
    return found


def judge(work, device):
    """Checks the status of every program and what it stored."""
    for n, name in enumerate(ORDER):
        text = read(work, f'{device}{n}.json')
        try:
            status = json.loads(text)['status']
            end = (status['class'], status['code'], status['pc'], int(status['fault_va'], 16))
        except (ValueError, KeyError):
            end = None
        rc = read(work, f'{device}{n}.rc').strip()
        stored = read(work, f'{device}{n}.bin')
        right = LINE if name in ('copy', 'swap') else bytes(64)
        good = end == ENDS[name] and rc == (b'0' if end and end[0] == 'OK' else b'1') and \
            stored == right
        check(f'{device}: {name} has the expected status and stored data', good,
              f'exit status {rc}, {end}, expected {ENDS[name]}\n{text.decode()}\n{stored.hex()}')


def main():
    with tempfile.TemporaryDirectory() as work:
        for name, code in PROGRAMS.items():
            with open(os.path.join(work, name + '.prog'), 'wb') as f:
                f.write(struct.pack(f'<{len(code)}I', *code))
        with open(os.path.join(work, 'line'), 'wb') as f:
            f.write(LINE)
        env = dict(os.environ, PATH=os.path.join(BUILD, 'runtime', 'tools') + ':' +
                   os.environ['PATH'])
        subprocess.run(['sh', '-c', script('sim')], cwd=work, env=env, check=False)
        judge(work, 'sim')
        guest = subprocess.run([os.path.join(HERE, 'run'), '--share', work, '--', 'sh', '-c',
                                'cd /mnt && ' + script('vm')], capture_output=True, text=True,
                               check=False)
        check('the guest ran and the kernel did not complain', guest.returncode == 0,
              guest.stdout + guest.stderr)
        judge(work, 'vm')
        for n, name in enumerate(ORDER):
            check(f'{name}: status and statistics are the same on both',
                  None is not result(work, 'sim', n) == result(work, 'vm', n),
                  read(work, f'sim{n}.json').decode() + read(work, f'vm{n}.json').decode())
    print(f'1..{number}')


main()
