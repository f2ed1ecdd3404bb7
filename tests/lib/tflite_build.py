# SPDX-License-Identifier: MIT
"""Writes TensorFlow Lite files (flatbuffers): what the tests need of the schema."""
import struct

FLOAT32, FLOAT16, INT32, UINT8, INT64, BOOL, INT16, INT8 = 0, 1, 2, 3, 4, 6, 7, 9
CODES = {
    'ADD': 0, 'AVERAGE_POOL_2D': 1, 'CONCATENATION': 2, 'CONV_2D': 3, 'DEPTHWISE_CONV_2D': 4,
    'DEPTH_TO_SPACE': 5, 'DEQUANTIZE': 6, 'FLOOR': 8, 'FULLY_CONNECTED': 9,
    'L2_NORMALIZATION': 11, 'LOGISTIC': 14, 'LSTM': 16, 'MAX_POOL_2D': 17, 'MUL': 18,
    'RELU': 19, 'RELU_N1_TO_1': 20, 'RELU6': 21, 'RESHAPE': 22, 'RESIZE_BILINEAR': 23,
    'SOFTMAX': 25, 'SPACE_TO_DEPTH': 26, 'SVDF': 27, 'TANH': 28, 'PAD': 34, 'GATHER': 36,
    'BATCH_TO_SPACE_ND': 37, 'SPACE_TO_BATCH_ND': 38, 'TRANSPOSE': 39, 'MEAN': 40, 'SUB': 41,
    'DIV': 42, 'SQUEEZE': 43, 'STRIDED_SLICE': 45, 'EXP': 47, 'SPLIT': 49, 'LOG_SOFTMAX': 50,
    'CAST': 53, 'PRELU': 54, 'MAXIMUM': 55, 'ARG_MAX': 56, 'MINIMUM': 57, 'LESS': 58, 'NEG': 59,
    'PADV2': 60, 'GREATER': 61, 'GREATER_EQUAL': 62, 'LESS_EQUAL': 63, 'SELECT': 64,
    'SLICE': 65, 'SIN': 66, 'TRANSPOSE_CONV': 67, 'TILE': 69, 'EXPAND_DIMS': 70, 'EQUAL': 71,
    'NOT_EQUAL': 72, 'LOG': 73, 'SUM': 74, 'SQRT': 75, 'RSQRT': 76, 'SHAPE': 77, 'POW': 78,
    'ARG_MIN': 79, 'REDUCE_PROD': 81, 'REDUCE_MAX': 82, 'PACK': 83, 'LOGICAL_OR': 84,
    'LOGICAL_AND': 86, 'LOGICAL_NOT': 87, 'UNPACK': 88, 'REDUCE_MIN': 89, 'FLOOR_DIV': 90,
    'SQUARE': 92, 'FILL': 94, 'FLOOR_MOD': 95, 'RESIZE_NEAREST_NEIGHBOR': 97, 'LEAKY_RELU': 98,
    'SQUARED_DIFFERENCE': 99, 'MIRROR_PAD': 100, 'ABS': 101, 'SPLIT_V': 102, 'CEIL': 104,
    'REVERSE_V2': 105, 'GATHER_ND': 107, 'COS': 108, 'ELU': 111, 'QUANTIZE': 114, 'ROUND': 116,
    'HARD_SWISH': 117, 'SELECT_V2': 123, 'BATCH_MATMUL': 126, 'BROADCAST_TO': 130,
}
# BuiltinOptions number and the fields of the table, in the schema's order, with their formats.
CONV = (1, 'padding:b stride_w:i stride_h:i activation:b dilation_w:i dilation_h:i')
OPTIONS = {
    'CONV_2D': CONV,
    'DEPTHWISE_CONV_2D': (2, 'padding:b stride_w:i stride_h:i depth_multiplier:i activation:b '
                             'dilation_w:i dilation_h:i'),
    'AVERAGE_POOL_2D': (5, 'padding:b stride_w:i stride_h:i filter_w:i filter_h:i activation:b'),
    'FULLY_CONNECTED': (8, 'activation:b weights_format:b keep_num_dims:b '
                           'asymmetric_quantize_inputs:b'),
    'SOFTMAX': (9, 'beta:f'),
    'CONCATENATION': (10, 'axis:i activation:b'),
    'ADD': (11, 'activation:b pot_scale_int16:b'),
    'L2_NORMALIZATION': (12, 'activation:b'),
    'RESIZE_BILINEAR': (15, 'new_height:i new_width:i align_corners:b half_pixel_centers:b'),
    'SPACE_TO_DEPTH': (19, 'block_size:i'),
    'MUL': (21, 'activation:b'),
    'GATHER': (23, 'axis:i batch_dims:i'),
    'MEAN': (27, 'keep_dims:b'),
    'SUB': (28, 'activation:b'),
    'DIV': (29, 'activation:b'),
    'STRIDED_SLICE': (32, 'begin_mask:i end_mask:i ellipsis_mask:i new_axis_mask:i '
                          'shrink_axis_mask:i'),
    'SPLIT': (35, 'num_splits:i'),
    'CAST': (37, 'in_data_type:b out_data_type:b'),
    'ARG_MAX': (40, 'output_type:b'),
    'TRANSPOSE_CONV': (49, 'padding:b stride_w:i stride_h:i activation:b'),
    'SHAPE': (55, 'out_type:b'),
    'ARG_MIN': (57, 'output_type:b'),
    'PACK': (59, 'values_count:i axis:i'),
    'UNPACK': (64, 'num:i axis:i'),
    'RESIZE_NEAREST_NEIGHBOR': (74, 'align_corners:b half_pixel_centers:b'),
    'LEAKY_RELU': (75, 'alpha:f'),
    'MIRROR_PAD': (77, 'mode:b'),
    'SPLIT_V': (79, 'num_splits:i'),
    'DEPTH_TO_SPACE': (94, 'block_size:i'),
    'BATCH_MATMUL': (101, 'adj_x:b adj_y:b'),
}
OPTIONS['MAX_POOL_2D'] = OPTIONS['AVERAGE_POOL_2D']
OPTIONS.update((name, OPTIONS['MEAN']) for name in ('SUM', 'REDUCE_MAX', 'REDUCE_MIN',
                                                    'REDUCE_PROD'))


