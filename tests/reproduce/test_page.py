"""The page of a paper: every row is on it, once, and needs no other file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from nearfar import cli
from nearfar.reproduce import load_paper
from tests.conftest import CHECKOUT
from tests.report.test_report import Page
from tests.reproduce import made_runs

NAMES = ["hamilton-sl390", "joubert2019", "meredith2012", "pop-gpu-affinity", "spafford2011"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    checks = ["host_device_check", "saturation_check", "peer_check"]
    return made_runs.write(tmp_path_factory.mktemp("run"), "keeneland", {"g0:n1": 0.5}, checks)


def page(tmp_path: Path, name: str, *options: str) -> Page:
    assert cli.main(["reproduce", name, "--page", str(tmp_path / "page.html"), *options]) == 0
    return Page(tmp_path / "page.html")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("measured", [False, True])
def test_every_row_is_on_its_page_once(tmp_path: Path, run: Path, name: str, measured: bool) -> None:
    found = page(tmp_path, name, *(["--run", str(run)] if measured else []))
    paper = load_paper(name, [CHECKOUT / "site"])
    assert sorted(word for word in found.ids if word.startswith("row-")) == sorted(
        f"row-{row.id}" for row in paper.rows
    )
    assert [word for word, count in Counter(found.ids).items() if count > 1] == []
    assert {link[1:] for link in found.links if link.startswith("#")} <= set(found.ids)
    text = " ".join(found.text.split())
    for row in paper.rows:
        assert row.what in text and row.place.lower() in text.lower()
        assert all(words in text for words in (row.not_asked, row.lacks, row.command) if words)
    # It needs no other file.
    assert found.loaded == [] and "script" not in found.tags and paper.title in text
    assert ("kid107" in text) == measured


def test_what_stands_out_is_said_first(tmp_path: Path, run: Path) -> None:
    text = " ".join(page(tmp_path, "spafford2011", "--run", str(run)).text.split())
    first = text.partition("The nodes")[0]
    assert "Section 3.1, D2H, off-socket: 66 % here, 31 % published: 35 points more: 2.1 times the paper's" in first
    assert "Section 7, three GPUs at once, H2D: 17.1 GB/s here, 16.2 GB/s published: 5.6 % above the paper's" in first
    assert "Cannot be as printed: 16 MB in 13.955 µs" in text


def test_a_table_of_ranks_keeps_its_zeros(tmp_path: Path) -> None:
    found = page(tmp_path, "joubert2019")
    # As the source prints them, with its zeros.
    assert "35.00" in found.text and "183.80" in found.text


def test_a_title_with_markup_stays_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site/published").mkdir(parents=True)
    row = '{id: 900, place: "<b>table</b>", kind: claim, what: "<script>1</script>", not_asked: "a & b"}'
    (tmp_path / "site/published/mine.yaml").write_text(f'paper: mine\ntitle: "<i>Mine</i>"\nrows:\n  - {row}\n')
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    found = page(tmp_path, "mine")
    assert "script" not in found.tags and "<script>1</script>" in found.text and "<i>Mine</i>" in found.text


def test_a_shared_uplink_is_named_once(tmp_path: Path) -> None:
    text = page(tmp_path, "pop-gpu-affinity").text
    assert "uplink 41:00.0" in text and "uplink uplink" not in text
