"""What a delivery shows of many nodes."""

from __future__ import annotations

from nearfar import delivery
from nearfar.delivery import ACCEPTED, REFUSED, DeliveredNode, Delivery, MeasuredRun, messages
from nearfar.report.blocks import Group, Table, Text
from nearfar.site import Order


def refused(count: int) -> Group:
    """The group of so many nodes, each refused for another reason."""
    nodes = tuple(
        DeliveredNode(f"n{n:02}", REFUSED, (messages.SOFTWARE.finding("bios", found=f"1.{n}", expected="2"),))
        for n in range(0, 2 * count, 2)
    )
    shown = delivery.shown(
        Delivery(Order("rack", "offer 114", count, {}), (), nodes, (), ()), "", "2026-11-20T02:00:00Z"
    )
    return next(block for block in shown.blocks if isinstance(block, Group) and block.title == "refused")


def test_names_of_all_refused_nodes_stand_above_a_long_table() -> None:
    names, table = refused(14).blocks
    assert names == Text(("n[00,02,04,06,08,10,12,14,16,18,20,22,24,26]",), plain=True)
    assert isinstance(table, Table) and len(table.rows) == 14


def test_a_name_that_fits_in_no_list_stands_as_it_is() -> None:
    assert delivery.folded(["n1", "n2"]) == "n[1-2]" and delivery.folded(["bad[name", "n1"]) == "bad[name, n1"


def test_a_short_table_names_its_nodes_itself() -> None:
    assert [type(block) for block in refused(3).blocks] == [Table]


def test_a_repaired_node_keeps_its_failure_in_the_record() -> None:
    runs = tuple(
        MeasuredRun(day, f"2026-11-{day}T02:00:00Z", {"peer_check": word}, True)
        for day, word in (("20", "FAIL"), ("21", "PASS"), ("22", "PASS"))
    )
    nodes = (DeliveredNode("n1", ACCEPTED, runs=runs), DeliveredNode("n2", ACCEPTED, runs=runs[1:]))
    shown = delivery.shown(Delivery(Order("rack", "offer 114", 2, {}), (), nodes, (), ()), "", "2026-11-22T03:00:00Z")
    tables = {block.title: block.blocks[0] for block in shown.blocks if isinstance(block, Group)}
    repaired = tables["accepted after a failure"]
    assert isinstance(repaired, Table)
    assert [[entry.words for entry in line.entries] for line in repaired.rows] == [
        ["n1", "peer_check FAIL on 2026-11-20"]
    ]
