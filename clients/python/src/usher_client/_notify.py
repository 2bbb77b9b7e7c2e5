"""Notifications to people, over REST: inbox, e-mail and push, as their types and preferences say."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import urllib3

from . import _read as read
from . import _rest as rest
from ._read import strictly

DEADLINE = 5.0
_PATH = "/api/internal/notifications"


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a notification for one address. It is stored: then it will be delivered."""

    id: int
    email: str
    status: str
    status_reason: str | None


class Notifier:
    """Sends for a backend, from any thread. Make one for the whole process.

    url: of the gateway, such as https://usher.example.com.
    key: with the scope `notify`.
    deadline: seconds for an answer, repetitions included.
    """

    @strictly
    def __init__(self, url: str, *, key: str, deadline: float = DEADLINE) -> None:
        self._gateway = rest.Gateway(url, deadline)
        self._headers = {"x-internal-api-key": read.text(read.key(key), "key"), "content-type": "application/json"}

    def __enter__(self) -> Notifier:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._gateway.close()

    @strictly
    def notify(
        self,
        app: str,
        to: Iterable[str],
        *,
        type: str | None = None,
        subject: str | None = None,
        body: str | None = None,
        url: str | None = None,
        icon: str | None = None,
        locale: str | None = None,
        template_key: str | None = None,
        payload: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Sequence[Accepted]:
        """Sends to 1 to 1,000 addresses, and returns once the service has stored it. Raises UsherError.

        With an idempotency_key it is tried again on trouble, and sends once.
        """
        content = _content(app, to, type, subject, body, url, icon, locale, template_key, payload, idempotency_key)
        # Without a key of its own a repetition could send twice.
        is_repeatable = idempotency_key is not None
        return self._gateway.send("POST", _PATH, self._headers, content, _accepted, is_repeatable=is_repeatable)


class AsyncNotifier:
    """The same for asyncio, which it leaves free: requests wait in threads."""

    @strictly
    def __init__(self, url: str, *, key: str, deadline: float = DEADLINE) -> None:
        self._notifier = Notifier(url, key=key, deadline=deadline)

    async def __aenter__(self) -> AsyncNotifier:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        self._notifier.close()

    @strictly
    async def notify(
        self,
        app: str,
        to: Iterable[str],
        *,
        type: str | None = None,
        subject: str | None = None,
        body: str | None = None,
        url: str | None = None,
        icon: str | None = None,
        locale: str | None = None,
        template_key: str | None = None,
        payload: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Sequence[Accepted]:
        """As Notifier.notify."""
        return await asyncio.to_thread(
            self._notifier.notify,
            app,
            to,
            type=type,
            subject=subject,
            body=body,
            url=url,
            icon=icon,
            locale=locale,
            template_key=template_key,
            payload=payload,
            idempotency_key=idempotency_key,
        )


def _content(app: object, to: object, *others: Any) -> bytes:
    """What it says beyond its addresses, the service reads as strictly. None stands for what is left out."""
    names = ("type", "subject", "body", "url", "icon", "locale", "templateKey", "payload", "idempotencyKey")
    said = {name: value for name, value in zip(names, others, strict=True) if value is not None}
    whom = {"appCode": read.text(app, "app"), "recipients": read.texts(to, "to", "addresses")}
    return rest.content_of({**whom, **said})


def _accepted(response: urllib3.BaseHTTPResponse) -> Sequence[Accepted]:
    items = rest.json_of(response)["data"]["notifications"]
    return [Accepted(one["id"], one["email"], one["status"], one["statusReason"]) for one in items]
