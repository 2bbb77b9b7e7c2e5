"""What the methods of the administration answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

_Data = TypeVar("_Data")


@dataclass(frozen=True)
class Answer(Generic[_Data]):
    data: _Data
    """Without the envelope. None of an answer without a body."""
    next_cursor: str | None
    """Of the next page of a list; None for the last one, and of what has no pages."""
    revision: str | None
    """That a write made, or that a read reflects: for `min_revision` of a question."""
    etag: str | None
    """The ETag of what was read: pass it as `if_match` to a write."""
