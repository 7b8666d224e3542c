"""The environments and the recipe before a real Spack, wherever ``spack`` is found (SPACK_ROOT, PATH).

The externals are those of NEARFAR_SPACK_SITE, or else detected here. Solving takes half a minute for each environment, and building needs
OSU's sources from a network or a mirror.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from nearfar.base.errors import NearfarError
from nearfar.base.files import CHECKOUT
from nearfar.run import spack
from nearfar.run.spack import externals
from tests.run.test_spack_files import RECIPE

pytestmark = pytest.mark.spack


@pytest.fixture(scope="module")
def found() -> spack.Spack:
    return spack.find()


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One state folder for all tests here, so that what is solved is solved once."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture(autouse=True)
def own_state(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARFAR_STATE", str(state))
    monkeypatch.delenv("NEARFAR_SPACK_TREE", raising=False)


@pytest.fixture(scope="module")
def site(found: spack.Spack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = spack.site_of()
    if named is not None:
        return named
    folder = tmp_path_factory.mktemp("site")
    answer = externals.write(found, folder, print)
    if "openmpi" in answer.missing or "hwloc" in answer.missing:
        pytest.skip(
            f"Spack finds no {' and no '.join(answer.missing)} on this machine, and would build dozens of packages"
        )
    return folder


def left_in_checkout() -> set[str]:
    """What git does not know and what Spack leaves behind, below the checkout."""
    status = subprocess.run(["git", "status", "--porcelain"], cwd=CHECKOUT, capture_output=True, text=True).stdout
    return {*status.splitlines(), *map(str, (CHECKOUT / "src").glob("build-*")), *map(str, CHECKOUT.glob(".spack-env"))}


def test_spack_knows_the_recipe(found: spack.Spack, tmp_path: Path) -> None:
    (tmp_path / "repos.yaml").write_text(f"repos: {{nearfar: '{RECIPE.parents[2]}'}}\n")
    done = found.run(["-C", str(tmp_path), "info", "--all", "nearfar"])
    assert done.returncode == 0, done.stderr
    for word in ("main", "0.1.0", "mpi", "cuda", "cuda_arch", "hwloc"):
        assert re.search(rf"^\s+{re.escape(word)}\b", done.stdout, re.MULTILINE), (
            f"{word} is not in spack info:\n{done.stdout}"
        )


@pytest.mark.parametrize("cuda", [True, False], ids=["cuda", "host"])
def test_an_environment_is_solved_without_a_warning(found: spack.Spack, site: Path, cuda: bool) -> None:
    before = left_in_checkout()
    if cuda and "cuda:" not in (site / "packages.yaml").read_text():
        pytest.skip("no CUDA on this machine")
    plan = spack.plan(found, cuda, "90" if cuda else None, site=site)
    log = (plan.folder / "spack.log").read_text()
    assert "Warning" not in log, log
    packages = {package.name: package for package in plan.packages}
    assert packages["nearfar"].asked and packages["nearfar"].external_prefix is None
    assert packages["hwloc"].external_prefix is not None, "the system's own is used"
    assert ("cuda" in packages) == cuda
    lock = (plan.folder / "spack.lock").read_text()
    assert ('"cuda_arch":["90"]' in lock.replace(" ", "")) == cuda
    assert left_in_checkout() == before


def test_what_is_installed_runs_and_is_kept(found: spack.Spack, site: Path) -> None:
    before = left_in_checkout()
    try:
        installed = spack.ensure(found, False, site=site)
    except NearfarError as error:
        if "cannot fetch" in str(error):
            pytest.skip(f"needs a network or a mirror: {error}")
        raise
    listed = subprocess.run([installed.programs / "nearfar-stream", "--list"], capture_output=True, text=True)
    assert listed.returncode == 0 and "c0:n0/triad" in listed.stdout, listed.stderr
    assert (installed.view / "libexec/osu-micro-benchmarks/mpi/pt2pt").is_dir()
    again = spack.ensure(found, False, site=site)
    assert again.kept and again.packages == installed.packages
    assert left_in_checkout() == before
    assert os.access(installed.programs / "nearfar-contention", os.X_OK), "+mpi is the default"
