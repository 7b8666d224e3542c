"""What the tests share: which of them this machine can run, and the programs that were built."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from nearfar.base.errors import NearfarError
from nearfar.run import spack

CHECKOUT = Path(__file__).resolve().parents[1]

#: Where tests wait for daemons of Slurm, sessions of ReFrame and ranks of MPI about half of their time or more.
WAITING = ("tests/slurm/", "tests/setup/", "tests/checks/", "tests/mpi/", "tests/cost/")

# What these tests measure with is pretended: they wait for no other run on this machine, and no other for them.
os.environ["NEARFAR_NODE_PART"] = f"tests-{os.getpid()}"

# They start nearfar hundreds of times: without its compiled modules most of each start is spent on compiling.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    sys.dont_write_bytecode = False

# How long an example takes says nothing: the tests share this machine's cores.
settings.register_profile("shared machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared machine")


def gpus() -> int:
    """How many GPUs NVML sees; 0 without a driver."""
    try:
        import pynvml

        pynvml.nvmlInit()
        return int(pynvml.nvmlDeviceGetCount())
    except Exception:  # no library, no driver, no permission: all mean that there is none to test with
        return 0


def why_no_spack() -> str | None:
    """What keeps the tests marked ``spack`` from running, or None."""
    try:
        spack.find()
    except NearfarError as error:
        return f"needs a real Spack: {error}"
    return None


@pytest.fixture(scope="session", autouse=True)
def small_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """hwloc sees this machine with 8 MiB of last-level cache. STREAM's arrays are four times as large as the cache: on a virtual machine
    that shows its host's 480 MiB, each of hundreds of runs would touch 6 GB. Not where GPUs are measured, nor without lstopo."""
    lstopo = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if lstopo is None or gpus():
        yield
        return
    file = tmp_path_factory.mktemp("hwloc") / "this-machine.xml"
    subprocess.run([lstopo, "--of", "xml", "--whole-io", "--disallowed", str(file)], check=True, capture_output=True)
    cache = r'(type="L3Cache"[^>]* cache_size=)"\d+"'
    file.write_text(re.sub(cache, rf'\1"{8 * 2**20}"', file.read_text()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HWLOC_XMLFILE", str(file))
        patch.setenv("HWLOC_THISSYSTEM", "1")
        yield


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``-n``, give whole files to the workers, in the order of collection: a file's fixtures are made once. Of more workers
    than cores the last two take the files whose tests wait most of their time."""
    from xdist.scheduler import LoadScopeScheduling

    workers = len(config.getvalue("tx"))
    computing = workers - 2 if workers > max(2, os.cpu_count() or 1) else workers

    class WholeFiles(LoadScopeScheduling):
        def _bring_forward(self, node: Any) -> bool:
            """Moves the worker's next file to the front; whether there is one for it."""
            waits = int(node.gateway.id.removeprefix("gw")) >= computing
            chosen = next((file for file in self.workqueue if file.startswith(WAITING) == waits), None)
            if chosen is None and not waits:
                chosen = next(iter(self.workqueue), None)
            if chosen is not None:
                self.workqueue.move_to_end(chosen, last=False)
            return chosen is not None

        def _assign_work_unit(self, node: Any) -> None:
            if self._bring_forward(node):
                super()._assign_work_unit(node)

        def _reschedule(self, node: Any) -> None:
            if self.workqueue and not self._bring_forward(node) and not node.shutting_down:
                node.shutdown()
            else:
                super()._reschedule(node)

        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if file.endswith("_gpu.py"):
                return "gpu"  # GPUs are measured by one worker at a time
            return "guest" if file.startswith("tests/guest/") else file  # its files share guests

    config.option.loadscopereorder = False
    return WholeFiles(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked ``gpu`` and ``spack`` where there is none; the slow ones come first."""
    items.sort(
        key=lambda item: (
            not any(
                item.get_closest_marker(slow)
                for slow in ("ansible", "gpu", "guest", "hip", "install", "sanitizer", "slurm", "spack")
            )
        )
    )
    with_spack = [item for item in items if item.get_closest_marker("spack")]
    if with_spack and (reason := why_no_spack()) is not None:
        for item in with_spack:
            item.add_marker(pytest.mark.skip(reason=reason))
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and not gpus():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU on this machine"))


@pytest.fixture(scope="session")
def build_folder() -> Path:
    """The folder of the build with all test programs in its bin/; built when it is not there."""
    command = [sys.executable, str(CHECKOUT / "setup" / "build"), "--tests", "--print"]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return Path(built.stdout.strip()).parent
