"""The ten questions, what they are asked of (an installation, and the Slurm that it belongs to), and their answers."""

from __future__ import annotations

import glob
import os
import pwd
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from nearfar.base import (
    CouldNotJudge,
    NearfarError,
    find_program,
    plural,
    process,
    site_directories,
)
from nearfar.site.lint import ERROR, lint
from nearfar.slurm.act import read_policy
from nearfar.slurm.controller import NodeState, Slurm, node_names
from nearfar.slurm.trust import Trust, refuse_changeable, refuse_changeable_tree

from .installed import Installed, changes, rendered
from .options import ON_NODES, PARTS, InstallOptions

#: Seconds that Slurm has for an answer.
_PATIENCE = 10.0


class Problem(NearfarError):
    """What is wrong, and what to type."""

    def __init__(self, words: str, remedy: str) -> None:
        super().__init__(words)
        self.remedy = remedy


@dataclass(frozen=True)
class Installation:
    """An installation below ``root``; Slurm is asked once. ``now``: seconds since 1970."""

    installed: Installed
    root: Path
    now: float

    @property
    def options(self) -> InstallOptions:
        """What the files were rendered from."""
        return self.installed.options

    @cached_property
    def slurm(self) -> Slurm:
        """Slurm as the scripts reach it."""
        return Slurm(self.options.surroundings, _PATIENCE)

    @cached_property
    def slurm_answers(self) -> tuple[Mapping[str, str], Mapping[str, NodeState]] | NearfarError:
        """Slurm's settings and its nodes, or why there are none."""
        try:
            self.slurm.version()
            return self.slurm.settings(), self.slurm.nodes()
        except NearfarError as error:
            return error

    @property
    def settings(self) -> Mapping[str, str]:
        """Slurm's settings. Raises ``NearfarError``."""
        return self._answered()[0]

    @property
    def nodes(self) -> Mapping[str, NodeState]:
        """The nodes of the partition. Raises ``NearfarError``."""
        return {name: node for name, node in self._answered()[1].items() if self.options.partition in node.partitions}

    def _answered(self) -> tuple[Mapping[str, str], Mapping[str, NodeState]]:
        if isinstance(self.slurm_answers, NearfarError):
            raise NearfarError("not known: Slurm does not answer")
        return self.slurm_answers


_ROOT = frozenset({0})


def site_files(site: Installation) -> str:
    """Whether ``nearfar lint`` finds no error, and one system's file says what ``act`` may do and trusts who measures."""
    checked = lint(site_directories())
    errors = [complaint for complaint in checked.complaints if complaint.level == ERROR]
    if errors:
        raise Problem(f"{plural(len(errors), 'error')}: {errors[0]}", "nearfar lint")
    if "act" not in site.options.what:
        return f"{len(checked.files)} files without an error"
    policy = read_policy(site.options.system)
    if _uid(site.options.user) not in policy.trusted:
        words = f"system {policy.system}: results of {site.options.user} are not trusted"
        raise Problem(words, f"in its file: act: {{trusted: [root, {site.options.user}]}}")
    return f"{len(checked.files)} files without an error; act follows system {policy.system}"


def scripts(site: Installation) -> str:
    """Whether the installed files are those that would be rendered now, and what root runs is root's alone."""
    files = rendered(site.options)
    changed = [str(change.place) for change in changes(files, site.installed, site.root)]
    if changed:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise NearfarError(f"not as they would be rendered now: {', '.join(changed[:3])}{more}")
    if {"act", *ON_NODES} & {*site.options.what}:
        try:
            if str(site.root) == os.sep:  # an image is made by whoever makes it
                refuse_changeable(map(Path, files), _ROOT, "a script")
            refuse_changeable([Path(site.options.python)], _ROOT, "Python")
            refuse_changeable_tree(Path(site.options.checkout) / "nearfar", _ROOT, "nearfar")
        except NearfarError as error:
            raise Problem(str(error), "chown -R root and chmod -R go-w that, here and on the nodes") from None
    return f"{len(files)} files as they would be rendered now"


