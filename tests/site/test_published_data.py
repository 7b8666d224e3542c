"""Every published number of ``site/`` stands in a transcription of its source, at its place and of its kind."""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
import yaml

from nearfar.base import SiteFile
from nearfar.question import questions
from nearfar.verdict.references import ReferenceFile
from tests.conftest import CHECKOUT

TRANSCRIPTIONS = CHECKOUT / "tests" / "data" / "published"
SITE = CHECKOUT / "site"
#: What was measured with this project's own programs, or calibrated from it, is not published.
OWN = ("nearfar calibrate",)
PUBLISHED = ("keeneland", "dl160", "summit", "sierra", "titan", "jaguarpf", "pop-four-gpus")
KINDS = {"measured", "derived", "peak"}
#: A number of a sentence, but not the digits of a name (``NV6``, ``GPU 1`` stays).
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\d)")


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for each in value.values():
            yield from numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from numbers(each)
    else:
        yield float(value)


def entries() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path in sorted(TRANSCRIPTIONS.glob("*.yaml")):
        for place, listed in yaml.safe_load(path.read_text())["places"].items():
            for entry in listed:
                yield path.stem, place, entry


@pytest.fixture(scope="module")
def known() -> dict[tuple[str, str], set[float]]:
    """The numbers of each place and kind; MB/s also in GB/s."""
    found: dict[tuple[str, str], set[float]] = {}
    for paper, place, entry in entries():
        scale = 1e-3 if entry.get("unit") == "MB/s" else 1
        values = found.setdefault((f"{paper}, {place}", entry["kind"]), set())
        values |= {round(number * scale, 9) for number in numbers(entry["values"])}
    return found


def stands(known: dict[tuple[str, str], set[float]], number: float, place: str, *kinds: str) -> bool:
    return any(round(number, 9) in known.get((place, kind), set()) for kind in kinds)


def node_file(name: str) -> SiteFile:
    return SiteFile(SITE / "nodes" / f"{name}.yaml")


def figures_of(name: str) -> Iterator[tuple[str, dict[str, Any], float, str]]:
    """(where, entry, number, kind) of every number of a node type's file."""
    data = node_file(name).data
    for section in ("capacities", "caps"):
        for key, entry in data.get(section, {}).items():
            if entry.get("source") in OWN:
                continue
            if entry["value"] is not None:
                yield f"{section}: {key}", entry, entry["value"], entry.get("kind", "measured")
            if "peak" in entry:
                place = entry.get("peak_place", entry.get("place"))
                yield f"{section}: {key}: peak", {**entry, "place": place}, entry["peak"], "peak"
    for key, entry in data.get("stream", {}).items():
        if entry["source"] not in OWN:
            for kernel in ("copy", "scale", "add", "triad"):
                yield f"stream: {key}: {kernel}", entry, entry[kernel], entry.get("kind", "measured")
    for entry in data.get("published", {}).get("cells", []):
        if "value" in entry:
            yield f"published: {entry['what']}", entry, entry["value"], entry.get("kind", "measured")


@pytest.mark.parametrize("name", sorted(path.stem for path in (SITE / "nodes").glob("*.yaml")))
def test_every_number_of_a_node_type_is_in_its_source(known: dict[tuple[str, str], set[float]], name: str) -> None:
    wrong = []
    for where, entry, number, kind in figures_of(name):
        kinds = (kind, "derived") if kind == "peak" else (kind,)
        if "place" not in entry or not stands(known, number, entry["place"], *kinds):
            wrong.append(f"{where}: {number} ({kind}) is not at {entry.get('place', 'any place')}")
    assert not wrong, "\n".join(wrong)


def figures_of_model(data: dict[str, Any]) -> Iterator[tuple[str, float, Any, tuple[str, ...]]]:
    """(where, number, place, kinds) of every published number of a GPU model's file; of ranges that we measured none."""
    expect = data["expect"]
    link = expect.get("link", {})
    for where, number in (*((f"link {key}", link.get(key)) for key in ("gen", "width")), *expect.items()):
        if isinstance(number, int):
            yield f"expect: {where}", number, data.get("place"), ("peak", "derived")
    if "memory" in data:
        yield "memory", data["memory"]["bandwidth"], data["memory"].get("place"), ("peak",)
    for entry in data.get("healthy", []):
        if not entry["source"].startswith(("measured with nearfar", "measured beside nearfar")):
            for row, ends in entry["figures"].items():
                yield from ((f"healthy: {row}", end, entry.get("place"), ("measured",)) for end in ends)


@pytest.mark.parametrize("name", sorted(path.stem for path in (SITE / "gpus").glob("*.yaml")))
def test_every_number_of_a_gpu_model_is_in_its_source(known: dict[tuple[str, str], set[float]], name: str) -> None:
    found = list(figures_of_model(SiteFile(SITE / "gpus" / f"{name}.yaml").data))
    wrong = [each for each in found if each[2] is None or not stands(known, each[1], each[2], *each[3])]
    assert found and not wrong, "\n".join(f"{where}: {number} is not at {place}" for where, number, place, _ in wrong)


