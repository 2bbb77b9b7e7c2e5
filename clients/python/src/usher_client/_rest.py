"""What the clients of REST have in common: how they are made, their errors, and when a request is worth another try."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import urllib3

from . import _read as read
from ._errors import UsherError, Violation, kind_of

_Answer = TypeVar("_Answer")

_TRIES = 3
_AGAIN = 0.2
_PASSING = (429, 502, 503, 504)
"""Statuses of an answer that the same request may mend, by itself."""
_NO_ANSWER = (urllib3.exceptions.HTTPError, ValueError, KeyError, TypeError)
"""What a request ends in that nobody answered, or somebody who is not Usher."""
_CODES: Mapping[int, str] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    409: "ALREADY_EXISTS",
    412: "ABORTED",
    413: "RESOURCE_EXHAUSTED",
    415: "INVALID_ARGUMENT",
    422: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
}
"""The statuses of gRPC that stand for those of HTTP (docs/reference/errors.md#codes)."""


def origin_of(url: object) -> str:
    """Of a gateway: where it is, without a path."""
    given = read.text(url, "url")
    try:
        parts = urlsplit(given)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        raise read.malformed("url", "must be a URL, such as https://usher.example.com")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise read.malformed("url", "must have no path: it is the address of the gateway, such as https://usher.example.com")
    return f"{parts.scheme}://{parts.netloc}"


def path_of(template: str, values: Mapping[str, object]) -> str:
    """A value that is empty or a dot would name another thing, and is refused."""
    encoded: dict[str, str] = {}
    for name, value in values.items():
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else read.text(value, name)
        if text in (".", ".."):
            raise read.malformed(name, "must name something, and is dots")
        encoded[name] = quote(text, safe="")
    return template.format_map(encoded)


def query_of(values: Mapping[str, object]) -> str:
    """The query string of the values that are not None."""
    given = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in values.items()
        if value is not None
    }
    return f"?{urlencode(given)}" if given else ""


def content_of(body: object) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise read.malformed("body", f"must be JSON: {error}") from None


class Gateway:
    """Where requests go, from any thread."""

    def __init__(self, url: object, deadline: object) -> None:
        self._origin = origin_of(url)
        self._deadline = read.seconds(deadline)
        self._pool = urllib3.PoolManager(retries=False, maxsize=10)

    def close(self) -> None:
        self._pool.clear()

    def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        content: bytes | None,
        answer_of: Callable[[urllib3.BaseHTTPResponse], _Answer],
        *,
        is_repeatable: bool,
    ) -> _Answer:
        """The answer, or UsherError. Where that may mend it, and the request may be repeated, it is tried again."""
        until = time.monotonic() + self._deadline
        left = _TRIES if is_repeatable else 1
        while True:
            left -= 1
            is_last = left == 0 or time.monotonic() + _AGAIN >= until
            # The time for connecting and, begun anew by each part of an answer, for reading.
            timeout = urllib3.Timeout(total=max(0.001, until - time.monotonic()))
            try:
                response = self._pool.request(
                    method, self._origin + path, body=content, headers=headers, timeout=timeout, redirect=False
                )
                if 200 <= response.status < 300:
                    return answer_of(response)
                if is_last or response.status not in _PASSING:
                    raise error_of(response)
            except _NO_ANSWER as error:
                if is_last:
                    raise self._no_answer(error) from error
            time.sleep(_AGAIN * (0.5 + random.random() / 2))

    def _no_answer(self, error: Exception) -> UsherError:
        is_late = isinstance(error, urllib3.exceptions.TimeoutError)
        code = "DEADLINE_EXCEEDED" if is_late else "UNAVAILABLE"
        return kind_of(code)(
            f"{self._origin} did not answer as Usher's gateway does{', within the deadline' if is_late else ''}. Is it the "
            "address of REST (port 8080 by default; gRPC has another, 50051), and is it http or https as there?",
            code=code,
            reason=code,
        )


def error_of(response: urllib3.BaseHTTPResponse) -> UsherError:
    """The error of an answer that is no success: of a proxy often no JSON, and then its status has to do."""
    body = _object(_json(response))
    details = _object(body.get("details"))
    code = _CODES.get(response.status, "UNAVAILABLE" if response.status > 500 else "FAILED_PRECONDITION")
    reason = details.pop("code", None)
    issues = details.pop("issues", None)
    details.pop("more", None)
    message, request_id = body.get("message"), body.get("requestId", response.headers.get("x-request-id"))
    return kind_of(code)(
        message if isinstance(message, str) else f"The gateway answered {response.status}.",
        code=code,
        reason=reason if isinstance(reason, str) else code,
        violations=[
            Violation(_text(_object(one).get("path")), _text(_object(one).get("message")))
            for one in (issues if isinstance(issues, list) else [])
        ],
        details={name: _text(value) for name, value in details.items()},
        request_id=request_id if isinstance(request_id, str) else None,
    )


def json_of(response: urllib3.BaseHTTPResponse) -> Any:
    """None of an empty body. What is no JSON is not from Usher."""
    return None if response.data == b"" else json.loads(response.data)


def _json(response: urllib3.BaseHTTPResponse) -> object:
    try:
        return json_of(response)
    except ValueError:
        return None


def _object(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
