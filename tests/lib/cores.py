# SPDX-License-Identifier: MIT
"""The cores, for tests that name none: tests/backend/NAME/facts.json says what is in each.

elements        what it computes with: "float" or "integer"
macs_a_cycle    the most MACs of a cycle
build           the core with parameters, as in the property cores
info            what cnnctl info prints of that build
info_json       what is in its JSON
id              the register ID
regs_json       what is in the JSON of cnnctl regs
selftest        one of its self-tests
"""
import glob
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def facts():
    """Of every core, by its name."""
    found = {}
    for path in sorted(glob.glob(os.path.join(HERE, '..', 'backend', '*', 'facts.json'))):
        with open(path, encoding='ascii') as f:
            found[os.path.basename(os.path.dirname(path))] = json.load(f)
    return found
