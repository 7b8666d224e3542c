"""The environment solved and installed: what is done again and what is not. Spack is a fake, which writes what Spack would;
tests/run/test_spack_real.py has the real one."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest
import yaml

from nearfar.base.errors import NearfarError
from nearfar.base.files import file_lock
from nearfar.run import spack
from nearfar.run.spack import environment, lockfile
from nearfar.site.environments import Environment
from tests.conftest import CHECKOUT
from tests.support.fake_spack import CASES, LOCK, calls, fake_spack

HOST, GPU = ("memory",), ("memory", "gpu")
SPACK = Environment("spack", ("spack",))


class Machine:
    """A fake Spack that finds ``packages`` on this machine."""

    def __init__(self, folder: Path, packages: str = "openmpi hwloc numactl") -> None:
        self.root = fake_spack(folder / "spack", cases=CASES)
        (self.root / "install").write_text(
            'mkdir -p "$2/.spack-env/view/bin"; touch "$2/.spack-env/view/bin/nearfar-copy"'
        )
        self.find(packages)

    def find(self, packages: str) -> None:
        (self.root / "include").mkdir(exist_ok=True)
        (self.root / "include/cuda.h").touch()
        found = {name: {"externals": [{"spec": f"{name}@1", "prefix": str(self.root)}]} for name in packages.split()}
        (self.root / "found").write_text(yaml.safe_dump({"packages": found}))

    def made(self, features: tuple[str, ...] = HOST, of: Environment = SPACK) -> spack.SpackEnvironment:
        found = spack.find({"SPACK_ROOT": str(self.root), "PATH": "/usr/bin:/bin"})
        made = spack.solve(found, of, features, "lab")
        spack.install(found, made)
        return made

    def asked(self) -> list[str]:
        """What Spack was asked since the last call, a word each."""
        lines = [line.split() for line in calls(self.root)]
        kinds = [
            words[2] if words[0] == "-e" else words[0] for words in lines if words[0] not in ("--version", "config")
        ]
        (self.root / "calls").unlink(missing_ok=True)
        return kinds


SOLVED = ["compiler", "external", "external", "concretize", "fetch", "install"]


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the system ``lab`` in a site's directory."""
    for name in ("NEARFAR_SPACK_TREE", "NEARFAR_SPACK_SITE", "NEARFAR_SPACK_MPI", "NEARFAR_CUDA", "NEARFAR_CUDA_ARCH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NEARFAR_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    (tmp_path / "site/systems/lab").mkdir(parents=True)
    return tmp_path / "site/systems/lab"


def test_the_second_time_asks_spack_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    first = machine.made()
    assert machine.asked() == SOLVED
    again = machine.made()
    assert machine.asked() == [] and again == first
    assert [(p.name, p.version, p.hash, p.prefix) for p in again.lock.packages] == [
        ("nearfar", "main", "aaa", ""),
        ("openmpi", "4.1.4", "bbb", "/usr"),
        ("compiler-wrapper", "1.1.0", "ccc", ""),
    ]
    assert again.path == (str(again.programs), "/usr/bin") and again.lock.version == "1.1.0"


def test_what_the_solver_sees_is_solved_again_and_a_mirror_is_not(tmp_path: Path, site: Path) -> None:
    machine = Machine(tmp_path)
    folder = machine.made().folder
    machine.asked()
    (site / "mirrors.yaml").write_text("mirrors: {}\n")
    assert machine.made().folder == folder and machine.asked() == SOLVED, "the folder is now included"
    (site / "mirrors.yaml").write_text("mirrors: {nearfar: file:///a}\n")
    assert machine.made().folder == folder and machine.asked() == []
    (site / "packages.yaml").write_text("packages: {}\n")
    machine.made()
    assert machine.asked() == ["concretize", "fetch", "install"], "the site names its packages: nothing is detected"
    os.utime(site / "packages.yaml", (time.time() + 9, time.time() + 9))
    assert machine.made().folder == folder and machine.asked() == ["concretize", "fetch", "install"]


def test_a_failed_detection_is_not_kept(tmp_path: Path) -> None:
    machine = Machine(tmp_path, packages="hwloc")
    for _ in range(2):
        with pytest.raises(
            NearfarError, match="Spack finds no openmpi on this machine: install one or load its module"
        ):
            machine.made()
    assert "concretize" not in machine.asked(), "and no MPI is built"
    machine.find("openmpi hwloc")
    machine.made()
    with pytest.raises(NearfarError, match=r"Spack finds no CUDA on this machine: .*NEARFAR_CUDA=none"):
        machine.made(GPU)


def test_what_went_away_is_noticed(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    made = machine.made()
    machine.asked()
    (made.programs / "nearfar-copy").unlink()
    machine.made()
    assert machine.asked() == ["fetch", "install"]
    (made.folder / "wanted.yaml").unlink()
    machine.made()
    assert machine.asked() == SOLVED
    lock = json.loads(json.dumps(LOCK).replace("/usr", str(tmp_path / "gone")))
    (made.folder / "spack.lock").write_text(json.dumps(lock))
    assert machine.made().path == made.path and machine.asked() == SOLVED, "an external that is no longer there"


def test_sources_are_copied_and_only_what_changed_is_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = tmp_path / "src"
    for name in ("core/a.cpp", "b.cpp", "spack_repo/nearfar/repo.yaml"):
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_text(name)
    (sources / "build-linux-x").symlink_to(tmp_path)
    monkeypatch.setattr(environment, "sources", lambda: sources)
    machine = Machine(tmp_path)
    copy = machine.made().folder / "src"
    assert sorted(p.name for p in copy.rglob("*.*")) == ["a.cpp", "b.cpp"]
    kept = (copy / "b.cpp").stat().st_mtime_ns
    machine.asked()
    (sources / "core/a.cpp").write_text("changed")
    machine.made()
    assert machine.asked() == ["fetch", "install"]
    assert (copy / "core/a.cpp").read_text() == "changed" and (copy / "b.cpp").stat().st_mtime_ns == kept
    (sources / "b.cpp").unlink()
    machine.made()
    assert not (copy / "b.cpp").exists()


def test_the_environment_leads_nowhere_but_where_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Path
) -> None:
    machine = Machine(tmp_path, packages="openmpi hwloc numactl cuda")
    monkeypatch.setenv("NEARFAR_CUDA_ARCH", "80;90")
    folder = machine.made(GPU).folder
    assert folder == tmp_path / "state/build/spack/lab-cuda-80-90"
    content = yaml.safe_load((folder / "spack.yaml").read_text())["spack"]
    assert [entry["path"] for entry in content["include"]] == [str(folder / "found"), str(CHECKOUT / "spack/system")]
    assert content["develop"]["nearfar"]["path"] == str(folder / "src")
    assert content["repos"] == {"nearfar": str(CHECKOUT / "src/spack_repo/nearfar")}
    assert content["config"]["install_tree"]["root"] == str(folder.parent / "tree")
    assert content["packages"]["nearfar"] == {"require": ["cuda_arch=80,90"]}
    osu = content["packages"]["osu-micro-benchmarks"]
    assert osu["variants"] == ["cuda_arch=80,90"] and osu["require"], "what the checkout's file says stays"
    assert machine.made(GPU, Environment("hopper", ("spack",), cuda_arch=("90",))).folder.name == "lab-cuda-90"
    monkeypatch.setenv("NEARFAR_CUDA", "none")
    assert machine.made(GPU).folder.name == "lab-host"


def test_slips_are_said_before_spack_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path)
    monkeypatch.setenv("NEARFAR_CUDA_ARCH", "8.0")
    with pytest.raises(NearfarError, match=r"cuda_arch '8\.0': compute capabilities are written 90, or 80,90"):
        machine.made(GPU)
    monkeypatch.setenv("NEARFAR_SPACK_SITE", "/nonexistent")
    with pytest.raises(NearfarError, match="NEARFAR_SPACK_SITE=/nonexistent: no such directory; `nearfar spack ext"):
        machine.made()
    assert calls(machine.root) == []


