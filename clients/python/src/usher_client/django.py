"""A decorator for views of Django: needs the extra `django`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from ._client import Usher
from ._errors import InvalidQuestionError, UsherError
from ._guard import UNAUTHENTICATED, Refusal, judged, look, malformed, record_of, troubled
from ._read import strictly, text
from ._types import AskedLevel, Resource

View = Callable[..., HttpResponseBase]


def email_of_user(request: HttpRequest) -> str | None:
    """The address of the user whom Django's authentication has signed in."""
    user = getattr(request, "user", None)
    return user.email if user is not None and user.is_authenticated else None


@strictly
def require(
    usher: Usher,
    app: str,
    permission: str,
    *,
    email: Callable[[HttpRequest], str | None] = email_of_user,
    resource: Callable[..., Resource | None] | None = None,
    level: AskedLevel | None = None,
    unavailable: bool = False,
) -> Callable[[View], View]:
    """Lets only those through who are allowed.

    resource: gets the request and the arguments of the view, and gives the record that it is about.
    unavailable: whether trouble is 503; otherwise it is 403.

    A request for which the question is malformed, or resource gives nothing, is 500. Raises InvalidQuestionError for arguments that
    no guard can ask with.
    """
    look(usher, app, permission, email, resource, level, unavailable)

    def judge(request: HttpRequest, arguments: dict[str, Any]) -> Refusal | None:
        caller = email(request)
        if not caller:
            return UNAUTHENTICATED
        given = resource(request, **arguments) if resource is not None else None
        try:
            text(caller, "email")
            record = record_of(given) if resource is not None else None
        except InvalidQuestionError as error:
            return malformed(app, permission, error)
        try:
            return judged(usher.check(caller, app, permission, resource=record, level=level))
        except UsherError as error:
            return troubled(error, unavailable)

    def guarded(view: View) -> View:
        @wraps(view)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            refusal = judge(request, kwargs)
            if refusal is None:
                return view(request, *args, **kwargs)
            return JsonResponse({"error": refusal.error}, status=refusal.status)

        return answer

    return guarded
