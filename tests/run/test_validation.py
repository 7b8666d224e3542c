"""One run from end to end: what should have run is counted, verdicts become one exit code, an interrupt leaves nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from nearfar.base import CouldNotJudge
from nearfar.base.verdicts import NOT_JUDGED
from nearfar.question import ACCEPT, asked_at, named
from nearfar.report.terminal import MOST_LINES
from nearfar.run import expected_cases, run_file, validation
from nearfar.run.expected_cases import ExpectedCase
from nearfar.site import systems
from nearfar.topology import NOT_MEASURED, inventory
from nearfar.verdict import Verdict
from tests.checks.test_checks import programs
from tests.conftest import CHECKOUT
from tests.support import construct_topologies, fake_program
from tests.support.verdicts import judged as judged_whole

SITE = """\
system: fake
partitions:
  - {name: a, node_type: keeneland, features: [gpu], references: none, env_vars: {FAKE_CASE: good}}
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what a run needs, so that its checks can be broken."""
    copy = tmp_path / "checkout"
    for folder in ("nearfar", "checks", "site"):
        # With the compiled modules, but for those that another process is about to write.
        shutil.copytree(CHECKOUT / folder, copy / folder, ignore=shutil.ignore_patterns("*.pyc.*"))
    shutil.copy(CHECKOUT / "reframe_config.py", copy)
    (copy / "site/systems/fake.yaml").write_text(SITE)
    programs(tmp_path / "bin")
    return copy


def command(checkout: Path, *options: str, **environment: str) -> tuple[list[str], dict[str, str]]:
    state, ready = str(checkout.parent / "state"), str(checkout.parent / "bin")
    env = {**os.environ, "PYTHONPATH": str(checkout), "NEARFAR_STATE": state, "NEARFAR_PROGRAMS": ready, **environment}
    env = {key: value for key, value in env.items() if key not in ("NEARFAR_SITE", "NEARFAR_RUN_DIR")} | {
        "PYTHONDONTWRITEBYTECODE": "1"
    }
    return [sys.executable, "-m", "nearfar", "validate", *options], env


def validate(checkout: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    words, env = command(checkout, *options, **environment)
    return subprocess.run(words, cwd=checkout, env=env, capture_output=True, text=True, timeout=3000)


def run_json(checkout: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((checkout.parent / "state/reports/latest/run.json").read_text())
    return found


def listing(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_modelled_system_from_a_checkout_that_stays_as_it_was(checkout: Path) -> None:
    before = listing(checkout)
    done = validate(checkout, "--system", "keeneland")
    assert done.returncode == 0, done.stdout + done.stderr
    run = run_json(checkout)
    assert (run["verdict"], run["real"], run["modelled"], run["missing_cases"]) == (NOT_JUDGED, [], ["keeneland"], [])
    checks = {
        "host_device_check",
        "peer_check",
        "saturation_check",
        "sharing_check",
        "size_sweep_check",
        "topology_check",
    }
    assert {case["check"] for case in run["ran_cases"]} == checks
    page = checkout.parent / "state/reports/latest"
    assert {"index.html", "report.json", "junit.xml"} <= set(os.listdir(page))
    assert "MODELLED" in done.stdout and len(done.stdout.splitlines()) <= MOST_LINES
    assert str(page.resolve() / "index.html") in done.stdout
    assert listing(checkout) == before


def test_a_run_that_reframe_made_by_hand_gets_its_page(checkout: Path) -> None:
    _, env = command(checkout)
    run = checkout.parent / "by-hand"
    reframe = [sys.executable, "-c", "from reframe.frontend.cli import main; main()", "-C", "reframe_config.py"]
    done = subprocess.run(
        [*reframe, "-c", "checks", "--system=keeneland", "-r"],
        cwd=checkout, env={**env, "NEARFAR_RUN_DIR": str(run)}, capture_output=True, text=True, timeout=3000,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    page = [sys.executable, "-m", "nearfar", "report", "--summary", str(run)]
    said = subprocess.run(page, cwd=checkout, env=env, capture_output=True, text=True, timeout=300)
    assert said.returncode == 0 and "MODELLED" in said.stdout, said.stdout + said.stderr
    made = json.loads((run / "run.json").read_text())
    assert (made["system"], made["verdict"], made["modelled"], made["real"]) == (
        "keeneland",
        NOT_JUDGED,
        ["keeneland"],
        [],
    )
    assert made["missing_cases"] == [] and (run / "index.html").exists()


@pytest.mark.parametrize(
    "name, damage, line, others",
    [
        ("checks/size_sweep_check.py", "def broken(:\n", 1, True),
        ("checks/size_sweep_check.py", "import no_such_module\n", None, True),
        ("checks/size_sweep_check.py", "x = []\nx[1]\n", 2, False),
    ],
)
def test_a_check_that_is_broken_is_missed(
    checkout: Path, name: str, damage: str, line: int | None, others: bool
) -> None:
    """A case that did not run makes the run INDETERMINATE, by file and line; the others run where ReFrame lets them."""
    file = checkout / name
    file.write_text(damage + file.read_text())
    done = validate(checkout, "--system", "keeneland")
    run = run_json(checkout)
    assert done.returncode == 3, done.stdout + done.stderr
    assert run["verdict"] == "INDETERMINATE"
    missing = run["missing_cases"][0]
    every = [
        "host_device_check",
        "peer_check",
        "saturation_check",
        "sharing_check",
        "size_sweep_check",
        "topology_check",
    ]
    assert sorted(m["check"] for m in run["missing_cases"]) == ([file.stem] if others else every)
    assert file.name in missing["reason"]
    if line is not None:
        assert f"{file.name}:{line}: " in missing["reason"]
    assert file.stem.removesuffix("_check") in done.stdout


def validate_plain(checkout: Path, case: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The host-device check of a node that only predictions judge."""
    shutil.copy(checkout / "site/nodes/keeneland.xml", checkout / "site/nodes/plain.xml")
    described = (checkout / "site/nodes/keeneland.yaml").read_text().replace("node_type: keeneland", "node_type: plain")
    (checkout / "site/nodes/plain.yaml").write_text(described)
    (checkout / "site/gpus/plain.yaml").write_text(fake_program.HEALTHY)
    text = SITE.replace("good}", f"{case}, FAKE_HOST: {socket.gethostname()}}}").replace(": keeneland", ": plain")
    (checkout / "site/systems/fake.yaml").write_text(text)
    return validate(checkout, "--system", "fake", "--check", "host_device_check", *options, **environment)


