"""NVIDIA's nvbandwidth, as text and as JSON.

By its source (versions 0.2 to 0.8): a row's GPU drives each copy between two GPUs; ``write`` sends from the row to the column, ``read``
the other way, whichever way the arrow of the heading points. Host memory is that near the GPU. "Bidirectional" with the host counts the
first direction only; between GPUs versions from 0.5 on print both and their total. One GPU with all others: the total of all, until the
last is done. All GPUs with the host: what each one got while the others copied too, each in a run of its own. GB/s are 1e9 bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from nearfar.base import CouldNotJudge
from nearfar.question import of_other_tools

from .output import (
    NEAR,
    SOME_HOST,
    ForeignOutput,
    LeftOut,
    PrintedMatrix,
    SeenGpu,
    Truncated,
    command_line,
    matrix,
    number,
    other_unit,
    sections,
)

TOOL = "nvbandwidth"
_CASE = r"(?:host|device|all|one)_\w+_(?:ce|sm|tma|copy)"
SIGN = re.compile(rf"^nvbandwidth Version:|\"nvbandwidth\"\s*:|^Running {_CASE}\.", re.MULTILINE)
_RUNNING = re.compile(r"^Running (\w+)\.[ \t]*$", re.MULTILINE)
_SUM = re.compile(rf"^SUM ({_CASE}) [\d.]+[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"^(?:memcpy|memory latency|Device to Device Latency)\b.*\((?:\w+/s|ns|us)\)\s*$", re.IGNORECASE)
_DEVICE = re.compile(
    r"(?:Device )?(\d+): (.+?)(?: \((?:0x)?([0-9a-fA-F]+:[0-9a-fA-F]+:[0-9a-fA-F]+(?:\.\d)?)\))?(?:: \((.*)\))?\s*$"
)
_WRONG_DATA = re.compile(r"Invalid value when checking the pattern.*")
#: Flows of the test cases whose matrix has a figure for each, by row and column.
_LONE = {
    "host_to_device_memcpy": f"{NEAR}:g{{1}}", "device_to_host_memcpy": f"g{{1}}:{NEAR}", "device_local": "g{1}:g{1}",
    "device_to_device_memcpy_read": "g{1}:g{0}@g{0}", "device_to_device_memcpy_write": "g{0}:g{1}",
}  # fmt: skip
#: Likewise of those whose figures are shares.
_SHARES = {"host_to_all_memcpy": f"{NEAR}:g{{1}}", "all_to_host_memcpy": f"g{{1}}:{NEAR}"}
_ONE_WAY = "its figure counts one of the two directions that run at the same time; nearfar's counts both"
#: Versions whose copies have 64 MiB, not 512, unless ``-b`` is given; a part that was pasted alone may not show which. Two healthy H200
#: read 372 GB/s from each other with them, else 394; writes (388, 396) and copies over PCIe hardly suffer, before they have less than
#: ``_LEAST`` MiB; reads want ``_LONG``.
_SHORT, _LEAST, _LONG = re.compile(r"0\.[0-6](\.|$)|$"), 16, 256
_BUFFER = re.compile(r"(?:-b|--bufferSize)[ =]?(\d+)(?!\S)")
#: The memory that ``numactl`` binds to, wherever nvbandwidth's threads run.
_BOUND = re.compile(rf"(?:-m|--membind|--preferred)[= ]?(\d+)(?= .*{TOOL})")
_READ_SHORT = "its copies of {} MiB read NVLink up to 6 % low; take version 0.7 or newer, or -b 512"
#: GB/s that no read over PCIe has.
_NVLINK = 100.0
_TMA = "its copies are made by the tensor memory accelerator, nearfar's by copy engines and kernels"
_CHASE = "its pointer chase runs in 2 MiB, nearfar's in at least 64 MiB"


class _TestCase(NamedTuple):
    """A test case: what nvbandwidth reported of it, or its last matrix (of several that of the total) with the heading."""

    name: str
    problem: str = ""
    heading: str = ""
    matrix: PrintedMatrix | None = None


def end_of_json(text: str, start: int) -> int:
    """Where the JSON that begins at ``start`` ends; the text's end where it is cut short."""
    try:
        return json.JSONDecoder().raw_decode(text, start)[1]
    except (json.JSONDecodeError, RecursionError):
        return len(text)


