"""The ledger's file: its tables, opened, checked, and given to one host and one cluster. docs/reference/ledger.md is made from the comments
of the tables, for who queries them with ``sqlite3``.

Times are seconds since 1970, by the admin host's clock unless a column says otherwise. The order is that of ``seq``, never of times.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nearfar.base import CouldNotJudge, printable, say

#: Raised by whatever changes a table.
VERSION = "4"

#: A comment before a table says what a row is, one behind a column what that holds.
TABLES = """
-- What the file is
CREATE TABLE meta (
    name TEXT PRIMARY KEY,                           -- version, cluster, host, or on_event:SYSTEM (what on_event has taken)
    value TEXT NOT NULL                              -- its value
);

-- One check of one run on one node. A result enters once
CREATE TABLE check_run (
    id INTEGER PRIMARY KEY,                          -- number of the row
    node TEXT NOT NULL,                              -- Slurm's name of the node
    check_name TEXT NOT NULL,                        -- the check, or health
    run TEXT NOT NULL,                               -- the run in result.json
    system TEXT NOT NULL,                            -- the system file's name
    started REAL NOT NULL,                           -- by the node's clock
    ended REAL NOT NULL,                             -- by the node's clock
    came REAL,                                       -- when its file came, by the file system's clock
    known REAL NOT NULL,                             -- end by the file system's clock
    began REAL NOT NULL,                             -- start by the file system's clock
    verdict TEXT NOT NULL,                           -- PASS, DEGRADED, INDETERMINATE or FAIL
    words TEXT NOT NULL,                             -- why, unless PASS or FAIL
    parts TEXT NOT NULL,                             -- JSON list of the parts that the diagnosis blames
    source TEXT NOT NULL,                            -- the file that it was read from
    passed TEXT NOT NULL,                            -- JSON list of the figures inside their bounds, for ten days
    intermittent TEXT NOT NULL,                      -- JSON list of those that were beyond them in some measurements
    UNIQUE (node, check_name, run)
);
CREATE INDEX check_run_last ON check_run (system, node, check_name, known);
CREATE INDEX check_run_known ON check_run (known);
CREATE INDEX check_run_passed ON check_run (known) WHERE passed != '[]';

-- A FAIL. Hard evidence is open until an action closes it
CREATE TABLE finding (
    id INTEGER PRIMARY KEY AUTOINCREMENT,            -- never given twice: events are known by it
    check_run INTEGER NOT NULL REFERENCES check_run ON DELETE CASCADE,  -- the check run that found it
    node TEXT NOT NULL,                              -- Slurm's name of the node
    check_name TEXT NOT NULL,                        -- the check
    subject TEXT NOT NULL,                           -- what it is about
    code TEXT NOT NULL,                              -- its message
    hard INTEGER NOT NULL,                           -- 1: hard evidence
    document TEXT NOT NULL,                          -- the finding as verdict.json has it
    last_seen REAL NOT NULL,                         -- when a health check last found the same
    closed_by INTEGER REFERENCES action,             -- the action that closed it, NULL: open
    closed_at REAL                                   -- when it was closed
);
CREATE INDEX finding_of_run ON finding (check_run);
CREATE INDEX finding_open ON finding (node) WHERE hard AND closed_by IS NULL;

-- What was done about a node
CREATE TABLE action (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,           -- the order of actions
    at REAL NOT NULL,                                -- when
    kind TEXT NOT NULL,                              -- drain, adopted, drain_again, clear, retest, release, resumed, lapsed ...
    node TEXT,                                       -- Slurm's name of the node
    outcome TEXT NOT NULL,                           -- begun, done, refused, unclear (Slurm did not answer), void (Slurm does not show it)
    reason TEXT,                                     -- the node's reason in Slurm
    why TEXT,                                        -- what confirmed it, or the administrator's words
    check_name TEXT,                                 -- the check
    run TEXT,                                        -- the run
    finding TEXT,                                    -- the finding as verdict.json has it
    reservation TEXT,                                -- of a retest: its reservation
    error TEXT,                                      -- why it was refused
    seen REAL,                                       -- when Slurm last showed it, of a return: until when jobs' findings are answered
    user TEXT NOT NULL,                              -- who did it
    host TEXT NOT NULL,                              -- where
    system TEXT                                      -- the system file's name
);
CREATE INDEX action_of_node ON action (node, kind);

