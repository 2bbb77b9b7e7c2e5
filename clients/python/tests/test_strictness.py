"""Questions as programs without types write them. None is answered as a wider one: each is refused before anything is sent."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from enum import Enum
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient
from test_client import ADDRESS, BEN, KEY, RECORD

from usher_client import AsyncUsher, DeniedError, InvalidQuestionError, Question, UnavailableError, Usher
from usher_client.django import require as require_of_django
from usher_client.fastapi import require as require_of_fastapi

WHO = {"email": "ben@example.com", "app": "atelier"}
ABOUT = {**WHO, "permission": "project.access"}

NO_TEXTS: list[Any] = [None, "", 42, 0, 1.5, True, b"42", bytearray(b"42"), ["42"], ("42",), {"id": "42"}, object(), "\ud800"]
NO_RECORDS: list[Any] = [
    "",
    "ticket:42",
    "ab",
    b"ab",
    42,
    True,
    [],
    ["ticket", "42"],
    {},
    {"type": "ticket", "id": "42"},
    {"ticket", "42"},
    (),
    ("ticket",),
    ("ticket", "42", "1"),
    ("ticket", 42),
    ("ticket", None),
    ("ticket", ""),
    ("", "42"),
    (b"ticket", "42"),
    *[("ticket", no_text) for no_text in NO_TEXTS],
]
NO_LEVELS: list[Any] = ["", "write", "allowed", "Edit", " edit", 2, 3, True, b"edit", ["edit"]]
STRANGE = ["resource_type", "resource_id", "resourceType", "ressource", "access_level", "levels", "user", "tenant"]


def broken() -> Iterator[tuple[str, dict[str, Any]]]:
    """One thing wrong with a question, and the member that is named."""
    for name in ABOUT:
        yield from ((name, {**ABOUT, name: no_text}) for no_text in NO_TEXTS)
        yield name, {other: value for other, value in ABOUT.items() if other != name}
    yield from (("resource", {**ABOUT, "resource": no_record}) for no_record in NO_RECORDS)
    yield from (("level", {**ABOUT, "level": no_level}) for no_level in NO_LEVELS)
    yield from ((name, {**ABOUT, name: "x"}) for name in STRANGE)
    yield from ((name, {**ABOUT, name: None}) for name in STRANGE)


def refusal(ask: Callable[[], Any]) -> tuple[str, str, list[str]]:
    with pytest.raises(InvalidQuestionError) as refused:
        ask()
    error = refused.value
    assert error.code == "INVALID_ARGUMENT" and error.violations
    return str(error), error.reason, [violation.field for violation in error.violations]


@pytest.fixture
def untouched() -> Iterator[str]:
    """The address of a listener to which nothing may connect."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield "127.0.0.1:%d" % listener.getsockname()[1]
        listener.settimeout(0.05)
        with pytest.raises(TimeoutError):
            listener.accept()


def waited(asked: Any) -> Any:
    async def ask() -> Any:
        return await asked

    return asyncio.run(ask())


def test_a_malformed_question_is_refused_by_both_clients_with_the_same_words(untouched: str) -> None:
    aio = AsyncUsher(untouched)
    with Usher(untouched) as usher:
        for name, asked in broken():
            said = refusal(lambda: usher.check(**asked))
            assert said[2][0].startswith(name), said
            for ask in (usher.allowed, usher.explain):
                assert refusal(lambda: ask(**asked)) == said
            for wait in (aio.check, aio.allowed, aio.explain):
                assert refusal(lambda: waited(wait(**asked))) == said

            def in_batch() -> Any:
                return usher.batch_check([Question(**ABOUT), Question(**asked)])

            assert refusal(in_batch)[1] == said[1]


