"""Asks what somebody may: main.py EMAIL APP PERMISSION [any|view|edit [TYPE:ID]]"""

import os
import sys

from usher_client import Usher

email, app, permission, level, record = (*sys.argv[1:], "any", "")[:5]
resource = record.partition(":")[::2] if record else None

with Usher(os.environ.get("USHER_GRPC", "localhost:50051"), key=os.environ.get("USHER_API_KEY"), deadline=10) as usher:
    decision = usher.check(email, app, permission, resource=resource, level=None if level == "any" else level)
    print("allowed" if decision else "denied", decision.level or "none", decision.source or "none")
