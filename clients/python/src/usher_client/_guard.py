"""What the guards of all frameworks share."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from . import _read as read
from ._errors import InvalidQuestionError, UnavailableError, UsherError
from ._types import Decision


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    error: str


UNAUTHENTICATED = Refusal(401, "unauthenticated")
FORBIDDEN = Refusal(403, "forbidden")
UNAVAILABLE = Refusal(503, "unavailable")
MALFORMED = Refusal(500, "malformed")

_log = logging.getLogger("usher_client")


def look(
    usher: object, app: object, permission: object, email: object, resource: object, level: object, unavailable: object
) -> None:
    """Raises InvalidQuestionError for what no guard can ask: when it is made, not when a request comes."""
    if not callable(getattr(usher, "check", None)):
        raise read.malformed("usher", f"must be a client, not {type(usher).__name__}")
    read.text(app, "app")
    read.text(permission, "permission")
    read.callback(email, "email")
    if resource is not None:
        read.callback(resource, "resource")
    read.level(level)
    if read.flag(unavailable, "unavailable") is None:
        raise read.malformed("unavailable", "is required")


def record_of(resource: object) -> tuple[str, str]:
    """The record of a request: nothing would be the question about the whole application."""
    if resource is None:
        raise read.malformed("resource", "gave None: a guard with a resource asks about a record, (type, id)")
    return read.record(resource)


def malformed(app: str, permission: str, error: InvalidQuestionError) -> Refusal:
    _log.warning("a guard of %s in %s cannot ask: %s. Refused.", permission, app, error)
    return MALFORMED


def judged(decision: Decision) -> Refusal | None:
    return None if decision.allowed is True else FORBIDDEN


def troubled(error: UsherError, unavailable: bool) -> Refusal:
    """Trouble is a refusal; 503 only where that was asked for."""
    return UNAVAILABLE if unavailable and isinstance(error, UnavailableError) else FORBIDDEN
