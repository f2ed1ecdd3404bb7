# SPDX-License-Identifier: MIT
"""ONNX's own test cases: running them, and the list of those that are not supported."""
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get('CNNACC_BUILD', os.path.join(TOP, 'build'))
DATA = '/usr/share/libonnx-testdata/data'
SUITES = ('node', 'simple', 'pytorch-converted', 'pytorch-operator')
LIST = os.path.join(HERE, 'unsupported.txt')

# Every case that needs nothing but these must pass.
OPERATORS = set('''
    Conv Relu Clip Sigmoid HardSigmoid HardSwish MaxPool AveragePool GlobalAveragePool Gemm
    MatMul Add Sub Mul Div BatchNormalization Concat Reshape Flatten Squeeze Unsqueeze Transpose
    Pad Softmax Dropout Identity Constant ConstantOfShape Shape Slice Gather Cast ReduceMean
    QuantizeLinear DequantizeLinear DynamicQuantizeLinear ConvInteger MatMulInteger QLinearConv
    QLinearMatMul Round
'''.split())

# What cnnrun says is missing: the first group is what the list names.
MISSING = (
    (r'(operator [\w.]+)', 'not an operator of this library'),
    (r'(\w+) \([^)]*\): (attribute training_mode)', 'training; inference only'),
    (r'(type (?:string|bfloat16))', 'an element type that is never held'),
    (r'(type is not a dense tensor)', 'sequences, optional values and sparse tensors are never held'),
    (r'(is a segment)', 'segmented tensors are never held'),
)

# Cases of quantised operators, and those that the core for integers must compute whole.
QUANTISED = re.compile('quantize|qlinear|matmulinteger|convinteger')
PRODUCTS = re.compile('integer|qlinearconv|qlinearmatmul_2D')


def whole(detail):
    """Does this detail of a case say that all of its work was done on the device?"""
    return re.search(r'on device ([1-9]\d*) of \1,', detail) is not None


def cases():
    """Paths of all cases below DATA, in order."""
    for suite in SUITES:
        for name in sorted(os.listdir(os.path.join(DATA, suite))):
            if os.path.isdir(os.path.join(DATA, suite, name)):
                yield f'{suite}/{name}'


def run(names, *options):
    """Runs cases; {case: (verdict, detail)} and cnnrun's exit status."""
    tool = os.path.join(BUILD, 'runtime', 'tools', 'cnnrun')
    done = subprocess.run([tool, '--node-test', *options, *(os.path.join(DATA, n) for n in names)],
                          capture_output=True, text=True, timeout=1200)
    result = {}
    for line in done.stdout.splitlines():
        m = re.match(r'(PASS|FAIL|UNSUPPORTED) (\S+): (.*)', line)
        if m:
            result[os.path.relpath(m[2], DATA)] = (m[1], m[3])
    return result, done.returncode


def missing(detail):
    """(what, reason) of an UNSUPPORTED detail."""
    for pattern, reason in MISSING:
        m = re.search(pattern, detail)
        if m:
            return ' '.join(m.groups()), reason
    return detail, 'no rule for it in nodes.py'


def read_list():
    """{case: (what, reason)} of the committed list."""
    entries = {}
    with open(LIST) as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                case, what, reason = (part.strip() for part in line.split('|'))
                entries[case] = (what, reason)
    return entries


def only_ours(what):
    """Does this entry name something that must be supported?"""
    if what.startswith('operator '):
        return what.split()[1] in OPERATORS
    return not any(word in what for word in ('training_mode', 'string', 'bfloat16',
                                             'not a dense tensor', 'segment'))