def results(site: Installation) -> str:
    """Whether the results directory is there, and the nightly user's alone."""
    path, user = Path(site.options.results), site.options.user
    trust = Trust(path, {_uid(user)})
    try:
        trust.check_parents()
        trust.directory(path)
    except CouldNotJudge as error:
        words = str(error).removesuffix("; not counted")
        raise Problem(words, f"install -d -o {user} -m 0755 {shlex.quote(str(path))}") from None
    return f"{path}: {user}'s, and writable by nobody else"


def two_users(site: Installation) -> str:
    """Whether one user measures and another drains."""
    options = site.options
    if options.user == options.act_user:
        raise NearfarError(f"{options.user} both measures and drains: who can write results can drain the cluster")
    return f"{options.user} measures, {options.act_user} drains"


def _uid(user: str) -> int:
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        raise Problem(f"this machine knows no user {user}", f"useradd --system --create-home {user}") from None


#: Seconds that an idle node may be without a finding, whatever the interval.
_LEAST = 1800.0
#: Seconds that systemd has for an answer.
_LIMIT = 10.0


def reached(site: Installation) -> str:
    """Whether Slurm answers, is supported, and has nodes in the partition."""
    if isinstance(site.slurm_answers, NearfarError):
        raise site.slurm_answers
    if not site.nodes:
        known = ", ".join(sorted({name for node in site.slurm_answers[1].values() for name in node.partitions}))
        remedy = f"nearfar slurm install --partition NAME --apply, where NAME is one of: {known}"
        raise Problem(f"partition {site.options.partition} has no nodes", remedy)
    return f"{site.slurm.version()}, {plural(len(site.nodes), 'node')} in partition {site.options.partition}"


def rights(site: Installation) -> str:
    """Whether the user that runs ``act`` may drain nodes."""
    user = site.options.act_user
    if user in ("root", site.settings.get("SlurmUser", "").split("(")[0]):
        return f"{user} may do all"
    try:
        level = site.slurm.call("sacctmgr", "--noheader", "--parsable2", "show", "user", user, "format=AdminLevel")
    except NearfarError as error:
        words = f"{user} is neither root nor SlurmUser, and sacctmgr knows no users ({str(error).splitlines()[0]})"
        raise Problem(words, "nearfar slurm install --act-user root --apply") from None
    first = level.strip().partition("\n")[0]
    if first not in ("Operator", "Administrator"):
        raise Problem(f"{user} may not drain nodes", f"sacctmgr modify user {user} set adminlevel=operator")
    return f"{user} is {first}"


def findings(site: Installation) -> str:
    """Whether nodes that are idle leave health findings: this alone shows from here that they have the files."""
    folder = Path(site.options.health_output)
    try:
        written = {path.stem: path.stat().st_mtime for path in folder.iterdir() if path.suffix == ".json"}
    except OSError as error:
        remedy = f"install -d -o root -m 0755 {folder}, shared by all nodes"
        raise Problem(f"{folder}: {error.strerror}", remedy) from None
    interval = re.match(r"\d+", site.settings.get("HealthCheckInterval", ""))
    patience = max(_LEAST, 3.0 * float(interval[0] if interval else 0))
    fresh = {name for name in site.nodes if site.now - written.get(name, 0.0) <= patience}
    idle = {name for name, node in site.nodes.items() if node.idle and site.now - (node.busy or 0.0) > patience}
    silent = idle - fresh
    if silent or not fresh:
        nodes = node_names.fold(silent or set(site.nodes))
        words = f"none from {nodes} in {folder} for {patience / 60:.0f} minutes"
        remedy = f"on such a node, as root: {site.options.folder}/health-check (root of the nodes writes there: no root_squash)"
        raise Problem(words, remedy)
    return f"{len(fresh)} of {plural(len(site.nodes), 'node')} within {patience / 60:.0f} minutes, every idle one among them"


