#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The core of the lesson Documentation/adding-a-core.rst: a copy of the tree with it has no other
change than the core's own places and registration lines, passes the core's own tests, and runs a
network on it, in the process and through the driver of this tree.

The copy and its build stay in the build directory, so that only what has changed is compiled again.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
from tap import Tap

TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.environ.get('CNNACC_BUILD', os.path.join(TOP, 'build')))
TREE = os.path.join(BUILD, 'core-sample')
NAME = 'sample'
# Where a core's files are, and the files that have a line for each core.
OWN = (r'uapi/cnnacc_{0}\.h|qemu-device/model/cores/{0}/.+|runtime/backend/{0}/.+|'
       r'tests/(golden|backend)/{0}/.+|Documentation/hardware/{0}\.rst')
REGISTERED = {
    'qemu-device/model/cores/cores.def': lambda old, name: old + f'CORE({name})\n',
    'runtime/backend/cores.def': lambda old, name: old + f'CORE({name})\n',
    'tests/meson.build':
        lambda old, name: re.sub(r'(?m)^(test_cores = \[.*)\]$', rf"\1, '{name}']", old),
}
TESTS = (f'vectors {NAME}', f'compare {NAME} quick', f'mutant {NAME}.wrap', f'lower_{NAME}',
         'rt_desc')
tap = Tap()


def content(*path):
    try:
        with open(os.path.join(*path), 'rb') as f:
            return f.read()
    except FileNotFoundError:
        return None


def run(name, *command, env=None):
    """One result: does the command succeed?"""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors='replace', check=False, env={**os.environ, **(env or {})})
    tap.ok(done.returncode == 0, name, done.stdout)
    return done


def files_below(top):
    return sorted(os.path.relpath(os.path.join(folder, name), top)
                  for folder, _, names in os.walk(top) for name in names)


def copy_tree(to):
    """The tracked files, as they are."""
    listed = subprocess.run(['git', 'ls-files', '-z'], cwd=TOP, capture_output=True, text=True,
                            check=True).stdout
    for path in filter(None, listed.split('\0')):
        if os.path.isfile(os.path.join(TOP, path)):
            os.makedirs(os.path.join(to, os.path.dirname(path)), exist_ok=True)
            shutil.copy(os.path.join(TOP, path), os.path.join(to, path))


def wrong_changes(tree, name=NAME):
    """Files of a tree with a core that differ from ours as no core's may."""
    for path in files_below(tree):
        old, new = content(TOP, path), content(tree, path)
        if old == new:
            continue
        if old is None and re.fullmatch(OWN.format(name), path):
            continue
        if path in REGISTERED and REGISTERED[path](old.decode(), name).encode() == new:
            continue
        yield path


def replace_changed(new):
    """Makes TREE, but for its build, equal to a tree, and leaves alone what is equal."""
    wanted = files_below(new)
    for path in wanted:
        if content(new, path) != content(TREE, path):
            os.makedirs(os.path.join(TREE, os.path.dirname(path)), exist_ok=True)
            shutil.copy(os.path.join(new, path), os.path.join(TREE, path))
    for path in set(files_below(TREE)) - set(wanted):
        if not path.startswith('build/'):
            os.remove(os.path.join(TREE, path))


def add(tree, *name):
    return os.path.join(tree, 'examples', 'core-sample', 'add'), tree, *name


def add_renamed():
    """The core under another name, as the lesson's reader begins an own one."""
    with tempfile.TemporaryDirectory() as new:
        copy_tree(new)
        run('the core is added under another name', *add(new, 'adder'))
        tap.equal(list(wrong_changes(new, 'adder')), [], 'it has that name only')
        left = [path for path in files_below(new) if content(TOP, path) is None and
                b'sample' in content(new, path).lower()]
        tap.equal(left, [], 'and says it everywhere')
        for name, status in (('adder', 1), ('My-Core', 2)):
            done = subprocess.run(add(new, name), capture_output=True, check=False)
            tap.equal(done.returncode, status, f'{name} is refused')


def make_tree():
    with tempfile.TemporaryDirectory() as new:
        copy_tree(new)
        run('the core is added to a copy of the tree', *add(new))
        tap.equal(list(wrong_changes(new)), [], 'it changes its own places and registration lines')
        missing = [path for path in REGISTERED if content(new, path) == content(TOP, path)]
        tap.equal(missing, [], 'it has all of these lines')
        # The check above notices what it is for.
        with open(os.path.join(new, 'driver', 'cnnacc_core.c'), 'a', encoding='ascii') as f:
            f.write('\n')
        tap.equal(list(wrong_changes(new)), ['driver/cnnacc_core.c'], 'another change is noticed')
        shutil.copy(os.path.join(TOP, 'driver', 'cnnacc_core.c'), os.path.join(new, 'driver'))
        replace_changed(new)


def build_and_test():
    build = os.path.join(TREE, 'build')
    if not os.path.exists(os.path.join(build, 'build.ninja')):
        run('the copy is configured', 'meson', 'setup', build, TREE)
    if run('the product is built with the core', 'ninja', '-C', build, 'product',
           'tests/lib/core_program').returncode:
        return
    run("the core's own tests pass", 'meson', 'test', '-C', build, '--timeout-multiplier', '4',
        '--print-errorlogs', *TESTS)
    # The driver is the tree's own: nothing of it has changed.
    network = os.path.join(TREE, 'tests', 'backend', NAME, 'network', 'resnet8.t')
    done = run('a network runs on it', network, env={
        'CNNACC_BUILD': build, 'CC': 'ccache gcc' if shutil.which('ccache') else 'gcc',
        'CNNACC_MODULE': os.environ.get('CNNACC_MODULE',
                                        os.path.join(BUILD, 'driver', 'cnnacc.ko')),
    })
    print('\n'.join('# ' + line for line in done.stdout.splitlines() if 'ok ' in line))


add_renamed()
make_tree()
if not tap.failed:
    build_and_test()
sys.exit(tap.done())
