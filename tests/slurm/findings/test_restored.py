"""Results and findings that were brought back from a backup without their times: nothing is forgotten, and nothing done twice."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.base import utc_text
from nearfar.slurm.act import act, clear
from nearfar.slurm.act.decide import COMMENT, DRAIN, NOTHING
from tests.support.node_results import leave
from tests.support.told import Told

HOUR = 3600.0
#: What a backup may leave: the time of restoring, or that of long ago.
TIMES = {"new": None, "old": 946684800.0}


@pytest.fixture(params=sorted(TIMES))
def lost(request: pytest.FixtureRequest) -> float | None:
    """The time that all files have afterwards; None: now."""
    return TIMES[str(request.param)]


def restore(folder: Path, time_of_all: float | None) -> None:
    """Put a copy in the place of a directory, all of it with one time."""
    aside = folder.with_name(f"{folder.name}-backup")
    folder.rename(aside)
    shutil.copytree(aside, folder, copy_function=shutil.copyfile, symlinks=True)
    when = time.time() if time_of_all is None else time_of_all
    for place, _, files in os.walk(folder):
        for path in (place, *(f"{place}/{name}" for name in files)):
            os.utime(path, (when, when))
    shutil.rmtree(aside)


def actions(site: Told) -> dict[str, str]:
    return {d.node: d.action for d in site.act().seen.decisions.nodes}


def test_what_was_not_seen_yet_is_not_forgotten(tmp_path: Path, lost: float | None) -> None:
    site = Told(tmp_path)
    leave(site.results, "n2", "00000009", at=site.now - 90 * HOUR)
    site.act()
    leave(site.results, "n1", "00000001", at=site.now - 20 * HOUR, speed=27.2)
    leave(site.results, "n1", "00000002", at=site.now - HOUR, speed=27.1)
    site.wrong_data("n2", "00000003")
    restore(site.results, lost)
    assert actions(site) == {"n1": DRAIN, "n2": DRAIN}


def test_what_was_cleared_stays_so_and_what_came_after_it_counts(tmp_path: Path, lost: float | None) -> None:
    site = Told(tmp_path)
    leave(site.results, "n1", "00000001", at=site.now - 400 * HOUR, wrong="wrong data")
    leave(site.results, "n2", "00000002", at=site.now - 400 * HOUR, wrong="wrong data")
    site.act()
    for name in ("n1", "n2"):
        site.slurm.resume(name)
    list(clear.clear(site.options(), ["n1", "n2"], "memory replaced", site.slurm))  # type: ignore[arg-type]
    site.act()
    time.sleep(1.1)
    leave(site.results, "n2", "00000003", at=time.time(), wrong="wrong data")
    restore(site.results, lost)
    assert actions(site) == {"n1": NOTHING, "n2": DRAIN}
    assert actions(site) == {"n1": NOTHING, "n2": NOTHING}, "once"


def test_slow_figures_of_long_ago_drain_nobody(tmp_path: Path, lost: float | None) -> None:
    site = Told(tmp_path)
    leave(site.results, "n1", "00000001", at=site.now - 250 * HOUR, speed=27.2)
    leave(site.results, "n1", "00000002", at=site.now - 240 * HOUR, speed=27.1)
    restore(site.results, lost)
    assert DRAIN not in actions(site).values() and COMMENT not in actions(site).values()


def test_a_look_of_after_a_persons_word(tmp_path: Path, lost: float | None) -> None:
    site = Told(tmp_path)
    health = tmp_path / "health"
    health.mkdir()
    options = replace(site.options(), health=health)
    list(clear.clear(options, ["n1"], "of before", site.slurm))  # type: ignore[arg-type]
    time.sleep(1.1)
    absent = {"subject": "g0", "verdict": "FAIL", "hard": True, "reason": "GPU 0 is absent", "code": "absent"}
    look = {
        "schema": "nearfar-health/1", "run": "0000000a", "node": "n1", "hostname": "n1", "time": utc_text(time.time()), "boot": None,
        "seconds": 0.1, "verdict": "FAIL", "system": "vm", "partition": None, "last": None, "findings": [absent],
    }  # fmt: skip
    (health / "n1.json").write_text(json.dumps(look))
    restore(health, lost)
    seen, _ = act.run(options, site.slurm)  # type: ignore[arg-type]
    assert [(d.node, d.action) for d in seen.decisions.nodes] == [("n1", DRAIN)]
