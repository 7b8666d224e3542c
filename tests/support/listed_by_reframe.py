"""Run as a program: which rows the checks that a real ReFrame loads can have on some nodes, as JSON.

The checks' own ``cells`` and ``figures`` answer; only the documents in between are imagined.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import reframe.core.runtime as rt
from reframe.core.config import load_config
from reframe.frontend.loader import RegressionCheckLoader

from nearfar.base.places import IMPORT_PATH as CHECKOUT
from nearfar.question import synthetic_documents
from nearfar.topology import Node, parse_hwloc_xml
from nearfar.verdict.references import row_keys

FEATURES = ("gpu", "two_nodes")


def rows(check: Any, node: Node) -> list[str]:
    """Every row that a figure of the check takes on the node."""
    check.expected = node
    asked = check.cells(node)[0]
    if not asked:
        return []
    question = check.question
    if question.synthetic is None:
        document = synthetic_documents.of_cells(asked, node, question.quantities)
    else:
        document = question.synthetic(node, FEATURES)
    return sorted({key for metric in question.figures(document, node) for key in row_keys(metric)})


def main(topologies: list[str]) -> None:
    """Print rows by check and topology."""
    site_config = load_config(str(CHECKOUT / "reframe_config.py"))
    site_config.select_subconfig("summit")
    rt.init_runtime(site_config)
    folders = [str(CHECKOUT / "checks"), str(CHECKOUT / "checks" / "long")]
    loader = RegressionCheckLoader(folders, skip_system_check=True, skip_prgenv_check=True)
    checks = [check for check in loader.load_all() if not check.is_fixture()]
    nodes = {path: parse_hwloc_xml(Path(path).read_text()) for path in topologies}
    for check in checks:
        type(check).partition = SimpleNamespace(features=FEATURES, programs=(), modelled=False)
    print(json.dumps({check.name: {path: rows(check, node) for path, node in nodes.items()} for check in checks}))


if __name__ == "__main__":
    main(sys.argv[1:])
