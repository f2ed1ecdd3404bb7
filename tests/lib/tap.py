# SPDX-License-Identifier: MIT
"""What tests in Python print."""


class Tap:
    """Counts results and prints them as TAP."""

    def __init__(self):
        self.count = self.failed = 0

    def ok(self, good, name, why=''):
        """One result; why is shown, its last lines, if it is bad."""
        self.count += 1
        self.failed += not good
        print(f'{"" if good else "not "}ok {self.count} - {name}', flush=True)
        if not good and why:
            print('\n'.join('# ' + line for line in str(why).splitlines()[-30:]))

    def equal(self, got, wanted, name):
        if got != wanted:
            print(f'# {name}: got {got!r}, wanted {wanted!r}')
        self.ok(got == wanted, name)

    def done(self):
        print(f'1..{self.count}')
        return 1 if self.failed else 0
