"""``nearfar lint --import``: a site's own thresholds beside what healthy GPUs reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar import cli

GPU = """gpu_models: [NVIDIA X900 80GB]
source: "data sheet: PCIe Gen5"
expect:
  link: {kind: pcie, gen: 5, width: 16}
memory: {bandwidth: 3000, source: "data sheet"}
healthy:
  - figures: {near.h2d: [54.0, 55.0], near.d2h: [52.0, 55.5], device_local.triad: [2700, 2750]}
    n: 2
    machine: bare metal
    source: "issue 7"
    command: "nvbandwidth 0.8"
    date: "2026-01-01"
"""
AZURE = "# a node\n * || check_gpu_count 8\n * || check_gpu_bw {} \n * || check_nccl_allreduce 460.0 1 16G\n"
DCGM = """spec: dcgm-diag-v1
skus:
  - name: X900 80GB
    id: '1234'
    memory_bandwidth: {is_allowed: true, minimum_bandwidth: 2700}
    pcie: {h2d_d2h_single_pinned: {min_pci_width: 16, min_bandwidth: 40.5}}
  - name: Y1
    memory_bandwidth: {minimum_bandwidth: 1.0}
"""


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gpus").mkdir()
    (tmp_path / "gpus" / "x900.yaml").write_text(GPU)
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path))


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        (
            AZURE.format("56"),
            2,
            [":3: error: host to device, 56 GB/s of NVIDIA X900 80GB: no healthy node reaches it", ":3: error: dev"],
        ),
        (
            AZURE.format("53"),
            0,
            [":3: fine: host to device", "some healthy nodes fail it (they have 52.0 GB/s and more)"],
        ),
        (AZURE.format("20"), 0, ["a sick node passes that has half of PCIe 5.0 x16 (2"] * 2),
        (
            DCGM,
            0,
            ["X900 80GB: warning: its own memory", "fine: host to device, 40.5", "fine: device to host", "1 models"],
        ),
    ],
)
def test_each_threshold_is_a_line(
    text: str, code: int, expected: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    assert cli.main(["lint", "--import", str(path), "--gpu", "x900"]) == code
    said = capsys.readouterr().out.splitlines()
    assert len(said) == len(expected) and all(words in line for words, line in zip(expected, said)), said


def test_a_file_without_thresholds_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file"
    for text, words in (
        ("", "no threshold in it"),
        ("skus: 7", "no threshold"),
        (AZURE.format("20"), "name them with --gpu MODEL"),
    ):
        path.write_text(text)
        assert cli.main(["lint", "--import", str(path)]) in (2, 3)
        said = capsys.readouterr().err
        assert words in said and said.count("\n") == 1
