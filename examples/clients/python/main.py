"""Asks what somebody may: main.py EMAIL APP PERMISSION[,PERMISSION...] [any|view|edit [TYPE:ID]]"""

import os
import sys

from usher_client import Decision, Held, Usher, UsherError


def show(method: str, code: str, held: Decision | Held) -> None:
    verdict = "allowed" if held.allowed else "denied "
    print(f"{method:<10} {code:<24} {verdict} level={held.level or 'none'} source={held.source or 'none'}")


email, app, codes, level, record = (*sys.argv[1:], "any", "")[:5]
permissions = codes.split(",")
resource = record.partition(":")[::2] if record else None
asked = {"resource": resource, "level": None if level == "any" else level}

address = os.environ.get("USHER_GRPC", "localhost:50051")
with Usher(address, key=os.environ.get("USHER_API_KEY"), deadline=5) as usher:
    try:
        decision = usher.check(email, app, permissions[0], **asked)
        show("check", permissions[0], decision)
        # Read your writes: the next answers are at least as fresh as this one.
        fresh = decision.revision
        for code, one in usher.bulk_check(email, app, permissions, **asked, min_revision=fresh).items():
            show("bulk", code, one)
        for held in usher.effective(email, app, resource=resource, min_revision=fresh).permissions:
            show("effective", held.permission, held)
    except UsherError as error:
        sys.exit(f"denied: error={error.reason} {error}")
