"""Externals written for a site. Spack is a fake here; tests/run/test_spack_real.py has the real one."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from nearfar.base.errors import NearfarError
from nearfar.run import spack
from nearfar.run.spack import externals
from tests.support.fake_spack import calls, fake_spack

#: As Spack 1.1 writes it where nvcc is on the PATH twice: in the toolkit, and as a wrapper elsewhere.
PACKAGES = """\
packages:
  openmpi: {externals: [{spec: openmpi@4.1.4~cuda, prefix: /usr}], buildable: false}
  mpi: {buildable: false}
  opencl: {buildable: false}
  hwloc: {externals: [{spec: hwloc@2.9.0, prefix: /usr}], buildable: false}
  cuda:
    buildable: false
    externals:
    - {spec: cuda@13.0.88, prefix: WRAPPED}
    - {spec: cuda@13.0.88, prefix: TOOLKIT}
    - {spec: cuda@12.0.1, prefix: /gone}
"""
CASES = """\
'compiler find'*) echo "${{SPACK_DISABLE_LOCAL_CONFIG-free}}" > "{folder}/local"
    ls "$SPACK_USER_CONFIG_PATH" > "{folder}/copied" ;;
'external find --scope user --not-buildable'*) cp "{folder}/detected" "$SPACK_USER_CONFIG_PATH/packages.yaml" ;;
'external find'*) ;;
'config get packages') cat "$SPACK_USER_CONFIG_PATH/packages.yaml" ;;
"""


def machine(folder: Path, packages: str = PACKAGES, **environ: str) -> spack.Spack:
    """A fake Spack that detects a toolkit, and links to it in a folder above."""
    toolkit, wrapped = folder / "local" / "cuda-13", folder / "local"
    (toolkit / "include").mkdir(parents=True)
    (toolkit / "include" / "cuda.h").touch()
    (wrapped / "include").mkdir()
    (wrapped / "include" / "cuda.h").symlink_to(toolkit / "include" / "cuda.h")
    (folder / "seen").mkdir()
    (folder / "seen" / "detected").write_text(
        packages.replace("WRAPPED", str(wrapped)).replace("TOOLKIT", str(toolkit))
    )
    root = fake_spack(folder / "spack", cases=CASES.format(folder=folder / "seen"))
    return spack.find({"SPACK_ROOT": str(root), "PATH": "/usr/bin:/bin", "HOME": str(folder), **environ})


def written(file: Path) -> dict[str, dict[str, object]]:
    packages: dict[str, dict[str, object]] = yaml.safe_load(file.read_text())["packages"]
    return packages


def test_compilers_are_found_first_and_the_users_packages_are_left_alone(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.mkdir()
    for name in ("packages.yaml", "repos.yaml", "mirrors.yaml"):
        (users / name).write_text("{}\n")
    found = machine(tmp_path, SPACK_USER_CONFIG_PATH=str(users))
    answer = externals.write(found, tmp_path / "site", cuda_arch="90")
    asked = [line for line in calls(tmp_path / "spack") if "find" in line]
    assert asked[0] == "compiler find --scope user"
    assert asked[1] == "external find --scope user --not-buildable openmpi hwloc cuda"
    assert (tmp_path / "seen" / "copied").read_text().split() == ["mirrors.yaml", "repos.yaml"]
    assert (users / "packages.yaml").read_text() == "{}\n"
    assert answer.found["cuda"] == [f"cuda@13.0.88 in {tmp_path / 'local' / 'cuda-13'}"], "the toolkit itself alone"
    packages = written(answer.file)
    assert packages["all"] == {"variants": ["cuda_arch=90"]}
    assert "opencl" not in packages and packages["mpi"] == {"buildable": False}


def test_no_mpi_is_built_though_none_is_found(tmp_path: Path) -> None:
    """Here with a Spack whose local configuration is off, and which still needs a place to write to."""
    without = "\n".join(line for line in PACKAGES.splitlines() if "mpi:" not in line)
    answer = externals.write(machine(tmp_path, without, SPACK_DISABLE_LOCAL_CONFIG="1"), tmp_path / "site")
    assert (tmp_path / "seen" / "local").read_text() == "free\n"
    assert written(answer.file)["mpi"] == {"buildable": False}
    assert "openmpi" in answer.missing and "hwloc" not in answer.missing


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    found = machine(tmp_path)
    (tmp_path / "packages.yaml").write_text("mine\n")
    with pytest.raises(NearfarError, match=r"packages\.yaml: is there already; --replace writes it anew"):
        externals.write(found, tmp_path)
    assert (tmp_path / "packages.yaml").read_text() == "mine\n"
    externals.write(found, tmp_path, replace=True)
    assert "openmpi" in written(tmp_path / "packages.yaml")
