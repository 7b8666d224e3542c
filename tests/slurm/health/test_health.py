"""The health check: what it finds, that it ends, that it is alone, and whom it trusts; run by a real slurmd as well."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli
from nearfar.base import site_templates
from nearfar.base.places import IMPORT_PATH as CHECKOUT
from nearfar.base.schema_check import schema
from nearfar.slurm.controller.scontrol import Slurm
from nearfar.slurm.health import check
from tests.support.private_slurm import PrivateSlurm, needed
from tests.support.taking_in import take_in

NODE = CHECKOUT / "site" / "nodes" / "h200-x4-vm.xml"
SYSTEM = 'system: vm\nhosts: ["n[1-9]"]\nact: {default: drain}\npartitions:\n  - name: gpu\n    node_type: h200-x4-vm\n'


def hardware(path: Path, *, without: str | None = None) -> Path:
    """A hardware file of four GPUs that the driver names, or of three."""
    text = NODE.read_text()
    for bus in ("06", "07", "08", "09"):
        device = re.search(rf'<object type="PCIDev"[^>]*0000:00:{bus}\.0[^>]*/>', text)
        assert device is not None
        told = f'<info name="NVIDIAUUID" value="GPU-{bus}"/><info name="GPUModel" value="NVIDIA H200"/>'
        named = f'{device[0][:-2]}><object type="OSDev" name="nvml{int(bus) - 6}" subtype="NVML" osdev_type="1">{told}</object></object>'
        text = text.replace(device[0], "" if bus == without else named)
    path.write_text(text)
    return path


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "site" / "systems").mkdir(parents=True)
    (tmp_path / "site" / "systems" / "vm.yaml").write_text(SYSTEM)
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    monkeypatch.setenv("SLURMD_NODENAME", "n1")
    monkeypatch.setenv("HWLOC_XMLFILE", str(hardware(tmp_path / "n1.xml")))
    monkeypatch.setenv("HWLOC_THISSYSTEM", "0")
    monkeypatch.setattr(check, "STATE", tmp_path / "state")
    return tmp_path


def looked(folder: Path, *options: str) -> dict[str, Any]:
    assert cli.main(["slurm", "health", "--output", str(folder / "health"), *options]) == 0
    found: dict[str, Any] = json.loads((folder / "health" / "n1.json").read_text())
    return found


def findings(found: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    return [(f["subject"], f["verdict"], f["hard"]) for f in found["findings"]]


def codes(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(f["subject"], f["code"]) for f in found["findings"]]


def test_a_node_as_the_site_describes_it(site: Path) -> None:
    found = looked(site)
    assert (found["verdict"], found["findings"], found["system"], found["partition"]) == ("PASS", [], "vm", "gpu")
    assert (site / "health" / "n1.json").stat().st_mode & 0o777 == 0o644
    assert set(schema("health-1")["properties"]) == set(found)


def test_only_its_own_command_is_imported() -> None:
    script = "import sys; from nearfar import cli; sys.exit(cli.main(['slurm', 'health', '--help']))"
    said = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", script], capture_output=True, text=True, check=True
    )
    assert "nearfar.slurm.health" in said.stderr and "nearfar.slurm.sweep" not in said.stderr


def test_a_gpu_that_is_not_there(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWLOC_XMLFILE", str(hardware(site / "n1.xml", without="08")))
    found = looked(site)
    assert findings(found) == [("gpus.count", "FAIL", True), ("g2", "FAIL", True)]
    assert "GPU 2 (NVIDIA H200) is missing at 0000:00:08.0" in found["findings"][1]["reason"]


def test_prometheus_is_told_of_a_look(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "textfiles").mkdir()
    monkeypatch.setenv("NEARFAR_METRICS", str(site / "textfiles"))
    looked(site)
    file = site / "textfiles" / "nearfar-health.prom"
    assert 'nearfar_health_verdict{node="n1",system="vm",verdict="PASS"} 1.0' in file.read_text()
    file.unlink()
    looked(site, "--quick")
    assert not file.exists(), "a quick look that found nothing writes nothing"
    monkeypatch.setenv("HWLOC_XMLFILE", str(hardware(site / "n1.xml", without="08")))
    looked(site, "--metrics", str(site / "elsewhere"))
    assert "elsewhere: no such directory" in capsys.readouterr().err, "and the look was written all the same"
    looked(site)
    assert (
        'nearfar_health_finding{hard="yes",node="n1",subject="g2",system="vm",verdict="FAIL"} 1.0' in file.read_text()
    )


def test_a_gpu_that_is_back_before_act_comes(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("health findings count as root's alone")
    monkeypatch.setenv("HWLOC_XMLFILE", str(hardware(site / "n1.xml", without="08")))
    absent = looked(site)
    monkeypatch.setenv("HWLOC_XMLFILE", str(hardware(site / "n1.xml")))
    back = looked(site)
    assert (absent["verdict"], back["verdict"]) == ("FAIL", "PASS")
    found = take_in(None, site / "health", time.time())
    assert not found.refused
    assert {(run.run, run.verdict) for run in found.runs} == {(absent["run"], "FAIL"), (back["run"], "PASS")}, (
        "the next look replaced the only account of the absent GPU"
    )


def test_a_finding_that_cannot_be_kept(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It replaces nothing, it is said all the same, and the look does not end as if all were well."""
    looked(site)
    (site / "health" / "kept").write_text("in the way")
    monkeypatch.setenv("HWLOC_XMLFILE", str(hardware(site / "n1.xml", without="08")))
    assert cli.main(["slurm", "health", "--output", str(site / "health")]) == 3
    said = capsys.readouterr()
    assert "health/kept/n1: cannot be written" in said.err and len(said.err.splitlines()) == 1, said.err
    assert "GPU 2 (NVIDIA H200) is missing" in said.out, "slurmd's log is where it is left to be found"
    assert json.loads((site / "health" / "n1.json").read_text())["verdict"] == "PASS"


