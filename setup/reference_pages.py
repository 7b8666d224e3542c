"""Write every page of docs/reference: what each says stands beside the key, column or rule that it says it of, in the code or a schema.

usage: python setup/reference_pages.py
"""

from __future__ import annotations

import ast
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from unittest.mock import patch

import man_pages
import yaml
from schema_tables import SchemaTables, key_table, table

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from node_state_tables import ACT_DOES, NEVER, TRANSITIONS  # noqa: E402

from nearfar import cells  # noqa: E402
from nearfar.base.environment import VARIABLES  # noqa: E402
from nearfar.base.site_file import SiteFile  # noqa: E402
from nearfar.commands import explain  # noqa: E402
from nearfar.history.schema import COLUMNS  # noqa: E402
from nearfar.prometheus import catalogue  # noqa: E402
from nearfar.site.lint.complaints import RULES  # noqa: E402
from nearfar.slurm.act import node_states  # noqa: E402
from nearfar.slurm.controller import OLDEST, NodeState  # noqa: E402
from nearfar.slurm.drains.objections import objection_to_drain, objection_to_resume  # noqa: E402
from nearfar.slurm.health import xids  # noqa: E402
from nearfar.slurm.ledger.ledger import TABLES  # noqa: E402
from nearfar.slurm.status import on_event  # noqa: E402
from nearfar.topology import HOST_CLASSES, LOCAL_CLASS, PEER_CLASSES, SETTINGS  # noqa: E402

FOLDER = CHECKOUT / "docs" / "reference"
#: The columns that --help is wrapped to.
WIDTH = "100"

#: The sources of the health check: what each reads, and what it finds.
SOURCES = {
    "kernel_log": ("`/dev/kmsg`", "Xids, SXids, adapters that were not initialised"),
    "journal": ("the journal", "the same, at the end of the previous boot"),
    "driver": (
        "NVML",
        "memory errors, row remapping, retired pages, NVLink errors and lanes, fabric registration, recovery actions",
    ),
    "inventory": ("hwloc, sysfs, NVML", "missing GPUs, GPUs that the driver cannot initialise"),
    "site": ("the system file", "differences from what it expects"),
    "infiniband": ("`/sys/class/infiniband`", "ports of `expect: infiniband` that are not active"),
}
#: The versions that ``pytest -m slurm`` passed with, and what changed in a version, with the place in Slurm's source at its tag. Both
#: forms of all are read whatever the version, since slurmctld and scontrol may be of two.
SLURM_VERSIONS = """\
| tested | from |
|---|---|
| 22.05.8 | Debian 12's package; every change of nearfar is tested with it |
| 25.11.7 | built from source |

## Differences

| from | what | in Slurm's source |
|---|---|---|
| 23.02 | A job whose output cannot be written ends with RaisedSignal:53; before with JobLaunchFailure. | `CHANGELOG/slurm-23.02.md: FAIL_SIGNAL` |
| 23.11 | Without slurmdbd a resumed node keeps its reason until a job runs on it; before, and with slurmdbd, it is gone at once. | `src/interfaces/accounting_storage.c: clusteracct_storage_g_node_up()` |
| 23.11 | Slurm appends its own reason to any other with ' : '; before it replaced one that held its text. | `src/slurmctld/node_mgr.c: set_node_reason()` |
| 24.05 | Prolog and Epilog may be set several times, shown as Prolog[0], Prolog[1]. | `src/api/config_info.c: Prolog[%d]` |
| 24.05 | A drained node whose reboot was not seen within ResumeTimeout is DOWN and drained (also in 23.11.6 and later); before DOWN alone, with its reason and 'reboot timed out'. | `src/slurmctld/node_mgr.c: reboot timed out` |
| 24.11 | `scontrol reboot ASAP` leaves a drained node drained; before it put it into use, so reboot a drained node without ASAP. | `src/slurmctld/proc_req.c: REBOOT_FLAGS_ASAP` |
| 25.05 | The reason 'Kill task failed' ends with the job: (JobId=… StepId=…). | `CHANGELOG/slurm-25.05.md` |
| 26.05 | HealthCheckTimeout can be set; before a health check is ended at 60 s. | `src/common/read_config.c: HealthCheckTimeout` |
"""  # noqa: E501

