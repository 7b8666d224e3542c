"""Orders of nodes: read as other site files are, held against themselves and against physics."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from nearfar.base import NearfarError
from nearfar.site import lint, orders
from tests.conftest import CHECKOUT

GOOD = """\
order: rack
offer: ACME, offer 114 of 2026-09-01
count: 40
nodes: ["n[01-40]"]
expect: {gpus: 8, gpu_model: NVIDIA H100 80GB HBM3, packages: 2, memory: 2199023255552, nics: 10}
memory_channels: {count: 8, rate: 4800}
software: {driver: 580.95.05, vbios: 96.00.89.00.01}
serials: {n01: [a, b, c, d, e, f, g, h]}
promised:
  host_device_check:
    near.h2d: {value: 54, unit: GB/s, page: 12}
  host_memory_check:
    all.triad: {value: 480, unit: GB/s, page: 12}
  peer_check:
    NV18.write: {value: 390, unit: GB/s, page: 12}
    NV18.both.total: {value: 740, unit: GB/s, page: 12}
  latency_check:
    near_latency_copy.h2d: {value: 8, unit: us, page: 13}
"""


def complaints(folder: Path, text: str) -> list[str]:
    """What lint says of an order, without its path."""
    (folder / "orders").mkdir(exist_ok=True)
    path = folder / "orders" / "rack.yaml"
    path.write_text(text)
    found = lint.lint([folder, CHECKOUT / "site"], date(2026, 11, 21)).complaints
    return [str(complaint).removeprefix(f"{path}:") for complaint in found if complaint.file == path]


def test_an_order_is_read_with_its_promises(tmp_path: Path) -> None:
    assert complaints(tmp_path, GOOD) == []
    order = orders.load("rack", [tmp_path, CHECKOUT / "site"])
    assert (order.count, len(order.nodes or ()), order.expect["gpus"]) == (40, 40, 8)
    promise = next(each for each in order.promised if each.row == "near.h2d")
    assert (promise.check, promise.value, promise.unit, promise.page) == ("host_device_check", 54, "GB/s", "12")
    with pytest.raises(NearfarError, match=r"no order is called 'rak' .did you mean 'rack'"):
        orders.load("rak", [tmp_path])


def test_unknown_order_names_what_was_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complaints(tmp_path, GOOD)
    assert orders.load("rack.yaml", [tmp_path]).name == "rack"
    monkeypatch.delenv("NEARFAR_SITE", raising=False)
    with pytest.raises(NearfarError, match=f"searched for x.yaml in {tmp_path}/orders; NEARFAR_SITE.* is not set"):
        orders.load("x", [tmp_path])
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path))
    with pytest.raises(NearfarError, match=f"searched for x.yaml in {tmp_path}/orders$"):
        orders.load("x", [tmp_path])


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"n[01-40]"', '"n[01-38]"', "4: error: nodes: 38 hosts, but count is 40"),
        ("count: 40", "count: 40\nboards: 8", "4: error: unknown key 'boards'"),
        ("order: rack", "order: shelf", "1: error: order: 'shelf' in a file called rack.yaml; use one name for both"),
        ("[a, b, c, d, e, f, g, h]", "[a]", "8: error: serials: n01: 1 serial number, but gpus is 8"),
        ("{n01: [a", "{n01: [b", "8: error: serials: b is listed twice"),
        ("{n01:", "{m01:", "8: error: serials: m01 is not among nodes"),
        ("gpus: 8", "gpus: 8, nvlinks: 36, nvlink_generation: 4", "5: error: expect: nvlinks: 36 lanes of NVLink 4, of which no GPU"),
        ("gpus: 8", "gpus: 8, link: {kind: pcie, gen: 4, width: 16}", "5: warning: expect: link: gen: 4, but NVIDIA H100 80GB HBM3 has 5"),
        ("host_device_check", "host_devise_check", "10: error: promised: no check is called 'host_devise_check' (did you mean"),
        ("near.h2d", "neer.h2d", "11: error: host_device_check: neer.h2d: 'neer' begins no figure (did you mean 'near'?)"),
        ("near.h2d", "sole.h2d", "11: error: host_device_check: sole.h2d: no check gives this figure of the ordered nodes"),
        ("54, unit: GB/s", "54000, unit: MB/s", "11: error: host_device_check: near.h2d: is in 'GB/s', found 'MB/s'"),
        ("value: 54", "value: 100", "11: error: host_device_check: near.h2d: 100 GB/s is above the line rate of PCIe 5.0 x16, 63.0 GB/s"),
        ("value: 390", "value: 900", "15: error: peer_check: NV18.write: 900 GB/s is above the line rate of NVLink 4 x18, 450.0 GB/s "
                                     "(400.0 of payload); the sum of both directions? that is 450 GB/s"),
        ("value: 480", "value: 700", "13: error: host_memory_check: all.triad: 700 GB/s is above the peak of its memory, 614.4 GB/s"),
        ("value: 740", "value: 799", "16: warning: peer_check: NV18.both.total: 799 GB/s of both directions is above the two"),
        ('"n[01-40]"', '"n[01-38],n[40,39,07]"', "4: error: nodes: n07 is listed twice; remove one"),
        ('"n[01-40]"', '"n[01-40]", n07', "4: error: nodes: n07 is listed twice; remove one"),
        ("rate: 4800", "rate: 4.8", "6: error: memory_channels.rate: 4.8: expected about 4800 MT/s"),
        ("{driver", "{diver", "7: error: software: no node reports 'diver' (did you mean 'driver'?)"),
        ("{driver", "{hwloc", "7: error: software: no node reports 'hwloc' (known: "),
        ("{driver", "{firmware", "7: error: software: no node reports 'firmware' (known: acs, application_clocks, "),
        ("NVIDIA H100 80GB HBM3", "NVIDIA H2000", "5: warning: expect: gpu_model: no GPU model file has 'NVIDIA H2000' (did you mean "
                                                  "'NVIDIA H200'?): "),
        ("NVIDIA H100 80GB HBM3", "H100", "5: warning: expect: gpu_model: no GPU model file has 'H100' (did you mean "
                                          "'NVIDIA H100 NVL' or 'NVIDIA H100 PCIe' or 'NVIDIA H100 80GB HBM3'?): "),
        ("value: 54", "value: 58", "11: warning: host_device_check: near.h2d: 58 GB/s is above what healthy NVIDIA H100 80GB HBM3 reach, "),
        ("count: 40", "count: 40\nsystem: keneland", "4: error: system: no system is called 'keneland' (did you mean 'keeneland'?)"),
        ("count: 40", "count: 40\nsystem: keeneland", "6: warning: expect: gpus: 8, but system keeneland has 3"),
    ],
)  # fmt: skip
def test_an_order_that_contradicts_itself_or_physics(tmp_path: Path, before: str, after: str, said: str) -> None:
    assert before in GOOD
    found = complaints(tmp_path, GOOD.replace(before, after, 1))
    assert any(line.startswith(said) for line in found), found


def test_no_order_with_an_error_is_used(tmp_path: Path) -> None:
    said = complaints(tmp_path, GOOD.replace("value: 390", "value: 900").replace("order: rack", "order: shelf"))
    assert [line.partition(":")[0] for line in said] == ["1", "15"], "a wrong name hides no other error"
    with pytest.raises(
        NearfarError, match=r"rack.yaml:1: order: 'shelf' in .*\n.*rack.yaml:15: peer_check: NV18.write: 900 GB/s"
    ):
        lint.sound_order("rack", [tmp_path, CHECKOUT / "site"])
