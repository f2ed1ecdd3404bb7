#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The digits that scripts/fetch-digits has, as arrays.

digits.py FOLDER OUT: writes OUT/learn.npy, test.npy and test-labels.npy.
"""
import json
import os
import sys

import numpy as np


def load(folder):
    """(images, labels) to learn from and to test with: float32 [n, 1, 28, 28], 0..1; int64 [n].

    Every fifth digit of a class is for the test; the classes take turns.
    """
    images, labels, order = [], [], []
    for digit in range(10):
        with open(os.path.join(folder, f'{digit}.json'), encoding='ascii') as file:
            data = np.array(json.load(file)['data'], np.float32).reshape(-1, 1, 28, 28)
        images.append(data)
        labels.append(np.full(len(data), digit, np.int64))
        order.append(np.arange(len(data)))
    images, labels, order = (np.concatenate(x) for x in (images, labels, order))
    turns = np.argsort(order, kind='stable')
    images, labels, order = images[turns], labels[turns], order[turns]
    test = order % 5 == 4
    return (images[~test], labels[~test]), (images[test], labels[test])


def main():
    (learn, _), (test, labels) = load(sys.argv[1])
    for name, data in (('learn', learn), ('test', test), ('test-labels', labels)):
        np.save(os.path.join(sys.argv[2], f'{name}.npy'), data)


if __name__ == '__main__':
    main()
