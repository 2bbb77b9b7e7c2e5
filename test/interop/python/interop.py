"""Makes the calls of cases.ts with grpcio: python interop.py ADDRESS KEY < cases.json, a line of JSON for each."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc

OPTIONS = [("grpc.max_receive_message_length", 16 * 1024 * 1024)]


def identity(message: bytes) -> bytes:
    return message


class Outcome:
    def __init__(self, name: str) -> None:
        self.name = name
        self.status = 0
        self.messages = 0
        self.longest = 0
        self.message = ""
        self.trailers: dict[str, object] = {}

    def took(self, message: bytes) -> None:
        self.messages += 1
        self.longest = max(self.longest, len(message))

    def failed(self, error: grpc.RpcError) -> None:
        self.status = error.code().value[0]
        self.message = error.details() or ""
        self.trailers = dict(error.trailing_metadata() or ())

    def line(self) -> str:
        return json.dumps(
            {
                "name": self.name,
                "status": self.status,
                "messages": self.messages,
                "longest": self.longest,
                "hasMessage": self.message != "",
                "hasDetails": "grpc-status-details-bin" in self.trailers,
                "requestId": self.trailers.get("x-request-id", ""),
            }
        )


def run(channel: grpc.Channel, case: dict, key: str) -> Outcome:
    outcome = Outcome(case["name"])
    metadata = [("x-internal-api-key", key if case["key"] == "good" else "a-key-that-nobody-has")]
    if case["requestId"]:
        metadata.append(("x-request-id", case["requestId"]))
    compression = grpc.Compression.Gzip if case["gzip"] else grpc.Compression.NoCompression
    given = {"timeout": case["timeoutMs"] / 1000, "metadata": metadata, "compression": compression}
    request = bytes.fromhex(case["request"])
    try:
        if case["kind"] in ("stream", "deadline"):
            call = channel.unary_stream(case["path"], identity, identity)(request, **given)
            for message in call if case["count"] > 0 else ():
                outcome.took(message)
                if case["kind"] == "stream" and outcome.messages == case["count"]:
                    break
            call.cancel()
            if case["kind"] == "stream" and call.code() is not grpc.StatusCode.CANCELLED:
                outcome.status = call.code().value[0]
        else:
            method = channel.unary_unary(case["path"], identity, identity)
            with ThreadPoolExecutor(32) as pool:
                calls = [pool.submit(method, request, **given) for _ in range(case["count"])]
                for call in calls:
                    outcome.took(call.result())
    except grpc.RpcError as error:
        outcome.failed(error)
    return outcome


def main() -> None:
    address, key = sys.argv[1:3]
    with grpc.insecure_channel(address, OPTIONS) as channel:
        for case in json.load(sys.stdin):
            print(run(channel, case, key).line(), flush=True)


main()
