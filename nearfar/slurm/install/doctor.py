"""The ten questions about an installation and the Slurm that it belongs to. Each is a function that returns in a line that all is well, or
raises ``Problem`` or another ``NearfarError``."""

from __future__ import annotations

import glob
import os
import pwd
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nearfar.base import (
    CouldNotJudge,
    NearfarError,
    listed,
    plural,
    process,
    site_directories,
)
from nearfar.site.lint import ERROR, lint
from nearfar.slurm.act import read_policy
from nearfar.slurm.controller import NodeState, Slurm, node_names
from nearfar.slurm.trust import Trust, refuse_changeable, refuse_changeable_tree

from .installed import ON_NODES, PARTS, Installed, InstallOptions, changes, rendered

#: Seconds that Slurm, systemd and Python have for an answer.
_PATIENCE = 10.0
#: Seconds that an idle node may be without a finding, whatever the interval.
_LEAST = 1800.0
_ROOT = frozenset({0})


class Problem(NearfarError):
    """What is wrong, and what to type."""

    def __init__(self, words: str, remedy: str) -> None:
        super().__init__(words)
        self.remedy = remedy


@dataclass
class Installation:
    """An installation below ``root``; ``now``: seconds since 1970."""

    installed: Installed
    root: Path
    now: float
    #: Slurm as the scripts reach it, its settings, and the nodes of the partition; None where it has not answered.
    answers: tuple[Slurm, Mapping[str, str], Mapping[str, NodeState]] | None = None

    @property
    def options(self) -> InstallOptions:
        """What the files were rendered from."""
        return self.installed.options

    @property
    def slurm(self) -> tuple[Slurm, Mapping[str, str], Mapping[str, NodeState]]:
        """``answers``. Raises ``NearfarError`` where there are none: a Slurm that hangs is waited for once."""
        if self.answers is None:
            raise NearfarError("not known: Slurm does not answer")
        return self.answers


def _slurm(site: Installation) -> str:
    options, slurm = site.options, Slurm(site.options.surroundings, _PATIENCE)
    version, settings, known = slurm.version(), slurm.settings(), slurm.nodes()
    nodes = {name: node for name, node in known.items() if options.partition in node.partitions}
    site.answers = slurm, settings, nodes
    if not nodes:
        names = ", ".join(sorted({name for node in known.values() for name in node.partitions}))
        remedy = f"nearfar slurm install --partition NAME --apply, where NAME is one of: {names}"
        raise Problem(f"partition {options.partition} has no nodes", remedy)
    return f"{version}, {plural(len(nodes), 'node')} in partition {options.partition}"


def _rights(site: Installation) -> str:
    user, (slurm, settings, _) = site.options.act_user, site.slurm
    if user in ("root", settings.get("SlurmUser", "").split("(")[0]):
        return f"{user} may do all"
    try:
        level = slurm.call("sacctmgr", "--noheader", "--parsable2", "show", "user", user, "format=AdminLevel")
    except NearfarError as error:
        words = f"{user} is neither root nor SlurmUser, and sacctmgr knows no users ({str(error).splitlines()[0]})"
        raise Problem(words, "nearfar slurm install --act-user root --apply") from None
    first = level.strip().partition("\n")[0]
    if first not in ("Operator", "Administrator"):
        raise Problem(f"{user} may not drain nodes", f"sacctmgr modify user {user} set adminlevel=operator")
    return f"{user} is {first}"


def _site_files(site: Installation) -> str:
    checked = lint(site_directories())
    errors = [complaint for complaint in checked.complaints if complaint.level == ERROR]
    if errors:
        raise NearfarError(f"{plural(len(errors), 'error')}: {errors[0]}")
    if "act" not in site.options.what:
        return f"{len(checked.files)} files without an error"
    policy = read_policy(site.options.system)
    if _uid(site.options.user) not in policy.trusted:
        words = f"system {policy.system}: results of {site.options.user} are not trusted"
        raise Problem(words, f"in its file: act: {{trusted: [root, {site.options.user}]}}")
    return f"{len(checked.files)} files without an error; act follows system {policy.system}"


