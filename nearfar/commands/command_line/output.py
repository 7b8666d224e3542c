"""What commands print."""

from __future__ import annotations

import json


def print_json(document: object) -> None:
    """One JSON document on standard output."""
    print(json.dumps(document, indent=1, ensure_ascii=False))
