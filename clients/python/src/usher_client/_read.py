"""The one reader of questions and options: for both clients, and for guards.

What it cannot read it refuses, before anything is sent: a question is never answered as a wider one
(docs/reference/decisions.md#client-packages).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

from ._errors import InvalidQuestionError, Violation

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")
_Made = TypeVar("_Made", bound=type)

MOST = 1000
"""The most questions of one call."""
_LONGEST = 10_000_000.0
"""Seconds: beyond, clocks overflow."""

_RECORD = 'write resource=("type", "id")'
_LEVEL = 'write level="view" or level="edit"'
_MEANT: Mapping[str, str] = {
    "resource_type": _RECORD,
    "resource_id": _RECORD,
    "resourceType": _RECORD,
    "resourceId": _RECORD,
    "access_level": _LEVEL,
    "accessLevel": _LEVEL,
    "app_code": "write app",
    "application": "write app",
    "user": "write email",
    "subject": "write email",
    "permission_code": "write permission",
    "minRevision": "write min_revision",
    "timeout": "write deadline, in seconds",
    "deadlineMs": "write deadline, in seconds",
    "url": "write address: host:port of the gRPC port",
    "host": "write address: host:port",
    "target": "write address: host:port",
    "api_key": "write key",
    "token": "write key",
}


def malformed(field: str, message: str, *, is_half: bool = False) -> InvalidQuestionError:
    """With the reasons of the service; is_half: the fault is that a record lacks its type or its id."""
    return InvalidQuestionError(
        f"{field}: {message}",
        code="INVALID_ARGUMENT",
        reason="INCOMPLETE_RESOURCE" if is_half else "VALIDATION_FAILED",
        violations=[Violation(field, message)],
    )


def _refuse(field: str, expected: str, value: object) -> NoReturn:
    # Never the value itself: it may be an address.
    raise malformed(field, f"must be {expected}, not {type(value).__name__}")


def text(value: object, field: str, *, is_half: bool = False) -> str:
    """A text that is not empty. Of a subclass, as of an Enum, the text alone."""
    if not isinstance(value, str):
        if value is None:
            raise malformed(field, "is required", is_half=is_half)
        _refuse(field, "a str", value)
    plain = str.__str__(value)
    if plain == "":
        raise malformed(field, "must not be empty", is_half=is_half)
    try:
        plain.encode()
    except UnicodeEncodeError:
        raise malformed(field, "must not hold lone surrogates") from None
    return plain


def optional_text(value: object, field: str) -> str:
    """Empty for None and the empty text, which are the same here."""
    return "" if value is None or value == "" else text(value, field)


def record(resource: object, field: str = "resource") -> tuple[str, str]:
    """The type and the id of a record, both empty for None."""
    if resource is None:
        return "", ""
    if not isinstance(resource, tuple):
        _refuse(field, "a tuple (type, id)", resource)
    if len(resource) != 2:
        raise malformed(field, f"must be a tuple (type, id), not one of {len(resource)}", is_half=len(resource) == 1)
    return text(resource[0], f"{field}[0]", is_half=True), text(resource[1], f"{field}[1]", is_half=True)


def level(value: object, field: str = "level") -> int:
    """The number of AccessLevel; 0 for None."""
    if value is None:
        return 0
    if isinstance(value, str):
        number = _LEVELS.get(str.__str__(value))
        if number is not None:
            return number
        raise malformed(field, f"must be 'view' or 'edit', not {str.__str__(value)[:40]!r}")
    _refuse(field, "'view' or 'edit'", value)


_LEVELS = {"view": 2, "edit": 3}


def texts(values: object, field: str, what: str, *, least: int = 1) -> list[str]:
    """The texts of an iterable. A str is one, too, but of characters."""
    return [text(value, f"{field}[{index}]") for index, value in enumerate(items(values, field, what, least=least))]


def items(values: object, field: str, what: str, *, least: int = 1) -> list[Any]:
    if isinstance(values, (str, bytes, bytearray, Mapping)) or not isinstance(values, Iterable):
        _refuse(field, f"an iterable of {what}", values)
    found = list(values)
    if not least <= len(found) <= MOST:
        raise malformed(field, f"must hold {least} to {MOST} {what}")
    return found


def seconds(value: object, field: str = "deadline") -> float:
    """What is over already is time that has run out, and no mistake."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        _refuse(field, "a number of seconds", value)
    return min(max(0.0, float(value)), _LONGEST)


def callback(value: object, field: str) -> None:
    if not callable(value):
        _refuse(field, "a function of the request", value)


def strictly(function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
    """An argument that a function does not have, or lacks, is a wrong question like any other, and no TypeError."""
    parameters = list(inspect.signature(function).parameters.values())
    named = [one.name for one in parameters if one.name != "self"]
    known = frozenset(named)
    offset = len(parameters) - len(named)
    positional = sum(one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters)
    required = [
        (place, one.name)
        for place, one in enumerate(parameters)
        if one.default is one.empty and one.name != "self" and one.kind is not one.VAR_POSITIONAL
    ]

    def look(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        if kwargs.keys() - known:
            name = next(one for one in kwargs if one not in known)
            near = get_close_matches(name, named, 1, 0.7)
            advice = _MEANT.get(name) or (f"did you mean {near[0]}?" if near else f"known are {', '.join(named)}")
            raise malformed(name, f"unknown argument; {advice}")
        if len(args) > positional:
            extra = ", ".join(named[positional - offset :])
            raise malformed("arguments", f"too many; these are named: {extra}" if extra else "too many")
        for place, name in required:
            if place >= len(args) and name not in kwargs:
                raise malformed(name, "is required")
            if place < len(args) and name in kwargs:
                raise malformed(name, "is given twice")

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def waiting(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Any:
            look(args, kwargs)
            return await function(*args, **kwargs)

        return cast("Callable[_Arguments, _Answer]", waiting)

    @functools.wraps(function)
    def calling(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Answer:
        look(args, kwargs)
        return function(*args, **kwargs)

    return calling


def strictly_made(made: _Made) -> _Made:
    """The same for the arguments of a class."""
    setattr(made, "__init__", strictly(vars(made)["__init__"]))
    return made


def address(value: object) -> str:
    target = text(value, "address")
    scheme, found, _ = target.partition("://")
    if found and scheme.lower() in ("http", "https", "grpc", "grpcs", "tcp", "tls"):
        raise malformed("address", f"must be host:port of the gRPC port, without {scheme.lower()}://")
    return target


def key(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        _refuse("key", "a str", value)
    if not all(" " <= character <= "~" for character in value):
        raise malformed("key", "must hold visible ASCII alone: a line break at its end is not of it")
    return value


def pem(value: object, field: str) -> bytes | None:
    if value is not None and not isinstance(value, bytes):
        _refuse(field, "PEM as bytes", value)
    return value


def certificate(value: object) -> tuple[bytes, bytes] | None:
    if value is None:
        return None
    if not isinstance(value, tuple) or len(value) != 2 or not all(isinstance(one, bytes) for one in value):
        _refuse("certificate", "a tuple (certificate, key) of bytes", value)
    return value


def flag(value: object, field: str) -> bool | None:
    if value is not None and not isinstance(value, bool):
        _refuse(field, "a bool", value)
    return value