def _scripts(site: Installation) -> str:
    """Whether they are as they would be rendered now, what root runs is root's alone, and who measures can run Python."""
    options, files = site.options, rendered(site.options)
    changed = [str(change.place) for change in changes(files, site.installed, site.root)]
    if changed:
        raise NearfarError(f"not as they would be rendered now: {listed(changed)}")
    if {"act", *ON_NODES} & {*options.what}:
        try:
            if str(site.root) == os.sep:  # an image is made by whoever makes it
                refuse_changeable(map(Path, files), _ROOT, "a script")
            refuse_changeable([Path(options.python)], _ROOT, "Python")
            refuse_changeable_tree(Path(options.checkout) / "nearfar", _ROOT, "nearfar")
        except NearfarError as error:
            raise Problem(str(error), "chown -R root and chmod -R go-w that, here and on the nodes") from None
    if "nightly" in options.what and os.geteuid() == 0:  # a Python below /root is closed to others
        started = process.run(["runuser", "-u", options.user, "--", options.python, "-c", ""], _PATIENCE)
        if started.returncode:
            words = f"{options.user} cannot run Python: {started.last_line}"
            raise Problem(words, "remove that environment, then: PATH=/usr/bin:/bin ./validate --setup-only")
    return f"{len(files)} files as they would be rendered now"


def _timer(part: str, site: Installation) -> str:
    """Whether systemd starts it; whether it did is said by ``nearfar slurm status``."""
    if shutil.which("systemctl") is None:
        raise Problem("there is no systemd on this machine", f"start {site.options.folder}/{part} by other means")
    timer = f"nearfar-{part}.timer"
    for question in ("is-enabled", "is-active"):
        answer = process.run(["systemctl", question, timer], _PATIENCE)
        if answer.timed_out or answer.returncode:
            words = answer.stdout.strip() or answer.last_line or "systemctl does not answer"
            raise Problem(f"{timer}: {words}", f"systemctl daemon-reload && systemctl enable --now {timer}")
    return "enabled"


def _results(site: Installation) -> str:
    path, user = Path(site.options.results), site.options.user
    trust = Trust(path, {_uid(user)})
    try:
        trust.check_parents()
        trust.directory(path)
    except CouldNotJudge as error:
        words = str(error).removesuffix("; not counted")
        raise Problem(words, f"install -d -o {user} -m 0755 {shlex.quote(str(path))}") from None
    return f"{path}: {user}'s, and writable by nobody else"


def _health_findings(site: Installation) -> str:
    """Whether nodes that are idle leave some: this alone shows from here that they have the files."""
    folder, (_, settings, nodes) = Path(site.options.health_output), site.slurm
    if not nodes:
        raise NearfarError(f"not known: partition {site.options.partition} has no nodes")
    try:
        written = {path.stem: path.stat().st_mtime for path in folder.iterdir() if path.suffix == ".json"}
    except OSError as error:
        remedy = f"install -d -o root -m 0755 {folder}, shared by all nodes"
        raise Problem(f"{folder}: {error.strerror}", remedy) from None
    interval = re.match(r"\d+", settings.get("HealthCheckInterval", ""))
    patience = max(_LEAST, 3.0 * float(interval[0] if interval else 0))
    fresh = {name for name in nodes if site.now - written.get(name, 0.0) <= patience}
    silent = {name for name, node in nodes.items() if node.idle and site.now - (node.busy or 0.0) > patience} - fresh
    if silent or not fresh:
        words = f"none from {node_names.fold(silent or nodes)} in {folder} for {patience / 60:.0f} minutes"
        remedy = f"on such a node, as root: {site.options.folder}/health-check (root of the nodes writes there: no root_squash)"
        raise Problem(words, remedy)
    return f"{len(fresh)} of {plural(len(nodes), 'node')} within {patience / 60:.0f} minutes, every idle one among them"


