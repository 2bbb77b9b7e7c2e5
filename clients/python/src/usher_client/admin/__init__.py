"""The administration over REST: a method for each route of the gateway's OpenAPI document, with its types.

The methods are made from the document (docs/reference/administration.md); what they take and answer is in `usher_client.admin.types`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote

import urllib3

from .. import _read as read
from .. import _rest as rest
from .._read import strictly
from ._answer import Answer
from ._operations import AsyncOperations, Operations

__all__ = ["Admin", "Answer", "AsyncAdmin"]

DEADLINE = 30.0
_Item = TypeVar("_Item")


class Admin(Operations):
    """Administers, from any thread. Make one for the whole process.

    url: of the gateway, such as https://usher.example.com.
    token: the access token of an administrator, or a function that gives one for each request.
    key: the key of a backend instead, for the routes that take one.
    deadline: seconds for an answer.

    Raises UsherError, as the questions do. Reads are tried again while the service is away or busy; writes are sent once.
    """

    @strictly
    def __init__(
        self,
        url: str,
        *,
        token: str | Callable[[], str] | None = None,
        key: str | None = None,
        deadline: float = DEADLINE,
    ) -> None:
        self._gateway = rest.Gateway(url, deadline)
        if (token is None) == (key is None):
            raise read.malformed("token", "is required, or key: one of them says who asks")
        self._token = token
        self._key = None if key is None else read.text(read.key(key), "key")
        self._reason: str | None = None

    def __enter__(self) -> Admin:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._gateway.close()

    @strictly
    def with_reason(self, reason: str) -> Admin:
        """The same client, whose writes say why: in the audit, and wherever it is shown. 1 to 500 characters."""
        view = object.__new__(Admin)
        view.__dict__.update(self.__dict__)
        view._reason = read.text(reason, "reason")
        return view

    def pages(self, operation: Callable[..., Answer[list[_Item]]], **given: Any) -> Iterator[_Item]:
        """Every item of a list that has pages: `admin.pages(admin.list_users, q="ben")`."""
        page = operation(**given)
        yield from page.data
        while page.next_cursor is not None:
            page = operation(**{**given, "cursor": page.next_cursor})
            yield from page.data

    def _call(
        self,
        method: str,
        path: str,
        values: Mapping[str, object],
        query: Mapping[str, object],
        headers: Mapping[str, str | None],
        body: object,
    ) -> Answer[Any]:
        content = None if body is None else rest.content_of(body)
        target = rest.path_of(path, values) + rest.query_of(query)
        sent = {**self._credentials(), "accept": "application/json"}
        sent.update({name: read.text(read.key(value), name) for name, value in headers.items() if value is not None})
        if self._reason is not None:
            sent["usher-reason"] = quote(self._reason, safe="")
        if content is not None:
            sent["content-type"] = "application/json"
        return self._gateway.send(method, target, sent, content, _answer, is_repeatable=method == "GET")

    def _credentials(self) -> Mapping[str, str]:
        if self._key is not None:
            return {"x-internal-api-key": self._key}
        token = self._token() if callable(self._token) else self._token
        return {"authorization": f"Bearer {read.text(read.key(token), 'token')}"}


class AsyncAdmin(AsyncOperations):
    """The same for asyncio, which it leaves free: requests wait in threads."""

    @strictly
    def __init__(
        self,
        url: str,
        *,
        token: str | Callable[[], str] | None = None,
        key: str | None = None,
        deadline: float = DEADLINE,
    ) -> None:
        self._admin = Admin(url, token=token, key=key, deadline=deadline)

    async def __aenter__(self) -> AsyncAdmin:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        self._admin.close()

    @strictly
    def with_reason(self, reason: str) -> AsyncAdmin:
        """As Admin.with_reason."""
        view = object.__new__(AsyncAdmin)
        view._admin = self._admin.with_reason(reason)
        return view

    async def pages(
        self, operation: Callable[..., Awaitable[Answer[list[_Item]]]], **given: Any
    ) -> AsyncIterator[_Item]:
        """As Admin.pages."""
        page = await operation(**given)
        for item in page.data:
            yield item
        while page.next_cursor is not None:
            page = await operation(**{**given, "cursor": page.next_cursor})
            for item in page.data:
                yield item

    async def _call(
        self,
        method: str,
        path: str,
        values: Mapping[str, object],
        query: Mapping[str, object],
        headers: Mapping[str, str | None],
        body: object,
    ) -> Answer[Any]:
        return await asyncio.to_thread(self._admin._call, method, path, values, query, headers, body)


def _answer(response: urllib3.BaseHTTPResponse) -> Answer[Any]:
    body = rest.json_of(response)
    data, page = body, None
    if isinstance(body, dict):
        page = body.get("page")
        if body.get("success") is True:
            data = body.get("data")
        elif body.get("code") == "OK":
            data = body.get("response")
    return Answer(
        data=data,
        next_cursor=page.get("nextCursor") if isinstance(page, dict) else None,
        revision=response.headers.get("usher-revision"),
        etag=response.headers.get("etag"),
    )
