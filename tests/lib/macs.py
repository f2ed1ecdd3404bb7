# SPDX-License-Identifier: MIT
"""What cnnrun says of a network's work."""
import re


def share(said):
    """Multiply-accumulates on the device, in per cent; -1 if cnnrun does not say."""
    m = re.search(r'MACs on device: (\d+) of ([1-9]\d*)', said)
    return 100 * int(m[1]) / int(m[2]) if m else -1
