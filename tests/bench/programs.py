# SPDX-License-Identifier: MIT
"""The programs that parts measure with: each prints "ready" and then answers a line per run."""
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get('CNNACC_BUILD', os.path.join(TOP, 'build'))
ROUNDS = 5
RUN_SECONDS = 0.1
ONEDNN_ISA = {'avx512': 'AVX512_CORE', 'avx2': 'AVX2', 'baseline': 'SSE41'}


class Program:
    """A running program; use it in a with statement.

    It warms up by one run; `head` are the lines before "ready".  run() returns the first number of
    the answer; what follows as NAME=VALUE is then in the dictionary `last`.  It may use as many
    CPUs as `threads` says, if it says so.
    """

    def __init__(self, argv, threads=None, **env):
        if threads:
            cpus = sorted(os.sched_getaffinity(0))[:threads]
            argv = ['taskset', '-c', ','.join(map(str, cpus)), *argv]
        self.child = subprocess.Popen([str(a) for a in argv], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, bufsize=1,
                                      env=dict(os.environ, **env))
        self.argv, self.last, self.head = argv, {}, []
        for line in self.child.stdout:
            if line == 'ready\n':
                break
            self.head.append(line.rstrip('\n'))
        else:
            raise RuntimeError(f'{argv[0]}: exit status {self.child.wait()}')
        self.run()

    def go(self, what=''):
        self.child.stdin.write(f'{what}\n')
        self.child.stdin.flush()

    def run(self, what=''):
        self.go(what)
        answer = self.child.stdout.readline().split()
        if not answer:
            raise RuntimeError(f'{self.argv[0]}: exit status {self.child.wait()}')
        self.last = {k: float(v) for k, v in (a.split('=') for a in answer[1:])}
        return float(answer[0])

    def fastest(self, runs, key=None, *more):
        """Of several runs the one that took least: its time, or these other values of it.

        The least says what a program can do on a machine that others use too; what a figure
        rests on is the median of five of these, taken in turns with the peer's.
        """
        rows = []
        for _ in range(runs):
            ms = self.run()
            rows.append([self.last[k] if k else ms for k in (key, *more)])
        least = min(rows)
        return least if more else least[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.stdout.read()
        self.child.wait()


def built(name):
    """Path of a program of this directory."""
    return os.path.join(BUILD, 'tests', 'bench', name)


def network(model, device, shape, data, output=os.devnull, threads=None):
    """A network in libcnnrt on a device, operators on the CPU by that many threads too."""
    return Program([built('bench-network'), model, device, ','.join(map(str, shape)), data, output],
                   threads)


def compiled(model, shape, path):
    """Compiles a network for the device as it comes, into a file."""
    subprocess.run([os.path.join(BUILD, 'runtime', 'tools', 'cnnrun'), '--compile', model,
                    '--shape', '0=' + ','.join(map(str, shape)), '--device', 'sim', '-o', path],
                   check=True, stdout=subprocess.DEVNULL)


class Guest(Program):
    """bench-network in the VM, on the driver's device; the files are in a directory."""

    # A line for the program when the host has made a file.
    FEED = """i=0; until [ -e /mnt/end ]; do
            [ -e /mnt/run$i ] && { i=$((i + 1)); echo; } || usleep 20000; done"""

    def __init__(self, share, memory, cpu, model, data, output):
        self.share, self.runs = share, 0
        with open(os.path.join(share, 'guest.sh'), 'w') as script:
            script.write(f'cd /mnt && {{ {self.FEED}; }} | '
                         f'bench-network {model} /dev/accel/accel0 - {data} {output}\n')
        super().__init__([os.path.join(TOP, 'tests', 'vm', 'run'), '--share', share, '--memory',
                          memory, '--cpu', cpu, '--timeout', 900, '--program',
                          built('bench-network'), '--', 'sh', '/mnt/guest.sh'])

    def go(self, what=''):
        open(os.path.join(self.share, f'run{self.runs}'), 'w').close()
        self.runs += 1

    def __exit__(self, *_):
        open(os.path.join(self.share, 'end'), 'w').close()
        super().__exit__()


def fetch_onnxruntime():
    """Directory of ONNX Runtime's packages.  Raises CalledProcessError if there is none."""
    return subprocess.run([os.path.join(TOP, 'scripts', 'fetch-onnxruntime')], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


def onnxruntime(model, threads, shape, data, output=os.devnull):
    """A network in ONNX Runtime."""
    return Program(['node', os.path.join(HERE, 'onnxruntime.js'), fetch_onnxruntime(), model,
                    threads, ','.join(map(str, shape)), data, output], threads)


def onednn(types, layer, isa, threads):
    """A convolution in oneDNN: ci, rows, columns, co, kernel, stride, pad, group."""
    # With VNNI, where the model has it.
    best = {'u8s8s32': 'AVX512_CORE_VNNI'}.get(types) if isa == 'avx512' else None
    return Program([built('bench-onednn'), types, *layer], OMP_NUM_THREADS=str(threads),
                   ONEDNN_MAX_CPU_ISA=best or ONEDNN_ISA[isa])


def repeats(ms):
    """Runs that fill the time of one measurement."""
    return max(3, min(50, int(RUN_SECONDS * 1e3 / ms)))


def threads_to_measure():
    """1 and 2, as far as the machine has that many CPUs."""
    return [n for n in (1, 2) if n <= len(os.sched_getaffinity(0))]


def sim(threads, simd='widest'):
    """Name of the in-process device with that many worker threads and those vectors."""
    return f'sim:threads={threads},simd={simd}'


def isas():
    """The vectors that the model can use on this machine, widest first."""
    flags = next((line.split() for line in open('/proc/cpuinfo') if line.startswith('flags')), [])
    return [name for name in ('avx512', 'avx2') if name.replace('512', '512f') in flags] + \
        ['baseline']


def geomean(values):
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs))


def figure(name, value):
    print(f'{name} {value:.6g}', flush=True)


def note(text):
    print(f'# {text}', flush=True)


def skip(text):
    print(f'skip {text}', flush=True)
    sys.exit(0)
