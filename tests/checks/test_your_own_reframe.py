"""A site's own ReFrame configuration with nearfar's checks, on emulated GPUs: what ReFrame says of a system is enough."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT
from tests.support.emulated import Emulated, emulated_programs
from tests.support.private_slurm import PrivateSlurm, needed

#: As CSCS has it: several partitions and environments, container platforms, GPUs as a resource, modes, storage.
ALPS = """\
site_configuration = {
    "systems": [{
        "name": "alps", "descr": "a system of its own", "hostnames": [".*"], "modules_system": "nomod", "prefix": "PREFIX",
        "partitions": [
            {"name": "login", "scheduler": "local", "launcher": "local", "environs": ["builtin"], "features": ["login"]},
            {"name": "normal", "scheduler": "local", "launcher": "LAUNCHER", "environs": ["builtin", "PrgEnv-gnu"], "max_jobs": 4,
             "features": ["gpu", "nvgpu", "remote"], "extras": {"cn_memory": 500},
             "container_platforms": [{"type": "Sarus"}, {"type": "Singularity", "modules": []}],
             "resources": [{"name": "_rfm_gpu", "options": ["--gres=gpu:{num_gpus_per_node}"]}],
             "devices": [{"type": "gpu", "arch": "sm_90", "model": "H100", "num_devices": 1}]}]}],
    "environments": [{"name": "PrgEnv-gnu", "cc": "gcc", "cxx": "g++", "features": ["serial", "openmp", "mpi", "cuda"]}],
    "modes": [{"name": "nodes", "options": ["-t production", "--exec-policy=async"]}],
    "storage": [{"enable": True, "sqlite_db_file": "PREFIX/results.db"}],
    "general": [{"report_file": "PREFIX/reports/run-{sessionid}.json"}],
}
"""
#: As EESSI's suite has it: no feature `gpu`, but a device with its vendor; features are scales.
EESSI = """\
site_configuration = {
    "systems": [{
        "name": "vega", "hostnames": [".*"], "modules_system": "nomod", "prefix": "PREFIX",
        "partitions": [
            {"name": "gpu", "scheduler": "local", "launcher": "local", "environs": ["default"], "features": ["one_node"],
             "extras": {"gpu_vendor": "nvidia"}, "devices": [{"type": "gpu", "num_devices": 1}]},
            {"name": "mi250", "scheduler": "local", "launcher": "local", "environs": ["default"], "features": ["gpu", "one_node"],
             "extras": {"gpu_vendor": "amd"}, "devices": [{"type": "gpu", "num_devices": 8}]}]}],
    "environments": [{"name": "default"}],
    "general": [{"report_file": "PREFIX/reports/run.json"}],
}
"""
#: A test of the site's own in each session. As EESSI's do, its mixin leaves a default to all tests that are loaded after it.
HELLO = """\
import reframe as rfm
import reframe.utility.sanity as sn

class everywhere(rfm.RegressionTestPlugin):
    @classmethod
    def __init_subclass__(cls, **arguments):
        super().__init_subclass__(**arguments)
        cls.valid_systems = cls.valid_prog_environs = ["*"]

@rfm.simple_test
class hello(rfm.RunOnlyRegressionTest, everywhere):
    executable = "true"
    sanity_patterns = sn.assert_true(1)
"""
ENVIRONS = ("PrgEnv-gnu", "builtin")


class Suite:
    """A site's folder with its configuration, and this machine with one emulated GPU."""

    def __init__(self, folder: Path, emulated: Emulated) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        for name in ("copy", "stream"):
            (folder / f"bin/nearfar-{name}").symlink_to(emulated.programs / f"emulated-{name}")
        # No variable of nearfar but where its programs are.
        self.environment = {
            name: value
            for name, value in emulated.environment(1, "memory=4e9").items()
            if not name.startswith(("NEARFAR_", "RFM_")) or name == "NEARFAR_NODE_PART"
        } | {
            "NEARFAR_PROGRAMS": str(folder / "bin"),
            "NEARFAR_STATE": str(folder / "state"),
            "NEARFAR_WAIT": "300",
            "NO_COLOR": "1",
        }

    def reframe(self, configuration: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        (self.folder / "site_config.py").write_text(configuration.replace("PREFIX", str(self.folder)))
        command = [sys.executable, "-c", "from reframe.frontend.cli import main; main()", "-C", "site_config.py"]
        (self.folder / "own.py").write_text(HELLO)
        checks = ["-c", "own.py", "-c", str(CHECKOUT / "checks"), "--nocolor"]
        return subprocess.run(
            [*command, *checks, *words], cwd=self.folder, env=self.environment | variables, capture_output=True, text=True, timeout=300,
        )  # fmt: skip

    def under(self, slurm: PrivateSlurm) -> None:
        """Let ReFrame submit to a Slurm."""
        ours = {key: value for key, value in slurm.environment.items() if os.environ.get(key) != value}
        self.environment |= ours

    def cases(self, configuration: str, *words: str) -> list[str]:
        """The cases that ReFrame lists."""
        done = self.reframe(configuration, *words, "-lC")
        assert done.returncode == 0, done.stdout + done.stderr
        assert not list(self.folder.glob("output/nearfar")), "listing writes nothing of a run"
        return sorted(re.findall(r"- (\w+_check) .*@(\S+)", done.stdout))


@pytest.fixture
def suite(build_folder: Path, tmp_path: Path) -> Suite:
    return Suite(tmp_path, emulated_programs(build_folder, tmp_path))


def run_directory(suite: Suite, said: str) -> Path:
    """The run of the session: below ReFrame's output directory, and named in its last lines."""
    (folder,) = (suite.folder / "output/nearfar").iterdir()
    assert said.count(str(folder / "index.html")) == 1 and (folder / "index.html").is_file()
    return folder


def verdicts(folder: Path, check: str) -> list[dict[str, str]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob(f"*/{check}*/verdict.json"))]


