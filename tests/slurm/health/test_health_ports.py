"""InfiniBand ports, daemons, and jobs that failed beside errors of the driver."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nearfar.slurm.health.sources import daemons, infiniband, jobs
from nearfar.slurm.health.sources.daemons import Daemon, Fabric
from nearfar.slurm.health.sources.infiniband import Port
from nearfar.slurm.health.sources.jobs import FailedJob
from nearfar.slurm.health.sources.source import Now, Seen
from tests.support.counting_nvml import CountingNvml

A = "0000:06:00.0"


def now(past: Seen | None = None, boot: str = "b", **more: Any) -> Now:
    kept: Mapping[str, Any] = {} if past is None else {**(past.past or {}), "boot": "b", "at": 700.0}
    return Now(gpus={A: 0}, boot=boot, at=1000.0, past=json.loads(json.dumps(kept)), node="n1", **more)


def found(seen: Seen) -> list[tuple[str, str, bool]]:
    return [(one.subject, one.verdict, one.hard) for one in seen.findings]


def ports(*told: Port, past: Seen | None = None, **more: Any) -> Seen:
    return infiniband.classify(now(past, **more), told)


ACTIVE = Port("mlx5_0/1", "ACTIVE", "LinkUp", rate="400 Gb/sec (4X NDR)")
DOWN = Port("mlx5_0/1", "DOWN", "Polling")
SPARE = Port("mlx5_3/1", "DOWN", "Disabled")


def test_ports_that_are_down_on_purpose_say_nothing() -> None:
    assert found(ports(ACTIVE, SPARE, Port("mlx5_4/1", "DOWN", "Polling"))) == []
    assert ports().said == "", "a node without InfiniBand"


@pytest.mark.parametrize("name", ["mlx5_0", "mlx5_0/1"])
def test_a_port_that_the_sites_file_names(name: str) -> None:
    assert found(ports(ACTIVE, ports=(name,))) == []
    assert found(ports(DOWN, ports=(name,))) == [("mlx5_0.port", "FAIL", False)]
    gone = ports(ports=(name,))
    assert found(gone) == [("mlx5_0.port", "FAIL", False)] and gone.findings[0].fields["state"] == "missing"


def test_a_port_that_was_active() -> None:
    first = ports(ACTIVE)
    down = ports(DOWN, past=first)
    assert found(down) == [("mlx5_0.port", "DEGRADED", False)]
    assert down.findings[0].code == "infiniband.port_lost"
    assert down.findings[0].fields == {"port": "mlx5_0/1", "state": "DOWN", "physical": "Polling"}
    assert found(ports(DOWN, past=down)) == [("mlx5_0.port", "DEGRADED", False)], "it stays down"
    assert found(ports(past=first)) == [("mlx5_0.port", "DEGRADED", False)]
    assert found(ports(Port("mlx5_0/1", "DOWN", "Disabled"), past=first)) == [], "somebody disabled it"
    assert found(ports(DOWN, past=first, boot="new")) == []
    slower = ports(Port("mlx5_0/1", "ACTIVE", "LinkUp", rate="100 Gb/sec (4X EDR)"), past=first)
    assert found(slower) == [("mlx5_0.rate", "DEGRADED", False)]


def test_errors_of_ports() -> None:
    first = ports(Port("mlx5_1/2", "ACTIVE", counters={"link_downed": 3, "symbol_error": 65535}))
    assert found(first) == [] and [note.code for note in first.notes] == ["infiniband.counter_full"]
    seen = ports(Port("mlx5_1/2", "ACTIVE", counters={"link_downed": 4, "symbol_error": 9}), past=first)
    assert found(seen) == [("mlx5_1p2.errors", "DEGRADED", False)]
    assert (seen.findings[0].code, seen.findings[0].fields["times"]) == ("infiniband.link_downed", 1)
    assert [note.code for note in seen.notes] == ["health.counters_reset"]


def test_ports_of_a_tree_of_files(tmp_path: Path) -> None:
    def port(name: str, **files: str) -> None:
        place = tmp_path / "sys/class/infiniband" / name / "ports/1"
        (place / "counters").mkdir(parents=True)
        for file, text in files.items():
            (place / file.replace("__", "/")).write_text(text + "\n")

    port(
        "mlx5_0",
        state="4: ACTIVE",
        phys_state="5: LinkUp",
        link_layer="InfiniBand",
        rate="400 Gb/sec",
        counters__link_downed="2",
    )
    port("mlx5_1", state="4: ACTIVE", phys_state="5: LinkUp", link_layer="Ethernet", rate="100 Gb/sec")
    port("mlx5_2", phys_state="3: Disabled", link_layer="InfiniBand")  # its state vanished while it was read
    port("mlx5_3", state="1: DOWN", phys_state="3: Disabled", link_layer="InfiniBand", counters__link_downed="rubbish")
    seen = infiniband.look(now(root=tmp_path))
    assert (seen.said, seen.findings) == ("1 of 2 ports active", ())
    (tmp_path / "sys/class/infiniband/mlx5_0/ports/1/counters/link_downed").write_text("3\n")
    assert found(infiniband.look(now(seen, root=tmp_path))) == [("mlx5_0.errors", "DEGRADED", False)]


def told(*fabrics: Fabric, units: tuple[Daemon, ...] = (), past: Seen | None = None, **more: Any) -> Seen:
    return daemons.classify(now(past, **more), units, fabrics)


@pytest.mark.parametrize(
    ("fabric", "verdict", "code"),
    [
        (Fabric(A), "", ""),
        (Fabric(A, 3), "", ""),
        (Fabric(A, 1), "FAIL", "fabric.incomplete"),
        (Fabric(A, 2), "FAIL", "fabric.incomplete"),
        (Fabric(A, 3, 999), "FAIL", "fabric.failed"),
        (Fabric(A, 3, 0, 0b01), "DEGRADED", "fabric.degraded"),
        (Fabric(A, 3, 0, 0b10101010), "", ""),
    ],
)
def test_the_nvlink_fabric(fabric: Fabric, verdict: str, code: str) -> None:
    seen = told(fabric)
    assert found(seen) == ([("g0.fabric", verdict, False)] if code else [])
    assert [one.code for one in seen.findings] == [code][: bool(code)]


def test_a_daemon_that_does_not_run() -> None:
    absent = Daemon("fabric manager", "nvidia-fabricmanager", False, False)
    assert found(told(units=(absent,))) == [], "PCIe cards need none"
    enabled = Daemon("fabric manager", "nvidia-fabricmanager", True, False)
    assert found(told(units=(enabled,))) == [("nvidia-fabricmanager", "DEGRADED", False)]
    assert told(units=(enabled,)).findings[0].code == "daemon.absent"
    ran = told(units=(Daemon("fabric manager", "nvidia-fabricmanager", False, True),))
    assert found(told(units=(absent,), past=ran)) == [("nvidia-fabricmanager", "DEGRADED", False)]
    assert told(units=(absent,), past=ran).findings[0].code == "daemon.failed"
    assert found(told(units=(absent,), past=ran, boot="new")) == []


def test_persistence_that_went_off() -> None:
    first = told(Fabric(A, persistence=True))
    assert found(first) == []
    assert found(told(Fabric(A, persistence=False), past=first)) == [("g0.persistence", "DEGRADED", False)]
    assert found(told(Fabric(A, persistence=False))) == [], "a site that has it off"


def test_daemons_of_a_tree_of_files(tmp_path: Path) -> None:
    (tmp_path / "run/nvidia-persistenced").mkdir(parents=True)
    (tmp_path / "run/nvidia-persistenced/nvidia-persistenced.pid").write_text("417\n")
    (tmp_path / "proc/417").mkdir(parents=True)
    (tmp_path / "proc/417/comm").write_text("nvidia-persiste\n")
    wants = tmp_path / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(parents=True)
    (wants / "nvidia-fabricmanager.service").symlink_to("/lib/systemd/system/nvidia-fabricmanager.service")
    seen = daemons.look(now(root=tmp_path))
    assert seen.said == "nvidia-persistenced runs" and found(seen) == [("nvidia-fabricmanager", "DEGRADED", False)]
    (tmp_path / "proc/417/comm").write_text("bash\n")  # the number is another's now
    assert ("nvidia-persistenced", "DEGRADED", False) in found(daemons.look(now(seen, root=tmp_path)))


def test_the_fabric_as_the_driver_answers() -> None:
    class Info(ctypes.Structure):
        _fields_ = [(name, ctypes.c_uint) for name in ("version", "status", "state", "healthMask")]

    def fill(gpu: str, reference: Any) -> int:
        reference._obj.state = 2
        return 0

    nvml = CountingNvml({A: {"PersistenceMode": 1}})
    assert daemons.look(now(nvml=nvml)).findings == (), "a driver that does not know the question"
    nvml.c_nvmlGpuFabricInfo_v2_t, nvml.nvmlGpuFabricInfo_v2 = Info, 7
    assert daemons.look(now(nvml=nvml)).findings == (), "it does not answer"
    nvml.nvmlDeviceGetGpuFabricInfoV = fill
    assert daemons.look(now(nvml=nvml)).findings == (), "a GPU without a lane that is up needs no fabric"
    nvml.answers[A]["NvLinkState"] = {(3,): 1}
    assert found(daemons.look(now(nvml=nvml))) == [("g0.fabric", "FAIL", False)]


FAILED = "17|ann|NODE_FAIL|1000\n18|bob|FAILED|1001\nrubbish\n19|x|FAILED|Unknown\n||||\n"


def test_jobs_as_sacct_lists_them() -> None:
    assert jobs.parse(FAILED) == [FailedJob("17", "ann", "NODE_FAIL", 1000.0), FailedJob("18", "bob", "FAILED", 1001.0)]


def test_jobs_that_failed_are_a_reason_to_look() -> None:
    one = jobs.classify(now(), [FailedJob("17", "ann", "FAILED", 1000.0)], since=900.0, wall=1100.0)
    assert found(one) == [] and one.notes[0].code == "jobs.failed"
    assert one.notes[0].fields == {"count": 1, "jobs": ["17 (FAILED)"], "total": 1, "users": 1}
    again = jobs.classify(now(one), [FailedJob("17", "ann", "FAILED", 1000.0)], since=900.0, wall=1100.0)
    assert found(again) == [] and not again.notes, "told once"
    another = jobs.classify(now(one), [FailedJob("18", "bob", "FAILED", 1200.0)], since=1100.0, wall=1300.0)
    assert found(another) == [("jobs", "DEGRADED", False)]
    assert another.findings[0].fields == {"count": 1, "jobs": ["18 (FAILED)"], "total": 2, "users": 2}
    late = jobs.classify(now(one), [FailedJob("18", "bob", "FAILED", 90000.0)], since=89000.0, wall=90001.0)
    assert found(late) == [] and late.notes
    assert not jobs.classify(now(), [FailedJob("17", "ann", "FAILED", 1000.0)], since=1050.0, wall=1100.0).notes, (
        "before the errors"
    )


@pytest.mark.parametrize(
    ("script", "unread"),
    [
        ("echo 'Slurm accounting storage is disabled' >&2; exit 1", ""),
        ("echo 'sacct: error: slurmdbd: Connection refused' >&2; exit 1", "slurmdbd: Connection refused"),
        ("exec sleep 30", "did not answer within"),
        ("printf '17|ann|NODE_FAIL|1000\\n'", ""),
    ],
)
def test_sacct(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, unread: str) -> None:
    monkeypatch.setattr(jobs, "LIMIT", 0.3 if "sleep" in script else 20.0)
    program = tmp_path / "sacct"
    program.write_text(f'#!/bin/sh\n[ "$1" = --nodelist=n1 ] || exit 9\n{script}\n')
    program.chmod(0o755)
    seen = jobs.look(now(), [str(program)], wall=1010.0)
    assert len(seen.unread) == bool(unread) and (not unread or unread in seen.unread[0])
    assert len(seen.notes) == ("printf" in script) and not seen.findings


def test_without_sacct_nothing_is_said() -> None:
    assert jobs.look(now(), []) == Seen()
    assert "does not start" in jobs.look(now(), ["/nonexistent/sacct"]).unread[0]
