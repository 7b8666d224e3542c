"""What a command says of a file, a directory or a number that it can make nothing of: one line, and exit code 2."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli
from tests.conftest import CHECKOUT

#: Every command that takes a file or a run, each with the file at the end.
WITH_A_FILE = (
    "bind --xml", "detect --xml", "calibrate", "diagnose", "predict --node summit --cells", "report", "report --together", "compare",
    "metrics", "history --record", "lint", "import", "osu --cases", "reproduce spafford2011 --run", "kit --output x --programs",
    "cost --application", "slurm status --results",
)  # fmt: skip


def ended(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code and the one line."""
    try:
        code = cli.main(words)
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1, said
    return code, said.strip()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARFAR_STATE", str(tmp_path / "state"))
    for name in ("NEARFAR_SYSTEM", "NEARFAR_WAIT"):  # commands set them for ReFrame, in this process
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.mark.parametrize("command", WITH_A_FILE)
def test_a_file_that_is_not_there(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nearfar.slurm.controller.Slurm.refuse_absence", lambda self: None)
    missing = str(tmp_path / "missing")
    more = [str(tmp_path / "too")] if command == "compare" else []
    code, said = ended([*command.split(), missing, *more], capsys)
    assert code == 2 and missing in said, said


def test_a_report_directory_that_cannot_be_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, mkdir = tmp_path / "run", Path.mkdir

    def refusing(path: Path, *words: Any, **more: Any) -> None:
        if path == place:
            raise OSError(errno.EROFS, "Read-only file system")
        mkdir(path, *words, **more)

    monkeypatch.setattr(Path, "mkdir", refusing)
    code, said = ended(
        ["validate", "--system", "keeneland", "--check", "peer_check", "--report-dir", str(place)], capsys
    )
    assert code == 3 and f"{place}: cannot be written" in said and "--report-dir" in said, said


@pytest.mark.parametrize(
    "command, content",
    [
        (command, content)
        for command in ("bind --xml", "detect --xml", "predict --node summit --cells", "osu --cases")
        for content in (b"", b"\xfb\xff\x00\x01" * 99, b"[" * 100_000, b"{}")
        if content or "predict" not in command  # a check may have no cell to ask
    ],
)
def test_a_file_of_something_else(
    command: str, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "input"
    path.write_bytes(content)
    code, said = ended([*command.split(), str(path)], capsys)
    assert code == 2 and f"{path}:" in said and len(said) < 400, said


@pytest.mark.parametrize(
    "words, names",
    [
        ("osu --limit 1e20", "--limit 1e+20: from 0.1 to 86400 seconds"),
        ("osu --budget nan", "--budget nan: from 0.1 to 86400 seconds"),
        ("osu --list --runs 99999999999999999999", "--runs 99999999999999999999: from 1 to"),
        ("cost --ranks 99999999999999999999 -- true", "--ranks 99999999999999999999: from 1 to 4096 ranks"),
        ("cost --budget 99999999999999999999 -- true", "--budget 1e+20: from 0 to"),
        ("cost --same-within nan -- true", "--same-within nan: from 0 to 1"),
        ("validate --wait 1e20", "--wait 1e+20: from 0 to 604800 seconds"),
        ("validate --wait nan --list", "--wait nan: from 0 to 604800 seconds"),
        ("predict --node summit --json --noise 1e308 n0:g0", "noise 1e+308"),
    ],
)
def test_a_value_that_cannot_be_meant(words: str, names: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = ended(words.split(), capsys)
    assert code == 2 and names in said, said


def test_a_system_that_is_not_known(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nearfar", "validate", "--system", "nosuch"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=CHECKOUT)
    assert ran.returncode == 2 and ran.stderr.startswith("nearfar: no system file called 'nosuch' (known: "), ran
    assert len(ran.stderr.splitlines()) == 1


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A directory of another user that nobody else may enter, with a system's file in it."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root, and setpriv to leave root's right to read all files")
    folder = tmp_path / "closed"
    (folder / "systems").mkdir(parents=True)
    (folder / "systems" / "x.yaml").write_text("system: x\n")
    for path in (folder / "systems", folder):
        os.chown(path, 65534, 65534)
        path.chmod(0o700)
    return folder


def without_rights(words: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """nearfar without root's right to read and enter what is others', as any user is."""
    lost = "-dac_override,-dac_read_search"
    command = ["setpriv", f"--inh-caps={lost}", f"--bounding-set={lost}", sys.executable, "-m", "nearfar", *words]
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), **environment}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("words", ["detect", "validate --list", "bind --numa-nodes 0"])
def test_a_directory_on_the_path_that_may_not_be_entered(words: str, closed: Path) -> None:
    """``su`` keeps root's PATH."""
    done = without_rights(words.split(), PATH=f"{closed}:{os.environ['PATH']}")
    assert (done.returncode, str(closed) in done.stderr) == (0, False) and done.stdout, done.stderr


@pytest.mark.parametrize("inside", ["", "systems", "above"])
def test_a_site_that_may_not_be_read_is_not_passed_over(inside: str, closed: Path) -> None:
    """It would be judged without the site's own files, and nobody told."""
    site = closed / "systems" if inside == "above" else closed
    if inside == "systems":
        closed.chmod(0o755)
    done = without_rights(["lint"], NEARFAR_SITE=str(site))
    assert done.returncode == 2 and str(closed) in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_an_error_of_the_system_is_a_line_and_no_failed_node(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from nearfar.commands import schema

    def fail(_: object) -> int:
        raise OSError(5, "Input/output error", "/mnt/gone")

    monkeypatch.setattr(schema, "run", fail)
    assert ended(["schema", "system"], capsys) == (3, "nearfar: /mnt/gone: Input/output error")


@pytest.mark.parametrize(
    "words, said",
    [
        (["kit", "--outptu", "k.tgz"], "nearfar kit: unknown option --outptu (did you mean '--output'?)"),
        (["kit"], "nearfar kit: the following arguments are required: --output"),
        (["calibrate", "--nosuch=1"], "nearfar calibrate: unknown option --nosuch"),
        (["lint", "--jsno"], "nearfar lint: unknown option --jsno (did you mean '--json'?)"),
        (["slurm", "sweep", "--nosuch"], "nearfar slurm sweep: unknown option --nosuch"),
        (["detct"], "nearfar: unknown command 'detct' (did you mean 'detect'?)"),
        (["slurm", "swep"], "nearfar slurm: unknown command 'swep' (did you mean 'sweep'?)"),
        (["xyzzy"], "nearfar: unknown command 'xyzzy'; --help"),
        (["kit", "--output", "/nosuch/k.tgz"], "--output /nosuch/k.tgz: there is no directory /nosuch"),
    ],
)
def test_an_unknown_word_is_named_in_one_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = cli.main(words)
    except SystemExit as end:
        code = int(str(end.code))
    error = capsys.readouterr().err
    assert code == 2 and said in error and error.count("\n") == 1


def test_an_acceptance_without_gpus_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HWLOC_XMLFILE", str(CHECKOUT / "site/nodes/jaguarpf.xml"))
    assert cli.main(["validate", "--quick", "--acceptance"]) == 3
    assert "this machine shows no GPU" in capsys.readouterr().err
