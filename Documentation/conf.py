# SPDX-License-Identifier: MIT
"""Sphinx configuration; scripts/build-docs adds the pages made from the headers."""
project = 'cnnacc'
author = 'the cnnacc developers'
copyright = author
extensions = []
exclude_patterns = []
html_theme = 'alabaster'
html_theme_options = {'page_width': '1100px', 'fixed_sidebar': True}
# Kernel types and macros are not described here.
nitpicky = False
c_id_attributes = []
