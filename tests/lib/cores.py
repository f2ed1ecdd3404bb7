#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The cores, for tests that name none: tests/backend/NAME/facts.json says what is in each.

elements        what it computes with: "float", "integer", "both", or "any": float16, too
macs_a_cycle    the most MACs of a cycle
build           the core with parameters, as in the property cores
info            what cnnctl info prints of that build
info_json       what is in its JSON
id              the register ID
regs_json       what is in the JSON of cnnctl regs
selftest        one of its self-tests
tiny            the core with small memories, which still runs the networks that floors.txt marks with
                it (tests/network/lib.sh)

cores.py KEY prints what the cores that have it have there, as the property cores lists cores.
"""
import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def facts():
    """Of every core, by its name."""
    found = {}
    for path in sorted(glob.glob(os.path.join(HERE, '..', 'backend', '*', 'facts.json'))):
        with open(path, encoding='ascii') as f:
            found[os.path.basename(os.path.dirname(path))] = json.load(f)
    return found


if __name__ == '__main__':
    print('+'.join(core[sys.argv[1]] for core in facts().values() if sys.argv[1] in core))
