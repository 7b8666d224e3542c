"""What ``nearfar tune`` takes a reference down by, all tunes together, without an administrator."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from nearfar.base import SiteFileError
from nearfar.history.tuning import (
    ChosenSamples,
    NodeFigure,
    Pool,
    Proposal,
    TuneOptions,
    proposal,
    reference_text,
    text,
)
from nearfar.verdict.references import ReferenceFile, known_checks

ROW = ("host_device_check", "NVIDIA H200", "sole.h2d")
RATE, TIME = ("sole.h2d", "GB/s", "lone"), ("sole_latency_copy.h2d", "us", "latency")


class Fleet:
    """Four nodes, and their reference file."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], row: tuple[str, str, str] = RATE) -> None:
        self.path, self._capsys = folder / "redwood.yaml", capsys
        self.row, self._unit, self._kind = row
        self._day = datetime(2026, 1, 1, tzinfo=timezone.utc)

    def tune(
        self, value: float, driver: str = "580.1", looser: bool = False, spread: float = 0, half: float = 1
    ) -> tuple[Proposal, str]:
        """A tune that is applied, from nodes at a value, their runs ``spread`` below and above it, and what it says; half of the nodes
        have ``half`` of it."""
        self._day += timedelta(days=1)
        values = tuple(value * part for part in (1 - spread, 1, 1 + spread))
        of_half = tuple(half * each for each in values)
        figures = tuple(NodeFigure(f"n{n}", "g0", of_half if n % 2 else values) for n in range(4))
        pool = Pool("host_device_check", "NVIDIA H200", self.row, self._unit, self._kind, True, "", None, 0, figures)
        chosen = ChosenSamples((pool,), ("r",), self._day, self._day, {"driver": driver}, {}, 12)
        made = proposal.propose(
            chosen, reference_text.read(self.path), [], [], TuneOptions(looser, ["nearfar", "tune"])
        )
        self.path.write_text(made.text)
        lines: list[str] = []
        text.show(made, chosen, True, lines.append)
        self._capsys.readouterr()
        return made, "\n".join(lines)

    @property
    def bound(self) -> float:
        """The row's FAIL bound, as a part of its value; 1: it has none."""
        (row,) = ReferenceFile(self.path, known_checks()).rows()
        return 1 if row.lower is None else row.lower

    @property
    def reference(self) -> tuple[float, float]:
        """The row's value, and what was accepted last."""
        (row,) = ReferenceFile(self.path, known_checks()).rows()
        return row.value, row.accepted


@pytest.fixture
def fleet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Fleet:
    return Fleet(tmp_path, capsys)


def test_twelve_drivers_stop_at_two_per_cent(fleet: Fleet) -> None:
    fleet.tune(50.0)
    for n in range(1, 13):
        _, said = fleet.tune(50 * 0.986**n, driver=f"58{n}.1")
        if n > 1:
            kept = f"sole.h2d: {50 * 0.986**n:.1f} GB/s is {100 - 100 * 0.986**n:.1f} % worse than 50.0 GB/s, accepted last: "
            assert kept + "use --allow-looser to accept" in said, said
    assert fleet.reference == (49.3, 50.0)


def test_a_fleet_that_loses_a_little_each_night_stops_at_two_per_cent(fleet: Fleet) -> None:
    fleet.tune(50.0)
    said = [fleet.tune(50 * 0.999**n)[1] for n in range(1, 120)]
    value, accepted = fleet.reference
    assert accepted == 50.0 and value == pytest.approx(49.0, rel=0.002) and value >= 49.0
    assert ["accepted last: use --allow-looser to accept" in each for each in said] == [n > 20 for n in range(1, 120)]


def test_half_of_a_fleet_that_loses_each_night_stops_at_two_per_cent(fleet: Fleet) -> None:
    fleet.tune(50.0)
    before, said = fleet.bound, ""
    for n in range(1, 31):
        _, said = fleet.tune(50.0, half=0.997**n)
    value, accepted = fleet.reference
    assert accepted == 50.0 and 49.0 <= value < 50.0
    assert value * (1 + fleet.bound) > 0.98 * 50.0 * (1 + before)
    assert "accepted last: use --allow-looser to accept" in said


@pytest.mark.parametrize("step, driver", [(0.986, "58{}.1"), (0.999, "580.1")], ids=["drivers", "nights"])
def test_with_leave_each_step_is_accepted_and_named(fleet: Fleet, step: float, driver: str) -> None:
    fleet.tune(50.0)
    for n in range(1, 30):
        _, said = fleet.tune(50 * step**n, driver.format(n), looser=True)
        part = re.search(r"1 value worse than accepted last, by −(\S+) %, accepted by --allow-looser: (\S+ \S+)", said)
        assert part and float(part[1]) == pytest.approx(100 - 100 * step, abs=0.06), said
        assert part[2] == "host_device_check/NVIDIA H200/sole.h2d"
        value, accepted = fleet.reference
        assert value == accepted == pytest.approx(50 * step**n, rel=1e-3)
        assert "accepted" not in fleet.path.read_text(), "its own value is what is accepted"


