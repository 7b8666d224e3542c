"""A delivery without names of hosts, boards and addresses: what is hidden, and what only looks so."""

from __future__ import annotations

import pytest

from nearfar.base import Finding
from nearfar.delivery import ACCEPTED, REFUSED, DeliveredNode, Delivery, anonymous, messages
from nearfar.site import Order


def hidden(text: str, *nodes: str, evidence: tuple[Finding, ...] = ()) -> str:
    """What an anonymous delivery of these nodes tells of a text."""
    first, *others = nodes or ("cn1",)
    listed = [DeliveredNode(first, REFUSED, evidence), *(DeliveredNode(name, ACCEPTED) for name in others)]
    _, told = anonymous(Delivery(Order("rack", "offer 114", len(listed), {}), (), tuple(listed), (), ()), {"x": text})
    return told["x"]


@pytest.mark.parametrize(
    "address",
    ["10.0.12.1", "fe80::1", "2001:db8::7", "fe80::1ff:fe23:4567:890a", "0c:42:a1:00:00:7f", "506b:4b03:00cc:01a2", "0x506b4b0300cc01a2"],
)  # fmt: skip
def test_an_address_is_hidden_in_each_notation(address: str) -> None:
    assert hidden(f"no answer from {address}: gave up") == "no answer from an address: gave up"


@pytest.mark.parametrize(
    "text", ["vbios 96.00.89.00.01", "driver 580.159.04", "PCI 0000:1b:00.0", "at 02:01:00", "std::add"]
)
def test_versions_times_and_pci_places_stay(text: str) -> None:
    assert hidden(text) == text


def test_a_host_is_hidden_with_its_domain_and_interface() -> None:
    assert (
        hidden("cn1.site.example, cn1-ib0, ib-cn2, CN1; sole.cn1", "cn1", "cn2")
        == "node001, node001, ib-node002, node001; sole.cn1"
    )


def test_real_names_are_not_the_anonymous_ones() -> None:
    assert hidden("node002 is slow", "node001", "node002") == "unit002 is slow"


def test_another_host_than_the_node_is_hidden() -> None:
    wrong = messages.WRONG_HOST.finding("cn1", check="host_device_check", host="login7.secret.example")
    assert hidden(wrong.reason, "cn1", evidence=(wrong,)).startswith("host_device_check was measured on another host")