@pytest.mark.parametrize(
    "case, code, verdict",
    [("good", 0, "PASS"), ("slower_path", 0, "DEGRADED"), ("broken_path", 1, "FAIL"), ("denied", 3, "INDETERMINATE")],
)
def test_exit_codes(checkout: Path, case: str, code: int, verdict: str) -> None:
    done = validate_plain(checkout, case)
    assert (done.returncode, run_json(checkout)["verdict"]) == (code, verdict), done.stdout + done.stderr
    assert verdict in done.stdout


@pytest.mark.parametrize(
    "case, options, code",
    [
        ("slower_path", (), 1),
        ("slower_path", ("--accept-degraded",), 0),
        ("good", (), 0),
        ("broken_path", ("--accept-degraded",), 1),
        ("denied", ("--accept-degraded",), 3),
    ],
)
def test_exit_codes_of_an_acceptance(checkout: Path, case: str, options: tuple[str, ...], code: int) -> None:
    flows = {f"{name}: [5.87, -0.5, 0.5, GB/s]" for name in ("off_socket.h2d", "off_socket.d2h", "near.h2d.pageable")}
    both = [f"{place}.both.{way}" for place in ("near", "off_socket") for way in ("h2d", "d2h", "total")]
    rows = sorted(flows) + [f"{name}: [{11.14 if name.endswith('total') else 5.57}, -0.5, 0.5, GB/s]" for name in both]
    text = "provenance: {published: {source: a paper}}\nhost_device_check:\n" + "".join(f"  {row}\n" for row in rows)
    (checkout / "site/references/none.yaml").write_text(text)
    done = validate_plain(checkout, case, "--acceptance", *options)
    run = run_json(checkout)
    assert (done.returncode, run["exit_code"]) == (code, code), done.stdout + done.stderr
    assert run["acceptance"] == {"accept_degraded": bool(options)}
    folder = checkout.parent / "state/reports/latest"
    report = json.loads((folder / "report.json").read_text())
    if run["verdict"] != "DEGRADED":
        assert report["acceptance"]["degraded"] == []
        return
    (entry,) = report["acceptance"]["degraded"]
    assert entry == {"check": "host_device_check", "subject": "near.g2_n1", "code": "figure.beyond_usual"}
    last = "\n".join(done.stdout.splitlines()[-4:])
    assert "near.g2_n1" in last and "figure.beyond_usual" in last and "--accept-degraded" in last
    assert "near.g2_n1 (figure.beyond_usual)" in (folder / "index.html").read_text()


