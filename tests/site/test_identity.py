"""Is this host of that system: by its name, its board and its CPUs, never by what happens to be alive."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nearfar.site import identity
from nearfar.site.identity import Host
from nearfar.site.systems import Partition, System
from nearfar.topology import Node, Package

EPYC, XEON = "AMD EPYC 9654 96-Core Processor", "Intel(R) Xeon(R) Platinum 8480+"
HERE = Host("gpu03.cluster.example", "XE9680", frozenset({XEON}))
REDWOOD = System("redwood", {"gpu": Partition("gpu")}, hosts=("gpu[01-40]",), product="XE9680")
NODE = Node("gpu01", (Package(0, (0,), XEON), Package(1, (1,), XEON)), (), product="XE9680")


@pytest.mark.parametrize(
    "host, differs",
    [
        (HERE, []),
        (replace(HERE, product="ProLiant", cpu_models=frozenset({EPYC})), []),  # the system lists it
        (replace(HERE, name="new41"), []),  # the product claims it
        (
            replace(HERE, name="new41", product=None),
            ["it is not in gpu[01-40]", "its product is not known, not XE9680"],
        ),
        (
            replace(HERE, name="other", product="ProLiant", cpu_models=frozenset({EPYC})),
            ["it is not in gpu[01-40]", "its product is ProLiant, not XE9680", f"its CPU is {EPYC}, not {XEON}"],
        ),
        (replace(HERE, name="new41", cpu_models=frozenset({EPYC})), [f"its CPU is {EPYC}, not {XEON}"]),
        (replace(HERE, name="new41", cpu_models=frozenset()), []),  # what is not known does not differ
    ],
)
def test_what_differs_is_named(host: Host, differs: list[str]) -> None:
    assert identity.differences(host, REDWOOD, [NODE]) == differs


def test_a_system_that_claims_nothing_takes_every_host() -> None:
    nobodys = replace(REDWOOD, hosts=(), product=None)
    assert identity.differences(replace(HERE, cpu_models=frozenset({EPYC})), nobodys, [NODE]) == []