def test_never_green_for_what_was_not_looked_at(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWLOC_XMLFILE", str(NODE))
    assert findings(looked(site)) == [("driver", "INDETERMINATE", False)]
    (site / "site" / "systems" / "vm.yaml").write_text(SYSTEM.replace("hosts", "unreviewed: true\nhosts"))
    assert ("site", "health.not_compared") in codes(looked(site))
    (site / "site" / "systems" / "vm.yaml").write_text(SYSTEM.replace("n[1-9]", "k[1-9]"))
    assert ("site", "health.unknown_node") in codes(looked(site))
    (site / "site" / "systems" / "vm.yaml").write_text("system: [")
    found = looked(site)
    assert ("site", "INDETERMINATE", False) in findings(found)
    assert found["findings"][0]["code"] == "health.site_unreadable"
    assert "vm.yaml:2" in found["findings"][0]["fields"]["error"]


def test_the_partition_of_a_site_with_several(site: Path) -> None:
    """Named as the site's file or as Slurm has it: the installed script names Slurm's."""
    file = site / "site/systems/vm.yaml"
    file.write_text(SYSTEM + "    access: [-p batch]\n  - name: other\n    node_type: h200-x4-vm\n")
    assert codes(looked(site)) == [("site", "health.site_unreadable")]
    for name in ("gpu", "batch"):
        found = looked(site, "--partition", name)
        assert (found["verdict"], found["partition"]) == ("PASS", "gpu")


def test_a_second_look_ends_at_once(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    looked(site)
    before = (site / "health" / "n1.json").stat().st_mtime_ns
    (lock,) = (site / "state").rglob(".n1.lock")
    with open(lock) as held:
        assert held.fileno() and os.fstat(held.fileno()).st_mode & 0o777 == 0o600, "nobody else may hold it"
        fcntl.flock(held, fcntl.LOCK_EX)
        looked(site)
    assert "another check is under way" in capsys.readouterr().out
    assert (site / "health" / "n1.json").stat().st_mtime_ns == before


def test_what_root_does_not_rely_on(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() != 0:
        pytest.skip("these refusals are root's")
    file, output = site / "site" / "systems" / "vm.yaml", site / "health"
    output.mkdir()

    def refused(path: Path, words: str) -> None:
        assert cli.main(["slurm", "health", "--output", str(output)]) == 2
        said = capsys.readouterr().err
        assert str(path) in said and words in said, said
        assert not (output / "n1.json").exists()

    file.chmod(0o666)
    refused(file, "other users can write to it (mode 0666); as root the site's directory must be root's alone")
    file.chmod(0o644)
    os.chown(file.parent, 65534, 65534)
    refused(file.parent, "belongs to user 65534")
    os.chown(file.parent, 0, 0)
    output.chmod(0o1777)
    refused(output, "other users can write to it (mode 1777); as root the output directory")
    output.chmod(0o755)
    os.chown(site, 65534, 65534)
    refused(site, "belongs to user 65534")
    os.chown(site, 0, 0)
    assert cli.main(["slurm", "health", "--output", str(output)]) == 0


@pytest.mark.parametrize("place", ["file", "file/x", "/proc/x"])
def test_an_output_that_is_no_directory(site: Path, capsys: pytest.CaptureFixture[str], place: str) -> None:
    (site / "file").write_text("mine")
    assert cli.main(["slurm", "health", "--output", str(site / place)]) == 3
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1 and f"{site / place}: " in said[0], said
    assert (site / "file").read_text() == "mine"


@pytest.mark.parametrize("name", ["../n1", "n1;id", "", "n 1", "$(id)"])
def test_a_node_name_that_is_none(site: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("SLURMD_NODENAME", name)
    code = cli.main(["slurm", "health", "--output", str(site / "health")])
    assert code == (2 if name else 0)  # an empty one: this host's own name
    assert not (site / "n1.json").exists()


def test_as_another_user(site: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    look = [sys.executable, "-m", "nearfar", "slurm", "health", "--output", "/var/lib/nearfar-none"]
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--clear-groups", *look], env={"PYTHONPATH": str(CHECKOUT)}, capture_output=True,
        text=True, cwd="/",
    )  # fmt: skip
    assert done.returncode == 3 and "/var/lib/nearfar-none" in done.stderr and "Traceback" not in done.stderr, (
        done.stderr
    )


@pytest.mark.slurm
def test_run_by_a_real_slurmd(tmp_path: Path) -> None:
    """slurmd runs it with its bare environment, at its start and every second; a broken node drains itself."""
    needed(root=True)
    script = tmp_path / "health-check"
    folder = tmp_path / "health"
    (tmp_path / "site" / "systems").mkdir(parents=True)
    (tmp_path / "site" / "systems" / "vm.yaml").write_text(SYSTEM)
    settings = {"HealthCheckProgram": str(script), "HealthCheckInterval": "1", "HealthCheckNodeState": "ANY"}
    private = PrivateSlurm(cpus=1, gpus=0, nodes=2, settings=settings)
    values = {
        "python": sys.executable, "checkout": str(CHECKOUT), "options": {"output": str(folder), "state": str(tmp_path / "state")},
        "environment": {"HWLOC_XMLFILE": str(private.node / "topo.xml"), "NEARFAR_SITE": str(tmp_path / "site"),
                        "SLURM_CONF": private.environment["SLURM_CONF"]},
    }  # fmt: skip
    script.write_text(site_templates.render("slurm/health.j2", values))
    script.chmod(0o755)
    for name in private.names:
        private.own(name).mkdir(parents=True)
        hardware(private.own(name) / "topo.xml", without="08" if name == "n2" else None)
    with private:
        found = {name: _waited(folder / f"{name}.json", private) for name in private.names}
        assert [f["verdict"] for f in found.values()] == ["PASS", "FAIL"], found
        assert all(f["seconds"] < 10 for f in found.values())
        first = found["n1"]["run"]
        _until(lambda: _waited(folder / "n1.json", private)["run"] != first, "a second look")
        with open(tmp_path / "state" / ".n1.lock") as lock:  # as a look that takes longer than the interval holds it
            fcntl.flock(lock, fcntl.LOCK_EX)
            held, other = (_waited(folder / f"{name}.json", private)["run"] for name in private.names)
            _until(lambda: _waited(folder / "n2.json", private)["run"] != other, "a further look beside")
            assert _waited(folder / "n1.json", private)["run"] == held
        _until(lambda: _waited(folder / "n1.json", private)["run"] != held, "a look after it")
        slurm = Slurm(private.environment)
        assert slurm.wait("n2", lambda node: node.drain, 30)
        reason = slurm.node("n2").reason or ""
        assert re.fullmatch(r"nearfar: FAIL health (g2|gpus\.count) gpu\.[a-z_]+ run=[0-9a-f]{8}", reason), reason
        assert slurm.node("n1").reason is None


def _waited(path: Path, private: PrivateSlurm) -> dict[str, Any]:
    _until(path.exists, f"{path}; slurmd: {[p.read_text()[-300:] for p in private.folder.glob('*slurmd*.out')]}")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def _until(done: Any, what: str) -> None:
    end = time.monotonic() + 30
    while not done():
        assert time.monotonic() < end, f"no {what}"
        time.sleep(0.05)
