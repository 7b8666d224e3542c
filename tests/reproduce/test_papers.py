"""The inventory of published rows: complete, sound, and each with a command or a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from nearfar import cli
from nearfar.base import CHECKOUT, NearfarError, site_files
from nearfar.question import questions
from nearfar.reproduce import beside, load_paper, papers

SITE = [CHECKOUT / "site"]
NAMES = ["hamilton-sl390", "joubert2019", "meredith2012", "pop-gpu-affinity", "spafford2011"]


def test_nothing_is_absent() -> None:
    known = papers(SITE)
    assert sorted(known) == NAMES
    rows = {row.id: row for paper in known.values() for row in paper.rows}
    assert sorted(rows) == list(range(1, 60))
    assert sum(len(paper.rows) for paper in known.values()) == 59 + sum(len(row.papers) - 1 for row in rows.values())
    # What several papers contain stands in each of them.
    assert {row.id for row in known["joubert2019"].rows} >= {24} and {
        row.id for row in known["hamilton-sl390"].rows
    } >= {35}


def test_what_rows_name_exists() -> None:
    checks = {question.name for question in questions()}
    types = site_files("nodes", SITE)
    for paper in papers(SITE).values():
        for row in paper.rows:
            assert not row.check or row.check in checks, row
            assert not row.node_type or row.node_type in types, row
            words = row.command.split()
            assert not words or words[0] in ("nearfar", "nearfar-copy", "nearfar-stream"), row
            assert "--check" not in words or set(words[words.index("--check") + 1 :]) <= checks, row
            assert not row.command.startswith("nearfar ") or words[1] in cli.COMMANDS, row


def test_published_values_are_those_of_the_transcriptions() -> None:
    def numbers(value: object) -> set[float]:
        if isinstance(value, dict):
            return set().union(*map(numbers, value.values()))
        if isinstance(value, list):
            return set().union(*map(numbers, value))
        return {float(str(value))}

    for name, paper in papers(SITE).items():
        places = yaml.safe_load((CHECKOUT / "tests/data/published" / f"{name}.yaml").read_text())["places"]
        known = set().union(*(numbers(entry["values"]) for listed in places.values() for entry in listed))
        known |= {value / 1000 for value in known}
        for row in paper.rows:
            if row.paper == name:
                assert set(row.values) <= known, row


GOOD = "{id: 1, place: table 1, kind: measured, what: a figure, command: nearfar detect}"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            "{id: 2, place: table 1, kind: measured, what: a figure}",
            "row 2: neither a command that asks it nor a reason",
        ),
        (
            "{id: 2, place: t, kind: claim, what: w, command: nearfar detect, not_asked: nobody}",
            "row 2: both a command and not_asked",
        ),
        ("{id: 2, place: t, kind: claim, what: w, not_asked: nobody, lacks: half}", "row 2: lacks"),
        ("{id: 1, place: t, kind: claim, what: w, not_asked: nobody}", "row 1 stands in mine.yaml already"),
        (
            "{id: 2, place: t, kind: claim, what: w, not_asked: nobody, also: [other]}",
            "row 2: also: 'other' is no paper",
        ),
        ("{id: 2, place: t, kind: claim, what: w, not_asked: nobody, cells: ['n0']}", "row 2: cell 'n0'"),
        ("{id: 2, place: t, kind: guess, what: w, not_asked: nobody}", "kind"),
    ],
)
def test_a_row_that_is_wrong_is_named(tmp_path: Path, row: str, words: str) -> None:
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "mine.yaml").write_text(f"paper: mine\ntitle: Mine\nrows:\n  - {GOOD}\n  - {row}\n")
    with pytest.raises(NearfarError, match=r"mine\.yaml:\d+: ") as raised:
        papers([tmp_path])
    assert words in str(raised.value) and "\n" not in str(raised.value)


def test_a_paper_that_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "jubert2019"]) == 2
    assert "no paper is called 'jubert2019' (did you mean 'joubert2019'?)" in capsys.readouterr().err
    assert cli.main(["reproduce"]) == 2
    assert "name one paper, or --list them all" in capsys.readouterr().err


def test_the_list_counts_every_row_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "--list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 59 == found["runs"] + found["in part"] + found["not asked"]
    assert cli.main(["reproduce", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in NAMES) and "each row once" in out


def test_the_model_beside_what_was_published(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {each.row.id: each for each in beside(load_paper("joubert2019", SITE), SITE)}
    last = next(f for f in rows[45].figures if f.published == 274.82)
    assert (last.published, last.basis, last.measured) == (274.82, "predicted", None)
    assert last.difference == pytest.approx(-0.0008, abs=0.0001)
    # An input agrees with itself: no difference is given.
    assert rows[44].figures[0].basis == "input" and rows[44].figures[0].difference is None
    assert cli.main(["reproduce", "spafford2011"]) == 0
    out = capsys.readouterr().out
    assert "at best" in out and "cannot be: 16 MB in 13.955 µs" in out and "not asked: HPL is not run" in out
