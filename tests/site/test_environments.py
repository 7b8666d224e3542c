"""Programming environments: the ways in which programs come, in site files and in real runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.base import NearfarError, SiteFile
from nearfar.site import environments, systems
from nearfar.site.environments import Container, Environment
from tests.conftest import CHECKOUT


def system_file(folder: Path, text: str) -> Path:
    (folder / "systems").mkdir(parents=True, exist_ok=True)
    path = folder / "systems" / "lab.yaml"
    path.write_text(f"system: lab\n{text}")
    return path


def load(folder: Path, text: str) -> systems.System:
    return systems.from_file(SiteFile(system_file(folder, text), {}), [])


def complaint(folder: Path, text: str) -> str:
    with pytest.raises(NearfarError) as error:
        load(folder, text)
    return str(error.value)


PARTITION = "partitions: [{name: a, environs: [e], features: [memory]}]\n"


def test_each_way_is_read(tmp_path: Path) -> None:
    known = load(
        tmp_path,
        PARTITION
        + """environments:
  - {name: e, features: [spack], cuda_arch: [90, "100"]}
  - {name: f, prefix: /opt/nearfar}
  - {name: g, container: {runtime: apptainer, image: /i.sif, programs: /opt/bin, options: [--nv]}}
  - {name: h, modules: [cuda/13], env_vars: {A: 1}}