class Table:
    """A table: {field number: value}; a value is (format, number), a Table, a Vector or None."""

    def __init__(self, **fields):
        self.fields = {int(k[1:]): v for k, v in fields.items() if v is not None}


class Vector:
    """Numbers of one struct format, or a list of Tables (format 'T')."""

    def __init__(self, fmt, items, align=4):
        self.fmt, self.items = fmt, list(items)
        self.align = align


def text(s):
    """A string: its bytes and a zero."""
    return Vector('S', s.encode())


class _Writer:
    """Parents before children, so that every offset points forward."""

    def __init__(self):
        self.out = bytearray(8)
        self.todo = []

    def pad(self, align, ahead=0):
        """Aligns what lies ahead bytes further on."""
        self.out += bytes(-(len(self.out) + ahead) % align)

    def table(self, t):
        """Appends t; gives its place."""
        sizes = [struct.calcsize('<' + v[0]) if isinstance(v, tuple) else 4
                 for v in t.fields.values()]
        order = sorted(zip(t.fields, t.fields.values(), sizes), key=lambda f: -f[2])
        places, at = {}, 4
        for number, _, size in order:
            places[number] = at
            at += size
        count = max(t.fields, default=-1) + 1
        self.pad(4)
        vtable = len(self.out)
        self.out += struct.pack(f'<HH{count}H', 4 + 2 * count, at,
                                *(places.get(i, 0) for i in range(count)))
        self.pad(4)
        here = len(self.out)
        self.out += struct.pack('<i', here - vtable) + bytes(at - 4)
        for number, value, _ in order:
            if isinstance(value, tuple):
                struct.pack_into('<' + value[0], self.out, here + places[number], value[1])
            else:
                self.todo.append((here + places[number], value))
        return here

    def vector(self, v):
        """Appends v; gives its place."""
        self.pad(max(v.align, 4), 4)
        here = len(self.out)
        self.out += struct.pack('<I', len(v.items))
        if v.fmt == 'T':
            for item in v.items:
                self.todo.append((len(self.out), item))
                self.out += bytes(4)
        elif v.fmt in 'SB':
            self.out += bytes(v.items) + (b'\0' if v.fmt == 'S' else b'')
        else:
            self.out += struct.pack(f'<{len(v.items)}{v.fmt}', *v.items)
        self.pad(4)
        return here

    def file(self, root):
        """The whole file."""
        self.todo = [(0, root)]
        while self.todo:
            at, item = self.todo.pop(0)
            here = self.table(item) if isinstance(item, Table) else self.vector(item)
            struct.pack_into('<I', self.out, at, here - at)
        self.out[4:8] = b'TFL3'
        return bytes(self.out)