def read(text: str) -> ForeignOutput:
    """The output in a log. Raises ``CouldNotJudge`` for JSON that nvbandwidth does not write."""
    place = re.search(r"\{\s*\"nvbandwidth\"\s*:", text)
    if place is None:
        lines = text.split("\n")
        known = {
            key: value.strip() for key, _, value in (line.partition(":") for line in reversed(lines)) if value.strip()
        }
        first = next((at for at, line in enumerate(lines) if _RUNNING.match(line)), len(lines))
        devices = [line for line in lines[:first] if line.startswith("Device ")]
        above = lines[lines.index(devices[0]) - 1].strip() if devices else ""
        host = above if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", above) else None
        return _output(text, lines, known, devices, host, _of_text(lines))
    try:
        raw = json.JSONDecoder().raw_decode(text[place.start() :])[0]["nvbandwidth"]
        listed = raw.get("GPU Device list") or raw.get("GPU Device info") or []
        devices = [listed] if isinstance(listed, str) else list(map(str, listed))
        known = {"nvbandwidth Version": raw.get("version") or "", **raw}
        before = text[: place.start()].split("\n")
        cases = [_of_json(case) for case in raw.get("testcases") or []]
        if error := str(raw.get("error") or ""):
            cases.append(_TestCase("its run", f"nvbandwidth reported: {error}"[:160]))
        return _output(text, before, known, devices, raw.get("Hostname"), cases)
    except json.JSONDecodeError as error:
        raise CouldNotJudge(
            f"nvbandwidth's JSON cannot be read ({error.msg}): the file is cut short, or was edited"
        ) from None
    except (RecursionError, AttributeError, TypeError, KeyError, ValueError, IndexError) as error:
        raise CouldNotJudge(f"nvbandwidth's JSON is not what nvbandwidth writes ({type(error).__name__})") from None


def _output(
    text: str, before: Sequence[str], known: dict[str, Any], devices: Sequence[str], host: str | None, cases: Sequence[_TestCase]
) -> ForeignOutput:  # fmt: skip
    seen = [found for line in devices if (found := _DEVICE.match(line))]
    wrong = _WRONG_DATA.search(text)
    cuda, driver = str(known.get("CUDA Runtime Version", "")), str(known.get("Driver Version", ""))
    cuda = f"{int(cuda) // 1000}.{int(cuda) % 1000 // 10}" if cuda.isdecimal() else cuda
    output = ForeignOutput(
        TOOL, str(known.get("nvbandwidth Version", "")).removeprefix("v"), command_line(before, TOOL),
        host or next((found[4] for found in seen if found[4]), None),
        tuple(SeenGpu(int(found[1]), found[2].strip(), found[3]) for found in seen),
        failed=[("wrong_data", wrong[0])] if wrong else [],
        software={key: value for key, value in (("driver", driver), ("cuda", cuda)) if value},
    )  # fmt: skip
    for case in cases:
        if case.matrix is not None:
            _add(case.name, case.heading, case.matrix, output)
        elif case.problem:
            output.left_out.append(LeftOut(case.name, case.problem, unread=True))
    return output


def _of_text(lines: Sequence[str]) -> list[_TestCase]:
    cases = []
    for name, part in _sections(lines):
        # What stands below its sum is of cases that have no heading.
        sums = [at for at, line in enumerate(part) if line.startswith(f"SUM {name}")]
        part = part[: sums[-1] + 1] if sums else part
        error = next((line for line in part if re.match(r"(?i)error\b", line)), None)
        if error is not None or any(re.match(r"(?i)waiv", line) for line in part):
            cases.append(_TestCase(name, f"nvbandwidth reported: {error.strip()[:120]}" if error else ""))
            continue
        starts = [at for at, line in enumerate(part) if _HEADING.match(line)]
        try:
            # Each is whole, or a total stands for a part.
            blocks = [part[start + 1 : end] for start, end in zip(starts, [*starts[1:], len(part)])]
            shown = [
                matrix(block, name.startswith("device_to_device"), r"\d+(?:\s+\d+)*\s*") for block in blocks or [[]]
            ]
            cases.append(_TestCase(name, heading=part[starts[-1]], matrix=shown[-1]))
        except Truncated as cut:
            cases.append(_TestCase(name, str(cut)))
    return cases


