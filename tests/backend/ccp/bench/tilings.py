# SPDX-License-Identifier: MIT
"""The fewest cycles that core ccp needs for a layer, by trying every legal tiling.

Written from Documentation/hardware/ccp.rst alone, independent of the compiler.  Cycles are the
T of every EXEC; DMA, CFG and control cost nothing here, so that no program can do better.

A tile has 1..16 rows, 8 columns, any run of output channels and all input channels, which it
takes in slices that follow one another.  A tile need not see more of the input than its
window, so a slice is legal if that part of its planes fits the read bank, its outputs fit the
write bank and its weights fit the weight banks.  Of a 1x1 convolution with stride 1 and no
padding the plane may be seen as rows of 8 elements, whatever its width.
"""
from collections import namedtuple

import numpy as np

Core = namedtuple('Core', 'bank weight_bank lob groups')
Core.__doc__ = 'Floats of a data bank and of a weight bank, LOB vectors, core groups.'
DEFAULT = Core(262144, 16384, 256, 4)

ROWS, COLUMNS = 16, 8
NEVER = np.int64(1) << 60

Conv = namedtuple('Conv', 'ci co ih iw oh ow kh kw sy sx pads bias add', defaults=[False])
Conv.__doc__ = '''A convolution of one group; pads is whether any side has padding.

add: another map is added to its output, as one more input channel per output channel of the
tile, with a 1x1 kernel that is one or zero (iterations of a tile may differ in their kernel).'''


def ceil_div(a, b):
    return -(-a // b)


def exec_cycles(conv, core, rows, channels, slices):
    """Sum of T over the EXECs of one tile.  rows and channels may be arrays."""
    height, width = (rows - 1) * conv.sy + conv.kh, (COLUMNS - 1) * conv.sx + conv.kw
    passes = ceil_div(channels, 4 * core.groups)
    shortcut = channels * (rows + 2 + passes * 9) if conv.add else 0
    per_input = height * ceil_div(width, 16) + 2 + passes * (conv.kh * (4 * conv.kw + 1) + 4)
    return conv.ci * per_input + shortcut + (4 * passes if conv.bias else 0) + rows * channels + 6 * slices


def slice_counts(conv, core, rows, channels, offset):
    """How many slices the input channels need; NEVER where not even one channel fits.

    offset is the first output channel modulo 4: channel o has its weights in bank o mod 4.
    """
    window = ((rows - 1) * conv.sy + conv.kh) * ((COLUMNS - 1) * conv.sx + conv.kw)
    window = min(window, conv.ih * conv.iw)
    taps, stored = conv.kh * conv.kw, ceil_div(offset + channels, 4)
    planes = core.bank // window
    most = np.minimum(core.weight_bank // (stored * taps), planes)
    # The last slice has the biases beside its weights.
    last = np.minimum((core.weight_bank - (stored if conv.bias else 0)) // (stored * taps), planes)
    fits = (last > 0) & (channels * rows * COLUMNS <= core.bank)
    count = 1 + ceil_div(np.maximum(conv.ci - last, 0), np.maximum(most, 1))
    return np.where(fits, count, NEVER)


def cover(total, cost):
    """Least sum of cost[n] over all ways to write total as a sum of numbers n >= 1.

    cost is a list of arrays, cost[0] unused; the answer an array of the same shape.
    """
    best = [np.zeros_like(cost[1])]
    for done in range(1, total + 1):
        best.append(np.minimum.reduce([best[done - n] + cost[n]
                                       for n in range(1, min(done, len(cost) - 1) + 1)]))
    return np.minimum(best[total], NEVER)


def map_cycles(conv, core, offset):
    """Cycles of the whole map for every number of output channels of a tile."""
    channels = np.arange(1, min(conv.co, core.lob * core.groups) + 1, dtype=np.int64)
    cost = [None]
    for rows in range(1, ROWS + 1):
        slices = slice_counts(conv, core, rows, channels, offset)
        cost.append(np.where(slices < NEVER, exec_cycles(conv, core, rows, channels, slices),
                             NEVER))
    plane = ceil_div(conv.ow, COLUMNS) * cover(conv.oh, cost)
    if (conv.kh, conv.kw, conv.sy, conv.sx, conv.pads) == (1, 1, 1, 1, False):
        plane = np.minimum(plane, cover(ceil_div(conv.oh * conv.ow, COLUMNS), cost))
    return np.minimum(plane, NEVER)


def conv_cycles(conv, core=DEFAULT):
    """The fewest cycles of a convolution; NEVER if no tiling is legal."""
    by_offset = [map_cycles(conv, core, offset) for offset in range(4)]
    best = np.zeros(conv.co + 1, np.int64)
    for done in range(1, conv.co + 1):
        n = np.arange(1, min(done, len(by_offset[0])) + 1)
        first = done - n
        cost = np.stack(by_offset)[first % 4, n - 1]
        best[done] = min((best[first] + cost).min(), NEVER)
    least = int(best[conv.co])
    if (conv.ih, conv.iw, conv.kh, conv.kw) == (1, 1, 1, 1):
        least = min(least, fc_cycles(conv.ci, conv.co, conv.bias, core))
    return least


def fc_cycles(inputs, outputs, bias, core=DEFAULT):
    """The fewest cycles of a fully connected layer; its weights share the four banks."""
    blocks = ceil_div(inputs, 16)
    most = (4 * core.weight_bank) // (16 * blocks + (1 if bias else 0))
    if not most or inputs > core.bank:
        return int(NEVER)
    cost = [np.int64(4 * ceil_div(n, 4) * (blocks + (1 if bias else 0)) + 10)
            for n in range(0, min(outputs, most, core.bank) + 1)]
    best = np.zeros(outputs + 1, np.int64)
    cost = np.array(cost)
    for done in range(1, outputs + 1):
        n = np.arange(1, min(done, len(cost) - 1) + 1)
        best[done] = (best[done - n] + cost[n]).min()
    return int(best[outputs])


def add_cycles(elements):
    """The fewest cycles to add two maps of so many elements, as convolutions with 1 as weight.

    The maps are 1..16 channels, whatever they were, in rows of 8 elements: every output channel
    has two input channels.  Cycles grow evenly with the rows, so the fewest tiles are the best.
    """
    def cycles(channels):
        rows = ceil_div(elements, channels * COLUMNS)
        tiles = ceil_div(rows, ROWS)
        return 2 * channels * (rows + tiles * (2 + 9)) + rows * channels + 6 * tiles

    return min(map(cycles, range(1, 17)))


def pool_cycles(channels, oh, ow):
    """Pooling has no tiles to choose: one EXEC over as many planes as a bank holds."""
    return channels * oh * ow + 5


def dense_cycles(conv, group, core=DEFAULT):
    """A grouped convolution as dense ones of several groups, the other weights zero.

    Returns the fewest cycles over the numbers of groups that go together.  conv is one group.
    """
    best = np.int64(NEVER)
    for together in range(2, group + 1):
        if group % together == 0 and together * conv.co <= 64:
            block = conv._replace(ci=conv.ci * together, co=conv.co * together)
            best = min(best, group // together * conv_cycles(block, core))
    return int(best)
