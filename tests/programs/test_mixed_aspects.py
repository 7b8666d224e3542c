"""One run of ``nearfar-copy`` that measures the rates, latencies, tails and sizes that several checks ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.measurement import from_raw, metrics, part
from tests.support.emulated import Emulated, emulated_programs


@pytest.fixture(scope="module")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    return emulated_programs(build_folder, tmp_path_factory.mktemp("mixed"))


def cells(folder: Path, *lines: str) -> str:
    (folder / "cells.txt").write_text("".join(f"{line}\n" for line in lines))
    return str(folder / "cells.txt")


ASKED = (
    "n0:g0", "n0:g0 latency", "n0:g0 tail=20", "n0:g0 sizes=1KiB..4MiB", "n0:g0 rounds=1",
    "g0:n0 rounds=1", "n0:g0/x2", "n9:g0 latency", "n0:g0 latency rounds=2",
)  # fmt: skip


def test_each_check_finds_its_own_part(emulated: Emulated, tmp_path: Path) -> None:
    ended = emulated.run("--cells", cells(tmp_path, *ASKED), "--json", "--absent-fails")
    raw = ended.document()
    assert ended.code == 1 and [(f["cell"], f["aspect"], f["code"]) for f in raw["failed"]] == [
        ("n9:g0", "latency", "absent")
    ]
    document = from_raw(raw)
    asked = {subject for result in document.results if (subject := result.cell)}
    found = {aspect: from_raw(part(raw, asked, aspect)) for aspect in ("", "latency", "tail", "sizes")}
    assert [str(r.cell) for r in found[""].results] == ["n0:g0", "g0:n0", "n0:g0/x2"]
    assert [r.quantity for r in found["latency"].results] == ["latency.copy", "latency.chase", "latency.launch"]
    assert [r.quantity for r in found["tail"].results] == ["tail"] and found["tail"].results[0].tail.count == 20
    assert [r.bytes for r in found["sizes"].results] == [1024 << power for power in range(13)]
    assert found["sizes"].raw["curves"] and "curves" not in found[""].raw
    assert not found[""].failed, "what failed was no rate"
    notes = [
        {"cell": "n0:g0", "aspect": "tail", "code": "hung_once", "reason": "r"},
        {"cell": "", "code": "suspended", "reason": "r"},
    ]
    assert (
        part(raw | {"notes": notes}, asked, "")["notes"] == notes[1:]
        and part(raw | {"notes": notes}, asked, "tail")["notes"] == notes
    )
    # The whole document's figures are the rates: sizes are another aspect of the same cell.
    assert {m.name: m.value for m in metrics(document)}["sole.n0_g0"] == metrics(found[""])[0].value
    visits = {str(r["cell"]): len(r["visits"]) for r in part(raw, asked, "")["results"]}
    assert visits["g0:n0"] == 1 and visits["n0:g0"] > 1, (
        "a cell asked for twice is measured as often as the most that is asked"
    )


@pytest.mark.parametrize(
    "line, words",
    [
        ("n0:g0 latencies", "cells.txt:1: cell 'n0:g0 latencies', column 7: expected 'latency', 'tail' or 'sizes'"),
        ("n0:g0 sizes", "cells.txt:1 '': expected sizes that ascend"),
        ("n0:g0 sizes=4KiB..1KiB", "cells.txt:1 '4KiB..1KiB': expected sizes"),
        ("n0:g0 tail=0", "cells.txt:1"),
        ("n0:g0 rounds=x", "cells.txt:1: rounds"),
        ("n0:g0 latency=3", "'=3' is a value that only tail and sizes take"),
        ("n0:g0 sizes=1KiB..4KiB\nn0:g0 sizes=1KiB..8KiB", "cells.txt:2: all cells of a run have the same sizes"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_named(emulated: Emulated, tmp_path: Path, line: str, words: str) -> None:
    ended = emulated.run("--cells", cells(tmp_path, line))
    assert ended.code == 2 and ended.errors.count("\n") == 1 and words in ended.errors, ended.errors


def test_a_process_that_dies_leaves_the_other_aspects(emulated: Emulated, tmp_path: Path) -> None:
    once = tmp_path / "once"
    asked = cells(tmp_path, "n0:g0", "g0:n0 latency", "n0:g0 tail=10 rounds=2")
    ended = emulated.run("--cells", asked, "--json", settings=f"once={once},fault=cudaMemcpyAsync:60:abort")
    raw = ended.document()
    told = {(e["cell"], e.get("aspect", "")) for key in ("results", "failed", "skipped") for e in raw[key]}
    assert told == {("n0:g0", ""), ("g0:n0", "latency"), ("n0:g0", "tail")}, raw["failed"]
