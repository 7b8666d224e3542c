"""What ``act`` costs slurmctld, by slurmctld's own count of RPCs: three where nothing changed, and a few for a node that is drained."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from nearfar import cli
from tests.support.acting import Site

#: RPCs of slurmd, of slurmctld itself, and of ``sdiag``.
_OTHERS = ("REQUEST_STATS_INFO", "REQUEST_PING", "MESSAGE_NODE_REGISTRATION_STATUS", "REQUEST_CONTROL_STATUS")
#: What fetches a table of all nodes or partitions.
_TABLES = ("REQUEST_NODE_INFO", "REQUEST_PARTITION_INFO")


def counted(site: Site) -> Counter[str]:
    """The RPCs that slurmctld has had, by their names."""
    said = site.private.run(["sdiag"])
    by_type = said.stdout.partition("Remote Procedure Call statistics by message type")[2].partition("by user")[0]
    found = re.findall(r"^\s*([A-Z_]+)\s*\(\s*\d+\)\s*count:(\d+)", by_type, re.MULTILINE)
    assert found, said
    return Counter({name: int(count) for name, count in found if name not in _OTHERS})


def acted(site: Site) -> Counter[str]:
    """The RPCs of one ``act``."""
    site.private.until_nodes_answer()
    before = counted(site)
    cli.main(["slurm", "act", f"--state={site.state}", f"--results={site.results}"])
    return counted(site) - before


def test_rpcs_of_a_quiet_act_and_of_a_drain(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    acted(site)
    quiet = acted(site)
    assert quiet == Counter(dict.fromkeys((*_TABLES, "REQUEST_BUILD_INFO"), 1))
    site.slow_twice("n2", "00000001", "00000002")
    drain = acted(site)
    assert site.node("n2").drain, capsys.readouterr()
    assert drain["REQUEST_UPDATE_NODE"] == 1 and sum(drain.values()) <= 12, drain
    assert acted(site) == quiet, "the drain is over"