def _two_users(site: Installation) -> str:
    user, act_user = site.options.user, site.options.act_user
    if user == act_user:
        raise NearfarError(f"{user} both measures and drains: who can write results can drain the cluster")
    return f"{user} measures, {act_user} drains"


def _slurm_conf(site: Installation) -> str:
    """Whether it names HealthCheckProgram, Prolog and Epilog, or programs of this machine that call them."""
    lacking, (_, settings, _) = [], site.slurm
    for name, value in site.options.slurm_conf.items():
        now = settings.get(name, "").strip().replace("(null)", "")
        if not _is_set(name, value, now):
            both = f"; to keep both, call {value} from it and end with its exit code" if now and value[0] == "/" else ""
            more = f"{now}," if now and name == "PrologFlags" else ""
            lacking.append(f"{name}={more}{value} (now: {now or 'not set'}{both})")
    if lacking:
        raise Problem(f"missing: {'; '.join(lacking)}", "put that into slurm.conf, then: scontrol reconfigure")
    return ", ".join(f"{name}={value}" for name, value in site.options.slurm_conf.items())


def _is_set(name: str, value: str, now: str) -> bool:
    """Whether a setting serves; an interval and states of the site's own do, and so does a program that calls ours."""
    values = {*re.split(r"[,|\s]+", now.upper())}
    if name == "HealthCheckInterval":
        return re.match("[1-9]", now) is not None
    if name == "HealthCheckNodeState":
        return not values.isdisjoint(("ANY", "START_ONLY", "IDLE"))
    if name == "PrologFlags":
        return value.upper() in values
    return any(_calls(path, value) for word in re.split(r"[,\s]+", now) for path in (glob.glob(word) or [word]))


def _calls(path: str, ours: str) -> bool:
    """Whether a program is ours, or a script of this machine that names ours."""
    try:
        return os.path.realpath(path) == os.path.realpath(ours) or ours in Path(path).read_text(errors="replace")
    except OSError:
        return False


def _uid(user: str) -> int:
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        raise Problem(f"this machine knows no user {user}", f"useradd --system --create-home {user}") from None


_ALL, _ACT, _NIGHTLY = frozenset(PARTS), frozenset({"act"}), frozenset({"nightly"})
_PING = "scontrol ping"
_ELSEWHERE = f"{_PING}; for another Slurm: nearfar slurm install --slurm-bin DIR --slurm-conf FILE --apply"
_AGAIN = "nearfar slurm install --apply    (without --apply it shows the diff)"
#: What it is about; the parts of which one has to be installed; the question; what to type where an error says only what is wrong.
_QUESTIONS: tuple[tuple[str, frozenset[str], Callable[[Installation], str], str], ...] = (
    ("Slurm", _ALL, _slurm, _ELSEWHERE),
    ("rights of act", _ACT, _rights, _PING),
    ("site's files", _ALL, _site_files, "nearfar lint"),
    ("scripts", _ALL, _scripts, _AGAIN),
    ("nightly timer", _NIGHTLY, partial(_timer, "nightly"), "systemctl status nearfar-nightly.timer"),
    ("act timer", _ACT, partial(_timer, "act"), "systemctl status nearfar-act.timer"),
    ("results", _NIGHTLY | _ACT, _results, "fix the owner or mode of that directory"),
    ("health findings", _ACT, _health_findings, _PING),
    ("two users", _ACT, _two_users, "nearfar slurm install --act-user root --apply"),
    ("slurm.conf", _ALL - _NIGHTLY, _slurm_conf, _PING),
)  # fmt: skip


def ask_all(installation: Installation) -> Iterator[tuple[str, str, str | None]]:
    """The answers as they come, to the questions that concern the installed parts: what it is about, the answer, and what to type where
    something is wrong."""
    for about, parts, ask, remedy in _QUESTIONS:
        if parts & {*installation.options.what}:
            try:
                yield about, ask(installation), None
            except NearfarError as error:
                typed = error.remedy if isinstance(error, Problem) else remedy
                yield about, str(error).splitlines()[0], typed
