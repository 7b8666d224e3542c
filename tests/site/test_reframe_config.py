"""``reframe_config.py`` as ReFrame loads it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nearfar.base import NearfarError
from nearfar.site import reframe_settings
from tests.conftest import CHECKOUT

PROBE = """
import json, os, sys
from reframe.core.config import load_config
loaded = load_config(sys.argv[1])
loaded.validate()
loaded.select_subconfig(None if len(sys.argv) < 3 else sys.argv[2], ignore_resolve_errors=True)
print(json.dumps({
    "system": loaded.get("systems/0/name"), "partitions": [p["name"] for p in loaded.get("systems/0/partitions")],
    "report": loaded.get("general/0/report_file"), "poll": loaded.get("general/0/poll_rate_max"),
    "run": os.environ["NEARFAR_RUN_DIR"],
    "level": loaded.get("logging/0/level"), "multiline": loaded.get("logging/0/perflog_multiline")}))
"""


def loaded(tmp_path: Path, *arguments: str, **environment: str) -> dict[str, Any]:
    env = {
        key: value
        for key, value in os.environ.items()
        if key not in ("NEARFAR_SYSTEM", "NEARFAR_SITE", "NEARFAR_RUN_DIR")
    }
    env.update(NEARFAR_STATE=str(tmp_path / "state"), **environment)
    command = [sys.executable, "-c", PROBE, str(CHECKOUT / "reframe_config.py"), *arguments]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_host_that_no_file_claims_is_local(tmp_path: Path) -> None:
    found = loaded(tmp_path)
    assert found["system"] == "local"
    assert found["partitions"][0] == "default"
    assert (found["level"], found["multiline"], found["poll"]) == ("verbose", True, 100)
    assert found["report"] == f"{found['run']}/reframe-report.json"
    assert found["run"].startswith(f"{tmp_path}/state/reports/local/")
    assert os.listdir(tmp_path) == []


def test_nearfar_system_names_it(tmp_path: Path) -> None:
    assert loaded(tmp_path, NEARFAR_SYSTEM="summit")["system"] == "summit"


def test_reframe_may_choose_any_system(tmp_path: Path) -> None:
    assert loaded(tmp_path, "dl160")["system"] == "dl160"


def test_a_sites_own_directory(tmp_path: Path) -> None:
    (tmp_path / "site" / "systems").mkdir(parents=True)
    (tmp_path / "site" / "systems" / "queue.yaml").write_text(
        "system: queue\npartitions: [{name: p, scheduler: slurm, launcher: srun, node_type: summit}]\n"
    )
    found = loaded(tmp_path, "queue", NEARFAR_SITE=str(tmp_path / "site"))
    # A scheduler is asked seldom; only jobs of this machine are polled fast.
    assert found["poll"] < 100


@pytest.mark.parametrize(
    "version, works", [("4.8.4", False), ("4.10.3", False), ("4.10.4", True), ("4.10.12", True), ("4.11.0", False)]
)
def test_another_reframe_is_refused_by_name(version: str, works: bool) -> None:
    with contextlib.nullcontext() if works else pytest.raises(NearfarError, match=re.escape(version)):
        reframe_settings.refuse_other_reframe(version)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-n", "wrong", "-r"], r"-n wrong: no such check \(known: burn_check, "),
        (["-r", "--name=host_devise_check"], r"did you mean 'host_device_check'"),
        (["-n", "contention_check"], r"it is in .*checks/long: add -c .*checks/long"),
        (["-n", "wrong", "-n", "peer"], None),
        (["-n", "wrong|peer"], None),
        (["-n", "wrong", "-c", "mine"], None),
        (["-C", "a.py", "-C", "b.py", "-n", "wrong"], None),
        (["-r"], None),
    ],
)
def test_a_name_that_selects_nothing_is_refused(arguments: list[str], words: str | None) -> None:
    with pytest.raises(NearfarError, match=words) if words else contextlib.nullcontext():
        reframe_settings.refuse_unknown_names(arguments)
