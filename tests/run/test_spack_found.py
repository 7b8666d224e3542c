"""Finding Spack: by SPACK_ROOT, by the PATH, and what is said where it cannot be used. The spack programs here are fakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.base.errors import NearfarError
from nearfar.run import spack
from tests.support.fake_spack import calls, fake_spack


def test_spack_root_comes_before_the_path(tmp_path: Path) -> None:
    fake_spack(tmp_path / "root", 'echo "1.1.0 (abc123)"')
    fake_spack(tmp_path / "path", 'echo "1.0.2"')
    path = f"{tmp_path / 'path' / 'bin'}:/usr/bin:/bin"
    found = spack.find({"SPACK_ROOT": str(tmp_path / "root"), "PATH": path})
    assert (found.version, found.root) == ("1.1.0", tmp_path / "root")
    assert spack.find({"PATH": path}).version == "1.0.2"


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ('echo "0.23.1"', "is Spack 0.23.1: nearfar needs 1.0 or newer; set SPACK_ROOT to one"),
        ("echo 'No module named spack.main' >&2; exit 1", "does not answer: No module named spack.main"),
        ("echo nonsense", "does not answer: nonsense"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, version: str, words: str) -> None:
    root = fake_spack(tmp_path / "spack", version)
    with pytest.raises(NearfarError) as raised:
        spack.find({"SPACK_ROOT": str(root), "PATH": "/usr/bin:/bin"})
    assert words in str(raised.value)
    assert str(root) in str(raised.value)


def test_no_spack_at_all(tmp_path: Path) -> None:
    with pytest.raises(NearfarError, match=r"neither SPACK_ROOT nor the PATH has one; nearfar needs Spack 1\.0"):
        spack.find({"PATH": str(tmp_path)})
    with pytest.raises(NearfarError, match="no bin/spack there; mend or unset the variable"):
        spack.find({"SPACK_ROOT": str(tmp_path), "PATH": "/usr/bin:/bin"})


def test_a_missing_solver_is_said_before_anything_is_solved(tmp_path: Path) -> None:
    root = fake_spack(tmp_path / "spack", clingo=False)
    said: list[str] = []
    with pytest.raises(NearfarError, match="clingo is missing and Spack could not bring it: `pip install clingo`"):
        spack.find({"SPACK_ROOT": str(root), "PATH": "/usr/bin:/bin"}).need_solver(said.append)
    assert said == ["Spack fetches its solver clingo (spack bootstrap now)"]


def test_an_environment_that_is_active_in_the_shell_does_not_count(tmp_path: Path) -> None:
    root = fake_spack(tmp_path / "spack", cases='show) echo "env=${SPACK_ENV-none} more=$MORE gone=${GONE-yes}" ;;')
    environ = {"SPACK_ROOT": str(root), "PATH": "/usr/bin:/bin", "SPACK_ENV": "/somebody/elses", "GONE": "no"}
    done = spack.find(environ).run(["show"], env={"MORE": "1", "GONE": None})
    assert done.stdout == "env=none more=1 gone=yes\n"


def test_what_was_found_is_not_asked_again_by_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, other = fake_spack(tmp_path / "one"), fake_spack(tmp_path / "two", version='echo "1.0.2"')
    monkeypatch.setenv("SPACK_ROOT", str(root))
    monkeypatch.delenv("NEARFAR_SPACK_FOUND", raising=False)
    spack.tell_children(spack.find())
    assert spack.find().version == "1.1.0" and calls(root) == ["--version"]
    monkeypatch.setenv("SPACK_ROOT", str(other))
    assert spack.find().version == "1.0.2", "another Spack is asked itself"
