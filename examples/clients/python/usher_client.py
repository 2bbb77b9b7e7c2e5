"""The permission service, as a backend asks it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import grpc
from google.rpc.error_details_pb2 import ErrorInfo
from grpc_status import rpc_status

from usher.permission.v1.permission_pb2 import (
    BulkCheckRequest,
    BulkCheckResponse,
    CheckRequest,
    CheckResponse,
    EffectiveRequest,
    EffectiveResponse,
)
from usher.permission.v1.permission_pb2_grpc import PermissionServiceStub

# While a call is UNAVAILABLE it is retried, with back-off, within its deadline. Questions only read, so a second try is safe.
_SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [{"service": "usher.permission.v1.PermissionService"}],
            "retryPolicy": {
                "maxAttempts": 3,
                "initialBackoff": "0.05s",
                "maxBackoff": "0.2s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ],
    # During an outage retries stop, instead of tripling the load.
    "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
}

_CHANNEL_OPTIONS = [
    ("grpc.service_config", json.dumps(_SERVICE_CONFIG)),
    # A dead peer is noticed within 35 s, also while nothing is asked; without pings the next calls would wait in vain.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
]

Response = TypeVar("Response", CheckResponse, BulkCheckResponse, EffectiveResponse)


@dataclass(frozen=True)
class Failure:
    """Why there is no answer."""

    reason: str
    """Stable: google.rpc.ErrorInfo's, else the name of the gRPC status."""
    message: str
    """For people."""


@dataclass(frozen=True)
class Answer(Generic[Response]):
    """An answer, or a failure beside an empty message, which reads as "denied"."""

    response: Response
    failure: Failure | None = None


class Usher:
    """Make one for the whole process: it holds one connection, shared by all calls of all threads."""

    def __init__(self, address: str, *, key: str = "", ca_file: str = "", deadline: float = 0.5) -> None:
        """
        address: host:port, or any gRPC target such as dns:///usher.internal:50051.
        key: the internal API key, where the service has any.
        ca_file: the certificate authority of the service, in PEM. Without it the connection is cleartext: loopback only.
        deadline: seconds that one call may take, its retries included.
        """
        if ca_file:
            security = grpc.ssl_channel_credentials(Path(ca_file).read_bytes())
            self._channel = grpc.secure_channel(address, security, _CHANNEL_OPTIONS)
        else:
            self._channel = grpc.insecure_channel(address, _CHANNEL_OPTIONS)
        self._stub = PermissionServiceStub(self._channel)
        self._metadata = (("x-internal-api-key", key),) if key else ()
        self._deadline = deadline

    def __enter__(self) -> "Usher":
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    def ready(self, timeout: float) -> None:
        """Waits for the first connection, so that the deadline of the first question is not spent on it.

        Raises grpc.FutureTimeoutError after `timeout` seconds.
        """
        grpc.channel_ready_future(self._channel).result(timeout)

    def check(self, question: CheckRequest) -> Answer[CheckResponse]:
        return self._ask(self._stub.Check, question, CheckResponse())

    def bulk_check(self, question: BulkCheckRequest) -> Answer[BulkCheckResponse]:
        return self._ask(self._stub.BulkCheck, question, BulkCheckResponse())

    def effective(self, question: EffectiveRequest) -> Answer[EffectiveResponse]:
        return self._ask(self._stub.Effective, question, EffectiveResponse())

    def _ask(self, call: Callable[..., Response], question: object, denied: Response) -> Answer[Response]:
        """An error is not an answer: the person is denied for this request, by a response that grants nothing."""
        try:
            return Answer(call(question, timeout=self._deadline, metadata=self._metadata))
        except grpc.RpcError as error:
            return Answer(denied, _failure(error))


def _failure(error: grpc.RpcError) -> Failure:
    fallback = Failure(error.code().name, error.details() or "")
    try:
        status = rpc_status.from_call(error)
        for detail in status.details if status else ():
            info = ErrorInfo()
            if detail.Unpack(info) and info.domain == "usher":
                return Failure(info.reason, fallback.message)
    except ValueError:
        # Details that cannot be read only cost the precise reason: the call has failed all the same.
        pass
    return fallback