""",
    ).environments
    assert [known[name].spack for name in "efgh"] == [True, False, False, False]
    assert [known[name].built_here for name in "efgh"] == [False, False, False, True]
    assert known["f"].prefix and known["g"].container
    assert known["e"].cuda_arch == ("90", "100")
    assert known["h"].reframe == {"modules": ["cuda/13"], "env_vars": {"A": 1}}
    assert known["system"].built_here and known["spack"].spack, "these two exist without a word in the file"


def test_two_sources_of_one_program_are_refused(tmp_path: Path) -> None:
    words = complaint(tmp_path, PARTITION + "environments:\n- {name: e, prefix: /opt/nearfar, features: [spack]}\n")
    assert words.endswith("lab.yaml:4: environment 'e': prefix and features: [spack] are two sources of the programs; keep one, "
                          "or make two environments")  # fmt: skip


def test_cuda_arch_without_spack_is_refused(tmp_path: Path) -> None:
    words = complaint(tmp_path, PARTITION + "environments:\n- {name: e, cuda_arch: [90]}\n")
    assert "lab.yaml:4: environment 'e': cuda_arch is for the Spack environment" in words


def test_two_environments_of_one_name_are_refused(tmp_path: Path) -> None:
    words = complaint(tmp_path, PARTITION + "environments:\n- {name: e}\n- {name: e}\n")
    assert "lab.yaml:5: two environments called 'e'" in words


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("{name: e, prefix: opt/nearfar}", "prefix: \"opt/nearfar\": expected an absolute path without white space"),
        ("{name: e, container: {runtime: docker, image: i, programs: /p}}", "\"docker\" is not one of apptainer, singularity"),
        ("{name: e, container: {runtime: apptainer, image: i}}", "the key 'programs' is missing"),
        ("{name: e, prefx: /opt}", "unknown key 'prefx' (did you mean 'prefix'?)"),
    ],
)  # fmt: skip
def test_what_cannot_be_names_its_line(tmp_path: Path, entry: str, words: str) -> None:
    said = complaint(tmp_path, PARTITION + f"environments:\n- {entry}\n")
    assert "lab.yaml:4: " in said and words in said


def test_a_program_in_an_image_runs_in_the_stage_directory() -> None:
    for runtime, wanted in {
        "apptainer": "apptainer exec --bind /stage --pwd /stage --nv /i.sif",
        "singularity": "singularity exec --bind /stage --pwd /stage --nv /i.sif",
        "charliecloud": "ch-run --bind /stage --cd /stage --nv /i.sif --",
    }.items():
        assert " ".join(Container(runtime, "/i.sif", "/bin", ("--nv",)).words("/stage")) == wanted


def test_a_way_is_taken_from_the_partitions_own_environments_first() -> None:
    known = {**environments.shipped(), "mine": Environment("mine", ("spack",)), "modules": Environment("modules")}
    assert environments.chosen(("modules", "mine"), known, "spack") == ("mine",)
    assert environments.chosen(("modules", "mine"), known, "system") == ("modules",)
    assert environments.chosen(("modules",), known, "spack") == ("spack",), "else the checkout's own"
    assert environments.chosen(("mine",), known, "system") == ("system",)


def test_a_modelled_partition_runs_no_program_and_keeps_its_environment() -> None:
    partitions = {
        "real": systems.Partition("real"),
        "paper": systems.Partition("paper", node_type="summit", features=("modelled",)),
    }
    one_way = systems.in_one_way(systems.System("lab", partitions), "spack")
    assert {name: p.environs for name, p in one_way.partitions.items()} == {"real": ("spack",), "paper": ("system",)}


def test_a_way_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NearfarError, match="NEARFAR_WITH: 'conda' is not one of spack, system"):
        systems.in_one_way(systems.System("lab", {}), "conda")


def validate(site: Path, *words: str) -> tuple[int, str, Path]:
    """A real run of the memory check on the system ``lab`` of a site; exit code, what was said, the run directory."""
    environment = {**os.environ, "NEARFAR_SITE": str(site), "NEARFAR_SYSTEM": "lab", "PYTHONPATH": str(CHECKOUT)}
    environment.pop("NEARFAR_PROGRAMS", None)
    run = site / "run"
    command = [sys.executable, "-m", "nearfar", "validate", "--check", "host_memory_check", "--report-dir", str(run)]
    done = subprocess.run([*command, *words], env=environment, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr, run


def made(run: Path) -> list[dict[str, object]]:
    return list(json.loads((run / "report.json").read_text())["programs"])


def test_programs_of_a_prefix_are_run_and_named(tmp_path: Path, build_folder: Path) -> None:
    system_file(tmp_path, f"{PARTITION}environments:\n- {{name: e, prefix: {build_folder}}}\n")
    code, said, run = validate(tmp_path)
    assert code == 0, said
    (record,) = made(run)
    assert (record["how"], record["folder"]) == ("prefix", str(build_folder / "bin"))
    document = json.loads(next(run.glob("*/host_memory_check/document.json")).read_text())
    assert document["program"]["command"][0] == str(build_folder / "bin" / "nearfar-copy")
    assert f"Prefix {build_folder} of the site" in (run / "index.html").read_text()


def test_a_prefix_without_programs_is_no_verdict_about_the_node(tmp_path: Path) -> None:
    system_file(tmp_path, f"{PARTITION}environments:\n- {{name: e, prefix: {tmp_path}/none}}\n")
    code, said, _ = validate(tmp_path)
    assert code == 3, said
    assert f"prefix {tmp_path}/none of the site's file: no such directory: {tmp_path}/none/bin" in said


def test_programs_of_an_image_are_run_in_it(tmp_path: Path, build_folder: Path) -> None:
    image = tmp_path / "image"
    if not runs_images(image):
        pytest.skip("no charliecloud that can run an image here (Debian: charliecloud)")
    programs = image / "opt" / "nearfar"
    programs.mkdir(parents=True)
    shutil.copy(build_folder / "bin" / "nearfar-copy", programs)
    # ch-run binds onto folders that the image has.
    (image / str(tmp_path / "run").lstrip("/")).mkdir(parents=True)
    container = f'{{runtime: charliecloud, image: {image}, programs: /opt/nearfar, options: [-b, "/usr:/usr"]}}'
    system_file(tmp_path, f"{PARTITION}environments:\n- {{name: e, container: {container}}}\n")
    code, said, run = validate(tmp_path)
    assert code == 0, said
    document = json.loads(next(run.glob("*/host_memory_check/document.json")).read_text())
    assert document["program"]["command"][0] == "/opt/nearfar/nearfar-copy", "a path that only the image has"
    assert made(run)[0]["words"] == f"image {image}, run by charliecloud"


def runs_images(image: Path) -> bool:
    """Make a bare image that borrows this machine's /usr, and try it."""
    if shutil.which("ch-run") is None:
        return False
    for name in ("dev", "proc", "sys", "tmp", "etc", "home", "usr", "root", "mnt"):
        (image / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (image / name).symlink_to(f"usr/{name}")
    for name in ("hosts", "resolv.conf", "passwd", "group"):
        (image / "etc" / name).touch()
    tried = ["ch-run", "-b", "/usr:/usr", str(image), "--", "true"]
    os.environ.setdefault("USER", "root")
    return subprocess.run(tried, capture_output=True).returncode == 0
