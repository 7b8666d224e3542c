"""``kit/run --anonymous``: nothing that tells who or where is in the file, by search."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from .made_kits import MadeKit, contents

HOST, DOMAIN, USER = "gpu-node17", "hpc.example.org", "jdoe42"
SERIAL, BOARD, ASSET = "1652922007331", "CN7475162J00AB", "ASSET-0815"
UUIDS = ("GPU-6e4e17a9-9e84-2af3-9f62-348c99e9dadb", "4c4c4544-0042-3510-8052-b4c04f4d3233")
MAC, GUID, IPV4, IPV6 = "b8:59:9f:c4:1e:0a", "b859:9f03:00c4:1e0a", "192.168.17.42", "fe80::ba59:9fff:fec4:1e0a"
SECRETS = (HOST, DOMAIN, USER, SERIAL, BOARD, ASSET, *UUIDS, MAC, GUID, IPV4, IPV6, "mac-user-program")

SMI = f"""Timestamp : Mon Nov 23 09:00:00 2026
Driver Version : 580.95.05
    Product Name : NVIDIA H200
    Serial Number : {SERIAL}
    GPU UUID : {UUIDS[0]}
    Board Part Number : {BOARD}
    Chassis Serial Number : {ASSET}
    Clocks
        SM : 1980 MHz
    Processes
        Process ID : 4711
            Type : C
            Name : /home/{USER}/mac-user-program
"""
DMESG = f"""[ 1.0] NVRM: loading NVIDIA UNIX x86_64 Kernel Module 580.95.05
[ 2.0] NVRM: Xid (PCI:0000:10:00): 31, pid=4711, name=mac-user-program, Ch 00000008
[ 3.0] mlx5_core 0000:12:00.0: {HOST}.{DOMAIN} pcie link {MAC} {IPV4} {IPV6} node {UUIDS[1]}
"""
INFOS = "".join(
    f'<info name="{name}" value="{value}"/>'
    for name, value in {
        "HostName": HOST, "DMIProductSerial": SERIAL, "DMIProductUUID": UUIDS[1], "DMIBoardAssetTag": ASSET, "DMIProductName": "Model 7",
        "LinuxCgroup": f"/user.slice/{USER}", "NodeGUID": GUID, "Address": MAC,
    }.items()
)  # fmt: skip


def told(kit: MadeKit, *words: str) -> subprocess.CompletedProcess[str]:
    """A run on a machine whose programs tell all that should be hidden."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare, to give this machine another name")
    place = kit.folder / "path"
    place.mkdir(exist_ok=True)
    for name, text in {"nvidia-smi": SMI, "dmesg": DMESG, "id": USER, "domainname": DOMAIN}.items():
        (place / f"{name}.txt").write_text(text)
        (place / name).write_text(f"#!/bin/sh\ncat {place}/{name}.txt\n")
        (place / name).chmod(0o755)
    environment = kit.emulated.environment(kit.gpus, "to_gpu=2e10,to_host=2e10,peer=4e10")
    topology = kit.folder / "topology.xml"
    text = Path(environment["HWLOC_XMLFILE"]).read_text()
    at = text.index(">", text.index('type="Machine"')) + 1
    topology.write_text(text[:at] + INFOS + text[at:])
    kit._make_machine(kit.folder / "machine")
    environment |= {"HWLOC_XMLFILE": str(topology), "NEARFAR_TEST_ROOT": str(kit.folder / "machine")}
    environment["PATH"] = f"{place}:{environment['PATH']}"
    script = f"hostname {HOST}.{DOMAIN} && exec sh kit/run --quick {' '.join(words)}"
    done = subprocess.run(
        ["unshare", "--uts", "sh", "-c", script], cwd=kit.folder, env=environment, capture_output=True, text=True, timeout=120,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if "unshare" in done.stderr or "hostname:" in done.stderr:
        pytest.skip(f"this machine cannot be given another name: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return done


def test_nothing_tells_who_or_where(kit: MadeKit) -> None:
    told(kit, "--anonymous")
    (file,) = kit.folder.glob("nearfar-*.tar.gz")
    whole = gzip.decompress(file.read_bytes())
    found = [secret for secret in SECRETS if secret.encode() in whole or secret in file.name]
    assert not found, [
        (secret, name) for secret in found for name, text in contents(file).items() if secret.encode() in text
    ]
    assert b"root\0" not in whole, "the archive names the user that packed it"
    assert json.loads(contents(file)["result.json"])["anonymous"] is True


def test_what_figures_need_is_still_there(kit: MadeKit) -> None:
    told(kit, "--anonymous", "--output", "node.tar.gz")
    files = contents(kit.folder / "node.tar.gz")
    document = json.loads(files["checks/quick_check/document.json"])
    assert document["node"]["hostname"] == "hidden" and document["results"]
    assert [gpu["pci"] for gpu in document["node"]["gpus"]] == ["0000:10:00.0", "0000:11:00.0"]
    assert [gpu["uuid"] for gpu in document["node"]["gpus"]] == [None, None]
    assert b"Model 7" in files["topology.xml"] and b"0302 [10de:2330]" in files["topology.xml"]
    assert b"NVIDIA H200" in files["words/nvidia-smi.txt"] and b"SM : 1980 MHz" in files["words/nvidia-smi.txt"]
    assert b"Xid (PCI:0000:10:00): 31" in files["words/dmesg.txt"]


def test_the_same_search_finds_them_without_the_option(kit: MadeKit) -> None:
    """Else the tests above would pass on a file that holds nothing."""
    told(kit, "--output", "node.tar.gz")
    whole = b"".join(contents(kit.folder / "node.tar.gz").values())
    missing = [secret for secret in SECRETS if secret.encode() not in whole]
    assert missing in ([], [USER]), missing
