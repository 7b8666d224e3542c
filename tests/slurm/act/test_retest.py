"""Drained nodes measured again inside a reservation, on a real Slurm: at no moment can others use them, whatever happens."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from nearfar.slurm.act import ActOptions, quarantine, repairs
from nearfar.slurm.controller import reservations
from nearfar.slurm.findings import runs_of_sweep
from nearfar.slurm.ledger import CheckRun
from tests.support import sweeping
from tests.support.acting import Site
from tests.support.node_results import leave
from tests.support.private_slurm import PrivateSlurm, needed

pytestmark = pytest.mark.slurm
#: Leaves the results of a retest: given the site, the nodes and the reservation.
Measured = Callable[[Site, Sequence[str], str], None]


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateSlurm]:
    needed(root=True)
    with PrivateSlurm(cpus=2, gpus=2, nodes=4) as slurm:
        yield slurm


def measuring(site: Site, monkeypatch: pytest.MonkeyPatch, measured: Measured) -> None:
    """Let a retest measure with a function in place of a sweep."""

    def measure(
        level: str, partition: str, names: Sequence[str], reservation: str, options: ActOptions, tell: object
    ) -> Sequence[CheckRun]:
        assert (level, partition) == ("accept", "all")
        measured(site, names, reservation)
        return runs_of_sweep(site.results, "again", options.policy, time.time())[0]

    monkeypatch.setattr(repairs, "_measure", measure)


def left(site: Site, node: str, run: str, **found: object) -> None:
    leave(site.results, node, run, at=time.time(), sweep="again", **found)  # type: ignore[arg-type]


def drained_for_speed(site: Site, node: str) -> str:
    site.slow_twice(node, "00000002", "00000003")
    assert site.act() == 0
    reason = site.node(node).reason
    assert reason is not None and reason.startswith("nearfar: FAIL")
    return reason


def job(site: Site, node: str, *options: str) -> int:
    return site.private.run(["srun", "-w", node, "--immediate=1", "--quiet", *options, "true"]).returncode


def killed(site: Site, monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    """A retest that ends as SIGKILL leaves it while it measures."""

    def dies(site: Site, names: Sequence[str], reservation: str) -> None:
        raise KeyboardInterrupt

    measuring(site, monkeypatch, dies)
    with monkeypatch.context() as patch:
        patch.setattr(quarantine, "end", lambda *_: None)
        assert site.run("retest", *words) == 130


def test_in_use_again_only_after_it_passed(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drained_for_speed(site, "n2")
    inside = []

    def slow(site: Site, names: Sequence[str], reservation: str) -> None:
        site.slurm.wait("n2", lambda node: not node.down, 20)
        inside.extend([job(site, "n2"), job(site, "n2", f"--reservation={reservation}")])
        left(site, "n2", "00000010", speed=28.5)

    measuring(site, monkeypatch, slow)
    assert site.run("retest", "n2") == 1
    assert "n2           drained       drained again: GPU 2, device to host" in capsys.readouterr().out
    assert inside[0] != 0 and inside[1] == 0, "only jobs inside the reservation run"
    assert site.node("n2").reason == "nearfar: FAIL host_device d2h g2 28.5<52.6 GB/s run=00000010"
    assert reservations.show(site.slurm) == []
    site.slurm.wait("n2", lambda node: node.free_of_jobs, 20)

    for path in (site.results / "again" / "nodes" / "n2").iterdir():
        subprocess.run(["rm", "-r", str(path)], check=True)
    measuring(site, monkeypatch, lambda site, names, reservation: left(site, "n2", "00000011"))
    assert site.run("retest", "n2") == 0
    assert "released      host_device_check passed in run 00000011" in capsys.readouterr().out
    assert not site.node("n2").drain and reservations.show(site.slurm) == []
    assert site.act() == 0 and not site.node("n2").drain, "what was found before has been answered"


def test_others_are_served_while_it_measures(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new node with wrong data is drained, and another one cleared; the node in retest is nobody's business."""
    drained_for_speed(site, "n2")
    codes = []

    def measured(site: Site, names: Sequence[str], reservation: str) -> None:
        leave(site.results, "n3", "00000103", at=time.time(), wrong="wrong data")
        codes.append(site.act())
        assert site.node("n3").drain and not site.node("n2").drain
        codes.extend([site.run("clear", "n3", "--because", "x"), site.run("clear", "n2", "--because", "x")])
        assert not site.node("n3").drain and reservations.show(site.slurm)[0].name == reservation
        codes.extend([site.run("retest", "n2"), site.act()])
        left(site, "n2", "00000011")

    measuring(site, monkeypatch, measured)
    assert site.run("retest", "n2") == 0
    assert codes == [0, 0, 3, 2, 0], "the node in retest is neither cleared nor retested twice"
    assert site.drained() == [] and reservations.show(site.slurm) == []


