#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ONNX's test cases on the in-process device: each passes or is on the list, none is both."""
import collections
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import nodes

number = 0


def check(name, wrong):
    """One TAP line; wrong: what went wrong."""
    global number
    number += 1
    print(f'{"not " if wrong else ""}ok {number} - {name}')
    for line in wrong[:40]:
        print(f'# {line}')


def main():
    if not os.path.isdir(nodes.DATA):
        print('1..0 # SKIP libonnx-testdata is not installed')
        return 0
    names = list(nodes.cases())
    result, status = nodes.run(names, '--device', 'sim')
    listed = nodes.read_list()
    passed = sum(v == 'PASS' for v, _ in result.values())
    print(f'# {passed} of {len(names)} cases pass, {len(listed)} are listed as unsupported')
    for kind, n in sorted(collections.Counter(kind for _, kind in listed.values()).items()):
        print(f'# {kind}: {n}')
    check('every case got a verdict', [n for n in names if n not in result] +
          ([] if status in (0, 1) else [f'cnnrun ended with {status}']))
    for suite in nodes.SUITES:
        check(f'{suite}: no case fails', [f'{n}: {d}' for n, (v, d) in result.items()
                                          if v == 'FAIL' and n.startswith(suite + '/')])
    unsupported = {n: d for n, (v, d) in result.items() if v == 'UNSUPPORTED'}
    check('every unsupported case is listed', [f'{n}: {d}' for n, d in unsupported.items()
                                               if n not in listed])
    check('every listed case is unsupported', [n for n in listed if n not in unsupported])
    check('the list says what is missing', [
        f'{n}: {listed[n][0]}, cnnrun says {d}' for n, d in unsupported.items()
        if n in listed and nodes.missing(d) != listed[n]])
    check('the list holds nothing that must be supported', [
        f'{n}: {what}' for n, (what, kind) in listed.items() if nodes.only_ours(what, kind)])
    late = [n for n, (_, kind) in listed.items() if kind == nodes.NOT_YET]
    check(f'at most {nodes.MAX_NOT_YET} cases are not supported yet',
          late if len(late) > nodes.MAX_NOT_YET else [])
    passing = [n for n, (v, _) in result.items() if v == 'PASS']
    on_cpu, _ = nodes.run(passing, '--device', 'sim', '--core', 'cpu')
    check('what passes there passes on the CPU', [f'{n}: {on_cpu.get(n)}' for n in passing
                                                  if on_cpu.get(n, ' ')[0] != 'PASS'])
    check('and nothing of it is on the device', [f'{n}: {d}' for n, (_, d) in on_cpu.items()
                                                 if 'MACs on device 0 ' not in d])
    quantised = [n for n in names if result.get(n, ' ')[0] == 'PASS' and
                 nodes.QUANTISED.search(n)]
    again, _ = nodes.run(quantised, '--device', 'sim:cores=hwpe', '--core', '0')
    check('quantised operators pass on the core for integers', [
        f'{n}: {again.get(n)}' for n in quantised if again.get(n, ' ')[0] != 'PASS'] +
        ([] if quantised else ['there are none']))
    products = [n for n in quantised if nodes.PRODUCTS.search(n)]
    check('products run there', [f'{n}: {again.get(n)}' for n in products
                                 if not nodes.whole(again.get(n, ('', ''))[1])] +
          ([] if products else ['there are none']))
    print(f'1..{number}')
    return 0


sys.exit(main())
