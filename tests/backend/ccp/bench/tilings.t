#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The search for the best tilings against cycles worked out by hand and against plain trying."""
import itertools

import tilings
from tilings import Conv, Core

HAND = [
    # rows 8, LR 10, P 1: 10 + 2 + 43, bias 4, outputs 8, fill 6
    ('one channel 3x3', Conv(1, 1, 8, 8, 8, 8, 3, 3, 1, 1, True, True), 55 + 4 + 8 + 6),
    # the plane of 16 as two rows of 8: 16 * (2 + 2 + 9) + 4 + 2 * 16 + 6
    ('1x1 over a 4x4 plane', Conv(16, 16, 4, 4, 4, 4, 1, 1, 1, 1, False, True), 250),
    # as wide as it is with a stride: rows 4, LR 7, LC 15: 16 * (7 + 2 + 9) + 4 + 4 * 16 + 6
    ('1x1 stride 2', Conv(16, 16, 7, 7, 4, 4, 1, 1, 2, 2, False, True), 362),
    # 98 tiles of 16 rows, LC 21: 3 * (2 * 37 + 2 + 4 * 207) + 16 + 16 * 64 + 6
    ('7x7 stride 2', Conv(3, 64, 224, 224, 112, 112, 7, 7, 2, 2, True, True), 98 * 3758),
    # 37 slices of 14 channels: 512 * (9 + 2 + 32 * 43) + 128 + 7 * 512 + 37 * 6
    ('3x3 in slices', Conv(512, 512, 7, 7, 7, 7, 3, 3, 1, 1, True, True), 714078),
    # 16 * (1 + 2 + 9) + 16 * 1 + 6 as convolution; as fc 4 * 4 * (1 + 0) + 10
    ('1x1 of one element', Conv(16, 16, 1, 1, 1, 1, 1, 1, 1, 1, False, False), 26),
    # (64 + 32) * (16 + 2 + 2 * 9) + 8 + 16 * 32 + 6; two runs of 16 channels would take 4852
    ('1x1 and a map added', Conv(64, 32, 8, 16, 8, 16, 1, 1, 1, 1, False, True, True), 3982)]

SMALL = Core(90, 20, 2, 1)
TINY = [Conv(ci, co, ih, 6, ih, 6, 3, 3, 1, 1, True, bias)
        for ci, co, ih, bias in itertools.product((1, 3), (1, 2, 3), (2, 5), (False, True))]


def splits(total, largest):
    """All ways to write total as an ordered sum of numbers 1..largest."""
    if not total:
        yield ()
    for n in range(1, min(total, largest) + 1):
        for rest in splits(total - n, largest):
            yield (n,) + rest


def slice_fits(conv, core, rows, start, channels, inputs, last):
    """Puts the weights and biases of a slice into banks, float by float."""
    bank = [0] * 4
    for o in range(start, start + channels):
        bank[o % 4] += inputs * conv.kh * conv.kw + (1 if conv.bias and last else 0)
    window = min((rows + 2) * (7 + 3), conv.ih * conv.iw)
    return max(bank) <= core.weight_bank and inputs * window <= core.bank and \
        channels * rows * 8 <= core.bank


def tile_cycles(conv, core, rows, start, channels):
    """The fewest cycles of one tile over all slices; None if no slices fit."""
    best = None
    for slices in splits(conv.ci, conv.ci):
        if all(slice_fits(conv, core, rows, start, channels, n, i == len(slices) - 1)
               for i, n in enumerate(slices)):
            passes = -(-channels // (4 * core.groups))
            t = sum(n * (rows + 2 + 2 + passes * 43) + 6 for n in slices)
            t += rows * channels + (4 * passes if conv.bias else 0)
            best = t if best is None else min(best, t)
    return best


def plain(conv, core):
    """Every way to cut rows and channels, one after the other."""
    best = tilings.NEVER
    for channels in splits(conv.co, core.lob * core.groups):
        total = 0
        for start, count in zip(itertools.accumulate((0,) + channels), channels):
            ways = [[tile_cycles(conv, core, r, start, count) for r in rows]
                    for rows in splits(conv.oh, 16)]
            total += min((sum(w) for w in ways if None not in w), default=tilings.NEVER)
        best = min(best, total)
    return int(best)


def main():
    n = 0
    for name, conv, cycles in HAND:
        n += 1
        got = tilings.conv_cycles(conv)
        print(f'{"ok" if got == cycles else "not ok"} {n} - {name}: {got} cycles, by hand {cycles}')
    legal = sum(plain(c, SMALL) < tilings.NEVER for c in TINY)
    wrong = [c for c in TINY if tilings.conv_cycles(c, SMALL) != plain(c, SMALL)]
    for conv in wrong:
        print(f'# {conv}: {tilings.conv_cycles(conv, SMALL)}, trying {plain(conv, SMALL)}')
    n += 1
    print(f'{"not ok" if wrong or legal < 16 else "ok"} {n} - {len(TINY)} layers on a small core, '
          f'{legal} of them possible, as by trying all')
    illegal = Conv(1, 1, 9, 9, 1, 1, 9, 9, 1, 1, False, True)
    n += 1
    print(f'{"ok" if tilings.conv_cycles(illegal, SMALL) == tilings.NEVER else "not ok"} {n} - '
          'a layer that does not fit')
    # 35 EXECs of 28 outputs and one of 20: 4 * 250 * (128 + 1) + 36 * 10
    n += 1
    fc = tilings.fc_cycles(2048, 1000, True)
    print(f'{"ok" if fc == 129360 else "not ok"} {n} - fully connected: {fc} cycles, by hand 129360')
    # 64 tiles of 16 channels: 32 * (16 + 2 + 9) + 16 * 16 + 6
    n += 1
    add = tilings.add_cycles(131072)
    print(f'{"ok" if add == 64 * 1126 else "not ok"} {n} - Add: {add} cycles, by hand {64 * 1126}')
    print(f'1..{n}')


if __name__ == '__main__':
    main()
