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

# What cnnrun says is missing: the groups are what the list names.
MISSING = (
    r'(Scan) \([^)]*\): (operator set 8)',
    r'(operator [\w.]+)',
    r'(\w+) \([^)]*\): (attribute training_mode)',
    r'(type is not a dense tensor)',
    r'(\w+) \([^)]*\): .*(known only when the network runs)',
    r'(MaxUnpool) \([^)]*\): (output_shape)',
    r'(type \w+)',
)

# What may be missing although the operator is there: of MaxUnpool's indices ONNX does not say which
# of the two shapes they count in (its case and ONNX Runtime differ).
PARTS = ('type bfloat16', 'MaxUnpool output_shape', 'Scan operator set 8',
         'If known only when the network runs', 'Loop known only when the network runs')

# Kinds of what is missing. The first four are out of scope: inference on dense numbers only.
KINDS = (
    ('training', r'operator ai\.onnx\.preview\.training\.|operator \w+Loss$|training_mode'),
    ('strings', r'type string|operator StringNormalizer'),
    ('sequences', r'not a dense tensor|operator (?:\w*Sequence\w*|Optional\w*)$'),
    ('random', r'operator (?:Bernoulli|Multinomial|Random\w+)$'),
)
NOT_YET = 'not yet'
MAX_NOT_YET = 30

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
    """(what, kind) of an UNSUPPORTED detail."""
    what = next((' '.join(m.groups()) for m in (re.search(p, detail) for p in MISSING) if m),
                detail)
    return what, next((kind for kind, pattern in KINDS if re.search(pattern, what)), NOT_YET)


def read_list():
    """{case: (what, kind)} of the committed list."""
    entries = {}
    with open(LIST) as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                case, what, kind = (part.strip() for part in line.split('|'))
                entries[case] = (what, kind)
    return entries


def only_ours(what, kind):
    """Does this entry name something that must be supported?"""
    if what.startswith('operator '):
        return what.split()[1] in OPERATORS
    return kind == NOT_YET and what not in PARTS
