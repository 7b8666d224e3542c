"""What NCCL's log says it did, in logs of several of its versions."""

from __future__ import annotations

import pytest

from nearfar.nccl import read_log
from tests.conftest import CHECKOUT

DATA = CHECKOUT / "tests" / "data" / "nccl"


@pytest.mark.parametrize(
    "name, version, transports, channels",
    [
        ("2.7.8", "2.7.8", {"9 → 8": "P2P/IPC", "9 → 0": "NET/AWS Libfabric"}, 2),
        ("2.11.4", "2.11.4", {}, 4),
        ("2.18.3", "2.18.3", {"10 → 11": "SHM", "3 → 4": "SHM"}, None),
        ("2.22.3", "2.22.3", {"7 → 0": "P2P/CUMEM"}, 16),
        ("ib-gdrdma", None, {"0 → 15": "NET/IB/GDRDMA", "8 → 0": "NET/IB/GDRDMA"}, 16),
        ("2.26.2", "2.26.2", {"7 → 0": "P2P/direct", "6 → 1": "P2P/direct"}, None),
        ("2.29", None, {}, None),
    ],
)
def test_version_transports_and_channels(
    name: str, version: str | None, transports: dict[str, str], channels: int
) -> None:
    log = read_log((DATA / f"{name}.txt").read_text())
    assert (next(iter(log.versions), None), log.transports, log.channels) == (version, transports, channels)


def test_what_it_chose_and_was_told() -> None:
    old, new = (read_log((DATA / f"{name}.txt").read_text()) for name in ("ib-gdrdma", "2.29"))
    assert old.choices == {"262144": ["tree", "LL128"], "8589934592": ["ring", "Simple"]}
    assert new.choices == {"all_reduce 1073741824": ["nvls", "Simple"]}
    assert old.variables == {"NCCL_CROSS_NIC": "2"} and old.nvls is True and new.initialised == [3, 4]
    limited = read_log((DATA / "2.11.4.txt").read_text())
    assert limited.variables == {"NCCL_P2P_LEVEL": "LOC"} and limited.signs == ["network_socket", "no_ib"]
    assert read_log("nothing of NCCL's").channels is None
