"""Asks Usher about one user in one application: Check, BulkCheck and Effective."""

import os
import sys
from typing import NamedTuple

import grpc
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

from usher.permission.v1.permission_pb2 import (
    ACCESS_LEVEL_EDIT,
    ACCESS_LEVEL_UNSPECIFIED,
    ACCESS_LEVEL_VIEW,
    AccessLevel,
    BulkCheckRequest,
    CheckRequest,
    CheckResponse,
    DecisionSource,
    EffectivePermission,
    EffectiveRequest,
    PermissionDecision,
)
from usher_client import Failure, Usher

USAGE = "usage: main.py [EMAIL APP PERMISSION[,PERMISSION...] [any|view|edit [TYPE:ID]]]"
DEMO = ["ben@example.com", "atelier", "project.archive,project.access", "any", "project:1042"]
LEVELS = {"any": ACCESS_LEVEL_UNSPECIFIED, "view": ACCESS_LEVEL_VIEW, "edit": ACCESS_LEVEL_EDIT}


class Question(NamedTuple):
    subject: dict[str, str]
    permissions: list[str]
    level: AccessLevel


def main() -> int:
    question = read_question(sys.argv[1:])
    if question is None:
        print(USAGE, file=sys.stderr)
        return 2
    address = os.environ.get("USHER_GRPC") or "localhost:50051"
    with Usher(
        address,
        key=os.environ.get("USHER_API_KEY", ""),
        ca_file=os.environ.get("USHER_CA", ""),
        deadline=float(os.environ.get("USHER_DEADLINE_MS") or 500) / 1000,
    ) as usher:
        try:
            usher.ready(5)
        except grpc.FutureTimeoutError:
            print(f"no Usher at {address}: no connection within 5 s", file=sys.stderr)
            return 1
        return 0 if ask(usher, question) else 1


def ask(usher: Usher, question: Question) -> bool:
    """Asks the three questions; false when one got no answer, or when two answers contradict each other."""
    subject, permissions, level = question
    permission = permissions[0]
    one = usher.check(CheckRequest(**subject, permission=permission, access_level=level))
    show("check", permission, one.response.allowed, one.response, one.failure)

    # Read your writes: an answer to a question with min_revision is at least that fresh, whichever instance gives it.
    # Take the revision from an earlier answer, or from the header `usher-revision` of a write.
    revision = one.response.revision
    many = usher.bulk_check(
        BulkCheckRequest(**subject, permissions=permissions, access_level=level, min_revision=revision)
    )
    decisions = {decision.permission: decision for decision in many.response.results}
    for code in permissions:
        # A permission without a decision is a denied one.
        decision = decisions.get(code, PermissionDecision())
        show("bulk", code, decision.allowed, decision, many.failure)

    everything = usher.effective(EffectiveRequest(**subject, min_revision=revision))
    for held in everything.response.permissions:
        show("effective", held.code, held.granted, held)
    if everything.failure:
        show("effective", "*", False, EffectivePermission(), everything.failure)

    if one.failure or many.failure or everything.failure:
        return False
    print("revision", everything.response.revision)
    if len(decisions) != len(permissions):
        print(f"{len(permissions)} permissions asked, {len(decisions)} answered", file=sys.stderr)
        return False
    if many.response.revision == revision and decisions[permission].allowed != one.response.allowed:
        print(f"Check and BulkCheck disagree at revision {revision}", file=sys.stderr)
        return False
    return True


def show(
    method: str,
    code: str,
    granted: bool,
    held: CheckResponse | PermissionDecision | EffectivePermission,
    failure: Failure | None = None,
) -> None:
    if failure:
        why = f"error={failure.reason}"
        print(f"{method}: {failure.message}", file=sys.stderr)
    else:
        why = f"level={name(AccessLevel, held.access_level)} source={name(DecisionSource, held.source)}"
    print(f"{method:<10} {code:<24} {'allowed' if granted else 'denied '} {why}")


def name(enum: EnumTypeWrapper, value: int) -> str:
    """ACCESS_LEVEL_EDIT as `edit`; nothing held and no rule that granted as `none`."""
    if value == 0:
        return "none"
    prefix = enum.Name(0).removesuffix("UNSPECIFIED")
    # A newer service may know values that this program does not.
    return enum.Name(value).removeprefix(prefix).lower() if value in enum.values() else str(value)


def read_question(args: list[str]) -> Question | None:
    email, app, codes, level, resource = ((args or DEMO) + [""] * 5)[:5]
    level = level or "any"
    if not (email and app and codes) or level not in LEVELS:
        return None
    # Only the first colon divides: identifiers may hold more of them.
    resource_type, _, resource_id = resource.partition(":")
    subject = {"email": email, "app": app, "resource_type": resource_type, "resource_id": resource_id}
    return Question(subject, list(dict.fromkeys(codes.split(","))), LEVELS[level])


if __name__ == "__main__":
    sys.exit(main())
