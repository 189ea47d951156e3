"""Where the declared Secrets lie in a running cluster, and what these hold."""

import base64
from collections.abc import Mapping
from urllib.parse import quote

from generator.components.component import Manifest, Secret
from generator.model.fields import mapping


def collection(secret: Secret) -> str:
    """Return the address of the Secrets of its namespace."""
    return f"/api/v1/namespaces/{quote(secret.namespace, safe='')}/secrets"


def path(secret: Secret) -> str:
    """Return the address of a Secret."""
    return f"{collection(secret)}/{quote(secret.name, safe='')}"


def values_of(there: Manifest) -> dict[str, bytes]:
    """Return the values of a Secret, by key."""
    return {key: base64.b64decode(str(value)) for key, value in mapping(there.get("data")).items()}


def encoded(values: Mapping[str, bytes]) -> dict[str, str]:
    """Return values as a Secret has them in its `data`."""
    return {key: base64.b64encode(value).decode() for key, value in values.items()}
