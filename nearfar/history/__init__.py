"""The history: every real run's figures as rows in Parquet, beside the documents that they come from."""

from nearfar.history.record import directory, record

__all__ = ["directory", "record"]
