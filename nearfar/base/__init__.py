"""What every other room stands on: users' errors and exit codes, the words of verdicts, children with time limits, files, YAML.

``supervise`` is started by itself on a node (``python -m nearfar.base.supervise``) and is therefore not imported here; nor are
``statistics`` and ``student``, which take their time to import.
PyYAML is imported with it; Jinja2, jsonschema and ClusterShell only where a file or a list of nodes is read.

Needs: nothing of the package.
"""

from __future__ import annotations

from . import files, node_lists, node_lock, places, process, site_file, standard_streams
from .errors import (
    EXIT_COULD_NOT_JUDGE,
    EXIT_FAILED,
    EXIT_GOOD,
    EXIT_WRONG_USE,
    MADE_UP,
    CouldNotJudge,
    NearfarError,
)
from .files import (
    cannot_write,
    copy_tree,
    file_lock,
    json_or_none,
    make_directory,
    strict_json,
    text_or_empty,
    write_atomically,
)
from .messages import MESSAGES, Message, of_several, plural
from .node_lists import NodeListError, folded, listed_twice, node_set, refuse_too_many
from .places import reports_directory
from .process import Finished, run
from .schema_check import conforms, schema
from .site_file import (
    SiteFile,
    SiteFileError,
    Step,
    did_you_mean,
    named_site_file,
    own_site_directory,
    place_in,
    site_directories,
    site_files,
    validator,
)
from .standard_streams import say
from .text import columns, compiled, grouped, listed, printable, printable_lines, short_host_name, user_name
from .times import day_text, minute_text, name_text, parse_since, second_text, utc_text, utc_time
from .verdicts import NOT_JUDGED, ORDER, VERDICTS, Finding, good, passes, shown_verdict, worst

#: Modules that only those load who need them.
__all__ = ["site_templates", "statistics", "student", "supervise"]
