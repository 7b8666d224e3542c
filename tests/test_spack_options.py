"""What a Spack environment is asked for a partition."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.environments import Environment, spack_options


def test_gpus_of_the_partition_decide_about_cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NEARFAR_CUDA", raising=False)
    monkeypatch.delenv("NEARFAR_CUDA_ARCH", raising=False)
    hopper = Environment("hopper", ("spack",), cuda_arch=("90", "100"))
    options = spack_options(hopper, ("gpu",), [tmp_path], "lab")
    assert options == {"cuda": True, "cuda_arch": "90,100", "site": None}
    assert not spack_options(hopper, ("memory",), [tmp_path], "lab")["cuda"]
    monkeypatch.setenv("NEARFAR_CUDA", "none")
    assert not spack_options(hopper, ("gpu",), [tmp_path], "lab")["cuda"], "NEARFAR_CUDA=none: asked for without"


def test_the_sites_own_configuration_is_found_by_the_systems_name(tmp_path: Path) -> None:
    (tmp_path / "second" / "systems" / "lab").mkdir(parents=True)
    directories = [tmp_path / "first", tmp_path / "second"]
    assert (
        spack_options(Environment("spack", ("spack",)), (), directories, "lab")["site"]
        == tmp_path / "second/systems/lab"
    )
