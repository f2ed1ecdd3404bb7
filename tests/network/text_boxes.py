# SPDX-License-Identifier: MIT
"""The boxes that the text detector's map means."""
import numpy as np

THRESHOLD = 0.3


def boxes(score):
    """Bounding boxes of the 4-connected regions above the threshold, in order."""
    left = score > THRESHOLD
    found = []
    for start in zip(*np.nonzero(left)):
        if not left[start]:
            continue
        rows, columns, todo = [], [], [start]
        left[start] = False
        while todo:
            y, x = todo.pop()
            rows.append(y)
            columns.append(x)
            for at in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if 0 <= at[0] < left.shape[0] and 0 <= at[1] < left.shape[1] and left[at]:
                    left[at] = False
                    todo.append(at)
        found.append((min(rows), min(columns), max(rows), max(columns)))
    return found
