"""What an API server serves, and where."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias
from urllib.parse import quote

from generator.build.objects import Object
from generator.live.api import BUSY, Answer, ApiConnection, Request
from generator.model.fields import dig, sequence

TRY = "dryRun=All&fieldValidation=Strict&fieldManager=argocd-controller"
"""The query of what is tried and not stored, as Argo CD would store it."""

Served: TypeAlias = dict[tuple[str, str], tuple[str, bool]]
"""Version (`apps/v1`) and kind: the name in addresses, and whether it is namespaced."""


def path_of_version(version: str) -> str:
    """Return where a version is served: `/api/v1`, `/apis/apps/v1`."""
    return f"/{'apis' if '/' in version else 'api'}/{quote(version)}"


def discover(api: ApiConnection, versions: Iterable[str], away: list[str] | None = None) -> Served:
    """Return the kinds of these versions that a server serves. Versions behind which another server stands that does
    not answer are added to `away`; where that is not given, such a one raises UsageError.
    """
    names = sorted(set(versions))
    answers = api.ask_all([Request(path=path_of_version(name)) for name in names], busy=away is not None)
    found = list(zip(names, answers, strict=True))
    if away is not None:
        away += [name for name, answer in found if answer.status in BUSY]
    return {key: where for name, answer in found for key, where in _kinds(name, answer)}


def _kinds(version: str, answer: Answer) -> Iterator[tuple[tuple[str, str], tuple[str, bool]]]:
    for one in sequence(answer.body.get("resources")):
        name = str(dig(one, "name"))
        if "/" not in name:  # those are subresources
            yield (version, str(dig(one, "kind"))), (name, dig(one, "namespaced") is True)


def place(served: Served, one: Object, *, namespace: str = "") -> str | None:
    """Return the address of an object's collection, or None where its kind is not served. What is namespaced and names
    no namespace belongs to `default`, as for kubectl; `namespace` puts it elsewhere.
    """
    version = str(one.manifest["apiVersion"])
    if (version, one.kind) not in served:
        return None
    name, namespaced = served[version, one.kind]
    between = f"/namespaces/{quote(namespace or one.namespace or 'default', safe='')}" if namespaced else ""
    return f"{path_of_version(version)}{between}/{name}"