def test_accept_degraded_without_acceptance_is_wrong_use(checkout: Path) -> None:
    done = validate(checkout, "--system", "fake", "--accept-degraded")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "--accept-degraded" in done.stderr and "--acceptance" in done.stderr
    assert not (checkout.parent / "state").exists()


def test_a_path_that_was_faster_in_the_runs_before(checkout: Path, tmp_path: Path) -> None:
    """Its reference lets it pass; its own past does not, where there is one."""
    alone = validate_plain(checkout, "aged_path", NEARFAR_HISTORY=str(tmp_path / "nothing"))
    assert (alone.returncode, run_json(checkout)["verdict"]) == (0, "PASS"), alone.stdout + alone.stderr
    assert validate_plain(checkout, "good").returncode == 0
    kept = tmp_path / "state/reports/history"
    more_nights(next(kept.rglob("*.parquet")), 5)
    done = validate_plain(checkout, "aged_path")
    assert (done.returncode, run_json(checkout)["verdict"]) == (0, "DEGRADED"), done.stdout + done.stderr
    words = "GPU 2, device to host into NUMA node 1: 5.59 GB/s, worse than its history: 5.87 GB/s (5 nights from 20"
    assert words in done.stdout
    latest = tmp_path / "state/reports/latest"
    report = json.loads((latest / "report.json").read_text())
    metrics = [m for node in report["nodes"] for check in node["checks"] for m in check["metrics"]]
    assert [m["past"]["n"] for m in metrics if m["verdict"] == "DEGRADED"] == [5]
    assert "5.87 before, 5 nights from 20" in (latest / "index.html").read_text()


def more_nights(file: Path, count: int) -> None:
    """The same rows as of other runs, the nights before."""
    rows = pl.read_parquet(file)
    for night in range(1, count + 1):
        earlier = pl.col("started", "recorded").dt.offset_by(f"-{night}d")
        run = rows.with_columns(earlier, source=pl.col("source") + str(night))
        run.write_parquet(file.with_name(file.name.replace(".parquet", f"{night}.parquet")))


def test_a_wrong_host_stops_before_it_measures(checkout: Path) -> None:
    history = checkout.parent / "state/reports/history"
    assert validate_plain(checkout, "good").returncode == 0
    kept, state = listing(history), listing(checkout.parent / "state")
    assert kept
    file = checkout / "site/systems/fake.yaml"
    file.write_text(file.read_text().replace("system: fake\n", 'system: fake\nhosts: ["elsewhere[01-10]"]\n'))
    words = ("--system", "fake", "--check", "host_device_check")
    done = validate(checkout, *words, "--acceptance")
    assert (done.returncode, done.stdout) == (2, "")
    name, last = socket.gethostname(), done.stderr.splitlines()[-1]
    assert f"{name} is not a node of system fake ({file}): it is not in elsewhere[01-10]; nothing was measured" in last
    assert "--force-system" in last and listing(checkout.parent / "state") == state
    forced = validate(checkout, *words, "--force-system")
    assert run_json(checkout)["verdict"] == "PASS" and listing(history) == kept
    assert f"warning: {name} is not a node of system fake ({file})" in forced.stderr
    assert validate(checkout, *words, NEARFAR_JOB_PARTITION="a").returncode == 0, "Slurm says that it is"


def test_a_history_that_cannot_be_read_costs_a_line(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "rows-1").write_text("no directory")
    done = validate_plain(checkout, "good", NEARFAR_HISTORY=str(tmp_path))
    assert (done.returncode, run_json(checkout)["verdict"]) == (0, "PASS"), done.stdout + done.stderr
    assert done.stderr.count("not compared with the node's history") == 1, done.stderr


