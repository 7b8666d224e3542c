"""The inventory of published rows: complete, sound, and each with a command or a reason."""

from __future__ import annotations

import fnmatch
import json
import re
from pathlib import Path

import pytest
import yaml

from nearfar import cli
from nearfar.base import NearfarError, site_files
from nearfar.model.prediction import load_node_type
from nearfar.question import Question, questions
from nearfar.reproduce import beside, load_paper, papers
from nearfar.site import applications
from nearfar.topology import Node
from tests.conftest import CHECKOUT

SITE = [CHECKOUT / "site"]
#: Numbers of remarks that no source has: of versions, and what is computed of the source's own.
OUR_OWN = {0.07, 1.0, 2.0, 6.92, 13.5}
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
            assert not words or words[0] in ("nearfar", "nearfar-copy"), row
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
        known |= {round(value / 1000, 9) for value in known}
        for row in paper.rows:
            if row.paper == name:
                assert set(row.values) <= known, row
                said = {float(number) for number in re.findall(r"\d+\.\d+", f"{row.what} {row.remark}")} - OUR_OWN
                assert said <= known, row


def test_the_inventory_of_the_sources_is_all_there() -> None:
    """The list that was made of the sources by hand; not part of the checkout."""
    path = CHECKOUT.parent / "shared/published/inventory.yaml"
    if not path.exists():
        pytest.skip(f"{path.name} of the sources is not here: it lies outside the checkout")
    wanted = {row["id"]: row["papers"] for row in yaml.safe_load(path.read_text())["rows"]}
    found = {row.id: row.papers for paper in papers(SITE).values() for row in paper.rows}
    assert {number: sorted(names) for number, names in found.items()} == {
        number: sorted(names) for number, names in wanted.items()
    }


def test_a_row_that_runs_is_asked_by_its_checks() -> None:
    """Every cell and figure of a row stands among those that its checks ask of the paper's node."""
    known = {question.name: question for question in questions()}
    for row in {row.id: row for paper in papers(SITE).values() for row in paper.rows}.values():
        if not row.command.startswith("nearfar validate") or not row.node_type:
            continue
        nodes = [
            load_node_type(name, SITE).node for name in {figure.node_type for figure in row.figures} or {row.node_type}
        ]
        asked = {cell for name in row.checks for node in nodes for cell in known[name].cells(node)[0]}
        names = {
            metric.name
            for name in row.checks
            for node in nodes
            for metric in known[name].known_figures(node, ("two_nodes",))
        }
        if "binding_check" in row.checks:
            names |= figures_of_applications()
        assert set(row.cells) <= asked, row.id
        results = {subject for name in row.checks for node in nodes for subject in subjects_of(known[name], node)}
        for metric in (part.metric for figure in row.figures for part in (figure.asked, figure.against)):
            if metric is None or metric.which in ("mean row", "peak"):
                continue
            subject, _, size = metric.pattern.partition(":")[2].partition("@")
            assert fnmatch.filter(results if size else names, subject if size else metric.pattern), (row.id, metric)


def subjects_of(question: Question, node: Node) -> set[str]:
    """What a check's program prints results of on two such nodes."""
    if question.synthetic is None:
        return set()
    document = question.synthetic(node, ("two_nodes",))
    return {result.subject for result in document.results} | {
        str(r.get("cell")) for r in document.raw.get("results", ())
    }


def test_a_published_value_has_a_prediction_or_the_reason() -> None:
    for paper in papers(SITE).values():
        for each in beside(paper, SITE):
            without = [f for f in each.figures if f.published.value is not None and f.modelled is None]
            assert not without or each.row.unmodelled, (each.row.id, without[0].published.name)


def test_what_is_not_done_is_what_no_machine_can_answer() -> None:
    open_rows = {
        row.id: row.lacks or row.not_asked
        for paper in papers(SITE).values()
        for row in paper.rows
        if row.state != "done"
    }
    assert sorted(open_rows) == [10, 17]
    assert "no Keeneland is left" in open_rows[10] and "in no free code known today" in open_rows[17]


def figures_of_applications() -> set[str]:
    """What binding_check calls the figures of the shipped applications."""
    every = [applications.load(name, SITE) for name in site_files("applications", SITE)]
    return {f"{one.name}.{scheme}".replace("-", "_") for one in every for scheme in one.options["schemes"]}


def test_commands_that_measure_nothing_run(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row.id: row for paper in papers(SITE).values() for row in paper.rows}.values()
    commands = {row.command for row in rows if row.command.startswith(("nearfar bind", "nearfar predict"))}
    assert len(commands) > 8
    for command in commands:
        assert cli.main(command.split()[1:]) == 0, command
        assert capsys.readouterr().out, command


