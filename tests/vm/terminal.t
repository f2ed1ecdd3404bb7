#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tests/vm/run -i: a command in the guest reads what the host's user types or pipes."""
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
sys.dont_write_bytecode = True
from tap import Tap

RUN = [os.path.join(HERE, 'run'), '--device', 'none', '--no-module', '-i', '--']
LIMIT = 600
INTERRUPT = b'\x03'
tap = Tap()


def test_pipe():
    data = bytes(range(256)) * 8000
    done = subprocess.run([*RUN, 'sh', '-c', 'md5sum; exit 3'], input=data, capture_output=True,
                          timeout=LIMIT, check=False)
    want = subprocess.run(['md5sum'], input=data, capture_output=True, check=True).stdout
    tap.equal((done.returncode, done.stdout), (3, want), 'a pipe, to its end')


def spawn():
    """The guest with a shell on a terminal: its process and the terminal's other end."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 33, 77, 0, 0))
        os.execve(RUN[0], [*RUN, 'sh'], {**os.environ, 'TERM': 'xterm'})
    return pid, terminal


def read_some(terminal):
    """What the terminal shows next; None once it is closed."""
    if not select.select([terminal], [], [], 1)[0]:
        return b''
    try:
        return os.read(terminal, 4096) or None
    except OSError:
        return None


def converse(terminal, turns):
    """Types each turn's text once the text that it waits for is shown; all that was shown."""
    shown, part, end = b'', b'', time.monotonic() + LIMIT
    while part is not None and time.monotonic() < end:
        part = read_some(terminal)
        shown += part or b''
        if turns and turns[0][0] in shown:
            os.write(terminal, turns.pop(0)[1])
    return shown


def test_terminal():
    pid, terminal = spawn()
    # The text that is typed is shown, too: what is waited for must not be in it.
    shown = converse(terminal, [
        (b'# ', b'tty; stty size; echo TERM=$TERM; sh -c \'echo be""gun; sleep 3600\'\n'),
        (b'begun', INTERRUPT + b'exit $((2 + 3))\n')])
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    text = shown.decode(errors='replace')
    for want in ('/dev/hvc0', '33 77', 'TERM=xterm'):
        tap.ok(want in text, f'a terminal: {want}', text)
    tap.equal(status, 5, 'Ctrl-C ends the command in the guest, the shell goes on')


test_pipe()
test_terminal()
sys.exit(tap.done())
