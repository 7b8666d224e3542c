"""What ``nearfar slurm … --json`` prints is as its schema says, and says no more. That of ``doctor``: slurm/doctor/test_doctor.py."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nearfar.base import CouldNotJudge, schema
from nearfar.commands.schema import SCHEMAS
from nearfar.slurm.findings import ActLog
from tests.slurm.status.test_status import Fleet, filled
from tests.support.node_results import leave


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    return Fleet(tmp_path, monkeypatch)


def strict(node: Any) -> Any:
    """A schema that refuses keys which it does not name."""
    if isinstance(node, dict):
        found = {key: strict(value) for key, value in node.items()}
        return {**found, "additionalProperties": False} if "properties" in node else found
    return [strict(each) for each in node] if isinstance(node, list) else node


def refuse_unlike(name: str, document: Any) -> None:
    """Raise what does not keep to the schema that a user gets by this name."""
    jsonschema.Draft7Validator(strict(copy.deepcopy(schema(SCHEMAS[name])))).validate(document)


def histories(fleet: Fleet) -> Iterator[None]:
    """A fleet as it becomes more and more lively."""
    yield
    filled(fleet)
    yield
    fleet.run("act")
    yield
    for name in ("n1", "n7", "n8", "n10"):
        leave(fleet.results, name, f"000009{name[1:]:0>2}", at=time.time() - 30, wrong="GPU 2 is absent", code="absent")
        fleet.slow(name, 7000, 50)
    (leave(fleet.results, "n12", "00000012", at=fleet.now - 60) / "result.json").chmod(0o666)
    state = fleet.slurm.node("n2")
    fleet.slurm.states["n2"] = replace(state, base="DOWN", flags=state.flags | {"NOT_RESPONDING"})
    yield
    fleet.run("act")
    fleet.run("clear", "n1", "--because", "seen to")
    log = ActLog(fleet.state)
    log.end(log.begin("resume", time.time(), "n3"), "refused", time.time(), error="x")
    log.note("latch", time.time(), why="no more than 2 drained within a day")
    yield


def test_they_keep_to_their_schemas(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    groups: set[str] = set()
    for _ in histories(fleet):
        for words in (("act", "--dry-run"), ("act",), ("status",), ("status", "n[1-3]"), ("log", "--since", "all")):
            capsys.readouterr()
            assert fleet.run(*words, "--json") in (0, 3)
            document = json.loads(capsys.readouterr().out)
            refuse_unlike(words[0], document)
            groups |= {node["group"] for node in document["nodes"]} if words[0] == "status" else set()
    assert len(groups) >= 6, "little was tried"


def test_also_where_slurmctld_does_not_answer(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(fleet)
    fleet.run("act")

    def silent() -> None:
        raise CouldNotJudge("no answer")

    monkeypatch.setattr(fleet.slurm, "nodes", silent)
    for words in (("status",), ("status", "n2")):
        capsys.readouterr()
        assert fleet.run(*words, "--json") == 3
        refuse_unlike("status", json.loads(capsys.readouterr().out))