GOOD = "{id: 1, place: table 1, kind: measured, what: a figure, command: nearfar detect}"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            "{id: 2, place: table 1, kind: measured, what: a figure}",
            "row 2: neither a command that measures it nor a reason",
        ),
        (
            "{id: 2, place: t, kind: claim, what: w, command: nearfar detect, not_asked: nobody}",
            "row 2: both a command and not_asked",
        ),
        ("{id: 2, place: t, kind: claim, what: w, not_asked: nobody, lacks: half}", "row 2: lacks"),
        ("{id: 1, place: t, kind: claim, what: w, not_asked: nobody}", "row 1 stands in mine.yaml already"),
        (
            "{id: 2, place: t, kind: claim, what: w, not_asked: nobody, also: [other]}",
            "row 2: also: 'other' is not a paper",
        ),
        ("{id: 2, place: t, kind: claim, what: w, not_asked: nobody, cells: ['n0']}", "row 2: cell 'n0'"),
        (
            "{id: 2, place: t, kind: claim, what: w, command: c, values: [1, 2], unit: us, names: [one]}",
            "row 2: names: 1 entries for 2 values",
        ),
        (
            "{id: 2, place: t, kind: claim, what: w, command: c, values: [1], unit: GB/s, cells: ['n0:g0'], against: ['n0:g1']}",
            "row 2: against: … makes percent of the figures, and their unit is 'GB/s'",
        ),
        (
            "{id: 2, place: t, kind: claim, what: w, command: c, values: [1], unit: percent, cells: ['n0:g0'], against: [['n0:g']]}",
            "row 2: cell 'n0:g'",
        ),
        (
            "{id: 2, place: t, kind: claim, what: w, command: c, values: [1], unit: us, metrics: [fewest a.*]}",
            "row 2: metrics: 'fewest a.*'",
        ),
        (
            "{id: 2, place: t, kind: claim, what: w, command: c, values: [1], metrics: [a.*], cells: ['n0:g0']}",
            "row 2: both cells and metrics",
        ),
        (
            "{id: 2, place: t, kind: claim, what: w, command: c, values: [.nan], unit: us}",
            "row 2: values and tolerance are finite numbers",
        ),
        (
            '{id: 2, place: t, kind: claim, what: w, command: "nearfar bind \'x"}',
            "row 2: command: a shell cannot read it",
        ),
        (
            "{id: 2, place: t, kind: claim, what: w, command: nearfar validate --check host_devise_check}",
            "row 2: no check is called 'host_devise_check' (did you mean 'host_device_check'?)",
        ),
        ("{id: 2, place: t, kind: guess, what: w, not_asked: nobody}", "kind"),
    ],
)
def test_a_row_that_is_wrong_is_named(tmp_path: Path, row: str, words: str) -> None:
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "mine.yaml").write_text(f"paper: mine\ntitle: Mine\nrows:\n  - {GOOD}\n  - {row}\n")
    with pytest.raises(NearfarError, match=r"mine\.yaml:\d+: ") as raised:
        papers([tmp_path])
    assert words in str(raised.value) and "\n" not in str(raised.value)


def test_a_cell_that_its_node_has_not_and_a_paper_that_lint_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "published").mkdir()
    row = "id: 902, place: t, kind: claim, what: w, command: c, node_type: keeneland, values: [1], unit: GB/s"
    file = tmp_path / "published" / "mine.yaml"
    file.write_text(f"paper: mine\ntitle: Mine\nrows:\n  - {{{row}, cells: ['n0:g9']}}\n")
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path))
    assert cli.main(["reproduce", "mine"]) == 2
    assert "mine: row 902: node type keeneland has no g9; it has: g0, g1, g2" in capsys.readouterr().err
    file.write_text(f"paper: mine\ntitle: Mine\nrows:\n  - {{{row}, not_asked: why}}\n")
    assert cli.main(["lint", str(file)]) == 2
    assert "mine.yaml:4: error: row 902: both a command and not_asked" in capsys.readouterr().out


def test_a_paper_that_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "jubert2019"]) == 2
    assert "no paper is called 'jubert2019' (did you mean 'joubert2019'?)" in capsys.readouterr().err
    assert cli.main(["reproduce"]) == 2
    assert "name one paper, or --list them all" in capsys.readouterr().err


def test_the_list_counts_every_row_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "--list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["done"], found["in part"], found["not run"]) == (59, 57, 2, 0)
    assert [row["id"] for row in found["each"]] == list(range(1, 60))
    assert cli.main(["reproduce", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in NAMES) and "each row once" in out
    assert re.search(r"^ *10 +spafford2011 +figure 5 +in part +HPL .*; not: 2 to 64 nodes: no Keeneland", out, re.M)


def test_the_model_beside_what_was_published(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {each.row.id: each for each in beside(load_paper("joubert2019", SITE), SITE)}
    last = next(f for f in rows[45].figures if f.published.value == 274.82)
    assert (last.published.tolerance, last.basis, last.measured) == (pytest.approx(8.2446), "predicted", None)
    assert last.difference == pytest.approx(-0.0008, abs=0.0001)
    # An input agrees with itself: no difference is given.
    assert rows[44].figures[0].basis == "input" and rows[44].figures[0].difference is None
    assert cli.main(["reproduce", "spafford2011"]) == 0
    out = capsys.readouterr().out
    assert (
        "upper bound" in out
        and "cannot be as printed: 16 MB in 13.955 µs" in out
        and "(not: 2 to 64 nodes: no Keeneland is left to measure; NVIDIA's HPL 9: it was never free" in out
        and "no prediction: the model cannot see starvation" in out
    )
    # The words of the model that stand in its column are explained below, and no others.
    assert (
        re.search(r"^  upper bound +something that nobody published may limit it more$", out, re.M)
        and "another input" not in out
    )


def test_a_figure_of_a_rate_has_its_unit() -> None:
    rows = {row.id: row for name in NAMES for row in load_paper(name, SITE).rows}
    assert [rows[number].unit for number in (4, 31, 38)] == ["GB/s", "GB/s", "GB/s"]
