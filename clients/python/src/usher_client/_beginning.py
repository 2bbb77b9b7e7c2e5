"""Before the first answer of a client: connecting takes longer than answering, and what fails is most often the configuration."""

from __future__ import annotations

import asyncio
import threading
import time

import grpc
import grpc.aio

from . import _read as read
from ._errors import UnavailableError, UsherError, to_usher_error

DEADLINE = 0.5
"""Seconds for an answer, retries included, where no other time is given."""
FIRST_DEADLINE = 5.0
"""Seconds for connecting and answering together, until something has answered."""
READY_DEADLINE = 10.0
READY_PAUSE = 0.1

_SETTLED = (
    grpc.ChannelConnectivity.READY,
    grpc.ChannelConnectivity.TRANSIENT_FAILURE,
    grpc.ChannelConnectivity.SHUTDOWN,
)


class Beginning:
    def __init__(self, address: str, *, is_cleartext: bool, deadline: object) -> None:
        self._address = address
        self._security = "cleartext" if is_cleartext else "TLS"
        self._deadline = None if deadline is None else read.seconds(deadline)
        self._is_answered = False

    def timeout(self, given: object) -> float | None:
        """Seconds for a call, of which the caller may have said how many; None: the call may connect first."""
        if given is not None:
            return read.seconds(given)
        if self._deadline is not None:
            return self._deadline
        return DEADLINE if self._is_answered else None

    def connected(self, channel: grpc.Channel) -> float:
        """Waits for the connection, and gives the seconds for the call: one that is refused is trouble, and no time to connect."""
        until = time.monotonic() + FIRST_DEADLINE
        settled = threading.Event()
        states: list[grpc.ChannelConnectivity] = []

        def told(state: grpc.ChannelConnectivity) -> None:
            states.append(state)
            if state in _SETTLED:
                settled.set()

        channel.subscribe(told, try_to_connect=True)
        settled.wait(FIRST_DEADLINE)
        channel.unsubscribe(told)
        return self._left(until, states[-1] if states else None)

    async def connected_aio(self, channel: grpc.aio.Channel) -> float:
        until = time.monotonic() + FIRST_DEADLINE
        state = channel.get_state(try_to_connect=True)
        while state not in _SETTLED:
            try:
                await asyncio.wait_for(channel.wait_for_state_change(state), max(0.0, until - time.monotonic()))
            except asyncio.TimeoutError:
                break
            state = channel.get_state()
        return self._left(until, state)

    def _left(self, until: float, state: grpc.ChannelConnectivity | None) -> float:
        return max(DEADLINE, until - time.monotonic()) if state is grpc.ChannelConnectivity.READY else DEADLINE

    def answered(self) -> None:
        self._is_answered = True

    def error_of(self, error: grpc.RpcError) -> UsherError:
        """Says, where nothing has ever answered, what may be the matter."""
        failure = to_usher_error(error)
        if not isinstance(failure, UnavailableError):
            self._is_answered = True
        elif not self._is_answered:
            failure.args = (
                f"{failure}. Nothing at {self._address} has answered this client yet: is it the port of gRPC "
                f"(50051 by default; REST has another, 8080), and does it speak {self._security}?",
            )
        return failure
