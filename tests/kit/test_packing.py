"""``nearfar kit``: what is in the archive, and what it cannot be made of."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from nearfar import cli
from nearfar.base import NearfarError
from nearfar.kit import offline_pack, packing
from tests.conftest import CHECKOUT
from tests.support.emulated import Emulated

from . import made_kits


def names(archive: Path) -> list[str]:
    with tarfile.open(archive) as opened:
        return opened.getnames()


def test_an_archive_holds_all_of_it_and_is_small(archive: Path) -> None:
    found = set(names(archive))
    whole = {
        "run",
        "questions.txt",
        "kit.txt",
        "README.txt",
        "SHA256SUMS",
        "bin/nearfar-copy",
        "bin/lstopo",
    }
    assert {f"kit/{name}" for name in whole} <= found
    assert any("libhwloc" in name for name in found) and not any(
        "/libc.so" in name or "ld-linux" in name for name in found
    )
    assert archive.stat().st_size < packing.LARGEST


def test_the_same_programs_give_the_same_archive(archive: Path, emulated: Emulated, tmp_path: Path) -> None:
    assert made_kits.pack_emulated(emulated, tmp_path).read_bytes() == archive.read_bytes()


def test_libraries_beside_the_programs_are_taken(emulated: Emulated, tmp_path: Path) -> None:
    """As setup/build_in_debian11 would leave them: nothing of this machine is mixed in."""
    shutil.copy(emulated.programs / "emulated-copy", tmp_path / "nearfar-copy")
    (tmp_path / "libown.so.1").write_bytes(b"GLIBC_2.17 GLIBC_9.99")
    packed = packing.pack(tmp_path, tmp_path / "kit.tar.gz")
    assert [name for name in names(packed.file) if name.startswith("kit/lib/")] == ["kit/lib/libown.so.1"]
    assert packed.glibc == "9.99"


def test_the_command_says_what_it_made(emulated: Emulated, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(emulated.programs / "emulated-copy", tmp_path / "nearfar-copy")
    output = tmp_path / "kit.tar.gz"
    assert cli.main(["kit", "--programs", str(tmp_path), "--output", str(output), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["file"] == str(output) and said["size"] == output.stat().st_size and said["glibc"].startswith("2.")


def test_what_is_missing_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["kit", "--programs", str(tmp_path), "--output", str(tmp_path / "kit.tar.gz")]) == 2
    assert (
        capsys.readouterr().err
        == f"nearfar: {tmp_path}/nearfar-copy: no such program; setup/build brings it, or name another folder with --programs\n"
    )
    assert cli.main(["kit", "--programs", str(tmp_path), "--with-pack", "--output", "x"]) == 2
    assert "--with-pack holds sources" in capsys.readouterr().err


def test_an_archive_that_is_too_large_is_refused(
    emulated: Emulated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "LARGEST", 1000)
    with pytest.raises(NearfarError, match="strip the programs"):
        made_kits.pack_emulated(emulated, tmp_path)


def test_a_pack_holds_the_sources_and_the_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The download is left out: what stands for it is one wheel for each Python."""
    asked = []

    def download(python: str, wheels: Path) -> None:
        asked.append(python)
        wheels.mkdir(exist_ok=True)
        (wheels / f"some-{python}.whl").write_bytes(b"wheel")

    monkeypatch.setattr(offline_pack, "_download", download)
    found = set(names(offline_pack.write(tmp_path / "pack.tar.gz")))
    assert asked == ["3.10", "3.11", "3.12", "3.13"]
    assert {"validate", "setup/common.sh", "nearfar/cli.py", "wheels/some-3.11.whl"} <= found
    assert not any(name.startswith((".venv", "build/", "reports/2")) for name in found)


def offline(argument: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """``go_offline`` of setup/common.sh, and what pip and apt are told afterwards."""
    script = '. "$CHECKOUT/setup/common.sh"; go_offline "$1"; echo "$PIP_NO_INDEX $PIP_FIND_LINKS"; read_system; can_install && echo apt'
    env = {"CHECKOUT": str(CHECKOUT), "NEARFAR_STATE": str(tmp_path), "PATH": "/usr/bin:/bin", "OFFLINE": argument}
    command = ["bash", "-c", script, "bash", argument]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=30)


def test_offline_pip_asks_no_index_and_apt_nothing(tmp_path: Path) -> None:
    made_of = tmp_path / "wheels"
    made_of.mkdir()
    (made_of / "some.whl").write_bytes(b"wheel")
    archive = tmp_path / "pack.tar.gz"
    with tarfile.open(archive, "w:gz") as opened:
        opened.add(made_of, "wheels")
    assert offline(str(archive), tmp_path).stdout == f"1 {tmp_path}/build/offline\n"
    assert (tmp_path / "build/offline/some.whl").exists()
    assert offline(str(made_of), tmp_path).stdout == f"1 {made_of}\n"


@pytest.mark.parametrize(
    "name, words",
    [
        ("", "is missing behind it"),
        ("absent.tar.gz", "no such file"),
        ("text.tar.gz", "no archive of"),
        ("empty", "no wheels in it"),
    ],
)
def test_what_is_no_pack_is_one_line(name: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "text.tar.gz").write_text("no archive")
    (tmp_path / "empty").mkdir()
    done = offline(str(tmp_path / name) if name else "", tmp_path)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, done.stderr