class Model:
    """A network: tensor() and op() add to it, file() gives the bytes."""

    def __init__(self):
        self.tensors, self.buffers, self.ops, self.codes = [], [Table()], [], []

    def tensor(self, shape, dtype, scale=None, zero=0, data=None, axis=0):
        """A tensor's number; scale and zero: numbers or lists; data: bytes of a constant."""
        buffer = 0
        if data is not None:
            buffer = len(self.buffers)
            self.buffers.append(Table(f0=Vector('B', data, 16)))
        self.tensors.append(None)
        self._describe(len(self.tensors) - 1, shape, dtype, buffer, self._quant(scale, zero, axis))
        return len(self.tensors) - 1

    def replace(self, number, shape, dtype, scale=None, zero=0):
        """Tensor number, which is no constant, is described anew."""
        self._describe(number, shape, dtype, 0, self._quant(scale, zero, 0))

    def _describe(self, number, shape, dtype, buffer, quant):
        self.tensors[number] = Table(
            f0=Vector('i', shape), f1=('b', dtype), f2=('I', buffer), f3=text(f't{number}'),
            f4=quant)

    @staticmethod
    def _quant(scale, zero, axis):
        if scale is None:
            return None
        scales = scale if isinstance(scale, list) else [scale]
        zeros = zero if isinstance(zero, list) else [zero] * len(scales)
        return Table(f2=Vector('f', scales), f3=Vector('q', zeros, 8),
                     f6=('i', axis) if axis else None)

    def op(self, name, inputs, outputs, version=1, **options):
        """An operator; options by their names in OPTIONS, those left out are absent."""
        code = (CODES[name], version)
        if code not in self.codes:
            self.codes.append(code)
        kind, table = None, None
        if name in OPTIONS:
            kind, spec = OPTIONS[name]
            formats = [f.split(':') for f in spec.split()]
            assert set(options) <= {f for f, _ in formats}, options
            table = Table(**{f'f{i}': (fmt, options[field])
                             for i, (field, fmt) in enumerate(formats) if field in options})
        self.ops.append(Table(
            f0=('I', self.codes.index(code)), f1=Vector('i', inputs), f2=Vector('i', outputs),
            f3=('B', kind) if kind else None, f4=table))

    def file(self, inputs, outputs):
        """The file of a network with these inputs and outputs."""
        graph = Table(f0=Vector('T', self.tensors), f1=Vector('i', inputs),
                      f2=Vector('i', outputs), f3=Vector('T', self.ops), f4=text('main'))
        codes = [Table(f0=('b', min(c, 127)), f2=('i', v), f3=('i', c)) for c, v in self.codes]
        return _Writer().file(Table(
            f0=('I', 3), f1=Vector('T', codes), f2=Vector('T', [graph]), f3=text('test'),
            f4=Vector('T', self.buffers)))
