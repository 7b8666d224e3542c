"""``nearfar schema``: the JSON schemas of nearfar's files, and of what its commands print with ``--json``."""

from __future__ import annotations

import argparse
import json

from nearfar.base import columns, schema

#: What a user asks for, and the schema's file.
SCHEMAS = {
    "system": "system-1",
    "node": "node-type-1",
    "gpu": "gpu-1",
    "application": "application-1",
    "references": "references-1",
    "order": "order-1",
    "published": "published-1",
    "published-node": "published-node-1",
    "published-collective": "published-collective-1",
    "measurement": "measurement-2",
    "verdict": "verdict-2",
    "node-result": "node-result-1",
    "health": "health-1",
    "hook": "hook-1",
    "compare": "compare-1",
    "delivery": "delivery-1",
    "status": "slurm-status-2",
    "reproduce": "reproduce-1",
    "cost": "cost-1",
    "kit-result": "kit-result-1",
}

_EPILOG = """examples:
  nearfar schema                                     list the schemas
  nearfar schema system > system.schema.json
  nearfar schema status > status.schema.json         describes the output of nearfar slurm status --json
  # for an editor with the YAML language server, put this at the top of site/systems/NAME.yaml:
  # yaml-language-server: $schema=system.schema.json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Print the JSON schema of a site file, for editors, or of a command's --json output."
    parser.epilog = _EPILOG
    parser.add_argument(
        "name", nargs="?", choices=sorted(SCHEMAS), help="the kind of file, or the command (default: list all)"
    )


def run(args: argparse.Namespace) -> int:
    """Print it, or the list of all."""
    if args.name is None:
        print("\n".join(columns([(name, str(schema(SCHEMAS[name])["title"])) for name in sorted(SCHEMAS)])))
        return 0
    print(json.dumps(schema(SCHEMAS[args.name]), indent=2, ensure_ascii=False))
    return 0
