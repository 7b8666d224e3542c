"""NCCL's first ring: its hops, and the ones that limit it."""

from __future__ import annotations

from typing import Any

from nearfar.model.prediction import load_node_type
from nearfar.nccl import ring_hops
from nearfar.report.sections.by_subject import nccl_ring
from tests.conftest import CHECKOUT

SUMMIT, FOUR = (load_node_type(name, [CHECKOUT / "site"]).node for name in ("summit", "h200-x4-vm"))


def document(ranks: list[int], **transports: str) -> dict[str, Any]:
    log = {"ring": ranks, "transports": {key.replace("_", " → ").strip("g"): kind for key, kind in transports.items()}}
    return {"nccl": {"log": log}}


def test_slower_transport_limits() -> None:
    ran = document(
        [0, 1, 2, 3, 4, 5], g0_1="P2P/IPC", g1_2="P2P/IPC", g2_3="SHM", g3_4="P2P/IPC", g4_5="P2P/IPC", g5_0="SHM"
    )
    hops = ring_hops(ran, SUMMIT)
    assert [(hop.source, hop.sink) for hop in hops if hop.limiting] == [(2, 3), (5, 0)]
    assert hops[2].words == "GPU 2 → GPU 3: SHM, SYS_off"


def test_links_decide_without_transports() -> None:
    hops = ring_hops(document([0, 1, 2, 3, 4, 5]), SUMMIT)
    assert [hop.source for hop in hops if hop.limiting] == [2, 5]


def test_equal_hops_limit_nothing() -> None:
    hops = ring_hops(document([0, 1, 2, 3]), FOUR)
    assert len(hops) == 4 and not any(hop.limiting for hop in hops)


def test_ranks_beyond_the_node_and_no_ring() -> None:
    assert [hop.link for hop in ring_hops(document([0, 7]), FOUR)] == ["", ""]
    assert ring_hops({}, FOUR) == ring_hops({"nccl": {"log": {}}}, None) == []
    assert ring_hops(document([3]), FOUR)[0].link == ""


def test_the_page_shows_the_ring_on_the_node() -> None:
    words, drawn = nccl_ring(document([0, 1, 2, 3, 4, 5], g2_3="SHM", g5_0="SHM"), SUMMIT)
    assert "limited by GPU 2 → GPU 3: SHM" in words.sentences[0] and words.sentences[0].count("→ GPU") == 2
    drawing = str(drawn.drawing)
    assert drawing.count("→ GPU") == 6 and "→ GPU 0, limits the ring" in drawing
    assert nccl_ring({}, SUMMIT) == []
