"""NVIDIA's nvbandwidth, as text and as JSON.

By its source (versions 0.2 to 0.8): a row's GPU drives each copy between two GPUs; ``write`` sends from the row to the column, ``read``
the other way, whichever way the arrow of the heading points. Host memory is that near the GPU. "Bidirectional" with the host counts the
first direction only; between GPUs versions from 0.5 on print both and their total. One GPU with all others: the total of all, until the
last is done. All GPUs with the host: what each one got while the others copied too, each in a run of its own. GB/s are 1e9 bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nearfar.base import CouldNotJudge

from .output import (
    NEAR,
    ForeignFigure,
    ForeignOutput,
    LeftOut,
    PrintedMatrix,
    SeenGpu,
    Truncated,
    command_line,
    matrix,
    number,
)

TOOL = "nvbandwidth"
SIGN = re.compile(
    r"^nvbandwidth Version:|\"nvbandwidth\"\s*:|^Running (?:host|device|all|one)_\w+_(?:ce|sm)\.", re.MULTILINE
)
_RUNNING = re.compile(r"^Running (\w+)\.\s*$")
_SUM = re.compile(r"^SUM (\w+_(?:ce|sm)) [\d.]+\s*$")
_HEADING = re.compile(r"^(?:memcpy|memory latency|Device to Device Latency)\b.*\((?:GB/s|ns|us)\)\s*$", re.IGNORECASE)
_DEVICE = re.compile(
    r"^\s*(?:Device )?(\d+): (.+?)(?: \((?:0x)?([0-9a-fA-F]+:[0-9a-fA-F]+:[0-9a-fA-F]+(?:\.\d)?)\))?(?:: \((.*)\))?\s*$"
)
_WRONG_DATA = re.compile(r"Invalid value when checking the pattern.*")
_BOTH_ONE_WAY = "its figure counts one of the two directions that run at the same time; nearfar's counts both"
_OTHERS: Mapping[str, tuple[str, str]] = {
    "host_device_latency_sm": ("its pointer chase runs in 2 MiB of host memory, nearfar's in at least 64 MiB", "latency_check"),
    "device_to_device_latency_sm": ("its pointer chase runs in 2 MiB, nearfar's in at least 64 MiB", "latency_check"),
}  # fmt: skip


def read(text: str) -> ForeignOutput:
    """The output in a log."""
    place = re.search(r"\{\s*\"nvbandwidth\"\s*:", text)
    return _of_text(text) if place is None else _of_json(text[place.start() :], text[: place.start()])


def _of_text(text: str) -> ForeignOutput:
    lines = text.split("\n")
    parts = _sections(lines)
    version, software = _value(lines, "nvbandwidth Version"), _software(lambda key: _value(lines, key))
    figures: list[ForeignFigure] = []
    left_out: list[LeftOut] = []
    for name, part in parts:
        error = next((line for line in part if re.match(r"(?i)error\b", line)), None)
        if error is not None:
            left_out.append(LeftOut(name, f"nvbandwidth reported: {error.strip()[:120]}"))
        elif not any(re.match(r"(?i)waiv", line) for line in part):
            try:
                square = name.startswith("device_to_device")
                shown = [(heading, matrix(block, square, r"\s*\d+(?:\s+\d+)*\s*")) for heading, block in _blocks(part)]
                _add(name, shown or [("", matrix([]))], figures, left_out)
            except Truncated as cut:
                left_out.append(LeftOut(name, str(cut)))
    first = next((at for at, line in enumerate(lines) if _RUNNING.match(line)), len(lines))
    gpus = [found for line in lines[:first] if line.startswith("Device ") and (found := _DEVICE.match(line))]
    before = next((at for at, line in enumerate(lines) if line.startswith("Device 0:")), 0)
    above = lines[before - 1].strip() if before else ""
    host = above if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", above) else None
    wrong = _WRONG_DATA.search(text)
    seen = tuple(SeenGpu(int(g[1]), g[2].strip(), g[3]) for g in gpus)
    return ForeignOutput(
        TOOL, (version or "").removeprefix("v"), command_line(lines, TOOL), host, seen, True, tuple(figures), tuple(left_out),
        (("wrong_data", wrong[0]),) if wrong else (), software,
    )  # fmt: skip


def _of_json(text: str, before: str) -> ForeignOutput:
    try:
        raw = json.JSONDecoder().raw_decode(text)[0]["nvbandwidth"]
        tests = raw.get("testcases") or []
        devices = raw.get("GPU Device list") or raw.get("GPU Device info") or []
        devices = [devices] if isinstance(devices, str) else list(devices)
        figures: list[ForeignFigure] = []
        left_out: list[LeftOut] = []
        for test in tests:
            rows = [[number(word) for word in row] for row in test.get("bandwidth_matrix") or []]
            status = str(test.get("status", ""))
            if not rows:
                if status.lower() not in ("waived", "passed", ""):
                    left_out.append(LeftOut(test["name"], f"nvbandwidth reported: {test.get('error', status)}"[:160]))
                continue
            # Of several matrices the rows follow one another, and the description is the last one's.
            width = len(rows[0])
            rows = rows[-width:] if len(rows) > width else rows
            shown = PrintedMatrix(tuple(map(str, range(width))), {str(at): tuple(row) for at, row in enumerate(rows)})
            _add(test["name"], [(str(test.get("bandwidth_description", "")), shown)], figures, left_out)
        seen = [found for line in devices if (found := _DEVICE.match(str(line)))]
        host = raw.get("Hostname") or next((g[4] for g in seen if g[4]), None)
        wrong = _WRONG_DATA.search(text)
        return ForeignOutput(
            TOOL, str(raw.get("version", "")).removeprefix("v"), command_line(before.split("\n"), TOOL), host,
            tuple(SeenGpu(int(g[1]), g[2].strip(), g[3]) for g in seen), True, tuple(figures), tuple(left_out),
            (("wrong_data", wrong[0]),) if wrong else (), _software(raw.get),
        )  # fmt: skip
    except json.JSONDecodeError as error:
        raise Truncated(
            f"nvbandwidth's JSON cannot be read ({error.msg}): the file is cut short, or was edited"
        ) from None
    except (RecursionError, AttributeError, TypeError, KeyError, ValueError, IndexError) as error:
        raise CouldNotJudge(f"nvbandwidth's JSON is not what nvbandwidth writes ({type(error).__name__})") from None


def _software(value: Callable[[str], Any]) -> dict[str, str]:
    named = {"driver": value("Driver Version"), "cuda": value("CUDA Runtime Version")}
    found = {key: str(words) for key, words in named.items() if words}
    if found.get("cuda", "").isdecimal():
        found["cuda"] = f"{int(found['cuda']) // 1000}.{int(found['cuda']) % 1000 // 10}"
    return found


def _value(lines: Sequence[str], key: str) -> str | None:
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(f"{key}:")), None)


def _sections(lines: Sequence[str]) -> list[tuple[str, list[str]]]:
    parts: list[tuple[str, list[str]]] = []
    for line in lines:
        running = _RUNNING.match(line)
        if running:
            parts.append((running[1], []))
        elif parts:
            parts[-1][1].append(line)
    if parts:
        return parts
    # Whoever pasted a matrix alone may have left the line that stands below it.
    sums = [(at, found[1]) for at, line in enumerate(lines) if (found := _SUM.match(line))]
    return [(name, list(lines[start:at])) for start, (at, name) in zip([0, *(at for at, _ in sums)], sums)]


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    starts = [at for at, line in enumerate(lines) if _HEADING.match(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        yield lines[start].strip(), list(lines[start + 1 : end])


def _add(
    name: str, matrices: Sequence[tuple[str, PrintedMatrix]], figures: list[ForeignFigure], left_out: list[LeftOut]
) -> None:
    """The figures of one test case, or why there are none."""
    plain, _, engine = name.rpartition("_")
    sm = "/sm" if engine == "sm" else ""
    heading, shown = matrices[-1]
    everyone = [int(column) for column in shown.columns]
    if name in _OTHERS:
        left_out.append(LeftOut(name, *_OTHERS[name]))
    elif plain.startswith("multinode"):
        left_out.append(LeftOut(name, "it measures between nodes"))
    elif plain in ("host_to_device_memcpy", "device_to_host_memcpy"):
        flow = f"{NEAR}:g{{}}{sm}" if plain.startswith("host") else f"g{{}}:{NEAR}{sm}"
        figures += [ForeignFigure(((flow.format(gpu), rate),), name) for _, gpu, rate in shown.cells()]
    elif plain in ("device_to_device_memcpy_read", "device_to_device_memcpy_write"):
        flow = "g{1}:g{0}@g{0}" if plain.endswith("read") else "g{0}:g{1}"
        figures += [ForeignFigure(((flow.format(a, b) + sm, rate),), name) for a, b, rate in shown.cells()]
    elif plain.startswith("device_to_device_bidirectional_memcpy") and "total" in heading.lower():
        way = "g{0}:g{1}@g{1}" if plain.endswith("read") else "g{0}:g{1}"
        figures += [
            ForeignFigure(((way.format(a, b) + sm, None), (way.format(b, a) + sm, None)), name, rate)
            for a, b, rate in shown.cells()
        ]
    elif plain in ("host_to_all_memcpy", "all_to_host_memcpy"):
        flow = f"{NEAR}:g{{}}{sm}" if plain.startswith("host") else f"g{{}}:{NEAR}{sm}"
        shares = tuple((flow.format(gpu), rate) for _, gpu, rate in shown.cells())
        figures += [ForeignFigure(shares, name)] if len(shares) == len(everyone) > 1 else []
    elif re.fullmatch(r"(all_to_one|one_to_all)_(read|write)", plain):
        # Of reads the copies go the other way: all GPUs read from the one, or the one from all.
        inward = plain in ("all_to_one_write", "one_to_all_read")
        read = "@g{1}" if plain.endswith("read") else ""
        for _, hub, rate in shown.cells():
            ends = [(other, hub) if inward else (hub, other) for other in everyone if other != hub]
            flows = tuple((f"g{a}:g{b}{read.format(a, b)}{sm}", None) for a, b in ends)
            figures += [ForeignFigure(flows, name, rate)] if flows else []
    elif plain == "device_local":
        figures += [ForeignFigure(((f"g{gpu}:g{gpu}", rate),), name) for _, gpu, rate in shown.cells()]
    elif "bidirectional" in plain:
        check = "peer_check" if plain.startswith("device_to_device") else "host_device_check"
        left_out.append(LeftOut(name, _BOTH_ONE_WAY, check))
    else:
        left_out.append(LeftOut(name, "nearfar has no such figure"))
