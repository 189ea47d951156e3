"""What a running cluster shows of itself: each collection is asked for once, and what may not be read is left out."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from msgspec import ValidationError, convert

from generator.components.component import Manifest
from generator.components.definition import Shown
from generator.live.running import RefusedError, RunningCluster
from generator.model.fields import dig, mapping, sequence
from generator.survey.notes import RIGHTS, Notes

SYSTEM = "/api/v1/namespaces/kube-system"
KUBEADM = {"kube-apiserver": "apiServer", "kube-controller-manager": "controllerManager"}
"""How kubeadm's configuration calls parts of the control plane."""
WORKLOADS = ("/apis/apps/v1/deployments", "/apis/apps/v1/daemonsets", "/apis/apps/v1/statefulsets")


class Seen:
    """A running cluster, read with no more than the rights to get and list. What is refused is remembered, and as if it
    were not there. Raises UsageError where there is no talking to the API server.
    """

    def __init__(self, running: RunningCluster) -> None:
        self.running = running
        self.refused: dict[str, str] = {}
        """Why, by the path of what was not to be read."""
        self._lists: dict[str, list[Manifest]] = {}
        self._objects: dict[str, Manifest] = {}
        self._groups: dict[str, list[str]] | None = None

    def items(self, path: str, **query: str) -> list[Manifest]:
        """Return the objects of a collection; none where it is not served, or may not be read."""
        key = f"{path} {json.dumps(query)}"
        if key not in self._lists:
            try:
                found = [mapping(one) for one in self.running.items(path, **query)]
            except RefusedError as refused:
                found = self._left_out(path, refused)
            self._lists[key] = found
        return self._lists[key]

    def get(self, path: str) -> Manifest:
        """Return an object; an empty one where there is none, or where it may not be read."""
        if path not in self._objects:
            try:
                self._objects[path] = self.running.get(path) or {}
            except RefusedError as refused:
                self._left_out(path, refused)
                self._objects[path] = {}
        return self._objects[path]

    def of_group(self, group: str, plural: str, **query: str) -> list[Manifest]:
        """Return the objects of a kind, in the first version that has some: not every kind is in the preferred one."""
        for version in self.groups.get(group, ()):
            path = f"/apis/{group}/{version}/{plural}"
            if (found := self.items(path, **query)) or path in self.refused:
                return found
        return []

    def shown(self, what: Shown) -> list[Manifest]:
        """Return the objects that show a component."""
        query = {"labelSelector": what.labels} if what.labels else {}
        if not what.group:
            return self.items(f"/api/v1/{what.plural}", **query)
        return self.of_group(what.group, what.plural, **query)

    @property
    def groups(self) -> dict[str, list[str]]:
        """The API groups that are served, each with its versions, the preferred one first."""
        if self._groups is None:
            listed = sequence(self.get("/apis").get("groups"))
            self._groups = {name: _versions(one) for one in listed if (name := text(one, "name"))}
        return self._groups

    @property
    def nodes(self) -> list[Manifest]:
        """The nodes."""
        return self.items("/api/v1/nodes")

    @property
    def workloads(self) -> list[Manifest]:
        """The Deployments, DaemonSets and StatefulSets of all namespaces."""
        return [one for path in WORKLOADS for one in self.items(path)]

    @property
    def blind(self) -> bool:
        """Whether some workloads were not to be read: then nobody can say what is not there."""
        return any(path in self.refused for path in WORKLOADS)

    def config(self, name: str, key: str = "") -> Manifest:
        """Return the data of a ConfigMap in kube-system, or of one of its keys what that says as YAML."""
        data = mapping(self.get(f"{SYSTEM}/configmaps/{name}").get("data"))
        return read(data.get(key)) if key else data

    def system_pods(self) -> list[Manifest]:
        """Return the pods of kube-system: a control plane that runs as static pods is among them."""
        return self.items(f"{SYSTEM}/pods")

    def flags(self, component: str) -> dict[str, str]:
        """Return the flags of a part of the control plane: those of its static pod, else those that kubeadm was told
        beside its own; none where there is neither.
        """
        for pod in self.system_pods():
            labels = mapping(dig(pod, "metadata", "labels"))
            if labels.get("component") == component and labels.get("tier") == "control-plane":
                return dict(_flags(pod))
        return arguments(dig(self.config("kubeadm-config", "ClusterConfiguration"), KUBEADM.get(component, "")))

    def images(self) -> list[tuple[Manifest, str, str]]:
        """Return the images of all workloads and of the pods of kube-system: the object, repository and tag."""
        pods = ((one, mapping(one.get("spec"))) for one in self.system_pods())
        sets = ((one, mapping(dig(one, "spec", "template", "spec"))) for one in self.workloads)
        return [(one, *split) for one, spec in (*sets, *pods) for split in _images(spec)]

    def _left_out(self, path: str, refused: RefusedError) -> list[Manifest]:
        self.refused[path] = str(refused).removeprefix(f"{self.running.host} ")
        return []


