"""Calls a service once by the client that openapi-python-client generated."""

import sys

from openapi_python import AuthenticatedClient
from openapi_python.api.checks import check
from openapi_python.models import CheckQuestion

url, key = sys.argv[1:]
client = AuthenticatedClient(url, token=key, prefix="", auth_header_name="x-internal-api-key")
answer = check.sync(
    client=client, body=CheckQuestion(email="ben@example.com", app="atelier", permission="project.access")
)
assert answer.data.allowed is True, answer