def asked(cases: Sequence[tuple[str, str]], place: str) -> set[str]:
    return {check for check, where in cases if where == place}


def test_features_and_devices_say_which_checks_a_partition_has(suite: Suite) -> None:
    alps = suite.cases(ALPS.replace("LAUNCHER", "local"))
    assert asked(alps, "alps:login+builtin") >= {"host_memory_check", "topology_check"}
    assert "host_device_check" not in asked(alps, "alps:login+builtin")
    assert "host_device_check" in asked(alps, "alps:normal+builtin") & asked(alps, "alps:normal+PrgEnv-gnu")
    vega = suite.cases(EESSI)
    assert "host_device_check" in asked(vega, "vega:gpu+default")
    assert "host_device_check" not in asked(vega, "vega:mi250+default"), "nearfar measures NVIDIA GPUs"


@pytest.mark.parametrize("launcher", ["local", "mpirun"])
def test_a_run_ends_with_its_verdict_and_its_page(suite: Suite, launcher: str) -> None:
    words = [
        "-n",
        "topology_check|host_device_check|hello",
        "--system=alps:normal",
        "--mode=nodes",
        "-r",
    ]
    done = suite.reframe(ALPS.replace("LAUNCHER", launcher), *words)
    assert "Traceback" not in done.stdout + done.stderr
    folder = run_directory(suite, done.stdout)
    run = json.loads((folder / "run.json").read_text())
    ran = sorted((case["check"], case["environ"]) for case in run["ran_cases"])
    assert run["system"] == "alps" and ran == [
        (c, e) for c in ("host_device_check", "topology_check") for e in ENVIRONS
    ], ran
    assert not run["missing_cases"] and run["verdict"] == "PASS"
    for judged in verdicts(folder, "host_device_check"):
        assert judged["verdict"] == "not judged" and judged["metrics"], judged
    for topology in verdicts(folder, "topology_check"):
        assert topology["verdict"] == "PASS", "as many GPUs as its devices"
    assert (suite.folder / "results.db").is_file()
    again = subprocess.run(
        [sys.executable, "-m", "nearfar", "report", str(folder)], cwd=CHECKOUT, capture_output=True, text=True
    )
    assert again.returncode == 0 and again.stdout.strip() == str(folder / "index.html")


def test_a_nearfar_file_of_the_same_name_adds_references(suite: Suite) -> None:
    site = suite.folder / "site"
    (site / "systems").mkdir(parents=True)
    (site / "references").mkdir()
    (site / "systems/vega.yaml").write_text("system: vega\npartitions:\n  - {name: gpu, expect: {gpus: 2}}\n")
    (site / "references/vega.yaml").write_text(
        "provenance: {tuned: {date: 2026-11-20, n: 4}}\nhost_device_check:\n  sole.h2d: [1, -0.05, null, GB/s]\n"
    )
    words = ["-R", "-n", "topology_check|host_device_check", "--system=vega:gpu", "-r"]
    done = suite.reframe(EESSI, *words, NEARFAR_SITE=str(site))
    folder = run_directory(suite, done.stdout)
    (judged,), (topology,) = verdicts(folder, "host_device_check"), verdicts(folder, "topology_check")
    assert judged["verdict"] == "PASS", judged["reasons"]
    assert topology["verdict"] == "FAIL" and "2" in str(topology["reasons"]), (
        "the file's word stands above ReFrame's devices"
    )
    listed = suite.reframe(EESSI, "-n", "topology_check", "--system=vega:mi250", "-l", NEARFAR_SITE=str(site))
    assert listed.returncode == 0, "the file names a partition of the system that is not selected"
    (site / "systems/vega.yaml").write_text("system: vega\npartitions:\n  - {name: gpus, expect: {gpus: 2}}\n")
    done = suite.reframe(EESSI, *words, NEARFAR_SITE=str(site))
    assert "vega.yaml:3: partition 'gpus'" in done.stderr and "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("first", [True, False])