@pytest.mark.parametrize(
    ("name", "change"),
    [("h200-sxm", ("4800", "4801")), ("rtx-4090", ("26.38", "26.93")), ("a100-sxm", ("nvlinks: 12", "nvlinks: 18")),
     ("v100-sxm", ("joubert2019, GPU stream", "joubert2019, table IV")), ("a10", ("gen: 4", "gen: 5"))],
)  # fmt: skip
def test_a_slip_in_a_gpu_model_is_found(
    known: dict[tuple[str, str], set[float]], name: str, change: tuple[str, str]
) -> None:
    text = (SITE / "gpus" / f"{name}.yaml").read_text()
    assert change[0] in text
    found = figures_of_model(yaml.safe_load(text.replace(*change)))
    assert any(place is None or not stands(known, number, place, *kinds) for _, number, place, kinds in found)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_number_said_in_words_is_in_its_source(known: dict[tuple[str, str], set[float]], name: str) -> None:
    published = node_file(name).data.get("published", {})
    said = [(e, e["figures"]) for e in published.get("not_modelled", []) if "figures" in e]
    said += [(e, e["says"]) for e in published.get("cells", []) if "says" in e]
    wrong = []
    for entry, words in said:
        for number in map(float, NUMBER.findall(words)):
            if "place" not in entry or not stands(known, number, entry["place"], *KINDS):
                wrong.append(f"{entry['what']}: {number} is not at {entry.get('place', 'any place')}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["keeneland", "summit", "sierra", "titan"])
def test_every_reference_is_in_its_source(known: dict[tuple[str, str], set[float]], name: str) -> None:
    file = ReferenceFile(SITE / "references" / f"{name}.yaml", [question.name for question in questions()])
    places = file.provenance["published"]["places"]
    used, wrong = set(), []
    for row in file.rows():
        check, _, figure = row.place
        at = next((e for e in places if fnmatch.fnmatchcase(f"{check}/{figure}", e["rows"])), None)
        used.add(None if at is None else at["rows"])
        if at is None or not stands(known, row.value, at["place"], at["kind"]):
            wrong.append(f"{check}/{figure}: {row.value} is not at {at}")
    assert not wrong, "\n".join(wrong)
    assert {entry["rows"] for entry in places} <= used, "a pattern that no row has"


def test_what_is_derived_can_be_computed_again() -> None:
    hows = {"mean": mean, "half": lambda of: of[0] / 2, "ratio": lambda of: of[0] / of[1]}
    measured = {number for _, _, e in entries() if e["kind"] != "derived" for number in numbers(e["values"])}
    derived = {number for _, _, e in entries() if e["kind"] == "derived" for number in numbers(e["values"])}
    for paper, place, entry in entries():
        assert entry["kind"] in KINDS, (paper, place, entry)
        if entry["kind"] != "derived":
            continue
        if entry["how"] == "same":
            assert set(numbers(entry["values"])) <= measured, (paper, place, entry)
            continue
        (value,), of = numbers(entry["values"]), list(numbers(entry["of"]))
        assert set(of) <= measured | derived, (paper, place, entry)
        assert math.isclose(value, hows[entry["how"]](of), rel_tol=0.0012), (paper, place, entry)


def test_who_measured_what() -> None:
    """The one-GPU figures are the vendor's, those between GPUs Meredith's, the total of three and the penalties the paper's."""
    found = {(paper, n) for paper, _, e in entries() if e["kind"] == "measured" for n in numbers(e["values"])}
    assert {p for p, n in found if n in (5.7, 6.3, 4.34)} == {"hamilton-sl390"}
    assert {p for p, n in found if n == 2.8} == {"meredith2012"}
    assert {p for p, n in found if n == 16.2} == {"spafford2011"}
    keeneland = node_file("keeneland").data
    assert all(e["place"].startswith("hamilton-sl390") for k, e in keeneland["capacities"].items() if e["value"])
    for name in PUBLISHED:
        for folder in ("nodes", "references"):
            path = SITE / folder / f"{name}.yaml"
            assert not path.exists() or "64 MiB" not in path.read_text(), (
                "no source gives a transfer size with these figures"
            )


def test_nothing_stands_under_the_name_of_a_gpu_that_its_source_does_not_name() -> None:
    assert not list(SITE.rglob("pop-a100*"))
    texts = [p.read_text() for p in SITE.rglob("pop-four-gpus.*")]
    assert len(texts) == 3 and not any("NVIDIA A100" in text for text in texts)


def test_rows_by_name_have_the_tolerance_of_a_single_trial() -> None:
    for name in ("summit", "sierra"):
        file = ReferenceFile(SITE / "references" / f"{name}.yaml", [question.name for question in questions()])
        for row in file.rows():
            if row.place[0] == "host_device_check" and re.search(r"\.(n0_g\d|g\d_n0)", row.name):
                assert row.inner == (-0.03, 0.03), row.name
    file = ReferenceFile(SITE / "references" / "keeneland.yaml", [question.name for question in questions()])
    for row in file.rows():
        if row.unit == "GB/s":
            half_a_digit = 0.05 / row.value
            assert row.inner[1] == pytest.approx(half_a_digit, abs=0.008), row.name


def test_transcriptions_are_of_the_papers_that_site_names() -> None:
    papers = {path.stem for path in TRANSCRIPTIONS.glob("*.yaml")}
    named = set()
    for name in PUBLISHED:
        for entry in re.findall(r'place: (?:&\w+ )?"?([a-z0-9-]+),', Path(SITE / "nodes" / f"{name}.yaml").read_text()):
            named.add(entry)
    assert named <= papers
