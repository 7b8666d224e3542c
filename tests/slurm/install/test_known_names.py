"""Users and partitions that are not known are refused before anything is written; what could not be asked is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.cli import main

ANSWER = "PartitionName=gpu\n   AllowGroups=ALL\n\nPartitionName=debug\n"


class Installer:
    """The command on this machine, with a directory of scripts of its own, and a stand-in for Slurm."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys

    def slurm(self, partitions: str) -> None:
        path = self.folder / "bin" / "scontrol"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f'#!/bin/sh\ncase "$*" in --version) echo slurm 23.11;; *partitions) {partitions};; *) exit 1;; esac\n'
        )
        path.chmod(0o755)

    def __call__(self, *words: str) -> tuple[int, str, str]:
        places = [f"--results={self.folder}/results", f"--state={self.folder}/state", f"--folder={self.folder}/etc"]
        code = main(["slurm", "install", *places, f"--slurm-bin={self.folder}/bin", "--timer=cron", *words])
        said = self._capsys.readouterr()
        return code, said.out, said.err


@pytest.fixture
def install(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Installer:
    monkeypatch.delenv("SLURM_CONF", raising=False)
    made = Installer(tmp_path, capsys)
    made.slurm(f"echo '{ANSWER}'")
    return made


@pytest.mark.parametrize("words, told", [
    (["--partition=nopart", "--user=nobody"], "--partition nopart: Slurm has no such partition (known: debug, gpu)"),
    (["--partition=gpu", "--user=nobodyhere"], "--user nobodyhere: this machine knows no such user; first, here and on the nodes: useradd"),
    (["--partition=gpu", "--user=nobody", "--act-user=nobodyhere"], "--act-user nobodyhere: this machine knows no such user"),
])  # fmt: skip
def test_what_is_not_known(install: Installer, words: list[str], told: str) -> None:
    code, out, err = install(*words, "--apply")
    assert (code, out, len(err.splitlines())) == (2, "", 1) and told in err
    assert not (install.folder / "etc").exists() and not (install.folder / "results").exists()


def test_what_is_known_is_not_spoken_of(install: Installer) -> None:
    code, out, err = install("--partition=gpu", "--user=nobody")
    assert code == 0 and "not checked" not in out and err == ""
    assert install("--partition=gpu", "--user=nobodyhere", "--what", "health")[0] == 0, "nothing runs as that user"


@pytest.mark.parametrize("answer", ["exit 1", "echo rubbish", "exec sleep 60"])
def test_a_slurm_that_does_not_say(install: Installer, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr("nearfar.commands.slurm.install._PATIENCE", 1.0)
    install.slurm(answer)
    code, out, _ = install("--partition=nopart", "--user=nobody")
    [line] = [line for line in out.splitlines() if line.startswith("not checked")]
    assert code == 0 and line.startswith("not checked whether Slurm has partition nopart: scontrol")
