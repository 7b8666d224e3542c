"""What a command shows, as a few kinds of blocks: one renderer makes a page of them, one the lines of a terminal.

Needs: base, report.figures.
"""

from .kinds import (
    Block,
    Chart,
    Entry,
    Group,
    Labels,
    Row,
    Shown,
    Table,
    Text,
    anchors,
    row,
    table,
    titled_table,
)
from .pdf import shown_pdf
from .templates import heading, prepare, rendered, sentence, shown_page
from .terminal import block_lines, shown_lines, terminal_width, wrapped_line