DESCRIBE, DRAINS = "[describe a node](../describe.md)", "[drains and repairs](../drains.md)"
REFERENCES, USE = "[references and thresholds](../references.md)", "[use](../use.md)"
#: A page of a site's file: its schema, what it is of, and the chapters that explain it.
FILES = {
    "system-file": ("system-1", "system", f"{DESCRIBE} and {DRAINS}"),
    "node-file": ("node-type-1", "node", DESCRIBE),
    "gpu-file": ("gpu-1", "GPU", DESCRIBE),
    "reference-file": ("references-1", "reference", REFERENCES),
    "order-file": (
        "order-1",
        "order",
        "[accept a delivery](../accept.md) and [names of figures](reference-file.md#names-of-figures)",
    ),
    "published-node-file": ("published-node-1", "published-node", USE),
    "published-collective-file": ("published-collective-1", "published-collective", USE),
    "application-file": ("application-1", "application", USE),
}
#: What stands beside ``provenance`` in a reference file: the schema says it by conditions, so that this says it in words.
CHECK_ROWS = [
    ("`CHECK`", "mapping", "", "The entries of one check, by its name.", "`host_memory_check:`"),
    ("`CHECK.$index`", "list of `$dev.gpu.model`", "none", "", "`[$dev.gpu.model]`"),
    ("`CHECK.MODEL`", "mapping", "", "With `$index`: the entries of a GPU model, by its name or a regular expression.", "`NVIDIA H200:`"),
    ("`CHECK.ROW`, `CHECK.MODEL.ROW`", "list of number > 0, number from −1 to 0 or null, number ≥ 0 or null, text", "",
     "Value, lower and upper bound as fractions of the value (null: no bound), unit.", "`near.h2d: [55.5, -0.02, null, GB/s]`"),
]  # fmt: skip
#: States of Slurm whose handling is shown, of which a node may have several flags.
SLURM_STATES = [
    "IDLE", "MIXED+PLANNED", "ALLOCATED", "IDLE+COMPLETING", "IDLE+PLANNED", "IDLE+RESERVED", "IDLE+MAINTENANCE", "IDLE+BLOCKED",
    "IDLE+DYNAMIC_NORM", "IDLE+CLOUD", "IDLE+POWERED_DOWN", "IDLE+POWERING_UP", "IDLE+POWERING_DOWN", "IDLE+CLOUD+POWERED_DOWN",
    "IDLE+CLOUD+POWERING_DOWN", "IDLE+REBOOT_REQUESTED", "IDLE+REBOOT_ISSUED", "IDLE+NOT_RESPONDING", "IDLE+INVALID_REG",
    "IDLE+INVAL", "DOWN", "DOWN+NOT_RESPONDING", "DOWN+REBOOT_ISSUED", "DOWN+POWERED_DOWN", "ERROR", "IDLE+FAIL", "DOWN+FAIL",
    "UNKNOWN", "FUTURE",
]  # fmt: skip
POLARS_TYPES = {
    "String": "text", "Datetime": "time", "Int64": "whole number", "Int32": "whole number", "Float64": "number",
    "Boolean": "true or false", "List": "list of text",
}  # fmt: skip


def site_file(name: str) -> str:
    """The page of a site's file."""
    file, of, guides = FILES[name]
    tables = SchemaTables(file)
    named = "NAME/node" if of == "published-node" else "NAME"
    text = f"# The {of} file: site/{of.lower()}s/{named}.yaml\n\n{tables.whole['description']}\n\n"
    text += f"Explained in {guides}; `nearfar schema {of.lower()}` prints the JSON schema.\n"
    text += "A key in bold is required, `[]` stands for each entry of a list, NAME for a key that you choose.\n\n"
    text += tables.text()
    if of == "reference":
        index = tables.whole["definitions"]["check"]["properties"]["$index"]["description"]
        rows = [
            (key, kind, default, meaning or f"{index}.", example) for key, kind, default, meaning, example in CHECK_ROWS
        ]
        text += f"## A check and its entries\n\n{key_table(rows)}\n## Names of figures\n\n{names_of_figures()}"
    return text


