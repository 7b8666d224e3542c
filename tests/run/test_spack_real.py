"""The environments and the recipe before a real Spack, wherever ``spack`` is found (SPACK_ROOT, PATH).

The externals are those of NEARFAR_SPACK_SITE, or else detected here. Solving takes half a minute for each environment, and building needs
OSU's sources from a network or a mirror.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from nearfar.base.errors import NearfarError
from nearfar.run import spack
from nearfar.site.environments import Environment
from tests.conftest import CHECKOUT

pytestmark = pytest.mark.spack


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One state folder for all tests here, so that what is solved is solved once."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture
def found(state: Path, monkeypatch: pytest.MonkeyPatch) -> spack.Spack:
    """The Spack, which works in a state folder of its own."""
    monkeypatch.setenv("NEARFAR_STATE", str(state))
    monkeypatch.setenv("NEARFAR_CUDA_ARCH", "90")
    monkeypatch.delenv("NEARFAR_SPACK_TREE", raising=False)
    return spack.find()


def solved(found: spack.Spack, *features: str) -> spack.SpackEnvironment:
    """The environment for a partition with these features, of what Spack finds here unless NEARFAR_SPACK_SITE says it."""
    try:
        return spack.solve(found, Environment("spack", ("spack",)), features, "here")
    except NearfarError as error:
        if "on this machine" in str(error):
            pytest.skip(str(error))
        raise


def left_in_checkout() -> set[str]:
    """What git does not know and what Spack leaves behind, below the checkout."""
    status = subprocess.run(["git", "status", "--porcelain"], cwd=CHECKOUT, capture_output=True, text=True).stdout
    return {*status.splitlines(), *map(str, (CHECKOUT / "src").glob("build-*")), *map(str, CHECKOUT.glob(".spack-env"))}


def test_an_audit_passes_the_recipes(found: spack.Spack, tmp_path: Path) -> None:
    (tmp_path / "repos.yaml").write_text(f"repos:\n  nearfar: {CHECKOUT}/src/spack_repo/nearfar\n")
    words = [found.program, "-C", tmp_path, "audit", "packages", "nearfar", "reframe"]
    audited = subprocess.run(words, capture_output=True, text=True)
    assert audited.returncode == 0, audited.stdout + audited.stderr


@pytest.mark.parametrize("cuda", [True, False], ids=["cuda", "host"])
def test_an_environment_is_solved_into_a_few_packages(found: spack.Spack, cuda: bool) -> None:
    before = left_in_checkout()
    made = solved(found, *(["gpu"] if cuda else []))
    packages = {package.name: package for package in made.lock.packages}
    assert not packages["nearfar"].prefix
    assert packages["hwloc"].prefix and packages[str(made.lock.mpi)].prefix, "the system's own are used"
    assert ("cuda" in packages) == cuda
    assert sum(not package.prefix for package in packages.values()) <= 6, sorted(packages)
    assert ('"cuda_arch":["90"]' in (made.folder / "spack.lock").read_text().replace(" ", "")) == cuda
    assert left_in_checkout() == before


def test_what_is_installed_runs_and_is_kept(found: spack.Spack, capsys: pytest.CaptureFixture[str]) -> None:
    before = left_in_checkout()
    made = solved(found)
    try:
        spack.install(found, made)
    except NearfarError as error:
        if "cannot fetch" in str(error):
            pytest.skip(f"needs a network or a mirror: {error}")
        raise
    listed = subprocess.run(
        [made.programs / "nearfar-copy", "--set", "host_memory_check", "--list"], capture_output=True, text=True
    )
    assert listed.returncode == 0 and "c0:n0/triad" in listed.stdout, listed.stderr
    assert (made.programs.parent / "libexec/osu-micro-benchmarks/mpi/pt2pt").is_dir()
    assert os.access(made.programs / "nearfar-contention", os.X_OK), "+mpi is the default"
    capsys.readouterr()
    spack.install(found, solved(found))
    assert capsys.readouterr().err == "", "nothing changed, nothing is done"
    assert left_in_checkout() == before
