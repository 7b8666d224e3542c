"""``nearfar compare``: its lines, its document, its page, its exit codes."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli, compare
from nearfar.base import validator
from tests.compare.made_runs import copies, make_run, node_json

CHECK = "host_device_check"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six runs: 1 and 2 healthy, 3 with a new driver and 5 % less to GPU 0, 4 and 9 disturbed, 5 modelled."""
    make_run(tmp_path, 1, {CHECK: copies()})
    make_run(tmp_path, 2, {CHECK: copies()})
    make_run(tmp_path, 3, {CHECK: copies(0.95, "n0_g0")}, machine=node_json("590.4"))
    make_run(tmp_path, 4, {CHECK: copies(0.5, disturbance="cpus")})
    make_run(tmp_path, 9, {CHECK: copies(0.6, disturbance="gpu")})
    make_run(tmp_path, 5, {CHECK: copies()}, kind="modelled")
    monkeypatch.setenv("NEARFAR_STATE", str(tmp_path))
    return tmp_path / "reports" / "s"


@pytest.fixture
def ask(runs: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*words: str) -> tuple[int, str, str]:
        try:
            code = cli.main(["compare", *words])
        except SystemExit as stop:
            code = int(stop.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_the_first_line_is_the_answer(ask: Any) -> None:
    code, out, _ = ask("s/run1", "s/run3")
    lines = out.splitlines()
    assert code == 0 and lines[0] == "slower: 1 of 8 figures, −5.0 % (H2D n0→g0, Host ↔ GPU)"
    assert "  driver  580.1 → 590.4 (can explain what changed of copies between host and GPU)" in lines
    assert re.search(r"H2D n0→g0, Host ↔ GPU +55\.00 +52\.25 +GB/s +−5\.0 % +−\d\.\d to −\d\.\d % +1, 1 +slower", out)
    assert ask("s/run1", "s/run2")[1].startswith("no change that is more than chance in 8 figures\n")
    assert ask("s/run3", "s/run1")[1].startswith("faster: 1 of 8 figures, +5.3 % (H2D n0→g0, Host ↔ GPU)\n")


def test_lines_fit_a_terminal(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearfar.report.blocks.terminal.terminal_width", lambda: 100)
    for words in (["s/run1", "s/run3", "--all"], ["s/run1", "s/run4"], ["s/run1", "s/run3", "--at-most", "3%"]):
        assert max(map(len, ask(*words)[1].splitlines())) <= 100


def test_all_shows_every_pair(ask: Any) -> None:
    _, out, _ = ask("s/run1", "s/run3", "--all")
    every = out.partition("all figures\n")[2]
    assert "Host ↔ GPU (host_device_check)" in every
    assert sum("→" in line and "GB/s" in line for line in every.splitlines()) == 8


def test_sets_of_runs_by_patterns(ask: Any) -> None:
    code, out, _ = ask("--before", "s/run[12]", "--after", "s/run3")
    assert code == 0 and "before  2 runs of n, 2026-11-20 09:01 to 09:02 UTC" in out.splitlines()


@pytest.mark.parametrize(("bound", "code"), [("3%", 1), ("4.9 %", 1), ("6%", 0)])
def test_worse_than_a_bound_is_exit_code_1(ask: Any, bound: str, code: int) -> None:
    found, out, _ = ask("--at-most", bound, "s/run1", "s/run3")
    assert found == code
    assert out.splitlines()[1].startswith(
        "1 figure slower by more than" if code else "nothing is slower by more than 6 %"
    )
    assert ask("--at-most", bound, "s/run3", "s/run1")[0] == 0, "faster is never beyond it"


@pytest.mark.parametrize("bound", ["5", "0%", "200%", "five", "5%%", "nan%", ""])
def test_a_bound_that_is_none_is_refused(ask: Any, bound: str) -> None:
    code, _, err = ask("--at-most", bound, "s/run1", "s/run3")
    assert code == 2 and "--at-most" in err and "%" in err.splitlines()[-1]


def test_what_is_in_doubt_is_never_green(ask: Any) -> None:
    code, out, _ = ask("s/run1", "s/run4")
    assert code == 3 and out.startswith("cannot compare: the run after was disturbed by other load\n")
    code, out, _ = ask("s/run4", "s/run9")
    assert code == 3 and out.startswith("cannot compare: both runs were disturbed by other load\n")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["s/run1"], 2, "1 run is named: name two"),
        (["s/run1", "s/run2", "s/run3"], 2, "3 runs are named"),
        (["--before", "s/run1"], 2, "go together"),
        (["s/run1", "--before", "s/run1", "--after", "s/run2"], 2, "go together"),
        (["s/run1", "s/run1"], 2, "is named twice"),
        (["--before", "s/run1", "s/run2", "--after", "s/run2"], 2, "is named twice"),
        (["s/run1", "s/none"], 2, "no run directory of that name"),
        (["s/run1", "s"], 2, "run.json: not there"),
        (["s/run1", "s/run5"], 3, "is modelled"),
    ],
)
def test_wrong_use_is_one_line(ask: Any, words: list[str], code: int, said: str) -> None:
    found, out, err = ask(*words)
    assert (found, out, len(err.splitlines())) == (code, "", 1) and said in err