def names_of_figures() -> str:
    """The names that shipped references and orders use, by check; figures of one cell alone are left out."""
    names: dict[str, dict[str, str]] = {}
    for path in sorted((CHECKOUT / "site/references").glob("*.yaml")):
        checks = {name: body for name, body in SiteFile(path).data.items() if name.endswith("_check")}
        for check, body in checks.items():
            for entry, value in [pair for each in body.values() if isinstance(each, dict) for pair in each.items()] + [
                *body.items()
            ]:
                name = re.sub(r"^NV\d+", "NVn", re.sub(r"^(near|on_socket|off_socket|sole)(?=[._])", "CLASS", entry))
                if isinstance(value, list) and len(value) == 4 and not re.search(r"[gn]\d", name):
                    names.setdefault(check, {})[name] = value[3]
    intro = "`CLASS`: `near`, `on_socket`, `off_socket` or `sole`. `NVn`: the lanes between two GPUs; without NVLink `PIX`, "
    intro += "`PXB`, `PHB`, `NODE`, `SYS_on` or `SYS_off`.\n"
    intro += "A whole metric name (`near.n0_g3`) stands before its class. `nearfar lint` names a near match.\n\n"
    rows = [
        (
            f"`{check}`",
            ", ".join(
                f"`{name}` ({unit})" if unit != "GB/s" else f"`{name}`" for name, unit in sorted(of_check.items())
            ),
        )
        for check, of_check in sorted(names.items())
    ]
    return intro + table(("check", "names (GB/s where nothing else stands)"), rows)


def document(name: str, title: str, *sections: str) -> str:
    """The page of a document that nearfar writes, from its schema."""
    tables = SchemaTables(name, sections)
    return f"# {title}\n\n{tables.whole['description']}\n\nA key in bold is always there.\n\n{tables.text()}"


def hooks() -> str:
    """The page of the on-event program."""
    limits = f"it has {on_event.LIMIT:g} s, all calls of one `act` {on_event.TOGETHER:g} s"
    tries = f"after {on_event.PATIENCE / 3600:g} h the event is given up"
    intro = f"`nearfar slurm act` calls it with one JSON object on standard input for each hard finding, drain and release; {limits}.\n"
    intro += f"If it does not exit with 0, the next `act` calls it again with the same `id`; {tries} ({DRAINS}).\n"
    intro += "To be told of drains without a program, use Slurm's `strigger --drained`, or the [alerts](metrics.md#alerts).\n\n"
    return f"# The on-event program\n\n{intro}{SchemaTables('hook-1').text()}"


def commands() -> str:
    """The page of commands and programs. A program that is not built here keeps the text that the page has."""
    page = FOLDER / "commands.md"
    kept = re.findall(
        r"^## (nearfar-\S+)\n\n```text\n(.*?)```", page.read_text("utf-8") if page.exists() else "", re.M | re.S
    )
    programs = dict(kept) | {each.name: each.text for each in man_pages.of_programs(CHECKOUT / "build" / "bin")}
    with patch.dict(os.environ, COLUMNS=WIDTH, NO_COLOR="1"):
        texts = [(each.name.replace("-", " "), each.text) for each in man_pages.of_commands()]
    text = "# Commands, programs and environment variables\n\n"
    text += "The output of `--help`, also available as `man nearfar`, `man nearfar-bind` and so on.\n\n"
    for name, help_text in [*texts, *sorted(programs.items())]:
        text += f"## {name}\n\n```text\n{help_text.rstrip()}\n```\n\n"
    rows = [(f"`{name}`", meaning, default) for name, (meaning, default) in VARIABLES.items()]
    return f"{text}## Environment variables\n\n{table(('variable', 'meaning', 'default'), rows)}"