-- A retest: what each node is drained with again if it does not end
CREATE TABLE retest (
    reservation TEXT PRIMARY KEY,                    -- its reservation in Slurm
    begun REAL NOT NULL,                             -- when it began
    ended REAL,                                      -- when it ended, NULL: it measures now
    nodes TEXT NOT NULL                              -- JSON: the reason of each node
);

-- A result, health finding or finished sweep that was read, so that it is not read again
CREATE TABLE taken (
    place TEXT PRIMARY KEY,                          -- its file or directory
    stamp TEXT NOT NULL                              -- what it looked like
) WITHOUT ROWID;
"""


#: The name of the file, in the state directory.
FILE = "ledger.db"
#: Seconds that runs and what was read are kept.
KEPT = 92 * 86400.0
#: Seconds that another process' transaction is waited for.
_PATIENCE = 20.0


class Ledger:
    """The ledger, open. ``with Ledger.open(folder) as ledger``; every change is on the disk when its ``transaction`` ends. Who reads it
    holds up nobody who writes it (SQLite's write-ahead log).

    Every error of SQLite becomes ``CouldNotJudge`` with the file's name: nothing is done that cannot be written down.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path, self.connection = path, connection
        self._last: sqlite3.Connection | None = None
        connection.row_factory = sqlite3.Row
        with self._errors():
            version = self._version()
            if version is not None and version != VERSION:
                words = f"this nearfar reads version {VERSION}; use the nearfar that wrote it"
                raise CouldNotJudge(f"{path}: a ledger of version {version}, {words}")

    @classmethod
    def open(cls, folder: Path) -> Ledger:
        """The ledger in a directory, for writing; made where there is none, and, with a warning, in a file that is empty."""
        path = folder / FILE
        if os.path.isfile(path) and not os.path.getsize(path):
            say(
                f"{path}: empty, so what was drained, cleared and repaired is not known; begun anew: restore a backup if there is one"
            )
        made = cls._connected(path, f"file:{_quoted(path)}?mode=rwc")
        with made._errors():
            made.connection.execute("PRAGMA synchronous = FULL")
            made.connection.execute("PRAGMA foreign_keys = ON")
            if made._version() is None:
                made._create()
            path.chmod(0o640)  # who can read it can hold its locks, and stop act
            made._write_ahead()
            # Closed last, by one that cannot write, the log's files stay: a user who can only read could not make them.
            made._last = sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True)
            made._last.execute("SELECT 1 FROM meta").fetchone()
        return made

    def _write_ahead(self) -> None:
        """Switch the log on. SQLite does not wait where another is about to do the same."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
            time.sleep(0.02)

    @classmethod
    def read_only(cls, folder: Path, name: str = FILE) -> Ledger | None:
        """The ledger in a directory, for reading alone; None where there is none."""
        path = folder / name
        try:
            path.lstat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CouldNotJudge(f"{path}: cannot be read: {error.strerror}") from None
        if not os.access(path, os.R_OK):
            raise CouldNotJudge(f"{path}: only its owner and group may read it: run this as root")
        if os.path.lexists(f"{path}-journal") and os.access(folder, os.W_OK):  # killed while it was made: this mends it
            cls._connected(path, f"file:{_quoted(path)}?mode=rw").connection.close()
        found = cls._connected(path, f"file:{_quoted(path)}?mode=ro")
        with found._errors():
            return found if found._version() is not None else None

    @classmethod
    def in_memory(cls, of: Ledger | None = None) -> Ledger:
        """A ledger of its own, with everything that another holds: what is taken in or decided there changes no file."""
        made = cls._connected(Path(":memory:"), ":memory:")
        if of is None:
            made._create()
        else:
            made.path = of.path
            made.replace(of)
        return made

    def replace(self, by: Ledger) -> None:
        """Put everything that another holds in the place of what this does, in one transaction."""
        with self._errors():
            by.connection.backup(self.connection)

    def export(self, path: Path) -> None:
        """Write a copy of all of it into a new file."""
        self.write("VACUUM INTO ?", str(path))

    @classmethod
    def _connected(cls, path: Path, name: str) -> Ledger:
        try:
            connection = sqlite3.connect(name, timeout=_PATIENCE, isolation_level=None, uri=name.startswith("file:"))
        except sqlite3.Error as error:
            raise CouldNotJudge(f"{path}: cannot be opened: {error}") from None
        return cls(connection, path)

    @property
    def lasts(self) -> bool:
        """Whether it is a file that is written."""
        return self._last is not None

    def _version(self) -> str | None:
        """None: no table was made yet."""
        if not self.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            return None
        return self.meta("version")

    def _create(self) -> None:
        with self.transaction():
            if self._version() is not None:
                return  # another made it in the meantime
            for statement in TABLES.split(";\n"):
                if statement.strip():
                    self.connection.execute(statement)
            self.set_meta("version", VERSION)

    def __enter__(self) -> Ledger:
        """Itself."""
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Close it, with all of it in the one file: a copy of that is whole, and another can be put in its place. A text of it that is no
        JSON is an error of it: who reads other JSON knows its file."""
        if self._last is not None:
            with suppress(sqlite3.Error):
                self.connection.execute("PRAGMA busy_timeout = 0")
                self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.connection.close()
        if self._last is not None:
            self._last.close()
        if isinstance(error, json.JSONDecodeError):
            raise self._damaged(error) from None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside, or nothing; on the disk when this ends. Inside another it is part of that."""
        if self._in_transaction():
            yield
            return
        with self._errors():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                if self._in_transaction():
                    self.connection.execute("ROLLBACK")
                raise

    def _in_transaction(self) -> bool:
        return self.connection.in_transaction

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """The rows that a query finds."""
        with self._errors():
            return self.connection.execute(query, values).fetchall()

    def write(self, statement: str, *values: Any) -> int:
        """Change rows; the number of the row that was added last."""
        with self._errors():
            return self.connection.execute(statement, values).lastrowid or 0

    def meta(self, name: str) -> str | None:
        """What is kept under a name."""
        found = self.rows("SELECT value FROM meta WHERE name = ?", name)
        return found[0]["value"] if found else None

    def set_meta(self, name: str, value: str) -> None:
        """Keep something under a name."""
        self.write("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", name, value)

    def mend_clock(self, now: float) -> None:
        """Bring back to ``now`` what was written while this host's clock was ahead of it; what answers findings, to the action before
        it: what was found since stays open."""
        before = "SELECT max(at) FROM action AS earlier WHERE earlier.seq < action.seq AND earlier.at <= ?"
        answers = "at > ? AND kind IN ('release', 'clear', 'resumed')"
        self.write(f"UPDATE action SET at = coalesce(({before}), ?) WHERE {answers}", now, now, now)
        self.write("UPDATE check_run SET began = began - (known - ?), known = ? WHERE known > ?", now, now, now)
        for place in ("action.at", "action.seen", "finding.closed_at", "finding.last_seen"):
            table, _, column = place.partition(".")
            self.write(f"UPDATE {table} SET {column} = ? WHERE {column} > ?", now, now)

    def forget(self, older: float, figures: float) -> None:
        """Remove runs known before ``older`` that no open finding rests on, what was read then, and the names of figures that passed before
        ``figures``. A result that had hard evidence stays known: put there again, it would be open again. That of a sweep which is not
        over is still listed."""
        old = "SELECT 'run:' || node || ':' || run FROM check_run WHERE known < ?"
        hard = "SELECT 'run:' || r.node || ':' || r.run FROM finding JOIN check_run AS r ON r.id = check_run WHERE hard"
        self.write(f"DELETE FROM taken WHERE place IN ({old}) AND place NOT IN ({hard})", older)
        if self.rows("SELECT changes() AS count")[0]["count"]:
            self.write(
                "DELETE FROM taken WHERE stamp LIKE 'run:%' AND stamp NOT IN (SELECT place FROM taken) "
                "AND substr(place, 1, instr(place, '/nodes/') - 1) IN (SELECT place FROM taken)"
            )
        open_ = "FROM finding WHERE hard AND closed_by IS NULL"
        self.write(f"DELETE FROM check_run WHERE known < ? AND id NOT IN (SELECT check_run {open_})", older)
        self.write(
            "UPDATE check_run SET passed = intermittent WHERE known < ? AND passed != '[]' AND passed != intermittent",
            figures,
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if any(words in str(error) for words in ("malformed", "not a database", "decode")):
                raise self._damaged(error) from None
            if "readonly" in str(error):
                raise CouldNotJudge(f"{self.path}: was interrupted while it was made; the next act mends it") from None
            raise CouldNotJudge(f"{self.path}: {error}; nothing is done that cannot be written down") from None

    def _damaged(self, error: Exception) -> CouldNotJudge:
        remedy = "restore it from a backup, or begin anew: nearfar slurm act --take-over none"
        return CouldNotJudge(f"{self.path}: damaged ({printable(str(error))}): {remedy}")


def _quoted(path: Path) -> str:
    return quote(str(path.absolute()))
