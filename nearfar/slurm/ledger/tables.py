"""The tables of the ledger; docs/reference/ledger.md is made from their comments, for who queries them with ``sqlite3``.

Times are seconds since 1970, by the admin host's clock unless a column says otherwise. The order is that of ``seq``, never of times.
"""

from __future__ import annotations

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