def test_a_run_of_reframe_itself_is_named(ask: Any, runs: Path) -> None:
    (runs / "run1" / "run.json").rename(runs / "run1" / "reframe-report.json")
    code, _, err = ask("s/run1", "s/run2")
    assert code == 2 and "nearfar report" in err and len(err.splitlines()) == 1


def test_the_document_keeps_to_its_schema(ask: Any) -> None:
    code, out, _ = ask("--json", "--at-most", "3%", "s/run1", "s/run3")
    raw = json.loads(out)
    assert code == 1 and not list(validator("compare-1").iter_errors(raw))
    assert raw["beyond"] == [{"nodes": [["n", "n"]], "check": CHECK, "name": "near.n0_g0"}]
    assert raw["budget"]["tested"] == 8 and raw["at_most"] == 0.03
    (figure,) = [each for each in raw["figures"] if each["significant"]]
    assert figure["worse"] and figure["change"] == pytest.approx(-0.05) and figure["before"]["value"] == 55.0
    assert {(each["what"], each["after"]) for each in raw["changed"]} == {("driver", "590.4")}


class _Addresses(HTMLParser):
    """Every address in a page, and the tags that are open at its end."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("href", "src", "action", "data")]
        if tag not in ("meta", "link", "br", "circle", "line", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("circle", "line"):
            assert self.open.pop() == tag


def test_the_page_is_one_file_that_needs_no_other(ask: Any, tmp_path: Path) -> None:
    page = tmp_path / "out" / "change.html"
    code, out, _ = ask("--page", str(page), "--at-most", "3%", "s/run1", "s/run3")
    assert code == 1 and out.startswith("slower:"), "the terminal says it all the same"
    assert out.splitlines()[-1] == str(page)
    text = page.read_text()
    reader = _Addresses()
    reader.feed(text)
    assert not reader.open and all(address.startswith("#") for address in reader.found)
    for words in ("590.4", "serial s0", "H2D n0→g0", "−5.0 %", "nearfar-copy", "<svg", "Holm", "by more than 3 %"):
        assert words in text
    assert "url(" not in text and "@import" not in text


def test_a_page_of_many_nodes_lists_what_they_have_together(
    ask: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare.blocks, "MOST_ROWS", 20)
    for number, factor in ((7, 1.0), (8, 0.95)):
        make_run(tmp_path, number, {CHECK: copies(factor, "n0_g0")}, nodes=["n1", "n2", "n3"])
    ask("--page", str(tmp_path / "many.html"), "s/run7", "s/run8")
    text = (tmp_path / "many.html").read_text()
    assert "11 of 32 pairs" in text and "D2H g0→n0 on 3 nodes together" in text and "D2H g0→n0 on n1" not in text


def test_what_files_say_is_no_markup(ask: Any, tmp_path: Path) -> None:
    make_run(tmp_path, 6, {CHECK: copies()}, machine=node_json("<script>\x1b[31m"))
    page = tmp_path / "x.html"
    _, out, _ = ask("--page", str(page), "s/run1", "s/run6")
    assert "\x1b" not in out and "<script>" not in page.read_text() and "&lt;script&gt;" in page.read_text()


def test_a_page_that_cannot_be_written_is_one_line(ask: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = ask("--page", str(tmp_path / "file" / "x.html"), "s/run1", "s/run2")
    assert code == 3 and len(err.splitlines()) == 1 and "not a directory; name another file with --page" in err


def test_settings_of_many_nodes_need_no_figure(ask: Any, tmp_path: Path) -> None:
    described = []
    for number in range(1, 5):
        file = tmp_path / f"n{number}.json"
        settings = {"settings": {"bios": "1.2" if number == 3 else "1.4", "turbo": "on"}}
        file.write_text(json.dumps({**node_json(), **settings, "hostname": f"n{number}"}))
        described.append(str(file))
    code, out, _ = ask("--settings", *described)
    lines = out.splitlines()
    assert (code, lines[0]) == (0, "3 of 4 nodes have BIOS 1.4, 1 has 1.2 (n3)")
    assert lines[1].startswith("    can explain: host memory, latencies, ")
    assert "the same on all: NUMA nodes per socket (NPS, SNC), turbo, driver, kernel, ECC" in out
    assert "not read on any: hypervisor, CPU governor" in out
    code, out, _ = ask("--settings", "s/run1", *described[:1])
    assert code == 0 and out.startswith("the same on all: ")
    code, _, err = ask("--settings", "s/run1")
    assert (code, "two nodes" in err) == (2, True)
    assert ask("--settings", "--page", "x.html", *described)[0] == 2
