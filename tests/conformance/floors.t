#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Networks keep as many multiply-accumulates on the device as floors.txt says."""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get('CNNACC_BUILD', os.path.join(TOP, 'build'))
CNNRUN = os.path.join(BUILD, 'runtime', 'tools', 'cnnrun')
OCR = 'ch_ppocr_mobile_v2.0_cls_infer.onnx'


def network(name, work):
    """(model file and options, None), or (None, why it cannot be had)."""
    if name == 'mnist_8':
        return [os.path.join(HERE, name, 'model.onnx')], None
    if name == 'ocr-direction':
        got = subprocess.run([os.path.join(TOP, 'scripts', 'fetch-models')],
                             capture_output=True, text=True)
        if got.returncode:
            return None, got.stderr.strip().splitlines()[-1]
        return [os.path.join(got.stdout.strip(), OCR), '--shape', '0=1,3,48,192'], None
    path = os.path.join(work, name + '.onnx')
    subprocess.run([os.path.join(TOP, 'demo', 'make-model'), name, path], check=True)
    return [path], None


def judge(args, floor, total):
    """What is wrong, or None."""
    done = subprocess.run([CNNRUN, *args, '--device', 'sim', '--core', 'ccp'],
                          capture_output=True, text=True)
    m = re.search(r'MACs on device: (\d+) of (\d+)', done.stdout)
    if done.returncode or not m:
        return f'cnnrun ended with {done.returncode}: {done.stderr}'
    if int(m[2]) != total:
        return f'it has {m[2]} MACs, {total} listed'
    if int(m[1]) < floor:
        return f'{m[1]} MACs on the device, {floor} wanted\n{done.stdout}'
    return None


def main():
    number = 0
    with tempfile.TemporaryDirectory() as work, open(os.path.join(HERE, 'floors.txt')) as floors:
        for line in floors:
            if line.startswith('#'):
                continue
            name, floor, total = (part.strip() for part in line.split('|'))
            number += 1
            args, why = network(name, work)
            if not args:
                print(f'ok {number} - {name} # SKIP {why}')
                continue
            wrong = judge(args, int(floor), int(total))
            print(f'{"not " if wrong else ""}ok {number} - {name}: {floor} of {total} MACs on ccp')
            for text in (wrong or '').splitlines():
                print(f'# {text}')
    print(f'1..{number}')


main()
