"""What files of tests on a private Slurm have unless they define their own: six nodes, and a site on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.acting import Site, prepared
from tests.support.private_slurm import PrivateSlurm, missing


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateSlurm]:
    absent = missing()
    if absent:
        pytest.skip(f"{absent} is not installed (Debian: slurmctld slurmd slurm-client munge)")
    with PrivateSlurm(cpus=1, gpus=0, nodes=6) as slurm:
        yield slurm


@pytest.fixture
def site(private: PrivateSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with prepared(private, tmp_path, monkeypatch) as site:
        yield site
