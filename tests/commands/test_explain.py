"""``nearfar explain``, and the page that is made of the same tables."""

from __future__ import annotations

import json
import re
import string
from pathlib import Path

import pytest

from nearfar.base import ORDER
from nearfar.cli import main
from nearfar.commands import explain

CHECKOUT = Path(__file__).resolve().parents[2]
CODES = list(explain.messages())


def test_a_code_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "gpu.none"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("gpu.none: INDETERMINATE\n") and "\n  next: " in shown and "\n  more: docs/" in shown
    assert main(["explain", "--json", "gpu.none"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["code"] == "gpu.none"
    assert main(["explain"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(CODES)


def test_an_unknown_code_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "gpu.nonne"]) == 2
    assert capsys.readouterr().err == "nearfar: 'gpu.nonne': no such code (did you mean 'gpu.none'?)\n"
    assert main(["explain", ""]) == 2
    assert capsys.readouterr().err == "nearfar: '': no such code; nearfar explain lists them\n"


@pytest.mark.parametrize("code", CODES)
def test_every_message_is_whole(code: str) -> None:
    message = explain.messages()[code]
    subject, _, wrong = code.partition(".")
    assert subject and wrong and code == code.lower()
    assert message.verdict in ORDER
    assert not message.page or (CHECKOUT / "docs" / message.page.partition("#")[0]).exists()
    assert not message.sentence.endswith("."), "what to do next follows it"


@pytest.mark.parametrize("code", CODES)
def test_every_message_renders_its_fields(code: str) -> None:
    message = explain.messages()[code]
    plain = re.sub(r"[][]", "", f"{message.sentence} {message.next}")
    places = {name: spec for _, name, spec, _ in string.Formatter().parse(plain) if name}
    text = message.text("GPU 3", {name: 2 if spec else f"<{name}>" for name, spec in places.items()})
    assert not set("{}[]") & set(text)
    assert all(f"<{name}>" in text for name, spec in places.items() if not spec and name != "subject")


X900 = """gpu_models: [NVIDIA X900 80GB]
source: "data sheet: PCIe Gen5"
expect:
  link: {kind: pcie, gen: 5, width: 16}
healthy:
  - figures: {near.h2d: [54.0, 55.0]}
    n: 2
    machine: bare metal
    source: "issue 7"
    command: "nvbandwidth 0.8"
    date: "2026-01-01"
"""


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        ("54.5", ["54.0 to 55.0 GB/s on 2 machines", "54.5 GB/s is 101 % of the slowest of these: usual", "none"]),
        (
            "38",
            ["issue 7", "38 GB/s is 70 % of the slowest of these: too little (usual is at least", "another NUMA node"],
        ),
        (
            "27.9",
            ["PCIe 5.0 x16 carries 58.4", "less than half of what PCIe 5.0 x16 carries", "came up as PCIe 5.0 x8"],
        ),
        ("90", ["X900", "it is not a rate of one copy in one direction", "sum of both directions"]),
    ],
)
def test_a_rate_is_explained_in_three_lines(
    rate: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gpus").mkdir()
    (tmp_path / "gpus" / "x900.yaml").write_text(X900)
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path))
    assert main(["explain", "--gpu", "x900", "--h2d", rate]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and all(word in line for word, line in zip(words, lines)), lines


def test_of_models_without_such_figures_the_best_known_is_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--gpu", "H100", "--triad", "2000"]) == 0
    assert capsys.readouterr().out.startswith("NVIDIA H100 80GB HBM3 (not ")


def test_a_rate_is_explained_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--gpu", "T4", "--h2d", "11", "--d2h", "12GB/s", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["way"], first["rate"], first["model"]) == ("h2d", 11, "Tesla T4")
    assert first["low"] < first["typical"] < first["ceiling"]
    assert (second["way"], second["rate"]) == ("d2h", 12)


@pytest.mark.parametrize("rate", ["0", "-5", "nan", "38,5", "35GiB/s", "1e6"])
def test_what_is_no_rate_is_refused_with_its_unit(rate: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["explain", "--gpu", "H100", f"--h2d={rate}"])
    assert f"argument --h2d: '{rate}' is not a rate: give a number of GB/s" in capsys.readouterr().err


@pytest.mark.parametrize(("rate", "word"), [("12", "usual"), ("8", "too little (usual is at least 11.7 GB/s)")])
def test_a_model_without_figures_is_compared_with_like_links(
    capsys: pytest.CaptureFixture[str], rate: str, word: str
) -> None:
    assert main(["explain", "--gpu", "T4", "--h2d", rate]) == 0
    first, second, _ = capsys.readouterr().out.splitlines()
    assert "others with such a link typically reach 13.8 GB/s" in first and second.endswith(f": {word}")


def test_a_rate_of_an_unknown_gpu_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["--gpu", "Voodoo2", "--h2d", "3"],
        ["--gpu", "H100"],
        ["--h2d", "3"],
        ["gpu.none", "--gpu", "H100", "--h2d", "3"],
    ):
        assert main(["explain", *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_misspelt_model_is_suggested(capsys):
    assert main(["explain", "--gpu", "H1000", "--h2d", "38"]) == 2
    assert "such a model (did you mean 'h100'?) (known: a10, " in capsys.readouterr().err
