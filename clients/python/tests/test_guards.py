"""The guards, over HTTP or by the test client of the framework, with a service behind."""

from __future__ import annotations

import os
from collections.abc import Iterator

import django
import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from fastapi import Depends, FastAPI, Request
from fastapi.testclient import TestClient

from usher_client import AsyncUsher, Usher
from usher_client.django import require as require_of_django
from usher_client.fastapi import require as require_of_fastapi

ADDRESS = os.environ["USHER_GRPC"]
KEY = os.environ["USHER_KEY"]
AWAY = "127.0.0.1:1"


def app_of(address: str, *, unavailable: bool = False) -> FastAPI:
    app = FastAPI()
    usher = AsyncUsher(address, key=KEY, deadline=10 if address == ADDRESS else 0.3)
    guard = require_of_fastapi(
        usher,
        "atelier",
        "project.access",
        email=lambda request: request.headers.get("x-email"),
        resource=lambda request: ("project", request.path_params["id"]),
        level="edit",
        unavailable=unavailable,
    )

    @app.get("/projects/{id}", dependencies=[Depends(guard)])
    async def project(id: str, request: Request) -> dict[str, str]:
        return {"id": id}

    return app


def test_fastapi() -> None:
    with TestClient(app_of(ADDRESS)) as client:
        assert client.get("/projects/7", headers={"x-email": "ben@example.com"}).json() == {"id": "7"}
        assert client.get("/projects/1042", headers={"x-email": "clara@example.com"}).status_code == 403
        assert client.get("/projects/7").status_code == 401


def test_fastapi_on_trouble() -> None:
    headers = {"x-email": "ben@example.com"}
    with TestClient(app_of(AWAY)) as client:
        assert client.get("/projects/7", headers=headers).status_code == 403
    with TestClient(app_of(AWAY, unavailable=True)) as client:
        assert client.get("/projects/7", headers=headers).status_code == 503


@pytest.fixture(scope="module", autouse=True)
def configured() -> None:
    settings.configure()
    django.setup()


@pytest.fixture
def usher() -> Iterator[Usher]:
    with Usher(ADDRESS, key=KEY, deadline=10) as made:
        yield made


def status(usher: Usher, email: str | None, record: str, **options: bool) -> int:
    guard = require_of_django(
        usher,
        "atelier",
        "project.access",
        email=lambda request: email,
        resource=lambda request, id: ("project", id),
        **options,
    )

    @guard
    def project(request: HttpRequest, id: str) -> HttpResponse:
        return HttpResponse(id)

    return project(RequestFactory().get(f"/projects/{record}"), id=record).status_code


def test_django(usher: Usher) -> None:
    assert status(usher, "ben@example.com", "7") == 200
    assert status(usher, "clara@example.com", "1042") == 403
    assert status(usher, None, "7") == 401
    with Usher(AWAY, deadline=0.3) as away:
        assert status(away, "ben@example.com", "7") == 403
        assert status(away, "ben@example.com", "7", unavailable=True) == 503
