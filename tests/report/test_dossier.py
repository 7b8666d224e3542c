"""The dossier of one run: what failed, on which boards, what explains it, what is not known."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from nearfar import cli
from tests.data.runs import modelled, synthetic
from tests.delivery.test_decisions import change_file

pypdf = pytest.importorskip("pypdf")
pytest.importorskip("reportlab")


def test_a_failing_node_on_paper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, paper = synthetic.broken(tmp_path / "run"), tmp_path / "ticket.pdf"
    logged = "2026-11-20 09:04 UTC GPU 3 at 0000:4b:00.0: Xid 79: GPU has fallen off the bus"
    for name, change in (
        ("run.json", lambda raw: raw.update(kernel_log=[logged])),
        ("h200-07/node.json", lambda raw: raw["gpus"][2].update(slot="21")),
    ):
        change_file(folder / name, change)
    assert cli.main(["report", str(folder), "--dossier", str(paper)]) == 0
    assert capsys.readouterr().out.strip() == str(paper)
    pages = pypdf.PdfReader(io.BytesIO(paper.read_bytes())).pages
    text = " ".join(" ".join(page.extract_text() for page in pages).split())
    for words in (
        "FAIL: h200-07", "3 GPUs, expected 4: GPU 3 (0000:4b:00.0) is absent", "GPU 2's PCIe link from device to host runs at half speed",
        "PCIe width x8 under load", "host_device D2H: g2->n0 27.1 GB/s", "GPU-00000001-5eed", "driver 580",
        logged, "all that was compared arrived intact", "h200-07 2 21 0000:3b:00.0",
        "Host memory on h200-07 should have run and did not",
    ):  # fmt: skip
        assert words in text, words


def test_wrong_use_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    healthy, predicted = synthetic.healthy(tmp_path / "run"), modelled.write(tmp_path / "model")
    for words, said in (
        ([str(healthy), str(predicted)], "2 runs are named; name one"),
        ([str(predicted)], "nothing was measured in"),
    ):
        assert cli.main(["report", *words, "--dossier", str(tmp_path / "x.pdf")]) == 2
        err = capsys.readouterr().err
        assert said in err and len(err.splitlines()) == 1
    assert not (tmp_path / "x.pdf").exists()
