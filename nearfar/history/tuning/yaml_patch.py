"""Changes to a YAML text that leave the rest of it as it is: comments, order, quotes, indentation, line ends.

PyYAML says where each value stands, and a change replaces the characters of that value alone. ruamel.yaml 0.19 writes the whole text
anew: of 300 files of tests/history/test_reference_text.py it reformatted 299, and lost 5 % of the comments, all in lists on one line.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml


class OneLine(dict[str, Any]):
    """A mapping that stands on one line, whatever it holds."""


class _Dumper(yaml.SafeDumper):
    """Writes a value that is there twice twice, without an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(OneLine, lambda dumper, value: dumper.represent_mapping("tag:yaml.org,2002:map", value, True))


def dumped(value: Any, flow: bool | None = None, style: str | None = None) -> str:
    """A value as YAML; lists and mappings that hold no others stand on one line, with ``flow`` all do."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, default_flow_style=flow, default_style=style, width=math.inf,
                     allow_unicode=True)  # fmt: skip


def loaded(text: str) -> Any:
    """The value of a text."""
    return yaml.load(_without_tabs(text), yaml.SafeLoader)


def patched(text: str, new: dict[str, Any]) -> str:
    """A text (a mapping without aliases) that is changed where its value is not the ``new`` one. Comments inside of a value that cannot
    stay come before it."""
    return _Patch(text).made(new)


def has_anchors(text: str) -> bool:
    """Whether a text has anchors (and aliases of them)."""
    return any(getattr(event, "anchor", None) for event in yaml.parse(_without_tabs(text)))


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, of a day or a version also where only one of them is in quotes."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return bool(one == other) or str(one) == str(other)


class _Patch:
    """One text, and the changes to it: start, end, and what stands there instead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._comments = list(_comments(text))
        self._edits: list[tuple[int, int, str]] = []

    def made(self, value: dict[str, Any]) -> str:
        """The text with the ``value``."""
        root = yaml.compose(_without_tabs(self._text), yaml.SafeLoader)
        assert root is not None
        self._set(None, root, loaded(self._text), value, in_flow=False)
        parts, done = [], 0
        for start, end, new in sorted(self._edits, key=lambda edit: edit[0]):
            parts += [self._text[done:start], new]
            done = end
        return "".join([*parts, self._text[done:]])

    def _set(self, key: yaml.Node | None, node: yaml.Node, old: Any, new: Any, in_flow: bool) -> None:
        """Make the value ``old`` at ``node`` a ``new`` one; ``key`` is None for the whole text and an entry of a list."""
        if same(old, new):
            return
        flow = in_flow or bool(getattr(node, "flow_style", False))
        if isinstance(node, yaml.MappingNode) and isinstance(new, dict) and node.value and old.keys() <= new.keys():
            if not (flow and not in_flow and key is not None and _depth(new) > max(2, _depth(old))):
                for (name, value), entry in zip(node.value, old):
                    self._set(name, value, old[entry], new[entry], flow)
                self._add(node, {entry: value for entry, value in new.items() if entry not in old}, flow)
                return
        elif isinstance(node, yaml.SequenceNode) and isinstance(new, list) and len(new) == len(old):
            for item, before, after in zip(node.value, old, new):
                self._set(None, item, before, after, flow)
            return
        self._replace(key, node, new, in_flow)

    def _add(self, node: yaml.MappingNode, added: Mapping[str, Any], flow: bool) -> None:
        """New keys after the last one of a mapping."""
        end = _end(self._text, node.value[-1][1])
        if flow:
            self._edits += [(end, end, f", {_flow(entry)}: {_flow(value)}") for entry, value in added.items()]
        elif added:
            self._lines(end, _block(added), node.value[0][0].start_mark.column)

    def _replace(self, key: yaml.Node | None, node: yaml.Node, new: Any, in_flow: bool) -> None:
        """A new value, which stands on the line of its key where it holds no lists or mappings."""
        start, end = node.start_mark.index, _end(self._text, node)
        nested = key is not None and not in_flow and _depth(new) > 1
        style = node.style if isinstance(node, yaml.ScalarNode) and isinstance(new, str) else None
        text = "" if nested else _flow(new, style if style in ("'", '"') else None)
        if key is not None:
            colon = self._text.index(":", key.end_mark.index) + 1
            if nested or start == colon or "\n" in self._text[colon:start]:
                start, text = colon, f" {text}".rstrip()
            line = self._text.rfind("\n", 0, key.start_mark.index) + 1
            indent = re.match(" *", self._text[line : key.start_mark.index])
            assert indent is not None
            for at, comment in self._comments:
                if start <= at < end:
                    self._edits.append((line, line, f"{indent[0]}{comment}{self._newline}"))
            if nested:
                self._lines(end, _block(new), key.start_mark.column + 2)
        self._edits.append((start, end, text))

    def _lines(self, end: int, block: str, column: int) -> None:
        """Lines below the one that a value ends on."""
        at = re.compile(r"\r?$", re.M).search(self._text, end)
        assert at is not None
        lines = textwrap.indent(block.rstrip("\n"), " " * column).split("\n")
        self._edits.append((at.start(), at.start(), "".join(self._newline + line for line in lines)))


def _without_tabs(text: str) -> str:
    """PyYAML's own scanner refuses tabs before a comment that libyaml's, which reads a site's files, takes."""
    return re.sub(r"\t(?=[\t ]*(?:#|\r?$))", " ", text, flags=re.M)


def _depth(value: Any) -> int:
    """How many lists and mappings are inside of one another."""
    if not isinstance(value, (dict, list)):
        return 0
    inner: Iterable[Any] = () if isinstance(value, OneLine) else value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, inner), default=0)


def _block(content: Mapping[str, Any]) -> str:
    return "".join(dumped({key: value}, flow=False if _depth(value) == 0 else None) for key, value in content.items())


def _flow(value: Any, style: str | None = None) -> str:
    """A value as it may stand in a list on one line."""
    return dumped([value], True, style).strip()[1:-1]


def _end(text: str, node: yaml.Node) -> int:
    """Where a value's last character is; PyYAML's mark of one in several lines lies behind the comments that follow."""
    while not getattr(node, "flow_style", True):
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    end: int = node.end_mark.index
    return end if end == node.start_mark.index else len(text[:end].rstrip())


def _comments(text: str) -> Iterator[tuple[int, str]]:
    done = 0
    for token in yaml.scan(_without_tabs(text)):
        for comment in re.finditer(r"#[^\r\n]*", text[done : token.start_mark.index]):
            yield done + comment.start(), comment[0]
        done = max(done, token.end_mark.index)
