"""A dependency for FastAPI: needs the extra `fastapi`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import HTTPException, Request

from ._aio import AsyncUsher
from ._errors import InvalidQuestionError, UsherError
from ._guard import UNAUTHENTICATED, Refusal, judged, look, malformed, record_of, troubled
from ._read import strictly, text
from ._types import AskedLevel, Resource


@strictly
def require(
    usher: AsyncUsher,
    app: str,
    permission: str,
    *,
    email: Callable[[Request], str | None],
    resource: Callable[[Request], Resource | None] | None = None,
    level: AskedLevel | None = None,
    unavailable: bool = False,
) -> Callable[[Request], Awaitable[None]]:
    """Lets only those through who are allowed: `@app.get("/projects/{id}", dependencies=[Depends(require(...))])`.

    email: the caller's address, from whatever has authenticated them; None is 401.
    resource: the record that the request is about.
    unavailable: whether trouble is 503; otherwise it is 403.

    A request for which the question is malformed, or resource gives nothing, is 500. Raises InvalidQuestionError for arguments that
    no guard can ask with.
    """
    look(usher, app, permission, email, resource, level, unavailable)

    async def guard(request: Request) -> None:
        refusal = await judge(request)
        if refusal is not None:
            raise HTTPException(refusal.status, refusal.error)

    async def judge(request: Request) -> Refusal | None:
        caller = email(request)
        if not caller:
            return UNAUTHENTICATED
        given = resource(request) if resource is not None else None
        try:
            text(caller, "email")
            record = record_of(given) if resource is not None else None
        except InvalidQuestionError as error:
            return malformed(app, permission, error)
        try:
            return judged(await usher.check(caller, app, permission, resource=record, level=level))
        except UsherError as error:
            return troubled(error, unavailable)

    return guard
