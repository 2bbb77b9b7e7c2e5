"""The clients over REST: notifications, and the administration that is made from the OpenAPI document."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import pytest

from usher_client import (
    AsyncNotifier,
    DeniedError,
    InvalidQuestionError,
    Notifier,
    UnavailableError,
    UsherError,
)
from usher_client.admin import Admin, AsyncAdmin

URL, GRPC, KEY, TOKEN = (os.environ[f"USHER_{name}"] for name in ("URL", "GRPC", "KEY", "TOKEN"))
EVA = "eva@client.example"
STORED = (202, {"success": True, "data": {"notifications": [{"id": 1, "email": EVA, "status": "queued", "statusReason": None}]}})
AWAY = (503, {"success": False, "code": "UNAVAILABLE", "message": "Away."})


@pytest.fixture
def admin() -> Iterator[Admin]:
    with Admin(URL, token=lambda: TOKEN) as made:
        yield made


class Line:
    """Answers what it is told, and keeps what it was sent."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.bodies: list[Any] = []
        line = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                line.bodies.append(json.loads(body) if body else None)
                status, answer = line.answers.pop(0) if line.answers else AWAY
                text = answer if isinstance(answer, str) else json.dumps(answer)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def line() -> Iterator[Line]:
    made = Line()
    yield made
    made.close()


def test_a_notification_is_stored_once() -> None:
    key = uuid4().hex
    with Notifier(URL, key=KEY) as notifier:
        first = notifier.notify("atelier", ["ben@example.com"], subject="Drawings", idempotency_key=key)
        assert [one.email for one in first] == ["ben@example.com"]
        again = notifier.notify("atelier", ["ben@example.com"], subject="Drawings", idempotency_key=key)
        assert [one.id for one in again] == [one.id for one in first]

    async def asked() -> None:
        async with AsyncNotifier(URL, key=KEY) as notifier:
            same = await notifier.notify("atelier", ["ben@example.com"], subject="Drawings", idempotency_key=key)
            assert [one.id for one in same] == [one.id for one in first]

    asyncio.run(asked())


def test_with_a_key_of_its_own_it_is_sent_again_as_it_was(line: Line) -> None:
    line.answers += [AWAY, (502, "<html>"), STORED]
    with Notifier(line.url, key="k") as notifier:
        accepted = notifier.notify(
            "atelier", (EVA,), type="t", template_key="k", locale="cs", icon="/i", payload={"n": 1}, idempotency_key="x"
        )
    assert [one.status for one in accepted] == ["queued"]
    said = {"appCode": "atelier", "recipients": [EVA], "type": "t", "templateKey": "k", "locale": "cs", "icon": "/i"}
    assert line.bodies == [{**said, "payload": {"n": 1}, "idempotencyKey": "x"}] * 3


def test_without_one_and_after_a_refusal_nothing_is_sent_again(line: Line) -> None:
    with Notifier(line.url, key="k") as notifier:
        with pytest.raises(UnavailableError, match="Away."):
            notifier.notify("atelier", [EVA])
        line.answers.append((409, {"code": "CONFLICT", "message": "Reused.", "details": {"code": "IDEMPOTENCY_KEY_REUSED"}}))
        with pytest.raises(UsherError, match="Reused.") as caught:
            notifier.notify("atelier", [EVA], idempotency_key="x")
    assert (caught.value.code, caught.value.reason) == ("ALREADY_EXISTS", "IDEMPOTENCY_KEY_REUSED")
    assert len(line.bodies) == 2


def test_refusals_name_the_field() -> None:
    with Notifier(URL, key=KEY) as notifier:
        with pytest.raises(InvalidQuestionError) as caught:
            notifier.notify("atelier", ["not an address"], subject="x")
        assert [one.field for one in caught.value.violations] == ["recipients.0"]
        assert caught.value.request_id
        for field, given in (
            ("to", {"to": EVA}),
            ("to", {"to": []}),
            ("text", {"to": [EVA], "text": "x"}),
            ("body", {"to": [EVA], "payload": {"at": object()}}),
        ):
            with pytest.raises(InvalidQuestionError) as caught:
                notifier.notify("atelier", **given)
            assert [one.field for one in caught.value.violations] == [field]
    with Notifier(URL, key="a-key-that-nobody-has") as stranger, pytest.raises(DeniedError):
        stranger.notify("atelier", [EVA])


@pytest.mark.parametrize("make", [Notifier, AsyncNotifier, Admin, AsyncAdmin])
def test_options_are_read_strictly(make: Any) -> None:
    for field, url, given in (
        ("url", "localhost:8080", {"key": "k"}),
        ("url", "https://example.com/usher", {"key": "k"}),
        ("url", 5, {"key": "k"}),
        ("key", URL, {"key": "two\nlines"}),
        ("deadline", URL, {"key": "k", "deadline": "soon"}),
        ("api_key", URL, {"api_key": "k"}),
        ("token" if make in (Admin, AsyncAdmin) else "key", URL, {}),
    ):
        with pytest.raises(InvalidQuestionError) as caught:
            make(url, **given)
        assert [one.field for one in caught.value.violations] == [field]


