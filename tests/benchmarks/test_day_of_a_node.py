"""The day of a node: what it types."""

from __future__ import annotations

import shlex

from benchmarks import day_of_a_node
from nearfar import cli


def test_its_installation_is_one_that_install_takes() -> None:
    words = shlex.split(day_of_a_node.INSTALL)[1:]
    assert cli.parser("slurm", words).parse_args(words).what == ["act", "health", "prolog", "epilog"]