@pytest.mark.parametrize("before", [False, True])
def test_without_polars_a_run_says_so_once(checkout: Path, tmp_path: Path, before: bool) -> None:
    """Whether there is a history of the node already or not."""
    if before:
        assert validate_plain(checkout, "good").returncode == 0
    (tmp_path / "stub").mkdir()
    (tmp_path / "stub/polars.py").write_text('raise ModuleNotFoundError("polars", name="polars")\n')
    kept = listing(tmp_path / "state/reports/history")
    done = validate_plain(checkout, "good", PYTHONPATH=f"{tmp_path / 'stub'}:{checkout}")
    assert (done.returncode, run_json(checkout)["verdict"]) == (0, "PASS"), done.stdout + done.stderr
    said = [line for line in done.stderr.splitlines() if "polars is" in line or "the node's history" in line]
    assert len(said) == 1, done.stderr
    words = "nearfar: no history is kept, and nothing compared with the node's past: polars is not installed; "
    assert said[0].startswith(words) and listing(tmp_path / "state/reports/history") == kept
    modelled = validate(checkout, "--system", "keeneland", PYTHONPATH=f"{tmp_path / 'stub'}:{checkout}")
    assert modelled.returncode == 0 and "polars is" not in modelled.stderr, "nothing modelled is ever kept"


def test_drift_is_named(checkout: Path) -> None:
    """This machine is no Keeneland node: every GPU is missing, and said so."""
    done = validate(checkout, "--system", "fake", "--check", "topology_check")
    assert done.returncode == 1, done.stdout + done.stderr
    verdicts = expected_cases.verdicts((checkout.parent / "state/reports/latest").resolve())
    assert any(finding.subject == "gpus" and finding.hard for finding in verdicts[0].findings)


def test_programs_that_cannot_be_built(checkout: Path) -> None:
    done = validate(checkout, "--system", "fake", "--check", "host_device_check", NEARFAR_PROGRAMS="")  # no setup/build
    run = run_json(checkout)
    assert done.returncode == 3
    assert "the programs could not be built" in run["missing_cases"][0]["reason"]


