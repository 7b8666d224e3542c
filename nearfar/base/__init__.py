"""What every other room stands on: users' errors and exit codes, the words of verdicts, children with time limits, files, YAML.

``supervise`` is started by itself on a node (``python -m nearfar.base.supervise``) and is therefore not imported here.
Needs: PyYAML; Jinja2, jsonschema and ClusterShell only where a site's file or a list of nodes is read.
"""

from __future__ import annotations

from . import files, node_lists, node_lock, process, site_file
from .errors import EXIT_COULD_NOT_JUDGE, EXIT_FAILED, EXIT_GOOD, EXIT_WRONG_USE, CouldNotJudge, NearfarError
from .files import (
    CHECKOUT,
    cannot_write,
    copy_tree,
    lock,
    make_directory,
    reports_directory,
    state_directory,
    write_atomically,
)
from .node_lists import NodeListError, node_set, refuse_too_many
from .process import Finished, find_program, run
from .site_file import SiteFile, SiteFileError, Step, nearest, schema, site_directories, site_files, validator
from .tables import columns
from .verdicts import NOT_JUDGED, ORDER, VERDICTS, Finding, good, passes, shown_verdict, worst

__all__ = [
    "CHECKOUT",
    "EXIT_COULD_NOT_JUDGE",
    "EXIT_FAILED",
    "EXIT_GOOD",
    "EXIT_WRONG_USE",
    "NOT_JUDGED",
    "ORDER",
    "VERDICTS",
    "CouldNotJudge",
    "Finding",
    "Finished",
    "NearfarError",
    "NodeListError",
    "SiteFile",
    "SiteFileError",
    "Step",
    "cannot_write",
    "columns",
    "copy_tree",
    "files",
    "find_program",
    "good",
    "lock",
    "make_directory",
    "nearest",
    "node_lists",
    "node_lock",
    "node_set",
    "passes",
    "process",
    "refuse_too_many",
    "reports_directory",
    "run",
    "schema",
    "shown_verdict",
    "site_directories",
    "site_file",
    "site_files",
    "state_directory",
    "supervise",
    "validator",
    "worst",
    "write_atomically",
]
