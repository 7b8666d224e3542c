"""Versions of Slurm as (major, minor), as (22, 5) for 22.05."""

from __future__ import annotations

import re

#: A version as (major, minor).
Version = tuple[int, int]

#: The oldest Slurm whose answers and options were read.
OLDEST: Version = (22, 5)


def parse(text: str) -> Version | None:
    """The version in what ``scontrol --version`` says (``slurm-wlm 22.05.8``), or in ``22.05``; None where there is none."""
    match = re.search(r"(?<![\d.])(\d\d)\.(\d\d)(?!\d)", text)
    return None if match is None else (int(match[1]), int(match[2]))


def words(version: Version) -> str:
    """``22.05``."""
    return "{}.{:02}".format(*version)