def test_a_user_without_a_name_runs(checkout: Path) -> None:
    """As in a container of ``docker -u``, or with the directory service down: ReFrame itself wants a name."""
    words, env = command(checkout, "--system", "keeneland", "--check", "host_device_check")
    env = {name: value for name, value in env.items() if name not in ("LOGNAME", "USER", "LNAME", "USERNAME")}
    nameless = ["unshare", "--user", "--map-user=54321"]
    if subprocess.run([*nameless, "true"], capture_output=True).returncode:
        pytest.skip("no user namespaces here")
    done = subprocess.run([*nameless, *words], cwd=checkout, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and run_json(checkout)["missing_cases"] == [], done.stderr


def test_a_folder_of_programs_that_is_not_there_is_wrong_use(checkout: Path) -> None:
    done = validate(checkout, "--system", "fake", NEARFAR_PROGRAMS="/no/such/folder")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("nearfar: NEARFAR_PROGRAMS: /no/such/folder ")
    assert not (checkout.parent / "state").exists()


def test_json_stands_alone_on_standard_output(checkout: Path) -> None:
    done = validate(checkout, "--system", "keeneland", "--json")
    assert json.loads(done.stdout)


@pytest.mark.parametrize(
    "options, words",
    [
        (["--system", "keneland"], "no system file called 'keneland' (did you mean 'keeneland'?)"),
        (["--check", "host_devise_check"], "no such check (did you mean 'host_device_check'?)"),
    ],
)
def test_wrong_use(checkout: Path, options: list[str], words: str) -> None:
    done = validate(checkout, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_check_that_no_partition_has_what_it_takes_for(checkout: Path) -> None:
    done = validate(checkout, "--system=fake", "--check", "osu_check")
    assert done.returncode == 3
    assert (
        "--check osu_check: no partition of 'fake' has what it asks for ('+mpi -modelled'; partitions: a: gpu)"
        in done.stderr
    )
    assert "./validate --with spack builds" in done.stderr


def test_a_wrong_site_file_is_one_line(checkout: Path) -> None:
    (checkout / "site/systems/fake.yaml").write_text(SITE.replace("features", "feature"))
    done = validate(checkout)
    assert done.returncode == 2
    assert "site/systems/fake.yaml:3: partitions.0: unknown key 'feature' (did you mean 'features'?)" in done.stderr
    by_hand = subprocess.run(
        [sys.executable, "-c", "from reframe.frontend.cli import main; main()", "-C", str(checkout / "reframe_config.py"), "-l"],
        env=command(checkout)[1], cwd=checkout.parent, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert by_hand.returncode == 2
    assert "unknown key 'feature'" in by_hand.stderr
    assert "Traceback" not in by_hand.stderr + by_hand.stdout


def test_references_of_an_unknown_check_are_told_before_measuring(checkout: Path) -> None:
    text = "provenance: {published: {source: a paper}}\nhost_devce_check:\n  sole.h2d: [1, -0.1, null, GB/s]\n"
    (checkout / "site/references/none.yaml").write_text(text)
    done = validate(checkout, "--system=fake")
    assert (done.returncode, done.stdout) == (2, "")
    assert "none.yaml:2: " in done.stderr and "host_devce_check" in done.stderr
    assert not list(checkout.parent.glob("state/reports/fake/*"))


def test_a_real_check_that_looks_at_nothing_is_never_green(checkout: Path) -> None:
    site = SITE.replace("keeneland", "jaguarpf")  # a node type without GPUs, on a partition that claims some
    (checkout / "site/systems/fake.yaml").write_text(site)
    done = validate(checkout, "--system=fake", "--check", "host_device_check")
    assert done.returncode == 3, done.stdout
    assert "INDETERMINATE" in done.stdout
    if not inventory.gpu_pci_devices():
        assert "partition 'a' has the feature gpu" in done.stdout


def test_amd_gpus_are_never_green(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(construct_topologies.CAPTURES / "constructed-mi250x.xml", checkout / "site/nodes/mi250x.xml")
    text = "node_type: mi250x\ndescription: of AMD\nsource: a test\nxml: mi250x.xml\ncapacities: {}\n"
    (checkout / "site/nodes/mi250x.yaml").write_text(text)
    (checkout / "site/systems/fake.yaml").write_text(SITE.replace("keeneland", "mi250x"))
    done = validate(checkout, "--system=fake", "--check", "host_device_check", "--check", "host_memory_check")
    assert done.returncode == 3 and "AMD GPUs are described, not measured, by this build" in done.stdout, done
    monkeypatch.setattr(inventory, "gpus_not_measured", lambda: NOT_MEASURED)
    monkeypatch.setattr(validation, "_runs_here", lambda *_: {"default"})
    with pytest.raises(CouldNotJudge, match=f"{NOT_MEASURED}; for checks of the host"):
        validation.plan(validation.Request())


def test_a_reference_above_the_line_rate_is_told_before_measuring(checkout: Path) -> None:
    file = checkout / "site/references/keeneland.yaml"
    file.write_text(file.read_text().replace("near.h2d: [5.7", "near.h2d: [57"))
    done = validate(checkout, "--system", "keeneland")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{file}:15: host_device_check: near.h2d: 57 GB/s is above the line rate of PCIe 2.0 x16" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(checkout: Path, number: signal.Signals) -> None:
    (checkout / "site/systems/fake.yaml").write_text(SITE.replace("FAKE_CASE: good", "FAKE_CASE: endless"))
    words, env = command(checkout, "--system", "fake", "--check", "host_device_check")
    running = subprocess.Popen(words, cwd=checkout, env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    state = checkout.parent / "state"
    deadline = time.monotonic() + 20
    while not list(state.glob("reports/fake/*/reframe/stage/fake/*/*/*/hung")) and time.monotonic() < deadline:
        time.sleep(0.02)
    began = time.monotonic()
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert time.monotonic() - began < 50, "the fake hangs for longer"
    assert running.returncode == 130
    assert "interrupted" in said and "Traceback" not in said
    (written,) = state.glob("reports/fake/*/run.json")
    assert not (state / "reports/latest").exists(), "half a run is not the latest"
    run = json.loads(written.read_text())
    assert run["interrupted"] and run["verdict"] == "INDETERMINATE"
    assert run["missing_cases"][0]["reason"] == "the run was interrupted"
    assert list(state.rglob(".*.json.*")) == []
    assert still_running(checkout) == []


def still_running(checkout: Path) -> list[str]:
    """Processes whose command line names the copy or its programs."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(checkout.parent) in words:
            found.append(words.replace("\0", " "))
    return found


def case(check: str, modelled: bool = False) -> ExpectedCase:
    return ExpectedCase(check, "s", "p", "e", modelled, None, "f.py:1")


def judged(check: str, verdict: str) -> Verdict:
    return judged_whole(check, system="s", partition="p", environ="e", verdict=verdict)


@pytest.mark.parametrize(
    "cases, found, missing, verdict",
    [
        ([case("a"), case("b")], [judged("a", "PASS"), judged("b", "DEGRADED")], False, "DEGRADED"),
        ([case("a"), case("b")], [judged("a", "INDETERMINATE"), judged("b", "FAIL")], False, "FAIL"),
        ([case("a")], [judged("a", "PASS")], True, "INDETERMINATE"),
        ([case("a")], [judged("a", "FAIL")], True, "FAIL"),
        ([case("a")], [], False, "INDETERMINATE"),
        ([], [], False, "INDETERMINATE"),
        ([case("a"), case("m", True)], [judged("a", "PASS"), judged("m", "FAIL")], False, "PASS"),
        ([case("m", True)], [judged("m", "FAIL")], False, NOT_JUDGED),
        ([case("a"), case("b")], [judged("a", "PASS"), judged("b", NOT_JUDGED)], False, "PASS"),
        ([case("a"), case("b")], [judged("a", NOT_JUDGED), judged("b", NOT_JUDGED)], False, NOT_JUDGED),
    ],
)
def test_merging(cases: list[ExpectedCase], found: list[Verdict], missing: bool, verdict: str) -> None:
    assert run_file.merged(cases, found, missing) == verdict
    if any(not each.modelled for each in cases):
        sweeps = "INDETERMINATE" if verdict == NOT_JUDGED else verdict
        assert run_file.merged(cases, found, missing, must_judge=True) == sweeps


@pytest.mark.parametrize("key", ["check", "system", "partition", "environ"])
def test_a_verdict_belongs_to_no_case_elsewhere(key: str) -> None:
    verdict = judged("a", "PASS")
    assert expected_cases.belongs(verdict, case("a"))
    assert not expected_cases.belongs(replace(verdict, **{key: "other"}), case("a"))


def test_the_expected_cases_are_those_that_reframe_lists() -> None:
    """The questions' `systems`, as read here, against what ReFrame makes of them."""
    loaded = systems.load_all([CHECKOUT / "site"])
    checks = asked_at(ACCEPT)
    loaded["local"] = systems.local_system(False, loaded)
    for name in ("keeneland", "summit", "jaguarpf"):
        done = subprocess.run(
            [sys.executable, "-c", "from reframe.frontend.cli import main; main()", "-C", str(CHECKOUT / "reframe_config.py"),
             "-c", str(CHECKOUT / "checks"), "-lC", f"--system={name}"], capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        listed = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("- ")}
        assert {c.check for c in expected_cases.expected(checks, loaded[name])} == listed, name


@pytest.mark.parametrize(
    "valid, features, fits",
    [
        (("*",), [], True), (("+gpu",), ["gpu"], True), (("+gpu",), [], False), (("-modelled", "+modelled +memory"), [], True),
        (("-modelled", "+modelled +memory"), ["modelled"], False), (("-modelled", "+modelled +memory"), ["modelled", "memory"], True),
        (("sys:part +gpu",), ["gpu"], True), (("other",), [], False), (("sys",), [], True), (("*:part",), [], True),
    ],
)  # fmt: skip
def test_valid_systems(valid: tuple[str, ...], features: list[str], fits: bool) -> None:
    assert replace(named("peer_check"), systems=valid).fits("sys", "part", features) == fits


def test_a_build_is_announced_before_it_begins(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("NEARFAR_PROGRAMS", "NEARFAR_SYSTEM"):
        monkeypatch.delenv(name, raising=False)
    system = validation.chosen_system(validation.Request(system="h200-x1-vm"))
    wanted = [replace(case("host_device_check"), environ=next(iter(system.environments)))]
    for code, announced in ((1, True), (0, False)):
        done = validation.process.Finished(code, "", "", 0.0, False)
        monkeypatch.setattr(validation.process, "run", lambda *_, done=done: done)
        validation._announce_build(system, wanted)
        assert ("building the programs (once, a few minutes)" in capsys.readouterr().err) == announced
