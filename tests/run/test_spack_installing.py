"""The environment staged, solved and installed: what is done again and what is not, and what is said when it fails.

Spack is a fake here, which writes what Spack would; tests/run/test_spack_real.py has the real one.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearfar.base.errors import NearfarError
from nearfar.run import spack
from nearfar.run.spack import environment, locks
from nearfar.run.spack.agreement import agreement, describe, doubts
from nearfar.run.spack.environment import Wanted
from nearfar.run.spack.failures import failed
from nearfar.run.spack.lockfile import packages
from tests.support.fake_spack import calls, fake_spack

LOCK = {
    "_meta": {"file-type": "spack-lockfile", "lockfile-version": 6},
    "roots": [{"hash": "aaa", "spec": "nearfar@main+mpi~cuda"}, {"hash": "bbb", "spec": "mpi"}],
    "concrete_specs": {
        "aaa": {"name": "nearfar", "version": "main", "hash": "aaa"},
        "bbb": {"name": "openmpi", "version": "4.1.4", "hash": "bbb", "external": {"path": "/usr", "module": None}},
        "ccc": {"name": "compiler-wrapper", "version": "1.1.0", "hash": "ccc"},
    },
}
SOLVE = """'-e '*' concretize') cp "{lock}" "$2/spack.lock" ;;
'-e '*' find --format {{hash}}') cat "{there}" ;;
"""
INSTALL = """'-e '*' install --only-concrete') mkdir -p "$2/.spack-env/view/bin"; echo > "$2/.spack-env/view/bin/nearfar-stream" ;;
"""
OFFLINE = """'-e '*' install --only-concrete') cat "{said}"; exit 1 ;;
"""
_KEYS = ["hash", "name", "version", "external", "path", "module"]
FETCH = "==> Error: FetchError: All fetchers failed for spack-stage-osu-micro-benchmarks-7.5.2-n6u7bhw4523vytgxoyylpdghgj24x6e6\n"


class Machine:
    """A fake Spack and a state folder; ``ensure`` there."""

    def __init__(self, folder: Path, install: str = INSTALL, lock: dict[str, Any] = LOCK) -> None:
        self.folder = folder
        (folder / "solved.lock").write_text(json.dumps(lock))
        (folder / "there").write_text("")
        (folder / "said").write_text(FETCH)
        cases = (SOLVE + install).format(lock=folder / "solved.lock", there=folder / "there", said=folder / "said")
        self.root = fake_spack(folder / "spack", cases=cases)
        (folder / "site").mkdir()
        (folder / "site" / "packages.yaml").write_text("packages: {}\n")
        environ = {"SPACK_ROOT": str(self.root), "PATH": "/usr/bin:/bin", "SPACK_DISABLE_LOCAL_CONFIG": "1"}
        self.spack = spack.find(environ)

    def ensure(self, **options: Any) -> spack.Installed:
        return spack.ensure(self.spack, False, site=self.folder / "site", **options)

    def asked(self) -> list[str]:
        """The kinds of questions that Spack was asked since the last call."""
        kinds = [line.split()[2] for line in calls(self.root) if line.startswith("-e ")]
        (self.root / "calls").unlink(missing_ok=True)
        return kinds


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARFAR_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("NEARFAR_SPACK_TREE", raising=False)
    monkeypatch.delenv("NEARFAR_SPACK_SITE", raising=False)


def test_the_second_time_asks_spack_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    first = machine.ensure()
    assert machine.asked() == ["concretize", "find", "install"]
    again = machine.ensure()
    assert machine.asked() == []
    assert (first.kept, again.kept) == (False, True)
    assert again.packages == first.packages
    names = [(p.name, p.version, p.hash, p.external_prefix) for p in again.packages]
    assert names == [
        ("nearfar", "main", "aaa", None),
        ("openmpi", "4.1.4", "bbb", Path("/usr")),
        ("compiler-wrapper", "1.1.0", "ccc", None),
    ]


def test_what_the_solver_sees_makes_another_environment(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    first = machine.ensure()
    (tmp_path / "site" / "packages.yaml").write_text("packages: {numactl: {buildable: false}}\n")
    second = machine.ensure()
    (machine.root / "etc" / "spack").mkdir(parents=True)
    (machine.root / "etc" / "spack" / "packages.yaml").write_text("packages: {}\n")
    third = machine.ensure()
    assert len({first.view, second.view, third.view}) == 3
    machine.asked()
    assert machine.ensure(again=True).view == third.view
    assert machine.asked() == ["concretize", "find", "install"]


def test_a_view_or_an_external_that_went_away_is_noticed(tmp_path: Path) -> None:
    lock = json.loads(json.dumps(LOCK))
    prefix = tmp_path / "mpi-of-the-site"
    prefix.mkdir()
    lock["concrete_specs"]["bbb"]["external"]["path"] = str(prefix)
    machine = Machine(tmp_path, lock=lock)
    installed = machine.ensure()
    shutil.rmtree(installed.view)
    assert not machine.ensure().kept
    prefix.rmdir()
    assert not machine.ensure().kept


def test_sources_are_copied_and_only_what_changed_is_touched(tmp_path: Path) -> None:
    checkout, folder = tmp_path / "checkout", tmp_path / "staged"
    for name in ("src/flow/a.cpp", "src/b.cpp", "src/spack_repo/nearfar/repo.yaml", "src/build-linux-x/c.cpp"):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(name)
    shutil.copytree(Path(environment.CHECKOUT, "spack"), checkout / "spack")
    before = environment.sources_hash(checkout)
    environment.stage(Wanted(False), folder, checkout)
    assert sorted(p.name for p in (folder / "src").rglob("*.*")) == ["a.cpp", "b.cpp"]
    kept = (folder / "src/b.cpp").stat().st_mtime_ns
    (checkout / "src/flow/a.cpp").write_text("changed")
    assert environment.sources_hash(checkout) != before
    environment.stage(Wanted(False), folder, checkout)
    assert (folder / "src/flow/a.cpp").read_text() == "changed"
    assert (folder / "src/b.cpp").stat().st_mtime_ns == kept
    (checkout / "src/b.cpp").unlink()
    environment.stage(Wanted(False), folder, checkout)
    assert not (folder / "src/b.cpp").exists()


def test_the_staged_environment_leads_nowhere_but_where_it_should(tmp_path: Path) -> None:
    site, tree, mirror = tmp_path / "site", tmp_path / "tree", tmp_path / "mirror"
    mirror.mkdir()
    content = yaml.safe_load(environment.text(Wanted(True, "80,90", site, str(mirror), tree), tmp_path / "env"))[
        "spack"
    ]
    assert content["include"] == [{"path": str(site)}]
    assert content["develop"]["nearfar"]["path"] == str(tmp_path / "env" / "src")
    assert content["repos"] == {"nearfar": str(environment.CHECKOUT / "src/spack_repo/nearfar")}
    assert content["mirrors"] == {"nearfar": f"file://{mirror}"}
    assert content["config"]["install_tree"]["root"] == str(tree)
    assert content["packages"]["nearfar"] == {"require": ["cuda_arch=80,90"]}
    osu = content["packages"]["osu-micro-benchmarks"]
    assert osu["variants"] == ["cuda_arch=80,90"] and osu["require"], "what the checkout's file says stays"
    assert yaml.safe_load(environment.text(Wanted(False), tmp_path))["spack"]["include"] == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cuda_arch": "foo"}, "cuda_arch 'foo': compute capabilities are written 90, or 80,90"),
        ({"cuda_arch": "8.0"}, "cuda_arch '8.0'"),
        ({"mirror": "/nonexistent"}, "/nonexistent: no such directory; `nearfar spack mirror /nonexistent` makes"),
    ],
)
def test_slips_are_said_before_spack_is_asked(options: dict[str, str], words: str) -> None:
    with pytest.raises(NearfarError) as raised:
        Wanted(True, **options)
    assert words in str(raised.value)


def test_a_plan_can_be_declined_and_nothing_is_built(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    (tmp_path / "there").write_text("ccc\n")
    seen: list[spack.InstallPlan] = []
    with pytest.raises(NearfarError, match="nothing was installed, as you said"):
        machine.ensure(agree=lambda plan: bool(seen.append(plan)))
    assert [p.name for p in seen[0].to_build] == ["nearfar"], "what is in the tree is not built again"
    assert [p.name for p in seen[0].external] == ["openmpi"]
    assert "install" not in machine.asked()


def test_dozens_of_builds_need_a_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = [spack.SpackPackage(f"p{n}", "1", f"{n:07}", None) for n in range(45)]
    plan = spack.InstallPlan(tmp_path, [spack.SpackPackage("openmpi", "5.0.10", "abcdefghi", None, asked=True), *many])
    with pytest.raises(NearfarError, match=r"46 packages to build .*: not without your word; --yes goes on"):
        agreement(yes=False)(plan)
    said = capsys.readouterr().err
    assert "WARNING: openmpi 5.0.10 would be built" in said and "WARNING: 46 packages would be built" in said
    assert agreement(yes=True)(plan)
    small = spack.InstallPlan(tmp_path, [spack.SpackPackage("nearfar", "main", "abcdefghi", None)])
    assert doubts(small) == [] and agreement(yes=False)(small)
    assert describe(plan).splitlines()[0].split() == ["to", "build", "openmpi", "5.0.10", "abcdefg"]


def test_without_a_network_the_mirror_is_named(tmp_path: Path) -> None:
    machine = Machine(tmp_path, install=OFFLINE)
    for _ in range(2):  # a failure is not taken for an installation the next time
        with pytest.raises(NearfarError) as raised:
            machine.ensure()
    said = str(raised.value)
    assert "cannot fetch osu-micro-benchmarks-7.5.2: " in said and "`nearfar spack mirror DIR`" in said
    assert said.count("\n") == 0 and "spack.log" in said


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ('==> Error: cannot bootstrap the "clingo" module from any source\n', "cannot bring its solver"),
        ("fatal: unable to access 'https://github.com/spack/spack-packages.git/'\n", "repos.yaml"),
        ("==> Error: cannot load package 'nearfar': No module named 'spack_repo.builtin'\n", "repos.yaml"),
        ("OSError: [Errno 37] No locks available\n", "config: {locks: false}"),
        (
            "==> Error: Can't take write lock on read-only file: /opt/spack/db\n",
            "/opt/spack/db: Spack may not write there",
        ),
        ("==> Error: Failed to install nearfar due to ChildError: x\n", "nearfar does not build"),
        (
            f"==> Error: nearfar-main-{'a' * 32}: ProcessError: Command exited with status 1:\n",
            "nearfar-main does not build",
        ),
        ("==> Error: something new\n==> Error: and more\n", "Error: something new"),
        ("", "it said nothing"),
    ],
)
def test_what_spack_says_becomes_one_line(output: str, words: str) -> None:
    said = str(failed("the environment cannot be solved", output, Path("/state/spack.log")))
    assert (
        words in said
        and said.startswith("the environment cannot be solved: ")
        and said.endswith("(log: /state/spack.log)")
    )
    assert "\n" not in said


def test_a_build_that_failed_leaves_nothing_for_cmake_to_believe(tmp_path: Path) -> None:
    stage = tmp_path / "stage" / "spack-stage-nearfar-main-abc"
    broken = """'-e '*' install --only-concrete') mkdir -p "STAGE/spack-build-abc"; echo > "STAGE/spack-build-abc/CMakeCache.txt"
    echo > "STAGE/spack-build-out.txt"; ln -sfn "STAGE" "$2/src/build-linux-abc"
    printf '==> Error: nearfar-main-%032d: ProcessError: x\\nSee build log for details:\\n  STAGE/spack-build-out.txt\\n' 0 >&2; exit 1 ;;
