"""The tables of the ledger. docs/reference/ledger.md describes them for who queries them with ``sqlite3``.

Times are seconds since 1970, by the admin host's clock unless a column says otherwise. The order is that of ``seq``, never of times.
"""

from __future__ import annotations

#: Raised by whatever changes a table.
VERSION = "1"

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);

-- One check of one run on one node. A result enters once.
CREATE TABLE check_run (
    id INTEGER PRIMARY KEY,
    node TEXT NOT NULL, check_name TEXT NOT NULL, run TEXT NOT NULL,
    system TEXT NOT NULL, sweep TEXT NOT NULL, level TEXT NOT NULL, job INTEGER NOT NULL,
    started REAL NOT NULL, ended REAL NOT NULL,      -- by the node's clock
    came REAL,                                       -- by the file system's
    known REAL NOT NULL, began REAL NOT NULL,        -- start and end by the file system's clock
    verdict TEXT NOT NULL, words TEXT NOT NULL, parts TEXT NOT NULL, confirmed TEXT NOT NULL, source TEXT NOT NULL,
    UNIQUE (node, check_name, run));
CREATE INDEX check_run_known ON check_run (known);

-- Every judged figure of a check_run: PASS, INTERMITTENT (inside its bounds in most measurements) or the verdict of its finding.
CREATE TABLE figure_name (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE figure (
    check_run INTEGER NOT NULL REFERENCES check_run ON DELETE CASCADE, name INTEGER NOT NULL REFERENCES figure_name,
    verdict TEXT NOT NULL, value REAL, lowest REAL, highest REAL, unit TEXT NOT NULL,
    PRIMARY KEY (check_run, name)) WITHOUT ROWID;

-- Every FAIL. Hard evidence is open until an action closes it.
CREATE TABLE finding (
    id INTEGER PRIMARY KEY AUTOINCREMENT,            -- never given twice: events are known by it
    check_run INTEGER NOT NULL REFERENCES check_run ON DELETE CASCADE,
    node TEXT NOT NULL, check_name TEXT NOT NULL, subject TEXT NOT NULL, code TEXT NOT NULL, hard INTEGER NOT NULL,
    document TEXT NOT NULL,                          -- as verdict.json has it
    last_seen REAL NOT NULL,                         -- by the last health check that found the same
    closed_by INTEGER REFERENCES action, closed_at REAL);
CREATE INDEX finding_of_run ON finding (check_run);
CREATE INDEX finding_open ON finding (node) WHERE hard AND closed_by IS NULL;

-- What was done about a node. outcome: begun, done, refused (nothing was written), unclear (Slurm did not answer),
-- void (Slurm does not show it: as if it had not been).
CREATE TABLE action (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, kind TEXT NOT NULL, node TEXT, outcome TEXT NOT NULL,
    reason TEXT, why TEXT, check_name TEXT, run TEXT, finding TEXT, reservation TEXT, error TEXT,
    seen REAL,                                       -- when Slurm last showed it; of a return: until when jobs' findings are answered
    user TEXT NOT NULL, host TEXT NOT NULL, system TEXT);
CREATE INDEX action_of_node ON action (node, kind);

-- Nodes being retested: what each is drained with again if the retest does not end.
CREATE TABLE retest (reservation TEXT PRIMARY KEY, begun REAL NOT NULL, ended REAL, nodes TEXT NOT NULL);

-- What was read: results, health findings, and sweeps of which all results were taken in.
CREATE TABLE taken (place TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;

-- What the on-event program is told, and when it was.
CREATE TABLE event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, at REAL NOT NULL, kind TEXT NOT NULL, node TEXT NOT NULL,
    system TEXT NOT NULL,                            -- whose program is told
    document TEXT NOT NULL, tries INTEGER NOT NULL DEFAULT 0, told REAL, given_up REAL, problem TEXT, over INTEGER NOT NULL DEFAULT 0);
"""
