"""A fake of an API server on loopback that keeps objects: lists, reads, applies, merges, creates and deletes them.

It knows no admission, no defaults, no controllers and no schemas, and applying merges maps and replaces lists. What
depends on these is tested with a real API server.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from loopback import Asked, Reply, config, serving
from mergepatch import merged

from generator.live.api import of_kubeconfig
from generator.live.running import RunningCluster
from generator.model.served import kinds

Manifest = dict[str, Any]
MINOR = 35
NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
MADE = "2026-01-01T00:00:00Z"
CUSTOM = {
    "argoproj.io/v1alpha1": {
        "Application": True,
        "AppProject": True,
        "CronWorkflow": True,
        "Workflow": True,
        "WorkflowTemplate": True,
    },
    "kueue.x-k8s.io/v1beta2": {"ClusterQueue": False, "LocalQueue": True, "ResourceFlavor": False, "Workload": True},
    "cert-manager.io/v1": {"Certificate": True, "ClusterIssuer": False, "Issuer": True},
}
"""Kinds that are served unless a test takes them out of `served`: whether they are namespaced, by version."""


class Refusal(Exception):  # noqa: N818 - no error: what the server answers
    """What the server says instead of doing something."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.body = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": code,
        }
        self.code = code


class LiveCluster:
    """What the server holds, and what it was asked.

    `objects` by their paths; `served` the kinds by version; `refuses` answers by a pattern of method and path without
    query (`"GET .*/secrets"`), such as `forbidden(...)`; `admits` may change what is made, as defaults do; `reacts` are
    called with each object that was stored and may `add` others, as controllers would.
    """

    def __init__(self, *manifests: Manifest) -> None:
        self.objects: dict[str, Manifest] = {}
        self.served: dict[str, dict[str, bool]] = {
            version: dict(found) for version, found in {**kinds(MINOR), **CUSTOM}.items()
        }
        self.refuses: dict[str, tuple[int, str, str]] = {}
        self.admits: list[Callable[[Manifest], None]] = []
        self.reacts: list[Callable[[Manifest], None]] = []
        self.asked: list[Asked] = []
        self.writes: list[tuple[str, str]] = []
        self.version = 0
        for name in NAMESPACES:
            self.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for one in manifests:
            self.add(one)

    def add(self, manifest: Manifest) -> Manifest:
        """Have an object, and its kind and namespace if they were not there."""
        namespace = manifest["metadata"].get("namespace")
        scopes = self.served.setdefault(manifest["apiVersion"], {})
        scopes.setdefault(manifest["kind"], bool(namespace))
        if scopes[manifest["kind"]]:
            self.add_namespace(namespace or "default")
        return self.store(self.path(manifest), deepcopy(manifest))

    def add_namespace(self, name: str) -> None:
        """Have a namespace."""
        path = f"/api/v1/namespaces/{name}"
        if path not in self.objects:
            self.store(path, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def path(self, manifest: Manifest) -> str:
        """Return where an object lies."""
        version, kind, metadata = manifest["apiVersion"], manifest["kind"], manifest["metadata"]
        named = self.served[version][kind]
        between = f"/namespaces/{metadata.get('namespace') or 'default'}" if named else ""
        return f"{root(version)}{between}/{plural(kind)}/{metadata['name']}"

    def get(self, kind: str, name: str, namespace: str = "") -> Manifest:
        """Return an object by its kind and name; an empty one where there is none."""
        for one in self.objects.values():
            metadata = one["metadata"]
            if (one["kind"], metadata["name"]) == (kind, name) and namespace in {"", metadata.get("namespace")}:
                return one
        return {}

    def store(self, path: str, manifest: Manifest) -> Manifest:
        """Store an object with what a server adds to it."""
        self.version += 1
        before = self.objects.get(path, {}).get("metadata", {})
        metadata = manifest["metadata"]
        metadata["uid"] = before.get("uid") or metadata.get("uid") or f"uid-{self.version}"
        made = before.get("creationTimestamp") or metadata.get("creationTimestamp") or MADE
        metadata.update(resourceVersion=str(self.version), creationTimestamp=made)
        self.objects[path] = manifest
        for react in self.reacts:
            react(manifest)
        return manifest

    def reply(self, asked: Asked) -> Reply:
        """Answer a request."""
        self.asked.append(asked)
        try:
            code, body = self._answer(asked)
        except Refusal as refusal:
            code, body = refusal.code, refusal.body
        return code, {"Content-Type": "application/json"}, json.dumps(body).encode()

    def _answer(self, asked: Asked) -> tuple[int, Manifest]:
        url = urlsplit(asked.path)
        query, path = dict(parse_qsl(url.query)), unquote(url.path)
        for pattern, refusal in self.refuses.items():
            if re.fullmatch(pattern, f"{asked.method} {path}"):
                raise Refusal(*refusal)
        if path == "/version":
            return 200, {"major": "1", "minor": str(MINOR), "gitVersion": f"v1.{MINOR}.0"}
        if found := self._resources(path):
            return 200, found
        version, kind, namespace, name = self._place(path)
        if asked.method == "GET":
            return 200, self._read(path) if name else self._list(version, kind, namespace, query)
        dry = query.get("dryRun") == "All"
        if not dry:
            self.writes.append((asked.method, path))
        if asked.method == "DELETE":
            return 200, self._delete(path, dry=dry)
        if asked.method == "POST":
            return 201, self._create(path, kind, namespace, asked.body, dry=dry)
        assert asked.method == "PATCH", asked
        return self._patch(path, namespace, asked.body, query, dry=dry)

    def _resources(self, path: str) -> Manifest | None:
        for version, found in self.served.items():
            if root(version) == path:
                names = [{"name": plural(kind), "kind": kind, "namespaced": scope} for kind, scope in found.items()]
                return {"kind": "APIResourceList", "groupVersion": version, "resources": names}
        if path == "/apis":
            groups: dict[str, list[str]] = {}
            for version in self.served:
                if "/" in version:
                    groups.setdefault(version.partition("/")[0], []).append(version)
            listed = [
                {
                    "name": name,
                    "versions": [{"groupVersion": one} for one in found],
                    "preferredVersion": {"groupVersion": found[-1]},
                }
                for name, found in groups.items()
            ]
            return {"kind": "APIGroupList", "groups": listed}
        return None

    def _place(self, path: str) -> tuple[str, str, str, str]:
        """Return the version, kind, namespace and name that a path says."""
        for version, found in self.served.items():
            start = f"{root(version)}/"
            if not path.startswith(start):
                continue
            words = path.removeprefix(start).split("/")
            namespace = ""
            if words[0] == "namespaces" and len(words) > 2:
                namespace, words = words[1], words[2:]
            for kind, scoped in found.items():
                if plural(kind) == words[0] and (scoped or not namespace):
                    return version, kind, namespace, words[1] if len(words) > 1 else ""
        raise Refusal(404, "NotFound", "the server could not find the requested resource")

    def _read(self, path: str) -> Manifest:
        if path not in self.objects:
            *_, kind, name = path.split("/")
            raise Refusal(404, "NotFound", f'{kind} "{name}" not found')
        return self.objects[path]

    def _list(self, version: str, kind: str, namespace: str, query: Mapping[str, str]) -> Manifest:
        found = [
            one
            for path, one in sorted(self.objects.items())
            if (one["apiVersion"], one["kind"]) == (version, kind)
            and namespace in {"", one["metadata"].get("namespace", "default")}
            and labelled(one, query.get("labelSelector", ""))
            and fielded(one, query.get("fieldSelector", ""))
        ]
        start, limit = int(query.get("continue") or 0), int(query.get("limit") or 0)
        end = start + limit if limit else len(found)
        more = {"continue": str(end)} if end < len(found) else {}
        listed = {"resourceVersion": str(self.version), **more}
        return {"kind": f"{kind}List", "apiVersion": version, "metadata": listed, "items": found[start:end]}

    def _create(self, path: str, kind: str, namespace: str, body: Manifest, *, dry: bool) -> Manifest:
        manifest = deepcopy(body)
        metadata = manifest["metadata"]
        if "name" not in metadata:
            metadata["name"] = f"{metadata['generateName']}{self.version:05d}"
        if namespace:
            metadata.setdefault("namespace", namespace)
        for admit in self.admits:
            admit(manifest)
        own = f"{path}/{metadata['name']}"
        if own in self.objects:
            raise Refusal(409, "AlreadyExists", f'{plural(kind)} "{metadata["name"]}" already exists')
        self._inside(namespace)
        return manifest if dry else self.store(own, manifest)

    def _inside(self, namespace: str) -> None:
        if namespace and f"/api/v1/namespaces/{namespace}" not in self.objects:
            raise Refusal(404, "NotFound", f'namespaces "{namespace}" not found')

    def _patch(
        self, path: str, namespace: str, body: Manifest, query: Mapping[str, str], *, dry: bool
    ) -> tuple[int, Manifest]:
        there = self.objects.get(path)
        if "fieldManager" not in query and there is None:
            self._read(path)
        wanted = body.get("metadata", {}).get("resourceVersion")
        if there and wanted and wanted != there["metadata"]["resourceVersion"]:
            text = "the object has been modified; please apply your changes to the latest version and try again"
            raise Refusal(409, "Conflict", f'Operation cannot be fulfilled on "{path.rpartition("/")[2]}": {text}')
        if there is None:
            self._inside(namespace)
        manifest = merged(there or {}, body)
        if namespace:
            manifest["metadata"].setdefault("namespace", namespace)
        return 200 if there else 201, manifest if dry else self.store(path, manifest)

    def _delete(self, path: str, *, dry: bool) -> Manifest:
        found = self._read(path)
        if not dry:
            del self.objects[path]
        return found


def forbidden(verb: str, resource: str, group: str = "") -> tuple[int, str, str]:
    """Return what a server says to somebody who may not do something."""
    text = f'{resource} is forbidden: User "me" cannot {verb} resource "{resource}" in API group "{group}"'
    return 403, "Forbidden", f"{text} at the cluster scope"


def root(version: str) -> str:
    """Return the path of a version."""
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def plural(kind: str) -> str:
    """Return the name of a kind in paths."""
    name = kind.lower()
    if name.endswith(("s", "ch", "x")):
        return name if name == "endpoints" else f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") and name[-2] not in "aeiou" else f"{name}s"


def labelled(one: Manifest, selector: str) -> bool:
    """Tell whether an object's labels fit `a=b,c!=d,e,!f`."""
    labels = one["metadata"].get("labels") or {}
    return all(map(_fits, [labels] * len(_terms(selector)), _terms(selector)))


def _terms(selector: str) -> list[str]:
    return [one for one in selector.split(",") if one]


def _fits(labels: Mapping[str, str], term: str) -> bool:
    if "!=" in term:
        key, _, value = term.partition("!=")
        return labels.get(key) != value
    key, equals, value = term.replace("==", "=").partition("=")
    if equals:
        return labels.get(key) == value
    return key[1:] not in labels if key.startswith("!") else key in labels


def fielded(one: Manifest, selector: str) -> bool:
    """Tell whether an object's fields fit `spec.nodeName=x,type!=Normal`."""
    values = {term: _field(one, re.split("!?=", term)[0]) for term in _terms(selector)}
    return all((value == term.rpartition("=")[2]) != ("!=" in term) for term, value in values.items())


def _field(one: Any, way: str) -> str:
    for key in way.split("."):
        one = one.get(key) if isinstance(one, dict) else None
    return "" if one is None else str(one)


@contextmanager
def living(folder: Path, *manifests: Manifest) -> Iterator[tuple[LiveCluster, RunningCluster]]:
    """Serve a fake cluster as long as the block; its kubeconfig is `folder/kubeconfig`."""
    cluster = LiveCluster(*manifests)
    with serving(cluster.reply) as url:
        yield cluster, RunningCluster(of_kubeconfig(config(folder, url), None))
