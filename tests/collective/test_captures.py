"""Public captures of nccl-tests: each is read, and what is expected holds for the half that no factor was fitted on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nearfar import cli
from nearfar.collective import CollectiveBeside, all_beside, errors, published_collectives
from nearfar.site.lint import lint
from tests.conftest import CHECKOUT

SITE = [CHECKOUT / "site"]


def lines(figures: list[CollectiveBeside]) -> str:
    """A table for whoever reads a failure."""
    return "\n".join(
        f"{each.published.name:26} {each.capture.collective:10} {each.capture.nodes} × {each.bytes >> 20:6} MiB "
        f"expected {each.expected.typical:7.1f} ({each.expected.low:.1f} to {each.expected.high:.1f}) captured {each.captured:7.1f} "
        f"{100 * each.error:+6.1f} % {each.capture.cause or ''}"
        for each in figures
    )


def test_the_half_that_nothing_was_fitted_on_is_as_expected() -> None:
    every = all_beside(published_collectives(SITE))
    held_out = [each for each in every if not each.published.used_for_fit]
    count, middle, near = errors(held_out)
    assert count >= 60 and middle <= 0.07 and near >= 0.9, lines([each for each in held_out if each.counted])


def test_every_posted_problem_is_below_its_range() -> None:
    problems = [each for each in all_beside(published_collectives(SITE)) if each.capture.cause is not None]
    missed = [each for each in problems if each.captured >= each.expected.low]
    assert len({each.published.source for each in problems}) >= 10 and not missed, lines(missed)


def test_the_library_has_no_complaints_and_two_halves() -> None:
    every = published_collectives(SITE)
    fitted = [each.used_for_fit for each in every if any(run.cause is None for run in each.captures)]
    assert len(fitted) >= 40 and sum(fitted) * 2 <= len(fitted)
    assert [each for each in lint(SITE).complaints if "published-collectives" in str(each.file)] == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("collectives: small", "collectives: big", "use one name for both"),
        ("1G: 40", "1X: 40", "'1X' is not a size"),
        ("1G: 40", "0: 40", "'0' is not a size"),
        ("1G: 40", f"{'9' * 400}: 40", "is not a size"),
        ("1G: 40", "1G: .nan", "busbw.1G: expected a finite number, found NaN"),
        ("gpus: [0, 1]\n    date", "gpus: [0, 4]\n    date", "has no g4"),
        ("cause: env", "cause: weather", "weather"),
    ],
)
def test_lint_names_what_is_wrong_with_a_file(tmp_path: Path, old: str, new: str, says: str) -> None:
    text = (
        "collectives: small\ndescription: two GPUs\nsource: https://example.org\nused_for_fit: false\ntopology:\n  packages: [[0]]\n"
        "  gpu_model: NVIDIA A40\n  gpus: [0, 0]\n  nvlink_generation: 3\n  pairs: {NV4: [[0, 1]]}\ncaptures:\n  - collective: all_reduce\n"
        '    gpus: [0, 1]\n    date: "2024-01"\n    problem: {cause: env, what: "NCCL_ALGO=Tree"}\n    busbw: {1G: 40}\n'
    )
    folder = tmp_path / "site" / "published-collectives"
    folder.mkdir(parents=True)
    assert old in text
    (folder / "small.yaml").write_text(text.replace(old, new))
    assert any(says in each.message for each in lint([tmp_path / "site"]).complaints)


def test_the_command_prints_expected_beside_captured(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "--collectives"]) == 0
    printed = capsys.readouterr().out
    assert "not used for fitting" in printed and "problem: acs_on" in printed
    assert cli.main(["reproduce", "--collectives", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["node"] for row in document["rows"]} == set(document["nodes"])
    assert cli.main(["reproduce", "--collectives", "--nodes"]) == 2