def notation() -> str:
    """The page of the notation; its examples and refusals are test vectors."""
    vectors = [line.split("\t") for line in (CHECKOUT / "tests/vectors/cells.txt").read_text("utf-8").splitlines()]
    good = [cells.parse(line[2]) for line in vectors if line[0] == "ok"]
    lone = [cell.flows[0] for cell in good if cell.lone]
    grammar = re.search(r"^ +cell = .*$", str(cells.notation.__doc__), re.M)
    text = "# The notation of cells\n\nA cell is a set of flows that run at the same time, written without white space.\n\n"
    text += f"```text\n{grammar[0].strip() if grammar else ''}\n```\n\n## Endpoints\n\n"
    text += table(("endpoint", "meaning"), [(f"`{kind}0`", meaning) for kind, meaning in cells.ENDPOINTS.items()])
    rows = [(f"`{_first(lone, kind)}`", meaning) for kind, meaning in cells.FLOWS.items()]
    text += f"## Flows\n\n{table(('example', 'flow'), rows)}## Options\n\nIn the order of the canonical form.\n\n"
    options = []
    for option in cells.OPTIONS:
        words = " ".join(f"`/{word}`" for word in option.words)
        written = "x4" if option.words == ("xK",) else option.words[0]
        options.append((words, _first_with(lone, written), ", ".join(option.flows), option.meaning))
    text += table(("option", "example", "flows", "meaning"), options)
    text += "## Names of metrics\n\nPath class and cell, with `_`, `__`, `_at_` and `.` for `:`, `+`, `@` and `/`.\n\n"
    shortest = [min((cell for cell in good if mark in str(cell)), key=lambda cell: len(str(cell))) for mark in ":@/+"]
    named = [(f"`{cell}`", f"`CLASS.{cells.encode_cell(cell)}`") for cell in shortest]
    text += table(("cell", "name"), named) + "A flow of several ends in `.of.FLOW`, their sum in `.total`.\n\n"
    classes = {**HOST_CLASSES, "NV18": "two GPUs joined by 18 NVLink lanes", **PEER_CLASSES, LOCAL_CLASS: "within a GPU's memory",
               "local": "STREAM by cores on the memory of their own NUMA node", "mixed": "flows of several classes"}  # fmt: skip
    classes["unknown"] = HOST_CLASSES["unknown"]
    text += table(("path class", "meaning"), [(f"`{name}`", meaning) for name, meaning in classes.items()])
    text += "If a figure is not a rate, a suffix follows the path class and `_`:\n\n"
    text += table(("suffix", "meaning"), [(f"`{word}`", meaning) for word, meaning in cells.DERIVED.items()])
    return f"{text}## What is refused\n\n{table(('message',), _refusals([line[1] for line in vectors if line[0] == 'bad']))}"


def _first(flows: list[cells.Flow], kind: str) -> cells.Flow:
    return next(flow for flow in flows if flow.kind == kind)


def _first_with(flows: list[cells.Flow], option: str) -> str:
    return f"`{next(flow for flow in flows if option in flow.options)}`"


def _refusals(bad: list[str]) -> list[tuple[str]]:
    """What is said of the first vector of each kind."""
    told: dict[str, str] = {}
    for text in bad:
        try:
            cells.parse("" if text == "<empty>" else text)
        except cells.CellError as error:
            told.setdefault(re.sub(r"\d|'.*?'|/\w+", "", error.what), str(error))
    return [(message,) for message in told.values()]


def history() -> str:
    """The page of the history's columns."""
    text = "# The history: columns\n\nEach figure of a run is a row in Parquet files below `NEARFAR_HISTORY/rows-1/system=NAME/`.\n"
    text += "Any tool reads them: `polars.scan_parquet('…/rows-1/**/*.parquet')`.\n\n"
    rows = [(f"`{name}`", POLARS_TYPES[kind], meaning) for name, (kind, meaning) in COLUMNS.items()]
    return text + table(("column", "type", "meaning"), rows)


def ledger() -> str:
    """The page of the ledger's tables, from the comments of its SQL."""
    text = "# The ledger\n\n`ledger.db` in the state directory of `nearfar slurm act` is an SQLite file. Read it, but never change it.\n"
    text += "Times are seconds since 1970; `seq` gives the order of actions.\n\n"
    for about, name, columns in re.findall(r"^-- ([^\n]+)\nCREATE TABLE (\w+) \(\n(.*?)^\)", TABLES, re.M | re.S):
        rows = re.findall(r"^ {4}([a-z_]+) ([A-Z]+)[^\n]*? +-- (.+)$", columns, re.M)
        text += f"## {name}\n\n{about}.\n\n"
        text += table(("column", "type", "meaning"), [(f"`{column}`", kind, meaning) for column, kind, meaning in rows])
    return text