def test_beside_nearfars_own_configuration(suite: Suite, first: bool) -> None:
    own = ["-C", str(CHECKOUT / "reframe_config.py")]
    (suite.folder / "alone.py").write_text(EESSI.replace("PREFIX", str(suite.folder)))
    words = own if first else [*own, "-C", "alone.py"]
    done = suite.reframe(EESSI, *words, "--system=vega:gpu", "-n", "^topology_check$", "-r")
    assert "Traceback" not in done.stdout + done.stderr and "PASSED" in done.stdout, done.stdout + done.stderr
    assert "index.html" in done.stdout


def test_distribute_and_ci_generate(suite: Suite) -> None:
    alps = ALPS.replace("LAUNCHER", "local")
    listed = suite.reframe(alps, "--distribute=all", "--system=alps:normal", "-n", "host_device_check", "-l")
    assert listed.returncode == 0 and "host_device_check" in listed.stdout, listed.stdout
    pipeline = suite.folder / "pipeline.yml"
    made = suite.reframe(alps, f"--ci-generate={pipeline}", "--system=alps:normal", "-n", "host_device_check")
    assert made.returncode == 0 and "host_device_check" in pipeline.read_text(), made.stdout
    dry = suite.reframe(alps, "--dry-run", "-t", "acceptance")
    assert dry.returncode == 0 and "nearfar:" not in dry.stderr, dry.stdout + dry.stderr
    assert not list(suite.folder.glob("output/nearfar"))


def test_the_environments_compilers_build_or_a_module_brings_the_programs(suite: Suite) -> None:
    del suite.environment["NEARFAR_PROGRAMS"]
    alps = ALPS.replace("LAUNCHER", "local")
    words = ["-n", "host_memory_check", "--system=alps:login", "-r"]
    done = suite.reframe(
        alps.replace('"environs": ["builtin"]', '"environs": ["PrgEnv-gnu"]').replace('"g++"', '"g++-99"'), *words
    )
    assert "nearfar: environment 'PrgEnv-gnu': no compiler g++-99" in done.stdout and "Traceback" not in done.stdout
    assert not (suite.folder / "state").exists(), "nothing is built with another compiler"
    brings = f'"env_vars": [["PATH", "{suite.folder}/bin:$PATH"]]'  # what a module does
    done = suite.reframe(alps.replace('"environs": ["builtin"]', f'{brings}, "environs": ["builtin"]'), *words)
    folder = run_directory(suite, done.stdout)
    (made,) = [json.loads(path.read_text()) for path in folder.glob("programs.*.json")]
    assert (made["how"], made["folder"]) == ("prefix", str(suite.folder / "bin")), made
    assert verdicts(folder, "host_memory_check")[0]["verdict"] == "not judged"


@pytest.mark.slurm
def test_srun_measures_a_node_that_no_file_describes(suite: Suite) -> None:
    needed()
    remote = ALPS.replace(
        '"scheduler": "local", "launcher": "LAUNCHER"',
        '"scheduler": "squeue", "launcher": "srun", "access": ["-p all"]',
    )
    words = [
        "-n",
        "host_device_check|load_balance_check",
        "--system=alps:normal",
        "-S",
        "programs.build_locally=0",
        "-r",
    ]
    (suite.folder / "site/references").mkdir(parents=True)
    (suite.folder / "site/references/alps.yaml").write_text(
        "provenance: {tuned: {date: 2026-11-20, n: 4}}\nhost_device_check:\n  sole.h2d: [55, -0.05, null, GB/s]\n"
    )
    suite.environment["NEARFAR_SITE"] = str(suite.folder / "site")
    with PrivateSlurm(cpus=2, gpus=1) as slurm:
        suite.under(slurm)
        done = suite.reframe(
            remote.replace('"nvgpu"', '"ranks"').replace('"builtin", "PrgEnv-gnu"', '"builtin"'), *words
        )
    assert "Traceback" not in done.stdout + done.stderr
    folder = run_directory(suite, done.stdout)
    (judged,), (balance,) = verdicts(folder, "host_device_check"), verdicts(folder, "load_balance_check")
    # Emulated clocks are held down, which excuses the rate.
    assert judged["verdict"] in ("FAIL", "INDETERMINATE") and "3 measurements: " in judged["reasons"][0], judged[
        "reasons"
    ]
    assert balance["verdict"] == "INDETERMINATE" and "nearfar detect --site alps" in balance["reasons"][0]
    (job,) = suite.folder.glob("*/alps/normal/builtin/host_device_check/rfm_job.sh")
    assert "#SBATCH --gres=gpu:1" in job.read_text() and "srun" in job.read_text()
    (build,) = suite.folder.glob("*/alps/normal/builtin/programs_*/rfm_build.sh")
    assert "#SBATCH" in build.read_text(), "in a job, where the login node cannot build"
