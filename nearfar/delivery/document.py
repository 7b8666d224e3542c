"""The decisions as a document: ``nearfar-delivery/1``."""

from __future__ import annotations

import json
from dataclasses import asdict

import nearfar
from nearfar.base import utc_text

from .decision import Delivery

SCHEMA = "nearfar-delivery/1"


def text(delivery: Delivery) -> str:
    """The document as JSON text, ending in a newline."""
    about = {"schema": SCHEMA, "program": {"name": "nearfar", "version": nearfar.__version__}, "made": utc_text()}
    document = {**about, "counts": delivery.counts, **asdict(delivery)}
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False, default=str) + "\n"
