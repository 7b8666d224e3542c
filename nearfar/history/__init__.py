"""The history: every real run's figures as rows in Parquet, beside the documents that they come from."""

from . import series, text
from .baselines import OwnPast
from .compaction import compact
from .places import VARIABLE, directory, readable
from .recording import record
from .series import LESS_IS_BETTER, Series
from .store import History, RowFilter, parse_since, trusted

__all__ = [
    "LESS_IS_BETTER",
    "VARIABLE",
    "History",
    "OwnPast",
    "RowFilter",
    "Series",
    "compact",
    "directory",
    "parse_since",
    "readable",
    "record",
    "series",
    "text",
    "trusted",
]