@pytest.mark.parametrize(
    "trouble", ["no result", "not judged", "an interrupt", "by hand", "a power cut", "known to be down"]
)
def test_whatever_happens_it_is_drained_again(site: Site, monkeypatch: pytest.MonkeyPatch, trouble: str) -> None:
    reason = drained_for_speed(site, "n2")

    def measured(site: Site, names: Sequence[str], reservation: str) -> None:
        assert not site.node("n2").drain
        if trouble == "not judged":
            left(site, "n2", "00000010", speed=None, indeterminate="the GPU is busy")
        if trouble == "an interrupt":
            batch = ["sbatch", "-w", "n2", f"--reservation={reservation}", "--output=/dev/null", "--wrap", "sleep 100"]
            site.private.run(batch)
            raise KeyboardInterrupt
        if trouble in ("a power cut", "known to be down"):
            site.private.kill_node("n2")
        if trouble == "known to be down":
            site.private.run(["scontrol", "update", "nodename=n2", "state=down", "reason=Not responding"])
        if trouble == "by hand":
            site.private.run(["scontrol", "update", "nodename=n2", "state=drain", "reason=I am looking at it"])

    measuring(site, monkeypatch, measured)
    assert site.run("retest", "n2") == {"an interrupt": 130}.get(trouble, 1)
    expected = {"by hand": "I am looking at it", "known to be down": "Not responding"}.get(trouble, reason)
    assert (site.node("n2").drain, site.node("n2").reason) == (True, expected)
    assert reservations.show(site.slurm) == []
    assert site.private.run(["squeue", "-h", "-t", "PD,R"]).stdout == ""
    if trouble in ("a power cut", "known to be down"):
        site.private.start_node("n2")
        site.slurm.wait("n2", lambda node: "NOT_RESPONDING" not in node.flags, 30)
        assert site.node("n2").drain, "it is up again, and still nobody's"


@pytest.mark.parametrize("reserved", [True, False], ids=["still reserved", "somebody freed it"])
def test_the_next_act_ends_what_died_in_the_middle(site: Site, monkeypatch: pytest.MonkeyPatch, reserved: bool) -> None:
    reason = drained_for_speed(site, "n2")
    killed(site, monkeypatch, "n2")
    assert not site.node("n2").drain
    site.slurm.wait("n2", lambda node: not node.down, 20)
    if reserved:
        assert job(site, "n2") != 0, "the reservation keeps jobs off"
    else:
        site.private.run(["scontrol", "delete", f"reservationname={reservations.show(site.slurm)[0].name}"])
    assert site.act() == 0
    assert (site.node("n2").drain, site.node("n2").reason) == (True, reason)
    assert reservations.show(site.slurm) == []


