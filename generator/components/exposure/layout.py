"""Where the way in from outside stands, and the names of its parts."""

from generator.components.cilium import ROUTES, ROUTING
from generator.components.component import Manifest

NAMESPACE = "exposure"
"""No team's: in it are the Gateway, its certificates and the Service with its address."""
GATEWAY = "teams"
REDIRECT = "http"
"""The listener that answers without TLS, and tells clients to come again with it."""
GROUP = ROUTING
PLURALS = list(ROUTES.values())
"""What people of a team may make, as addresses have it."""
MOST_HOSTS = 63
"""A Gateway has 64 listeners at most (its definition, v1.6.1), and one is for the redirection."""


def metadata(name: str) -> Manifest:
    """Return the metadata of an object in the namespace."""
    return {"name": name, "namespace": NAMESPACE}