def tell_refused(refused: Mapping[str, str], notes: Notes) -> None:
    """Note what was not to be read: what needs rights together, other refusals in the server's words."""
    without = [path for path, why in refused.items() if why.startswith("does not let you")]
    if without:
        missing = ", ".join(dict.fromkeys(map(_kind_at, without)))
        notes.unknown((RIGHTS,), f"you lack the right to get or list {missing}")
    for path in refused.keys() - without:
        notes.unknown((RIGHTS,), f"the server {refused[path]}")


def _kind_at(path: str) -> str:
    """Return what lies at a path as rights name it: `deployments.apps`, `configmaps in kube-system`."""
    _, root, *words = path.split("/")
    group, words = (f".{words[0]}", words[2:]) if root == "apis" and words else ("", words[1:])
    if words[:1] == ["namespaces"] and len(words) > 2:
        return f"{words[2]}{group} in {words[1]}"
    return f"{words[0]}{group}" if words else path


def read(text: object) -> Manifest:
    """Return what a text says as YAML; nothing where it is none, or no mapping."""
    try:
        return mapping(yaml.load(text, yaml.CSafeLoader)) if isinstance(text, str) else {}
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}


def _versions(group: object) -> list[str]:
    every = (group_version for one in sequence(dig(group, "versions")) if (group_version := text(one, "groupVersion")))
    named = dict.fromkeys((text(group, "preferredVersion", "groupVersion"), *every))
    return [one.rpartition("/")[2] for one in named if one]


def arguments(part: object) -> dict[str, str]:
    """Return `extraArgs`, which kubeadm wrote as a mapping up to v1beta3 and as a list since."""
    given = dig(part, "extraArgs")
    if isinstance(given, dict):
        return {str(key): str(value) for key, value in given.items()}
    return {text(one, "name"): text(one, "value") for one in sequence(given)}


def _flags(pod: Manifest) -> Iterator[tuple[str, str]]:
    container = dig(pod, "spec", "containers", 0)
    for word in (*sequence(dig(container, "command")), *sequence(dig(container, "args"))):
        name, equals, value = str(word).partition("=")
        if equals and name.startswith("--"):
            yield name.removeprefix("--"), value


def _images(spec: Manifest) -> Iterator[tuple[str, str]]:
    for one in sequence(spec.get("containers")):
        image = text(one, "image").partition("@")[0]
        repository, colon, tag = image.rpartition(":")
        # What stands before a port has no path behind it.
        yield (repository, tag) if colon and "/" not in tag else (image, "")


def fits(value: object, kind: object) -> bool:
    """Tell whether a value is one that the cluster file's types take at its place."""
    try:
        convert(value, kind)
    except ValidationError:
        return False
    return True


def text(part: object, *keys: str | int) -> str:
    """Return a text in an object; an empty one where there is none."""
    found: Any = dig(part, *keys)
    return found if isinstance(found, str) else ""


def named(manifest: Manifest) -> str:
    """Return the name of an object."""
    return text(manifest, "metadata", "name")