@pytest.mark.parametrize("step, driver", [(0.004, "58{}.1"), (0.0014, "580.1")], ids=["drivers", "nights"])
def test_a_spread_that_grows_stops_at_two_per_cent(fleet: Fleet, step: float, driver: str) -> None:
    fleet.tune(50.0)
    before, said = fleet.bound, ""
    for n in range(1, 26):
        _, said = fleet.tune(50.0, driver.format(n), spread=step * n)
        assert before - fleet.bound < 0.02 * (1 + before), said
    assert -0.075 < fleet.bound < before
    kept = (
        r"its FAIL bound, (\S+) GB/s, is (\S+) % looser than 47.\d* GB/s, accepted last: use --allow-looser to accept"
    )
    assert re.search(kept, said), said
    made, said = fleet.tune(50.0, driver.format(20), looser=True, spread=0.04)
    assert fleet.bound < -0.1 and "accepted" not in fleet.path.read_text()
    assert re.search(r"1 FAIL bound looser than accepted last, by −\S+ %, accepted by --allow-looser: ", said), said
    assert list(made.accepted[proposal.ACCEPTED_BOUND]) == [ROW]


def test_a_bound_that_would_go_needs_leave(fleet: Fleet) -> None:
    """Runs that reach what would certainly be broken: a tune has no limit for them."""
    fleet.tune(50.0)
    before = fleet.bound
    _, said = fleet.tune(50.0, spread=0.5)
    assert fleet.bound == before and "would have no FAIL bound any more: use --allow-looser to accept" in said
    fleet.tune(50.0, spread=0.5, looser=True)
    assert fleet.bound == 1
    fleet.tune(50.0)
    assert fleet.bound == before


def test_times_are_worse_above(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fleet = Fleet(tmp_path, capsys, TIME)
    fleet.tune(10.0)
    assert "kept" not in fleet.tune(10.15)[1] and fleet.reference == (10.15, 10.0)
    assert "10.3 us is 3.0 % worse than 10.0 us, accepted last" in fleet.tune(10.3)[1]
    assert "% looser than 11.5 us, accepted last" in fleet.tune(10.0, spread=0.08)[1]
    fleet.tune(9.9)
    assert fleet.reference == (9.9, 9.9)


def test_noise_of_a_noisy_row_needs_no_leave(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its limits are 15 % away; a quarter of that is what one tune differs from the next."""
    fleet = Fleet(tmp_path, capsys, ("sole.h2d.pageable", "GB/s", "pageable"))
    fleet.tune(20.0)
    fleet.tune(19.3)
    assert fleet.reference == (19.3, 20.0)
    assert "kept" in fleet.tune(18.7)[1] and fleet.reference == (19.3, 20.0)


def test_a_better_value_is_accepted_by_itself(fleet: Fleet) -> None:
    fleet.tune(50.0)
    fleet.tune(49.7)
    assert fleet.reference == (49.7, 50.0)
    fleet.tune(49.9)
    assert fleet.reference == (49.9, 50.0), "it is no better than what was accepted"
    fleet.tune(50.8)
    assert fleet.reference == (50.8, 50.8) and "accepted" not in fleet.path.read_text()
    assert "kept" in fleet.tune(49.7)[1] and fleet.reference == (50.8, 50.8)


def test_a_row_that_is_kept_changes_nothing_else(fleet: Fleet) -> None:
    fleet.tune(50.0)
    before = fleet.path.read_text()
    made, said = fleet.tune(48.0, driver="590.1")
    assert (made.diff, fleet.path.read_text()) == ("", before) and "nothing can be tuned" in said
    assert made.looser == {} and list(made.kept) == [ROW]


@pytest.mark.parametrize(
    "value, said",
    [("much", 'expected a number, found "much"'), ("-3", "-3: expected a value above zero"), ("0", "0: expected a value above zero"),
     (".inf", "accepted: is a finite number, found inf"), (".nan", "accepted: is a finite number, found nan")],
)  # fmt: skip
def test_a_wrong_accepted_is_one_line_with_its_place(fleet: Fleet, value: Any, said: str) -> None:
    fleet.tune(50.0)
    fleet.tune(49.7)
    content = fleet.path.read_text()
    (number,) = (n for n, line in enumerate(content.splitlines(), 1) if "accepted: 50.0" in line)
    fleet.path.write_text(content.replace("accepted: 50.0", f"accepted: {value}"))
    with pytest.raises(SiteFileError) as error:
        ReferenceFile(fleet.path, known_checks())
    assert str(error.value).startswith(f"{fleet.path}:{number}: ") and said in str(error.value)
    assert "\n" not in str(error.value)