def _of_json(case: dict[str, Any]) -> _TestCase:
    try:
        rows = [[number(str(rate)) for rate in row] for row in case.get("bandwidth_matrix") or []]
    except ValueError as error:
        return _TestCase(case["name"], str(error))
    if not rows:
        whole = str(case.get("status", "")).lower() in ("waived", "passed", "")
        return _TestCase(
            case["name"], "" if whole else f"nvbandwidth reported: {case.get('error', case['status'])}"[:160]
        )
    # Of several matrices the rows follow one another, and the description is the last one's.
    width = len(rows[0])
    rows = rows[-width:] if len(rows) > width else rows
    shown = PrintedMatrix(tuple(map(str, range(width))), {str(at): tuple(row) for at, row in enumerate(rows)})
    return _TestCase(case["name"], heading=str(case.get("bandwidth_description", "")), matrix=shown)


def _sections(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The lines of each test case."""
    text = "\n".join(lines)
    whole = [(found[1], rest.split("\n")) for found, rest in sections(text, _RUNNING)]
    if whole:
        yield from whole
        return
    # Whoever pasted a matrix alone may have left the line that stands below it.
    ends = [(found.start(), found[1]) for found in _SUM.finditer(text)]
    for start, (end, name) in zip([0, *(at for at, _ in ends)], ends):
        yield name, text[start:end].split("\n")


def _add(name: str, heading: str, shown: PrintedMatrix, output: ForeignOutput) -> None:
    """The figures of one test case, or why there are none."""
    plain, _, engine = name.rpartition("_")
    sm = "/sm" if engine == "sm" else ""
    everyone = [int(column) for column in shown.columns]
    read = plain.endswith("read")
    way = ("g{0}:g{1}@g{1}" if read else "g{0}:g{1}") + sm
    if unit := other_unit(heading):
        output.left_out.append(LeftOut(name, unit))
        return
    if zeros := shown.zeros(diagonal=plain.startswith("device_to_device")):
        output.left_out.append(LeftOut(name, f"{zeros}: the rate is zero", unread=True))
    command = " ".join(output.command)
    bound, given = _BOUND.search(command), _BUFFER.search(command)
    host = f"n{bound[1]}" if bound else SOME_HOST if {"-d", "--disableAffinity"} & set(output.command) else NEAR
    size = int(given[1]) if given else 64 if _SHORT.match(output.version) else 512
    if engine == "tma":
        output.left_out.append(LeftOut(name, _TMA, of_other_tools.PEER))
    elif size < _LEAST and "latency" not in plain:
        output.left_out.append(LeftOut(name, f"its copies of {size} MiB are too short"))
    elif size < _LONG and name.endswith("_read_ce") and any(rate > _NVLINK for *_, rate in shown.cells()):
        output.left_out.append(LeftOut(name, _READ_SHORT.format(size), of_other_tools.PEER))
    elif flow := _LONE.get(plain):
        for a, b, rate in shown.cells():
            output.add(name, (flow.format(a, b).replace(NEAR, host) + sm, rate))
    elif flow := _SHARES.get(plain):
        shares = [(flow.format(a, b).replace(NEAR, host) + sm, rate) for a, b, rate in shown.cells()]
        if len(shares) == len(everyone) > 1:
            output.add(name, *shares)
    elif plain.startswith("device_to_device_bidirectional_memcpy") and "total" in heading.lower():
        for a, b, rate in shown.cells():
            output.add(name, (way.format(a, b), None), (way.format(b, a), None), total=rate)
    elif re.fullmatch(r"(all_to_one|one_to_all)_(read|write)", plain):
        # Of reads the copies go the other way: all GPUs read from the one, or the one from all.
        inward = plain in ("all_to_one_write", "one_to_all_read")
        for _, hub, rate in shown.cells():
            ends = [(other, hub) if inward else (hub, other) for other in everyone if other != hub]
            if ends:
                output.add(name, *((way.format(*pair), None) for pair in ends), total=rate)
    elif "bidirectional" in plain and not plain.startswith("multinode"):
        check = of_other_tools.PEER if plain.startswith("device_to_device") else of_other_tools.HOST_DEVICE
        output.left_out.append(LeftOut(name, _ONE_WAY, check))
    elif "latency" in plain:
        output.left_out.append(LeftOut(name, _CHASE, of_other_tools.LATENCY))
    else:
        why = "it measures between nodes" if plain.startswith("multinode") else "nearfar has no such figure"
        output.left_out.append(LeftOut(name, why))
