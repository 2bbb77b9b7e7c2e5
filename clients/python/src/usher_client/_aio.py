"""The questions, for asyncio: the same as `Usher`, awaited."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

import grpc
import grpc.aio

from . import _read as read
from . import _wire as wire
from ._beginning import READY_DEADLINE, READY_PAUSE, Beginning
from ._errors import InvalidQuestionError, UnavailableError, UsherError, is_mistake
from ._gen.usher.permission.v1 import permission_pb2 as pb
from ._gen.usher.permission.v1.permission_pb2_grpc import PermissionServiceStub
from ._read import strictly
from ._types import Allowed, AskedLevel, Changes, Decision, Effective, Explanation, Question, Reach, Resource

_log = logging.getLogger("usher_client")


class AsyncUsher:
    """Asks a service or an edge. Make one for each event loop: it holds one connection.

    address: host:port, or a target of gRPC such as dns:///usher.internal:50051.
    key: the key of this caller; without it none is sent.
    plaintext: whether the connection is cleartext. By default it is to loopback, and TLS to everything else.
    ca: the authority of the service's certificate, as PEM.
    certificate: the certificate of this caller and its key, as PEM, for mutual TLS.
    deadline: seconds for an answer, retries and connecting included. By default half a second, without the time to
    connect, up to five seconds, for the first call.
    """

    @strictly
    def __init__(
        self,
        address: str,
        *,
        key: str | None = None,
        plaintext: bool | None = None,
        ca: bytes | None = None,
        certificate: tuple[bytes, bytes] | None = None,
        deadline: float | None = None,
    ) -> None:
        self._address = read.address(address)
        self._security = wire.security_of(self._address, plaintext, ca, certificate)
        self._channel: grpc.aio.Channel | None = None
        self._made: Any = None
        self._metadata = wire.metadata_of(key)
        self._beginning = Beginning(self._address, is_cleartext=self._security is None, deadline=deadline)

    async def __aenter__(self) -> AsyncUsher:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        if self._channel is not None:
            await self._channel.close()

    @property
    def _stub(self) -> Any:
        """Made by the first question: a channel belongs to the event loop that runs then."""
        if self._made is None:
            if self._security is None:
                self._channel = grpc.aio.insecure_channel(self._address, wire.CHANNEL_OPTIONS)
            else:
                self._channel = grpc.aio.secure_channel(self._address, self._security, wire.CHANNEL_OPTIONS)
            self._made = PermissionServiceStub(self._channel)
        return self._made

    @strictly
    async def check(
        self,
        email: str,
        app: str,
        permission: str,
        *,
        resource: Resource | None = None,
        level: AskedLevel | None = None,
        min_revision: str = "",
        deadline: float | None = None,
    ) -> Decision:
        """Whether somebody may. Raises UsherError where there is no answer."""
        request = wire.check_request(Question(email, app, permission, resource, level), min_revision)
        response = await self._ask(self._stub.Check, request, deadline)
        return wire.decision_of(response, response.revision)

    @strictly
    async def allowed(
        self,
        email: str,
        app: str,
        permission: str,
        *,
        resource: Resource | None = None,
        level: AskedLevel | None = None,
        min_revision: str = "",
        deadline: float | None = None,
    ) -> bool:
        """The same as a bool. Trouble is False, and a warning in the log `usher_client`.

        Raises InvalidQuestionError alone, where the question is wrong: that is a mistake of the program.
        """
        try:
            decision = await self.check(
                email, app, permission, resource=resource, level=level, min_revision=min_revision, deadline=deadline
            )
            return decision.allowed
        except UsherError as error:
            if is_mistake(error):
                raise
            _log.warning("no answer about %s in %s: %s Denied.", permission, app, error)
            return False

    @strictly
    async def bulk_check(
        self,
        email: str,
        app: str,
        permissions: Iterable[str],
        *,
        resource: Resource | None = None,
        level: AskedLevel | None = None,
        min_revision: str = "",
        deadline: float | None = None,
    ) -> Mapping[str, Decision]:
        """Up to 1,000 permissions of one user in one application, at one revision; by code."""
        request = pb.BulkCheckRequest(
            **wire.subject(email, app, resource, min_revision),
            permissions=read.texts(permissions, "permissions", "codes"),
            access_level=wire.asked_level(level),
        )
        response = await self._ask(self._stub.BulkCheck, request, deadline)
        return {result.permission: wire.decision_of(result, response.revision) for result in response.results}

    @strictly
    async def batch_check(
        self, questions: Iterable[Question], *, min_revision: str = "", deadline: float | None = None
    ) -> Sequence[Decision]:
        """Up to 1,000 questions at one revision, answered in their order."""
        checks = wire.checks_of(questions)
        request = pb.BatchCheckRequest(checks=checks, min_revision=read.optional_text(min_revision, "min_revision"))
        response = await self._ask(self._stub.BatchCheck, request, deadline)
        if len(response.results) != len(checks):
            raise UsherError("The answers do not match the questions.", code="INTERNAL", reason="INTERNAL")
        return [wire.decision_of(result, response.revision) for result in response.results]

    @strictly
    async def effective(
        self,
        email: str,
        app: str,
        *,
        resource: Resource | None = None,
        min_revision: str = "",
        deadline: float | None = None,
    ) -> Effective:
        """Every permission that the application defines."""
        request = pb.EffectiveRequest(**wire.subject(email, app, resource, min_revision))
        return wire.effective_of(await self._ask(self._stub.Effective, request, deadline))

    @strictly
    async def explain(
        self,
        email: str,
        app: str,
        permission: str,
        *,
        resource: Resource | None = None,
        level: AskedLevel | None = None,
        min_revision: str = "",
        deadline: float | None = None,
    ) -> Explanation:
        """The six rules, and which one decided."""
        check = wire.check_request(Question(email, app, permission, resource, level), min_revision)
        return wire.explanation_of(await self._ask(self._stub.Explain, pb.ExplainRequest(check=check), deadline))

    @strictly
    async def subjects(
        self,
        app: str,
        permission: str,
        *,
        resource: Resource | None = None,
        level: AskedLevel | None = None,
        min_revision: str = "",
        deadline: float | None = None,
    ) -> AsyncIterator[Allowed]:
        """Everybody who may, page by page."""
        fields = wire.about(app, resource, min_revision)
        code, asked = read.text(permission, "permission"), wire.asked_level(level)
        token = ""
        while True:
            request = pb.ListSubjectsRequest(
                **fields,
                permission=code,
                access_level=asked,
                page_size=wire.SUBJECTS_PAGE,
                page_token=token,
            )
            response = await self._ask(self._stub.ListSubjects, request, deadline)
            for item in response.subjects:
                yield wire.allowed_of(item)
            token = response.next_page_token
            if not token:
                return

    @strictly
    async def resources(
        self,
        email: str,
        app: str,
        permission: str,
        resource_type: str,
        *,
        level: AskedLevel | None = None,
        min_revision: str = "",
        deadline: float | None = None,
    ) -> Reach:
        """For which records of a type somebody may."""
        fields = wire.subject(email, app, None, min_revision)
        del fields["resource_id"]
        fields["resource_type"] = read.text(resource_type, "resource_type")
        code, asked = read.text(permission, "permission"), wire.asked_level(level)
        ids: list[str] = []
        token = ""
        while True:
            request = pb.ListResourcesRequest(
                **fields,
                permission=code,
                access_level=asked,
                page_size=wire.RESOURCES_PAGE,
                page_token=token,
            )
            response = await self._ask(self._stub.ListResources, request, deadline)
            ids.extend(response.resource_ids)
            token = response.next_page_token
            if not token:
                return Reach("all" if wire.is_all(response.scope) else "only", ids, response.revision)

    @strictly
    async def watch(self, *, apps: Iterable[str] = (), since: str = "") -> AsyncIterator[Changes]:
        """What changes, for ever; ends when it is closed. A stream that ends is opened anew after the last revision."""
        failures = 0
        named = read.texts(apps, "apps", "codes of applications", least=0)
        since = read.optional_text(since, "since")
        while True:
            request = pb.WatchRequest(apps=named, since_revision=since)
            stream = self._stub.Watch(request, metadata=self._metadata, wait_for_ready=True)
            try:
                async for response in stream:
                    failures = 0
                    since = response.revision
                    yield wire.changes_of(response)
            except grpc.RpcError as error:
                failure = self._beginning.error_of(error)
                if not isinstance(failure, UnavailableError):
                    raise failure from error
            finally:
                stream.cancel()
            await asyncio.sleep(wire.pause(failures))
            failures += 1

    @strictly
    async def ready(self, *, deadline: float = READY_DEADLINE) -> None:
        """Connects, and returns once the service has answered: then the first question takes no longer than the others.

        Raises UsherError that says what is wrong with an address, a certificate or a key.
        """
        until = time.monotonic() + read.seconds(deadline)
        # A question about nobody: the answer is no.
        nobody = pb.CheckRequest(email="nobody@usher.invalid", app="usher", permission="ready")
        while True:
            try:
                await self._ask(self._stub.Check, nobody, max(0.0, until - time.monotonic()))
                return
            except InvalidQuestionError:
                return
            except UnavailableError:
                if time.monotonic() + READY_PAUSE >= until:
                    raise
            await asyncio.sleep(READY_PAUSE)

    async def _ask(self, call: Callable[..., Any], request: object, deadline: float | None) -> Any:
        timeout = self._beginning.timeout(deadline)
        if timeout is None and self._channel is not None:
            timeout = await self._beginning.connected_aio(self._channel)
        try:
            response = await call(request, timeout=timeout, metadata=self._metadata, wait_for_ready=True)
        except grpc.RpcError as error:
            raise self._beginning.error_of(error) from error
        self._beginning.answered()
        return response
