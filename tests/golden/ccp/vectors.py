#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Expected results of the ccp vectors, from the definition of each layer.

Works on whole tensors in double arithmetic rounded to single after every
operation (exact for + and *), and knows nothing of banks, tiles and slices.
Writes vectors.inc: vectors.py > vectors.inc
"""
import math
import struct
import zlib

SPECIAL = [
    0x00000000, 0x80000000, 0x3f800000, 0x00000001, 0x807fffff, 0x7f7fffff, 0xff7fffff,
    0xbf800000, 0x00800000, 0x34000000, 0x7e967699, 0xc0000000, 0x1f000000, 0x9f123456,
    0x00400000, 0x80000001, 0x3fffffff, 0x7f800000, 0xff800000, 0x7fc00001, 0xffc12345,
    0x7fa00000, 0xff800001,
]
FINITE = 17     # so many of them are neither infinite nor NaN


def single(x):
    try:
        return struct.unpack('<f', struct.pack('<f', x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def bits(x):
    return 0x7fc00000 if math.isnan(x) else struct.unpack('<I', struct.pack('<f', x))[0]


def value(word):
    return struct.unpack('<f', struct.pack('<I', word))[0]


def add(a, b):
    return single(a + b)


def mul(a, b):
    return single(a * b)


def data(kind, i, ramp, special):
    """Word i of an input; kind 0 the ramps of the published vectors, 1 all specials, 2 finite ones."""
    if kind == 0:
        a, b, m, c, scale = ramp
        return bits(mul(float((i * a + b) % m - c), single(scale)))
    factor, offset = special
    return SPECIAL[(i * factor + offset) % (len(SPECIAL) if kind == 1 else FINITE)]


def x_word(kind, i):
    return data(kind, i, (37, 11, 101, 50, 0.1), (7, 3))


def w_word(kind, i):
    return data(kind, i, (53, 7, 97, 48, 0.03), (5, 1))


def b_word(kind, i):
    return data(kind, i, (29, 3, 19, 9, 0.7), (3, 2))


def relu(x):
    return x if x > 0 else 0.0


def conv(v):
    kh, kw = v['kernel'], v.get('kernel_x') or v['kernel']
    sy, sx = v['stride'], v.get('stride_x') or v['stride']
    iw = v['in_cols']
    ih = v.get('in_rows') or iw
    top, bottom, left, right = (v.get(k, 0) for k in ('top', 'bottom', 'left', 'right'))
    oh = (ih + top + bottom - kh) // sy + 1
    ow = (iw + left + right - kw) // sx + 1
    v['out_cols'] = ow
    if oh != ow:
        v['out_rows'] = oh
    ci, co, kind = v['ci_num'], v['co_num'], v.get('kind', 0)
    x = [value(x_word(kind, i)) for i in range(ci * ih * iw)]
    w = [value(w_word(kind, i)) for i in range(co * ci * kh * kw)]
    out = []
    for o in range(co):
        for y in range(oh):
            for z in range(ow):
                acc = 0.0
                for c in range(ci):
                    total = 0.0
                    for r in range(kh):
                        for s in range(kw):
                            row, col = y * sy + r - top, z * sx + s - left
                            inside = 0 <= row < ih and 0 <= col < iw
                            e = x[(c * ih + row) * iw + col] if inside else 0.0
                            total = add(total, mul(e, w[((o * ci + c) * kh + r) * kw + s]))
                    if c == ci - 1 and v.get('bias'):
                        total = add(total, mul(1.0, value(b_word(kind, o))))
                    acc = total if c == 0 else add(acc, total)
                out.append(bits(relu(acc) if v.get('relu') else acc))
    return out


def pool(v):
    kh, kw = v['kernel'], v.get('kernel_x') or v['kernel']
    sy, sx = v['stride'], v.get('stride_x') or v['stride']
    iw = v['in_cols']
    ih = v.get('in_rows') or iw
    top, bottom, left, right = (v.get(k, 0) for k in ('top', 'bottom', 'left', 'right'))
    oh = v.get('out_rows') or -((kh - ih - top - bottom) // sy) + 1
    ow = v.get('out_cols') or -((kw - iw - left - right) // sx) + 1
    v['result_rows'], v['result_cols'] = oh, ow
    average, kind = v.get('average'), v.get('kind', 0)
    fill = 0.0 if average else value(0xff7fffff)
    node = add if average else (lambda a, b: a if a > b else b)
    x = [value(x_word(kind, i)) for i in range(v['channels'] * ih * iw)]
    out = []
    for c in range(v['channels']):
        for y in range(oh):
            for z in range(ow):
                a = []
                for r in range(kh):
                    for s in range(kw):
                        row, col = y * sy - top + r, z * sx - left + s
                        inside = 0 <= row < ih and 0 <= col < iw
                        a.append(x[(c * ih + row) * iw + col] if inside else fill)
                a += [fill] * (9 - len(a))
                while len(a) > 1:
                    odd = [a[-1]] if len(a) % 2 else []
                    a = [node(a[i], a[i + 1]) for i in range(0, len(a) - 1, 2)] + odd
                out.append(bits(mul(a[0], single(1.0 / (kh * kw))) if average else a[0]))
    return out


def pad(v):
    p, iw = v['layers'], v['in_cols']
    ih = v.get('in_rows') or iw
    out = []
    for c in range(v['channels']):
        for y in range(-p, ih + p):
            for z in range(-p, iw + p):
                inside = 0 <= y < ih and 0 <= z < iw
                out.append(x_word(v.get('kind', 0), (c * ih + y) * iw + z) if inside else 0)
    return out


def fc(v):
    kind, n = v.get('kind', 0), v['in']
    out = []
    for o in range(v['out']):
        acc = 0.0
        for first in range(0, n, 16):
            p = [mul(value(x_word(kind, i)), value(w_word(kind, o * n + i))) if i < n else 0.0
                 for i in range(first, first + 16)]
            while len(p) > 1:
                p = [add(p[i], p[i + 1]) for i in range(0, len(p), 2)]
            acc = add(acc, p[0])
        if v.get('bias'):
            acc = add(acc, mul(1.0, value(b_word(kind, o))))
        out.append(bits(relu(acc) if v.get('relu') else acc))
    return out


# Published vectors have their published CRC-32 and first words as 'want'.
CONV = [
    ('conv 10 k3 s1 relu', dict(in_cols=10, kernel=3, stride=1, ci_num=2, co_num=5, relu=1, bias=1),
     (0xe967a264, 0x409fa5e5, 0x00000000, 0x00000000, 0x409eb022)),
    ('conv 11 k3 s2', dict(in_cols=11, kernel=3, stride=2, ci_num=3, co_num=4, bias=1),
     (0x3cdf029c, 0x409e1cab, 0xc17df7d0, 0xc14c0000, 0x41347ae3)),
    ('conv 12 k5 s1 plain', dict(in_cols=12, kernel=5, stride=1, ci_num=1, co_num=1),
     (0x13c06137, 0x41595812, 0x403d1eba, 0x40625e34, 0xc081fbe8)),
    ('program of spec 13', dict(in_cols=18, kernel=3, stride=1, ci_num=2, co_num=5, relu=1, bias=1),
     (0x900650d4, 0x00000000, 0x00000000, 0x00000000, 0x40752f1e)),
    ('conv rectangle', dict(in_cols=12, in_rows=7, kernel=3, stride=1, ci_num=2, co_num=3)),
    ('conv tall', dict(in_cols=3, in_rows=37, kernel=3, stride=1, ci_num=1, co_num=2, bias=1,
                       vec_active=5)),
    ('conv kernel 1x5', dict(in_cols=13, kernel=1, kernel_x=5, stride=1, ci_num=2, co_num=2)),
    ('conv kernel 5x1 stride 2x1', dict(in_cols=9, in_rows=14, kernel=5, kernel_x=1, stride=2,
                                        stride_x=1, ci_num=2, co_num=6, bias=1)),
    ('conv stride 1x3', dict(in_cols=20, kernel=2, kernel_x=3, stride=1, stride_x=3, ci_num=1,
                             co_num=2, relu=1)),
    ('conv padding 1 2 0 3', dict(in_cols=9, in_rows=6, kernel=3, kernel_x=4, stride=1, top=1,
                                  bottom=2, right=3, ci_num=3, co_num=4, bias=1)),
    ('conv left padding alone', dict(in_cols=6, kernel=3, stride=2, left=5, ci_num=2, co_num=2)),
    ('conv padding beyond the kernel', dict(in_cols=3, kernel=2, stride=3, top=15, bottom=15,
                                            left=15, right=15, ci_num=1, co_num=2, bias=1)),
    ('conv k11 s4', dict(in_cols=23, kernel=11, stride=4, top=2, bottom=1, left=2, right=1,
                         ci_num=2, co_num=5, relu=1, bias=1)),
    ('conv stride 8 not exact', dict(in_cols=31, kernel=3, stride=8, ci_num=2, co_num=2)),
    ('conv 1x1 on 1x1', dict(in_cols=1, kernel=1, stride=1, ci_num=7, co_num=9, bias=1)),
    ('conv pitches', dict(in_cols=6, kernel=3, stride=1, ci_num=3, co_num=6, in_pitch=41,
                          out_pitch=19, in_base=5, out_base=3, weight_base=7, bias_base=400)),
    ('conv weight pitch', dict(in_cols=6, kernel=3, stride=1, ci_num=2, co_num=9, bias=1,
                               weight_pitch=5, bias_base=900)),
    ('conv three slices', dict(in_cols=9, kernel=3, stride=1, ci_num=7, co_num=6, relu=1, bias=1,
                               slice=3)),
    ('conv slices of one', dict(in_cols=10, in_rows=18, kernel=2, stride=1, ci_num=3, co_num=2,
                                slice=1)),
    ('conv batches of three', dict(in_cols=7, kernel=3, stride=1, ci_num=2, co_num=11, bias=1,
                                   batch=3)),
    ('conv negative bases', dict(in_cols=8, kernel=3, stride=1, top=1, bottom=1, left=1, right=1,
                                 ci_num=6, co_num=10, relu=1, bias=1, slice=2, batch=5, moved=1,
                                 in_base=17, out_base=1, weight_base=2, bias_base=77)),
    ('conv one group one row', dict(in_cols=10, kernel=3, stride=1, ci_num=2, co_num=6,
                                    vec_active=1, groups=1)),
    ('conv infinities and NaNs', dict(in_cols=6, kernel=2, stride=1, top=1, left=1, ci_num=2,
                                      co_num=8, bias=1, kind=1)),
    ('conv relu of NaNs', dict(in_cols=6, kernel=1, stride=1, ci_num=1, co_num=8, relu=1, kind=1)),
    ('conv subnormals and overflow', dict(in_cols=7, kernel=1, kernel_x=2, stride=1, ci_num=2,
                                          co_num=9, bias=1, kind=2)),
]
POOL = [
    ('max 8 k3 s2', dict(in_cols=8, kernel=3, stride=2, channels=2),
     (0x43f5d8e9, 0x4099999a, 0x40600000, 0x40900000, 0x3fe66667)),
    ('avg 8 k3 s2', dict(average=1, in_cols=8, kernel=3, stride=2, channels=2),
     (0x44d2b0b5, 0x3e638e3e, 0xbe6eeef2, 0x3edddddd, 0xbf000000)),
    ('max 8 k2 s2', dict(in_cols=8, kernel=2, stride=2, channels=1),
     (0x93d6cc58, 0xbe4ccccd, 0x40600000, 0x40900000, 0x3fe66667)),
    ('avg 8 k2 s2', dict(average=1, in_cols=8, kernel=2, stride=2, channels=1),
     (0x038bb819, 0xc019999a, 0xbd4ccce0, 0x40133333, 0xbecccccd)),
    ('max floor', dict(in_cols=8, kernel=3, stride=2, out_cols=3, out_rows=3, channels=2)),
    ('avg floor in rows', dict(average=1, in_cols=8, kernel=3, stride=2, out_rows=3, channels=2)),
    ('max rectangle', dict(in_cols=9, in_rows=5, kernel=2, stride=2, channels=3)),
    ('avg padded', dict(average=1, in_cols=7, kernel=3, stride=2, top=1, bottom=1, left=1, right=1,
                        channels=2)),
    ('max padded unevenly', dict(in_cols=7, in_rows=4, kernel=3, stride=1, top=1, left=2, right=1,
                                 channels=1)),
    ('windows wholly outside', dict(in_cols=2, kernel=2, stride=2, top=6, bottom=3, left=4, right=5,
                                    channels=1)),
    ('avg wholly outside', dict(average=1, in_cols=2, kernel=2, stride=3, top=6, left=4, channels=1)),
    ('pitches', dict(in_cols=5, kernel=2, stride=1, channels=3, in_pitch=33, out_pitch=21,
                     in_base=9, out_base=2)),
    ('max specials', dict(in_cols=9, kernel=2, stride=1, channels=2, kind=1)),
    ('avg specials', dict(average=1, in_cols=9, kernel=2, stride=1, channels=2, kind=1)),
    ('avg subnormals', dict(average=1, in_cols=9, kernel=3, stride=1, channels=1, kind=2)),
] + [
    ('%s %dx%d' % ('avg' if average else 'max', kh, kw),
     dict(average=average, in_cols=7, in_rows=6, kernel=kh, kernel_x=kw, stride=2, stride_x=1,
          channels=2))
    for average in (0, 1) for kh, kw in ((1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2), (2, 2))
]
PAD = [
    ('pad 3 p1', dict(layers=1, in_cols=3, channels=2), (0x7973ed0e,)),
    ('pad rectangle p2', dict(layers=2, in_cols=4, in_rows=1, channels=3)),
    ('pad pitches', dict(layers=1, in_cols=3, in_rows=5, channels=2, in_pitch=16, out_pitch=40,
                         in_base=1, out_base=5)),
    ('pad keeps NaN bits', dict(layers=1, in_cols=5, channels=1, kind=1)),
]
FC = [
    ('fc 40 6', {'in': 40, 'out': 6, 'bias': 1},
     (0xfd364211, 0x3ea147e0, 0xc201eb85, 0x419e4395, 0x418eac08)),
    ('fc 1 1', {'in': 1, 'out': 1}),
    ('fc 16 4 relu', {'in': 16, 'out': 4, 'relu': 1, 'bias': 1}),
    ('fc 17 5', {'in': 17, 'out': 5, 'in_base': 3, 'out_base': 9}),
    ('fc across banks', {'in': 33, 'out': 7, 'bias': 1, 'weight_base': 16250, 'bias_base': 49149}),
    ('fc specials', {'in': 18, 'out': 9, 'bias': 1, 'kind': 1}),
    ('fc specials relu', {'in': 3, 'out': 13, 'relu': 1, 'kind': 1}),
    ('fc subnormals', {'in': 5, 'out': 13, 'bias': 1, 'kind': 2}),
]


def row(unit, case, compute):
    name, v = case[0], dict(case[1])
    words = compute(v)
    crc = zlib.crc32(struct.pack('<%dI' % len(words), *words))
    if len(case) > 2:
        want = list(case[2])
        assert [crc] + words[:len(want) - 1] == want, (name, hex(crc))
    run = {k: v.pop(k) for k in ('kind', 'slice', 'batch', 'moved') if k in v}
    if unit == 'pool':
        run['rows'], run['cols'] = v.pop('result_rows'), v.pop('result_cols')
    fields = ', '.join('.%s = %d' % item for item in v.items())
    extra = ''.join(', .%s = %d' % item for item in run.items())
    print('\t{ .name = "%s"%s, .crc = 0x%08x,\n\t  .layer = { %s } },' % (name, extra, crc, fields))


def main():
    print('/* SPDX-License-Identifier: MIT */')
    print('/* Made by vectors.py. */')
    for unit, cases, compute in (('conv', CONV, conv), ('pool', POOL, pool), ('pad', PAD, pad),
                                 ('fc', FC, fc)):
        print('static const struct %s_vector %s_vectors[] = {' % (unit, unit))
        for case in cases:
            row(unit, case, compute)
        print('};')


if __name__ == '__main__':
    main()
