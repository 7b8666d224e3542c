"""The tables of nccl-tests: whole, cut, wrong, and of several tests in one log."""

from __future__ import annotations

from nearfar.nccl import nccl_version, read_tables
from tests.conftest import CHECKOUT

WHOLE = (CHECKOUT / "tests/data/foreign/nccl-tests.txt").read_text()


def test_a_whole_table() -> None:
    (table,) = read_tables(WHOLE)
    assert (table.collective, table.version, table.headers, table.library) == (
        "all_reduce",
        "2.17.1",
        "2.27.3",
        "2.27.3",
    )
    assert [(row.bytes, row.busbw, row.wrong) for row in table.rows][-1] == (4194304, 10.2, 0)
    assert table.ranks[0].pci == "0000:1a:00" and table.hosts == ("node21",)
    assert table.cut_short == "" and table.wrong == 0 and nccl_version("2708") == "2.7.8"


def test_what_is_cut_wrong_or_failed_says_so() -> None:
    cut = WHOLE[: WHOLE.index("     4194304  ")]
    assert read_tables(cut)[0].cut_short == "its output ends behind 2097152 bytes"
    assert read_tables(WHOLE.replace("bounds values : 0 OK", "bounds values : 7 FAILED"))[0].wrong == 7
    assert read_tables(WHOLE.replace("values : 0 OK", "values  : 0 OK"))[0].cut_short == "", "set in columns by hand"
    failed = cut[: cut.index("#\n#  ")] + "gpu: Test CUDA failure common.cu:1030 'system not yet initialized'\n"
    assert read_tables(failed)[0].cut_short == "ended with 'system not yet initialized'"


def test_several_tests_in_one_log() -> None:
    both = read_tables(WHOLE + WHOLE.replace("all_reduce", "all_gather"))
    assert [(table.collective, len(table.rows), len(table.ranks)) for table in both] == [
        ("all_reduce", 3, 4), ("all_gather", 3, 4)
    ]  # fmt: skip
