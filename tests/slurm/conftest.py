"""What files of tests on a private Slurm have unless they define their own: six nodes, and a site on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.acting import Site, prepared
from tests.support.private_slurm import PrivateSlurm, needed


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateSlurm]:
    needed()
    with PrivateSlurm(cpus=1, gpus=0, nodes=6) as slurm:
        yield slurm


@pytest.fixture
def site(private: PrivateSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with prepared(private, tmp_path, monkeypatch) as site:
        yield site
