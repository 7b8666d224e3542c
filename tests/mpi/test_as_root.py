"""What the pack starts as root: Open MPI is allowed to, nobody else's launches are, and it is said."""

from __future__ import annotations

import os

import pytest

from nearfar.measurement import from_raw
from nearfar.mpi import as_root
from tests.mpi.test_numa_pairs import raw


@pytest.mark.parametrize("user, names", [(0, 4), (1000, 0)])
def test_only_root_needs_it(user: int, names: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    before = dict(os.environ)
    found = as_root.environment()
    assert len(found) == names and set(found.values()) <= {"1"}
    assert ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM" in found) == (user == 0)
    assert dict(os.environ) == before, "the variables are for the launches alone"


@pytest.mark.parametrize(
    "mpi, user, notes", [("Open MPI v4.1.4", 0, 1), ("Open MPI v4.1.4", 7, 0), ("MPICH 4.0.2", 0, 0)]
)
def test_it_is_a_note_of_the_check(mpi: str, user: int, notes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    document = raw()
    document["node"]["software"] = {"mpi": mpi}
    found = as_root.notes(from_raw(document, "test"))
    assert len(found) == notes
    assert {finding.code for finding in found} <= {"ranks.as_root"}


def test_without_a_document_there_is_nothing_to_say() -> None:
    assert as_root.notes(None) == []
