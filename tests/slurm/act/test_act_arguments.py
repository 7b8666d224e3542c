"""Without ``--results``, ``--health``, ``--state`` and ``--system`` the commands look where this machine's ``act`` does."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from nearfar.base import CouldNotJudge, NearfarError
from nearfar.commands.slurm import act_arguments
from nearfar.slurm.act import STATE, ActOptions
from nearfar.slurm.install import InstallOptions
from nearfar.slurm.install.installed import SCHEMA


def asked(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    act_arguments.add(parser)
    return parser.parse_args(words)


def looked(*words: str) -> ActOptions:
    return act_arguments.options(asked(*words))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that stands for /etc/nearfar, and the files of two systems that act may speak of."""
    systems = tmp_path / "site" / "systems"
    systems.mkdir(parents=True)
    for name in ("one", "two"):
        (systems / f"{name}.yaml").write_text(
            f"system: {name}\nact: {{default: observe}}\npartitions:\n  - name: gpu\n"
        )
    # What is taken over from the installation goes with the test.
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setenv("NEARFAR_SITE", "")
    monkeypatch.delenv("NEARFAR_SITE")
    monkeypatch.setattr(act_arguments, "FOLDER", str(tmp_path / "etc"))
    return tmp_path


def installed(place: Path, part: str = "act") -> None:
    options = InstallOptions(
        partition="gpu", results="/srv/results", health_output="/srv/findings", user="u", act_user="u", state="/srv/state", what=(part,),
        act=("--system=two",), slurm_bin="/opt/slurm/bin", environment={"NEARFAR_SITE": str(place / "site")},
    )  # fmt: skip
    (place / "etc").mkdir(exist_ok=True)
    entry = {"schema": SCHEMA, "options": asdict(options), "files": []}
    (place / "etc/installed.json").write_text(json.dumps(entry))


def test_as_it_was_installed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(place)
    options = looked()
    assert (options.results, options.health, options.state) == (
        Path("/srv/results"), Path("/srv/findings"), Path("/srv/state"),
    )  # fmt: skip
    assert options.policy.system == "two"
    assert ":/opt/slurm/bin:" in os.environ["PATH"], "Slurm's commands are found"
    monkeypatch.setenv("NEARFAR_SITE", str(place / "site"))
    assert looked("--system=one").policy.system == "one", "what is said goes before"


def test_a_directory_that_is_named_replaces_itself_alone(place: Path) -> None:
    installed(place)
    options = looked(f"--results={place}")
    assert (options.results, options.health, options.state) == (place, Path("/srv/findings"), Path("/srv/state"))
    options = looked(f"--state={place}")
    assert (options.results, options.state) == (Path("/srv/results"), place)


@pytest.mark.parametrize("option", ["--results", "--health", "--state"])
def test_a_directory_that_is_not_there_is_a_slip(place: Path, option: str) -> None:
    installed(place)
    with pytest.raises(NearfarError, match=f"{option} /srv/nope: no such directory"):
        looked(f"{option}=/srv/nope")


def test_where_nothing_is_installed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARFAR_SITE", str(place / "site"))
    for part in (None, "health"):  # a node has its own part alone
        if part:
            installed(place, part)
        options = looked("--system=one")
        assert (options.results, options.state) == (None, STATE)
    with pytest.raises(NearfarError, match=r"which system's `act`\? one, two have one; name the system"):
        looked()
    for file in (place / "site" / "systems").iterdir():
        file.unlink()
    with pytest.raises(NearfarError, match="no file of site/systems/ allows `act` anything: write its section"):
        looked()


def test_a_file_that_cannot_be_read_keeps_nobody_from_naming_all(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARFAR_SITE", str(place / "site"))
    (place / "etc").mkdir()
    (place / "etc/installed.json").write_text("half")
    with pytest.raises(CouldNotJudge, match="not what nearfar slurm install wrote"):
        looked()
    named = looked("--system=one", f"--results={place}", f"--health={place}", "--state=/tmp/state")
    assert (named.results, named.health) == (place, place)
