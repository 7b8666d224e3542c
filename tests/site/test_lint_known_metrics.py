"""Lint knows the checks and their figures as ReFrame and the programs have them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.measurement import load, metrics
from nearfar.mpi import contention, load_balance
from nearfar.site.lint import known_metrics
from nearfar.site.lint.every_rule import known_checks
from nearfar.topology import parse_hwloc_xml
from nearfar.verdict.references import row_keys
from nearfar.verdict.references.reference_files import known_checks as checks_with_references
from tests.conftest import CHECKOUT

DATA = Path(__file__).parents[1] / "data"
FEATURES = frozenset(("gpu", "two_nodes"))
TOPOLOGIES = [
    *(CHECKOUT / "site" / "nodes" / f"{name}.xml" for name in ("summit", "keeneland", "h200-x4-vm")),
    *(
        DATA / "topologies" / f"constructed-{name}.xml"
        for name in ("virtual-machine-4gpus", "nic-behind-gpu-switch", "cpuless-memory", "four-numa-a-package")
    ),
]
#: Checks with figures that only other options, MPIs or numbers of cores bring.
MORE_THAN_NOW = ("contention_check", "load_balance_check", "thread_split_check")
#: Checks of which the tests have documents that were measured.
MEASURED = (
    "host_device_check", "host_memory_check", "latency_check", "peer_check", "saturation_check", "sharing_check", "size_sweep_check",
)  # fmt: skip


@pytest.fixture(scope="module")
def listed() -> dict[str, dict[str, list[str]]]:
    """The rows of every check that a real ReFrame loads, by check and topology."""
    command = [sys.executable, str(CHECKOUT / "tests/support/listed_by_reframe.py"), *map(str, TOPOLOGIES)]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, list[str]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_checks_are_those_that_reframe_lists(tmp_path: Path) -> None:
    folders = [word for each in ("checks", "checks/quick", "checks/long") for word in ("-c", str(CHECKOUT / each))]
    command = [
        sys.executable,
        "-c",
        "from reframe.frontend.cli import main; main()",
        "-C",
        str(CHECKOUT / "reframe_config.py"),
    ]
    environment = {**os.environ, "NEARFAR_STATE": str(tmp_path), "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        [*command, *folders, "--system=summit", "--skip-system-check", "--nocolor", "-l"],
        capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120,
    )  # fmt: skip
    names = re.findall(r"^- (\w+)", done.stdout, re.MULTILINE)
    assert sorted(names) == sorted(known_checks()), done.stdout + done.stderr


@pytest.mark.parametrize("check", checks_with_references())
def test_rows_are_those_of_the_checks_own_cells_and_figures(
    check: str, listed: dict[str, dict[str, list[str]]]
) -> None:
    for path, theirs in listed[check].items():
        ours = known_metrics.rows(check, parse_hwloc_xml(Path(path).read_text()), FEATURES)
        assert ours is not None
        assert set(theirs) <= set(ours), f"{path}: lint would call these dead"
        if check not in MORE_THAN_NOW:
            assert set(ours) <= set(theirs), f"{path}: lint would not notice that these are dead"


@pytest.mark.parametrize("folder", ["h200-x1", "h200-x2", "h200-x4"])
@pytest.mark.parametrize("check", MEASURED)
def test_what_was_really_measured_has_a_row(folder: str, check: str) -> None:
    document = load(DATA / folder / f"{check}.json")
    ours = known_metrics.rows(check, document.node, frozenset())
    theirs = {
        m.name
        for m in metrics(document)
        if m.flow is None or check not in ("peer_check", "saturation_check", "sharing_check")
    }
    assert ours is not None
    assert theirs or (folder, check) == ("h200-x1", "peer_check"), "a GPU alone has no peer; all else has figures"
    assert theirs <= set(ours) or (folder, check) == ("h200-x1", "saturation_check"), "which a GPU alone is not asked"


def test_what_contention_and_saxpy_really_print_has_a_row() -> None:
    contended, balanced = load(DATA / "h200-x4" / "contention.json"), load(DATA / "h200-x4" / "saxpy.json")
    together = load(DATA / "h200-x2" / "together_split.json")
    for check, figures in (
        ("contention_check", contention.figures(contended)),
        ("thread_split_check", contention.figures(together)),
        ("load_balance_check", load_balance.figures(balanced)),
    ):
        ours = known_metrics.rows(check, contended.node, frozenset())
        assert ours is not None and figures
        assert {key for metric in figures for key in row_keys(metric)} <= set(ours)


@pytest.mark.parametrize("check", checks_with_references())
def test_no_figure_of_a_question_is_misspelt(check: str) -> None:
    for path in TOPOLOGIES:
        names = known_metrics.rows(check, parse_hwloc_xml(path.read_text()), FEATURES) or {}
        assert {name: why for name in names if (why := known_metrics.misspelt(check, name))} == {}


@pytest.mark.parametrize(
    "check, row",
    [
        ("gpu_memory_check", "together.h2d"), ("host_device_check", "h2d.near"), ("host_device_check", "near"),
        ("peer_check", "NV18.write.sm"), ("latency_check", "near_latency_cope.h2d"), ("size_sweep_check", "near.n0_g0.of"),
    ],
)  # fmt: skip
def test_a_name_of_no_nodes_figure_is_misspelt(check: str, row: str) -> None:
    assert known_metrics.misspelt(check, row) is not None


@pytest.mark.parametrize(
    "check, row",
    [
        ("host_device_check", "near.n7_g15"), ("peer_check", "PXB.write"), ("peer_check", "NV12_staged_over_direct.write"),
        ("osu_check", "sole.osu_bw.D_D.hsn0.peak"), ("saturation_check", "mixed.n0_g0__n3_g7.total"),
    ],
)  # fmt: skip
def test_another_nodes_figure_is_not_misspelt(check: str, row: str) -> None:
    assert known_metrics.misspelt(check, row) is None
