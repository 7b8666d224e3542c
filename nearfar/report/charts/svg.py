"""A few helpers for inline SVG: elements are built, never pasted together, so that every text is escaped."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from markupsafe import Markup

Attribute = str | float | int | None


def element(tag: str, *children: ET.Element | str, **attributes: Attribute) -> ET.Element:
    """An element; ``class_`` and ``stroke_width`` become ``class`` and ``stroke-width``, None leaves an attribute out."""
    node = ET.Element(tag)
    for name, value in attributes.items():
        if value is not None:
            node.set(name.rstrip("_").replace("_", "-"), f"{value:.4g}" if isinstance(value, float) else str(value))
    for child in children:
        if isinstance(child, str):
            node.text = (node.text or "") + printable(child)
        else:
            node.append(child)
    return node


def text(x: float, y: float, words: str, class_: str | None = None, anchor: str | None = None) -> ET.Element:
    """A line of text at a place."""
    return element("text", words, x=x, y=y, class_=class_, text_anchor=anchor)


def printable(words: str) -> str:
    """``words`` without the characters that XML cannot hold."""
    return "".join(
        c for c in words if c in "\t\n" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")
    )


def markup(root: ET.Element) -> Markup:
    """The element as it stands in a page."""
    return Markup(ET.tostring(root, encoding="unicode").replace(" />", "/>"))
