"""What findings without measuring say: memory, clocks, links, daemons, jobs."""

from __future__ import annotations

from nearfar.base import Message

# Memory.
MEMORY_UNCORRECTED = Message(
    "health.memory_uncorrectable", "FAIL", "{gpu}: {errors:#uncorrected memory error} since its last reset",
    "reset the GPU, or reboot", hard=True,
)  # fmt: skip
ROW_REMAP_FAILED = Message(
    "memory.row_remap_failed", "FAIL", "{gpu}: a bad row of its memory could not be replaced", "have the GPU replaced",
    hard=True,
)  # fmt: skip
ROW_REMAP_PENDING = Message(
    "memory.row_remap_pending", "DEGRADED", "{gpu}: a bad row of its memory is replaced at its next reset",
    "reset the GPU when no job needs it",
)  # fmt: skip
SRAM_EXCEEDED = Message(
    "memory.sram_threshold", "FAIL", "{gpu}: more errors in its SRAM than NVIDIA allows", "have the GPU replaced", hard=True
)  # fmt: skip
PAGES_RETIRED = Message(
    "memory.pages_retired", "FAIL", "{gpu}: {pages} pages of its memory are retired, {allowed} are allowed",
    "have the GPU replaced", hard=True,
)  # fmt: skip
ROWS_REPLACED = Message(
    "memory.rows_remapped", "DEGRADED",
    "{gpu}: {rows:#row} of its memory replaced after {kind} errors since the last look",
)  # fmt: skip

# Clocks.
CLOCKS_HELD = Message("clocks.held_down", "DEGRADED", "{gpu}: its clocks are {how}")
CLOCKS_WERE_HELD = Message(
    "clocks.were_held_down", "DEGRADED", "{gpu}: its clocks were {how} {share:.0%} of the time since the last look",
    "look at cooling and power",
)  # fmt: skip

# NVLink and its fabric.
NVLINK_DOWN = Message(
    "nvlink.down", "DEGRADED", "{gpu}: NVLink {lanes} went down since the last look", "reset the GPU, or look at the link"
)  # fmt: skip
NVLINK_BROKEN = Message(
    "nvlink.broken", "FAIL", "{gpu}: {counted} since the last look",
    "reset the GPU, and have the link looked at if it comes back", hard=True,
)  # fmt: skip
NVLINK_ERRORS = Message(
    "nvlink.errors", "DEGRADED", "{gpu}: {counted} since the last look", "look at the link if it goes on"
)  # fmt: skip
FABRIC_NOT_REGISTERED = Message(
    "fabric.not_registered", "FAIL", "{gpu}: its registration with the NVLink fabric {state}", "look at fabric manager"
)  # fmt: skip
FABRIC_FAILED = Message(
    "fabric.failed", "FAIL", "{gpu}: its registration with the NVLink fabric failed (NVML's status {status})",
    "look at fabric manager",
)  # fmt: skip
FABRIC_DEGRADED = Message(
    "fabric.degraded", "DEGRADED", "{gpu}: its NVLink fabric {flaws}", "look at fabric manager's log"
)  # fmt: skip
PERSISTENCE_OFF = Message(
    "persistence.off", "DEGRADED", "{gpu}: persistence mode was on at an earlier look and is off",
    "look at nvidia-persistenced",
)  # fmt: skip
DAEMON_DOWN = Message("daemon.down", "DEGRADED", "{daemon} {why} and does not run", "systemctl status {unit}")

# InfiniBand.
PORT_DOWN = Message(
    "infiniband.port_down", "FAIL", "InfiniBand port {port}, which the site's file names, {state}",
    "look at cable, switch and subnet manager",
)  # fmt: skip
PORT_LOST = Message(
    "infiniband.port_lost", "DEGRADED", "InfiniBand port {port} was active at an earlier look and {state}",
    "look at cable and switch",
)  # fmt: skip
PORT_RATE = Message(
    "infiniband.rate", "DEGRADED", "InfiniBand port {port} is at {found}; it was at {before}", "look at the cable"
)  # fmt: skip
PORT_FLAPPED = Message(
    "infiniband.link_downed", "DEGRADED", "InfiniBand port {port}: {counted} since the last look", "look at cable and switch"
)  # fmt: skip
PORT_ERRORS = Message(
    "infiniband.errors", "DEGRADED",
    "InfiniBand port {port}: {counted} since the last look, {rate:.0f} an hour where it had {usual:.2g}",
    "look at the cable",
)  # fmt: skip

# The driver's word, jobs, and what was not looked at.
RECOVERY_WANTED = Message("gpu.recovery", "DEGRADED", "{gpu}: the driver wants it recovered: {action}")
JOBS_FAILED = Message(
    "jobs.failed", "DEGRADED",
    "{jobs} failed here while the driver logged errors: {names}; {all:#job} of {users} users within a day",
    "look at the node",
)  # fmt: skip
SOURCE_SILENT = Message("health.no_answer", "INDETERMINATE", "{source}: no answer within {limit:g} s")
SOURCE_FAILED = Message("health.failed", "INDETERMINATE", "{source}: the look failed: {error}")
