"""What a document of nccl-tests shows beside its figures: how NCCL sent, why it is slow, and what was set for the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from nearfar.base import Finding
from nearfar.measurement import Document

from . import messages
from .busbw_figures import SIZES, curves, size_label
from .causes import NcclEvidence
from .comparison import as_slow_as, expected_of, has_multicast
from .log import NcclLog
from .table import NcclTable


def findings(document: Document | None) -> list[Finding]:
    """Notes; of versions that do not fit also INDETERMINATE."""
    raw = {} if document is None else document.raw.get("nccl") or {}
    if document is None or not raw:
        return []
    set_here, node, every = raw.get("environment") or {}, document.node, curves(document)
    log = NcclLog(**raw.get("log", {}))
    # What this run set itself is no cause.
    log = replace(log, variables={key: value for key, value in log.variables.items() if key not in set_here})
    multicast = any(has_multicast(case, node) for case in every)
    found = _versions(raw.get("headers", ""), raw.get("library", ""), log)
    found += [_used(log)] if log.transports or log.channels or log.choices else []
    found += [messages.MULTICAST_OFF.finding("nccl")] if set_here and multicast else []
    # Of a run without figures all that may be wrong is named.
    evidence = NcclEvidence(
        node, log, raw.get("facts") or {}, max((case.nodes for case in every), default=1), slow=not every,
        multicast=multicast and not set_here,
    )  # fmt: skip
    for case, curve in every.items():
        size = max(curve)
        rate, healthy = curve[size].rate, expected_of(case, size, node)
        if rate is not None and healthy is not None and rate.median < healthy.low:
            evidence = replace(evidence, slow=True, like=as_slow_as(case, size, rate.median, node))
            break
    return found + evidence.causes()


def nccl_block(
    log: NcclLog, table: NcclTable | None, facts: Mapping[str, Any] | None = None, set_here: Mapping[str, str] | None = None
) -> dict[str, Any]:  # fmt: skip
    """What a document keeps of how NCCL ran."""
    versions = {} if table is None else {"headers": table.headers, "library": table.library}
    return {"log": asdict(log), "facts": dict(facts or {}), "environment": dict(set_here or {}), **versions}


def _versions(headers: str, library: str, log: NcclLog) -> list[Finding]:
    found = []
    if len(log.versions) > 1 or "versions_differ" in log.signs:
        found.append(messages.OTHER_VERSIONS.finding("nccl", versions=log.versions))
    if headers and library and headers != library:
        ran, compiled = ([int(word) for word in version.split(".")] for version in (library, headers))
        message = messages.OLDER_LIBRARY if ran < compiled else messages.VERSIONS
        found.append(message.finding("nccl", headers=headers, library=library))
    return found


def _used(log: NcclLog) -> Finding:
    kinds = Counter(log.transports.values())
    parts = [f"{kind} ({count} pairs)" if len(kinds) > 1 else kind for kind, count in sorted(kinds.items())]
    least: dict[tuple[str, str], int] = {}
    for key, choice in log.choices.items():
        name, _, size = key.rpartition(" ")
        if int(size) >= SIZES[1]:
            one = name, " with ".join(choice)
            least[one] = min(int(size), least.get(one, int(size)))
    alike: dict[str, list[str]] = {}
    for (name, words), first in least.items():
        alike.setdefault(f"{words} from {size_label(first)} on", []).append(name)
    choices = list(alike)
    if len(alike) > 1:
        choices = [f"{words} ({', '.join(filter(None, names))})" for words, names in alike.items()]
    return messages.USED.finding(
        "nccl",
        version=next(iter(log.versions), ""),
        transport=" and ".join(parts),
        channels=log.channels,
        choices=choices,
    )
