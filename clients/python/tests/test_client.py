"""Against a service with the demonstration: USHER_GRPC is its address, USHER_KEY the key of its data directory."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import time
from collections.abc import Iterator

import pytest

from usher_client import (
    AsyncUsher,
    DeniedError,
    InvalidQuestionError,
    Question,
    UnavailableError,
    Usher,
    UsherError,
)

ADDRESS = os.environ["USHER_GRPC"]
KEY = os.environ["USHER_KEY"]
BEN = ("ben@example.com", "atelier", "project.access")
RECORD = ("project", "1042")


@pytest.fixture
def usher() -> Iterator[Usher]:
    with Usher(ADDRESS, key=KEY, deadline=10) as made:
        yield made


def test_a_check_has_level_source_and_revision(usher: Usher) -> None:
    decision = usher.check(*BEN, resource=RECORD, level="edit")
    assert (decision.allowed, decision.level, decision.source) == (True, "edit", "role")
    assert decision.revision and bool(decision)
    denied = usher.check("stranger@example.com", *BEN[1:])
    assert (denied.allowed, denied.level, denied.source, bool(denied)) == (False, None, None, False)


def test_many_questions_at_one_revision(usher: Usher) -> None:
    many = usher.bulk_check(*BEN[:2], ["project.access", "invoice.access"])
    assert {code: decision.allowed for code, decision in many.items()} == {
        "project.access": True,
        "invoice.access": False,
    }
    batch = usher.batch_check([Question(*BEN), Question("stranger@example.com", *BEN[1:])])
    assert [decision.allowed for decision in batch] == [True, False]
    held = {item.permission: item for item in usher.effective(*BEN[:2]).permissions}
    assert held["project.access"].level == "edit" and held["project.access"].tiered


def test_why_who_and_what(usher: Usher) -> None:
    explanation = usher.explain(*BEN)
    assert [rule.rule for rule in explanation.rules if rule.decides] == [5]
    assert explanation.application_known and explanation.permission_known
    assert "ben@example.com" in {one.email for one in usher.subjects(*BEN[1:])}
    assert usher.resources(*BEN, "project").scope == "all"


def test_as_fresh_as_asked(usher: Usher) -> None:
    revision = usher.check(*BEN).revision
    assert usher.check(*BEN, min_revision=revision).allowed
    with pytest.raises(InvalidQuestionError) as refused:
        usher.check(*BEN, min_revision="999999.x")
    assert refused.value.reason == "UNKNOWN_REVISION"


def test_refusals_name_field_and_reason(usher: Usher) -> None:
    with pytest.raises(InvalidQuestionError) as refused:
        usher.check("", *BEN[1:])
    assert [violation.field for violation in refused.value.violations] == ["email"]
    with pytest.raises(InvalidQuestionError) as half:
        usher.check(*BEN, resource=("project", ""))
    assert (half.value.code, half.value.reason) == ("INVALID_ARGUMENT", "INCOMPLETE_RESOURCE")


def test_a_wrong_key(caplog: pytest.LogCaptureFixture) -> None:
    with Usher(ADDRESS, key="a-key-that-nobody-has", deadline=10) as stranger:
        with pytest.raises(DeniedError) as denied:
            stranger.check(*BEN)
        assert denied.value.code == "UNAUTHENTICATED"
        assert stranger.allowed(*BEN) is False
    assert "project.access in atelier" in caplog.text
    assert "ben@example.com" not in caplog.text


def test_a_service_that_is_away() -> None:
    with Usher("127.0.0.1:1", key=KEY, deadline=0.4) as away:
        since = time.monotonic()
        assert away.allowed(*BEN) is False
        with pytest.raises(UnavailableError):
            away.check(*BEN)
        assert time.monotonic() - since < 3


def test_watch_begins_with_the_newest_revision(usher: Usher) -> None:
    told = next(usher.watch())
    assert told.revision == usher.check(*BEN).revision and not told.reset


def test_threads_share_a_connection(usher: Usher) -> None:
    answers: list[bool] = []
    threads = [threading.Thread(target=lambda: answers.append(usher.allowed(*BEN))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 20


def test_asyncio() -> None:
    async def ask() -> None:
        async with AsyncUsher(ADDRESS, key=KEY, deadline=10) as usher:
            answers = await asyncio.gather(*(usher.allowed(*BEN) for _ in range(20)))
            assert answers == [True] * 20
            assert (await usher.check(*BEN)).level == "edit"
            assert (await usher.bulk_check(*BEN[:2], ["project.access"]))["project.access"].allowed
            assert [one.allowed for one in await usher.batch_check([Question(*BEN)])] == [True]
            assert (await usher.effective(*BEN[:2])).permissions
            assert (await usher.explain(*BEN)).decision.allowed
            assert "ben@example.com" in {one.email async for one in usher.subjects(*BEN[1:])}
            assert (await usher.resources(*BEN, "project")).scope == "all"
            async for told in usher.watch():
                assert told.revision
                break
            with pytest.raises(InvalidQuestionError):
                await usher.check("", *BEN[1:])
        async with AsyncUsher("127.0.0.1:1", deadline=0.4) as away:
            assert await away.allowed(*BEN) is False
            with pytest.raises(UnavailableError):
                await away.check(*BEN)

    asyncio.run(ask())


def test_both_have_the_same_methods() -> None:
    def signatures(kind: type) -> dict[str, list[str]]:
        functions = inspect.getmembers(kind, inspect.isfunction)
        return {name: list(inspect.signature(made).parameters) for name, made in functions if not name.startswith("_")}

    assert signatures(Usher) == signatures(AsyncUsher)


def test_errors_have_one_base() -> None:
    assert all(issubclass(kind, UsherError) for kind in (DeniedError, InvalidQuestionError, UnavailableError))
