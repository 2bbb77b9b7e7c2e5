"""Why there is no answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import grpc
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from google.rpc.status_pb2 import Status


@dataclass(frozen=True, slots=True)
class Violation:
    field: str
    message: str


class UsherError(Exception):
    """No answer. `code` is the gRPC status by name, `reason` stable, from the service's table of errors."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        reason: str,
        violations: Sequence[Violation] = (),
        details: Mapping[str, str] | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.violations = tuple(violations)
        self.details = dict(details or {})
        self.request_id = request_id


class UnavailableError(UsherError):
    """The service is away, too slow, or knows too little for now. Until a later try succeeds nobody is allowed anything."""


class DeniedError(UsherError):
    """The key is missing, wrong, or lacks the scope."""


class InvalidQuestionError(UsherError):
    """The question or an option is malformed, or names a code that a strict application does not define."""


def is_mistake(error: UsherError) -> bool:
    """Of the program, and no trouble. A revision that the service does not know is one of a database that was restored."""
    return isinstance(error, InvalidQuestionError) and error.reason != "UNKNOWN_REVISION"


_KINDS: Mapping[str, type[UsherError]] = {
    "UNAVAILABLE": UnavailableError,
    "DEADLINE_EXCEEDED": UnavailableError,
    "RESOURCE_EXHAUSTED": UnavailableError,
    "CANCELLED": UnavailableError,
    "UNAUTHENTICATED": DeniedError,
    "PERMISSION_DENIED": DeniedError,
    "INVALID_ARGUMENT": InvalidQuestionError,
}


def kind_of(code: str) -> type[UsherError]:
    """The class of a status."""
    return _KINDS.get(code, UsherError)


def to_usher_error(error: grpc.RpcError) -> UsherError:
    """The error of a call of grpc, sync or of asyncio."""
    code: str = error.code().name
    trailers = {key: value for key, value in (error.trailing_metadata() or ())}
    reason, details, violations = _details(trailers.get("grpc-status-details-bin"))
    request_id = trailers.get("x-request-id")
    return kind_of(code)(
        error.details() or code,
        code=code,
        reason=reason or code,
        violations=violations,
        details=details,
        request_id=request_id if isinstance(request_id, str) else None,
    )


def _details(data: object) -> tuple[str | None, Mapping[str, str], Sequence[Violation]]:
    if not isinstance(data, bytes):
        return None, {}, ()
    reason: str | None = None
    metadata: Mapping[str, str] = {}
    violations: list[Violation] = []
    try:
        for detail in Status.FromString(data).details:
            info, bad = ErrorInfo(), BadRequest()
            if detail.Unpack(info) and info.domain == "usher":
                reason, metadata = info.reason, dict(info.metadata)
            elif detail.Unpack(bad):
                violations += [Violation(one.field, one.description) for one in bad.field_violations]
    except ValueError:
        # Details that cannot be read only cost the precise reason: the call has failed all the same.
        return None, {}, ()
    return reason, metadata, violations
