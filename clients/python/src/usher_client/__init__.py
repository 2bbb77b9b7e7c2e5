"""Asks Usher who may do what."""

from ._aio import AsyncUsher
from ._client import Usher
from ._errors import DeniedError, InvalidQuestionError, UnavailableError, UsherError, Violation
from ._notify import Accepted, AsyncNotifier, Notifier
from ._types import (
    Allowed,
    Change,
    Changes,
    Decision,
    Effective,
    Explanation,
    Held,
    Level,
    Question,
    Reach,
    Resource,
    RuleResult,
    Source,
)

__all__ = [
    "Accepted",
    "Allowed",
    "AsyncNotifier",
    "AsyncUsher",
    "Change",
    "Changes",
    "Decision",
    "DeniedError",
    "Effective",
    "Explanation",
    "Held",
    "InvalidQuestionError",
    "Level",
    "Notifier",
    "Question",
    "Reach",
    "Resource",
    "RuleResult",
    "Source",
    "UnavailableError",
    "Usher",
    "UsherError",
    "Violation",
]
