"""What the tests share: which of them this machine can run, and the programs that were built."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]


def gpus() -> int:
    """How many GPUs NVML sees; 0 without a driver."""
    try:
        import pynvml

        pynvml.nvmlInit()
        return int(pynvml.nvmlDeviceGetCount())
    except Exception:  # no library, no driver, no permission: all mean that there is none to test with
        return 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked ``gpu`` where there is none."""
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
