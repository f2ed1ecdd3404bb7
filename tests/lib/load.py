# SPDX-License-Identifier: MIT
"""Scripts without a suffix as Python modules."""
import importlib.machinery
import importlib.util
import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load_script(path):
    """The script at path, from the top of the tree, as a module."""
    name = os.path.basename(path).replace('-', '_')
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(TOP, path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module