"""
    machine = Machine(tmp_path, install=broken.replace("STAGE", str(stage)))
    with pytest.raises(NearfarError, match=rf"nearfar-main does not build \(log: {stage}/spack-build-out\.txt\)"):
        machine.ensure()
    assert [path.name for path in stage.iterdir()] == ["spack-build-out.txt"], "the log stays, the cache goes"


def test_a_tree_without_locks_is_refused_unless_spack_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:  # stands in for NFS without a lock service
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    machine = Machine(tmp_path)
    monkeypatch.setattr(fcntl, "lockf", no_locks)
    with pytest.raises(
        NearfarError, match=r"tree: a lock failed \(No locks available\).*NEARFAR_SPACK_TREE.*config: \{locks: false\}"
    ):
        machine.ensure()
    assert machine.asked() == []
    told = fake_spack(tmp_path / "told", cases="'config get config') printf 'config:\\n  locks: false\\n' ;;")
    locks.need_locks(spack.find({"SPACK_ROOT": str(told), "PATH": "/usr/bin:/bin"}), tmp_path / "tree")
    assert list((tmp_path / "tree").iterdir()) == []


def test_a_tree_that_cannot_be_made_names_the_variable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    machine = Machine(tmp_path)
    with pytest.raises(NearfarError, match=r"NEARFAR_SPACK_TREE|Not a directory"):
        machine.ensure(tree=tmp_path / "file" / "tree")


@pytest.mark.parametrize(
    "content", ["", "{}", '{"roots": 1, "concrete_specs": {}}', '{"roots": [], "concrete_specs": []}']
)
def test_a_damaged_lock_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "spack.lock").write_text(content)
    with pytest.raises(NearfarError, match=r"spack\.lock: not a lock file of Spack"):
        packages(tmp_path / "spack.lock")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list("ab") + _KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(_JSON, _JSON)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_lock_file_is_a_traceback(tmp_path: Path, roots: object, specs: object) -> None:
    (tmp_path / "spack.lock").write_text(json.dumps({"roots": roots, "concrete_specs": specs}))
    try:
        found = packages(tmp_path / "spack.lock")
    except NearfarError as error:
        assert "not a lock file of Spack" in str(error)
    else:
        assert all(isinstance(package, spack.SpackPackage) for package in found)


def test_environments_that_nobody_uses_go(tmp_path: Path) -> None:
    machine = Machine(tmp_path)

    def made(number: int) -> Path:
        (tmp_path / "site" / "packages.yaml").write_text(f"packages: {{}}  # {number}\n")
        return machine.ensure().folder / "nearfar.json"

    stamps = [made(number) for number in range(6)]
    assert all(stamp.exists() for stamp in stamps), "all were used today"
    for number, stamp in enumerate(stamps):
        os.utime(stamp, (number, number))
    assert made(0) == stamps[0], "used again, and so not old"
    made(6)
    assert [stamp.exists() for stamp in stamps] == [True, False, False, False, True, True]