def test_a_failure_is_one_line_and_is_tried_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    (machine.root / "fetch").write_text("echo '==> Error: All fetchers failed for osu-7.5.2' >&2; exit 1")
    for _ in range(2):
        with pytest.raises(NearfarError, match=r"cannot fetch osu-7\.5\.2: .* \(log: .*/lab-host/failed\.log\)"):
            machine.made()
    assert machine.asked() == [*SOLVED[:-1], "fetch"], "nothing is compiled"
    assert len(list((tmp_path / "state/build/spack").glob("*/"))) == 1, "no folder for each attempt"


@pytest.mark.parametrize("content", ["", "{}", '{"roots": 1}', '{"roots": [], "concrete_specs": []}'])
def test_a_damaged_lock_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "spack.lock").write_text(content)
    with pytest.raises(NearfarError, match=r"spack\.lock: not a lock file of Spack .* remove it and run again"):
        lockfile.read(tmp_path / "spack.lock")


def test_a_wait_for_another_run_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = Machine(tmp_path)
    folder = machine.made().folder
    assert "waiting for another run" not in capsys.readouterr().err
    with file_lock(folder.with_name(f"{folder.name}.lock")):
        waits = threading.Thread(target=machine.made)
        waits.start()
        waits.join(2.0)
        assert waits.is_alive(), "the lock is held"
    waits.join(60.0)
    assert capsys.readouterr().err.count(f"waiting for another run, which solves or installs the same: {folder}") == 1
