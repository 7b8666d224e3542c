"""A source that hangs costs its own time and no more; a driver that hangs twice is hard evidence; load is not."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nearfar import cli
from nearfar.base import NearfarError, process, validator
from nearfar.slurm.health import apart, check, driver, finding_files
from nearfar.slurm.health import look as health_look
from nearfar.topology import inventory
from tests.slurm.health.test_health import SYSTEM, codes, findings, hardware
from tests.support.counting_nvml import CountingNvml
from tests.support.fake_nvml import NVMLError

FALLEN = "NVRM: Xid (PCI:0000:00:08): 79, pid=1, name=python3, GPU has fallen off the bus."


def hang(*_: Any) -> Any:
    time.sleep(60)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node as the site describes it, whose kernel is a tree of files, and on which no driver answers."""
    (tmp_path / "site" / "systems").mkdir(parents=True)
    (tmp_path / "site" / "systems" / "vm.yaml").write_text(SYSTEM)
    root = tmp_path / "root"
    (root / "proc/sys/kernel/random").mkdir(parents=True)
    (root / "dev").mkdir()
    (root / "dev/kmsg").write_text("6,0,1,-;up\n")
    for bus in (6, 7, 8, 9):
        device = root / f"sys/bus/pci/devices/0000:00:0{bus}.0"
        device.mkdir(parents=True)
        for name, text in (("class", "0x030200"), ("vendor", "0x10de"), ("device", "0x2335")):
            (device / name).write_text(f"{text}\n")
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    monkeypatch.setenv("SLURMD_NODENAME", "n1")
    monkeypatch.setenv("HWLOC_XMLFILE", str(hardware(tmp_path / "n1.xml")))
    monkeypatch.setenv("HWLOC_THISSYSTEM", "0")
    monkeypatch.setattr(check, "STATE", tmp_path / "state")
    monkeypatch.setattr(health_look, "ROOT", root)
    monkeypatch.setattr(driver, "open_nvml", lambda: None)
    booted(tmp_path, "11111111-2222")
    return tmp_path


def booted(folder: Path, name: str) -> None:
    (folder / "root/proc/sys/kernel/random/boot_id").write_text(f"{name}\n")