def health() -> str:
    """The page of what the health check reads."""
    text = "# The health check: sources and Xids\n\nWhat `nearfar slurm health` reads; its findings are [messages](messages.md).\n\n"
    text += "## Sources\n\n"
    rows = [(f"`{name}`", reads, finds) for name, (reads, finds) in SOURCES.items()]
    text += table(("source", "reads", "finds"), rows) + "## Xids\n\n"
    text += (
        f"Immediate actions are [NVIDIA's]({xids.CATALOGUE}), the class is nearfar's; an unknown Xid is DEGRADED.\n\n"
    )
    text += table(("class", "verdict"), [(f"`{kind}`", meaning) for kind, meaning in xids.KINDS.items()])
    alike: dict[tuple[str, ...], list[int]] = {}
    for xid in xids.XIDS.values():
        words = "; ".join(filter(None, (xid.words, xids.STRICTER.get(xid.number))))
        alike.setdefault((words, f"`{xid.kind}`", f"`{xid.bucket}`", xid.remedy), []).append(xid.number)
    numbered = [(", ".join(map(str, numbers)), *cells_) for cells_, numbers in alike.items()]
    return text + table(("Xid", "meaning", "class", "immediate action", "next"), numbered)


def states() -> str:
    """The page of a node's states, and what follows from Slurm's."""
    text = f"# States of a node\n\nThe states that `nearfar slurm status` shows, and what `nearfar slurm act` does in each ({DRAINS}).\n\n"
    rows = [(f"`{state}`", meaning, ACT_DOES.get(state, "nothing")) for state, meaning in node_states.STATES.items()]
    text += table(("state", "meaning", "what `act` does"), rows) + "## From state to state\n\n"
    changes = [(_state(each.before), each.event, _state(each.after), each.who) for each in TRANSITIONS]
    text += table(("from", "when", "to", "by"), changes) + "## What nearfar never does\n\n"
    text += "".join(f"- {each}\n" for each in NEVER) + "\n## Slurm's states\n\n"
    text += "Whether a node is drained for what was found, resumed by `clear` or `retest`, and counted as usable by the floor.\n\n"
    alike: dict[tuple[str, ...], list[str]] = {}
    for words in SLURM_STATES:
        alike.setdefault(_in_slurm(words), []).append(f"`{words}`")
    return text + table(
        ("state", "drained", "resumed", "usable"), [(" ".join(names), *row) for row, names in alike.items()]
    )


def _state(name: str) -> str:
    return f"`{name}`" if name in node_states.STATES else name


def _in_slurm(words: str) -> tuple[str, str, str]:
    reason = "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=8f3a51c0"
    base, *flags = words.split("+")
    node = NodeState("n1", base, frozenset(flags))
    drained = NodeState("n1", base, frozenset([*flags, "DRAIN"]), reason)
    objections = objection_to_drain(node), objection_to_resume(drained, reason)
    first, second = (
        "yes" if each is None else f"no: {each.partition(': ')[2]}".removesuffix(": ") for each in objections
    )
    return first, second, "yes" if node.usable else "no"


def slurm_versions() -> str:
    """The page of what differs between versions of Slurm."""
    text = f"# Versions of Slurm\n\nnearfar needs Slurm {OLDEST} or later. It reads both forms of all below, "
    text += "whatever `scontrol --version` prints.\n\n"
    return text + SLURM_VERSIONS


