"""What a Spack environment is asked for a partition."""

from __future__ import annotations

import pytest

from nearfar.run.spack.for_partition import architectures, wants_cuda
from nearfar.site.environments import Environment


def test_gpus_of_the_partition_decide_about_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEARFAR_CUDA", raising=False)
    assert wants_cuda(("memory", "gpu")), "never silently without CUDA on nodes with GPUs"
    assert not wants_cuda(("memory",))
    monkeypatch.setenv("NEARFAR_CUDA", "none")
    assert not wants_cuda(("gpu",)), "asked for without"


def test_the_environments_architectures_stand_before_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARFAR_CUDA_ARCH", "80;90")
    assert architectures(Environment("hopper", ("spack",), cuda_arch=("90", "100"))) == "90,100"
    assert architectures(Environment("spack", ("spack",))) == "80,90", "as Spack writes a list"
    monkeypatch.delenv("NEARFAR_CUDA_ARCH")
    assert architectures(Environment("spack", ("spack",))) is None