def looked(folder: Path, capsys: pytest.CaptureFixture[str], *options: str, code: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert cli.main(["slurm", "health", "--output", str(folder / "health"), "--json", *options]) == code
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert not list(validator("health-1").iter_errors(printed))
    return printed


def logged(folder: Path, *messages: str) -> None:
    with (folder / "root/dev/kmsg").open("a") as ring:
        number = len((folder / "root/dev/kmsg").read_text().splitlines())
        ring.writelines(f"4,{number + i},{(number + i) * 1000000},-;{text}\n" for i, text in enumerate(messages))


def test_a_hung_driver_hides_nothing(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looked(node, capsys)
    logged(node, FALLEN)
    monkeypatch.setattr(driver, "open_nvml", hang)
    began = time.monotonic()
    found = looked(node, capsys, "--limit", "1.5")
    assert time.monotonic() - began < 10
    assert codes(found) == [("driver", "source.timeout"), ("g2.xid79", "xid.79")]
    assert found["verdict"] == "FAIL" and found["sources"]["kernel_log"]["said"].endswith("1 of the driver's errors")


def test_a_driver_that_hung_twice_is_hard_evidence(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as hangs:
        hangs.setattr(driver, "open_nvml", hang)
        assert codes(looked(node, capsys, "--limit", "1")) == [("driver", "source.timeout")]
        second = looked(node, capsys, "--limit", "1")
        assert findings(second) == [("driver", "INDETERMINATE", False), ("driver", "FAIL", True)]
        assert second["findings"][1]["code"] == "driver.hung" and second["findings"][1]["fields"]["checks"] == 2
        assert looked(node, capsys, "--quick", "--limit", "1.5", code=9)["verdict"] == "FAIL", "it still hangs"
    assert looked(node, capsys)["verdict"] == "PASS"
    monkeypatch.setattr(driver, "open_nvml", hang)
    assert looked(node, capsys, "--limit", "1")["verdict"] == "INDETERMINATE", "a driver that answered begins anew"
    booted(node, "3333")
    assert looked(node, capsys, "--limit", "1")["verdict"] == "INDETERMINATE", "so does a reboot"


def test_a_quick_check_counts_no_hang(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(driver, "open_nvml", hang)
    for _ in range(3):
        assert looked(node, capsys, "--quick", "--limit", "0.5")["verdict"] == "INDETERMINATE"


def test_an_inventory_that_hung_twice_is_hard_evidence(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(inventory, "observe", hang)
    looked(node, capsys, "--limit", "1")
    assert ("driver", "driver.hung") in codes(looked(node, capsys, "--limit", "1"))


def test_a_process_that_cannot_be_killed_is_not_started_again(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looked(node, capsys)
    (lock,) = (node / "state").rglob(".n1.driver.lock")
    with lock.open() as held:  # as a process that not even SIGKILL ends holds it
        fcntl.flock(held, fcntl.LOCK_EX)
        monkeypatch.setattr(driver, "open_nvml", lambda: (node / "started").touch())
        assert codes(looked(node, capsys)) == [("driver", "source.timeout")]
        assert ("driver", "driver.hung") in codes(looked(node, capsys))
    assert not (node / "started").exists()


@pytest.mark.parametrize("hangs", ["site", "trust"])
def test_a_shared_directory_that_hangs_never_drains(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], hangs: str
) -> None:
    looked(node, capsys)
    logged(node, FALLEN)
    place, name = {"trust": (check, "_refuse"), "site": (health_look, "_site")}[hangs]
    monkeypatch.setattr(place, name, hang)
    words = ["--limit", "0.7"]
    found = looked(node, capsys, *words)
    assert ("g2.xid79", "FAIL", True) in findings(found), "the kernel log was read before it"
    assert found["system"] == "vm", "act believes findings of its own system only"
    for _ in range(2):
        found = looked(node, capsys, *words)
        assert found["verdict"] == "INDETERMINATE" and (hangs, "source.timeout") in codes(found)


def test_an_output_that_hangs_is_reported_and_forgets_nothing(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looked(node, capsys)
    logged(node, FALLEN)
    with monkeypatch.context() as hangs:
        hangs.setattr(finding_files, "store", hang)
        assert findings(looked(node, capsys, "--limit", "0.7", code=3)) == [("g2.xid79", "FAIL", True)]
    assert findings(looked(node, capsys)) == [("g2.xid79", "FAIL", True)]


def burn(*cpus: int) -> Any:
    os.sched_setaffinity(0, set(cpus) or os.sched_getaffinity(0))
    while True:
        pass


def test_a_check_cut_short_by_load_never_drains(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The driver's process wants a CPU all the time, and others have it for most of that."""
    cpu = min(os.sched_getaffinity(0))
    spin = f"import os; os.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"
    others = [subprocess.Popen([sys.executable, "-c", spin], start_new_session=True) for _ in range(7)]
    try:
        monkeypatch.setattr(driver, "open_nvml", lambda: burn(cpu))
        for _ in range(3):
            found = looked(node, capsys, "--limit", "3")
            assert found["verdict"] == "INDETERMINATE" and ("driver", "source.cut_short") in codes(found), found[
                "findings"
            ]
    finally:
        for other in others:
            other.kill()
            other.wait()


def answers(folder: Path, limit: float, **tasks: Callable[[], Any]) -> dict[str, apart.TaskAnswer]:
    return apart.answers(tasks, limit, folder / ".n1")


def test_each_task_has_its_own_process(tmp_path: Path) -> None:
    def broken() -> None:
        raise NearfarError("words")

    began = time.monotonic()
    found = answers(
        tmp_path, 2.5, stuck=hang, well=lambda: SimpleNamespace(a=1), broken=broken, dead=lambda: os._exit(3),
        killed=lambda: os.kill(os.getpid(), signal.SIGKILL), large=lambda: "x" * 5_000_000,
    )  # fmt: skip
    assert time.monotonic() - began < 8
    assert list(found) == ["stuck", "well", "broken", "dead", "killed", "large"]
    assert found["stuck"].hung and found["well"].value.a == 1 and len(found["large"].value) == 5_000_000
    assert isinstance(found["broken"].error, NearfarError) and str(found["broken"].error) == "words"
    assert isinstance(found["dead"].error, RuntimeError) and isinstance(found["killed"].error, RuntimeError)


def test_a_suspended_process_does_not_hang(tmp_path: Path) -> None:
    found = answers(tmp_path, 1.0, stopped=lambda: os.kill(os.getpid(), signal.SIGSTOP))
    assert found["stopped"].cut_short and not found["stopped"].hung


def test_a_driver_that_spins_hangs(tmp_path: Path) -> None:
    if os.getloadavg()[0] > len(os.sched_getaffinity(0)):
        pytest.skip("other load takes its CPU")
    assert answers(tmp_path, 2.0, spins=burn)["spins"].hung


def test_what_a_task_runs_ends_with_it(tmp_path: Path) -> None:
    mark = f"{tmp_path.name}{os.getpid()}"
    words = [sys.executable, "-c", "import time; time.sleep(60)", mark]
    assert answers(tmp_path, 1.0, runs=lambda: process.run(words, 60))["runs"].hung
    end = time.monotonic() + 10
    while subprocess.run(["pgrep", "-f", mark], capture_output=True).returncode == 0:
        assert time.monotonic() < end, "it is left running"
        time.sleep(0.1)


@pytest.mark.parametrize(
    "rubbish",
    [{"kernel_log": {"boot": "11111111-2222", "sequence": "x"}}, {"kernel_log": 3, "driver": []}, {"hung": 3, "site": 4},
     {"driver": {"boot": "11111111-2222", "at": 1, "up": 3}}],
)  # fmt: skip
def test_a_past_that_is_rubbish_ends_no_check(
    node: Path, capsys: pytest.CaptureFixture[str], rubbish: dict[str, Any]
) -> None:
    looked(node, capsys)
    (state,) = (node / "state").rglob(".n1.state.json")
    state.write_text(json.dumps({"schema": "nearfar-health-state/1", "sources": rubbish}))
    assert {one["verdict"] for one in looked(node, capsys)["findings"]} <= {"INDETERMINATE"}
    assert looked(node, capsys)["verdict"] == "PASS", "it begins anew"
    for text in (
        "",
        "{",
        "[]",
        '{"schema": "other/1", "sources": {}}',
        '{"schema": "nearfar-health-state/1", "sources": 3}',
    ):
        state.write_text(text)
        assert looked(node, capsys)["verdict"] == "PASS"


def test_an_xid_between_two_checks_is_found_once(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = looked(node, capsys)
    assert (first["verdict"], first["findings"], first["unread"]) == ("PASS", [], [])
    logged(node, FALLEN)
    assert looked(node, capsys, "--quick", code=9)["verdict"] == "FAIL", "an epilog reads the log as well"
    assert looked(node, capsys)["verdict"] == "PASS", "each line counts once"
    assert len(list((node / "health/kept/n1").iterdir())) == 1, "it is kept until act has read it"
    logged(node, "NVRM: Xid (PCI:0000:00:08): 78, words")
    assert looked(node, capsys, "--quick")["verdict"] == "DEGRADED"
    assert looked(node, capsys)["verdict"] == "DEGRADED", "a quick check that writes nothing leaves it to the next"


def test_what_the_driver_counts_is_found(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: dict[str, Any] = {f"0000:00:0{bus}.0": {"TotalEccErrors": 0, "RemappedRows": [0] * 4} for bus in (6, 7, 8, 9)}
    told["0000:00:07.0"] = {"TotalEccErrors": 1, "RemappedRows": [0, 1, 1, 0]}
    told["0000:00:09.0"] = {"TotalEccErrors": NVMLError(999, "Unknown Error")}
    monkeypatch.setattr(driver, "open_nvml", lambda: CountingNvml(told))
    found = looked(node, capsys)
    assert codes(found) == [("g1.memory", "health.memory_uncorrectable"), ("g1.memory", "memory.row_remap_pending")]
    assert found["unread"] == ["GPU 3: nvmlDeviceGetTotalEccErrors: Unknown Error"]
    assert found["sources"]["driver"]["said"] == "4 GPUs answered"


def test_notes_and_what_could_not_be_read_in_words(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    looked(node, capsys)
    logged(node, "NVRM: Xid (PCI:0000:00:08): 31, pid=1, name=python3, Ch 00000003")
    assert cli.main(["slurm", "health", "--output", str(node / "health")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "n1: PASS" and said[1].startswith("  note: GPU 2 at 0000:00:08.0: Xid 31, "), said
    (node / "root/dev/kmsg").unlink()
    assert cli.main(["slurm", "health", "--output", str(node / "health")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "n1: PASS" and said[1].startswith(
        "  not read: the kernel's log: /dev/kmsg cannot be read: No such file"
    ), said


def test_ports_that_the_sites_file_names(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = node / "site/systems/vm.yaml"
    file.write_text(SYSTEM.replace("partitions:", "expect: {infiniband: [mlx5_0]}\npartitions:"))
    found = looked(node, capsys)
    assert findings(found) == [("mlx5_0.port", "FAIL", False)] and found["findings"][0]["fields"]["state"] == "missing"
    state = node / "root/sys/class/infiniband/mlx5_0/ports/1/state"
    state.parent.mkdir(parents=True)
    state.write_text("1: DOWN\n")
    assert looked(node, capsys)["findings"][0]["fields"] == {"port": "mlx5_0/1", "state": "DOWN"}
    state.write_text("4: ACTIVE\n")
    assert looked(node, capsys)["verdict"] == "PASS"


def test_without_hwloc_the_log_is_read_all_the_same(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looked(node, capsys)
    logged(node, FALLEN)

    def absent() -> None:
        raise NearfarError("lstopo is not installed")

    monkeypatch.setattr(inventory, "observe", absent)
    assert codes(looked(node, capsys)) == [("node", "health.node_unreadable"), ("g2.xid79", "xid.79")]
