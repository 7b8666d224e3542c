"""What of Spack's part is plain text: the environments, the recipe, and that they agree with the CMake project. Where no Spack is, these
say at least that the files are what Spack reads and that no name in them is of yesterday."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from nearfar import __version__

CHECKOUT = Path(__file__).resolve().parents[2]
RECIPE = CHECKOUT / "src/spack_repo/nearfar/packages/nearfar/package.py"
ENVIRONMENTS = {"cuda": "spack.yaml", "host": "spack/host/spack.yaml", "peers": "spack/peers/spack.yaml"}
#: NAME[@VERSIONS][+VARIANT|~VARIANT…]: what the environments' specs are made of, and no more.
SPEC = re.compile(r"[a-z][a-z0-9-]*(@[\w.:-]+)?( ?[+~][a-z]\w*)*")


def environment(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((CHECKOUT / ENVIRONMENTS[name]).read_text(encoding="utf-8"))["spack"]
    return content


def calls(name: str) -> list[ast.Call]:
    """The directives of the recipe with this name, such as ``variant``."""
    tree = ast.parse(RECIPE.read_text(encoding="utf-8"))
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == name
    ]


def literal(call: ast.Call) -> str:
    return str(ast.literal_eval(call.args[0]))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_specs_are_what_spack_reads(name: str) -> None:
    for spec in environment(name)["specs"]:
        assert isinstance(spec, str) and SPEC.fullmatch(spec), f"'{spec}' is no spec (a colon at the end needs quotes)"


def test_paths_lead_into_the_checkout_and_nothing_builds_an_mpi() -> None:
    for name in ("cuda", "host"):
        folder, content = (CHECKOUT / ENVIRONMENTS[name]).parent, environment(name)
        assert (folder / content["develop"]["nearfar"]["path"]).resolve() == CHECKOUT / "src"
        assert (folder / content["repos"]["nearfar"]).resolve() == RECIPE.parents[2]
        assert content["include"][0] == {"path": "$NEARFAR_SPACK_SITE", "optional": True}
        assert (folder / content["include"][1]["path"]).resolve() == CHECKOUT / "spack/system"
    packages = yaml.safe_load((CHECKOUT / "spack/system/packages.yaml").read_text(encoding="utf-8"))["packages"]
    assert packages == {"mpi": {"buildable": False}, "cuda": {"buildable": False}}


def test_the_two_environments_differ_by_cuda_alone() -> None:
    cuda, host = (environment(name)["specs"] for name in ("cuda", "host"))
    bare = [{re.sub(r" ?[+~]cuda", "", spec) for spec in specs} for specs in (cuda, host)]
    assert bare[0] - {"cuda@11.8:13"} == bare[1]
    assert not any("+cuda" in spec for spec in host) and "nearfar@main+mpi+cuda~pack" in cuda


def test_recipe_and_cmake_project_agree() -> None:
    cmake = "\n".join(path.read_text(encoding="utf-8") for path in (CHECKOUT / "src").glob("**/*.cmake"))
    cmake += (CHECKOUT / "src/CMakeLists.txt").read_text(encoding="utf-8")
    options = set(re.findall(r"(?:set|option)\((NEARFAR_\w+) [^)]*(?:CACHE|\"|OFF)", cmake))
    defined = {literal(call) for call in calls("define")}
    options -= {"NEARFAR_CUDA_HEADERS", "NEARFAR_SANITIZE"}  # found by CMake, and for the tests
    options -= {"NEARFAR_HIP", "NEARFAR_HIP_ARCHITECTURES"}  # a build by hand
    assert {name for name in defined if name.startswith("NEARFAR_")} == options, "each is the recipe's to decide"
    oldest = re.search(r"CMAKE_CUDA_COMPILER_VERSION VERSION_LESS ([\d.]+)", cmake)
    version = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", cmake)
    assert oldest is not None and version is not None and "hwloc>=2" in cmake
    needed = {literal(call) for call in calls("depends_on")}
    assert {f"cuda@{oldest[1]}:", f"cmake@{version[1]}:", "hwloc@2:"} <= needed
    versions = [literal(call) for call in calls("version")]
    assert versions == ["main", __version__], "a release that is made gets its line in the recipe"


def test_recipe_needs_what_python_needs() -> None:
    """The versions are those of pyproject.toml, and ReFrame's archive is the locked one."""
    project = (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8").split("[project.optional-dependencies]")[0]
    asked = dict(re.findall(r'^    "([\w-]+)>=([\d.]+)', project, re.M))
    asked["reframe"] = asked.pop("reframe-hpc")
    needed = dict(re.findall(r"^(?:py-)?([\w-]+)@([\d.]+)", "\n".join(map(literal, calls("depends_on"))), re.M))
    for name, oldest in asked.items():
        assert oldest.split(".")[0] == needed[name.lower()].split(".")[0], name
    archive = re.search(r'sha256="(\w+)"', (RECIPE.parents[1] / "reframe/package.py").read_text(encoding="utf-8"))
    assert archive is not None and archive[1] in (CHECKOUT / "setup/locks/base.txt").read_text(encoding="utf-8")
