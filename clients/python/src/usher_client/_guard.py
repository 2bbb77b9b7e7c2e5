"""What the guards of all frameworks share."""

from __future__ import annotations

from dataclasses import dataclass

from ._errors import UnavailableError, UsherError
from ._types import Decision


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    error: str


UNAUTHENTICATED = Refusal(401, "unauthenticated")
FORBIDDEN = Refusal(403, "forbidden")
UNAVAILABLE = Refusal(503, "unavailable")


def judged(decision: Decision) -> Refusal | None:
    return None if decision.allowed else FORBIDDEN


def troubled(error: UsherError, unavailable: bool) -> Refusal:
    """Trouble is a refusal; 503 only where that was asked for."""
    return UNAVAILABLE if unavailable and isinstance(error, UnavailableError) else FORBIDDEN
