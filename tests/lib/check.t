#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tests/check on groups made up here: what it counts, prints and writes as JUnit XML."""
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

sys.dont_write_bytecode = True
from tap import Tap

HERE = os.path.dirname(os.path.abspath(__file__))
tap = Tap()

# Scripts of the group "fake": {name: text}.
SCRIPTS = {
    'good': 'echo ok 1 - one; echo "ok 2 - two # SKIP no such device"; echo 1..2',
    'bad': 'echo said before; echo not ok 1 - wrong; echo "# why: a < b & c"; echo 1..1; exit 1',
    'cut': 'echo ok 1 - begun; echo 1..2',
    'dead': 'echo ok 1 - all of it; echo 1..1; exit 3',
    'mute': 'true',
    'skipped': 'echo "1..0 # SKIP the kernel is not built"',
    'guest': 'echo not ok 1 - guest; echo "# not ok 7 - inner"; echo "# # got 4"; '
             'seq -f "# ok %g - later" 8 60; echo 1..1; exit 1',
    'strange': r"printf 'not ok 1 - bell \a\n1..1\n'",
}
# Meson tests of the suite "mixed": {name: (protocol, text)}.
TESTS = {
    'status good': ('exitcode', 'exit 0'),
    'status bad': ('exitcode', 'echo it broke; exit 1'),
    'status skip': ('exitcode', 'echo no AVX-512; exit 77'),
    'lines': ('tap', 'echo ok 1 - a; echo not ok 2 - b; echo "ok 3 - c # SKIP d"; echo 1..3'),
    'lines dead': ('tap', 'echo ok 1 - a; echo 1..1; exit 2'),
}


def write_script(path, text):
    with open(path, 'w') as f:
        f.write(f'#!/bin/sh\n{text}\n')
    os.chmod(path, 0o755)


def make_tree(work):
    """A tree with tests/check, the scripts and a build directory with the meson tests."""
    os.makedirs(f'{work}/tests/fake')
    shutil.copy(os.path.join(HERE, '..', 'check'), f'{work}/tests/check')
    for name, text in SCRIPTS.items():
        write_script(f'{work}/tests/fake/{name}.t', text)
    lines = ["project('made up')"]
    for name, (protocol, text) in TESTS.items():
        script = name.replace(' ', '-')
        write_script(f'{work}/{script}', text)
        lines.append(f"test('{name}', find_program('{script}'), suite: 'mixed', "
                     f"protocol: '{protocol}')")
    with open(f'{work}/meson.build', 'w') as f:
        f.write('\n'.join(lines) + '\n')
    subprocess.run(['meson', 'setup', f'{work}/build', work], check=True, capture_output=True)


def check(work, *args):
    """Runs tests/check there: exit status, lines of output."""
    done = subprocess.run([f'{work}/tests/check', *args], capture_output=True, text=True,
                          env={**os.environ, 'CNNACC_BUILD': f'{work}/build'}, check=False)
    return done.returncode, done.stdout.splitlines()


def outcomes(suite):
    """Names of a suite's test cases by what became of them."""
    found = {'passed': [], 'failed': [], 'skipped': []}
    for case in suite.iter('testcase'):
        failed, skipped = case.find('failure') is not None, case.find('skipped') is not None
        found['failed' if failed else 'skipped' if skipped else 'passed'].append(case.get('name'))
    return found


def test_scripts(work):
    status, lines = check(work, '--junit', f'{work}/out.xml', 'fake')
    tap.equal((status, lines[-1]), (1, '3 passed, 6 failed, 2 skipped'), 'counts of scripts')
    tap.equal([line for line in lines if line.startswith('FAILED')],
              ['FAILED fake/bad.t: wrong', 'FAILED fake/cut.t: 1 results, 2 planned (exit status 0)',
               'FAILED fake/dead.t: exit status 3', 'FAILED fake/guest.t: guest',
               'FAILED fake/mute.t: printed no plan (exit status 0)',
               'FAILED fake/strange.t: bell \a'], 'every failure is named')
    tap.ok('  said before' in lines and '  # why: a < b & c' in lines,
           'what a script said around its failure is shown')
    tap.ok('  # not ok 7 - inner' in lines and '  # # got 4' in lines,
           "a failure in a guest's own TAP is shown, too")
    tap.ok('  skipped fake/good.t: two: no such device' in lines, 'the reason of a skip is shown')
    heading, row = [line.split() for line in lines[-9:-7]]
    tap.equal(heading, ['group', 'seconds', 'passed', 'failed', 'skipped'], 'a table of groups')
    tap.equal([row[0], *row[2:]], ['fake', '3', '6', '2'], 'its row')


def test_junit(work):
    root = ET.parse(f'{work}/out.xml').getroot()
    tap.equal([root.get(key) for key in ('tests', 'failures', 'errors', 'skipped')],
              ['11', '6', '0', '2'], 'JUnit: counts of all')
    suites = {suite.get('name'): suite for suite in root.iter('testsuite')}
    tap.equal(sorted(suites), sorted(f'fake: fake/{name}.t' for name in SCRIPTS),
              'JUnit: a suite for each script')
    tap.equal(outcomes(suites['fake: fake/good.t']),
              {'passed': ['one'], 'failed': [], 'skipped': ['two']}, 'JUnit: a skip')
    tap.equal(suites['fake: fake/good.t'].find('.//skipped').get('message'), 'no such device',
              'JUnit: its reason')
    tap.equal(outcomes(suites['fake: fake/bad.t'])['failed'], ['wrong'], 'JUnit: a failure')
    tap.ok('# why: a < b & c' in suites['fake: fake/bad.t'].find('system-out').text,
           'JUnit: what was said about it')
    tap.equal(all(len(list(suite.iter('testcase'))) == int(suite.get('tests'))
                  for suite in suites.values()), True, 'JUnit: counts of each suite')


def test_meson(work):
    status, lines = check(work, '--junit', f'{work}/out.xml', 'mixed')
    tap.equal((status, lines[-1]), (1, '3 passed, 3 failed, 2 skipped'), 'counts of meson tests')
    root = ET.parse(f'{work}/out.xml').getroot()
    found = {suite.get('name'): outcomes(suite) for suite in root.iter('testsuite')}
    tap.equal(found['mixed: lines'], {'passed': ['a'], 'failed': ['b'], 'skipped': ['c']},
              'JUnit: a test case for each TAP line')
    tap.equal(found['mixed: status bad']['failed'], ['status bad'], 'JUnit: an exit status')
    tap.equal(found['mixed: lines dead']['failed'], ['exit status 2'],
              'JUnit: TAP without a failure, then a bad exit status')
    tap.ok('  skipped status skip: status skip: no AVX-512' in lines,
           "the reason of a meson test's skip is shown")


def test_choice(work):
    status, lines = check(work, 'fake/good.t', 'fake/skipped.t')
    tap.equal((status, lines[-1]), (0, '1 passed, 0 failed, 2 skipped'), 'single scripts')
    status, lines = check(work, 'fake/good.t', 'mixd')
    tap.equal((status, lines[-1]), (1, '1 passed, 1 failed, 1 skipped'), 'an unknown group fails')
    status, lines = check(work, 'fake/skipped.t')
    tap.equal((status, lines[-1]), (1, '0 passed, 0 failed, 1 skipped'), 'no result is a failure')


with tempfile.TemporaryDirectory(prefix='cnnacc-check.') as work:
    make_tree(work)
    test_scripts(work)
    test_junit(work)
    test_meson(work)
    test_choice(work)
sys.exit(tap.done())
