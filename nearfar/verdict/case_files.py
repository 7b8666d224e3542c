"""What a case leaves behind: a program's output read back, and the files of its place in the run directory."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar import measurement
from nearfar.base import CouldNotJudge, Finding, NearfarError, json_or_none, supervise, text_or_empty, write_atomically
from nearfar.measurement import Document, from_raw
from nearfar.topology import Node, node_from_document, node_to_document

from . import look_plan, messages, verdict_file
from .document_findings import CaseInfo
from .verdict_types import Verdict

#: The node as observed, in the folder of a node and (from a remote job) in the stage directory.
NODE = "node.json"
#: In the stage directory: a check's part of the document of a run that measured for several.
FIRST = "first.json"
#: The environment variable that names the run directory of a session.
RUN_DIRECTORY = "NEARFAR_RUN_DIR"


def run_directory() -> Path:
    """The run that the present session belongs to."""
    return Path(os.environ[RUN_DIRECTORY])


def read(stage: Path, stdout: Path, stderr: Path) -> tuple[Document | None, list[Finding]]:
    """The document that a supervised program printed (None where it printed none), and what its end says."""
    account = _account(stage)
    if "prevented" in account:
        return None, [messages.PREVENTED.finding("program", error=str(account["prevented"]))]
    program = _program(account.get("command", ["the program"]))
    findings: list[Finding] = []
    if account.get("timed_out"):
        about = {"program": program, "limit": account["limit"], "line": account["last_line"]}
        findings.append(messages.HUNG.finding("program", **about))
    try:
        document = measurement.loads(stdout.read_text(encoding="utf-8", errors="replace"), program)
        if not findings and int(account.get("returncode", 0)) < 0:
            findings.append(messages.DIED_LATE.finding("program", program=program, ending=_ending(account)))
        return document, findings
    except OSError as error:
        words = f"{program}: its output cannot be read: {error.strerror}"
        return None, [*findings, messages.NOT_READ.finding("program", error=words)]
    except CouldNotJudge as error:
        # The program's own last word; a launcher may have said more after it.
        line = account.get("last_line") or last_line(stderr)
        if findings:
            return None, findings
        if not line:
            return None, [*findings, messages.NOT_READ.finding("program", error=str(error))]
        about = {"program": program, "ending": _ending(account), "line": line}
        return None, [*findings, messages.NO_DOCUMENT.finding("program", **about)]


def _program(command: Sequence[str]) -> str:
    """The name of a command's program: ``nearfar-copy``, ``nearfar osu``."""
    own = list(command[1:3]) == ["-m", "nearfar"]
    return " ".join(command[2:4]) if own else Path(command[0]).name


def _account(stage: Path) -> dict[str, Any]:
    return json_or_none(stage / supervise.ACCOUNT) or {}


def _ending(account: Mapping[str, Any]) -> str:
    if "returncode" not in account:
        return " did not start"
    code = int(account["returncode"])
    return f" was ended by signal {-code}" if code < 0 else f" ended with exit code {code} and no document"


def last_line(path: Path) -> str:
    """The last line of a file that is neither blank nor a rule; empty where there is none."""
    lines = [line.strip() for line in text_or_empty(path).splitlines()]
    return next((line for line in reversed(lines) if line.strip("-=*")), "")


def own_words(stderr: str, program: str) -> str | None:
    """A program's own last line among what launchers say around it; None where it said nothing."""
    said = [line.strip() for line in stderr.splitlines() if line.startswith(f"{program}: ")]
    return said[-1] if said else None


def program_seconds(stage: Path) -> float:
    """How long the program itself ran, later looks included."""
    return float(_account(stage).get("seconds", 0)) + look_plan.seconds(stage)


def observation(node: Node, node_type: str | None = None) -> Document:
    """A document without figures, for a check that only looks at the node; modelled where it is of a ``node_type``."""
    kind, program = ("measured", "nearfar detect") if node_type is None else ("modelled", "nearfar predict")
    return from_raw({
        "schema": "nearfar-measurement/2", "kind": kind, "program": {"name": program},
        **({} if node_type is None else {"node_type": node_type}),
        "node": node_to_document(node), "results": [], "skipped": [], "failed": [],
    })  # fmt: skip


def keep(
    folder: Path, document: Document | None, verdict: Verdict, stderr: Path | None, looks: Sequence[Path] = ()
) -> None:
    """Write a case's document, later looks, standard error and verdict into its folder, the verdict last: where it is, all is."""
    for number, path in enumerate(looks, 1):
        write_atomically(folder / look_plan.look_file(number), path.read_bytes())
    if document is not None:
        write_atomically(folder / measurement.DOCUMENT, measurement.dump(document))
    if stderr is not None and stderr.is_file():
        write_atomically(folder / "stderr.txt", stderr.read_bytes())
    write_atomically(folder / verdict_file.NAME, verdict_file.dump(verdict))


def set_aside(folder: Path) -> None:
    """Move what an earlier run of the same case left in its folder into ``run-1``, ``run-2`` … in it."""
    left = [path for path in folder.glob("*") if path.is_file()]
    if left:
        place = folder / f"run-{sum(each.is_dir() for each in folder.glob('run-*')) + 1}"
        place.mkdir()
        for path in left:
            path.rename(place / path.name)


def folder_of(node: Path, info: CaseInfo, repeat: int = 1) -> Path:
    """``<node>/<check>``; a node that belongs to several partitions keeps the further ones beside it, and of ReFrame's ``--repeat``
    each but the first is ``<check>@repeat2``."""
    suffix = f"@repeat{repeat}" if repeat > 1 else ""
    folder = node / f"{info.check}{suffix}"
    try:
        there = verdict_file.read(folder)
    except NearfarError:
        return folder
    if there is None or all(getattr(there, key) == getattr(info, key) for key in ("system", "partition", "environ")):
        return folder
    return node / f"{info.check}@{info.partition}+{info.environ}{suffix}"


def keep_node(folder: Path, node: Node) -> None:
    """Write the node as observed, once for all its checks."""
    if not (folder / NODE).exists():
        write_atomically(folder / NODE, json.dumps(node_to_document(node), indent=1) + "\n")


def read_node(stage: Path) -> Node | None:
    """The node that a remote job observed, or None."""
    try:
        return node_from_document(json_or_none(stage / NODE))
    except NearfarError:
        return None
