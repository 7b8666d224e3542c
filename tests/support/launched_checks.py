"""Checks of programs with several ranks under a real ReFrame: a fake program, a fake launcher, Keeneland's nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nearfar.base.places import IMPORT_PATH as CHECKOUT
from tests.checks.test_checks import reframe

FAKE_MPIRUN = """#!/bin/sh
if [ "$1" = --version ]; then echo 'mpirun (Open MPI) 4.1.4'; exit; fi
while [ "$1" != -n ]; do shift; done
export FAKE_RANKS="$2"
shift 2
exec "$@"
"""


def partition(name: str, case: str, more: str = "") -> str:
    """A line of the system file: nodes whose fake program does what ``case`` says."""
    return (
        f"  - {{name: {name}, node_type: keeneland, features: [gpu, ranks], env_vars: {{FAKE_CASE: {case}}}{more}}}\n"
    )


def judged(
    folder: Path,
    partitions: str,
    check: str,
    *options: str,
    programs: Mapping[str, str],
    references: Mapping[str, str] | None = None,
) -> tuple[dict[str, dict[str, Any]], str]:
    """The verdict of each partition of a system in ``folder``, and what ReFrame said. ``programs`` and ``references`` are
    texts by name."""
    for place in ("systems", "references"):
        (folder / "site" / place).mkdir(parents=True)
    (folder / "site" / "systems" / "real.yaml").write_text(f"system: real\npartitions:\n{partitions}")
    for name, text in (references or {}).items():
        (folder / "site" / "references" / f"{name}.yaml").write_text(text)
    (folder / "bin").mkdir()
    for name, text in {**programs, "mpirun": FAKE_MPIRUN}.items():
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    done = reframe(
        folder, "-r", "--system=real", "-n", f"^{check}$", *options,
        NEARFAR_SITE=str(folder / "site"), NEARFAR_SYSTEM="real", NEARFAR_PROGRAMS=str(folder / "bin"),
        PATH=f"{folder / 'bin'}:/usr/local/bin:/usr/bin:/bin", HWLOC_THISSYSTEM="0",
        HWLOC_XMLFILE=str(CHECKOUT / "site/nodes/keeneland.xml"),
    )  # fmt: skip
    every = [json.loads(path.read_text()) for path in (folder / "run").glob("*/*/verdict.json")]
    return {verdict["partition"]: verdict for verdict in every}, done.stdout + done.stderr