def test_the_other_questions_refuse_what_they_do_not_ask_about(untouched: str) -> None:
    wrong: list[tuple[str, Callable[[Any], Any]]] = [
        ("permission", lambda client: client.effective(**ABOUT)),
        ("resource", lambda client: client.effective(**WHO, resource={})),
        ("permissions", lambda client: client.bulk_check(**WHO, permissions="read")),
        ("permissions", lambda client: client.bulk_check(**WHO, permissions=[])),
        ("permissions", lambda client: client.bulk_check(**WHO, permissions=["read"] * 1001)),
        ("permissions", lambda client: client.bulk_check(**WHO, permissions={"read": True})),
        ("permissions[1]", lambda client: client.bulk_check(**WHO, permissions=["read", 7])),
        ("level", lambda client: client.bulk_check(**WHO, permissions=["read"], level="write")),
        ("questions", lambda client: client.batch_check([])),
        ("questions", lambda client: client.batch_check(Question(**ABOUT))),
        ("questions[0]", lambda client: client.batch_check([ABOUT])),
        ("questions[0]", lambda client: client.batch_check([tuple(ABOUT.values())])),
        ("resource_type", lambda client: client.resources(**ABOUT)),
        ("resource_type", lambda client: client.resources(**ABOUT, resource_type=None)),
        ("resource", lambda client: client.resources(**ABOUT, resource_type="project", resource=RECORD)),
        ("min_revision", lambda client: client.check(**ABOUT, min_revision=7)),
        ("minRevision", lambda client: client.check(**ABOUT, minRevision="7")),
        ("deadline", lambda client: client.check(**ABOUT, deadline="1")),
        ("deadline", lambda client: client.check(**ABOUT, deadline=float("nan"))),
        ("arguments", lambda client: client.check(*ABOUT.values(), RECORD)),
        ("email", lambda client: client.check("ben@example.com", **ABOUT)),
        ("timeout", lambda client: client.ready(timeout=1)),
    ]
    lists: list[tuple[str, Callable[[Any], Any]]] = [
        ("email", lambda client: client.subjects(**ABOUT)),
        ("resource", lambda client: client.subjects("atelier", "read", resource=("ticket",))),
        ("level", lambda client: client.subjects("atelier", "read", level="write")),
        ("apps", lambda client: client.watch(apps="atelier")),
        ("apps[0]", lambda client: client.watch(apps=[7])),
        ("app", lambda client: client.watch(app="atelier")),
        ("since", lambda client: client.watch(since=7)),
    ]
    aio = AsyncUsher(untouched)

    async def first(ask: Callable[[Any], Any]) -> None:
        async for _ in ask(aio):
            break

    with Usher(untouched) as usher:
        for name, ask in wrong:
            said = refusal(lambda: ask(usher))
            assert said[2][0].startswith(name), said
            assert refusal(lambda: waited(ask(aio))) == said
        for name, ask in lists:
            said = refusal(lambda: list(ask(usher)))
            assert said[2][0].startswith(name), said
            assert refusal(lambda: asyncio.run(first(ask))) == said


def test_the_argument_that_was_probably_meant_is_named(untouched: str) -> None:
    with Usher(untouched) as usher:

        def said(**more: Any) -> str:
            return refusal(lambda: usher.check(**ABOUT, **more))[0]

        assert said(resource_type="ticket") == 'resource_type: unknown argument; write resource=("type", "id")'
        assert said(ressource=RECORD) == "ressource: unknown argument; did you mean resource?"
        assert said(level="write") == "level: must be 'view' or 'edit', not 'write'"
        assert said(resource=("ticket", 42)) == "resource[1]: must be a str, not int"
        assert said(resource="ticket:42") == "resource: must be a tuple (type, id), not str"


def test_well_formed_questions_are_asked_as_they_always_were() -> None:
    class Code(str, Enum):
        ACCESS = "project.access"

    with Usher(ADDRESS, key=KEY, deadline=10) as usher:
        for _ in range(50):
            asked: dict[str, Any] = {**ABOUT, "permission": random.choice(["project.access", Code.ACCESS])}
            asked |= random.choice([{}, {"resource": RECORD}, {"resource": None}])
            asked |= random.choice([{}, {"level": "edit"}, {"level": None}])
            assert usher.allowed(**asked)
            assert usher.batch_check(iter([Question(**asked)]))[0].allowed
        assert usher.bulk_check(**WHO, permissions={"project.access"})["project.access"].allowed


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("resource_type", {"resource_type": "project"}),
        ("resource", {"resource": ("project", "7")}),
        ("level", {"level": "write"}),
        ("email", {"email": "ben@example.com"}),
        ("unavailable", {"unavailable": "yes"}),
        ("permission", {"permission": ""}),
        ("usher", {"usher": None}),
    ],
)
def test_guards_are_not_made_of_what_they_do_not_know(name: str, more: dict[str, Any], untouched: str) -> None:
    email = lambda request: "ben@example.com"  # noqa: E731
    for require, usher in ((require_of_django, Usher(untouched)), (require_of_fastapi, AsyncUsher(untouched))):
        given = {"usher": usher, "app": "atelier", "permission": "project.access", "email": email, **more}
        assert refusal(lambda: require(**given))[2] == [name]


