"""The history: every real run's figures as rows in Parquet, beside the documents that they come from."""

from nearfar.history.compaction import compact
from nearfar.history.own_past import OwnPast
from nearfar.history.places import VARIABLE, directory, readable
from nearfar.history.record import record
from nearfar.history.store import History, Question, parse_since, trusted

__all__ = [
    "VARIABLE",
    "History",
    "OwnPast",
    "Question",
    "compact",
    "directory",
    "parse_since",
    "readable",
    "record",
    "trusted",
]