def conf(site: Installation) -> str:
    """Whether slurm.conf names HealthCheckProgram, Prolog and Epilog, or programs of this machine that call them."""
    lacking = []
    for name, value in site.options.slurm_conf.items():
        now = site.settings.get(name, "").strip()
        if not _is_set(name, value, now):
            isset = now not in ("", "(null)")
            both = (
                f"; to keep both, call {value} from it and end with its exit code" if isset and value[0] == "/" else ""
            )
            more = f"{now}," if isset and name == "PrologFlags" else ""
            lacking.append(f"{name}={more}{value} (now: {now if isset else 'not set'}{both})")
    if lacking:
        raise Problem(f"missing: {'; '.join(lacking)}", "put that into slurm.conf, then: scontrol reconfigure")
    return ", ".join(f"{name}={value}" for name, value in site.options.slurm_conf.items())


def _is_set(name: str, value: str, now: str) -> bool:
    """Whether a setting serves; an interval and states of the site's own do, and so does a program that calls ours."""
    if name == "HealthCheckInterval":
        return now.split(" ")[0].isdigit() and now.split(" ")[0] != "0"
    if name == "HealthCheckNodeState":
        return now.upper() in ("ANY", "START_ONLY") or "IDLE" in now.upper().replace("|", ",").split(",")
    if name == "PrologFlags":
        return value.lower() in now.lower().split(",")
    return any(_calls(path, value) for word in re.split(r"[,\s]+", now) for path in (glob.glob(word) or [word]))


def _calls(path: str, ours: str) -> bool:
    """Whether a program is ours, or a script of this machine that names ours."""
    try:
        return os.path.realpath(path) == os.path.realpath(ours) or ours in Path(path).read_text(errors="replace")
    except OSError:
        return False


def enabled(part: str, site: Installation) -> str:
    """Whether systemd starts nightly sweeps, or ``act``; whether they did is said by ``nearfar slurm status``."""
    if find_program("systemctl") is None:
        raise Problem("there is no systemd on this machine", f"start {site.options.folder}/{part} by other means")
    timer = f"nearfar-{part}.timer"
    for question in ("is-enabled", "is-active"):
        answer = process.run(["systemctl", question, timer], _LIMIT)
        if answer.timed_out or answer.returncode:
            words = answer.stdout.strip() or answer.last_line or "systemctl does not answer"
            raise Problem(f"{timer}: {words}", f"systemctl daemon-reload && systemctl enable --now {timer}")
    return "enabled"


_ALL, _ACT, _NIGHTLY = frozenset(PARTS), frozenset({"act"}), frozenset({"nightly"})
_PING = "scontrol ping"
_ELSEWHERE = f"{_PING}; for another Slurm: nearfar slurm install --slurm-bin DIR --slurm-conf FILE --apply"
_AGAIN = "nearfar slurm install --apply    (without --apply it shows the diff)"
#: What it is about; the parts of which one has to be installed; what says in a line that all is well, or raises ``Problem`` or another
#: ``NearfarError``; what to type where such an error says what is wrong.
_QUESTIONS: tuple[tuple[str, frozenset[str], Callable[[Installation], str], str], ...] = (
    ("Slurm", _ALL, reached, _ELSEWHERE),
    ("rights of act", _ACT, rights, _PING),
    ("site's files", _ALL, site_files, "nearfar lint"),
    ("scripts", _ALL, scripts, _AGAIN),
    ("nightly timer", _NIGHTLY, partial(enabled, "nightly"), "systemctl status nearfar-nightly.timer"),
    ("act timer", _ACT, partial(enabled, "act"), "systemctl status nearfar-act.timer"),
    ("results", _NIGHTLY | _ACT, results, "fix the owner or mode of that directory"),
    ("health findings", _ACT, findings, _PING),
    ("two users", _ACT, two_users, "nearfar slurm install --act-user root --apply"),
    ("slurm.conf", _ALL - _NIGHTLY, conf, _PING),
)  # fmt: skip


def ask_all(installation: Installation) -> Iterator[tuple[str, str, str | None]]:
    """The answers as they come, to the questions that concern the installed parts: what it is about, the answer, and what to type where
    something is wrong."""
    for about, parts, ask, remedy in _QUESTIONS:
        if not parts & {*installation.options.what}:
            continue
        try:
            yield about, ask(installation), None
        except Problem as problem:
            yield about, str(problem), problem.remedy
        except NearfarError as error:
            yield about, str(error).splitlines()[0], remedy
