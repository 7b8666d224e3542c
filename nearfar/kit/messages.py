"""What findings about a kit's file say."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

NO_DOCUMENT = Message(
    "kit.no_document", "INDETERMINATE", "{program} wrote no document and exited with code {exit_code}[: {line}]",
    page="deploy.md",
)  # fmt: skip
PARTIAL = Message(
    "kit.partial", NOT_JUDGED, "a kit measures {measured} of the {cells} cells of this check, but not {missing}",
    page="deploy.md",
)  # fmt: skip
