"""What of Spack's part is plain text: the environments, the recipe, and that they agree with the CMake project. Where no Spack is, these
say at least that the files are what Spack reads and that no name in them is of yesterday."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from nearfar import __version__
from nearfar.base.errors import NearfarError
from nearfar.run.spack.site import folder_of, own_folder

CHECKOUT = Path(__file__).resolve().parents[2]
RECIPE = CHECKOUT / "src/spack_repo/nearfar/packages/nearfar/package.py"
ENVIRONMENTS = {"cuda": "spack.yaml", "host": "spack/host/spack.yaml", "peers": "spack/peers/spack.yaml"}
#: What nearfar's environments use of Spack's schema; a key that is not here is a slip until Spack has shown that it takes it.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["spack"],
    "additionalProperties": False,
    "properties": {
        "spack": {
            "type": "object",
            "required": ["specs", "view", "concretizer"],
            "additionalProperties": False,
            "properties": {
                "include": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["path", "optional"],
                        "additionalProperties": False,
                        "properties": {"path": {"type": "string"}, "optional": {"const": True}},
                    },
                },
                "repos": {"type": "object", "additionalProperties": {"type": "string"}},
                "specs": {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True},
                "develop": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "required": ["spec", "path"],
                        "additionalProperties": False,
                        "properties": {"spec": {"type": "string"}, "path": {"type": "string"}},
                    },
                },
                "packages": {"type": "object"},
                "concretizer": {"const": {"unify": True}},
                "view": {"const": True},
            },
        }
    },
}
#: NAME[@VERSIONS][+VARIANT|~VARIANT…]: what the environments' specs are made of, and no more.
SPEC = re.compile(r"[a-z][a-z0-9-]*(@[\w.:-]+)?( ?[+~][a-z]\w*)*")


def environment(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((CHECKOUT / ENVIRONMENTS[name]).read_text(encoding="utf-8"))
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
def test_environments_are_what_spack_reads(name: str) -> None:
    content = environment(name)
    jsonschema.validate(content, SCHEMA)
    for spec in content["spack"]["specs"]:
        assert SPEC.fullmatch(spec), f"{ENVIRONMENTS[name]}: '{spec}' is no spec (a colon at the end needs quotes)"


@pytest.mark.parametrize("name", ["cuda", "host"])
def test_paths_of_an_environment_lead_into_the_checkout(name: str) -> None:
    folder = (CHECKOUT / ENVIRONMENTS[name]).parent
    content = environment(name)["spack"]
    assert (folder / content["develop"]["nearfar"]["path"]).resolve() == CHECKOUT / "src"
    assert (folder / content["repos"]["nearfar"]).resolve() == CHECKOUT / "src/spack_repo/nearfar"


def test_the_two_environments_differ_by_cuda_alone() -> None:
    cuda, host = (environment(name)["spack"] for name in ("cuda", "host"))

    def bare(specs: list[str]) -> set[str]:
        return {re.sub(r" ?[+~]cuda", "", spec) for spec in specs}

    assert bare(cuda["specs"]) - {"cuda@12.2:13"} == bare(host["specs"])
    assert not any("+cuda" in spec for spec in host["specs"])
    assert any(spec.startswith("nearfar@main") and "+cuda" in spec for spec in cuda["specs"]), (
        "spack.yaml is the one with CUDA"
    )
    assert cuda["include"] == host["include"]


def test_the_repository_is_where_spack_looks_for_it() -> None:
    repo = yaml.safe_load((CHECKOUT / "src/spack_repo/nearfar/repo.yaml").read_text(encoding="utf-8"))["repo"]
    assert repo["namespace"] == "nearfar"
    assert re.fullmatch(r"v2\.\d+", repo["api"])
    assert RECIPE.parts[-5:-1] == ("spack_repo", "nearfar", "packages", "nearfar")


def test_recipe_and_cmake_project_agree() -> None:
    cmake = "\n".join(path.read_text(encoding="utf-8") for path in (CHECKOUT / "src").glob("**/*.cmake"))
    cmake += (CHECKOUT / "src/CMakeLists.txt").read_text(encoding="utf-8")
    options = set(re.findall(r"(?:set|option)\((NEARFAR_\w+) [^)]*(?:CACHE|\"|OFF)", cmake))
    defined = {literal(call) for call in calls("define")}
    assert {name for name in defined if name.startswith("NEARFAR_")} == options, (
        "every option is the recipe's to decide"
    )

    bases = {
        getattr(base, "id", "")
        for node in ast.walk(ast.parse(RECIPE.read_text()))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
    }
    assert {"CMakePackage", "CudaPackage"} <= bases, "CudaPackage has the variants cuda and cuda_arch"
    assert [literal(call) for call in calls("variant")] == ["mpi"]
    oldest = re.search(r"CMAKE_CUDA_COMPILER_VERSION VERSION_LESS ([\d.]+)", cmake)
    assert oldest is not None
    needed = {literal(call) for call in calls("depends_on")}
    assert f"cuda@{oldest[1]}:" in needed
    version = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", cmake)
    assert version is not None and f"cmake@{version[1]}:" in needed
    assert "hwloc@2:" in needed and "hwloc>=2" in cmake


def test_the_recipe_has_the_present_release() -> None:
    versions = [literal(call) for call in calls("version")]
    assert versions == ["main", __version__], "a release that is made gets its line in the recipe"


def test_a_spec_that_yaml_takes_for_a_mapping_is_found() -> None:
    wrong = yaml.safe_load("spack: {specs: [a], view: true, concretizer: {unify: true}}\n")
    wrong["spack"]["specs"] = yaml.safe_load("- hwloc@2:\n")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SCHEMA)


def test_a_folder_without_a_file_is_no_sites_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks, by the name of a system or for a partition, finds the same folder."""
    first, second = tmp_path / "first", tmp_path / "second"
    for site in (first, second):
        (site / "systems/redwood").mkdir(parents=True)
    monkeypatch.setenv("NEARFAR_SITE", f"{first}:{second}")
    assert own_folder("redwood") is None
    with pytest.raises(NearfarError, match=r"no YAML file in .*first.* nor .*; `nearfar spack externals --into"):
        folder_of("redwood")
    (second / "systems/redwood/packages.yaml").write_text("packages: {}\n")
    assert own_folder("redwood") == folder_of("redwood") == second / "systems/redwood"
