"""What an API server says of itself, and whom it takes us for."""

import re

from msgspec import Struct

from generator.errors import UsageError
from generator.live.api import ADDRESS, RENEW, ApiConnection, Request
from generator.model.fields import dig


class Server(Struct, frozen=True, kw_only=True):
    """What a server says of itself (`v1.35.3`; empty where we may not ask) and whom it takes us for."""

    version: str
    user: str


def server(api: ApiConnection) -> Server:
    """Return what a server is. Raises UsageError where it cannot be reached or does not know us."""
    version = version_of(api)
    group = "authentication.k8s.io/v1"
    body = {"apiVersion": group, "kind": "SelfSubjectReview"}
    answer = api.ask(Request(path=f"/apis/{group}/selfsubjectreviews", method="POST", body=body))
    user = dig(answer.body, "status", "userInfo", "username")
    if user == "system:anonymous" or (not user and "system:anonymous" in answer.message):
        raise UsageError(f"{api.host} takes us for nobody (system:anonymous): {RENEW}")
    return Server(version=version, user=str(user or "an unknown user"))


def version_of(api: ApiConnection) -> str:
    """Return the version that an API server says; empty where we may not ask, as on clusters without the role
    `system:public-info-viewer`. Raises UsageError for what is no API server.
    """
    answer = api.ask(Request(path="/version"))
    version = str(answer.body.get("gitVersion"))
    if answer.status == 403:
        return ""
    if not re.match(r"v\d+\.\d+\.", version):
        raise UsageError(f"{api.host} is no Kubernetes API server: /version is not what one answers; {ADDRESS}")
    return version
