"""nearfar lint: silent on what is good, exit codes, and what a run does with it before it measures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearfar.base.errors import NearfarError
from nearfar.cli import main
from nearfar.measurement import AnyMetric, Metric
from nearfar.model import link_limits
from nearfar.model.prediction import load_node_type
from nearfar.site import lint
from nearfar.site.expectations import filled, gpu_models
from nearfar.site.lint import known_metrics
from nearfar.topology import Node
from nearfar.verdict.references import ReferenceFile
from nearfar.verdict.references.reference_files import known_checks
from tests.conftest import CHECKOUT

DATA = Path(__file__).parents[1] / "data" / "lint"
PROVENANCE = 'provenance: {tuned: {date: 2026-11-20, n: 64, stamp: {driver: "580.105.08", cuda: "13.0"}}}\n'
SYSTEM = "system: mine\npartitions:\n  - {name: gpu, node_type: h200-sxm, features: [gpu]}\n"


def site(folder: Path, **files: str) -> Path:
    """A site directory; ``references_mine`` is ``references/mine.yaml``."""
    for name, text in files.items():
        path = folder.joinpath(*name.split("_", 1)).with_suffix(".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def said(folder: Path, today: date = date(2026, 11, 21)) -> list[str]:
    """The complaints about the files of one directory."""
    looked = lint.lint([folder, DATA / "site", CHECKOUT / "site"], today)
    return [str(complaint) for complaint in looked.complaints if folder in complaint.file.parents]


def test_the_shipped_site_is_clean() -> None:
    looked = lint.lint([CHECKOUT / "site"])
    assert [str(complaint) for complaint in looked.complaints] == []
    assert len(looked.files) >= 20


def nominal_rows(check: str, node_type: str, part: float, lower: float) -> dict[str, list[Any]]:
    """A row for every figure of which the nominal links let something be expected."""
    loaded = load_node_type(node_type, [DATA / "site", CHECKOUT / "site"])
    found: dict[str, list[Any]] = {}
    for row, metrics in (known_metrics.rows(check, loaded.node, frozenset()) or {}).items():
        expected = [link_limits.ceiling(m, loaded.node) for m in metrics if isinstance(m, Metric)]
        if expected and all(each is not None for each in expected):
            found[row] = [round(min(each.value for each in expected if each) * part, 4), -lower, None, "GB/s"]
        elif metrics[0].unit == "1":
            found[row] = [1.0, -lower, None, "1"]
    return found


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    node_type=st.sampled_from(["h200-sxm", "h100-pcie", "h100-two-sockets", "summit", "keeneland"]),
    check=st.sampled_from(["host_device_check", "peer_check", "saturation_check", "size_sweep_check", "sharing_check"]),
    part=st.floats(0.8, 1.0), lower=st.floats(0.01, 0.2),
)  # fmt: skip
def test_references_at_nominal_values_raise_nothing(
    tmp_path_factory: pytest.TempPathFactory, node_type: str, check: str, part: float, lower: float
) -> None:
    rows = nominal_rows(check, node_type, part, lower)
    text = PROVENANCE + json.dumps({check: rows})[1:-1] if rows else PROVENANCE
    system = (
        f"system: mine\npartitions:\n  - {{name: gpu, node_type: {node_type}, features: [gpu], references: mine}}\n"
    )
    folder = site(tmp_path_factory.mktemp("nominal"), systems_mine=system, references_mine=text)
    assert [line for line in said(folder) if ": info: " not in line] == []


def right(row: str, metrics: list[AnyMetric], node: Node) -> list[Any]:
    """A row that nothing is wrong with, of the nominal links where these say something."""
    unit, less = metrics[0].unit, metrics[0].unit in ("us", "ms", "B") or "penalty" in row or "_tail_worst." in row
    expected = [link_limits.ceiling(m, node) for m in metrics if isinstance(m, Metric)]
    payload = [each.value for each in expected if each]
    ceilings = payload or [0.9 * m.ceiling for m in metrics if m.ceiling]  # of a link, with its packets' headers
    of_gpus = all(isinstance(m, Metric) and m.cell.flows[0].kind == "gpu_stream" for m in metrics)
    share = 1.0 if "_tail_worst." in row else 0.9
    value = share if unit == "1" else 0.9 * min(ceilings) if ceilings else 1000.0 if of_gpus else 10.0
    return [value, None if less else -0.05, 0.1 if less else None, unit]


@pytest.mark.parametrize("name", ["mixed-x8-x16", "grace-hopper", "virtual-machine-4gpus", "cpuless-memory"])
def test_a_row_for_every_figure_of_every_check_raises_nothing(name: str, tmp_path: Path) -> None:
    xml = DATA.parent / "topologies" / f"constructed-{name}.xml"
    features = ("gpu", "mpi", "ranks", "nccl", "two_nodes", "cuda_mpi")
    site(
        tmp_path, nodes_mine=f"node_type: mine\ndescription: d\nsource: s\nxml: {xml}\n",
        systems_mine=f"system: mine\npartitions:\n  - {{name: p, node_type: mine, features: [{', '.join(features)}]}}\n",
    )  # fmt: skip
    node = filled(load_node_type("mine", [tmp_path]).node, gpu_models([CHECKOUT / "site"]))
    references: dict[str, Any] = {"provenance": {"published": {"source": "constructed"}}}
    for check in known_checks():
        rows = known_metrics.rows(check, node, frozenset(features)) or {}
        references[check] = {row: right(row, metrics, node) for row, metrics in rows.items()}
    site(tmp_path, references_mine=json.dumps({key: rows for key, rows in references.items() if rows}, indent=1))
    assert sum(map(len, references.values())) > 400
    assert said(tmp_path) == []


@pytest.mark.parametrize("slip", sorted((DATA / "slips").glob("*/references/*.yaml")), ids=lambda path: path.parts[-3])
def test_what_the_reader_refuses_is_an_error_of_lint(slip: Path) -> None:
    try:
        ReferenceFile(slip, known_checks())
    except NearfarError as refusal:
        place = str(refusal).partition(": ")[0]
        errors = [line for line in said(slip.parents[1]) if line.startswith(f"{place}: error: ")]
        assert errors, f"lint does not say: {refusal}"


def test_all_complaints_come_at_once_sorted_by_file_and_line(tmp_path: Path) -> None:
    rows = "host_device_check:\n  sole.d2h: [x, 1]\n  sole.h2d: [63.9, -0.05, null, GB/s]\n  soel.h2d: [55, -0.05, null, GB/s]\n"
    system = SYSTEM + "colour: red\nshape: round\n"
    found = said(site(tmp_path, systems_mine=system, references_mine=PROVENANCE + rows))
    assert [line.partition(": error: ")[0].removeprefix(f"{tmp_path}/") for line in found] == [
        "references/mine.yaml:3", "references/mine.yaml:3", "references/mine.yaml:3", "references/mine.yaml:4",
        "references/mine.yaml:5",
        "systems/mine.yaml:4", "systems/mine.yaml:5",
    ], found  # fmt: skip


def test_what_stands_before_a_shipped_file_and_what_nobody_reviewed_is_an_info(tmp_path: Path) -> None:
    text = (CHECKOUT / "site/systems/titan.yaml").read_text() + "unreviewed: true\n"
    found = said(site(tmp_path, systems_titan=text))
    assert [line.partition(": ")[2][:21] for line in found] == [
        "info: takes precedenc",
        "info: unreviewed: not",
    ]


def nearfar(*words: str, site_directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "PYTHONPATH": str(CHECKOUT),
        "NEARFAR_SITE": f"{site_directory}:{DATA / 'site'}",
        **environment,
    }
    return subprocess.run(
        [sys.executable, "-m", "nearfar", *words], env=env, capture_output=True, text=True, timeout=60
    )


LOOSE = PROVENANCE + "host_device_check:\n  sole.h2d: [25, -0.05, null, GB/s]\n"
WRONG = (
    PROVENANCE + "host_device_check:\n  sole.h2d: [55500, -0.05, null, GB/s]\n  sole.d2h: [55400, -0.05, null, GB/s]\n"
)


@pytest.mark.parametrize(
    "text, options, code",
    [(PROVENANCE, (), 0), (PROVENANCE, ("--strict",), 0), (LOOSE, (), 0), (LOOSE, ("--strict",), 2), (WRONG, (), 2)],
)
def test_exit_codes(
    text: str, options: tuple[str, ...], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("NEARFAR_SITE", f"{site(tmp_path, systems_mine=SYSTEM, references_mine=text)}:{DATA / 'site'}")
    assert main(["lint", *options, str(tmp_path)]) == code
    level = "error" if code else "warning"
    assert (f"mine.yaml:3: {level}: " in capsys.readouterr().out) == (text != PROVENANCE)


def test_json_holds_every_complaint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("NEARFAR_SITE", f"{site(tmp_path, systems_mine=SYSTEM, references_mine=WRONG)}:{DATA / 'site'}")
    assert main(["lint", "--json", str(tmp_path / "references" / "mine.yaml")]) == 2
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "nearfar-lint/1"
    assert [(c["line"], c["level"], c["rule"]) for c in told["complaints"]] == [
        (3, "error", "line-rate"),
        (4, "error", "line-rate"),
    ]


@pytest.mark.parametrize("rate, rules", [(48.5, []), (49.6, ["line-rate"])])
def test_lint_accepts_what_two_lanes_of_nvlink_2_carry(tmp_path: Path, rate: float, rules: list[str]) -> None:
    rows = f"peer_check:\n  NV2.write: [{rate}, -0.05, null, GB/s]\n"
    folder = site(tmp_path, systems_mine=SYSTEM.replace("h200-sxm", "summit"), references_mine=PROVENANCE + rows)
    found = lint.lint([folder, DATA / "site", CHECKOUT / "site"], date(2026, 11, 21)).complaints
    assert [each.rule for each in found if each.file.name == "mine.yaml" and each.level == "error"] == rules


def test_a_path_outside_of_the_site_is_looked_at_as_one_of_it(tmp_path: Path, capsys: Any) -> None:
    folder = site(tmp_path, systems_mine=SYSTEM.replace("h200-sxm", "h200-x4-vm"), references_mine=WRONG)
    assert main(["lint", str(folder / "references" / "mine.yaml")]) == 2
    assert (
        "mine.yaml:3: error: host_device_check: sole.h2d: 55500 GB/s is above the line rate" in capsys.readouterr().out
    )


def test_a_file_that_is_none_of_a_site_is_never_clean(capsys: Any) -> None:
    assert main(["lint", str(CHECKOUT / "README.md")]) == 2
    assert "README.md: no site file; these are in systems/" in capsys.readouterr().err


BAD = {
    "systems/latin.yaml": b"\xff\xfe", "systems/empty.yaml": b"", "gpus/colons.yaml": b"a: b: c\n", "references/list.yaml": b"- 1\n",
    "references/cycle.yaml": b"provenance: &a [*a]\n", "systems/template.yaml": b"system: {{ env.NOPE }}\n",
    "templates/bind/slurm.sh.j2": b"\xff",
}  # fmt: skip


def test_whatever_stands_in_a_file_is_one_complaint(tmp_path: Path) -> None:
    for name, content in BAD.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "nodes/folder.yaml").mkdir(parents=True)
    (tmp_path / "references/gone.yaml").symlink_to("/nowhere.yaml")
    os.mkfifo(tmp_path / "systems/pipe.yaml")
    found = said(tmp_path)
    assert sorted(line.partition(": error: ")[0].removeprefix(f"{tmp_path}/") for line in found) == sorted(
        f"{name}:1" for name in (*BAD, "nodes/folder.yaml", "references/gone.yaml", "systems/pipe.yaml")
    ), found


def test_a_path_that_is_not_there(capsys: Any) -> None:
    assert main(["lint", "/no/such/file.yaml"]) == 2
    assert capsys.readouterr().err == "nearfar: /no/such/file.yaml: no such file or directory\n"


def test_a_run_stops_on_every_error_before_it_measures(tmp_path: Path) -> None:
    folder = site(tmp_path / "site", systems_mine=SYSTEM, references_mine=WRONG)
    done = nearfar("validate", "--system", "mine", site_directory=folder, NEARFAR_STATE=str(tmp_path / "state"))
    assert (done.returncode, done.stdout) == (2, "")
    first, second = done.stderr.splitlines()
    assert first.startswith(
        f"nearfar: {folder}/references/mine.yaml:3: host_device_check: sole.h2d: 55500 GB/s is above"
    )
    assert second.startswith(f"nearfar: {folder}/references/mine.yaml:4: ")
    assert not (tmp_path / "state").exists()


def test_a_run_tells_a_few_warnings_and_goes_on(tmp_path: Path) -> None:
    rows = "".join(f"  sole.n0_g{gpu}: [25, -0.05, null, GB/s]\n" for gpu in range(4))
    folder = site(tmp_path / "site", systems_mine=SYSTEM, references_mine=PROVENANCE + "host_device_check:\n" + rows)
    done = nearfar("validate", "--system", "mine", "--list", site_directory=folder)
    assert done.returncode == 0 and "host_device_check @mine:gpu" in done.stdout
    assert [line.count("43% of what the link carries") for line in done.stderr.splitlines()] == [1, 1, 1, 0]
    assert done.stderr.endswith("nearfar: 1 more warning; nearfar lint shows all\n")


def test_a_run_with_very_many_errors_tells_the_first_dozen(tmp_path: Path) -> None:
    rows = "".join(f"  soel.n0_g{gpu}: [55, -0.05, null, GB/s]\n" for gpu in range(40))
    folder = site(tmp_path / "site", systems_mine=SYSTEM, references_mine=PROVENANCE + "host_device_check:\n" + rows)
    done = nearfar("validate", "--system", "mine", "--list", site_directory=folder)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 13
    assert done.stderr.endswith("nearfar: 28 more errors; nearfar lint shows all\n")


def test_references_that_two_systems_share_are_looked_at_with_the_nodes_of_both(tmp_path: Path) -> None:
    other = (
        "system: other\npartitions:\n  - {name: gpu, node_type: h100-two-sockets, features: [gpu], references: mine}\n"
    )
    rows = "host_device_check:\n  near.h2d: [55, -0.05, null, GB/s]\n  sole.h2d: [55500, -0.05, null, GB/s]\n"
    folder = site(tmp_path / "site", systems_mine=SYSTEM, systems_other=other, references_mine=PROVENANCE + rows)
    done = nearfar("validate", "--system", "mine", "--list", site_directory=folder)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "mine.yaml:4: host_device_check: sole.h2d: 55500 GB/s is above the line rate" in line


def test_a_run_is_not_stopped_by_what_another_system_uses(tmp_path: Path) -> None:
    folder = site(tmp_path / "site", systems_mine=SYSTEM, references_mine=WRONG)
    done = nearfar("validate", "--system", "titan", "--list", site_directory=folder)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("link", "lacks"), [("{kind: pcie}", ["gen", "width"]), ("{kind: c2c, speed: 450}", []), ("{kind: pcie, gen: 5, width: 16}", [])]
)  # fmt: skip
def test_a_link_of_a_gpu_has_generation_and_width_unless_it_is_c2c(link: str, lacks: list[str], tmp_path: Path) -> None:
    (tmp_path / "gpus").mkdir()
    (tmp_path / "gpus" / "x.yaml").write_text(f"gpu_models: [X]\nsource: a\nexpect:\n  link: {link}\n")
    said = [each.message for each in lint.lint([tmp_path]).complaints]
    assert said == [f"expect.link: the key '{key}' is missing" for key in lacks]