def metrics() -> str:
    """The page of Prometheus' metrics."""
    text = "# Metrics\n\nGauges in base units, for node_exporter's textfile collector ([deploy](../deploy.md)).\n"
    text += "A time is `…_timestamp_seconds`, so `time() - …` is an age.\n\n"
    for file, about in catalogue.FILES.items():
        rows = [(f"`{each.name}`", ", ".join(f"`{label}`" for label in each.labels), each.help)
                for each in catalogue.METRICS.values() if each.file == file]  # fmt: skip
        text += f"## `{file}`\n\n{about}\n\n{table(('metric', 'labels', 'meaning'), rows)}"
    rows = [(f"`{name}`", "", meaning) for name, meaning in catalogue.LABELS.items()]
    text += f"## Labels\n\n{table(('label', '', 'meaning'), rows)}"
    groups = yaml.safe_load((CHECKOUT / "site/templates/monitoring/prometheus-rules.yml").read_text(encoding="utf-8"))[
        "groups"
    ]
    shown = partial(re.sub, r"\{\{(?: *\$labels\.(\w+))?.*?\}\}", lambda value: (value[1] or "…").upper())
    alerts = [(f"`{rule['alert']}`", shown(rule["annotations"]["summary"]))
              for group in groups for rule in group["rules"] if "alert" in rule]  # fmt: skip
    return f"{text}## Alerts\n\n{table(('alert of prometheus-rules.yml', 'meaning'), alerts)}"


def lint() -> str:
    """The page of lint's rules."""
    text = "# Lint: rules\n\n`nearfar lint` checks your site files; `./validate` checks those that it uses before it measures.\n"
    text += "Errors give exit code 2 in both, warnings only with `nearfar lint --strict`.\n\n"
    return text + table(
        ("rule", "level", "finds"), [(f"`{name}`", ", ".join(each.levels), each.finds) for name, each in RULES.items()]
    )


def thresholds() -> str:
    """The page of the numbers: sections, names, values and comments of both modules of numbers."""
    modules = ("nearfar/verdict/thresholds/__init__.py", "nearfar/model/diagnosis/thresholds.py")
    text = "# Thresholds\n\nEvery number that a verdict or a diagnosis rests on.\n\n"
    return text + "".join(_numbers((CHECKOUT / module).read_text(encoding="utf-8")) for module in modules)


def _numbers(source: str) -> str:
    sections: dict[str, list[tuple[str, ...]]] = {}
    heading = ""
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign):
            continue
        lines = source.splitlines()[: node.lineno - 1]
        comment = list(itertools.takewhile(lambda line: line.startswith("#"), reversed(lines)))[::-1]
        above = next((line for line in reversed(lines[: len(lines) - len(comment)]) if line), "")
        heading = above.strip("# -") if above.startswith("# ---") else heading
        unit, _, why = " ".join(line.removeprefix("#:").strip() for line in comment).partition(" · ")
        name = ast.unparse(node.targets[0]).strip("()").replace(", ", "<br>")
        sections.setdefault(heading, []).append((name, _value(ast.unparse(node.value)), unit, why))
    return "".join(f"## {head}\n\n{table(('name', 'value', 'unit', 'why'), rows)}" for head, rows in sections.items())


def _value(written: str) -> str:
    """A value without Python's marks."""
    return re.sub(r"[{}'()]", "", written).replace("1 << 25", "32 MiB")


def settings() -> str:
    """The page of settings that cost speed."""
    text = "# Settings that cost speed\n\nEach run reads them once per node and keeps them in `node.json`; what cannot be read is absent.\n"
    text += "`nearfar compare --settings RUN…` prints what differs between nodes.\n\n"
    rows = [(each.title, f"`{each.key}`", each.source, ", ".join(each.explains)) for each in SETTINGS]
    return text + table(("setting", "key", "read from", "figures that it can explain"), rows)


#: Every page by its name.
PAGES: dict[str, Callable[[], str]] = {
    "commands": commands, "notation": notation, "messages": explain.page, "thresholds": thresholds, "metrics": metrics, "lint": lint,
    "settings": settings, "history": history, "ledger": ledger, "health": health, "states": states, "hooks": hooks,
    "slurm-versions": slurm_versions,
    "document": partial(document, "measurement-2", "The measurement document", "result", "flow", "rate", "penalty", "machine", "link"),
    "verdict": partial(document, "verdict-2", "The verdict file", "metric", "finding", "unmeasured"),
    **{name: partial(site_file, name) for name in FILES},
}  # fmt: skip


def pages() -> Iterator[tuple[Path, str]]:
    """Every page's file and text."""
    for name, text in PAGES.items():
        yield FOLDER / f"{name}.md", text().rstrip("\n") + "\n"


if __name__ == "__main__":
    for path, text in pages():
        path.write_text(text, encoding="utf-8")
