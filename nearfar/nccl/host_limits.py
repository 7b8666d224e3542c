"""What a node shows of itself that decides how NCCL sends, beside its topology."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Any

#: Variables of a run by themselves, not settings of a site.
_OURS = ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE", "NCCL_TESTS_DEVICE")


def host_facts() -> dict[str, Any]:
    """The NCCL variables that are set, the size of ``/dev/shm`` and the limit of locked memory (bytes; None: no limit), whether this is a
    container, and whether fabric manager runs (None: no NVSwitch is seen, or no process of others). What cannot be read is absent."""
    facts: dict[str, Any] = {
        "variables": {
            key: value for key, value in sorted(os.environ.items()) if key.startswith("NCCL_") and key not in _OURS
        }
    }
    try:
        shm = os.statvfs("/dev/shm")
        facts["shm_bytes"] = shm.f_frsize * shm.f_blocks
    except OSError:
        pass
    soft = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    facts["memlock_bytes"] = None if soft == resource.RLIM_INFINITY else soft
    facts["container"] = any(map(os.path.exists, ("/.dockerenv", "/run/.containerenv", "/.singularity.d")))
    facts["infiniband"] = os.path.isdir("/dev/infiniband")
    switches = Path("/proc/driver/nvidia-nvswitch/devices")
    if switches.is_dir() and any(switches.iterdir()) and _reads(Path("/proc/1/comm")) == "systemd":
        names = {_reads(path) for path in Path("/proc").glob("[0-9]*/comm")}
        # The kernel keeps fifteen letters of a process's name.
        facts["fabric_manager"] = "nv-fabricmanage" in names
    return facts


def _reads(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
