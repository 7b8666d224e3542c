"""Runs shown: the page, report.json, JUnit XML and the terminal's screen, from synthetic run directories."""

from __future__ import annotations

import html
import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from nearfar import cli, report
from nearfar.base import verdicts
from nearfar.base.errors import NearfarError
from nearfar.report import headline, terminal
from nearfar.report import page as report_page
from nearfar.report.charts.places import FIGURE, Place
from nearfar.report.figures import Figure
from nearfar.verdict import NodeRun, run_directory
from tests.data.runs import synthetic
from tests.support.verdicts import change_document, judged_metric


class Page(HTMLParser):
    """What a test asks of a page: ids, links, tags, texts, and the words of every heat-map place."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.tags: Counter[str] = Counter()
        self.places: list[str] = []
        self._in_heat = self._in_place = self._hidden = False
        self.text = ""
        self.feed(self.source)
        # The glossary at the end has every word, whatever the run is.
        self.text = self.text.partition("The words on this page")[0]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags[tag] += 1
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if tag == "a":
            self.links.append(str(given.get("href")))
        self.loaded += [str(given[key]) for key in ("src", "srcset", "data") if key in given]
        if tag == "link":
            self.loaded.append(str(given.get("href")))
        self._hidden = tag == "style"
        if tag == "table":
            self._in_heat = "heat" in str(given.get("class")).split()
        if tag == "td" and self._in_heat:
            self._in_place = True
            self.places.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "table"):
            self._in_place = False
        if tag == "style":
            self._hidden = False

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.text += data
        if self._in_place:
            self.places[-1] += data.strip()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Page]:
    """Every scenario, built."""
    place = tmp_path_factory.mktemp("runs")
    return {name: Page(report.build(write(place / name))) for name, write in synthetic.SCENARIOS.items()}


def junit(folder: Path) -> ET.Element:
    return ET.parse(folder / "junit.xml").getroot()


def _first_sentence(page: Page) -> str:
    """What the page says first: the sentence below its heading."""
    found = re.search(r"<p>(.*?)</p>", page.source, re.S)
    assert found is not None
    return html.unescape(re.sub(r"<[^>]*>", "", found[1])).strip()


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


# What holds of every page.


@pytest.mark.parametrize("name", synthetic.SCENARIOS)
def test_a_page_stands_alone(pages: dict[str, Page], name: str) -> None:
    page = pages[name]
    assert not page.tags["script"] and not page.loaded and "@import" not in page.source
    assert not re.search(r"url\(\s*['\"]?(?!data:)", page.source)
    assert not [link for link in page.links if re.match(r"[a-z]+:|//", link)]
    assert "default-src 'none'" in page.source


@pytest.mark.parametrize("name", synthetic.SCENARIOS)
def test_every_link_inside_a_page_leads_to_one_place(pages: dict[str, Page], name: str) -> None:
    page = pages[name]
    assert [i for i, count in Counter(page.ids).items() if count > 1] == []
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


@pytest.mark.parametrize("name", synthetic.SCENARIOS)
def test_no_place_of_a_heat_map_is_blank(pages: dict[str, Page], name: str) -> None:
    assert pages[name].places and all(pages[name].places)


@pytest.mark.parametrize("name", synthetic.SCENARIOS)
def test_a_terminal_gets_a_screen_at_most_that_ends_with_the_page_and_a_command(tmp_path: Path, name: str) -> None:
    folder = synthetic.SCENARIOS[name](tmp_path / "run")
    lines = report.summary(folder, colour=False).splitlines()
    assert len(lines) <= terminal.MOST_LINES
    assert lines[-2] == f"page  {folder / 'index.html'}"
    assert lines[-1].startswith("next  ") and "nearfar" in lines[-1].partition("#")[0]


# Who else used the node.


def with_machine(folder: Path, **machine: object) -> Page:
    """The page of a run whose documents all say this of the machine."""
    for path in folder.glob("*/*/verdict.json"):
        change_document(path, machine=machine)
    return Page(report.build(folder))


def test_a_busy_machine_is_said_in_a_line(tmp_path: Path) -> None:
    look = {"others": 9.0, "own": 2.0, "steal": 0.5}
    page = with_machine(
        synthetic.healthy(tmp_path), looks=[{"at": 0.5, **look}], mean={**look, "others": 3.14},
        busiest=[{"pid": 7, "command": "<stress>", "user": "root", "cpus": 2.5}],
        gpu_processes=[{"gpu": 1, "pci": "0000:2b:00.0", "pid": 9, "name": "python3", "when": "after"}],
    )  # fmt: skip
    assert (
        "While this node was measured, other processes used 3.1 CPUs, up to 9.0 (<stress> of root 2.5); "
        "its hypervisor withheld 0.5 CPUs (steal time); python3 (pid 9) was on g1." in page.text
    )
    assert "<stress>" not in page.source


@pytest.mark.parametrize("machine", [{}, {"looks": [], "mean": {"others": 0.9, "own": 9.0, "steal": 0.01}}])
def test_a_machine_that_nobody_else_used_needs_no_line(tmp_path: Path, machine: dict[str, object]) -> None:
    assert "While this node" not in with_machine(synthetic.healthy(tmp_path), **machine).text


@pytest.mark.parametrize("lost", ["verdict.json", ""])
def test_a_run_whose_files_are_gone_is_not_green(tmp_path: Path, lost: str) -> None:
    folder = synthetic.one_gpu(tmp_path)
    check = folder / "workstation" / "host_device_check"
    (check / "verdict.json").unlink()
    if not lost:
        shutil.rmtree(check)
    page, said = Page(report.build(folder)), report.summary(folder, colour=False)
    assert said.startswith(f"INDETERMINATE  {_first_sentence(page)}") and "<title>INDETERMINATE" in page.source
    words = "left no verdict" if lost else f"its folder is no longer in {folder}"
    assert words in said and words in page.text


@pytest.mark.parametrize("kept", ["document.json", "stderr.txt"])
def test_any_file_of_a_check_shows_that_it_began(tmp_path: Path, kept: str) -> None:
    folder = synthetic.one_gpu(tmp_path)
    check = folder / "workstation" / "host_device_check"
    shutil.rmtree(check)
    check.mkdir()
    (check / kept).touch()
    (node,) = run_directory.read(folder).nodes
    assert {one.name: one.word for one in node.checks}["host_device_check"] == "INDETERMINATE"


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(("verdict", "shown"), [("PASS", 55.0), ("DEGRADED", 40.0)])
def test_a_drawn_link_has_its_worst_figure_else_its_fastest(order: int, verdict: str, shown: float) -> None:
    pairs = ((50.0, "PASS"), (55.0, "PASS"), (40.0, verdict))[::order]
    found = [Figure(**vars(judged_metric(value=value, verdict=word))) for value, word in pairs]
    figure = report_page._findings(NodeRun(Path("n"), "n", "s", False, None, ()), found).lanes[0]["h2d"]
    assert figure is not None and figure.value == shown


# Four kinds of run.


def test_a_healthy_node(tmp_path: Path) -> None:
    folder = synthetic.healthy(tmp_path)
    page = Page(report.build(folder))
    assert "All 21 judged figures are within their bounds" in page.text
    assert "MODELLED" not in page.text and not re.search('class="(word )?(FAIL|DEGRADED|INDETERMINATE)', page.source)
    said = report.summary(folder, colour=False, every=True).splitlines()
    assert [" ".join(line.split()) for line in said[:7]] == [
        "PASS All 21 judged figures are within their bounds.",
        "verdict question figure measured reference share",
        "PASS host_memory local STREAM triad 213.9 GB/s 212.0 101 %",
        "PASS host_device H2D 55.5–55.6 GB/s 53.8 103 %",
        "PASS D2H 55.4 GB/s 53.8 103 %",
        "PASS both 103.0–103.1 GB/s 99.4 104 %",
        "PASS topology 4 × NVIDIA H200, 1 NUMA node, PCIe 5 ×16, as expected",
    ]
    assert {line.rindex("%") for line in said[2:6]} == {len(said[1]) - 1}, "columns are aligned"
    digest = json.loads((folder / "report.json").read_text())
    assert digest["schema"] == "nearfar-report/1" and digest["verdict"] == "PASS"
    names = [m["name"] for check in digest["nodes"][0]["checks"] for m in check["metrics"]]
    assert "sole.n0_g2" in names and "sole.n0_g0__g0_n0.total" in names and len(names) == 21
    root = junit(folder)
    assert root[0].get("tests") == "3" and root[0].get("failures") == root[0].get("errors") == "0"
    values = {p.get("name"): p.get("value") for p in root.iter("property")}
    assert float(str(values["sole.g3_n0"]).split()[0]) == pytest.approx(55.4, abs=0.3)


def test_a_broken_node_says_what_is_broken_worst_first(tmp_path: Path) -> None:
    folder = synthetic.broken(tmp_path)
    page = Page(report.build(folder))
    reasons = headline.reasons(run_directory.read(folder))
    words = [group.cause.finding.verdict for group in reasons]
    assert words == sorted(words, key=verdicts.ORDER.index)
    gone, narrow = reasons[:2]
    assert gone.cause.finding.hard and "GPU 3 (0000:4b:00.0) is absent" in gone.cause.finding.reason
    (shared,) = gone.follows
    assert shared.finding.reason.startswith("n0:g3, g3:n0, n0:g3+g3:n0: GPU 3 (0000:4b:00.0) is not there")
    # The link at half of its width explains what is slow through it, and stands before it.
    assert "PCIe width x8 under load" in narrow.cause.finding.reason
    slow = next(r for r in narrow.follows if "27.1 GB/s" in r.finding.reason)
    assert "and 3 figures that follow from it" in page.text
    assert f"#{slow.anchor}" in page.links and slow.anchor in page.ids
    # The absent GPU has its row in each of the three maps, and its ghost in the drawing.
    assert sum(place.startswith("✕ failed") for place in page.places) == 3
    assert 'class="gpu ghost"' in page.source and "✕ absent" in page.text
    # The throttled GPU and the narrow link are named in words.
    assert "sw_power_cap" in page.text and "PCIe 5 ×8" in page.text and "1204" in page.text
    # The check that never ran.
    assert "Host memory on h200-07 should have run and did not" in page.text


def test_a_broken_node_in_junit(tmp_path: Path) -> None:
    folder = synthetic.broken(tmp_path)
    report.build(folder)
    cases = {case.get("name"): case for case in junit(folder).iter("testcase")}
    failure = cases["host_device_check"].find("failure")
    assert failure is not None and "27.1 GB/s" in str(failure.text)
    assert cases["host_memory_check"].find("error") is not None
    assert junit(folder)[0].get("failures") == "2" and junit(folder)[0].get("errors") == "1"


def test_what_is_modelled_is_said_unmissably_and_never_green(tmp_path: Path) -> None:
    folder = synthetic.modelled(tmp_path)
    page = Page(report.build(folder))
    notice = "No GPU on this machine: the GPU figures below are MODELLED (keeneland node). None of them was measured."
    assert notice in page.text and notice in report.summary(folder, colour=False)
    section = page.source[page.source.index('id="s1"') :]
    assert "word PASS" not in section and "word MODELLED" in section
    assert 'class="PASS"' not in section and 'class="MODELLED"' in section
    skipped = [case for case in junit(folder).iter("testcase") if case.find("skipped") is not None]
    assert [case.get("name") for case in skipped] == ["host_device_check"]
    assert "MODELLED (keeneland node)" in str(skipped[0].find("skipped").get("message"))  # type: ignore[union-attr]
    nodes = json.loads((folder / "report.json").read_text())["nodes"]
    assert [(n["kind"], n["shown"]) for n in nodes] == [("measured", "PASS"), ("modelled", "MODELLED")]


def test_a_run_of_modelled_nodes_alone_is_not_green(tmp_path: Path) -> None:
    folder = synthetic.modelled(tmp_path)
    for check in (folder / "buildhost").iterdir():
        if check.is_dir():
            for file in check.iterdir():
                file.unlink()
    (folder / "buildhost" / "node.json").unlink()
    page = Page(report.build(folder))
    assert "Everything here is MODELLED (keeneland node): nothing was measured." in page.text
    assert "<title>MODELLED" in page.source
    before_maps = page.source.partition('<p class="legend">')[2].partition('<div class="block map"')[0]
    assert re.findall(r">([^<]*MODELLED[^<]*)<", before_maps) == ["◇ MODELLED"], (
        "the check's; above are verdict and notice"
    )
    *_, notice, _, step = report.summary(folder, colour=False).splitlines()
    assert notice == "MODELLED  Everything here is MODELLED (keeneland node): nothing was measured."
    assert step.startswith("next  ") and "predict --node keeneland" in step


def test_a_modelled_failure_is_no_failure_of_the_run(tmp_path: Path) -> None:
    folder = synthetic.modelled(tmp_path)
    change(
        folder / "keeneland-modelled" / "host_device_check" / "verdict.json", verdict="FAIL", reasons=["n0:g0 is slow"]
    )
    report.build(folder)
    assert junit(folder)[0].get("failures") == "0"
    assert "n0:g0 is slow" not in headline.lead(
        run_directory.read(folder), headline.reasons(run_directory.read(folder))
    )


def test_degraded_passes_with_what_it_has_to_say(tmp_path: Path) -> None:
    folder = synthetic.healthy(tmp_path)
    change(
        folder / "h200-01" / "host_device_check" / "verdict.json",
        verdict="DEGRADED",
        reasons=["GPU 1 is a little slow"],
    )
    report.build(folder)
    case = next(c for c in junit(folder).iter("testcase") if c.get("name") == "host_device_check")
    assert case.find("failure") is None and case.find("error") is None
    assert "GPU 1 is a little slow" in str(case.findtext("system-out"))


def test_many_gpus_and_numa_nodes(pages: dict[str, Page]) -> None:
    page = pages["sub_numa"]
    # H2D, D2H and both of one cell.
    assert len([p for p in page.places if p.startswith("–skipped")]) == 3
    assert page.source.count('class="gpu"') == 8 and page.source.count('class="nic"') == 8
    assert "NVLink 4: NV18 between every pair of GPUs 0–7" in page.text
    assert "tuned, stale" in page.text  # where the references come from, and what weakens them


def test_a_figure_without_a_reference_is_not_green(tmp_path: Path) -> None:
    folder = synthetic.one_gpu(tmp_path)
    path = folder / "workstation" / "host_device_check" / "verdict.json"
    metrics = [{**m, "reference": None, "verdict": "not judged"} for m in json.loads(path.read_text())["metrics"]]
    change(path, metrics=metrics, verdict="not judged")
    change(folder / "run.json", verdict="not judged")
    page = Page(report.build(folder))
    assert page.source.count('class="not judged"') == 3 and 'td class="PASS"' not in page.source
    assert "– not judged" in page.text
    assert "Nothing was judged: 5 figures have no reference, nearfar tune --system local makes them." in page.text
    assert "Next nearfar detect --site workstation" in page.text
    said = report.summary(folder).splitlines()
    assert said[0].startswith("not judged  Nothing was judged: 5 figures have no reference")
    assert "not judged  host_device" in said and not any("0 figures judged" in line for line in said), said
    assert json.loads((folder / "report.json").read_text())["figures"] == {"judged": 0, "unjudged": 5, "unlimited": 0}
    (case,) = (case for case in junit(folder).iter("testcase") if case.get("name") == "host_device_check")
    assert "not judged: H2D 55.6, D2H 55.4" in str(case.find("skipped").get("message"))  # type: ignore[union-attr]
    (check,) = (c for c in json.loads((folder / "report.json").read_text())["nodes"][0]["checks"] if c["metrics"])
    assert {check["verdict"], check["shown"], *(m["verdict"] for m in check["metrics"])} == {"not judged"}


@pytest.mark.parametrize(
    "total, parts, word",
    [
        ("not judged", ("PASS", "PASS"), "not judged"),
        ("not judged", ("PASS", "DEGRADED"), "DEGRADED"),
        ("PASS", ("not judged", "PASS"), "PASS"),
        ("PASS", ("FAIL",), "FAIL"),
    ],
)
def test_a_total_that_was_not_judged_has_no_pass_of_its_parts(total: str, parts: tuple[str, ...], word: str) -> None:
    leading, *others = (Figure(**vars(judged_metric(verdict=each))) for each in (total, *parts))
    assert Place(FIGURE, (leading, *others)).shown == word


def test_figures_without_a_limit_are_counted_apart(tmp_path: Path) -> None:
    """``nearfar tune`` gives no limit to what differs too much among healthy nodes; to tune again would change nothing."""
    folder = synthetic.one_gpu(tmp_path)
    path = folder / "workstation" / "host_device_check" / "verdict.json"
    metrics = json.loads(path.read_text())["metrics"]
    metrics[0]["reference"] |= {"lowest": None, "highest": None, "note": "n = 3", "origin": "tuned"}
    metrics[0] |= {"verdict": "not judged", "degraded_below": None}
    change(path, metrics=metrics)
    report.build(folder)
    said = report.summary(folder, every=True)
    assert "1 figure differs too much among healthy nodes to have a limit" in said and "no reference" not in said, said
    rows = {line.partition("  ")[0] for line in said.splitlines() if " H2D " in line}
    assert rows == {"not judged"}, f"the check passes, and the figure has its own word:\n{said}"
    counted = json.loads((folder / "report.json").read_text())["figures"]
    assert counted == {"judged": len(metrics) - 1, "unjudged": 0, "unlimited": 1}


def test_figures_that_others_disturbed_are_told_and_nothing_is_tuned_from_them(tmp_path: Path) -> None:
    folder = synthetic.one_gpu(tmp_path)
    path = folder / "workstation" / "host_device_check" / "verdict.json"
    changes = {"reference": None, "verdict": "not judged", "disturbance": "cpus"}
    metrics = [{**m, **changes} for m in json.loads(path.read_text())["metrics"]]
    change(path, metrics=metrics, verdict="not judged")
    change(folder / "run.json", system="mine")
    report.build(folder)
    said = report.summary(folder)
    assert f"disturbed  other load disturbed {len(metrics)} figures, which nearfar tune leaves out" in said
    assert "validate --system mine   # again on a quiet machine" in said.splitlines()[-1]
    first = f"other load disturbed {len(metrics)} figures: run again on a quiet machine before tuning"
    assert first in said and "tune --system" not in said, said
    change(folder / "run.json", acceptance={"accept_degraded": False})
    change(path, verdict="INDETERMINATE", metrics=[{**m, "verdict": "INDETERMINATE"} for m in metrics])
    accepting = report.summary(folder).splitlines()[-1]
    assert "validate --system mine --acceptance   # again on a quiet machine" in accepting


def test_a_run_of_which_little_was_disturbed_is_tuned_from(tmp_path: Path) -> None:
    folder = synthetic.one_gpu(tmp_path)
    for path in folder.glob("workstation/*/verdict.json"):
        metrics = [{**m, "reference": None, "verdict": "not judged"} for m in json.loads(path.read_text())["metrics"]]
        if path.parent.name == "host_device_check":
            metrics[0]["disturbance"] = "cpus"
        change(path, metrics=metrics, verdict="not judged", reasons=[])
    change(folder / "run.json", system="mine")
    report.build(folder)
    said = report.summary(folder).splitlines()
    assert any("tune --system mine makes them" in line for line in said), said
    assert "tune --system mine   # proposes references" in said[-1], said


def test_what_judges_in_other_checks_is_named(tmp_path: Path) -> None:
    folder = synthetic.one_gpu(tmp_path)
    path = folder / "workstation" / "host_device_check" / "verdict.json"
    own = {"reference": None, "verdict": "not judged", "code": "figure.judged_elsewhere"}
    metrics = [{**m, **own} for m in json.loads(path.read_text())["metrics"] if m["subject"] == "n0:g0"]
    change(path, check="size_sweep_check", metrics=metrics, verdict="not judged", reasons=[], findings=[])
    path.parent.rename(path.parent.parent / "size_sweep_check")
    run = (folder / "run.json").read_text().replace("host_device_check", "size_sweep_check")
    (folder / "run.json").write_text(run)
    change(folder / "run.json", verdict="not judged")
    text = Page(report.build(folder)).text
    assert "Nothing was judged: host_device_check judges this path." in text and "nearfar tune" not in text


def test_a_run_in_which_nothing_was_held_against_anything(tmp_path: Path) -> None:
    folder = synthetic.one_gpu(tmp_path)
    for path in folder.glob("workstation/*/verdict.json"):
        metrics = [{**m, "reference": None, "verdict": "not judged"} for m in json.loads(path.read_text())["metrics"]]
        notes = [{"subject": "history", "verdict": "not judged", "reason": "its own past: no such file", "hard": False}]
        change(path, metrics=metrics, verdict="not judged", reasons=[], findings=notes)
    change(folder / "run.json", verdict="not judged", exit_code=0)
    page = Page(report.build(folder))
    assert "<title>not judged · " in page.source
    said = report.summary(folder).splitlines()[0]
    assert (
        said == "not judged  Nothing was judged: 5 figures have no reference, nearfar tune --system local makes them."
    )
    assert not re.search(r"\bPASS\b", page.text + report.summary(folder) + (folder / "junit.xml").read_text())


def test_what_acceptance_refuses_for_want_of_a_reference_was_not_judged(tmp_path: Path) -> None:
    folder = synthetic.one_gpu(tmp_path)
    for path in folder.glob("workstation/*/verdict.json"):
        metrics = [
            {**m, "reference": None, "verdict": "INDETERMINATE"} for m in json.loads(path.read_text())["metrics"]
        ]
        change(path, metrics=metrics, verdict="INDETERMINATE")
    change(folder / "run.json", verdict="INDETERMINATE")
    report.build(folder)
    counted = json.loads((folder / "report.json").read_text())["figures"]
    assert counted["judged"] == 0 and counted["unjudged"] > 0, counted
    assert "0 figures judged, " in report.summary(folder)


def test_gpus_keep_the_numbers_that_the_programs_gave_them(tmp_path: Path) -> None:
    """The site expects four GPUs, the second is gone: looking alone counts 0 1 2, the program 0 2 3."""
    folder = synthetic.healthy(tmp_path)
    observed = json.loads((folder / "h200-01" / "node.json").read_text())
    del observed["gpus"][1]
    seen = {**observed, "gpus": [{**g, "index": i} for i, g in enumerate(observed["gpus"])]}
    seen["peers"] = [{"gpus": [0, 2], "link": "NV18"}]
    (folder / "h200-01" / "node.json").write_text(json.dumps(seen))
    for path in (folder / "h200-01").glob("*/verdict.json"):
        change_document(path, node=observed)
    node = run_directory.read(folder).nodes[0].node
    assert node is not None
    assert [(g.index, g.pci[5:7]) for g in node.gpus] == [(0, "1b"), (2, "3b"), (3, "4b")]
    assert node.peers == {(0, 3): "NV18"}


# Hostile and broken input.


def test_nothing_that_a_run_says_is_taken_for_markup(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x1b[31m\x00\ud800"
    folder = synthetic.broken(tmp_path)
    change(folder / "run.json", hostname=evil, system=evil, command=[evil])
    for path in (folder / "h200-07").glob("*/verdict.json"):
        raw = json.loads(path.read_text())
        metrics = [{**m, "reason": evil, "path_class": evil, "question": evil} for m in raw["metrics"]]
        findings = [{**f, "reason": evil, "subject": evil} for f in raw["findings"]]
        change(path, node=evil, reasons=[evil], metrics=metrics, findings=findings, missing=[evil])
    node = json.loads((folder / "h200-07" / "node.json").read_text())
    gpus = [{**g, "name": evil, "uuid": evil} for g in node["gpus"]]
    change(folder / "h200-07" / "node.json", hostname=evil, product=evil, gpus=gpus)
    (folder / "h200-07" / "host_device_check" / "stderr.txt").write_text("<script>alert(2)</script>")
    page = Page(report.build(folder))
    assert not page.tags["script"] and not page.tags["img"]
    assert "alert(1)" in page.text and "alert(2)" in page.text
    assert junit(folder)[0].get("tests") == "3"
    json.loads((folder / "report.json").read_text())
    assert "\x1b" not in report.summary(folder, colour=False) and "\x00" not in report.summary(folder, colour=False)


def one_line(folder: Path, *words: str) -> None:
    with pytest.raises(NearfarError) as caught:
        report.build(folder)
    message = str(caught.value)
    assert "\n" not in message and all(word in message for word in words), message
    assert not (folder / "index.html").exists()


def test_a_directory_that_is_no_run(tmp_path: Path) -> None:
    one_line(tmp_path, f"{tmp_path}/run.json", "not there")


@pytest.mark.parametrize("name", ["run.json", "h200-01/host_device_check/verdict.json"])
def test_half_a_file(tmp_path: Path, name: str) -> None:
    path = synthetic.healthy(tmp_path) / name
    path.write_text(path.read_text()[:200])
    one_line(tmp_path, name, "not a whole JSON document")


@pytest.mark.parametrize("name", ["run.json", "h200-01/host_device_check/verdict.json"])
def test_a_file_nested_too_deeply(tmp_path: Path, name: str) -> None:
    (synthetic.healthy(tmp_path) / name).write_text("[" * 10_000 + "]" * 10_000)
    one_line(tmp_path, name, "not a whole JSON document")


def test_a_number_no_float_holds_is_no_figure(tmp_path: Path) -> None:
    path = synthetic.healthy(tmp_path) / "h200-01/host_device_check/verdict.json"
    verdict = json.loads(path.read_text())
    verdict["metrics"][0]["value"] = 10**400
    path.write_text(json.dumps(verdict))
    report.build(tmp_path)


@pytest.mark.parametrize(
    ("name", "schema"), [("run.json", "nearfar-run/2"), ("h200-01/topology_check/verdict.json", "nearfar-verdict/3")]
)
def test_a_file_of_a_newer_schema(tmp_path: Path, name: str, schema: str) -> None:
    change(synthetic.healthy(tmp_path) / name, schema=schema)
    one_line(tmp_path, name, schema, "newer nearfar", "update")


def test_a_node_that_cannot_be_read_names_its_file(tmp_path: Path) -> None:
    change(synthetic.healthy(tmp_path) / "h200-01" / "node.json", gpus="four")
    one_line(tmp_path, "h200-01/node.json", "node.gpus")


def test_a_check_without_a_verdict_is_never_green(tmp_path: Path) -> None:
    folder = synthetic.healthy(tmp_path)
    (folder / "h200-01" / "host_device_check" / "verdict.json").unlink()
    page = Page(report.build(folder))
    assert "host_device_check left no verdict: it did not finish" in page.text
    case = next(c for c in junit(folder).iter("testcase") if c.get("name") == "host_device_check")
    assert case.find("error") is not None
    assert "\nINDETERMINATE  host_device\n" in report.summary(folder, colour=False)


def test_an_interrupted_run_says_so(tmp_path: Path) -> None:
    folder = synthetic.healthy(tmp_path)
    change(folder / "run.json", interrupted=True, verdict="INDETERMINATE")
    assert "This run was interrupted" in Page(report.build(folder)).text
    assert "interrupted" in report.summary(folder, colour=False)


def test_not_a_number_is_no_figure(tmp_path: Path) -> None:
    folder = synthetic.one_gpu(tmp_path)
    path = folder / "workstation" / "host_device_check" / "verdict.json"
    path.write_text(re.sub(r'"value": 55\.\d+', '"value": NaN', path.read_text(), count=1))
    page = Page(report.build(folder))
    assert any(place.startswith("✓–") for place in page.places)
    assert "NaN" not in (folder / "report.json").read_text()


# A site's own templates, and the command.


def test_a_sites_templates_override_and_extend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    templates = tmp_path / "site" / "templates"
    templates.mkdir(parents=True)
    (templates / "page.html").write_text(
        '{% extends "nearfar/page.html" %}{% block brand %}Redwood Centre{% endblock %}'
    )
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    page = Page(report.build(synthetic.healthy(tmp_path / "run")))
    assert "Redwood Centre" in page.text and "Host ↔ GPU" in page.text


@pytest.mark.parametrize("text", ["line one\n{% if %}", "line one\n{{ nothing.there }}", "line one\n{{ 1 / 0 }}"])
def test_a_wrong_template_is_named_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    templates = tmp_path / "site" / "templates"
    templates.mkdir(parents=True)
    (templates / "page.html").write_text(text)
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    one_line(synthetic.healthy(tmp_path / "run"), f"{templates}/page.html:2:", "template")


def test_the_command_rebuilds_runs_by_name_pattern_and_latest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEARFAR_STATE", str(tmp_path))
    runs = [synthetic.one_gpu(tmp_path / "reports" / "local" / name) for name in ("20261120T090000", "20261121T090000")]
    (tmp_path / "reports" / "latest").symlink_to("local/20261121T090000")
    (tmp_path / "reports" / "local" / "stray").mkdir()
    for word, expected in (("latest", runs[1:]), ("local/*", runs), (str(runs[0]), runs[:1])):
        assert cli.main(["report", word]) == 0
        assert capsys.readouterr().out.splitlines() == [str(run / "index.html") for run in expected]
    assert cli.main(["report", "local/nothing"]) == 2
    assert "no run directory of that name" in capsys.readouterr().err
    assert cli.main(["report", str(tmp_path / "reports" / "local" / "stray")]) == 2
    assert "stray/run.json: not there" in capsys.readouterr().err
    stray = str(tmp_path / "reports" / "local" / "stray")
    assert cli.main(["report", "nothing", stray, str(runs[0])]) == 2, "the others are built"
    said = capsys.readouterr()
    assert said.out.splitlines() == [str(runs[0] / "index.html")] and len(said.err.splitlines()) == 2


def test_colour_only_where_it_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = synthetic.healthy(tmp_path)
    assert "\033[1;32m" in report.summary(folder, colour=True)
    assert "\033" not in report.summary(folder)  # standard output is no terminal here
