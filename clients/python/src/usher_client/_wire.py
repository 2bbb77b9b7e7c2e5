"""Between the questions and answers of this package and the messages of usher.permission.v1."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any, cast

import grpc

from . import _read as read
from ._gen.usher.permission.v1 import permission_pb2 as pb
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
    RuleResult,
    Source,
)

VERSION = "0.1.0"
SUBJECTS_PAGE = 1000
RESOURCES_PAGE = 10_000

# While a call is UNAVAILABLE it is tried again, after a pause of random length, within its deadline. Questions only read.
_SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [{"service": "usher.permission.v1.PermissionService"}],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.05s",
                "maxBackoff": "0.2s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ],
    # In an outage retries stop, instead of multiplying the load.
    "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
}

CHANNEL_OPTIONS: Sequence[tuple[str, Any]] = (
    ("grpc.service_config", json.dumps(_SERVICE_CONFIG)),
    ("grpc.primary_user_agent", f"usher-python/{VERSION}"),
    # A dead peer is noticed within 15 s, also while nothing is asked.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)

_LEVELS: Sequence[Level | None] = (None, "allowed", "view", "edit")
_SOURCES: Sequence[Source | None] = (None, "role", "override", "superadmin", "app_admin")
_AGAIN = 0.1
_MOST_AGAIN = 5.0


def security_of(
    address: str, plaintext: bool | None, ca: bytes | None, certificate: tuple[bytes, bytes] | None
) -> grpc.ChannelCredentials | None:
    """None for cleartext, which by default is for loopback alone."""
    plaintext = read.flag(plaintext, "plaintext")
    ca = read.pem(ca, "ca")
    certificate = read.certificate(certificate)
    if plaintext if plaintext is not None else (ca is None and _is_loopback(address)):
        return None
    cert, key = certificate if certificate is not None else (None, None)
    return grpc.ssl_channel_credentials(ca, key, cert)


def metadata_of(key: object) -> tuple[tuple[str, str], ...]:
    sent = read.key(key)
    return () if sent is None else (("x-internal-api-key", sent),)


def _is_loopback(address: str) -> bool:
    host = address.rsplit("/", 1)[-1].rsplit(":", 1)[0].strip("[]")
    return host in ("localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdigit())


def subject(email: object, app: object, resource: object, min_revision: object, path: str = "") -> dict[str, str]:
    return {"email": read.text(email, f"{path}email"), **about(app, resource, min_revision, path)}


def about(app: object, resource: object, min_revision: object, path: str = "") -> dict[str, str]:
    """Of a question, what is not about a person."""
    code = read.text(app, f"{path}app")
    resource_type, resource_id = read.record(resource, f"{path}resource")
    return {
        "app": code,
        "resource_type": resource_type,
        "resource_id": resource_id,
        "min_revision": read.optional_text(min_revision, "min_revision"),
    }


def asked_level(level: object, path: str = "") -> pb.AccessLevel:
    return cast(pb.AccessLevel, read.level(level, f"{path}level"))


def check_request(question: Question, min_revision: object = "", path: str = "") -> pb.CheckRequest:
    fields = subject(question.email, question.app, question.resource, min_revision, path)
    return pb.CheckRequest(
        **fields,
        permission=read.text(question.permission, f"{path}permission"),
        access_level=asked_level(question.level, path),
    )


def checks_of(questions: object) -> list[pb.CheckRequest]:
    """The requests of a batch."""
    checks = []
    for index, question in enumerate(read.items(questions, "questions", "Questions")):
        if not isinstance(question, Question):
            raise read.malformed(f"questions[{index}]", f"must be a Question, not {type(question).__name__}")
        checks.append(check_request(question, path=f"questions[{index}]."))
    return checks


def level_of(number: int) -> Level | None:
    """A level that this version does not know is nothing."""
    return _LEVELS[number] if 0 <= number < len(_LEVELS) else None


def source_of(number: int) -> Source | None:
    return _SOURCES[number] if 0 <= number < len(_SOURCES) else None


def decision_of(result: Any, revision: str) -> Decision:
    return Decision(result.allowed, level_of(result.access_level), source_of(result.source), revision)


def effective_of(response: pb.EffectiveResponse) -> Effective:
    held = [
        Held(
            permission=item.code,
            allowed=item.granted,
            level=level_of(item.access_level),
            source=source_of(item.source),
            tiered=item.type == pb.PERMISSION_TYPE_TIERED,
            is_global=getattr(item, "global"),
            group=item.group_name if item.HasField("group_name") else None,
        )
        for item in response.permissions
    ]
    return Effective(held, response.revision)


def explanation_of(response: pb.ExplainResponse) -> Explanation:
    return Explanation(
        decision=decision_of(response, response.revision),
        rules=[
            RuleResult(rule.rule, rule.applies, rule.decides, level_of(rule.access_level)) for rule in response.rules
        ],
        user_known=response.user_known,
        application_known=response.application_known,
        permission_known=response.permission_known,
    )


def allowed_of(item: Any) -> Allowed:
    return Allowed(item.email, level_of(item.access_level), source_of(item.source))


def is_all(scope: int) -> bool:
    return scope == int(pb.RESOURCE_SCOPE_ALL_EXCEPT)


def changes_of(response: pb.WatchResponse) -> Changes:
    return Changes(response.revision, [_change_of(change) for change in response.changes], response.reset)


def _change_of(change: Any) -> Change:
    """A kind that this version does not know may be about anything."""
    kind = change.WhichOneof("what")
    if kind == "application":
        return Change("application", app=change.application)
    if kind == "everything_in_application":
        return Change("everything_in_application", app=change.everything_in_application)
    if kind == "member":
        return Change("member", app=change.member.app, email=change.member.email)
    if kind == "user":
        return Change("user", email=change.user)
    return Change("everything")


def pause(failures: int) -> float:
    """Seconds before another attempt: longer with each, of random length."""
    return min(_MOST_AGAIN, _AGAIN * 2.0**failures) * (0.5 + random.random() / 2)
