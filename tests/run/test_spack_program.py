"""Finding Spack, by SPACK_ROOT and by the PATH, and what is said where it cannot be used or fails. The programs here are fakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.base.errors import CouldNotJudge, NearfarError
from nearfar.run import spack
from nearfar.run.spack import program
from nearfar.run.spack.failures import failed
from tests.support.fake_spack import fake_spack


def test_spack_root_comes_before_the_path(tmp_path: Path) -> None:
    fake_spack(tmp_path / "root", 'echo "1.1.0 (abc123)"')
    fake_spack(tmp_path / "path", 'echo "1.0.2"')
    path = f"{tmp_path / 'path' / 'bin'}:/usr/bin:/bin"
    assert spack.find({"SPACK_ROOT": str(tmp_path / "root"), "PATH": path}).need_version() == "1.1.0"
    assert spack.find({"PATH": path}).need_version() == "1.0.2"
    with pytest.raises(NearfarError, match="no bin/spack there; correct or unset the variable"):
        spack.find({"SPACK_ROOT": str(tmp_path), "PATH": path})


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
        spack.find({"SPACK_ROOT": str(root), "PATH": "/usr/bin:/bin"}).need_version()
    assert words in str(raised.value) and str(root) in str(raised.value)


def test_how_to_come_by_one_is_a_line_to_paste() -> None:
    with pytest.raises(NearfarError, match=r"git clone [^\n]* ~/spack && \. ~/spack/share/spack/setup-env\.sh$"):
        spack.find({"PATH": "/nowhere"})


def test_a_command_that_says_nothing_for_long_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "_TELL", 0.2)
    found = spack.find(
        {"SPACK_ROOT": str(fake_spack(tmp_path / "spack", cases="*concretize) sleep 1 ;;")), "PATH": "/usr/bin:/bin"}
    )
    found.run(["-e", "/a/folder", "concretize"], "it failed")
    told = capsys.readouterr().err.splitlines()
    assert len(told) >= 2 and told[0].startswith("nearfar: spack concretize has run for "), told
    monkeypatch.setattr(program, "_TELL", 60.0)
    found.run(["-e", "/a/folder", "concretize"], "it failed")
    assert capsys.readouterr().err == "", "a short one is not"


_FETCH = "==> Error: FetchError: All fetchers failed for spack-stage-osu-micro-benchmarks-7.5.2-n6u7bhw4523vytgxoyylpdghgj24x6e6\n"


_BARRED = """==> Error: failed to concretize `hwloc@2:`, `mpi` for the following reasons:
     1. Cannot build openmpi, since it is configured `buildable:false` and no externals satisfy the request.
"""


@pytest.mark.parametrize(
    ("output", "words", "kind"),
    [
        ('==> Error: cannot bootstrap the "clingo" module from any source\n', "`pip install clingo`", NearfarError),
        ("fatal: unable to access 'https://github.com/spack/spack-packages.git/'\n", "repos.yaml", NearfarError),
        ("==> Error: cannot load package: No module named 'spack_repo.builtin'\n", "repos.yaml", NearfarError),
        (_FETCH, "cannot fetch osu-micro-benchmarks-7.5.2: without a network it needs a source mirror", NearfarError),
        (_BARRED, "Spack knows no openmpi of this system, and may build none: `nearfar spack externals`", NearfarError),
        ("OSError: [Errno 37] No locks available\n", "config: {locks: false}", NearfarError),
        (
            "==> Error: Can't take write lock on read-only file: /opt/db\n",
            "/opt/db: Spack may not write",
            CouldNotJudge,
        ),
        ("==> Error: Failed to install nearfar due to ChildError: x\n", "nearfar does not build", CouldNotJudge),
        (f"==> Error: nearfar-main-{'a' * 32}: ProcessError: Command\n", "nearfar-main does not build", CouldNotJudge),
        (_BARRED.replace("Cannot build", "Cannot select"), "be solved: Cannot select openmpi", CouldNotJudge),
        ("==> Error: something new\n==> Error: and more\n", "Error: something new", CouldNotJudge),
        ("", "it printed nothing", CouldNotJudge),
    ],
)
def test_what_spack_says_becomes_one_line(output: str, words: str, kind: type[NearfarError]) -> None:
    """What is missing on this machine is wrong use (exit code 2), anything else could not be judged (3)."""
    error = failed("the environment cannot be solved", output, Path("/state/failed.log"))
    assert type(error) is kind and words in str(error) and "\n" not in str(error)
    assert str(error).startswith("the environment cannot be solved: ") and str(error).endswith(
        "(log: /state/failed.log)"
    )
