"""What is installed for nightly runs and health checks: shown as a diff first, fit for the programs that read it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nearfar.cli import main

ORDER = ["slurm", "install", "--partition=gpu", "--results=/shared/near far", "--user=nearfar", "--slurm-version=23.11"]


def listing(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}


def test_nothing_is_written_before_it_was_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ORDER, f"--root={tmp_path}"]) == 0
    out = capsys.readouterr().out
    assert listing(tmp_path) == {}
    assert "+OnCalendar=*-*-* 02:30:00" in out and "6 files would be written: --apply writes them" in out
    assert main([*ORDER, f"--root={tmp_path}", "--apply"]) == 0
    capsys.readouterr()
    assert listing(tmp_path) == {
        "etc/nearfar/nightly": 0o755, "etc/nearfar/health-check": 0o755, "etc/nearfar/epilog.example": 0o755,
        "etc/nearfar/slurm.conf.example": 0o644, "etc/systemd/system/nearfar-nightly.service": 0o644,
        "etc/systemd/system/nearfar-nightly.timer": 0o644,
    }  # fmt: skip
    assert main([*ORDER, f"--root={tmp_path}"]) == 0
    assert capsys.readouterr().out == "nothing to change\n"


def test_a_change_is_shown_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([*ORDER, f"--root={tmp_path}", "--apply"])
    capsys.readouterr()
    main([*ORDER, f"--root={tmp_path}", "--at=01:15"])
    changed = [
        line for line in capsys.readouterr().out.splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")
    ]
    assert changed == [
        "-Description=nearfar: the nightly run, at 02:30", "+Description=nearfar: the nightly run, at 01:15",
        "-OnCalendar=*-*-* 02:30:00", "+OnCalendar=*-*-* 01:15:00",
    ]  # fmt: skip


def test_what_is_installed_is_what_its_readers_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([*ORDER, f"--root={tmp_path}", "--apply", "--timer=cron", "--nightly=--sbatch=--qos=low"])
    for script in ("nightly", "epilog.example"):
        assert subprocess.run(["bash", "-n", str(tmp_path / "etc/nearfar" / script)]).returncode == 0
    nightly = (tmp_path / "etc/nearfar/nightly").read_text()
    assert "'--results=/shared/near far'" in nightly and "--sbatch=--qos=low" in nightly
    assert nightly.index("slurm nightly") < nightly.index("history --compact") < nightly.index('exit "$code"')
    compile((tmp_path / "etc/nearfar/health-check").read_text(), "health-check", "exec")
    cron = (tmp_path / "etc/cron.d/nearfar-nightly").read_text().splitlines()
    assert cron[-1] == "30 2 * * * nearfar /etc/nearfar/nightly"


@pytest.mark.parametrize("version, line", [("22.05", "ends it at 60 s"), ("26.05.1", "HealthCheckTimeout=60")])
def test_slurm_conf_has_what_its_version_knows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], version: str, line: str
) -> None:
    main([*ORDER[:-1], f"--slurm-version={version}", f"--root={tmp_path}", "--apply"])
    assert line in (tmp_path / "etc/nearfar/slurm.conf.example").read_text()


@pytest.mark.parametrize("words, told", [
    (["--user=root"], "nightly runs submit jobs, for which nobody needs root"), (["--user=a b"], "--user a b: not the name of a user"),
    (["--at=25:00"], "--at 25:00: expected HH:MM"), (["--folder=/etc/near far"], "--folder: /etc/near far: an absolute path of"),
    (["--slurm-version=21.08"], "expected a version from 22.05 on"), (["--partition=a;b"], "--partition a;b: not the name of a partition"),
    (["--diff", "--apply"], "--diff shows, --apply writes"),
])  # fmt: skip
def test_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str) -> None:
    assert main([*ORDER, f"--root={tmp_path}", *words]) == 2
    assert told in capsys.readouterr().err and listing(tmp_path) == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ORDER, "--apply"]) == 3
    assert "run this as root, or stage it: --root DIR" in capsys.readouterr().err


def test_a_sites_own_template_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site/templates/slurm"
    folder.mkdir(parents=True)
    (folder / "nightly.j2").write_text("#!/bin/bash\nlogger nearfar {{ partition }}\n")
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    main([*ORDER, f"--root={tmp_path}/root", "--apply"])
    assert (tmp_path / "root/etc/nearfar/nightly").read_text().endswith("logger nearfar gpu\n")
    (folder / "nightly.j2").write_text("{{ partitoin }}")
    assert main([*ORDER, f"--root={tmp_path}/root"]) == 2
    assert "template nightly.j2: 'partitoin' is undefined" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_systemd_takes_the_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([*ORDER, f"--root={tmp_path}", "--apply"])
    units = [str(path) for path in (tmp_path / "etc/systemd/system").iterdir()]
    said = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True).stderr
    # That its script is not in place on this machine is no fault of the unit.
    assert not any(words in said for words in ("Unknown", "Failed to parse", "Invalid", "Missing")), said
