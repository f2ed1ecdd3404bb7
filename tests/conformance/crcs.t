#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every operator on the CPU gives the bytes that crcs.txt says, which ONNX Runtime agreed to."""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'lib')]
import crcs
import tap


def wrong(case, outputs, row):
    """What is wrong with a case; '' if nothing is."""
    if row is None:
        return 'not in the table'
    if row[0] != crcs.asked(case):
        return 'the case is not that of the table (update-crcs)'
    if isinstance(outputs, str):
        return outputs
    got = crcs.crc(outputs)
    return '' if got == row[1] else f'CRC {got}, {row[1]} wanted'


def main():
    """Two results for each set of cases, one for the operators."""
    result, table, named = tap.Tap(), crcs.read_table(), crcs.cases()
    answers = crcs.answers(named)
    for room in sorted({name.split(':')[0] for name in named}):
        mine = [name for name in named if name.startswith(room + ':')]
        bad = [f'{name}: {why}' for name in mine
               if (why := wrong(named[name], answers[name][0], table.get(name)))]
        result.ok(not bad, f'{room}: {len(mine)} cases have the CRCs of the table', '\n'.join(bad))
    gone = [name for name in table if name not in named]
    result.ok(not gone, 'the table has no other cases', '\n'.join(gone))
    seen = set().union(*(ops for _, ops in answers.values()))
    missing = [op for op in crcs.known_operators() if op not in seen]
    result.ok(not missing, f'{len(crcs.known_operators())} operators of ops.def are in a case',
              f'{len(missing)} are in none: ' + ' '.join(missing))
    return result.done()


sys.exit(main())