def test_a_delivered_node_whose_retest_died_is_drained_as_it_was(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may keep others' reason while it is in use (slurm-versions.md): that is no reason to leave it reserved for a year."""
    site.private.run(["scontrol", "update", "nodename=n3", "state=drain", "reason=new"])
    killed(site, monkeypatch, "n3", "--accept-delivered", "new")
    assert not site.node("n3").drain
    assert site.act() == 0
    assert (site.node("n3").drain, site.node("n3").reason) == (True, "new")
    assert reservations.show(site.slurm) == []


def test_a_slurmctld_that_goes_away_in_the_middle(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = drained_for_speed(site, "n2")

    def measured(site: Site, names: Sequence[str], reservation: str) -> None:
        left(site, "n2", "00000010", speed=28.5)
        site.private.stop_controller()

    measuring(site, monkeypatch, measured)
    assert site.run("retest", "n2") == 3
    site.private.start_controller()
    assert not site.node("n2").drain and len(reservations.show(site.slurm)) == 1, "reserved until it can be drained"
    assert site.act() == 0
    assert (site.node("n2").drain, site.node("n2").reason) == (True, reason)
    assert reservations.show(site.slurm) == []


def test_delivered_nodes_are_accepted_alike(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for node in ("n1", "n2", "n3", "n4"):
        site.private.run(["scontrol", "update", f"nodename={node}", "state=drain", "reason=new, not accepted"])

    def measured(site: Site, names: Sequence[str], reservation: str) -> None:
        assert list(names) == ["n1", "n2", "n3", "n4"]
        left(site, "n1", "00000011")
        left(site, "n2", "00000012", wrong="wrong data")
        left(site, "n3", "00000013", speed=None, indeterminate="no reference")
        # Its clock is nine days behind.
        leave(site.results, "n4", "00000014", at=time.time() - 9 * 86400, sweep="again", wrong="wrong data")

    measuring(site, monkeypatch, measured)
    assert site.run("retest", "n[1-4]", "--accept-delivered", "new") == 2
    assert site.run("retest", "n[1-4]") == 2
    assert "n1: drained by somebody else with 'new, not accepted'; theirs to resume" in capsys.readouterr().err
    assert site.run("retest", "n[1-4]", "--accept-delivered", "new, not accepted") == 1
    assert {name: node.why_out for name, node in site.slurm.nodes().items()} == {
        "n1": None, "n2": "nearfar: FAIL host_device g2:n0 cell.wrong_data run=00000012", "n3": "new, not accepted",
        "n4": "nearfar: FAIL host_device g2:n0 cell.wrong_data run=00000014",
    }  # fmt: skip
    assert reservations.show(site.slurm) == []


def test_a_word_and_a_retest_close_hard_evidence(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(site.results, "n2", "00000103", at=site.now - 60, wrong="wrong data")
    assert site.act() == 0
    measuring(site, monkeypatch, lambda site, names, reservation: None)
    assert site.run("retest", "n2") == 1 and site.node("n2").drain
    measuring(site, monkeypatch, lambda site, names, reservation: left(site, "n2", "00000010", level="quick"))
    assert site.run("retest", "n2") == 1 and site.node("n2").drain, "a quick run does not cover it"
    measuring(site, monkeypatch, lambda site, names, reservation: left(site, "n2", "00000011"))
    subprocess.run(["rm", "-r", str(site.results / "again")], check=True)
    assert site.run("retest", "n2") == 0 and not site.node("n2").drain
    assert site.act() == 0 and not site.node("n2").drain


def test_nodes_that_are_not_resumed(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(site: Site, names: Sequence[str], reservation: str) -> None:
        raise AssertionError("nothing may be measured")

    def refused(words: str, nodes: str = "n2", *more: str) -> None:
        before = {name: (node.drain, node.reason) for name, node in site.slurm.nodes().items()}
        assert site.run("retest", nodes, *more) in (2, 3)
        said = capsys.readouterr().err
        assert words in said and "Traceback" not in said, said
        assert {name: (node.drain, node.reason) for name, node in site.slurm.nodes().items()} == before
        assert not [r for r in reservations.show(site.slurm) if r.name.startswith(quarantine.PREFIX)]

    measuring(site, monkeypatch, never)
    refused("n9: Slurm has no such node", "n9")
    site.slurm.wait("n1", lambda node: node.idle, 20)
    refused("n1: it is IDLE, not drained", "n1")
    refused("'n[1-': not a node list", "n[1-")
    drained_for_speed(site, "n2")
    asks = "--level quick: n2 was drained for host_device_check, which it does not ask; levels that do: accept, nightly"
    refused(asks, "n2", "--level", "quick")
    make = "scontrol create reservation reservationname=others nodes=n2 users=daemon starttime=now duration=60"
    site.private.run([*make.split(), "flags=maint,ignore_jobs"])
    refused("n2: also in reservation others, whose users could run there; not resumed")
    site.private.run(["scontrol", "delete", "reservationname=others"])
    site.private.run(["scontrol", "update", "nodename=n2", "state=resume"])
    site.slurm.wait("n2", lambda node: node.idle, 20)
    site.private.run(["sbatch", "-w", "n2", "--output=/dev/null", "--wrap", "sleep 100"])
    site.slurm.wait("n2", lambda node: node.base in ("MIXED", "ALLOCATED"), 20)
    site.private.run(["scontrol", "update", "nodename=n2", "state=drain", "reason=by hand"])
    refused("jobs still run on it")
    site.private.run(["scancel", "--me", "--partition=all"])
    site.slurm.wait("n2", lambda node: node.free_of_jobs, 20)
    refused("n2: drained by somebody else with 'by hand'")


def test_who_measures_has_to_be_trusted(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Root measures as the owner of the results; it is refused before a node is touched."""
    os.chown(site.results, 65534, 65534)
    assert site.run("retest", "n1") == 2
    assert "the results of nobody do not count: add it to `act: trusted` of system 'vm'" in capsys.readouterr().err
    assert not site.state.exists()


def test_a_node_that_flaps_is_cleared_not_retested(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It passes its retests: that is what flapping is."""
    drained_for_speed(site, "n2")
    measuring(site, monkeypatch, lambda site, names, reservation: left(site, "n2", "00000011"))
    assert site.run("retest", "n2") == 0
    leave(site.results, "n2", "00000012", at=time.time() + 1, wrong="wrong data", took=0.0)
    assert site.act() == 0 and site.node("n2").drain
    capsys.readouterr()
    assert site.run("retest", "n2") == 2
    assert "n2: drained 2 times since" in (said := capsys.readouterr().err) and "nearfar slurm clear n2" in said
    assert site.run("clear", "n2", "--because", "riser replaced") == 0
    leave(site.results, "n2", "00000013", at=time.time() + 2, wrong="wrong data", took=0.0)
    assert site.act() == 0 and site.node("n2").drain
    measuring(site, monkeypatch, lambda site, names, reservation: left(site, "n2", "00000014"))
    subprocess.run(["rm", "-r", str(site.results / "again")], check=True)
    assert site.run("retest", "n2") == 0 and not site.node("n2").drain, "it begins anew with a word"


def test_with_a_real_sweep_inside_the_reservation(private: PrivateSlurm, tmp_path: Path) -> None:
    """Delivered, drained: n3 is good and n4 slow."""
    variables = {**private.environment, **sweeping.site(tmp_path / "mine", private)}
    system = tmp_path / "mine" / "site" / "systems" / "mine.yaml"
    system.write_text(system.read_text() + "act: {default: drain}\n")
    sweeping.build(private, "n4", "slow")
    private.run(["scontrol", "update", "nodename=n[3-4]", "state=drain", "reason=new"])
    done = subprocess.run(
        [sys.executable, "-m", "nearfar", "slurm", "retest", f"--results={tmp_path}", f"--state={tmp_path}/state", "n[3-4]",
         "--accept-delivered=new", "--level=quick"],
        env=variables, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "n3           released      accepted: every check passed" in done.stdout, done.stdout + done.stderr
    shown = private.run(["scontrol", "show", "nodes"]).stdout
    assert "Reason=nearfar: FAIL quick NV18.g2_g3 352<376 GB/s run=" in shown, shown
    assert shown.count("+DRAIN") == 1 and "No reservations" in private.run(["scontrol", "show", "reservations"]).stdout
    private.run(["scontrol", "update", "nodename=n4", "state=resume"])


def test_root_takes_a_reservation_away_in_which_the_nightly_user_s_job_still_runs(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The admin host died in the middle of a retest, and Slurm's job goes on."""
    monkeypatch.setattr(reservations, "_PATIENCE", 5.0)
    reservations.make(site.slurm, "nearfar-retest-1", ["n2"], "daemon")
    submit = [
        "sbatch",
        "--uid=daemon",
        "--gid=daemon",
        "--reservation=nearfar-retest-1",
        "--chdir=/",
        "--output=/dev/null",
    ]
    done = site.private.run([*submit, "--wrap=sleep 300"])
    assert done.returncode == 0, done.stderr
    try:
        site.slurm.wait("n2", lambda node: node.fields.get("CPUAlloc") != "0", 20)
        reservations.remove(site.slurm, "nearfar-retest-1")
        assert reservations.show(site.slurm) == []
    finally:
        site.private.run(["scancel", "--user=daemon"])
        site.private.run(["scontrol", "delete", "reservationname=nearfar-retest-1"])