def test_guards_refuse_a_malformed_question(untouched: str) -> None:
    from django.test import RequestFactory

    for record in [None, *NO_RECORDS]:
        guard = require_of_django(
            Usher(untouched), *BEN[1:], email=lambda _: BEN[0], resource=lambda _, record=record: record
        )
        assert guard(lambda _: pytest.fail("it let in"))(RequestFactory().get("/")).status_code == 500
        app = FastAPI()
        asks = require_of_fastapi(
            AsyncUsher(untouched), *BEN[1:], email=lambda _: BEN[0], resource=lambda _, record=record: record
        )
        app.get("/", dependencies=[Depends(asks)])(lambda: pytest.fail("it let in"))
        with TestClient(app) as client:
            assert client.get("/").status_code == 500
    guard = require_of_django(Usher(untouched), *BEN[1:], email=lambda _: 7)  # type: ignore[arg-type, return-value]
    assert guard(lambda _: pytest.fail("it let in"))(RequestFactory().get("/")).status_code == 500


@pytest.mark.parametrize("make", [Usher, AsyncUsher])
def test_clients_are_not_made_of_what_they_cannot_use(make: Any) -> None:
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("address", {}),
        ("address", {"address": ""}),
        ("address", {"address": 50051}),
        ("address", {"address": "http://127.0.0.1:8080"}),
        ("url", {"url": "http://127.0.0.1:8080"}),
        ("key", {"address": "127.0.0.1:1", "key": 7}),
        ("key", {"address": "127.0.0.1:1", "key": "from-a-file\n"}),
        ("plaintext", {"address": "127.0.0.1:1", "plaintext": "no"}),
        ("ca", {"address": "127.0.0.1:1", "ca": "PEM"}),
        ("certificate", {"address": "127.0.0.1:1", "certificate": (b"PEM",)}),
        ("deadline", {"address": "127.0.0.1:1", "deadline": "1"}),
        ("timeout", {"address": "127.0.0.1:1", "timeout": 1}),
    ]
    for name, given in wrong:
        assert name in refusal(lambda: make(**given))[2]


def test_ready() -> None:
    async def ask() -> None:
        async with AsyncUsher(ADDRESS, key=KEY) as usher:
            await usher.ready()
            assert await usher.allowed(*BEN, deadline=10)

    asyncio.run(ask())
    with Usher(ADDRESS, key=KEY) as usher:
        usher.ready()
        assert usher.allowed(*BEN, deadline=10)
    with Usher(ADDRESS, key="a-key-that-nobody-has") as stranger, pytest.raises(DeniedError):
        stranger.ready()


def test_a_wrong_port_is_said() -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with Usher("127.0.0.1:%d" % server.server_port, deadline=0.4) as usher:
            for ask in (lambda: usher.check(*BEN), lambda: usher.ready(deadline=0.4)):
                with pytest.raises(UnavailableError, match="is it the port of gRPC"):
                    ask()
        server.shutdown()


def test_the_default_deadline_holds_where_nothing_listens() -> None:
    async def ask() -> None:
        async with AsyncUsher("127.0.0.1:1") as usher:
            assert await usher.allowed(*BEN) is False

    since = time.monotonic()
    with Usher("127.0.0.1:1") as usher:
        assert usher.allowed(*BEN) is False
    asyncio.run(ask())
    assert time.monotonic() - since < 4


def test_the_first_call_may_connect() -> None:
    """Through a line that takes longer to connect than an answer may."""
    host, _, port = ADDRESS.rpartition(":")

    def carry(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65_536):
                target.sendall(data)
        except OSError:
            pass

    def slowly(listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            time.sleep(0.9)
            far = socket.create_connection((host, int(port)))
            for pair in ((near, far), (far, near)):
                threading.Thread(target=carry, args=pair, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=slowly, args=(listener,), daemon=True).start()
        with Usher("127.0.0.1:%d" % listener.getsockname()[1], key=KEY) as usher:
            assert usher.check(*BEN).allowed

        async def ask() -> None:
            async with AsyncUsher("127.0.0.1:%d" % listener.getsockname()[1], key=KEY) as aio:
                assert await aio.allowed(*BEN)

        asyncio.run(ask())
