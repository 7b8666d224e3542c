"""Runs nearfar on a host whose clock is off: ``python -m benchmarks.soaking.other_clock SECONDS slurm act …``; positive: ahead."""

from __future__ import annotations

import sys
import time

from nearfar import cli


def main(ahead: str, *words: str) -> int:
    """Run it. (libfaketime would fail the sleeps of Python 3.11, which are until an absolute time.)"""
    right = time.time
    time.time = lambda: right() + float(ahead)
    return cli.main(list(words))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
