"""How ``--help`` shows a description and what stands behind the options: sentences wrapped to the terminal, indented lines as they are."""

from __future__ import annotations

import argparse
import re
import textwrap


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """argparse's, whose text is lines to be joined and wrapped; an indented line, one behind which ``:`` ends it, and ``exit codes:``
    begin anew. Of an example that is too long what it does comes below it."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        blocks: list[list[str]] = []
        for line in text.splitlines():
            sentence = bool(line) and not line.startswith(" ")
            goes_on = blocks and sentence and blocks[-1][-1] and not re.match(r" |.*:$", blocks[-1][-1])
            if goes_on and not line.startswith("exit codes:"):
                blocks[-1].append(line)
            else:
                blocks.append([line])
        return "\n".join(self._shown(lines, width, indent) for lines in blocks)

    @staticmethod
    def _shown(lines: list[str], width: int, indent: str) -> str:
        if not lines[0] or lines[0].startswith(" "):
            example = re.match(r"( +\S.*?) {2,}(\S.*)$", lines[0])
            if example and len(indent + lines[0]) > width:
                deeper = indent + " " * 8
                text = textwrap.fill(
                    example[2], width, initial_indent=deeper, subsequent_indent=deeper, break_on_hyphens=False
                )
                return f"{indent}{example[1]}\n{text}"
            return indent + lines[0]
        return textwrap.fill(
            " ".join(lines),
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