def test_an_address_that_is_not_that_of_rest_is_said(line: Line) -> None:
    line.answers.append((200, "a page"))
    with Admin(line.url, key="k") as admin, pytest.raises(UnavailableError, match="8080.*50051"):
        admin.clear_cache()
    with Admin(f"http://{GRPC}", key=KEY) as admin, pytest.raises(UnavailableError, match="8080"):
        admin.list_users()


def test_roles_are_given_and_taken_after_a_dry_run_with_a_reason(admin: Admin) -> None:
    email = f"{uuid4().hex}@people.example"
    where: Any = {"email": email, "app_code": "atelier"}
    role = admin.list_roles(app_code="atelier").data[0]["code"]
    preview = admin.assign_role(dry_run=True, **where, body={"role": role})
    assert preview.data["impact"]["people"] == 1 and preview.data["result"]["code"] == role
    assert admin.list_user_roles(**where).data == []
    revision = preview.data["impact"]["revision"]
    given = admin.with_reason("žádost č. 42").assign_role(**where, body={"role": role}, if_revision=revision)
    assert given.revision and given.data["code"] == role
    with pytest.raises(UsherError) as caught:
        admin.revoke_role(**where, role_code=role, if_revision=revision)
    assert (caught.value.code, caught.value.reason) == ("ABORTED", "STALE")
    assert admin.list_audit(subject=email, limit=1).data[0]["reason"] == "žádost č. 42"
    assert admin.revoke_role(**where, role_code=role).data is None


def test_an_override_replaces_only_the_state_that_was_read(admin: Admin) -> None:
    where: Any = {"email": EVA, "app_code": "atelier", "resource_type": "document", "resource_id": f"a/../{uuid4().hex}"}
    read = admin.list_record_overrides(**where)
    body: Any = {"permissions": [{"permission": "document.access", "granted": True, "accessLevel": "view"}]}
    admin.replace_record_overrides(**where, body=body, if_match=read.etag)
    with pytest.raises(UsherError, match=".") as caught:
        admin.replace_record_overrides(**where, body={"permissions": []}, if_match=read.etag)
    assert caught.value.reason == "STALE"
    found = list(admin.pages(admin.list_overrides, app_code="atelier", limit=1))
    assert where["resource_id"] in [one["resourceId"] for one in found]
    admin.replace_record_overrides(**where, body={"permissions": []})


def test_people_sends_and_manifests(admin: Admin) -> None:
    people = [one["email"] for one in admin.pages(admin.list_users, q="example.com", limit=2)]
    assert "ben@example.com" in people and len(people) > 2
    sent = admin.send_notification(app_code="atelier", body={"recipients": ["ben@example.com"], "subject": "Hello"})
    assert sent.data["notifications"][0]["email"] == "ben@example.com"
    manifest = admin.export_manifest(app_code="atelier").data
    plan = Admin(URL, key=KEY).apply_manifest(dry_run=True, body=manifest).data
    assert plan["summary"]["change"] == 0


def test_asyncio(admin: Admin) -> None:
    async def asked() -> list[str]:
        async with AsyncAdmin(URL, token=TOKEN) as waiting:
            with pytest.raises(UsherError) as caught:
                await waiting.with_reason("x").get_application(app_code="nowhere")
            assert caught.value.code == "NOT_FOUND"
            return [one["email"] async for one in waiting.pages(waiting.list_users, q="example.com", limit=2)]

    assert asyncio.run(asked()) == [one["email"] for one in admin.pages(admin.list_users, q="example.com")]


@pytest.mark.parametrize("code", ["", ".", "..", None, 5.5])
def test_nothing_else_is_named_by_a_part_of_a_path(admin: Admin, code: Any) -> None:
    with pytest.raises(InvalidQuestionError) as caught:
        admin.revoke_role(email=EVA, app_code="atelier", role_code=code)
    assert caught.value.violations[0].field == "role_code"


def test_arguments_are_read_strictly(admin: Admin) -> None:
    with pytest.raises(InvalidQuestionError, match="did you mean app_code"):
        admin.list_roles(appcode="atelier")  # type: ignore[call-arg]
    with pytest.raises(InvalidQuestionError, match="role_code: is required"):
        admin.revoke_role(email=EVA, app_code="atelier")  # type: ignore[call-overload]
    with pytest.raises(InvalidQuestionError, match="JSON"):
        admin.create_application(body={"code": object()})  # type: ignore[call-overload]
